//! GGSW (TRGSW) ciphertexts in coefficient form.
//!
//! A GGSW encryption of an integer μ has (k+1)·l GLWE rows. Row (c, j), for component 0 ≤ c ≤ k and level 1 ≤ j ≤ l, is
//! an encryption of −μ·g_j·S_c(X) for c < k, and of μ·g_j for c = k, with g_j = q/B^j. The phase is that of the textbook
//! form (zero encryption plus μ·g_j on component c), but the mask stays uniform, so that a seed can stand for it.
//! Rows are stored in the order (c, j), c outermost.

use std::marker::PhantomData;

use ciphermill_lattice::rng::Csprng;
use ciphermill_lattice::{MaskStream, NoiseDistribution, PublicSeed, Torus};

use crate::dimension::Decomposition;
use crate::error::{TfheError, require_equal};
pub use crate::ggsw_shape::GgswShape;
use crate::glwe::GlweSecretKey;
use crate::noise_check::check_noise;
use crate::product::{BinaryMultiplier, Scratch};

/// A GGSW ciphertext in coefficient form: (k+1)·l rows of (k+1)·N coefficients.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let encryptor = GgswEncryptor::<u64>::new(client.glwe_secret_key(), parameters.pbs, parameters.glwe_noise)?;
/// let selector = encryptor.encrypt(1, &PublicSeed::from_os()?, 0, &mut rng);
/// // (k+1)·l rows of (k+1)·N coefficients.
/// assert_eq!(selector.coefficients().len(), 2 * 5 * 2 * 1024);
/// assert_eq!(ggsw::GgswCiphertext::from_bytes(&selector.to_bytes())?, selector);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct GgswCiphertext<T> {
    data: Vec<T>,
    shape: GgswShape,
}

/// The sizes alone: the coefficients may be megabytes.
impl<T> std::fmt::Debug for GgswCiphertext<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GgswCiphertext({:?})", self.shape)
    }
}

impl<T: Torus> GgswCiphertext<T> {
    /// From all coefficients, in row order.
    ///
    /// # Errors
    /// If their number is not that of the shape.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// use ciphermill_tfhe::ggsw::GgswCiphertext;
    /// let encryptor = GgswEncryptor::<u64>::new(client.glwe_secret_key(), parameters.pbs, parameters.glwe_noise)?;
    /// let one = encryptor.encrypt(1, &PublicSeed::from_os()?, 0, &mut rng);
    /// assert_eq!(GgswCiphertext::from_coefficients(one.coefficients().to_vec(), one.shape())?, one);
    /// assert!(GgswCiphertext::from_coefficients(vec![0u64; 7], one.shape()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_coefficients(data: Vec<T>, shape: GgswShape) -> Result<Self, TfheError> {
        require_equal("coefficients of the GGSW ciphertext", data.len(), shape.len())?;
        Ok(Self { data, shape })
    }

    /// Sizes.
    pub fn shape(&self) -> GgswShape {
        self.shape
    }

    /// All coefficients, in row order.
    pub fn coefficients(&self) -> &[T] {
        &self.data
    }
}

/// Encrypts GGSW ciphertexts under one GLWE key: the secret side of a bootstrapping key.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let encryptor = GgswEncryptor::<u64>::new(client.glwe_secret_key(), parameters.pbs, parameters.glwe_noise)?;
/// let one = encryptor.encrypt(1, &PublicSeed::from_os()?, 0, &mut rng);
/// assert_eq!(one.shape(), encryptor.shape());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct GgswEncryptor<'a, T> {
    key: &'a GlweSecretKey,
    multiplier: BinaryMultiplier,
    shape: GgswShape,
    noise: NoiseDistribution,
    torus: PhantomData<T>,
}

/// Working memory of one thread.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let encryptor = GgswEncryptor::<u64>::new(client.glwe_secret_key(), parameters.pbs, parameters.glwe_noise)?;
/// // One thread encrypts all of its ciphertexts with one scratch.
/// let mut scratch: ggsw::GgswScratch<u64> = encryptor.scratch();
/// let mut bodies = vec![vec![0; encryptor.shape().bodies_len()]; 2];
/// for (bodies, first_stream) in bodies.iter_mut().zip([0, 10]) {
///     encryptor.encrypt_bodies(1, &PublicSeed::from_os()?, first_stream, &mut rng, bodies, &mut scratch);
/// }
/// assert!(bodies.iter().flatten().all(|&coefficient| coefficient != 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct GgswScratch<T> {
    mask: Vec<T>,
    product: Scratch,
}

impl<'a, T: Torus> GgswEncryptor<'a, T> {
    /// Prepares the key.
    ///
    /// # Errors
    /// If no transform exists for the key's N, or the gadget or the noise does not fit the torus.
    pub fn new(
        key: &'a GlweSecretKey,
        decomposition: Decomposition,
        noise: NoiseDistribution,
    ) -> Result<Self, TfheError> {
        decomposition.decomposer::<T>()?;
        check_noise::<T>(noise, "GLWE")?;
        let shape =
            GgswShape { glwe_dimension: key.dimension(), polynomial_size: key.polynomial_size(), decomposition };
        Ok(Self {
            key,
            multiplier: BinaryMultiplier::new(key.bits(), key.polynomial_size())?,
            shape,
            noise,
            torus: PhantomData,
        })
    }

    /// Sizes of the ciphertexts it makes.
    pub fn shape(&self) -> GgswShape {
        self.shape
    }

