//! Decryption by the Chinese remainder theorem, checked before anything leaves.
//!
//! Modulo p², c^(p−1) = 1 + L·p, and m ≡ L·(−q)^-1 (mod p) (Paillier 1999, section 7, with g = n + 1). A result that is
//! right modulo one prime and wrong modulo the other gives n away by one gcd (Boneh, DeMillo, Lipton 1997), therefore:
//!
//! - the part of c^(p−1) below p must be 1;
//! - one more element goes with every batch: the product of all c_i^(e_i) with random 32-bit e_i, taken modulo n² before
//!   anything is reduced modulo p². Its L must be Σ e_i·L_i. It shows errors that part 1 does not, such as one in the upper
//!   part of an intermediate or in the reduction of a c_i, with a probability of 1 − 2^-32;
//! - of every result m, m·(−q) mod p must be L again: that covers the steps after the exponentiation.

use std::ops::Range;

use ciphermill_bigint::{IntegerBatch, WeightMatrix, limbs};
use zeroize::Zeroizing;

use crate::ciphertext::CiphertextVector;
use crate::error::PaillierError;
use crate::keys::{PrimeSide, SecretKey};
use crate::parallel;
use crate::plaintext::PlaintextVector;
use crate::random::Csprng;

/// Where a test spoils a computation. Nothing does outside of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Ciphertexts, as they enter modulo p².
    Entry,
    /// The parts of c^(p−1) below p.
    Low,
    /// Those above.
    High,
    /// Plaintexts modulo p.
    Half,
    /// Plaintexts modulo n.
    Whole,
}

/// Spoils values: the stage, the side (0 for p, 1 for q), the values.
pub(crate) trait Faults: Sync {
    fn spoil(&self, stage: Stage, side: usize, values: &mut IntegerBatch);
}

/// None.
struct NoFaults;

impl Faults for NoFaults {
    #[inline]
    fn spoil(&self, _stage: Stage, _side: usize, _values: &mut IntegerBatch) {}
}

