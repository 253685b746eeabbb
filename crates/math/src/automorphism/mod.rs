//! The automorphisms X ↦ X^g of Z\[X\]/(X^N + 1), g odd, on coefficients and on spectra.
//!
//! **Coefficients.** σ_g(X^j) = X^(gj), and X^N = −1. Let h = g^-1 mod 2N and e = h·i mod 2N. The coefficient of σ_g(a)
//! at X^i is a_e if e is below N, and −a_(e−N) otherwise. This is a gather with signs. Its indices need no table,
//! because e grows by h from one i to the next. [`Automorphism`] applies it modulo any q and on the torus.
//!
//! **Spectra.** The place of a spectrum with exponent e holds a(ψ^e). The same place of the spectrum of σ_g(a) holds
//! a(ψ^(g·e)), so σ_g permutes the places, without signs. [`SpectrumAutomorphism`] keeps the permutation as a table of
//! 32-bit indices. The table is made from [`NttEngine::exponent`], so it fits any engine.
//!
//! Values are moved, negated once or added once, so canonical values stay canonical. −x is q − x for x > 0, and 0 for
//! x = 0. A sum a + b of values below q is a − (q − b), plus q if that is negative; this fits the word for any q.
//! Spectra of some engines hold any word for a residue. Before such words are added, q is subtracted once, which is
//! enough for all words below 2q.
//!
//! **Floor.** Each coefficient needs one load of an arbitrary word. Gather instructions and scalar loads alike take 0.5
//! to 0.7 cycles for it on Intel. Measured for N = 16384 on a Granite Rapids core (3.57 GHz), in cycles per
//! coefficient:
//!
//! | path | spectrum, 64-bit words | added to another | 64-bit coefficients | 32-bit coefficients |
//! | --- | --- | --- | --- | --- |
//! | AVX-512 | 0.80 (3.7 µs) | 1.15 | 0.8 to 1.0 | 0.57 |
//! | AVX2 | 0.9 | 1.8 | 2.0 | 0.8 |
//! | portable | 1.2 | 3.1 | 2.3 | 2.2 |

use crate::Isa;
use crate::ntt::{NttEngine, NttWord};

#[cfg(target_arch = "x86_64")]
mod x86;

/// The reason why an automorphism cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AutomorphismError {
    /// N is not supported.
    #[error("polynomial size {given} is not supported; use a power of two up to {max}")]
    PolynomialSize {
        /// The requested value.
        given: usize,
        /// The greatest N.
        max: usize,
    },
    /// The exponent g is even, so X ↦ X^g is not an automorphism.
    #[error("exponent {given} of an automorphism is even; use an odd one")]
    EvenExponent {
        /// The requested value.
        given: usize,
    },
}

mod sealed {
    use super::Isa;

    /// The kernels of one width.
    pub trait Kernels: Sized {
        /// out_i = ±src_(step·i mod 2N), see [`Automorphism`](super::Automorphism); `modulus` 0 stands for 2^BITS.
        /// This function checks the slices, because any crate can call it through the public trait.
        fn permute(isa: Isa, step: usize, modulus: u64, src: &[Self], out: &mut [Self]);
        /// out_i = src_(table_i); all indices are below N, the length of all slices.
        ///
        /// # Safety
        /// The indices must satisfy that bound.
        unsafe fn gather(isa: Isa, table: &[u32], src: &[Self], out: &mut [Self]);
        /// acc_i += src_(table_i) modulo `modulus`. All words are below twice the modulus; the result is below it.
        ///
        /// # Safety
        /// As [`gather`](Self::gather).
        unsafe fn gather_add(isa: Isa, table: &[u32], modulus: u64, src: &[Self], acc: &mut [Self]);
    }
}

/// Words on which automorphisms act: `u32` and `u64`.
pub trait AutomorphismWord: NttWord + sealed::Kernels {}

impl AutomorphismWord for u32 {}
impl AutomorphismWord for u64 {}

