//! The integration tests of programs, in one program.

mod assembler;
mod assessment;
mod binary;
mod common;
mod corpus;
mod instruction_set;
mod invariants;
mod metadata;
mod replay;
mod verifier;
