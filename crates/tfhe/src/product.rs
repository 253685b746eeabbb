//! Exact products of torus polynomials with a binary secret key.

use std::sync::Arc;

use ciphermill_lattice::Torus;
use ciphermill_math::goldilocks::MODULUS;
use ciphermill_math::modulus::ntt_primes;
use ciphermill_math::ntt::{NttEngine, goldilocks_engine, prime_engine};
use ciphermill_math::{Isa, Modulus, PointwiseKernels, multiversion};
use zeroize::Zeroizing;

use crate::dimension::PolynomialSize;
use crate::error::TfheError;

/// Multiplies polynomials by the k polynomials of a binary key, exactly modulo 2^32 or 2^64.
pub(crate) struct BinaryMultiplier {
    method: Method,
    engines: Vec<Arc<dyn NttEngine>>,
    /// The spectra of the key polynomials, one after another, for each engine.
    spectra: Vec<Zeroizing<Vec<u64>>>,
}

enum Method {
    /// A coefficient is cut into 32-bit limbs. A limb polynomial times a binary polynomial has coefficients of magnitude
    /// below kN·2^32 ≤ 2^49 summed over the key's k polynomials, far under p/2 for the Goldilocks prime p, so its NTT product
    /// is the integer product.
    Limbs,
    /// Residues modulo two primes of 46 bits, whose transforms take half the time or less: by integers with AVX-512 IFMA,
    /// by doubles that hold integers with AVX2. The product of whole coefficients is below kN·2^64 ≤ 2^81 in magnitude, far
    /// under half the primes' product. Where no such primes exist for N, limbs serve.
    Residues(Box<Residues>),
}

/// Working memory of one thread. It holds mask times key in the clear, which with the public mask gives the key.
pub(crate) struct Scratch {
    values: Zeroizing<Vec<u64>>,
    sums: [Zeroizing<Vec<u64>>; 2],
}

impl BinaryMultiplier {
    /// Transforms a key once: the bits of its k polynomials, each 0 or 1, lowest degree first.
    pub(crate) fn new(bits: &[u8], size: PolynomialSize) -> Result<Self, TfheError> {
        let isa = Isa::current();
        match Self::with_residues(bits, size, isa)? {
            Some(multiplier) => Ok(multiplier),
            None => Self::with_limbs(bits, size, isa),
        }
    }

    fn with_limbs(bits: &[u8], size: PolynomialSize, isa: Isa) -> Result<Self, TfheError> {
        let engine = goldilocks_engine(size.get(), isa).map_err(TfheError::transform)?;
        Ok(Self::with_engines(bits, size, Method::Limbs, vec![engine]))
    }

    /// `None` if there are no primes for the key's N.
    fn with_residues(bits: &[u8], size: PolynomialSize, isa: Isa) -> Result<Option<Self>, TfheError> {
        let n = size.get();
        let Some(residues) = Residues::new(n, isa)? else { return Ok(None) };
        let engine = |p: Modulus| prime_engine(n, p.value(), isa).map_err(TfheError::transform);
        let engines = residues.primes.into_iter().map(engine).collect::<Result<_, _>>()?;
        Ok(Some(Self::with_engines(bits, size, Method::Residues(Box::new(residues)), engines)))
    }

    fn with_engines(bits: &[u8], size: PolynomialSize, method: Method, engines: Vec<Arc<dyn NttEngine>>) -> Self {
        let n = size.get();
        let spectra = engines.iter().map(|engine| {
            let mut spectra: Zeroizing<Vec<u64>> = Zeroizing::new(bits.iter().map(|&b| u64::from(b)).collect());
            spectra.chunks_exact_mut(n).for_each(|polynomial| engine.forward_in_place(polynomial));
            spectra
        });
        Self { method, spectra: spectra.collect(), engines }
    }

    /// Working memory for [`add_mask_products`](Self::add_mask_products).
    pub(crate) fn scratch(&self) -> Scratch {
        let zeros = || Zeroizing::new(vec![0; self.engines[0].polynomial_size()]);
        Scratch { values: zeros(), sums: [zeros(), zeros()] }
    }