impl SecretKey {
    /// Decrypts. Constant-time in the key; ciphertexts are public.
    ///
    /// # Errors
    /// [`PaillierError::WrongKey`]; [`PaillierError::Fault`] if the computation did not pass its own check;
    /// [`PaillierError::Random`], as the check is randomised.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(owner.decrypt(&x)?.to_i64()?, [3, -5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decrypt(&self, ciphertexts: &CiphertextVector) -> Result<PlaintextVector, PaillierError> {
        self.decrypt_checked_by(ciphertexts, &mut Csprng::from_os()?)
    }

    /// As [`decrypt`](Self::decrypt), with the weights of its check from `rng`: for reproducible measurements. An attacker who
    /// foresees the weights can make faults that the check does not find.
    ///
    /// # Errors
    /// As [`decrypt`](Self::decrypt).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut weights = Csprng::from_seed([1; 32]);
    /// assert_eq!(owner.decrypt_checked_by(&x, &mut weights)?.to_i64()?, [3, -5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decrypt_checked_by(
        &self,
        ciphertexts: &CiphertextVector,
        rng: &mut Csprng,
    ) -> Result<PlaintextVector, PaillierError> {
        self.decrypt_with(ciphertexts, &NoFaults, rng)
    }

    pub(crate) fn decrypt_with(
        &self,
        ciphertexts: &CiphertextVector,
        faults: &impl Faults,
        rng: &mut Csprng,
    ) -> Result<PlaintextVector, PaillierError> {
        let public = self.public_key();
        let values = ciphertexts.values_in(public)?;
        let len = values.len();
        if len == 0 {
            return PlaintextVector::from_residues(public, IntegerBatch::zeros(0, public.n().len()));
        }
        let weights = rng.check_weights(len)?;
        let ring = public.ring();
        let parts = parallel::in_ranges(ring.lanes(), len, |range: Range<usize>| {
            let values = values.slice(range.clone());
            let weights = &weights[range];
            let row = weights.iter().map(|&weight| i128::from(weight)).collect();
            let check = ring.multi_pow_public(&values, &WeightMatrix::new(weights.len(), row)?)?;
            let entered = IntegerBatch::concat(&[ring.leave(&values), ring.leave(&check)]);
            self.decrypt_batch(&entered, weights, faults)
        })?;
        PlaintextVector::from_residues(public, IntegerBatch::concat(&parts))
    }

    /// The plaintexts modulo n of ciphertexts, of which the last checks the others.
    fn decrypt_batch(
        &self,
        ciphertexts: &IntegerBatch,
        weights: &[u64],
        faults: &impl Faults,
    ) -> Result<IntegerBatch, PaillierError> {
        let [p, q] = self.sides();
        let len = weights.len();
        let (high_p, half_p, mut bad) = self.halves(0, ciphertexts, weights, faults)?;
        let (high_q, half_q, bad_q) = self.halves(1, ciphertexts, weights, faults)?;
        bad |= bad_q;
        // m = y_p·q + y_q·p with y_p = m_p·q^-1 mod p and y_q = m_q·p^-1 mod q, less n if it is not below.
        let n = self.public_key().n();
        let scaled = |side: &PrimeSide, half: &IntegerBatch| -> Result<IntegerBatch, PaillierError> {
            let ring = side.ring();
            Ok(ring.leave(&ring.multiply(&ring.enter(half)?, side.cofactor())?))
        };
        let (y_p, y_q) = (scaled(p, &half_p)?, scaled(q, &half_q)?);
        let mut out = IntegerBatch::zeros(len, n.len());
        let mut sum = Zeroizing::new(vec![0; n.len() + 1]);
        for index in 0..len {
            sum.fill(0);
            limbs::multiply_add(&mut sum, y_p.row(index), q.prime());
            limbs::multiply_add(&mut sum, y_q.row(index), p.prime());
            let row = out.row_mut(index);
            row.copy_from_slice(&sum[..n.len()]);
            limbs::reduce_once(row, sum[n.len()], n);
        }
        faults.spoil(Stage::Whole, 0, &mut out);
        for (side, high) in [(p, &high_p), (q, &high_q)] {
            let ring = side.ring();
            let again = ring.leave(&ring.multiply(&ring.enter(&out)?, side.high_factor())?);
            bad |= difference(again.words(), &high.words()[..len * high.limbs()]);
        }
        for row in out.rows() {
            bad |= limbs::less_than(row, n) ^ 1;
        }
        if bad == 0 { Ok(out) } else { Err(PaillierError::Fault) }
    }

    /// Modulo one prime: the L of every ciphertext, the plaintexts, and 0 if all checks passed.
    fn halves(
        &self,
        index: usize,
        ciphertexts: &IntegerBatch,
        weights: &[u64],
        faults: &impl Faults,
    ) -> Result<(IntegerBatch, IntegerBatch, u64), PaillierError> {
        let side = self.sides()[index];
        let mut ciphertexts = ciphertexts.clone();
        faults.spoil(Stage::Entry, index, &mut ciphertexts);
        let (mut low, mut high) = side.fermat_powers(&ciphertexts)?;
        faults.spoil(Stage::Low, index, &mut low);
        faults.spoil(Stage::High, index, &mut high);
        let mut bad = 0;
        for row in low.rows() {
            bad |= (row[0] ^ 1) | row[1..].iter().fold(0, |any, &word| any | word);
        }
        // Σ e_i·L_i mod p.
        let mut sum = IntegerBatch::zeros(1, high.limbs() + 2);
        for (&weight, row) in weights.iter().zip(high.rows()) {
            limbs::multiply_add(sum.row_mut(0), row, &[weight]);
        }
        let ring = side.ring();
        let sum = ring.leave(&ring.enter(&sum)?);
        bad |= difference(sum.row(0), high.row(weights.len()));
        let wanted = high.slice(0..weights.len());
        let mut half = ring.leave(&ring.multiply(&ring.enter(&wanted)?, side.plaintext_factor())?);
        faults.spoil(Stage::Half, index, &mut half);
        Ok((wanted, half, bad))
    }
}

