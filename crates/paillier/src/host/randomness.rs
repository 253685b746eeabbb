//! The second stage, its randomness: drawn before anything is dispatched.

use ciphermill_bigint::{IntegerBatch, TrustedEngine, limbs};
use crypto_bigint::{Gcd, Resize};
use zeroize::Zeroizing;

use super::constants::Constants;
use super::{Refusal, answer};
use crate::encryption::random_units;
use crate::keys::PublicKey;
use crate::random::Csprng;

/// `len` units modulo n, uniform.
pub(super) fn units(
    engine: &TrustedEngine,
    random: &mut Csprng,
    constants: &Constants,
    key: &PublicKey,
    len: usize,
) -> Result<IntegerBatch, Refusal> {
    random_units(random, len, key.n(), |drawn| {
        Ok(not_a_unit(engine, constants, key, &drawn)?.is_none().then_some(drawn))
    })
}

/// `len` exponents for h_s.
pub(super) fn exponents(random: &mut Csprng, key: &PublicKey, len: usize) -> Result<IntegerBatch, Refusal> {
    Ok(random.bits(len, key.blinding_exponent_bits())?)
}

/// The first of some numbers below n² that shares a factor with n, if one does.
///
/// The engine multiplies them, and one greatest common divisor checks all; only if it finds a factor are they checked
/// one by one. Each divisor is taken in constant time, and the number of divisors reveals nothing about the kept
/// integers.
pub(super) fn not_a_unit(
    engine: &TrustedEngine,
    constants: &Constants,
    key: &PublicKey,
    values: &IntegerBatch,
) -> Result<Option<usize>, Refusal> {
    let product = product(engine, constants, values)?;
    if is_unit(key, product.row(0)) {
        return Ok(None);
    }
    match values.rows().position(|row| !is_unit(key, row)) {
        Some(element) => Ok(Some(element)),
        // A product of units is a unit.
        None => Err(answer::wrong(engine, "a product that shares a factor with n, of numbers that do not")),
    }
}

/// The product of all numbers, of which there is one at least.
fn product(engine: &TrustedEngine, constants: &Constants, values: &IntegerBatch) -> Result<IntegerBatch, Refusal> {
    let mut rest = values.clone();
    while rest.len() > 1 {
        let half = rest.len() / 2;
        let product = constants.prepared.multiply(&rest.slice(0..half), &rest.slice(half..2 * half));
        let product = answer::answer(engine, constants, half, product)?;
        rest = if rest.len().is_multiple_of(2) {
            product
        } else {
            let mut parts = [product, IntegerBatch::zeros(1, constants.modulus.len())];
            let last = rest.row(rest.len() - 1);
            parts[1].row_mut(0)[..last.len()].copy_from_slice(last);
            IntegerBatch::concat(&parts)
        };
    }
    Ok(rest)
}

fn is_unit(key: &PublicKey, value: &[u64]) -> bool {
    let n = limbs::to_uint(key.n());
    // With one number drawn it is r itself.
    let mut wide = Zeroizing::new(vec![0; value.len().max(key.n().len())]);
    wide[..value.len()].copy_from_slice(value);
    let value = Zeroizing::new(limbs::to_uint(&wide));
    bool::from(n.resize(value.bits_precision()).gcd(&*value).is_one())
}