    /// Adds Σ_i a_i·s_i to `body`; `mask` holds k polynomials.
    pub(crate) fn add_mask_products<T: Torus>(&self, mask: &[T], body: &mut [T], scratch: &mut Scratch) {
        assert_eq!(mask.len(), self.spectra[0].len());
        let Scratch { values, sums: [first, second] } = scratch;
        match &self.method {
            // From the most significant limb on; `weight` is the limb's place in the integer.
            Method::Limbs => {
                for weight in (0..T::BITS).step_by(32).rev() {
                    let limb = |values: &mut [u64]| values.iter_mut().for_each(|x| *x = *x >> weight & 0xffff_ffff);
                    self.product(0, mask, limb, values, first);
                    for (b, &product) in body.iter_mut().zip(first.iter()) {
                        let product = T::from_signed_i64(signed_residue(product));
                        *b = b.wrapping_add(product.wrapping_mul_i64(1 << weight));
                    }
                }
            }
            Method::Residues(residues) => {
                let [p, q] = residues.folds;
                self.product(0, mask, |values| fold(residues.isa, values, p), values, first);
                self.product(1, mask, |values| fold(residues.isa, values, q), values, second);
                residues.recombine(first, second);
                for (b, &product) in body.iter_mut().zip(second.iter()) {
                    *b = b.wrapping_add(T::from_signed_i64(product as i64));
                }
            }
        }
    }

    /// sum = Σ_i r(a_i)·s_i modulo the prime of an engine, where r brings the integers of coefficients below that prime.
    fn product<T: Torus>(
        &self,
        engine: usize,
        mask: &[T],
        r: impl Fn(&mut [u64]),
        values: &mut [u64],
        sum: &mut [u64],
    ) {
        let (engine, spectra) = (&*self.engines[engine], &self.spectra[engine]);
        for (i, (a, s)) in mask.chunks_exact(values.len()).zip(spectra.chunks_exact(values.len())).enumerate() {
            let target = if i == 0 { &mut *sum } else { &mut *values };
            for (value, &x) in target.iter_mut().zip(a) {
                *value = x.to_u64_msb() >> (64 - T::BITS);
            }
            r(target);
            engine.forward_in_place(target);
            if i == 0 {
                engine.multiply(sum, s);
            } else {
                engine.multiply_accumulate(sum, values, s);
            }
        }
        engine.inverse_in_place(sum);
    }
}

/// Integers of magnitude far below p·q/2 from their residues modulo two primes p and q of 46 bits.
struct Residues {
    isa: Isa,
    primes: [Modulus; 2],
    folds: [Fold; 2],
    /// Arithmetic modulo q.
    kernels: PointwiseKernels,
    /// p^-1 mod q.
    inverse: u64,
}

/// Reduction of 64-bit words modulo p = 2^46 − δ.
#[derive(Clone, Copy)]
struct Fold {
    p: u64,
    delta: u64,
}

impl Fold {
    const BITS: u32 = 46;

    /// x = h·2^46 + l ≡ l + h·δ, with h < 2^18 and δ < 2^27 below 2^46 + 2^45 < 2p: one subtraction is enough.
    #[inline(always)]
    fn reduce(self, x: u64) -> u64 {
        let sum = (x & ((1 << Self::BITS) - 1)) + (x >> Self::BITS) * self.delta;
        sum.min(sum.wrapping_sub(self.p))
    }
}

impl Residues {
    /// The two greatest primes for polynomials of `n` coefficients; `None` if there are none close to 2^46.
    fn new(n: usize, isa: Isa) -> Result<Option<Self>, TfheError> {
        let mut primes = ntt_primes(Fold::BITS, n);
        let (Some(p), Some(q)) = (primes.next(), primes.next()) else { return Ok(None) };
        let folds = [p, q].map(|p| Fold { p: p.value(), delta: (1 << Fold::BITS) - p.value() });
        if folds.iter().any(|fold| fold.delta >> 27 != 0) {
            return Ok(None);
        }
        let kernels = PointwiseKernels::new(q, isa).map_err(TfheError::transform)?;
        let Some(inverse) = q.inverse(q.reduce(p.value())) else { return Ok(None) };
        Ok(Some(Self { isa, primes: [p, q], folds, kernels, inverse }))
    }

    /// Writes to `second` the integers x, modulo 2^64, with residues `first` modulo p and `second` modulo q. They are x
    /// = first + p·u with u = (second − first)·p^-1 mod q. Negative ones, with u > q/2, lose p·q, as x is near a
    /// multiple of p·q.
    fn recombine(&self, first: &mut [u64], second: &mut [u64]) {
        /// Words that stay in the first-level cache from one step to the next.
        const BLOCK: usize = 1024;
        let [p, q] = self.primes.map(Modulus::value);
        for (first, second) in first.chunks_mut(BLOCK).zip(second.chunks_mut(BLOCK)) {
            let mut residue = Zeroizing::new([0u64; BLOCK]);
            let residue = &mut residue[..first.len()];
            // Below p, which is below 2q.
            reduce_once(self.isa, first, q, residue);
            self.kernels.sub(second, residue);
            self.kernels.multiply_scalar(second, self.inverse);
            join(self.isa, first, p, q, second);
        }
    }
}

