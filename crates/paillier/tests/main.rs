//! The integration tests of Paillier, in one program.

mod corpus;
mod encryption;
mod engine;
mod evaluation;
mod fixed_point;
mod host;
mod host_hostile;
mod host_support;
mod hostile;
mod invariants;
mod keys;
mod packing;
mod phe;
mod phe_live;
mod pool;
#[path = "../../program/tests/replay/mod.rs"]
mod replay;
mod serial;
mod support;
mod weights;
