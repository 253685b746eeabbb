//! Products over all residues of a vector, and the checks made with them.

use ciphermill_bigint::{IntegerBatch, OddModulus, Residues, limbs};
use crypto_bigint::{BoxedUint, Gcd};
use zeroize::Zeroizing;

use crate::error::PaillierError;

/// The product of all residues, 1 of none: halves are multiplied group by group, so that all lanes are at work.
pub(crate) fn product(ring: &OddModulus, values: &Residues) -> Result<Residues, PaillierError> {
    let lanes = ring.lanes();
    let whole = values.len() / lanes * lanes;
    let mut out = ring.one(1);
    if whole > 0 {
        let mut rest = values.slice(0..whole);
        while rest.len() > lanes {
            let groups = rest.len() / lanes;
            let half = groups / 2 * lanes;
            let mut next = ring.multiply(&rest.slice(0..half), &rest.slice(half..2 * half))?;
            if groups % 2 == 1 {
                next = Residues::concat(&[next, rest.slice(2 * half..rest.len())]);
            }
            rest = next;
        }
        out = across(ring, rest)?;
    }
    if whole < values.len() {
        out = ring.multiply(&out, &across(ring, values.slice(whole..values.len()))?)?;
    }
    Ok(out)
}

/// The product over the lanes of one group.
fn across(ring: &OddModulus, mut group: Residues) -> Result<Residues, PaillierError> {
    while group.len() > 1 {
        let half = group.len() / 2;
        let left: Vec<usize> = (0..half).collect();
        let right: Vec<usize> = (half..2 * half).collect();
        let mut next = ring.multiply(&ring.gather(&group, &left), &ring.gather(&group, &right))?;
        if group.len() % 2 == 1 {
            let last = ring.gather(&group, &[group.len() - 1]);
            let places: Vec<usize> = (0..half).collect();
            let first = ring.multiply(&ring.gather(&next, &[0]), &last)?;
            next = if half == 1 {
                first
            } else {
                // The odd one goes into the first product.
                let others = ring.gather(&next, &places[1..]);
                ring.multiply(&first, &across(ring, others)?)?
            };
        }
        group = next;
    }
    Ok(group)
}

/// Whether every residue modulo n² is a unit. Time depends on the values modulo n, which must be public.
pub(crate) fn are_units(ring: &OddModulus, values: &Residues) -> Result<bool, PaillierError> {
    let (n, low) = product_modulo_n(ring, values)?;
    Ok(bool::from(n.gcd_vartime(&low).is_one()))
}

/// As [`are_units`], constant-time in the values.
pub(crate) fn are_secret_units(ring: &OddModulus, values: &Residues) -> Result<bool, PaillierError> {
    let (n, low) = product_modulo_n(ring, values)?;
    Ok(bool::from(Zeroizing::new(n.gcd(&low)).is_one()))
}

/// n, and the product of all residues modulo n.
fn product_modulo_n(ring: &OddModulus, values: &Residues) -> Result<(BoxedUint, Zeroizing<BoxedUint>), PaillierError> {
    let (low, _) = ring.leave_parts(&product(ring, values)?);
    let n = limbs::to_uint(ring.root().expect("a modulus n²"));
    // As wide as n: resizing would leave a copy behind.
    let low = Zeroizing::new(low.resized(n.as_limbs().len()).uint(0));
    Ok((n, low))
}

/// (n + 1)^m = 1 + m·n modulo n² of plaintexts m < n, at a width; m ≤ n − 1 keeps it below n².
pub(crate) fn generator_powers(n: &[u64], plaintexts: &IntegerBatch, limbs: usize) -> IntegerBatch {
    let mut wide = Zeroizing::new(vec![0; 2 * n.len()]);
    let mut powers = IntegerBatch::zeros(plaintexts.len(), limbs);
    for (i, m) in plaintexts.rows().enumerate() {
        wide.fill(0);
        wide[0] = 1;
        limbs::multiply_add(&mut wide, m, n);
        powers.row_mut(i).copy_from_slice(&wide[..limbs]);
    }
    powers
}
