//! Blind rotation over a transformed bootstrapping key.
//!
//! A `TransformedKey` (`key`) holds the key in the form in which it is read. A `Domain` defines how polynomials are
//! transformed: by the f64 FFT (`fft`), by the exact NTT over Z for 32-bit torus elements, or over Z_p for 64-bit ones
//! (`ntt`). The steps that use both are written once:
//!
//! - `rotation`: one ciphertext on one thread, CMux by CMux;
//! - `team`: one ciphertext on several threads, each with its own components;
//! - `batch`: several ciphertexts in one pass over the key.
//!
//! All three compute the same sums in the same order, so their results are the same bit for bit.
//!
//! One CMux costs (k+1)·l forward and k+1 inverse transforms, and reads (k+1)²·l spectra of the key: gigabytes per bootstrap
//! at the paper's dimensions, once and in order. The digits of ACC·(X^a − 1) are cut while the transform loads; a
//! component's l digits are multiplied with all k+1 columns of its rows in one pass, whose sums stay in registers.

mod batch;
pub(crate) mod fft;
mod key;
pub(crate) mod ntt;
mod rotation;
mod size;
mod team;

use std::fmt::Debug;
use std::sync::Arc;

use ciphermill_lattice::Torus;
use ciphermill_math::Isa;
use ciphermill_math::fft::PackedWord;
use ciphermill_math::ntt::{CpuNttProvider, NttProvider};

use crate::backend::Backend;
use crate::error::TfheError;
use crate::ggsw::GgswCiphertext;
use crate::ggsw_shape::GgswShape;
use crate::glwe::GlweCiphertext;

pub(crate) use batch::share_among_threads;
pub(crate) use size::transformed_key_bytes;

/// How GLWE coefficients are represented and multiplied during blind rotation.
pub(crate) trait Domain<T: Torus>: Send + Sync + Debug + 'static {
    /// Digits l·N of a component from which on its work outweighs waiting for other threads at each step: some 10 µs.
    const TEAM_DIGITS: usize;

    /// A coefficient of the accumulator.
    type Element: Copy + Default + Send + Sync;
    /// A word of a spectrum.
    type Point: Copy + Default + Send + Sync;
    /// A word of the key as it is kept.
    type Word: Copy + Default + Send + Sync + 'static;

    /// Brings torus coefficients into the domain.
    fn enter(&self, torus: &[T], elements: &mut [Self::Element]);

    /// Brings elements back to the torus.
    fn leave(&self, elements: &[Self::Element], torus: &mut [T]);

    /// out = X^exponent · polynomial, exponent in \[0, 2N).
    fn rotate(&self, polynomial: &[Self::Element], exponent: usize, out: &mut [Self::Element]);

    /// out = (X^exponent − 1) · polynomial.
    fn rotated_difference(&self, polynomial: &[Self::Element], exponent: usize, out: &mut [Self::Element]);

    /// out = polynomial(X^exponent), for an odd exponent below 2N.
    fn automorphism(&self, polynomial: &[Self::Element], exponent: usize, out: &mut [Self::Element]);

    /// sum += other.
    fn add_elements(&self, sum: &mut [Self::Element], other: &[Self::Element]);

    /// difference −= other.
    fn subtract_elements(&self, difference: &mut [Self::Element], other: &[Self::Element]);

    /// Words in which [`transform_component`](Self::transform_component) keeps the l rows of one component.
    fn component_len(&self, shape: GgswShape) -> usize;

    /// Transforms the l rows of one component, k+1 polynomials each. `spectra` has room for all of them.
    fn transform_component(&self, rows: &[T], spectra: &mut [Self::Point], component: &mut [Self::Word]);

    /// sums_c = Σ_j digits_j(polynomial) ∘ component_(j,c) for the k+1 columns, added to the present sums if
    /// `accumulate`. `digits` has room for l spectra.
    fn multiply_component(
        &self,
        polynomial: &[Self::Element],
        component: &[Self::Word],
        sums: &mut [Self::Point],
        accumulate: bool,
        digits: &mut [Self::Point],
    );

    /// [`multiply_component`](Self::multiply_component) for two polynomials, with the same results.
    fn multiply_component_pair(
        &self,
        polynomials: [&[Self::Element]; 2],
        component: &[Self::Word],
        sums: [&mut [Self::Point]; 2],
        accumulate: bool,
        digits: [&mut [Self::Point]; 2],
    ) {
        for ((polynomial, sums), digits) in polynomials.into_iter().zip(sums).zip(digits) {
            self.multiply_component(polynomial, component, sums, accumulate, digits);
        }
    }

    /// What `accumulate` does: adds `partial` to `sum`.
    fn add(&self, sum: &mut [Self::Point], partial: &[Self::Point]);

    /// polynomial += inverse transform of spectrum, which is destroyed.
    fn inverse_add(&self, spectrum: &mut [Self::Point], polynomial: &mut [Self::Element]);
}

