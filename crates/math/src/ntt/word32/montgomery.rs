//! Montgomery products of 32-bit words with a precomputed factor of the quotient.
//!
//! The method is that of P. Montgomery ("Modular multiplication without trial division", Math. Comp. 44, 1985). As in
//! Shoup's method, the quotient's factor is precomputed for each multiplier. Let W = w·2^32 mod p and W' = W·p^-1 mod
//! 2^32, and q = x·W' mod 2^32 for any word x. Then q·p ≡ x·W modulo 2^32. So (x·W − q·p)/2^32 is an integer, ≡ x·w
//! modulo p, and equal to the difference of the two products' upper halves. Both halves are below p, so it lies in (−p,
//! p).

use crate::modulus::Modulus;

/// p^-1 mod 2^32.
pub(super) const fn inverse_of_modulus(p: u32) -> u32 {
    // Newton's iteration doubles the number of right bits; an odd p is its own inverse to three.
    let mut inverse = p;
    let mut i = 0;
    while i < 4 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(p.wrapping_mul(inverse)));
        i += 1;
    }
    inverse
}

/// W and W'.
pub(super) fn root(modulus: Modulus, factor: u64) -> [u32; 2] {
    let whole = modulus.mul(factor, 1 << 32) as u32;
    [whole, whole.wrapping_mul(inverse_of_modulus(modulus.value() as u32))]
}

/// Reduction of double words by the same method, for products without a factor known in advance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    p: u32,
    inverse: u32,
    /// 2^64 mod p.
    square: u32,
}

impl Reduction {
    pub(crate) fn new(modulus: Modulus) -> Reduction {
        let p = modulus.value() as u32;
        Reduction { p, inverse: inverse_of_modulus(p), square: modulus.reduce_u128(1 << 64) as u32 }
    }

    /// x·2^-32 mod p, canonical, for x < 2^32·p.
    #[inline(always)]
    fn divide(self, x: u64) -> u32 {
        let quotient = (x as u32).wrapping_mul(self.inverse);
        let t = ((x >> 32) as u32).wrapping_sub(((u64::from(quotient) * u64::from(self.p)) >> 32) as u32);
        t.min(t.wrapping_add(self.p))
    }

    /// x mod p for x < 2^32·p.
    #[inline(always)]
    pub(super) fn reduce(self, x: u64) -> u32 {
        self.divide(u64::from(self.divide(x)) * u64::from(self.square))
    }

    /// 2·p².
    #[inline(always)]
    pub(super) fn fold(self) -> u64 {
        2 * u64::from(self.p) * u64::from(self.p)
    }
}
