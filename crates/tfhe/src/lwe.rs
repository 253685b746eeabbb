//! LWE (TLWE) ciphertexts over the discretised torus.
//!
//! A ciphertext of dimension n is (a_0, …, a_{n-1}, b); its phase under the binary key s is φ = b − Σ a_i s_i, the
//! message plus noise. All arithmetic is modulo 2^32 or 2^64.

use ciphermill_lattice::rng::Csprng;
use ciphermill_lattice::{NoiseDistribution, Torus};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::dimension::LweDimension;
use crate::error::{TfheError, require_equal};
use crate::linear::linear_operations;
use crate::noise_check::check_noise;

/// A binary LWE secret key, one byte (0 or 1) per bit. Zeroised on drop; it has no `Debug` of its content.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let key = LweSecretKey::generate(LweDimension(96), &mut rng);
/// let ciphertext = key.encrypt::<u32>(3 << 28, parameters.lwe_noise, &mut rng)?;
/// assert_eq!(key.decrypt_phase(&ciphertext)?.wrapping_add(1 << 27) >> 28, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct LweSecretKey {
    bits: Vec<u8>,
}

impl LweSecretKey {
    /// Uniformly random key of dimension `n`.
    pub fn generate(dimension: LweDimension, rng: &mut Csprng) -> Self {
        Self { bits: random_bits(dimension.0, rng) }
    }

    /// Key from bits that are already known to be 0 or 1.
    pub(crate) fn from_bits(bits: Vec<u8>) -> Self {
        debug_assert!(bits.iter().all(|&b| b < 2));
        Self { bits }
    }

    /// n.
    pub fn dimension(&self) -> LweDimension {
        LweDimension(self.bits.len())
    }

    /// The key bits, each 0 or 1.
    pub(crate) fn bits(&self) -> &[u8] {
        &self.bits
    }

    /// Encrypts an encoded message with fresh noise.
    ///
    /// # Errors
    /// If the noise cannot be sampled on the torus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let key = client.lwe_secret_key();
    /// let ciphertext = key.encrypt::<u32>(3 << 28, parameters.lwe_noise, &mut rng)?;
    /// assert_eq!(ciphertext.dimension(), key.dimension());
    /// // The phase is the message and noise.
    /// assert_eq!(key.decrypt_phase(&ciphertext)?.wrapping_add(1 << 27) >> 28, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt<T: Torus>(
        &self,
        message: T,
        noise: NoiseDistribution,
        rng: &mut Csprng,
    ) -> Result<LweCiphertext<T>, TfheError> {
        check_noise::<T>(noise, "LWE")?;
        let mut data = vec![T::ZERO; self.bits.len() + 1];
        let (mask, body) = data.split_at_mut(self.bits.len());
        T::fill_random(rng, mask);
        noise.add_to(rng, body);
        body[0] = body[0].wrapping_add(message).wrapping_add(inner_product(mask, &self.bits));
        Ok(LweCiphertext { data })
    }

    /// Phase b − ⟨a, s⟩: the encoded message plus noise.
    ///
    /// # Errors
    /// If the ciphertext's dimension is not the key's.
    pub fn decrypt_phase<T: Torus>(&self, ciphertext: &LweCiphertext<T>) -> Result<T, TfheError> {
        require_equal("LWE dimension of the ciphertext", ciphertext.dimension().0, self.bits.len())?;
        Ok(ciphertext.body().wrapping_sub(inner_product(ciphertext.mask(), &self.bits)))
    }
}

impl std::fmt::Debug for LweSecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LweSecretKey(dimension {})", self.bits.len())
    }
}

/// `count` uniformly random bits, one per byte.
pub(crate) fn random_bits(count: usize, rng: &mut Csprng) -> Vec<u8> {
    let mut bits = vec![0u8; count];
    rng.fill_bytes(&mut bits);
    for bit in &mut bits {
        *bit &= 1;
    }
    bits
}

/// Σ a_i s_i modulo the torus, without a branch on the key.
fn inner_product<T: Torus>(mask: &[T], bits: &[u8]) -> T {
    mask.iter()
        .zip(bits)
        .fold(T::ZERO, |sum, (&a, &s)| sum.wrapping_add(a.wrapping_mul(T::from_signed_i64(i64::from(s)))))
}

/// An LWE ciphertext: n mask elements, then the body.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let key = client.lwe_secret_key();
/// let mut sum = key.encrypt::<u32>(1 << 28, parameters.lwe_noise, &mut rng)?;
/// sum.add_assign(&key.encrypt(2 << 28, parameters.lwe_noise, &mut rng)?)?;
/// sum.scalar_mul_assign(2);
/// assert_eq!(key.decrypt_phase(&sum)?.wrapping_add(1 << 27) >> 28, 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LweCiphertext<T> {
    data: Vec<T>,
}

linear_operations!(LweCiphertext);

impl<T: Torus> LweCiphertext<T> {
    /// The noiseless encryption of an encoded message under every key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let ciphertext = LweCiphertext::trivial(3u32 << 28, LweDimension(96));
    /// assert_eq!(client.lwe_secret_key().decrypt_phase(&ciphertext)?, 3 << 28);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trivial(message: T, dimension: LweDimension) -> Self {
        let mut data = vec![T::ZERO; dimension.lwe_size()];
        data[dimension.0] = message;
        Self { data }
    }

    /// From n + 1 torus elements, mask first.
    ///
    /// # Panics
    /// If `data` is empty.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let ciphertext = LweCiphertext::from_elements(vec![5u32, 6, 7]);
    /// assert_eq!(ciphertext.dimension(), LweDimension(2));
    /// assert_eq!((ciphertext.mask(), ciphertext.body()), (&[5, 6][..], 7));
    /// assert_eq!(ciphertext.elements(), [5, 6, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_elements(data: Vec<T>) -> Self {
        assert!(!data.is_empty(), "an LWE ciphertext has at least a body");
        Self { data }
    }

    /// n.
    pub fn dimension(&self) -> LweDimension {
        LweDimension(self.data.len() - 1)
    }

    /// a_0, …, a_{n-1}.
    pub fn mask(&self) -> &[T] {
        &self.data[..self.data.len() - 1]
    }

    /// b.
    pub fn body(&self) -> T {
        self.data[self.data.len() - 1]
    }

    /// Mask and body.
    pub fn elements(&self) -> &[T] {
        &self.data
    }

    /// Mask and body, mutable.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut ciphertext = LweCiphertext::trivial(1u32 << 28, LweDimension(96));
    /// // The body follows the n mask elements. A constant added to it is added to the message.
    /// ciphertext.elements_mut()[96] += 2 << 28;
    /// assert_eq!(client.lwe_secret_key().decrypt_phase(&ciphertext)?, 3 << 28);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn elements_mut(&mut self) -> &mut [T] {
        &mut self.data
    }

    fn require_same_size(&self, rhs: &Self) -> Result<(), TfheError> {
        require_equal("LWE dimension of the second operand", rhs.dimension().0, self.dimension().0)
    }
}
