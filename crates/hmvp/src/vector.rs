//! The client's vector.

use std::sync::Arc;

use ciphermill_lattice::{Csprng, KeyTag, PublicSeed};
use zeroize::{Zeroize, Zeroizing};

use super::entries::require_entries;
use super::{Plan, parts};
use crate::error::HmvpError;
use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::encryption::require_tag;
use ciphermill_bfv::error::{BfvError, require_length, require_range};
use ciphermill_bfv::keys::{PublicKey, SecretKey};

/// An encrypted vector in a plan's layout: the ciphertexts of each of its parts.
///
/// # Example
/// ```
/// use std::sync::Arc;
///
/// use ciphermill_bfv::SecretKey;
/// use ciphermill_hmvp::{EncryptedVector, Plan, Request};
/// use ciphermill_lattice::{Csprng, SecretSeed};
/// use ciphermill_math::Isa;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let plan = Arc::new(Plan::new(&Request::new(2, 3), Isa::current())?);
/// let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
/// let mut rng = Csprng::from_os()?;
/// let vector = EncryptedVector::encrypt(&plan, &secret, &[1, 0, -1], &mut rng)?;
/// let sent = vector.to_bytes();
///
/// // The server reads it by an equal plan.
/// assert_eq!(EncryptedVector::from_bytes(&plan, &sent)?.tag(), secret.tag());
/// assert!(EncryptedVector::encrypt(&plan, &secret, &[1, 0, 200], &mut rng).is_err(), "200 needs 9 bits");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct EncryptedVector {
    pub(crate) plan: Arc<Plan>,
    pub(crate) tag: KeyTag,
    /// The encryptions that it is the sum of.
    pub(crate) summands: u32,
    pub(crate) parts: Vec<Vec<VectorCiphertext>>,
}

/// A ciphertext of a vector. `seed`: that whose expansion c_1 is, if it is one; then the seed is sent instead.
#[derive(Clone, Debug)]
pub(crate) struct VectorCiphertext {
    pub(crate) ciphertext: Ciphertext,
    pub(crate) seed: Option<PublicSeed>,
}

impl VectorCiphertext {
    /// `plaintext` under the secret key.
    pub(crate) fn seeded(
        key: &SecretKey,
        plaintext: &Plaintext,
        limbs: usize,
        noise: &mut Csprng,
    ) -> Result<Self, HmvpError> {
        let ciphertext = key.encrypt_seeded(plaintext, limbs, noise)?;
        Ok(Self { seed: Some(ciphertext.seed()), ciphertext: ciphertext.expand(key.context())? })
    }
}