/// X ↦ X^g on polynomials of N coefficients.
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::automorphism::Automorphism;
///
/// // X ↦ X^3 maps X to X^3 and X^2 to X^6 = −X^2, modulo X^4 + 1 and 97.
/// let sigma = Automorphism::new(4, 3)?;
/// let mut image = [0u64; 4];
/// sigma.apply_modular(Isa::current(), 97, &[5, 1, 2, 0], &mut image);
/// assert_eq!(image, [5, 0, 95, 1]);
/// # Ok::<(), ciphermill_math::automorphism::AutomorphismError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Automorphism {
    polynomial_size: usize,
    /// g, odd and below 2N.
    exponent: usize,
    /// g^-1 modulo 2N.
    inverse: usize,
}

impl Automorphism {
    /// The greatest N.
    pub const MAX_POLYNOMIAL_SIZE: usize = 1 << 17;

    /// X ↦ X^`exponent`; the exponent is reduced modulo 2N.
    ///
    /// # Errors
    /// If `polynomial_size` is not a power of two up to 2^17, or `exponent` is even.
    pub fn new(polynomial_size: usize, exponent: usize) -> Result<Self, AutomorphismError> {
        let max = Self::MAX_POLYNOMIAL_SIZE;
        if !polynomial_size.is_power_of_two() || polynomial_size > max {
            return Err(AutomorphismError::PolynomialSize { given: polynomial_size, max });
        }
        if exponent.is_multiple_of(2) {
            return Err(AutomorphismError::EvenExponent { given: exponent });
        }
        let exponent = exponent % (2 * polynomial_size);
        Ok(Self { polynomial_size, exponent, inverse: inverse_mod_power_of_two(exponent) % (2 * polynomial_size) })
    }

    /// N.
    pub fn polynomial_size(&self) -> usize {
        self.polynomial_size
    }

    /// g, odd and below 2N.
    pub fn exponent(&self) -> usize {
        self.exponent
    }

    /// The inverse automorphism.
    pub fn inverse(&self) -> Self {
        Self { exponent: self.inverse, inverse: self.exponent, ..*self }
    }

    /// out = σ_g(src) over Z_q: coefficients in `[0, q)`.
    ///
    /// # Panics
    /// If a length is not N, `modulus` is 0 or does not fit the word, or `isa` is not available.
    pub fn apply_modular<W: AutomorphismWord>(&self, isa: Isa, modulus: u64, src: &[W], out: &mut [W]) {
        assert_ne!(modulus, 0, "modulus");
        assert_fits::<W>(modulus);
        self.apply(isa, modulus, src, out);
    }

    /// out = σ_g(src) over the torus: coefficients modulo 2^32 or 2^64.
    ///
    /// # Panics
    /// If a length is not N, or `isa` is not available.
    pub fn apply_torus<W: AutomorphismWord>(&self, isa: Isa, src: &[W], out: &mut [W]) {
        self.apply(isa, 0, src, out);
    }

    fn apply<W: AutomorphismWord>(&self, isa: Isa, modulus: u64, src: &[W], out: &mut [W]) {
        assert_eq!(src.len(), self.polynomial_size, "length of the polynomial");
        assert_eq!(out.len(), self.polynomial_size, "length of the result");
        W::permute(isa, self.inverse, modulus, src, out);
    }
}

fn assert_fits<W>(modulus: u64) {
    assert!(modulus >> (8 * size_of::<W>() - 1) <= 1, "the modulus {modulus} does not fit the word");
}

/// a^-1 modulo every power of two that a word holds, for odd a: Newton's iteration doubles the number of right bits,
/// and an odd number is its own inverse to three.
fn inverse_mod_power_of_two(a: usize) -> usize {
    (0..5).fold(a, |x, _| x.wrapping_mul(2usize.wrapping_sub(a.wrapping_mul(x))))
}

/// A permutation of the N places of spectra of one modulus.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    isa: Isa,
    modulus: u64,
    /// The place of the argument that each place of the result takes: a permutation of 0..N.
    table: Vec<u32>,
}

impl Permutation {
    /// The permutation that takes place i of the result from place `table`_i of the argument.
    ///
    /// # Panics
    /// If `table` is not a permutation of 0..N, or the CPU lacks `isa`.
    pub(crate) fn new(isa: Isa, modulus: u64, table: Vec<u32>) -> Self {
        let mut seen = vec![false; table.len()];
        for &place in &table {
            // The kernels read at the table's indices without a check.
            assert!(!std::mem::replace(&mut seen[place as usize], true), "a permutation has each place once");
        }
        assert!(isa.is_available());
        Self { isa, modulus, table }
    }

