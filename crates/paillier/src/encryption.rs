//! Encryption: c = (1 + m·n)·b mod n² with a blinding factor b, an n-th power.

use ciphermill_bigint::{Exponents, IntegerBatch, OddModulus, Residues, WeightMatrix, limbs};
use zeroize::Zeroizing;

use crate::blinding::Blinding;
use crate::ciphertext::CiphertextVector;
use crate::error::PaillierError;
use crate::keys::{PrimeSide, PublicKey, SecretKey};
use crate::parallel;
use crate::plaintext::PlaintextVector;
use crate::product;
use crate::random::{Csprng, RandomError};

/// Below that many factors the check of a batch costs more than the Chinese remainder theorem saves.
const MIN_OWNER_BATCH: usize = 16;

/// Draws of a batch until all of it shares no factor with n. Of a modulus of two large primes one of 2^1000 draws
/// fails; one of many small primes, which only its maker can distinguish from it, would let them fail forever.
const ATTEMPTS: usize = 16;

/// `len` units modulo n, uniform, in the form in which `accept` returns them. It receives numbers below n, and returns
/// `None` if one of them shares a factor with n.
///
/// # Errors
/// Those of `accept`; [`RandomError`]; [`PaillierError::Modulus`] if every draw shares a factor with n.
pub(crate) fn random_units<T, E: From<RandomError> + From<PaillierError>>(
    rng: &mut Csprng,
    len: usize,
    n: &[u64],
    mut accept: impl FnMut(IntegerBatch) -> Result<Option<T>, E>,
) -> Result<T, E> {
    for _ in 0..ATTEMPTS {
        if let Some(units) = accept(rng.below(len, n)?)? {
            return Ok(units);
        }
    }
    Err(PaillierError::Modulus { reason: "random numbers share factors with it" }.into())
}

impl PublicKey {
    /// Encrypts, with fresh blinding factors. Constant-time in plaintexts and factors.
    ///
    /// # Errors
    /// [`PaillierError::WrongKey`], [`PaillierError::NoBlindingBase`], [`PaillierError::Random`]; [`PaillierError::Modulus`]
    /// if random numbers share factors with n.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let x = key.encrypt(&plain, blinding, &mut rng)?;
    /// assert_eq!(owner.decrypt(&x)?, plain);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt(
        &self,
        plaintexts: &PlaintextVector,
        blinding: Blinding,
        rng: &mut Csprng,
    ) -> Result<CiphertextVector, PaillierError> {
        self.check_same(plaintexts.key())?;
        let factors = self.blinding_factors(plaintexts.len(), blinding, rng)?;
        self.encrypt_with(plaintexts, &factors)
    }

    /// `len` fresh blinding factors.
    pub(crate) fn blinding_factors(
        &self,
        len: usize,
        blinding: Blinding,
        rng: &mut Csprng,
    ) -> Result<Residues, PaillierError> {
        let ring = self.ring();
        match blinding {
            Blinding::Djn => {
                let table = self.table()?;
                let exponents = rng.bits(len, self.blinding_exponent_bits())?;
                parallel::residues(ring, len, |range| Ok(ring.pow_fixed(table, &exponents.slice(range))?))
            }
            Blinding::Strict => {
                let n = Exponents::shared(&limbs::to_uint(self.n()), self.bits().get())?;
                let units = random_units(rng, len, self.n(), |drawn| {
                    let units = parallel::residues(ring, len, |range| Ok(ring.enter(&drawn.slice(range))?))?;
                    Ok::<_, PaillierError>(product::are_secret_units(ring, &units)?.then_some(units))
                })?;
                parallel::residues(ring, len, |range| Ok(ring.pow(&units.slice(range), &n)?))
            }
        }
    }

    /// (1 + m·n)·b, element by element.
    pub(crate) fn encrypt_with(
        &self,
        plaintexts: &PlaintextVector,
        factors: &Residues,
    ) -> Result<CiphertextVector, PaillierError> {
        let ring = self.ring();
        let values = ring.multiply_unit(factors, plaintexts.residues())?;
        Ok(CiphertextVector::from_ring(self, values))
    }
}