/// out = polynomial(X^exponent) modulo X^N + 1, for an odd exponent: coefficient i moves to i·exponent modulo 2N.
pub(crate) fn automorphism<E: Copy>(polynomial: &[E], exponent: usize, out: &mut [E], negate: impl Fn(E) -> E) {
    let n = polynomial.len();
    let mut to = 0;
    for &x in polynomial {
        if to < n {
            out[to] = x;
        } else {
            out[to - n] = negate(x);
        }
        to = (to + exponent) & (2 * n - 1);
    }
}

/// One blind rotation of several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rotation<'a, T> {
    /// n exponents of the mask and one of the body, modulo 2N.
    pub(crate) exponents: &'a [usize],
    /// The rotated polynomial.
    pub(crate) accumulator: &'a GlweCiphertext<T>,
}

/// A bootstrapping key ready for blind rotation, whatever its back end.
pub(crate) trait BlindRotation<T: Torus>: Send + Sync + Debug {
    /// X^(−body + Σ mask_i·s_i) · accumulator, on up to `threads` threads, of which at most k+1 find work; on
    /// one where steps are too short to share.
    fn blind_rotate(&self, rotation: Rotation<'_, T>, threads: usize) -> Result<GlweCiphertext<T>, TfheError>;

    /// [`blind_rotate`](Self::blind_rotate) for each, in order, on this thread, up to `batch::MAX_LOCKSTEP` of them in one pass
    /// over the key.
    fn blind_rotate_batch(&self, rotations: &[Rotation<'_, T>]) -> Result<Vec<GlweCiphertext<T>>, TfheError>;

    /// External product with the `index`-th GGSW ciphertext of the key.
    fn external_product(&self, index: usize, glwe: &GlweCiphertext<T>) -> Result<GlweCiphertext<T>, TfheError>;

    /// Bytes of the transformed key.
    fn memory_bytes(&self) -> u64;
}

/// Builds a [`BlindRotation`] from GGSW ciphertexts that arrive in batches.
pub(crate) trait Builder<T: Torus>: Send {
    /// Transforms the next ciphertexts, in parallel. `rows` holds a whole number of them, in coefficient form.
    fn push(&mut self, rows: &[T]) -> Result<(), TfheError>;

    /// The key; all of its ciphertexts must have been pushed.
    fn finish(self: Box<Self>) -> Result<Box<dyn BlindRotation<T>>, TfheError>;
}

/// The torus types that have both back ends; `u32` and `u64`.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_tfhe::bootstrap::BackendTorus;
/// fn transform<T: BackendTorus>(ggsw: &ggsw::GgswCiphertext<T>) -> Result<TransformedGgsw<T>, TfheError> {
///     TransformedGgsw::new(ggsw, Backend::Ntt, Isa::current())
/// }
/// let encryptor = GgswEncryptor::<u64>::new(client.glwe_secret_key(), parameters.pbs, parameters.glwe_noise)?;
/// assert!(transform(&encryptor.encrypt(1, &PublicSeed::from_os()?, 0, &mut rng)).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait BackendTorus: Torus + private::Build {}

impl BackendTorus for u32 {}
impl BackendTorus for u64 {}

mod private {
    use super::{Backend, Builder, GgswShape, Isa, NttProvider, PackedWord, TfheError, Torus};

    /// Makes [`BackendTorus`](super::BackendTorus) a closed set.
    pub trait Build: Torus {
        /// A builder for `count` GGSW ciphertexts of one shape; `word` is how the FFT keeps its spectra.
        #[allow(private_interfaces)]
        fn builder(
            backend: Backend,
            word: PackedWord,
            isa: Isa,
            ntt: &dyn NttProvider,
            shape: GgswShape,
            count: usize,
        ) -> Result<Box<dyn Builder<Self>>, TfheError>;
    }
}

impl private::Build for u32 {
    #[allow(private_interfaces)]
    fn builder(
        backend: Backend,
        word: PackedWord,
        isa: Isa,
        ntt: &dyn NttProvider,
        shape: GgswShape,
        count: usize,
    ) -> Result<Box<dyn Builder<Self>>, TfheError> {
        match backend {
            Backend::Fft => key::builder(fft::FftDomain::<u32>::new(shape, word, isa)?, shape, count),
            Backend::Ntt => key::builder(ntt::NttDomain::over_integers(shape, ntt, isa)?, shape, count),
        }
    }
}

impl private::Build for u64 {
    #[allow(private_interfaces)]
    fn builder(
        backend: Backend,
        word: PackedWord,
        isa: Isa,
        ntt: &dyn NttProvider,
        shape: GgswShape,
        count: usize,
    ) -> Result<Box<dyn Builder<Self>>, TfheError> {
        match backend {
            Backend::Fft => key::builder(fft::FftDomain::<u64>::new(shape, word, isa)?, shape, count),
            Backend::Ntt => key::builder(ntt::NttDomain::over_modulus(shape, ntt, isa)?, shape, count),
        }
    }
}

/// GGSW ciphertexts in transformed form, for external products and CMux outside of a bootstrapping key.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let key = client.glwe_secret_key();
/// let encryptor = GgswEncryptor::<u64>::new(key, parameters.pbs, parameters.glwe_noise)?;
/// let one = encryptor.encrypt(1, &PublicSeed::from_os()?, 0, &mut rng);
/// let one = TransformedGgsw::new(&one, Backend::Fft, Isa::current())?;
/// // A CMux with an encrypted selector of 1 returns its second operand.
/// let message = |value: u64| vec![value << 60; parameters.polynomial_size.get()];
/// let [a, b] = [2, 5].map(|m| key.encrypt(&message(m), parameters.glwe_noise, &mut rng).expect("a test set"));
/// let chosen = key.decrypt_phase(&one.cmux(&a, &b)?)?;
/// assert!(chosen.iter().all(|phase| phase.wrapping_add(1 << 59) >> 60 == 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TransformedGgsw<T> {
    rotator: Arc<dyn BlindRotation<T>>,
}

impl<T: BackendTorus> TransformedGgsw<T> {
    /// Transforms a GGSW ciphertext. The FFT keeps its spectra to the last bit.
    ///
    /// # Errors
    /// If the back end has no transform for its size, or (exact NTT on u32) its products would not fit the modulus.
    pub fn new(ggsw: &GgswCiphertext<T>, backend: Backend, isa: Isa) -> Result<Self, TfheError> {
        Self::with_words(ggsw, backend, PackedWord::Float64, isa)
    }

    /// [`new`](Self::new), where the FFT keeps its spectra in `word`: as a server key does, see
    /// [`key_word`](crate::noise::key_word).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let key = client.glwe_secret_key();
    /// let encryptor = GgswEncryptor::<u64>::new(key, parameters.pbs, parameters.glwe_noise)?;
    /// let one = encryptor.encrypt(1, &PublicSeed::from_os()?, 0, &mut rng);
    /// let one = TransformedGgsw::with_words(&one, Backend::Fft, noise::key_word(&parameters), Isa::current())?;
    /// let message = vec![3 << 60; parameters.polynomial_size.get()];
    /// let product = one.external_product(&key.encrypt(&message, parameters.glwe_noise, &mut rng)?)?;
    /// assert!(key.decrypt_phase(&product)?.iter().all(|phase| phase.wrapping_add(1 << 59) >> 60 == 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_words(
        ggsw: &GgswCiphertext<T>,
        backend: Backend,
        word: PackedWord,
        isa: Isa,
    ) -> Result<Self, TfheError> {
        let mut builder = T::builder(backend, word, isa, &CpuNttProvider::new(isa), ggsw.shape(), 1)?;
        builder.push(ggsw.coefficients())?;
        Ok(Self { rotator: Arc::from(builder.finish()?) })
    }

    /// External product: an encryption of the GGSW's message times the GLWE's.
    ///
    /// # Errors
    /// If the sizes differ.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let key = client.glwe_secret_key();
    /// let encryptor = GgswEncryptor::<u64>::new(key, parameters.pbs, parameters.glwe_noise)?;
    /// let one = encryptor.encrypt(1, &PublicSeed::from_os()?, 0, &mut rng);
    /// let one = TransformedGgsw::new(&one, Backend::Ntt, Isa::current())?;
    /// let message = vec![3 << 60; parameters.polynomial_size.get()];
    /// let product = one.external_product(&key.encrypt(&message, parameters.glwe_noise, &mut rng)?)?;
    /// assert!(key.decrypt_phase(&product)?.iter().all(|phase| phase.wrapping_add(1 << 59) >> 60 == 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn external_product(&self, glwe: &GlweCiphertext<T>) -> Result<GlweCiphertext<T>, TfheError> {
        self.rotator.external_product(0, glwe)
    }

