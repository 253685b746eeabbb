//! Encrypted products.

use std::sync::Arc;

use ciphermill_lattice::KeyTag;
use num_traits::ToPrimitive;
use zeroize::Zeroizing;

use super::{Plan, parts};
use crate::error::HmvpError;
use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::encryption::require_tag;
use ciphermill_bfv::error::{require_length, require_range};
use ciphermill_bfv::keys::SecretKey;

/// An encrypted product: the ciphertexts of each pair of a vector part and a matrix part.
///
/// # Example
/// ```
/// use std::sync::Arc;
///
/// use ciphermill_bfv::{GaloisKeys, SecretKey};
/// use ciphermill_hmvp::{CpuEngine, DenseMatrix, EncryptedProduct, EncryptedVector, HmvpEngine, Plan, Request};
/// use ciphermill_lattice::{Csprng, SecretSeed};
/// use ciphermill_math::Isa;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let plan = Arc::new(Plan::new(&Request::new(2, 3), Isa::current())?);
/// let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
/// let mut rng = Csprng::from_os()?;
/// # let galois = GaloisKeys::generate(&secret, &plan.galois_requests())?;
/// # let vector = EncryptedVector::encrypt(&plan, &secret, &[1, 0, -1], &mut rng)?;
/// # let engine = CpuEngine::new();
/// # let matrix = engine.prepare_matrix(&plan, &DenseMatrix::new(2, 3, vec![1, 2, 3, 4, 5, 6])?)?;
/// let sent = engine.prepare(&plan, &galois)?.multiply(&matrix, &vector)?.to_bytes();
///
/// let product = EncryptedProduct::from_bytes(&plan, &sent)?;
/// assert_eq!(product.decrypt(&secret)?, [-2, -2]);
/// assert!(product.noise_bits_left(&secret)? > 0.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct EncryptedProduct {
    pub(crate) plan: Arc<Plan>,
    pub(crate) tag: KeyTag,
    /// By vector part, matrix part, row tile.
    pub(crate) parts: Vec<Vec<Vec<Vec<Ciphertext>>>>,
}

