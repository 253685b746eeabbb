//! The public key of a plan.

use std::sync::Arc;

use ciphermill_lattice::{Csprng, KeyTag};
use ciphermill_wire::{Encoder, open, seal};

use super::objects::EncryptedSums;
use super::plan::SumPlan;
use super::request::Values;
use crate::error::BfvError;
use crate::keys::{PublicKey, SecretKey};
use crate::serial::{BODY_VERSION, SUM_PUBLIC_KEY};

/// The key under which the parties of a plan encrypt. Its bytes hold the plan, so that a key of another agreement is refused
/// even if both plans chose the same parameters.
///
/// # Example
/// ```
/// use std::sync::Arc;
///
/// use ciphermill_bfv::SecretKey;
/// use ciphermill_bfv::sums::{Segment, SumPlan, SumPublicKey, SumRequest, Values};
/// use ciphermill_lattice::{Csprng, SecretSeed};
/// use ciphermill_math::Isa;
///
/// let plan = |bound| SumPlan::new(&SumRequest::new(vec![Segment { len: 2, bound }], 2), Isa::current()).map(Arc::new);
/// let (ours, other) = (plan(9)?, plan(10)?);
/// let secret = SecretKey::generate(ours.context(), &SecretSeed::from_os()?);
/// let bytes = SumPublicKey::generate(&ours, &secret)?.to_bytes();
/// let public = SumPublicKey::from_bytes(&ours, &bytes)?;
/// let sum = public.encrypt(&[Values::Narrow(&[4, -9])], &mut Csprng::from_os()?)?;
/// assert_eq!(sum.decrypt(&secret)?, [[4, -9]]);
/// // Both plans have the same parameters.
/// assert_eq!(ours.context().parameters().id(), other.context().parameters().id());
/// assert!(SumPublicKey::from_bytes(&other, &bytes).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SumPublicKey {
    plan: Arc<SumPlan>,
    key: PublicKey,
}

impl SumPublicKey {
    /// The public key of `secret` for a plan; randomness from the operating system.
    ///
    /// # Errors
    /// If the secret key is of other parameters, or the operating system gives no randomness.
    pub fn generate(plan: &Arc<SumPlan>, secret: &SecretKey) -> Result<Self, BfvError> {
        plan.context().require_parameters("the secret key", secret.context().parameters().id())?;
        Ok(Self { plan: plan.clone(), key: PublicKey::generate(secret)? })
    }

    /// Encrypts the values of every segment, as [`EncryptedSums::encrypt`].
    ///
    /// # Errors
    /// If there are not as many values as the plan has, or one is beyond its bound.
    pub fn encrypt(&self, values: &[Values<'_>], rng: &mut Csprng) -> Result<EncryptedSums, BfvError> {
        EncryptedSums::encrypt(&self.plan, &self.key, values, rng)
    }

    /// Its plan.
    pub fn plan(&self) -> &Arc<SumPlan> {
        &self.plan
    }

    /// Its key set.
    pub fn tag(&self) -> KeyTag {
        self.key.tag()
    }

    /// The sealed key, with its plan.
    pub fn to_bytes(&self) -> Vec<u8> {
        let plan = self.plan.terms.encoded();
        let mut out = Encoder::with_capacity(2 + plan.len() + PublicKey::body_len(self.plan.context()));
        out.u16(plan.len() as u16).bytes(&plan);
        self.key.encode(&mut out);
        seal(SUM_PUBLIC_KEY, BODY_VERSION, &out.into_vec())
    }

    /// Reads a sealed key of `plan`.
    ///
    /// # Errors
    /// If it is malformed or of another plan.
    pub fn from_bytes(plan: &Arc<SumPlan>, bytes: &[u8]) -> Result<Self, BfvError> {
        let limit = super::serial::MAX_PLAN_LEN + PublicKey::body_len(plan.context()) as u64;
        let (_, mut input) = open(bytes, SUM_PUBLIC_KEY, BODY_VERSION..=BODY_VERSION, limit)?;
        plan.require_encoded("the public key", &mut input)?;
        let key = PublicKey::decode(plan.context(), &mut input)?;
        input.finish()?;
        Ok(Self { plan: plan.clone(), key })
    }
}
