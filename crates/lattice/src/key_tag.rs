//! The identifier of a key set.

use std::fmt;

/// A random public number that all keys and ciphertexts of one key set carry. It allows refusing a mix-up that would
/// otherwise yield noise. It does not protect against forgery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyTag(pub u64);

impl fmt::Display for KeyTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
