//! The id of a parameter set.

/// Identifies the numbers of a set (its name is not among them) in stored objects: FNV-1a of their byte form, 64 bits.
/// It finds mistakes; it does not protect against forgery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParameterId(pub u64);