multiversion! {
    /// Reduces all words.
    fn fold(isa, values: &mut [u64], fold: Fold) {
        for x in values {
            *x = fold.reduce(*x);
        }
    }
}

multiversion! {
    /// out = x or x − k, whichever is at least 0.
    fn reduce_once(isa, values: &[u64], k: u64, out: &mut [u64]) {
        for (o, &x) in out.iter_mut().zip(values) {
            *o = x.min(x.wrapping_sub(k));
        }
    }
}

multiversion! {
    /// u ← first + p·u, less p·q if u > q/2, modulo 2^64.
    fn join(isa, first: &[u64], p: u64, q: u64, u: &mut [u64]) {
        for (u, &r) in u.iter_mut().zip(first) {
            // All ones for negative x.
            let negative = (q / 2).wrapping_sub(*u) >> 63;
            let digit = u.wrapping_sub(q & negative.wrapping_neg());
            *u = r.wrapping_add(p.wrapping_mul(digit));
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

#[cfg(test)]
mod tests {
    use ciphermill_lattice::rng::{Csprng, SecretSeed};

    use super::*;
    use crate::dimension::GlweDimension;
    use crate::glwe::GlweSecretKey;

    fn key(k: usize, n: usize) -> GlweSecretKey {
        let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([7; 32]), 0);
        GlweSecretKey::generate(GlweDimension(k), PolynomialSize::new(n).expect("a size on offer"), &mut rng)
    }

    fn product<T: Torus>(multiplier: &BinaryMultiplier, mask: &[T]) -> Vec<T> {
        let mut scratch = multiplier.scratch();
        let mut body = vec![T::from_signed_i64(1); mask.len() / (multiplier.spectra[0].len() / scratch.values.len())];
        multiplier.add_mask_products(mask, &mut body, &mut scratch);
        body
    }

    /// Random masks, and the greatest ones: both methods are the schoolbook product.
    #[test]
    fn products_with_the_key_are_exact() {
        for (k, n) in [(1, 256), (3, 256), (1, 1024)] {
            let key = key(k, n);
            let mut methods = Vec::new();
            for isa in Isa::available() {
                methods
                    .push(BinaryMultiplier::with_limbs(key.bits(), key.polynomial_size(), isa).expect("a transform"));
                methods.push(
                    BinaryMultiplier::with_residues(key.bits(), key.polynomial_size(), isa)
                        .expect("a transform")
                        .expect("primes"),
                );
            }
            let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([8; 32]), 0);
            let mut random = vec![0u64; k * n];
            rng.fill_u64(&mut random);
            for mask in [random, vec![u64::MAX; k * n], vec![0; k * n], vec![1 << 63; k * n]] {
                let mut expected = vec![1u64; n];
                for (a, s) in mask.chunks_exact(n).zip(key.polynomials()) {
                    let bits: Vec<i64> = s.iter().map(|&b| i64::from(b)).collect();
                    crate::reference::add_product(&bits, a, &mut expected);
                }
                let narrow: Vec<u32> = mask.iter().map(|&x| x as u32).collect();
                let expected_narrow: Vec<u32> = expected.iter().map(|&x| x as u32).collect();
                for multiplier in &methods {
                    assert!(product(multiplier, &mask) == expected, "k = {k}, N = {n}");
                    assert!(product(multiplier, &narrow) == expected_narrow, "k = {k}, N = {n}, 32 bits");
                }
            }
        }
    }

    /// At the paper's size, with the greatest masks too.
    #[test]
    fn both_methods_agree_at_full_size() {
        let n = 1 << 14;
        let key = key(1, n);
        let isa = Isa::current();
        let limbs = BinaryMultiplier::with_limbs(key.bits(), key.polynomial_size(), isa).expect("a transform");
        let residues = BinaryMultiplier::with_residues(key.bits(), key.polynomial_size(), isa)
            .expect("a transform")
            .expect("primes");
        let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([9; 32]), 0);
        let mut random = vec![0u64; n];
        rng.fill_u64(&mut random);
        for mask in [random, vec![u64::MAX; n]] {
            assert!(product(&limbs, &mask) == product(&residues, &mask));
        }
    }
}