    /// Working memory for [`encrypt_bodies`](Self::encrypt_bodies).
    pub fn scratch(&self) -> GgswScratch<T> {
        GgswScratch { mask: vec![T::ZERO; self.shape.mask_len()], product: self.multiplier.scratch() }
    }

    /// Writes the bodies of the encryption of `message` (0 or 1) whose masks come from `masks`, streams
    /// `first_stream + row`; see [`expand_masks`]. `bodies` has (k+1)·l·N coefficients.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let encryptor = GgswEncryptor::<u64>::new(client.glwe_secret_key(), parameters.pbs, parameters.glwe_noise)?;
    /// let (shape, masks, secret) = (encryptor.shape(), PublicSeed::from_os()?, SecretSeed::from_os()?);
    /// let (mut bodies, mut rows) = (vec![0; shape.bodies_len()], vec![0; shape.len()]);
    /// let noise = || Csprng::from_secret(&secret, 0);
    /// encryptor.encrypt_bodies(1, &masks, 0, &mut noise(), &mut bodies, &mut encryptor.scratch());
    /// // Masks and bodies are the whole ciphertext.
    /// ggsw::expand_masks(shape, &masks, 0, &bodies, &mut rows);
    /// assert_eq!(rows, encryptor.encrypt(1, &masks, 0, &mut noise()).coefficients());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt_bodies(
        &self,
        message: u8,
        masks: &PublicSeed,
        first_stream: u64,
        noise_rng: &mut Csprng,
        bodies: &mut [T],
        scratch: &mut GgswScratch<T>,
    ) {
        let n = self.shape.polynomial_size.get();
        let levels = self.shape.decomposition.level_count.0;
        assert_eq!(bodies.len(), self.shape.bodies_len());
        for (row, body) in bodies.chunks_exact_mut(n).enumerate() {
            fill_mask(masks, first_stream + row as u64, &mut scratch.mask);
            body.fill(T::ZERO);
            self.noise.add_to(noise_rng, body);
            self.multiplier.add_mask_products(&scratch.mask, body, &mut scratch.product);
            let (component, level) = (row / levels, row % levels + 1);
            let gadget = gadget_element::<T>(self.shape.decomposition, level)
                .wrapping_mul(T::from_signed_i64(i64::from(message)));
            match self.key.polynomials().nth(component) {
                // The component is public; the key bits only ever enter as factors.
                Some(s) => {
                    for (b, &bit) in body.iter_mut().zip(s) {
                        *b = b.wrapping_sub(gadget.wrapping_mul(T::from_signed_i64(i64::from(bit))));
                    }
                }
                None => body[0] = body[0].wrapping_add(gadget),
            }
        }
    }

    /// One whole GGSW ciphertext of `message` (0 or 1).
    pub fn encrypt(
        &self,
        message: u8,
        masks: &PublicSeed,
        first_stream: u64,
        noise_rng: &mut Csprng,
    ) -> GgswCiphertext<T> {
        let mut bodies = vec![T::ZERO; self.shape.bodies_len()];
        self.encrypt_bodies(message, masks, first_stream, noise_rng, &mut bodies, &mut self.scratch());
        let mut data = vec![T::ZERO; self.shape.len()];
        expand_masks(self.shape, masks, first_stream, &bodies, &mut data);
        GgswCiphertext { data, shape: self.shape }
    }
}

/// g_j = q/B^j, for a gadget that fits the torus.
pub(crate) fn gadget_element<T: Torus>(decomposition: Decomposition, level: usize) -> T {
    T::from_u64_msb(1 << (64 - decomposition.base_log.0 * level))
}

/// The uniform mask (k·N coefficients) of the row with this stream number.
fn fill_mask<T: Torus>(masks: &PublicSeed, stream: u64, mask: &mut [T]) {
    T::fill_random(&mut MaskStream::new(masks, stream), mask);
}

/// Rebuilds all rows of a seeded GGSW ciphertext from its bodies: row r takes its mask from stream `first_stream + r`.
///
/// # Panics
/// If `bodies` or `rows` do not have the sizes of `shape`.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let encryptor = GgswEncryptor::<u64>::new(client.glwe_secret_key(), parameters.pbs, parameters.glwe_noise)?;
/// let (shape, masks) = (encryptor.shape(), PublicSeed::from_os()?);
/// // The bodies and the seed are half of the ciphertext's bytes at k = 1.
/// let mut bodies = vec![0; shape.bodies_len()];
/// encryptor.encrypt_bodies(1, &masks, 0, &mut rng, &mut bodies, &mut encryptor.scratch());
/// let mut rows = vec![0; shape.len()];
/// ggsw::expand_masks(shape, &masks, 0, &bodies, &mut rows);
/// assert_eq!(rows[shape.mask_len()..shape.row_len()], bodies[..1024]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn expand_masks<T: Torus>(shape: GgswShape, masks: &PublicSeed, first_stream: u64, bodies: &[T], rows: &mut [T]) {
    assert_eq!(bodies.len(), shape.bodies_len());
    assert_eq!(rows.len(), shape.len());
    let n = shape.polynomial_size.get();
    for (r, (row, body)) in rows.chunks_exact_mut(shape.row_len()).zip(bodies.chunks_exact(n)).enumerate() {
        let (mask, b) = row.split_at_mut(shape.mask_len());
        fill_mask(masks, first_stream + r as u64, mask);
        b.copy_from_slice(body);
    }
}
