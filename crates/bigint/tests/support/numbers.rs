//! Reproducible numbers, some of them awkward.

use ciphermill_bigint::IntegerBatch;

/// SplitMix64, as published by S. Vigna.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// The next word.
    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// An odd number of exactly `bits` bits.
    pub(crate) fn modulus(&mut self, bits: u32) -> Vec<u64> {
        let mut n = self.below(bits);
        n[0] |= 1;
        n[(bits as usize - 1) / 64] |= 1 << ((bits - 1) % 64);
        n
    }

    /// A number of up to `bits` bits; one in eight has long runs of equal bits, where carries go far.
    pub(crate) fn below(&mut self, bits: u32) -> Vec<u64> {
        let runs = self.word().is_multiple_of(8);
        let mut n: Vec<u64> = (0..bits.div_ceil(64))
            .map(|_| match (runs, self.word()) {
                (true, word) if word % 3 == 0 => 0,
                (true, word) if word % 3 == 1 => u64::MAX,
                (_, word) => word,
            })
            .collect();
        if let (rest @ 1..=63, Some(top)) = (bits % 64, n.last_mut()) {
            *top &= (1 << rest) - 1;
        }
        n
    }

    /// `count` numbers of up to `bits` bits.
    pub(crate) fn batch(&mut self, count: usize, bits: u32) -> IntegerBatch {
        let words = (0..count).flat_map(|_| self.below(bits)).collect();
        IntegerBatch::from_words(bits.div_ceil(64) as usize, words)
    }
}
