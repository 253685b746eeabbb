//! Paillier's additively homomorphic encryption.

mod ciphertext;
mod decryption;
mod encryption;
mod error;
mod evaluation;
pub mod fixed_point;
mod fork;
mod head;
pub mod host;
mod integers;
mod keys;
pub mod packing;
mod parallel;
mod parameters;
mod plaintext;
mod pool;
mod product;
mod random;
pub mod serial;
mod signed;
pub mod weights;

pub use ciphertext::CiphertextVector;
pub use encryption::Blinding;
pub use error::PaillierError;
pub use evaluation::Scalars;
pub use head::CiphertextHead;
pub use keys::{PublicKey, SecretKey};
pub use parameters::{KeyBits, KeyTag, SizePolicy};
pub use plaintext::PlaintextVector;
pub use pool::BlindingPool;
pub use random::{Csprng, RandomError, SEED_LEN};
pub use weights::PublicWeights;
