//! Transforms of polynomials in a residue number system: coefficients are residues modulo several primes.

use std::sync::Arc;

use super::{NttEngine, NttWord};
use crate::CoefficientSource;

/// The reason why engines do not form a residue number system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RnsError {
    /// The list of engines is empty.
    #[error("a residue number system without a modulus; use at least one")]
    Empty,
    /// The engines are for polynomials of different sizes.
    #[error("limb {limb} is for polynomials of {given} coefficients, limb 0 for {expected}; use one size")]
    PolynomialSize {
        /// The index of the engine.
        limb: usize,
        /// The N of this engine.
        given: usize,
        /// The N of the first engine.
        expected: usize,
    },
    /// Two engines have the same prime.
    #[error("limbs {first} and {second} both have the modulus {modulus}; use distinct primes")]
    RepeatedModulus {
        /// The index of one engine.
        first: usize,
        /// The index of the other engine.
        second: usize,
        /// Their prime.
        modulus: u64,
    },
}

/// Negacyclic NTTs of one size N modulo distinct primes p_0 … p_(L−1): products of polynomials over Z_(p_0·…·p_(L−1)),
/// limb by limb.
///
/// A batch of R polynomials has L·R·N words: limb after limb, and within a limb polynomial after polynomial. So the
/// tables of one prime stay in the cache while its R polynomials are transformed. The R products of an accumulation are
/// consecutive spectra, which [`NttEngine::multiply_accumulate`] sums without reductions in between. For R = 1 this is
/// the usual order of a polynomial's limbs. Every function derives R from the length of its slices.
///
/// All work runs on the calling thread. A caller with more threads gives each of them some [`engines`](Self::engines)
/// with their R·N words.
///
/// Lengths that are not a multiple of L·N, or that do not match each other, are a caller's error and panic.
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::ntt::{RnsNtt, prime_engine};
///
/// let engines = [7681, 10753].map(|p| prime_engine(256, p, Isa::current()));
/// let rns = RnsNtt::new(engines.into_iter().collect::<Result<_, _>>()?)?;
/// // Limb after limb: 1 + 2X modulo each prime.
/// let mut values = vec![0u64; rns.words()];
/// (values[0], values[1], values[256], values[257]) = (1, 2, 1, 2);
/// let polynomial = values.clone();
/// rns.forward_in_place(&mut values);
/// rns.inverse_in_place(&mut values);
/// assert_eq!(values, polynomial);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// Lengths that are not a multiple of L·N, or that do not match each other, are a caller's error and panic.
#[derive(Clone, Debug)]
pub struct RnsNtt<W: NttWord = u64> {
    engines: Vec<Arc<dyn NttEngine<W>>>,
    polynomial_size: usize,
}

impl<W: NttWord> RnsNtt<W> {
    /// The system of one engine per prime; limb i belongs to engine i.
    ///
    /// # Errors
    /// If the list is empty, if engines differ in N, or if two engines have the same prime.
    pub fn new(engines: Vec<Arc<dyn NttEngine<W>>>) -> Result<Self, RnsError> {
        let expected = engines.first().ok_or(RnsError::Empty)?.polynomial_size();
        for (limb, engine) in engines.iter().enumerate() {
            let (given, modulus) = (engine.polynomial_size(), engine.modulus());
            if given != expected {
                return Err(RnsError::PolynomialSize { limb, given, expected });
            }
            if let Some(first) = engines[..limb].iter().position(|other| other.modulus() == modulus) {
                return Err(RnsError::RepeatedModulus { first, second: limb, modulus });
            }
        }
        Ok(Self { engines, polynomial_size: expected })
    }

    /// N.
    pub fn polynomial_size(&self) -> usize {
        self.polynomial_size
    }

    /// L, the number of primes.
    pub fn limb_count(&self) -> usize {
        self.engines.len()
    }

    /// L·N, the words of one polynomial.
    pub fn words(&self) -> usize {
        self.limb_count() * self.polynomial_size
    }

    /// The engines, in the order of the limbs.
    pub fn engines(&self) -> &[Arc<dyn NttEngine<W>>] {
        &self.engines
    }

    /// The primes, in the order of the limbs.
    pub fn moduli(&self) -> impl ExactSizeIterator<Item = u64> {
        self.engines.iter().map(|engine| engine.modulus())
    }

    /// R·N, the words of a limb in a batch of `words` words.
    fn limb_len(&self, words: usize) -> usize {
        assert!(words > 0 && words.is_multiple_of(self.words()), "{words} words for polynomials of {}", self.words());
        words / self.limb_count()
    }

