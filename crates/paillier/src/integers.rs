//! Between limbs and `num-bigint`, which is what callers have.

use num_bigint::BigUint;

/// The number that limbs stand for.
pub(crate) fn to_big(limbs: &[u64]) -> BigUint {
    BigUint::from_slice(&limbs.iter().flat_map(|&limb| [limb as u32, (limb >> 32) as u32]).collect::<Vec<_>>())
}

/// A number at a width, if it fits.
pub(crate) fn from_big(value: &BigUint, limbs: usize) -> Option<Vec<u64>> {
    let mut out = value.to_u64_digits();
    if out.len() > limbs {
        return None;
    }
    out.resize(limbs, 0);
    Some(out)
}
