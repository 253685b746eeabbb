//! Adapters to the libraries for big integers and for Paillier that Ciphermill is measured against.
//!
//! Apart from `ciphermill-bench-peers`, as nothing here needs the libraries of lattices, which take minutes to build; compiled
//! for the CPU at hand like them (`native.sh`). Integers are 64-bit limbs, least significant first; many are rows of one width,
//! one after the other. What an adapter computes stays in it until it is asked, so that copying is not timed.

pub mod crypto_mb;
pub mod gmp;
pub mod gmp_paillier;
pub mod openssl;
pub mod phe;

pub use ciphermill_bench_process::Error;

/// Numbers modulo one odd number.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// The modulus; its top limb is not 0.
    pub modulus: &'a [u64],
    /// Rows of as many limbs as the modulus, below it.
    pub bases: &'a [u64],
    /// As many rows of the same width: exponents, or the other factors.
    pub others: &'a [u64],
}

impl Operands<'_> {
    /// Limbs of a row.
    pub fn limbs(&self) -> usize {
        self.modulus.len()
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.bases.len() / self.limbs()
    }
}

/// Work on prepared operands that can be repeated.
pub trait Work {
    /// Does it.
    fn run(&mut self);

    /// What the last [`run`](Self::run) computed: rows as wide as the modulus. Empty if it failed.
    fn results(&mut self) -> Vec<u64>;
}
