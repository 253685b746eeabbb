//! The automorphisms X ↦ X^g of Z\[X\]/(X^N + 1), g odd: on coefficients and on spectra.
//!
//! **Coefficients.** σ_g(X^j) = X^(gj), and X^N = −1. With h = g^-1 mod 2N, the coefficient at X^i of σ_g(a) is
//! therefore a_e for e = h·i mod 2N below N, and −a_(e−N) otherwise: a gather with signs whose indices need no table,
//! as e grows by h from one i to the next. [`Automorphism`] does it modulo any q and on the torus.
//!
//! **Spectra.** The place of a spectrum with exponent e holds a(ψ^e), so that of σ_g(a) holds a(ψ^(g·e)): a permutation
//! of the places, without signs. [`SpectrumAutomorphism`] keeps it as a table of 32-bit indices, made from
//! [`NttEngine::exponent`], for any engine.
//!
//! Values are only moved, negated once or added once, so canonical ones stay canonical: −x is q − x for x > 0 and 0 for
//! x = 0; a sum a + b of values below q is a − (q − b), plus q if that is negative, which fits the word for any q.
//! Spectra of some engines hold any word for a residue: before they are added, q is taken off once, which is enough for
//! all words below 2q.
//!
//! **Floor.** One load of an arbitrary word per coefficient: gather instructions and scalar loads alike take 0.5 to 0.7
//! cycles for it on Intel. Measured for N = 16384 on a Granite Rapids core (3.57 GHz) with AVX-512, in cycles per
//! coefficient: a spectrum of 64-bit words 0.80 (3.7 µs), added to another 1.15, 64-bit coefficients 0.8 to 1.0, 32-bit
//! ones 0.57. AVX2: 0.9, 1.8, 2.0, 0.8; portable: 1.2, 3.1, 2.3, 2.2.

use crate::Isa;
use crate::ntt::{NttEngine, NttWord};

#[cfg(target_arch = "x86_64")]
mod x86;

/// An automorphism cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AutomorphismError {
    /// N is not offered.
    #[error("polynomial size {given} is not offered; use a power of two up to {max}")]
    PolynomialSize {
        /// The requested value.
        given: usize,
        /// The greatest N.
        max: usize,
    },
    /// X ↦ X^g is no automorphism.
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
        /// Safe, as anyone can call it through a bound by the public trait: so it checks the slices.
        fn permute(isa: Isa, step: usize, modulus: u64, src: &[Self], out: &mut [Self]);
        /// out_i = src_(table_i); all indices are below N, the length of all slices.
        ///
        /// # Safety
        /// The indices must be as said.
        unsafe fn gather(isa: Isa, table: &[u32], src: &[Self], out: &mut [Self]);
        /// acc_i += src_(table_i) modulo `modulus`; all below twice it, the result below.
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

    /// X ↦ X^`exponent`, which counts modulo 2N.
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

    /// The automorphism that undoes this one.
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
    /// Which place of the argument each place of the result takes: a permutation of 0..N.
    table: Vec<u32>,
}

impl Permutation {
    /// Place i of a result is place `table`_i of the argument.
    ///
    /// # Panics
    /// If `table` is no permutation of 0..N, or the CPU lacks `isa`.
    pub(crate) fn new(isa: Isa, modulus: u64, table: Vec<u32>) -> Self {
        let mut seen = vec![false; table.len()];
        for &place in &table {
            // What the kernels rely on when they read at the table's indices.
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

/// X ↦ X^g on the spectra of one engine, or of any other that has its order: the table is made once for each g.
#[derive(Clone, Debug)]
pub struct SpectrumAutomorphism {
    automorphism: Automorphism,
    permutation: Permutation,
}

impl SpectrumAutomorphism {
    /// X ↦ X^`exponent` on spectra of `engine`; kernels run on the engine's instruction set.
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

    /// out = the spectrum of σ_g(a), for that of a.
    ///
    /// # Panics
    /// If a length is not N.
    pub fn apply<W: AutomorphismWord>(&self, spectrum: &[W], out: &mut [W]) {
        self.permutation.apply(spectrum, out);
    }

    /// acc += the spectrum of σ_g(a), for that of a. Both are spectra of the engine; the result is canonical, in
    /// `[0, p)`.
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