impl EncryptedVector {
    /// Encrypts n entries under the secret key.
    ///
    /// # Errors
    /// If there are not n of them, one is out of the plan's range, the key is of other parameters, or the operating system
    /// gives no randomness.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let vector = EncryptedVector::encrypt(&plan, &secret, &[7, 0, 0], &mut rng)?;
    /// assert_eq!(keys.multiply(&matrix, &vector)?.decrypt(&secret)?, [7, 28]);
    /// let short = EncryptedVector::encrypt(&plan, &secret, &[7, 0], &mut rng);
    /// assert!(short.is_err(), "the matrix has three columns");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt(plan: &Arc<Plan>, key: &SecretKey, values: &[i64], noise: &mut Csprng) -> Result<Self, HmvpError> {
        plan.require_key(key)?;
        Self::encrypt_parts(plan, key.tag(), values, |plaintext, limbs| {
            VectorCiphertext::seeded(key, plaintext, limbs, noise)
        })
    }

    /// Encrypts n entries under the public key.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt), or if the plan expects encryption under the secret key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// use ciphermill_bfv::PublicKey;
    ///
    /// let request = Request { encryption: Encryption::Public, ..Request::new(2, 3) };
    /// let plan = Arc::new(Plan::new(&request, Isa::current())?);
    /// let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
    /// let public = PublicKey::generate(&secret)?;
    /// let vector = EncryptedVector::encrypt_public(&plan, &public, &[1, 0, -1], &mut rng)?;
    /// assert_eq!(vector.tag(), secret.tag());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt_public(
        plan: &Arc<Plan>,
        key: &PublicKey,
        values: &[i64],
        rng: &mut Csprng,
    ) -> Result<Self, HmvpError> {
        plan.require_public_key(key)?;
        plan.require_public_encryption()?;
        Self::encrypt_parts(plan, key.tag(), values, |plaintext, limbs| {
            Ok(VectorCiphertext { ciphertext: key.encrypt(plaintext, limbs, rng)?, seed: None })
        })
    }

    fn encrypt_parts(
        plan: &Arc<Plan>,
        tag: KeyTag,
        values: &[i64],
        mut encrypt: impl FnMut(&Plaintext, usize) -> Result<VectorCiphertext, HmvpError>,
    ) -> Result<Self, HmvpError> {
        require_length("number of entries of the vector", values.len(), plan.request().cols)?;
        require_entries("entry of the vector", values, plan.request().vector_bits)?;
        let bits = &plan.choice().vector_parts;
        let mut part = Zeroizing::new(vec![0; values.len()]);
        let parts = (0..bits.len()).map(|i| {
            part.copy_from_slice(values);
            parts::take_part(&mut part, bits, i);
            encrypt_part(plan, &part, &mut encrypt)
        });
        Ok(Self { plan: plan.clone(), tag, summands: 1, parts: parts.collect::<Result<_, _>>()? })
    }

    /// The sum with another vector of the same key set. The sums of entries must stay within the plan's range, as entries do.
    ///
    /// # Errors
    /// If the plan splits entries of vectors, if the vectors are of different plans or key sets, or of more encryptions together than
    /// [the plan](crate::Request::summands) expects. A vector that was read counts as one encryption.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let plan = Arc::new(Plan::new(&Request { summands: 2, ..Request::new(2, 3) }, Isa::current())?);
    /// # let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
    /// # let keys = engine.prepare(&plan, &GaloisKeys::generate(&secret, &plan.galois_requests())?)?;
    /// # let matrix = engine.prepare_matrix(&plan, &dense)?;
    /// let vector = |values: &[i64], rng: &mut Csprng| EncryptedVector::encrypt(&plan, &secret, values, rng);
    /// let sum = vector(&[4, 0, -2], &mut rng)?.add(&vector(&[-3, 0, 1], &mut rng)?)?;
    /// assert_eq!(keys.multiply(&matrix, &sum)?.decrypt(&secret)?, [-2, -2]);
    /// assert!(sum.add(&sum).is_err(), "the plan expects sums of two");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add(&self, other: &Self) -> Result<Self, HmvpError> {
        self.plan.require_same("the other vector", &other.plan)?;
        require_tag("the other vector", other.tag, self.tag)?;
        if self.parts.len() > 1 {
            let what = "sums of vectors by a plan that splits their entries, whose parts may leave their range; ask for an unsplit plan";
            return Err(BfvError::Unsupported { what: what.to_owned() }.into());
        }
        let (summands, most) = (self.summands + other.summands, self.plan.request().summands);
        require_range("number of encryptions of a sum", u64::from(summands), 1, u64::from(most))?;
        let context = self.plan.context();
        let add = |(left, right): (&VectorCiphertext, &VectorCiphertext)| {
            Ok(VectorCiphertext { ciphertext: context.add(&left.ciphertext, &right.ciphertext)?, seed: None })
        };
        let parts = self.parts.iter().zip(&other.parts);
        let parts =
            parts.map(|(left, right)| left.iter().zip(right).map(add).collect()).collect::<Result<_, HmvpError>>()?;
        Ok(Self { plan: self.plan.clone(), tag: self.tag, summands, parts })
    }

    /// The ciphertexts of part `part`, one for each column tile, of [`Plan::vector_limbs`] limbs.
    ///
    /// # Panics
    /// If the plan has no such part.
    pub fn ciphertexts(&self, part: usize) -> impl ExactSizeIterator<Item = &Ciphertext> {
        self.parts[part].iter().map(|c| &c.ciphertext)
    }

    /// Its plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Its key set.
    pub fn tag(&self) -> KeyTag {
        self.tag
    }
}

/// The ciphertexts of one part, whose entries are in [−⌊t/2⌋, ⌊(t−1)/2⌋].
pub(crate) fn encrypt_part(
    plan: &Plan,
    values: &[i64],
    mut encrypt: impl FnMut(&Plaintext, usize) -> Result<VectorCiphertext, HmvpError>,
) -> Result<Vec<VectorCiphertext>, HmvpError> {
    let limbs = plan.algorithm().vector_limbs();
    let encrypted = plan.algorithm().encode_vector(plan.context(), values)?.into_iter().map(|mut plaintext| {
        let ciphertext = encrypt(&plaintext, limbs);
        plaintext.zeroize();
        ciphertext
    });
    encrypted.collect()
}
