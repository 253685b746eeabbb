//! The integration tests of private set intersection, in one program.

mod alignment;
mod corpus;
mod hostile;
mod invariants;
#[path = "../../program/tests/replay/mod.rs"]
mod replay;
