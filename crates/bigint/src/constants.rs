//! The constants of a modulus, computed before any operand. The modulus may be secret: everything here is constant-time
//! for its length, and the buffers of this file are wiped; temporaries within `crypto-bigint` are not.

use crypto_bigint::{BoxedUint, NonZero};
use zeroize::Zeroizing;

use super::limbs;

/// The limbs of a constant.
pub(super) type Words = Zeroizing<Vec<u64>>;

fn uint(words: &[u64], precision: u32) -> Zeroizing<BoxedUint> {
    let mut padded = Words::new(vec![0; limbs::limbs_for(precision).max(words.len())]);
    padded[..words.len()].copy_from_slice(words);
    Zeroizing::new(limbs::to_uint(&padded))
}

fn divisor(modulus: &[u64], precision: u32) -> Zeroizing<NonZero<BoxedUint>> {
    let modulus = uint(modulus, precision);
    Zeroizing::new(NonZero::new((*modulus).clone()).expect("a modulus is not 0"))
}

fn bits(words: &[u64]) -> u32 {
    words.len() as u32 * limbs::LIMB_BITS
}

/// 2^(radix_bits·i) mod `modulus` for i = 1, …, `count`, at the modulus' width.
pub(super) fn radix_powers(modulus: &[u64], radix_bits: u32, count: usize) -> Vec<Words> {
    let precision = bits(modulus).max(radix_bits + 1);
    let one = BoxedUint::one_with_precision(precision);
    let radix = Zeroizing::new((one << radix_bits).rem(&divisor(modulus, precision)));
    let mut powers = Vec::with_capacity(count);
    powers.push(Words::new(limbs::from_uint(&radix, modulus.len())));
    while powers.len() < count {
        powers.push(multiply(&powers[powers.len() - 1], &powers[0], modulus));
    }
    powers
}

/// a·b mod `modulus`, all of one width.
pub(super) fn multiply(a: &[u64], b: &[u64], modulus: &[u64]) -> Words {
    let precision = bits(modulus);
    let product = uint(a, precision).mul_mod(&uint(b, precision), &divisor(modulus, precision));
    Words::new(limbs::from_uint(&Zeroizing::new(product), modulus.len()))
}

/// (x mod n, ⌊x/n⌋), both of n's limbs, of an x below n².
pub(super) fn split(x: &[u64], n: &[u64]) -> (Words, Words) {
    let precision = bits(x).max(bits(n));
    let (quotient, remainder) = uint(x, precision).div_rem(&divisor(n, precision));
    let (quotient, remainder) = (Zeroizing::new(quotient), Zeroizing::new(remainder));
    (Words::new(limbs::from_uint(&remainder, n.len())), Words::new(limbs::from_uint(&quotient, n.len())))
}

/// n², at twice n's limbs.
pub(super) fn square(n: &[u64]) -> Words {
    let mut square = Words::new(vec![0; 2 * n.len()]);
    limbs::multiply_add(&mut square, n, n);
    square
}

/// The words with `more` after them, in one allocation: growing a vector would leave a copy behind.
pub(super) fn extended(words: &[u64], more: &[u64]) -> Vec<u64> {
    let mut out = Vec::with_capacity(words.len() + more.len());
    out.extend_from_slice(words);
    out.extend_from_slice(more);
    out
}
