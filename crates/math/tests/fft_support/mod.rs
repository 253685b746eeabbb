//! Inputs and paths for the tests of the f64 transform.

use ciphermill_math::Isa;

/// N = 2^4 … 2^17.
pub(crate) fn sizes() -> impl Iterator<Item = usize> {
    // Miri is a thousand times slower.
    (4..=if cfg!(miri) { 8 } else { 17 }).map(|log2| 1 << log2)
}

/// The paths of this CPU.
pub(crate) fn paths() -> Vec<Isa> {
    ciphermill_testing::available(Isa::ALL, |isa| isa.is_available())
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn fixed() -> Self {
        Random(0x5eed)
    }

    /// A fresh seed, printed so that a failure can be run again.
    pub(crate) fn fresh() -> Self {
        Random(ciphermill_testing::fresh_seed("fft"))
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// `n` integers, uniform in [-2^bits, 2^bits), bits ≤ 63.
    pub(crate) fn digits(&mut self, n: usize, bits: u32) -> Vec<i64> {
        (0..n).map(|_| self.word() as i64 >> (63 - bits)).collect()
    }
}
