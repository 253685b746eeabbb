//! What tells key sets apart.

use std::fmt;

/// A random public number that all keys and ciphertexts of one key set carry. It lets a mix-up be refused where
/// computing on would yield noise; it is no protection against forgery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyTag(pub u64);

impl fmt::Display for KeyTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
