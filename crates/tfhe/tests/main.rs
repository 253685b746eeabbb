//! The integration tests of TFHE, in one program.

mod backends;
mod batches;
mod bootstrap;
mod corpus;
mod formats;
mod gates;
mod hostile_objects;
mod hostile_operands;
mod invariants;
mod limits;
mod noise;
mod noise_transform;
mod paper_size;
mod parameters;
mod reference;
#[path = "../../program/tests/replay/mod.rs"]
mod replay;
mod support;
mod word_formats;
mod word_oracle;
mod words;
