//! The second stage, its randomness: drawn before anything is dispatched.

use ciphermill_math::bigint::{IntegerBatch, limbs};
use crypto_bigint::{Gcd, Resize};

use super::Refusal;
use super::constants::Constants;
use crate::error::PaillierError;
use crate::keys::PublicKey;
use crate::random::Csprng;

/// Draws until numbers share no factor with n. One of 2^1000 draws fails for a modulus of two large primes.
const ATTEMPTS: usize = 16;

/// `len` units modulo n, uniform.
pub(super) fn units(
    random: &mut Csprng,
    constants: &Constants,
    key: &PublicKey,
    len: usize,
) -> Result<IntegerBatch, Refusal> {
    for _ in 0..ATTEMPTS {
        let drawn = random.below(len, key.n())?;
        if are_units(constants, key, &drawn)? {
            return Ok(drawn);
        }
    }
    Err(Refusal::Key(PaillierError::Modulus { reason: "random numbers share factors with it" }))
}

/// `len` exponents for h_s.
pub(super) fn exponents(random: &mut Csprng, key: &PublicKey, len: usize) -> Result<IntegerBatch, Refusal> {
    Ok(random.bits(len, key.blinding_exponent_bits())?)
}

/// Whether no number below n² shares a factor with n: the engine multiplies them, and one greatest common divisor, taken in
/// constant time, tells about all.
pub(super) fn are_units(constants: &Constants, key: &PublicKey, values: &IntegerBatch) -> Result<bool, Refusal> {
    let mut rest = values.clone();
    while rest.len() > 1 {
        let half = rest.len() / 2;
        let product = constants.prepared.multiply(&rest.slice(0..half), &rest.slice(half..2 * half))?;
        rest = if rest.len().is_multiple_of(2) {
            product
        } else {
            let mut parts = [product, IntegerBatch::zeros(1, constants.prepared.limbs())];
            let last = rest.row(rest.len() - 1);
            parts[1].row_mut(0)[..last.len()].copy_from_slice(last);
            IntegerBatch::concat(&parts)
        };
    }
    let n = limbs::to_uint(key.n());
    let precision = n.bits_precision().max(64 * rest.limbs() as u32);
    let value = rest.uint(0).resize(precision);
    Ok(bool::from(n.resize(precision).gcd(&value).is_one()))
}