    /// Another permutation of the same spectra.
    pub(crate) fn with_table(&self, table: Vec<u32>) -> Self {
        assert_eq!(table.len(), self.table.len(), "length of the table");
        Self::new(self.isa, self.modulus, table)
    }

    /// out = the permuted `spectrum`.
    pub(crate) fn apply<W: AutomorphismWord>(&self, spectrum: &[W], out: &mut [W]) {
        self.check(spectrum, out);
        // SAFETY: the table is a permutation of 0..N, and the lengths are N.
        unsafe { W::gather(self.isa, &self.table, spectrum, out) }
    }

    /// acc += the permuted `spectrum`, canonical.
    pub(crate) fn accumulate<W: AutomorphismWord>(&self, spectrum: &[W], acc: &mut [W]) {
        self.check(spectrum, acc);
        assert_fits::<W>(self.modulus);
        // SAFETY: as for `apply`.
        unsafe { W::gather_add(self.isa, &self.table, self.modulus, spectrum, acc) }
    }

    fn check<W>(&self, spectrum: &[W], out: &[W]) {
        assert_eq!(spectrum.len(), self.table.len(), "length of the spectrum");
        assert_eq!(out.len(), self.table.len(), "length of the result");
    }
}

/// X ↦ X^g on the spectra of one engine, or of any other engine with the same order. The table is made once for each g.
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::automorphism::SpectrumAutomorphism;
/// use ciphermill_math::ntt::prime_engine;
///
/// let engine = prime_engine(256, 7681, Isa::current())?;
/// let sigma = SpectrumAutomorphism::new(&*engine, 3)?;
/// // The spectrum of X becomes the spectrum of X^3.
/// let (mut spectrum, mut image) = (vec![0; 256], vec![0; 256]);
/// spectrum[1] = 1;
/// engine.forward_in_place(&mut spectrum);
/// sigma.apply(&spectrum, &mut image);
/// engine.inverse_in_place(&mut image);
/// assert_eq!(image[..5], [0, 0, 0, 1, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SpectrumAutomorphism {
    automorphism: Automorphism,
    permutation: Permutation,
}

impl SpectrumAutomorphism {
    /// X ↦ X^`exponent` on spectra of `engine`. The kernels run on the engine's instruction set.
    ///
    /// # Errors
    /// As [`Automorphism::new`].
    pub fn new<W: NttWord>(engine: &dyn NttEngine<W>, exponent: usize) -> Result<Self, AutomorphismError> {
        let n = engine.polynomial_size();
        let automorphism = Automorphism::new(n, exponent)?;
        let exponents: Vec<usize> = (0..n).map(|place| engine.exponent(place)).collect();
        let mut places = vec![u32::MAX; n];
        for (place, e) in exponents.iter().enumerate() {
            places[e / 2] = place as u32;
        }
        let table = exponents.iter().map(|e| places[e * automorphism.exponent % (2 * n) / 2]).collect();
        Ok(Self { automorphism, permutation: Permutation::new(engine.info().host_isa(), engine.modulus(), table) })
    }

    /// The automorphism.
    pub fn automorphism(&self) -> Automorphism {
        self.automorphism
    }

    /// out = the spectrum of σ_g(a), given the spectrum of a.
    ///
    /// # Panics
    /// If a length is not N.
    pub fn apply<W: AutomorphismWord>(&self, spectrum: &[W], out: &mut [W]) {
        self.permutation.apply(spectrum, out);
    }

    /// acc += the spectrum of σ_g(a), given the spectrum of a. Both are spectra of the engine. The result is canonical,
    /// in `[0, p)`.
    ///
    /// # Panics
    /// If a length is not N, or the engine's modulus does not fit the word.
    pub fn accumulate<W: AutomorphismWord>(&self, spectrum: &[W], acc: &mut [W]) {
        self.permutation.accumulate(spectrum, acc);
    }
}

