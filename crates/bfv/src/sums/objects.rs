//! Contributions and their sums.

use std::sync::Arc;

use ciphermill_lattice::{Csprng, KeyTag, SecretSeed};
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::digits;
use super::plan::SumPlan;
use super::request::Values;
use super::totals::{Beyond, Fields, Reader};
use crate::ciphertext::Ciphertext;
use crate::encryption::require_tag;
use crate::error::{BfvError, require_length, require_range};
use crate::keys::{PublicKey, SecretKey};

/// An encrypted contribution, or the sum of several.
///
/// # Example
/// ```
/// use std::sync::Arc;
///
/// use ciphermill_bfv::sums::{EncryptedSums, Segment, SumPlan, SumRequest, Values};
/// use ciphermill_bfv::{PublicKey, SecretKey};
/// use ciphermill_lattice::{Csprng, SecretSeed};
/// use ciphermill_math::Isa;
///
/// let request = SumRequest::new(vec![Segment { len: 2, bound: 9 }], 2);
/// let plan = Arc::new(SumPlan::new(&request, Isa::current())?);
/// let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
/// let public = PublicKey::generate(&secret)?;
/// let mut rng = Csprng::from_os()?;
/// let mut sum = EncryptedSums::encrypt(&plan, &public, &[Values::Narrow(&[4, -9])], &mut rng)?;
/// let other = EncryptedSums::encrypt(&plan, &public, &[Values::Narrow(&[5, 2])], &mut rng)?;
/// sum.add_assign(&other)?;
/// assert_eq!((sum.contributions(), sum.decrypt(&secret)?), (2, vec![vec![9, -7]]));
/// // The plan has room for two contributions.
/// assert!(sum.add_assign(&other).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EncryptedSums {
    pub(super) plan: Arc<SumPlan>,
    pub(super) tag: KeyTag,
    pub(super) contributions: u32,
    pub(super) ciphertexts: Vec<Ciphertext>,
}

impl EncryptedSums {
    /// Encrypts the values of every segment, on the threads of the current pool. The result does not depend on their number.
    ///
    /// # Errors
    /// If there are not as many values as the plan has, one is beyond its bound, or the key is of other parameters.
    pub fn encrypt(
        plan: &Arc<SumPlan>,
        key: &PublicKey,
        values: &[Values<'_>],
        rng: &mut Csprng,
    ) -> Result<Self, BfvError> {
        let (context, terms) = (plan.context(), &plan.terms);
        context.require_parameters("the public key", key.context().parameters().id())?;
        require_length("number of segments", values.len(), terms.request.segments.len())?;
        values.iter().zip(&terms.request.segments).try_for_each(|(values, segment)| values.require(segment))?;
        let basis = context.basis(context.top());
        // A separate generator for each ciphertext.
        let seeds: Vec<SecretSeed> = (0..plan.ciphertexts()).map(|_| seed(rng)).collect();
        let encrypt = |(i, seed): (usize, &SecretSeed)| {
            let mut ciphertext = key.encrypt_zero(context.top(), &mut Csprng::from_secret(seed, 0))?;
            let message = Zeroizing::new(digits::message(&terms.layout, basis, terms.shift, i, values));
            basis.add_assign(&mut ciphertext.parts[0], &message);
            Ok(ciphertext)
        };
        let ciphertexts = seeds.par_iter().enumerate().map(encrypt).collect::<Result<_, BfvError>>()?;
        Ok(Self { plan: plan.clone(), tag: key.tag(), contributions: 1, ciphertexts })
    }

    /// self ← self + other: the contributions of both. Each must be encrypted separately. The failure probability of the plan
    /// does not cover a ciphertext that is added twice, because its noise then doubles.
    ///
    /// # Errors
    /// If they are of other plans or key sets, or more contributions than the plan has parties.
    pub fn add_assign(&mut self, other: &Self) -> Result<(), BfvError> {
        if self.plan != other.plan {
            return Err(BfvError::WrongPlan { what: "the other sum" });
        }
        require_tag("the other sum", other.tag, self.tag)?;
        let contributions = u64::from(self.contributions) + u64::from(other.contributions);
        require_range("number of contributions", contributions, 1, self.plan.terms.request.parties)?;
        let basis = self.plan.context().basis(self.plan.context().top());
        for (sum, ciphertext) in self.ciphertexts.iter_mut().zip(&other.ciphertexts) {
            sum.parts.iter_mut().zip(&ciphertext.parts).for_each(|(sum, part)| basis.add_assign(sum, part));
        }
        self.contributions = contributions as u32;
        Ok(())
    }

    /// The totals of every segment.
    ///
    /// # Errors
    /// If the key is of another key set or other parameters, or a total is beyond its bound: a contribution then was not made
    /// by [`encrypt`](Self::encrypt), or its bytes were changed.
    pub fn decrypt(&self, key: &SecretKey) -> Result<Vec<Vec<i128>>, BfvError> {
        let (context, terms) = (self.plan.context(), &self.plan.terms);
        context.require_parameters("the secret key", key.context().parameters().id())?;
        let bound = |bound: u128| u128::from(self.contributions) * bound;
        let greatest: Vec<u128> = terms.request.segments.iter().map(|segment| bound(segment.bound)).collect();
        let basis = context.basis(context.top());
        let reader = Reader::new(&terms.layout, basis, terms.shift, greatest.clone());
        let read = |(i, ciphertext): (usize, &Ciphertext)| {
            reader.read(i, &*key.phase(ciphertext)?).map_err(|beyond| refused(&beyond, &greatest))
        };
        let fields: Vec<Fields> = self.ciphertexts.par_iter().enumerate().map(read).collect::<Result<_, BfvError>>()?;
        let mut totals: Vec<Vec<i128>> = terms.request.segments.iter().map(|segment| vec![0; segment.len]).collect();
        for (i, blocks) in fields.iter().enumerate() {
            for ((block, fields), totals) in terms.layout.blocks.iter().zip(blocks).zip(&mut totals) {
                for (k, field) in fields.iter().enumerate() {
                    totals[block.values_in(context.n(), i, k)].copy_from_slice(field);
                }
            }
        }
        Ok(totals)
    }

    /// Its plan.
    pub fn plan(&self) -> &Arc<SumPlan> {
        &self.plan
    }

    /// Its key set.
    pub fn tag(&self) -> KeyTag {
        self.tag
    }

    /// The number of contributions, as their senders and the aggregator declare it.
    pub fn contributions(&self) -> u32 {
        self.contributions
    }

    /// Its ciphertexts. Their messages are not plaintexts of BFV: see the [module](super).
    pub fn ciphertexts(&self) -> &[Ciphertext] {
        &self.ciphertexts
    }
}

/// The next 32 bytes as a seed.
fn seed(rng: &mut Csprng) -> SecretSeed {
    let mut bytes = Zeroizing::new([0; ciphermill_lattice::rng::SEED_LEN]);
    rng.fill_bytes(&mut *bytes);
    SecretSeed::from_bytes(*bytes)
}

/// The error for a total beyond its bound.
fn refused(beyond: &Beyond, greatest: &[u128]) -> BfvError {
    let max = greatest[beyond.segment] as i128;
    match beyond.total {
        Some(total) => BfvError::Range { what: "a total", given: total, min: -max, max },
        None => BfvError::Unsupported {
            what: format!(
                "a sum whose totals of segment {} are outside {} to {max}; use contributions made for this plan",
                beyond.segment, -max
            ),
        },
    }
}