    /// Transforms one polynomial per limb and source. `sources` holds R sources for each limb, in the order of the
    /// batch, with coefficients below that limb's prime.
    pub fn forward(&self, sources: &[&dyn CoefficientSource<W>], spectra: &mut [W]) {
        let limb = self.limb_len(spectra.len());
        let rows = limb / self.polynomial_size;
        assert_eq!(sources.len(), self.limb_count() * rows, "one source per limb and polynomial");
        for ((engine, spectra), sources) in
            self.engines.iter().zip(spectra.chunks_exact_mut(limb)).zip(sources.chunks_exact(rows))
        {
            engine.forward_batch(sources, spectra);
        }
    }

    /// Transforms a batch in place: coefficients below each limb's prime in, spectra out.
    pub fn forward_in_place(&self, values: &mut [W]) {
        for (engine, value) in self.rows_mut(values) {
            engine.forward_in_place(value);
        }
    }

    /// Undoes [`forward_in_place`](Self::forward_in_place), normalised by 1/N: spectra in, canonical coefficients out.
    pub fn inverse_in_place(&self, values: &mut [W]) {
        for (engine, value) in self.rows_mut(values) {
            engine.inverse_in_place(value);
        }
    }

    /// Inverse transforms to `coefficients`, canonical and normalised by 1/N. Destroys `spectra`.
    pub fn inverse(&self, spectra: &mut [W], coefficients: &mut [W]) {
        assert_eq!(spectra.len(), coefficients.len(), "lengths of spectra and coefficients");
        let coefficients = coefficients.chunks_exact_mut(self.polynomial_size);
        for ((engine, spectrum), coefficients) in self.rows_mut(spectra).zip(coefficients) {
            engine.inverse(spectrum, coefficients);
        }
    }

    /// lhs ← lhs ∘ rhs for every polynomial of two batches of the same size.
    pub fn multiply(&self, lhs: &mut [W], rhs: &[W]) {
        assert_eq!(lhs.len(), rhs.len(), "lengths of the factors");
        let rhs = rhs.chunks_exact(self.polynomial_size);
        for ((engine, lhs), rhs) in self.rows_mut(lhs).zip(rhs) {
            engine.multiply(lhs, rhs);
        }
    }

    /// Adds Σ_r lhs_r ∘ rhs_r over the polynomials of two batches of the same size to `acc`, one polynomial (L·N
    /// words).
    pub fn multiply_accumulate(&self, acc: &mut [W], lhs: &[W], rhs: &[W]) {
        assert_eq!(acc.len(), self.words(), "length of the accumulator");
        assert_eq!(lhs.len(), rhs.len(), "lengths of the factors");
        let limb = self.limb_len(lhs.len());
        let accs = acc.chunks_exact_mut(self.polynomial_size);
        for (((engine, acc), lhs), rhs) in
            self.engines.iter().zip(accs).zip(lhs.chunks_exact(limb)).zip(rhs.chunks_exact(limb))
        {
            engine.multiply_accumulate(acc, lhs, rhs);
        }
    }

