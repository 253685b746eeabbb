//! Conversions between limbs and `num-bigint`; signed integers as two's complement, and as residues modulo n.
//!
//! A plaintext m of a key n stands for m if m ≤ (n − 1)/2 and for m − n otherwise. All is constant-time for given lengths,
//! except the conversions to and from `num-bigint`.

use ciphermill_bigint::{IntegerBatch, limbs};
use num_bigint::{BigInt, BigUint, Sign};

/// The number that limbs represent.
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

/// row ← −row if `condition` is 1, as two's complement; unchanged if it is 0.
pub(crate) fn negate_if(row: &mut [u64], condition: u64) {
    debug_assert!(condition <= 1);
    let mask = condition.wrapping_neg();
    let mut carry = condition;
    for limb in row {
        let (value, overflow) = (*limb ^ mask).overflowing_add(carry);
        *limb = value;
        carry = overflow.into();
    }
}

/// 1 if a two's complement number is negative, else 0.
pub(crate) fn is_negative(row: &[u64]) -> u64 {
    row.last().map_or(0, |limb| limb >> 63)
}

/// The residue modulo n of a two's complement number of magnitude below n.
fn to_residue(out: &mut [u64], row: &[u64], n: &[u64]) {
    debug_assert_eq!(out.len(), n.len());
    let negative = is_negative(row);
    let extension = negative.wrapping_neg();
    for (i, limb) in out.iter_mut().enumerate() {
        *limb = row.get(i).copied().unwrap_or(extension);
    }
    limbs::add_assign_if(out, n, negative);
}

/// The residues modulo n of two's complement numbers of magnitude below n.
pub(crate) fn to_residues(rows: &IntegerBatch, n: &[u64]) -> IntegerBatch {
    let mut out = IntegerBatch::zeros(rows.len(), n.len());
    for (i, row) in rows.rows().enumerate() {
        to_residue(out.row_mut(i), row, n);
    }
    out
}

/// The two's complement numbers, one limb wider than n, that residues modulo n stand for.
pub(crate) fn from_residues(residues: &IntegerBatch, n: &[u64]) -> IntegerBatch {
    debug_assert_eq!(residues.limbs(), n.len());
    let half: Vec<u64> = (0..n.len()).map(|i| n[i] >> 1 | n.get(i + 1).copied().unwrap_or(0) << 63).collect();
    let mut minus_n = n.to_vec();
    minus_n.push(0);
    negate_if(&mut minus_n, 1);
    let mut out = IntegerBatch::zeros(residues.len(), n.len() + 1);
    for (i, residue) in residues.rows().enumerate() {
        let row = out.row_mut(i);
        row[..n.len()].copy_from_slice(residue);
        limbs::add_assign_if(row, &minus_n, limbs::less_than(&half, residue));
    }
    out
}

/// The number that a two's complement row represents.
pub(crate) fn to_bigint(row: &[u64]) -> BigInt {
    BigInt::from_signed_bytes_le(&row.iter().flat_map(|limb| limb.to_le_bytes()).collect::<Vec<u8>>())
}

/// A number in two's complement at `limbs` limbs; `None` if they are too few.
pub(crate) fn from_bigint(value: &BigInt, limbs: usize) -> Option<Vec<u64>> {
    let mut row = value.magnitude().to_u64_digits();
    if row.len() > limbs {
        return None;
    }
    row.resize(limbs, 0);
    let negative = u64::from(value.sign() == Sign::Minus);
    negate_if(&mut row, negative);
    // 0 is its own negative; anything else must have kept its sign.
    (is_negative(&row) == negative).then_some(row)
}
