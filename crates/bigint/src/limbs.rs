//! Operations on one integer as 64-bit limbs, least significant first. All are constant-time for given lengths.

use crypto_bigint::{BoxedUint, Limb};

/// Bits of a limb.
pub const LIMB_BITS: u32 = 64;

/// The same value for the general library, at the same width.
///
/// # Example
/// ```
/// use ciphermill_bigint::limbs;
///
/// let value = limbs::to_uint(&[7, 1]);
/// assert_eq!(limbs::from_uint(&value, 3), [7, 1, 0]);
/// ```
pub fn to_uint(limbs: &[u64]) -> BoxedUint {
    let limbs: Vec<Limb> = limbs.iter().map(|&limb| Limb(limb)).collect();
    BoxedUint::from(limbs)
}

/// The limbs of a number of the general library, at `width` limbs.
///
/// # Panics
/// If the value needs more.
pub fn from_uint(value: &BoxedUint, width: usize) -> Vec<u64> {
    let mut limbs: Vec<u64> = value.as_limbs().iter().map(|limb| limb.0).collect();
    assert!(limbs.iter().skip(width).all(|&limb| limb == 0), "the value has {width} limbs at most");
    limbs.resize(width, 0);
    limbs
}

/// lhs += rhs; the carry out. `rhs` may be shorter.
///
/// # Example
/// ```
/// use ciphermill_bigint::limbs;
///
/// let mut sum = [u64::MAX, 0];
/// assert_eq!(limbs::add_assign(&mut sum, &[1]), 0, "no carry out");
/// assert_eq!(sum, [0, 1]);
/// ```
#[inline]
pub fn add_assign(lhs: &mut [u64], rhs: &[u64]) -> u64 {
    debug_assert!(lhs.len() >= rhs.len());
    let mut carry = false;
    for (i, l) in lhs.iter_mut().enumerate() {
        let (sum, c1) = l.overflowing_add(rhs.get(i).copied().unwrap_or(0));
        let (sum, c2) = sum.overflowing_add(carry.into());
        *l = sum;
        carry = c1 | c2;
    }
    carry.into()
}

/// lhs −= rhs; the borrow out. `rhs` may be shorter.
#[inline]
pub fn sub_assign(lhs: &mut [u64], rhs: &[u64]) -> u64 {
    debug_assert!(lhs.len() >= rhs.len());
    let mut borrow = false;
    for (i, l) in lhs.iter_mut().enumerate() {
        let (difference, b1) = l.overflowing_sub(rhs.get(i).copied().unwrap_or(0));
        let (difference, b2) = difference.overflowing_sub(borrow.into());
        *l = difference;
        borrow = b1 | b2;
    }
    borrow.into()
}

/// lhs += rhs if `condition` is 1, lhs unchanged if it is 0; the carry out.
#[inline]
pub fn add_assign_if(lhs: &mut [u64], rhs: &[u64], condition: u64) -> u64 {
    debug_assert!(lhs.len() == rhs.len() && condition <= 1);
    // Hidden, as the compiler would branch on it: one loop with the addend and one without.
    let mask = std::hint::black_box(condition.wrapping_neg());
    let mut carry = false;
    for (l, &r) in lhs.iter_mut().zip(rhs) {
        let (sum, c1) = l.overflowing_add(r & mask);
        let (sum, c2) = sum.overflowing_add(carry.into());
        *l = sum;
        carry = c1 | c2;
    }
    carry.into()
}

/// Brings `carry`·2^(64·len) + lhs, which is below 2·modulus, below `modulus`.
#[inline]
pub fn reduce_once(lhs: &mut [u64], carry: u64, modulus: &[u64]) {
    let borrow = sub_assign(lhs, modulus);
    // Below the modulus before: the subtraction borrowed more than the carry gives.
    add_assign_if(lhs, modulus, borrow & (carry ^ 1));
}

/// 1 if lhs < rhs, else 0; both of one length.
#[inline]
pub fn less_than(lhs: &[u64], rhs: &[u64]) -> u64 {
    debug_assert_eq!(lhs.len(), rhs.len());
    let mut borrow = false;
    for (&l, &r) in lhs.iter().zip(rhs) {
        let (difference, b1) = l.overflowing_sub(r);
        let (_, b2) = difference.overflowing_sub(borrow.into());
        borrow = b1 | b2;
    }
    borrow.into()
}

/// 1 if lhs < rhs, else 0, where lhs may be shorter.
#[inline]
pub fn less_than_padded(lhs: &[u64], rhs: &[u64]) -> u64 {
    debug_assert!(lhs.len() <= rhs.len());
    let (low, high) = rhs.split_at(lhs.len());
    let above = high.iter().fold(0, |any, &limb| any | limb);
    less_than(lhs, low) | u64::from(above != 0)
}

/// acc += a·b, where `acc` has room for the sum.
///
/// # Example
/// ```
/// use ciphermill_bigint::limbs;
///
/// let mut sum = [5, 0];
/// limbs::multiply_add(&mut sum, &[1 << 63], &[2]);
/// assert_eq!(sum, [5, 1]);
/// ```
#[inline]
pub fn multiply_add(acc: &mut [u64], a: &[u64], b: &[u64]) {
    debug_assert!(acc.len() >= a.len() + b.len());
    for (i, &x) in a.iter().enumerate() {
        let mut carry = 0u64;
        let (row, rest) = acc[i..].split_at_mut(b.len());
        for (t, &y) in row.iter_mut().zip(b) {
            let sum = u128::from(x) * u128::from(y) + u128::from(*t) + u128::from(carry);
            *t = sum as u64;
            carry = (sum >> 64) as u64;
        }
        for t in rest {
            let (sum, c) = t.overflowing_add(carry);
            *t = sum;
            carry = c.into();
        }
    }
}

/// −x^-1 mod 2^64 of an odd x.
pub fn negated_inverse(x: u64) -> u64 {
    debug_assert!(x & 1 == 1);
    // Newton's iteration doubles the right bits: x itself is right modulo 8 (Hensel).
    let mut inverse = x;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(inverse)));
    }
    inverse.wrapping_neg()
}

/// Bits of a number, of which the length may be known to everyone.
pub fn bit_length_public(limbs: &[u64]) -> u32 {
    let top = limbs.iter().rposition(|&limb| limb != 0);
    top.map_or(0, |top| (top as u32 + 1) * LIMB_BITS - limbs[top].leading_zeros())
}

/// Limbs that hold `bits` bits.
pub const fn limbs_for(bits: u32) -> usize {
    bits.div_ceil(LIMB_BITS) as usize
}