    /// The limb of each polynomial with its engine, in the order of the batch.
    fn rows_mut<'a>(&'a self, values: &'a mut [W]) -> impl Iterator<Item = (&'a dyn NttEngine<W>, &'a mut [W])> {
        let rows = self.limb_len(values.len()) / self.polynomial_size;
        let rows_of_limbs = values.chunks_exact_mut(self.polynomial_size).enumerate();
        rows_of_limbs.map(move |(i, row)| (&*self.engines[i / rows], row))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Prime32Ntt, PrimeNtt, goldilocks_engine, reference};
    use super::*;
    use crate::modulus::ntt_primes;
    use crate::{Isa, Modulus};

    const N: usize = 256;

    fn engines(count: usize, isa: Isa) -> Vec<Arc<dyn NttEngine<u32>>> {
        let engine = |p: Modulus| Arc::new(Prime32Ntt::new(N, p.value() as u32, isa).expect("a prime of its class"));
        ntt_primes(31, N).take(count).map(|p| engine(p) as Arc<dyn NttEngine<u32>>).collect()
    }

    /// Values below each limb's prime, from a linear congruential generator.
    fn batch(rns: &RnsNtt<u32>, rows: usize, seed: u64) -> Vec<u32> {
        let mut state = seed;
        let mut values = Vec::new();
        for p in rns.moduli() {
            values.extend((0..rows * N).map(|_| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                (((state >> 32) * p) >> 32) as u32
            }));
        }
        values
    }

    fn product(lhs: &[u32], rhs: &[u32], p: u64) -> Vec<u64> {
        let wide = |values: &[u32]| values.iter().map(|&x| u64::from(x)).collect::<Vec<_>>();
        reference::prime::negacyclic_product(Modulus::new(p).expect("a prime"), &wide(lhs), &wide(rhs))
    }

    #[test]
    fn batches_are_products_modulo_each_prime() {
        for isa in Isa::available() {
            let rns = RnsNtt::new(engines(3, isa)).expect("distinct primes of one N");
            assert_eq!((rns.limb_count(), rns.words()), (3, 3 * N));
            for rows in [1, 2, 5] {
                let (lhs, rhs) = (batch(&rns, rows, 1), batch(&rns, rows, 2));
                let (mut x, mut y) = (lhs.clone(), rhs.clone());
                rns.forward_in_place(&mut x);
                let sources: Vec<Vec<u32>> = rhs.chunks_exact(N).map(<[u32]>::to_vec).collect();
                let sources: Vec<&dyn CoefficientSource<u32>> = sources.iter().map(|s| s as _).collect();
                rns.forward(&sources, &mut y);

                let mut sum = vec![0; rns.words()];
                rns.multiply_accumulate(&mut sum, &x, &y);
                rns.inverse_in_place(&mut sum);
                rns.multiply(&mut x, &y);
                let mut products = vec![0; x.len()];
                rns.inverse(&mut x, &mut products);

                for (limb, p) in rns.moduli().enumerate() {
                    let mut expected_sum = vec![0; N];
                    for row in 0..rows {
                        let at = (limb * rows + row) * N..(limb * rows + row + 1) * N;
                        let expected = product(&lhs[at.clone()], &rhs[at.clone()], p);
                        assert!(products[at].iter().map(|&x| u64::from(x)).eq(expected.iter().copied()));
                        expected_sum.iter_mut().zip(&expected).for_each(|(s, x)| *s = (*s + x) % p);
                    }
                    let given = &sum[limb * N..(limb + 1) * N];
                    assert!(given.iter().map(|&x| u64::from(x)).eq(expected_sum), "{isa}, {rows} rows, modulo {p}");
                }
            }
        }
    }

    /// Primes of 46, 50 and 62 bits and Goldilocks, each with a different strategy.
    #[test]
    fn batches_of_64_bit_words_are_products_modulo_each_prime() {
        for isa in Isa::available() {
            let mut limbs = vec![goldilocks_engine(N, isa).expect("a supported size")];
            limbs.extend([46, 50, 62].map(|bits| {
                let p = ntt_primes(bits, N).next().expect("a prime of that length");
                Arc::new(PrimeNtt::new(N, p.value(), isa).expect("a prime of its class")) as Arc<dyn NttEngine>
            }));
            let rns = RnsNtt::new(limbs).expect("distinct primes of one N");
            let residues = |seed: u64| {
                let mut state = seed;
                let mut values = Vec::new();
                for p in rns.moduli() {
                    values.extend((0..2 * N).map(|_| {
                        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                        ((u128::from(state) * u128::from(p)) >> 64) as u64
                    }));
                }
                values
            };
            let (lhs, rhs) = (residues(1), residues(2));
            let (mut x, mut y) = (lhs.clone(), rhs.clone());
            rns.forward_in_place(&mut x);
            rns.forward_in_place(&mut y);
            let mut sum = vec![0; rns.words()];
            rns.multiply_accumulate(&mut sum, &x, &y);
            rns.inverse_in_place(&mut sum);
            rns.multiply(&mut x, &y);
            rns.inverse_in_place(&mut x);
            for (limb, p) in rns.moduli().enumerate() {
                let mut expected_sum = vec![0; N];
                for row in 0..2 {
                    let at = (2 * limb + row) * N..(2 * limb + row + 1) * N;
                    let expected = negacyclic(&lhs[at.clone()], &rhs[at.clone()], p);
                    assert!(x[at] == expected, "{isa}, row {row}, modulo {p}");
                    for (s, x) in expected_sum.iter_mut().zip(expected) {
                        *s = ((u128::from(*s) + u128::from(x)) % u128::from(p)) as u64;
                    }
                }
                assert!(sum[limb * N..][..N] == expected_sum, "{isa}, modulo {p}");
            }
        }
    }

    /// The product modulo X^N + 1, term by term, for any p.
    fn negacyclic(lhs: &[u64], rhs: &[u64], p: u64) -> Vec<u64> {
        let p = u128::from(p);
        let term = |i: usize, j: usize| {
            let product = u128::from(lhs[j]) * u128::from(rhs[(N + i - j) % N]) % p;
            if j <= i { product } else { (p - product) % p }
        };
        (0..N).map(|i| (0..N).fold(0, |sum, j| (sum + term(i, j)) % p) as u64).collect()
    }

    #[test]
    fn engines_that_do_not_belong_together_are_refused() {
        assert!(matches!(RnsNtt::<u64>::new(Vec::new()), Err(RnsError::Empty)));
        let isa = Isa::Portable;
        let goldilocks = |n| goldilocks_engine(n, isa).expect("a supported size");
        assert!(matches!(
            RnsNtt::new(vec![goldilocks(256), goldilocks(512)]),
            Err(RnsError::PolynomialSize { limb: 1, given: 512, expected: 256 })
        ));
        let mut limbs = engines(2, isa);
        limbs.push(limbs[1].clone());
        assert!(matches!(RnsNtt::new(limbs), Err(RnsError::RepeatedModulus { first: 1, second: 2, .. })));
    }
}
