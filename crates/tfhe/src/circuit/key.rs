//! The conversion key, for the trace and the scheme switch.
//!
//! Its rows are GLWE ciphertexts of the ring of tables, k' = 1 and N' = k·N, under the big key S'. For each automorphism
//! X ↦ X^t of the trace, t = N'/2^i + 1 for 0 ≤ i < log2(N'), level j of the trace's gadget encrypts −S'(X^t)·q/B^j. For the
//! scheme switch, level j of its gadget encrypts S'²·q/B^j.

use ciphermill_lattice::rng::Csprng;
use ciphermill_lattice::{MaskStream, NoiseDistribution, PublicSeed, Torus};
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::shape::ConversionShape;
use crate::bootstrap::automorphism;
use crate::error::{TfheError, require_equal};
use crate::ggsw::gadget_element;
use crate::glwe::GlweSecretKey;
use crate::noise_check::check_noise;
use crate::product::BinaryMultiplier;

/// A conversion key compressed by a seed: the bodies of its rows; the mask of row r comes from stream r.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// let key = client.generate_conversion_key(KeySeeds::from_os()?)?;
/// assert_eq!(key.expand().coefficients().len(), key.shape().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SeededConversionKey {
    pub(crate) shape: ConversionShape,
    pub(crate) seed: PublicSeed,
    pub(crate) bodies: Vec<u64>,
}

impl std::fmt::Debug for SeededConversionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SeededConversionKey({:?})", self.shape)
    }
}

impl SeededConversionKey {
    /// Encrypts the images and the square of a key of one polynomial; `noise_rng(r)` gives the noise of row r.
    ///
    /// # Errors
    /// If the key has more than one polynomial, or a gadget or the noise does not fit 64 bits.
    pub fn generate(
        key: &GlweSecretKey,
        shape: ConversionShape,
        noise: NoiseDistribution,
        seed: PublicSeed,
        noise_rng: impl Fn(u64) -> Csprng + Sync,
    ) -> Result<Self, TfheError> {
        require_equal("polynomials of the conversion key's secret key", key.dimension().0, 1)?;
        require_equal("coefficients of the secret key", key.polynomial_size().get(), shape.polynomial_size.get())?;
        shape.trace.decomposer::<u64>()?;
        shape.square.decomposer::<u64>()?;
        check_noise::<u64>(noise, "GLWE")?;
        let n = shape.polynomial_size.get();
        let multiplier = BinaryMultiplier::new(key.bits(), shape.polynomial_size)?;
        let bits: Zeroizing<Vec<u64>> = Zeroizing::new(key.bits().iter().map(|&bit| u64::from(bit)).collect());
        let mut square = Zeroizing::new(vec![0u64; n]);
        multiplier.add_mask_products(&bits, &mut square, &mut multiplier.scratch());
        let mut bodies = vec![0u64; shape.bodies_len()];
        bodies.par_chunks_exact_mut(n).enumerate().for_each_init(
            || (vec![0u64; n], multiplier.scratch()),
            |(mask, scratch), (row, body)| {
                u64::fill_random(&mut MaskStream::new(&seed, row as u64), mask);
                noise.add_to(&mut noise_rng(row as u64), body);
                multiplier.add_mask_products(mask, body, scratch);
                let (message, gadget) = match shape.row(row) {
                    (Some(index), level) => {
                        let mut image = Zeroizing::new(vec![0; n]);
                        automorphism(&bits, shape.exponent(index), &mut image, u64::wrapping_neg);
                        (image, gadget_element::<u64>(shape.trace, level).wrapping_neg())
                    }
                    (None, level) => (square.clone(), gadget_element::<u64>(shape.square, level)),
                };
                for (b, &m) in body.iter_mut().zip(message.iter()) {
                    *b = b.wrapping_add(gadget.wrapping_mul(m));
                }
            },
        );
        Ok(Self { shape, seed, bodies })
    }

    /// Sizes.
    pub fn shape(&self) -> ConversionShape {
        self.shape
    }

    /// Rebuilds the masks.
    pub fn expand(&self) -> ConversionKey {
        let n = self.shape.polynomial_size.get();
        let mut rows = vec![0u64; self.shape.len()];
        rows.par_chunks_exact_mut(2 * n).zip(self.bodies.par_chunks_exact(n)).enumerate().for_each(
            |(row, (out, body))| {
                let (mask, out) = out.split_at_mut(n);
                u64::fill_random(&mut MaskStream::new(&self.seed, row as u64), mask);
                out.copy_from_slice(body);
            },
        );
        ConversionKey { shape: self.shape, rows }
    }
}

/// A conversion key in coefficient form.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// use ciphermill_tfhe::circuit::ConversionKey;
/// let key = client.generate_conversion_key(KeySeeds::from_os()?)?.expand();
/// assert_eq!(ConversionKey::from_coefficients(key.coefficients().to_vec(), key.shape())?, key);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ConversionKey {
    shape: ConversionShape,
    rows: Vec<u64>,
}

impl std::fmt::Debug for ConversionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ConversionKey({:?})", self.shape)
    }
}

impl ConversionKey {
    /// From all coefficients, row by row, mask before body.
    ///
    /// # Errors
    /// If their number is not that of the shape.
    pub fn from_coefficients(rows: Vec<u64>, shape: ConversionShape) -> Result<Self, TfheError> {
        require_equal("coefficients of the conversion key", rows.len(), shape.len())?;
        Ok(Self { shape, rows })
    }

    /// Sizes.
    pub fn shape(&self) -> ConversionShape {
        self.shape
    }

    /// All coefficients, row by row.
    pub fn coefficients(&self) -> &[u64] {
        &self.rows
    }

    /// The rows of one automorphism of the trace.
    pub(crate) fn automorphism_rows(&self, index: usize) -> &[u64] {
        let len = self.shape.trace.level_count.0 * 2 * self.shape.polynomial_size.get();
        &self.rows[index * len..][..len]
    }

    /// The rows of the scheme switch.
    pub(crate) fn square_rows(&self) -> &[u64] {
        let len = self.shape.square.level_count.0 * 2 * self.shape.polynomial_size.get();
        &self.rows[self.rows.len() - len..]
    }
}