impl EncryptedProduct {
    /// The product with these ciphertexts, by vector part, matrix part and row tile: the result of an engine.
    ///
    /// # Errors
    /// If their numbers, parameter set, key set, parts or limbs are not those of the plan.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let product = keys.multiply(&matrix, &vector)?;
    /// let tile = |i, j, tile| product.ciphertexts(i, j, tile).to_vec();
    /// let tiles = |i, j| (0..plan.row_tiles().len()).map(|k| tile(i, j, k)).collect::<Vec<_>>();
    /// let row = |i| (0..plan.matrix_parts().len()).map(|j| tiles(i, j)).collect::<Vec<_>>();
    /// let ciphertexts = (0..plan.vector_parts().len()).map(row).collect::<Vec<_>>();
    /// let same = EncryptedProduct::new(&plan, product.tag(), ciphertexts)?;
    /// assert_eq!(same.decrypt(&secret)?, [-2, -2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(plan: &Arc<Plan>, tag: KeyTag, ciphertexts: Vec<Vec<Vec<Vec<Ciphertext>>>>) -> Result<Self, HmvpError> {
        require_length("number of vector parts of a product", ciphertexts.len(), plan.vector_parts().len())?;
        let tiles = plan.row_tiles().len();
        for matrices in &ciphertexts {
            require_length("number of matrix parts of a product", matrices.len(), plan.matrix_parts().len())?;
            for tile in matrices {
                require_length("number of row tiles of a product", tile.len(), tiles)?;
                for (tile, ciphertexts) in tile.iter().enumerate() {
                    let expected = plan.product_ciphertexts(tile);
                    require_length("number of ciphertexts of a row tile", ciphertexts.len(), expected)?;
                }
            }
        }
        for ciphertext in ciphertexts.iter().flatten().flatten().flatten() {
            plan.context().require_parameters("a ciphertext of the product", ciphertext.parameter_id())?;
            require_tag("a ciphertext of the product", ciphertext.key_tag(), tag)?;
            require_length("number of parts of a ciphertext", ciphertext.parts().len(), 2)?;
            require_length("number of limbs of a ciphertext", ciphertext.limb_count(), plan.product_limbs())?;
            for part in ciphertext.parts() {
                require_length("coefficients of a polynomial", part.polynomial_size(), plan.context().n())?;
            }
            let moduli = plan.context().basis(plan.product_limbs()).moduli();
            for (limb, modulus) in moduli.enumerate() {
                for part in ciphertext.parts() {
                    let greatest = part.limb(limb).iter().copied().max().unwrap_or(0);
                    require_range("residue of a ciphertext", greatest, 0, modulus.value() - 1)?;
                }
            }
        }
        Ok(Self { plan: plan.clone(), tag, parts: ciphertexts })
    }

    /// The ciphertexts of one vector part, matrix part and row tile.
    ///
    /// # Panics
    /// If the plan has no such part or tile.
    pub fn ciphertexts(&self, vector_part: usize, matrix_part: usize, tile: usize) -> &[Ciphertext] {
        &self.parts[vector_part][matrix_part][tile]
    }

    /// The m entries.
    ///
    /// # Errors
    /// If the key is of another key set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let product = keys.multiply(&matrix, &vector)?;
    /// assert_eq!(product.decrypt(&secret)?, [-2, -2]);
    /// let other = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
    /// assert!(product.decrypt(&other).is_err(), "the key is of another key set");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decrypt(&self, key: &SecretKey) -> Result<Vec<i64>, HmvpError> {
        self.plan.require_key(key)?;
        let (choice, algorithm) = (self.plan.choice(), self.plan.algorithm());
        let mut entries = vec![0i64; self.plan.request().rows];
        for (i, matrices) in self.parts.iter().enumerate() {
            for (j, tiles) in matrices.iter().enumerate() {
                let shift = parts::shift(&choice.vector_parts, i) + parts::shift(&choice.matrix_parts, j);
                for ((tile, rows), ciphertexts) in algorithm.tiles().into_iter().enumerate().zip(tiles) {
                    let part = decrypt_tile(&self.plan, key, tile, ciphertexts)?;
                    for (entry, &x) in entries[rows].iter_mut().zip(part.iter()) {
                        // Entries are below 2^63 in magnitude, as the plan has made sure, so sums modulo 2^64 give them
                        // whatever their terms are.
                        *entry = entry.wrapping_add(((x as u64) << shift) as i64);
                    }
                }
            }
        }
        Ok(entries)
    }

    /// log2 of how much the noise of the worst entry may still grow before it decrypts wrongly: the least
    /// log2(Q/(2t)) − log2|noise| over all places that hold entries (for entries in slots, over all coefficients). A
    /// negative value is reported as 0. It is for the key's owner only: the noise depends on the matrix, and the
    /// computing party must never learn whether a decryption failed.
    ///
    /// # Errors
    /// If the key is of another key set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(keys.multiply(&matrix, &vector)?.noise_bits_left(&secret)? > 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn noise_bits_left(&self, key: &SecretKey) -> Result<f64, HmvpError> {
        let worst = self.noise(key)?.into_iter().fold(1.0, |worst: f64, e| worst.max(e.abs()));
        Ok((self.plan.noise_limit_bits() - worst.log2()).max(0.0))
    }

    /// The noise at every place that holds an entry (for entries in slots, of every coefficient), as integers modulo the
    /// product's Q in (−Q/2, Q/2], rounded to an f64. For the key's owner alone, as
    /// [`noise_bits_left`](Self::noise_bits_left).
    ///
    /// # Errors
    /// If the key is of another key set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let noise = keys.multiply(&matrix, &vector)?.noise(&secret)?;
    /// let limit = plan.explain().noise_limit_bits.exp2();
    /// assert!(noise.len() >= 2 && noise.iter().all(|e| e.abs() < limit));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn noise(&self, key: &SecretKey) -> Result<Vec<f64>, HmvpError> {
        self.plan.require_key(key)?;
        let (context, algorithm) = (self.plan.context(), self.plan.algorithm());
        let mut noise = Vec::new();
        for tiles in self.parts.iter().flatten() {
            for (tile, ciphertexts) in tiles.iter().enumerate() {
                for (index, ciphertext) in ciphertexts.iter().enumerate() {
                    let basis = context.basis(ciphertext.limb_count());
                    let polynomial = key.noise_polynomial(ciphertext)?;
                    let places: Vec<usize> = match algorithm.batched() {
                        true => (0..context.n()).collect(),
                        false => algorithm.product_places(tile, index).into_iter().map(|(place, _)| place).collect(),
                    };
                    let at = |i| basis.compose(&polynomial, i).to_f64().unwrap_or(f64::INFINITY);
                    noise.extend(places.into_iter().map(at));
                }
            }
        }
        Ok(noise)
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

/// The entries of tile `tile` of a product of one matrix part and one vector part, in [−⌊t/2⌋, ⌊(t−1)/2⌋].
pub(crate) fn decrypt_tile(
    plan: &Plan,
    key: &SecretKey,
    tile: usize,
    ciphertexts: &[Ciphertext],
) -> Result<Zeroizing<Vec<i64>>, HmvpError> {
    let plaintexts = ciphertexts.iter().map(|c| key.decrypt(c)).collect::<Result<Vec<Plaintext>, _>>()?;
    Ok(Zeroizing::new(plan.algorithm().decode_product(plan.context(), tile, &plaintexts)?))
}
