//! Exact products of torus polynomials with a binary secret key.

use std::sync::Arc;

use ciphermill_lattice::Torus;
use ciphermill_math::Isa;
use ciphermill_math::goldilocks::MODULUS;
use ciphermill_math::ntt::{NttEngine, goldilocks_engine};
use zeroize::Zeroizing;

use crate::error::TfheError;
use crate::glwe::GlweSecretKey;

/// Multiplies polynomials by the k polynomials of a binary key, exactly modulo 2^32 or 2^64.
///
/// A coefficient is cut into 32-bit limbs. A limb polynomial times a binary polynomial has coefficients of magnitude
/// below kN·2^32 ≤ 2^49 summed over the key's k polynomials, far under p/2 for the Goldilocks prime p, so its NTT product is the integer product.
pub(crate) struct BinaryMultiplier {
    engine: Arc<dyn NttEngine>,
    /// The spectra of the key polynomials, one after another.
    spectra: Zeroizing<Vec<u64>>,
}

/// Working memory of one thread. It holds mask times key in the clear, which with the public mask gives the key.
pub(crate) struct Scratch {
    limb: Zeroizing<Vec<u64>>,
    spectrum: Vec<u64>,
    sum: Zeroizing<Vec<u64>>,
}

impl BinaryMultiplier {
    /// Transforms the key once.
    pub(crate) fn new(key: &GlweSecretKey) -> Result<Self, TfheError> {
        let n = key.polynomial_size().get();
        let engine = goldilocks_engine(n, Isa::current()).map_err(TfheError::transform)?;
        let mut spectra = Zeroizing::new(vec![0; key.bits().len()]);
        for (bits, spectrum) in key.polynomials().zip(spectra.chunks_exact_mut(n)) {
            let coefficients: Zeroizing<Vec<u64>> = Zeroizing::new(bits.iter().map(|&b| u64::from(b)).collect());
            engine.forward(&*coefficients, spectrum);
        }
        Ok(Self { engine, spectra })
    }

    /// Working memory for [`add_mask_products`](Self::add_mask_products).
    pub(crate) fn scratch(&self) -> Scratch {
        let n = self.engine.polynomial_size();
        Scratch { limb: Zeroizing::new(vec![0; n]), spectrum: vec![0; n], sum: Zeroizing::new(vec![0; n]) }
    }

    /// Adds Σ_i a_i·s_i to `body`; `mask` holds k polynomials.
    pub(crate) fn add_mask_products<T: Torus>(&self, mask: &[T], body: &mut [T], scratch: &mut Scratch) {
        let n = self.engine.polynomial_size();
        assert_eq!(mask.len(), self.spectra.len());
        // From the most significant limb on; `weight` is the limb's place in the integer.
        for weight in (0..T::BITS).step_by(32).rev() {
            scratch.sum.fill(0);
            for (a, s) in mask.chunks_exact(n).zip(self.spectra.chunks_exact(n)) {
                for (limb, &x) in scratch.limb.iter_mut().zip(a) {
                    *limb = (x.to_u64_msb() >> (64 - T::BITS + weight)) & 0xffff_ffff;
                }
                self.engine.forward(&*scratch.limb, &mut scratch.spectrum);
                self.engine.multiply_accumulate(&mut scratch.sum, &scratch.spectrum, s);
            }
            self.engine.inverse(&mut scratch.sum, &mut scratch.limb);
            for (b, &product) in body.iter_mut().zip(scratch.limb.iter()) {
                *b = b.wrapping_add(T::from_signed_i64(signed_residue(product)).wrapping_mul_i64(1 << weight));
            }
        }
    }
}

/// The integer of magnitude below p/2 that a residue in [0, p) stands for: those above p/2 are negative. By a mask, because the
/// residue may be secret.
#[inline(always)]
pub(crate) fn signed_residue(residue: u64) -> i64 {
    let negative = (MODULUS / 2).wrapping_sub(residue) >> 63;
    residue.wrapping_sub(MODULUS & negative.wrapping_neg()) as i64
}
