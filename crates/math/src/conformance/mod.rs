//! Conformance suites of the transform seams, and slow engines made from the plain definitions.
//!
//! An accelerator's own tests call [`ntt`] and [`fft`] with its engines, at every size that the engines support. The
//! suites use only the traits. Exact transforms must agree with the definition bit for bit. Approximate transforms must
//! stay within the bound [`rounding_error_bound`](crate::fft::rounding_error_bound).
//!
//! [`ReferenceNtt`] and [`ReferenceFft`] compute by the definitions themselves. They pass the suites, and
//! [`ReferenceNttProvider`] lets a scheme's tests run on engines that share no code with the fast paths.
//!
//! # Example
//! ```
//! use ciphermill_math::conformance;
//! use ciphermill_math::ntt::{CpuNttProvider, NttProvider};
//!
//! let engine = CpuNttProvider::default().prime(256, 7681)?;
//! conformance::ntt(&*engine, 1)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod exact;
mod float;
mod reference;

pub use exact::ntt;
pub use float::fft;
pub use reference::{ReferenceFft, ReferenceNtt, ReferenceNttProvider};

/// A rule of its trait that an engine breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("engine {engine}, N = {polynomial_size}: {check}; the trait's documentation states the rule")]
pub struct ConformanceError {
    /// The engine's description.
    pub engine: String,
    /// N.
    pub polynomial_size: usize,
    /// The rule that the engine breaks.
    pub check: String,
}

/// Words of SplitMix64: reproducible random numbers for tests.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn residues(&mut self, count: usize, modulus: u64) -> Vec<u64> {
        (0..count).map(|_| self.next() % modulus).collect()
    }

    /// Signed integers of `bits` bits.
    fn signed(&mut self, count: usize, bits: u32) -> Vec<i64> {
        (0..count).map(|_| self.next() as i64 >> (64 - bits)).collect()
    }
}
