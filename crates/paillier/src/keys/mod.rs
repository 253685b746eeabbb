//! Keys.

mod primes;
mod public;
mod secret;

pub use public::PublicKey;
pub(crate) use secret::PrimeSide;
pub use secret::SecretKey;
