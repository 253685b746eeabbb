//! What a modulus needs to be known of before any operand.

use crypto_bigint::{BoxedUint, NonZero, Resize};

use super::limbs;

/// 2^(radix_bits·i) mod `modulus` for i = 1, …, `count`, at the modulus' width. Constant-time in the modulus.
pub(super) fn radix_powers(modulus: &[u64], radix_bits: u32, count: usize) -> Vec<BoxedUint> {
    let precision = (modulus.len() as u32 * limbs::LIMB_BITS).max(radix_bits + 1);
    let wide = NonZero::new(limbs::to_uint(modulus).resize(precision)).expect("a modulus is not 0");
    let narrow = NonZero::new(limbs::to_uint(modulus)).expect("a modulus is not 0");
    let radix = (BoxedUint::one_with_precision(precision) << radix_bits).rem(&wide);
    let radix = radix.resize(modulus.len() as u32 * limbs::LIMB_BITS);
    let mut powers = vec![radix.clone()];
    while powers.len() < count {
        powers.push(powers[powers.len() - 1].mul_mod(&radix, &narrow));
    }
    powers
}

/// (x mod n, ⌊x/n⌋), both of n's limbs, of an x below n². Constant-time.
pub(super) fn split(x: &BoxedUint, n: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let precision = x.bits_precision().max(n.len() as u32 * limbs::LIMB_BITS);
    let divisor = NonZero::new(limbs::to_uint(n).resize(precision)).expect("a modulus is not 0");
    let (quotient, remainder) = x.clone().resize(precision).div_rem(&divisor);
    (limbs::from_uint(&remainder, n.len()), limbs::from_uint(&quotient, n.len()))
}

/// n², at twice n's limbs.
pub(super) fn square(n: &[u64]) -> Vec<u64> {
    let mut square = vec![0; 2 * n.len()];
    limbs::multiply_add(&mut square, n, n);
    square
}