macro_rules! kernels {
    ($word:ty, $avx2:ident, $avx512:ident) => {
        impl sealed::Kernels for $word {
            fn permute(isa: Isa, step: usize, modulus: u64, src: &[Self], out: &mut [Self]) {
                let n = src.len();
                assert!(n.is_power_of_two() && n <= Automorphism::MAX_POLYNOMIAL_SIZE, "length of the polynomial");
                assert_eq!(out.len(), n, "length of the result");
                assert!(isa.is_available());
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the CPU is checked; both slices have N words, a power of two from the lanes of the kernel to
                // 2^17.
                unsafe {
                    match isa {
                        Isa::Avx2 if n >= x86::$avx2::LANES => return x86::$avx2::permute(step, modulus, src, out),
                        Isa::Avx512 if n >= x86::$avx512::LANES => {
                            return x86::$avx512::permute(step, modulus, src, out);
                        }
                        _ => (),
                    }
                }
                for (i, o) in out.iter_mut().enumerate() {
                    let e = step.wrapping_mul(i) & (2 * n - 1);
                    let x = src[e & (n - 1)];
                    *o = if e < n || x == 0 { x } else { (modulus as $word).wrapping_sub(x) };
                }
            }

            unsafe fn gather(isa: Isa, table: &[u32], src: &[Self], out: &mut [Self]) {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the caller's contract, and as for `permute`.
                unsafe {
                    match isa {
                        Isa::Avx2 if src.len() >= x86::$avx2::LANES => return x86::$avx2::gather(table, src, out),
                        Isa::Avx512 if src.len() >= x86::$avx512::LANES => {
                            return x86::$avx512::gather(table, src, out);
                        }
                        _ => (),
                    }
                }
                for (o, &place) in out.iter_mut().zip(table) {
                    *o = src[place as usize];
                }
            }

            unsafe fn gather_add(isa: Isa, table: &[u32], modulus: u64, src: &[Self], acc: &mut [Self]) {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the caller's contract, and as for `permute`.
                unsafe {
                    match isa {
                        Isa::Avx2 if src.len() >= x86::$avx2::LANES => {
                            return x86::$avx2::gather_add(table, modulus, src, acc);
                        }
                        Isa::Avx512 if src.len() >= x86::$avx512::LANES => {
                            return x86::$avx512::gather_add(table, modulus, src, acc);
                        }
                        _ => (),
                    }
                }
                let p = modulus as $word;
                let reduce = |x: $word| x.min(x.wrapping_sub(p));
                for (a, &place) in acc.iter_mut().zip(table) {
                    let (difference, negative) = reduce(*a).overflowing_sub(p - reduce(src[place as usize]));
                    *a = if negative { difference.wrapping_add(p) } else { difference };
                }
            }
        }
    };
}

kernels!(u32, words32_avx2, words32_avx512);
kernels!(u64, words64_avx2, words64_avx512);

/// The plain definitions.
///
/// # Example
/// ```
/// use ciphermill_math::automorphism::reference;
///
/// assert_eq!(reference::modular(3, 97, &[5, 1, 2, 0]), [5, 0, 95, 1]);
/// assert_eq!(reference::torus(3, &[5, 1, 2, 0]), [5, 0, 2u64.wrapping_neg(), 1]);
/// ```
pub mod reference {
    /// σ_g(a) over Z_q, term by term: g odd, coefficients in `[0, q)`.
    pub fn modular(exponent: usize, modulus: u64, polynomial: &[u64]) -> Vec<u64> {
        let n = polynomial.len();
        let mut out = vec![0; n];
        for (j, &x) in polynomial.iter().enumerate() {
            let e = (exponent as u128 * j as u128 % (2 * n as u128)) as usize;
            out[e % n] = if e < n { x } else { ((u128::from(modulus) - u128::from(x)) % u128::from(modulus)) as u64 };
        }
        out
    }

    /// σ_g(a) modulo 2^64, term by term: g odd.
    pub fn torus(exponent: usize, polynomial: &[u64]) -> Vec<u64> {
        let n = polynomial.len();
        let mut out = vec![0; n];
        for (j, &x) in polynomial.iter().enumerate() {
            let e = (exponent as u128 * j as u128 % (2 * n as u128)) as usize;
            out[e % n] = if e < n { x } else { x.wrapping_neg() };
        }
        out
    }
}

#[cfg(test)]
mod tests;
