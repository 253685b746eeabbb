//! Paillier's additively homomorphic encryption: vectors of integers modulo n, encrypted under g = n + 1.
//!
//! A [`SecretKey`] has a [`PublicKey`]; [`PlaintextVector`]s become [`CiphertextVector`]s, on which the public key's holder
//! computes sums and multiples. [`fixed_point`] puts real numbers on top, [`packing`] several values into one ciphertext, and
//! [`host`] is the host part of an accelerator, driven by a stream of instructions. docs/paillier.md goes through all of it.
//!
//! Most examples share a hidden start: an `owner` of an insecure 512-bit key, its public `key`, the default `blinding`,
//! the generator `rng`, the plaintexts `plain` (3 and −5), and `x`, their encryption.
//!
//! Batches are split among the threads of `rayon`'s pool. A child that was forked after such work computes on the calling
//! thread alone, as the pool's threads stay with the parent; if only other code used the pool before the fork, it would hang.

mod blinding;
mod ciphertext;
mod decryption;
mod encryption;
mod engine;
mod error;
mod evaluation;
pub mod fixed_point;
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
pub mod weights;

pub use blinding::Blinding;
pub use ciphertext::CiphertextVector;
pub use engine::{EngineEncryption, EngineEvaluation};
pub use error::PaillierError;
pub use evaluation::Scalars;
pub use head::CiphertextHead;
pub use keys::{PublicKey, SecretKey};
pub use parameters::{KeyBits, KeyTag, SizePolicy};
pub use plaintext::PlaintextVector;
pub use pool::BlindingPool;
pub use random::{Csprng, RandomError, SEED_LEN};
pub use weights::PublicWeights;

/// The example of the page is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/paillier.md")]
struct Page;