/// 0 if both are the same.
fn difference(a: &[u64], b: &[u64]) -> u64 {
    debug_assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0, |any, (x, y)| any | (x ^ y))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::blinding::Blinding;
    use crate::parameters::KeyBits;

    /// Flips a bit of one value at one place.
    struct Flip {
        stage: Stage,
        side: usize,
        row: usize,
        bit: usize,
        /// How often something was flipped.
        hits: AtomicUsize,
    }

    impl Faults for Flip {
        fn spoil(&self, stage: Stage, side: usize, values: &mut IntegerBatch) {
            if (stage, side) == (self.stage, self.side) && self.row < values.len() {
                self.hits.fetch_add(1, Ordering::Relaxed);
                values.row_mut(self.row)[self.bit / 64] ^= 1 << (self.bit % 64);
            }
        }
    }

    /// A wrong value at any place, of any element or of the checking one, lets nothing out.
    #[test]
    fn no_fault_leaves() {
        // One batch, so that rows are where they are counted.
        rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(spoil_every_stage);
    }

    fn spoil_every_stage() {
        let mut rng = Csprng::from_seed([3; 32]);
        let key = SecretKey::generate(KeyBits::insecure_bench(512).unwrap(), &mut rng).unwrap();
        for len in [1usize, 8, 11] {
            let values: Vec<i64> = (0..len as i64).map(|i| i * 1_000_003 - 7).collect();
            let m = PlaintextVector::from_i64(key.public_key(), &values);
            let c = key.encrypt(&m, Blinding::Djn, &mut rng).unwrap();
            assert_eq!(key.decrypt(&c).unwrap().to_i64().unwrap(), values);
            for (stage, sides, rows, bits) in [
                (Stage::Entry, 2, len + 1, 1024),
                (Stage::Low, 2, len + 1, 256),
                (Stage::High, 2, len + 1, 256),
                (Stage::Half, 2, len, 256),
                (Stage::Whole, 1, len, 512),
            ] {
                for side in 0..sides {
                    for row in [0, rows / 2, rows - 1] {
                        for bit in [0, 1, 63, 64, bits / 2, bits - 1] {
                            let flip = Flip { stage, side, row, bit, hits: AtomicUsize::new(0) };
                            let outcome = key.decrypt_with(&c, &flip, &mut rng);
                            assert!(
                                matches!(outcome, Err(PaillierError::Fault)),
                                "{stage:?}, side {side}, row {row} of {len}, bit {bit}"
                            );
                            assert_eq!(flip.hits.into_inner(), 1);
                        }
                    }
                }
            }
        }
    }

    /// The attack that the checks are there for: one wrong half, and a gcd gives a prime away.
    #[test]
    fn what_a_fault_would_give_away() {
        use crypto_bigint::{Gcd, Resize};

        let key = SecretKey::generate(KeyBits::insecure_bench(512).unwrap(), &mut Csprng::from_seed([3; 32])).unwrap();
        let [p, q] = key.sides();
        // m = 5, and the half modulo q is 6 instead: m' = m + q^-1·p·… differs from m by a multiple of p only.
        let inverse = q.ring().leave(q.cofactor());
        let mut wrong = vec![0; key.public_key().n().len()];
        limbs::multiply_add(&mut wrong, inverse.row(0), p.prime());
        let n = limbs::to_uint(key.public_key().n());
        let common = n.gcd_vartime(&limbs::to_uint(&wrong).resize(n.bits_precision()));
        assert_eq!(limbs::from_uint(&common, p.prime().len()), p.prime());
    }
}