impl SecretKey {
    /// Encrypts as [`PublicKey::encrypt`] does, to the same distribution, computing the blinding factors modulo p² and q²; a few
    /// with [`Blinding::Djn`] are computed as there.
    ///
    /// # Errors
    /// [`PaillierError::WrongKey`], [`PaillierError::NoBlindingBase`], [`PaillierError::Random`]; [`PaillierError::Fault`] if
    /// the computation did not pass its own check.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let x = owner.encrypt(&plain, blinding, &mut rng)?;
    /// assert_eq!(owner.decrypt(&x)?, plain);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt(
        &self,
        plaintexts: &PlaintextVector,
        blinding: Blinding,
        rng: &mut Csprng,
    ) -> Result<CiphertextVector, PaillierError> {
        let public = self.public_key();
        public.check_same(plaintexts.key())?;
        let factors = self.blinding_factors(plaintexts.len(), blinding, rng)?;
        public.encrypt_with(plaintexts, &factors)
    }

    /// `len` fresh blinding factors.
    pub(crate) fn blinding_factors(
        &self,
        len: usize,
        blinding: Blinding,
        rng: &mut Csprng,
    ) -> Result<Residues, PaillierError> {
        self.blinding_factors_with(len, blinding, rng, &|_, half| half)
    }

    /// As [`blinding_factors`](Self::blinding_factors); `fault` is the place where a test spoils the value modulo p²
    /// (side 0) or q² (side 1).
    fn blinding_factors_with(
        &self,
        len: usize,
        blinding: Blinding,
        rng: &mut Csprng,
        fault: &(impl Fn(usize, Residues) -> Residues + Sync),
    ) -> Result<Residues, PaillierError> {
        let public = self.public_key();
        let ring = public.ring();
        let [p, q] = self.sides();
        match blinding {
            Blinding::Djn if len < MIN_OWNER_BATCH => public.blinding_factors(len, blinding, rng),
            Blinding::Djn => {
                let exponents = rng.bits(len, public.blinding_exponent_bits())?;
                let weights = rng.check_weights(len)?;
                let tables = [p.table(public)?, q.table(public)?];
                parallel::residues(ring, len, |range| {
                    let (exponents, weights) = (exponents.slice(range.clone()), &weights[range]);
                    let left = p.square().pow_fixed(tables[0], &exponents)?;
                    let right = q.square().pow_fixed(tables[1], &exponents)?;
                    self.checked(self.recombine(&fault(0, left), &fault(1, right))?, weights)
                })
            }
            // Of the p·(p − 1) units modulo p², the n-th powers are the p − 1 p-th powers, as q shares no factor with
            // p − 1; s^p mod p² depends on s mod p alone, so that a uniform s gives each of them equally often.
            Blinding::Strict => {
                let (left, right) = (rng.below(len, p.prime())?, rng.below(len, q.prime())?);
                let weights = rng.check_weights(len)?;
                parallel::residues(ring, len, |range| {
                    let power = |side: &PrimeSide, units: &IntegerBatch| -> Result<Residues, PaillierError> {
                        let units = side.square().enter(&units.slice(range.clone()))?;
                        Ok(side.square().pow(&units, side.exponent())?)
                    };
                    let factors = self.recombine(&fault(0, power(p, &left)?), &fault(1, power(q, &right)?))?;
                    self.checked(factors, &weights[range])
                })
            }
        }
    }

    /// The residues modulo n² of residues modulo p² and q²: x ≡ y_p·q² + y_q·p² with y_p = x_p·q^-2 mod p², and likewise
    /// y_q. With y_p = l_p + h_p·p that is l_p·q² + l_q·p² + (h_p·q + h_q·p)·n.
    fn recombine(&self, left: &Residues, right: &Residues) -> Result<Residues, PaillierError> {
        let public = self.public_key();
        let parts = |side: &PrimeSide, values: &Residues| -> Result<_, PaillierError> {
            let square: &OddModulus = side.square();
            Ok(square.leave_parts(&square.multiply(values, side.square_cofactor())?))
        };
        let [p, q] = self.sides();
        let ((l_p, h_p), (l_q, h_q)) = (parts(p, left)?, parts(q, right)?);
        let (len, n) = (left.len(), public.n());
        // Below 2·n², as both summands are below n².
        let mut out = IntegerBatch::zeros(len, 2 * n.len() + 1);
        let mut high = Zeroizing::new(vec![0; n.len() + 1]);
        for index in 0..len {
            let row = out.row_mut(index);
            high.fill(0);
            limbs::multiply_add(&mut high, h_p.row(index), q.prime());
            limbs::multiply_add(&mut high, h_q.row(index), p.prime());
            limbs::multiply_add(row, l_p.row(index), q.prime_squared());
            limbs::multiply_add(row, l_q.row(index), p.prime_squared());
            limbs::multiply_add(row, &high, n);
        }
        Ok(public.ring().enter(&out)?)
    }

    /// The factors, if their product to the powers of these random weights is 1 to the power of p − 1 modulo p² and likewise
    /// for q, as it is for n-th powers and no others. So no result of a faulty half leaves (see [`decrypt`](Self::decrypt)).
    fn checked(&self, factors: Residues, weights: &[u64]) -> Result<Residues, PaillierError> {
        if factors.is_empty() {
            return Ok(factors);
        }
        let row = weights.iter().map(|&weight| i128::from(weight)).collect();
        let ring = self.public_key().ring();
        let combined = ring.leave(&ring.multi_pow_public(&factors, &WeightMatrix::new(weights.len(), row)?)?);
        let mut good = true;
        for side in self.sides() {
            good &= side.is_nth_power(&combined)?;
        }
        if good { Ok(factors) } else { Err(PaillierError::Fault) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::KeyBits;

    /// A fault in the half of one prime makes a factor that is not an n-th power modulo it.
    #[test]
    fn one_factor_that_is_no_power_is_found_among_many() {
        let mut rng = Csprng::from_seed([9; 32]);
        let key = SecretKey::generate(KeyBits::insecure_bench(512).unwrap(), &mut rng).unwrap();
        let ring = key.public_key().ring();
        let weights = rng.check_weights(20).unwrap();
        for blinding in [Blinding::Djn, Blinding::Strict] {
            let good = key.blinding_factors(20, blinding, &mut rng).unwrap();
            assert!(key.checked(good.clone(), &weights).is_ok());
            // Times 1 + q·n is a change modulo p² only.
            for prime in [key.sides()[0].prime(), key.sides()[1].prime()] {
                let mut shift = IntegerBatch::zeros(20, key.public_key().n().len());
                shift.row_mut(13)[..prime.len()].copy_from_slice(prime);
                let spoilt = ring.multiply_unit(&good, &shift).unwrap();
                assert!(matches!(key.checked(spoilt, &weights), Err(PaillierError::Fault)));
            }
        }
    }

    /// The check stands between the halves and the caller that asks for factors, for either kind of them.
    #[test]
    fn a_spoilt_half_lets_no_factor_out() {
        let mut rng = Csprng::from_seed([9; 32]);
        let key = SecretKey::generate(KeyBits::insecure_bench(512).unwrap(), &mut rng).unwrap();
        for blinding in [Blinding::Djn, Blinding::Strict] {
            for spoilt in [0, 1] {
                let fault = |side: usize, half: Residues| {
                    if side != spoilt {
                        return half;
                    }
                    // Times 1 + p modulo p², in the last element of every range.
                    let side = key.sides()[side];
                    let mut shift = IntegerBatch::zeros(half.len(), side.prime().len());
                    shift.row_mut(half.len() - 1)[0] = 1;
                    side.square().multiply_unit(&half, &shift).unwrap()
                };
                let outcome = key.blinding_factors_with(MIN_OWNER_BATCH, blinding, &mut rng, &fault);
                assert!(matches!(outcome, Err(PaillierError::Fault)), "{blinding:?}, side {spoilt}");
            }
        }
    }
}
