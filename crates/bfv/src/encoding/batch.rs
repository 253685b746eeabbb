//! One number per slot (N. Smart, F. Vercauteren, "Fully homomorphic SIMD operations", DCC 71, 2014).
//!
//! For a prime t ≡ 1 modulo 2N a plaintext m is its N values m(ζ^e), e odd, for a primitive 2N-th root of unity ζ modulo
//! t. The slots are two rows of N/2: row 0 has m(ζ^(3^i)), row 1 m(ζ^(−3^i)) at column i. σ_3 rotates both rows by one to the
//! left, σ_(3^k) by k; σ_(2N−1) swaps the rows. The order is that of SEAL (libraries that rotate by powers of 5 have another
//! order of the columns); ζ is the least primitive root, as in SEAL.

use crate::ciphertext::Plaintext;
use crate::context::Context;
use crate::error::BfvError;

/// Encodes vectors of N numbers so that sums and products of plaintexts are those of the numbers, slot by slot.
#[derive(Clone, Debug)]
pub struct BatchEncoder {
    context: Context,
}

impl BatchEncoder {
    /// The encoder of a set with slots.
    ///
    /// # Errors
    /// If t is no prime or not 1 modulo 2N.
    pub fn new(context: &Context) -> Result<Self, BfvError> {
        let _ = &context;
        todo!()
    }

    /// The number of columns, N/2.
    pub fn columns(&self) -> usize {
        self.context.n() / 2
    }

    /// Slots from `values`, row 0 first; missing ones are 0.
    ///
    /// # Errors
    /// If there are more than N values or one is out of range.
    pub fn encode(&self, values: &[i64]) -> Result<Plaintext, BfvError> {
        let _ = values;
        todo!()
    }

    /// The N slots, row 0 first, signed.
    pub fn decode(&self, plaintext: &Plaintext) -> Vec<i64> {
        let _ = plaintext;
        todo!()
    }

    /// g such that σ_g rotates both rows by `steps` to the left (negative: to the right).
    pub fn rotation(&self, steps: i64) -> usize {
        let _ = steps;
        todo!()
    }

    /// g such that σ_g swaps the rows.
    pub fn row_swap(&self) -> usize {
        2 * self.context.n() - 1
    }
}