    /// CMux: `if_one` where the GGSW encrypts 1, `if_zero` where it encrypts 0.
    ///
    /// # Errors
    /// If the sizes differ.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let encryptor = GgswEncryptor::<u64>::new(client.glwe_secret_key(), parameters.pbs, parameters.glwe_noise)?;
    /// let zero = encryptor.encrypt(0, &PublicSeed::from_os()?, 0, &mut rng);
    /// let zero = TransformedGgsw::new(&zero, Backend::Ntt, Isa::current())?;
    /// let [a, b] = [2u64, 5].map(|m| vec![m << 60; parameters.polynomial_size.get()])
    ///     .map(|m| GlweCiphertext::trivial(&m, GlweDimension(1), parameters.polynomial_size).expect("N messages"));
    /// let chosen = client.glwe_secret_key().decrypt_phase(&zero.cmux(&a, &b)?)?;
    /// assert!(chosen.iter().all(|phase| phase.wrapping_add(1 << 59) >> 60 == 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cmux(
        &self,
        if_zero: &GlweCiphertext<T>,
        if_one: &GlweCiphertext<T>,
    ) -> Result<GlweCiphertext<T>, TfheError> {
        let mut difference = if_one.clone();
        difference.sub_assign(if_zero)?;
        let mut out = self.external_product(&difference)?;
        out.add_assign(if_zero)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests;
