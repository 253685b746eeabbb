//! The integration tests of BFV, in one program.

mod corpus;
mod encoding;
mod encryption;
mod encryption_noise;
mod engines;
mod evaluation;
mod evaluation_errors;
mod evaluation_sets;
mod evaluation_support;
mod invariants;
mod keyswitch;
mod lwe;
mod lwe_switch;
mod parameters;
#[path = "../../program/tests/replay/mod.rs"]
mod replay;
mod seal;
mod serial;
mod serial_hostile;
mod sums;
mod support;
