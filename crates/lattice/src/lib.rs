//! The common base of the lattice schemes: randomness, noise, gadget decomposition, rotation of negacyclic polynomials,
//! and polynomials over a residue number system.
//!
//! - [`rng`]: a ChaCha20 keystream from a public or a secret seed.
//! - [`sampler`]: uniform, binary, ternary, Gaussian and TUniform values.
//! - [`torus`]: the discretised torus of 32 or 64 bits.
//! - [`gadget`]: balanced decomposition of torus elements and of residues modulo the Goldilocks prime.
//! - [`rotate`]: products with X^e and X^e − 1 modulo X^N + 1, without copies.
//! - [`rns`]: polynomials modulo a product of primes, as residues modulo each of them.
//! - [`dimension`]: the newtypes of the dimensions.
//! - [`probability`]: the printed form of failure probabilities.
//! - [`security`]: security figures and the policy on sets below 128 bits.
//!
//! The examples of [`rns`] share a hidden start: a `basis` of N = 1024 modulo 12289 and 40961, and `monomial(e, c)`, the
//! polynomial c·X^e over it.

pub mod dimension;
pub mod gadget;
pub mod probability;
pub mod rng;
pub mod rns;
pub mod rotate;
pub mod sampler;
pub mod security;
pub mod torus;

pub use dimension::{DecompositionBaseLog, DecompositionLevelCount, PolynomialSize};
pub use probability::{ModelProbability, log2_erfc};
pub use rng::{Csprng, Keystream, MaskStream, PublicSeed, SecretSeed};
pub use sampler::NoiseDistribution;
pub use security::{SecurityEstimate, SecurityPolicy};
pub use torus::Torus;

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
