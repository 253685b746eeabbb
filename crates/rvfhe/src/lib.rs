//! RVFHE: a RISC-V extension for number-theoretic transforms on encrypted data, and a compiler to programs for an array
//! of cores.
//!
//! [`isa`] has the instruction set with its encodings, assembler and text; [`compiler`] turns transforms, products and
//! key switches into one program per core. The page docs/rvfhe.md describes the array.

pub mod compiler;
pub mod isa;
