//! Negacyclic transforms over prime fields of one word.
//!
//! The [kernels] are written once for all strategies (passes, blocking, tiles). A strategy is an implementor of
//! [`lanes::Lanes`], whose module states the range of every value:
//!
//! | strategy | primes below | where | instructions per butterfly of a vector |
//! | --- | --- | --- | --- |
//! | `ifma46` | 2^46 | AVX-512 IFMA, 8 lanes | 5 |
//! | `ifma50` | 2^50 | AVX-512 IFMA, 8 lanes | 7 |
//! | `fma47`, `fma50` | 2^47, 2^50 | AVX2 and AVX-512 without IFMA, 4 or 8 lanes | see `fma` |
//! | `shoup61` | 2^61 | AVX-512, 8 lanes (AVX2, 4 lanes) | 20 (about 32) |
//! | `shoup62` | 2^62 | AVX-512, 8 lanes (AVX2, 4 lanes); one word anywhere | 22 (about 35); about 11 |
//!
//! The floor at N = 4096 on 8 lanes has 12·256 butterflies of vectors. Each vector of the result also takes 5
//! instructions to become canonical (6 with Harvey's butterflies) and 3 shuffles of its tile's transposition. The
//! inverse saves factors in the levels across lanes and in the last transform, and multiplies every value twice more;
//! the total is about the same. The table assumes two instructions per cycle at 3.57 GHz. Measured times are the least
//! of 650 runs in place on a Granite-Rapids-class core whose other core was busy:
//!
//! | strategy | floor, µs | forward, inverse | fraction | peer, the better of tfhe-ntt 0.7.1 and concrete-ntt 0.2.0 |
//! | --- | --- | --- | --- | --- |
//! | `ifma46` | 2.76 | 3.04, 3.01 | 91 % | 4.78, 4.56: 1.57, 1.51 times |
//! | `ifma50` | 3.60 | 3.95, 3.95 | 91 % | 4.79, 4.56: 1.21, 1.15 times |
//! | `shoup61` | 9.4 | 10.3, 10.0 | 92 % | 11.0, 11.0: 1.07, 1.10 times |
//! | `shoup62` | 10.2 | 11.0, 11.0 | 93 % | 11.3, 11.0: 1.03, 1.00 times |
//!
//! - Limit of `ifma50`: four units of p below 2^52 have room for one level, so x is reduced in every butterfly.
//! - Limit of Harvey's butterflies: a 64-bit product from 32-bit products takes fourteen of the twenty instructions,
//!   two low products of three instructions each and a short high product. Exact quotients take 12.5 µs.
//!
//! [`ifma`] and [`harvey`] state how many products are summed before a reduction.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256d, __m256i, __m512d, __m512i};
use std::fmt;

use super::{NttEngine, NttError, NttWord, reference};
use crate::{CoefficientSource, EngineInfo, EngineKind, Isa, Modulus};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod fma;
#[cfg(target_arch = "x86_64")]
mod harvey;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod kernels;
pub(crate) mod lanes;
mod portable;
mod tables;
#[cfg(test)]
mod tests;

use tables::Tables;

type Forward<W> = unsafe fn(&Tables<W>, Option<&dyn CoefficientSource<W>>, &mut [W]);
type MultiplyAccumulate<W> = unsafe fn(&Tables<W>, &mut [W], &[W], &[W]);

/// The compiled kernels of one strategy on one instruction set. The functions have the contracts of those in
/// [`kernels`](mod@kernels).
pub(crate) struct Kernels<W: 'static> {
    strategy: &'static str,
    lanes: usize,
    /// The moduli are below 2^`bits`.
    bits: u32,
    min_polynomial_size: usize,
    offered: fn(Isa) -> bool,
    tables: fn(Modulus, usize) -> Result<Tables<W>, NttError>,
    forward: Forward<W>,
    inverse: unsafe fn(&Tables<W>, *mut W, *mut W),
    multiply: unsafe fn(&Tables<W>, &mut [W], &[W]),
    multiply_accumulate: MultiplyAccumulate<W>,
}

impl<W> fmt::Debug for Kernels<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernels").field("strategy", &self.strategy).field("lanes", &self.lanes).finish_non_exhaustive()
    }
}

/// Compiles the kernels for one implementor of [`lanes::Lanes`] and one set of CPU features, as a constant `KERNELS` of
/// a module.
macro_rules! kernels {
    ($module:ident: $lanes:ty, $word:ty, $strategy:literal, $bits:literal bits, $offered:expr $(, $features:literal)?) => {
        mod $module {
            use super::*;

            $(#[target_feature(enable = $features)])?
            unsafe fn forward(tables: &Tables<$word>, from: Option<&dyn CoefficientSource<$word>>, to: &mut [$word]) {
                // SAFETY: the caller's contract.
                unsafe { kernels::forward::<$lanes>(tables, from, to) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn inverse(tables: &Tables<$word>, spectrum: *mut $word, to: *mut $word) {
                // SAFETY: the caller's contract.
                unsafe { kernels::inverse::<$lanes>(tables, spectrum, to) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn multiply(tables: &Tables<$word>, lhs: &mut [$word], rhs: &[$word]) {
                // SAFETY: the caller's contract.
                unsafe { kernels::multiply::<$lanes>(tables, lhs, rhs) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn multiply_accumulate(tables: &Tables<$word>, acc: &mut [$word], lhs: &[$word], rhs: &[$word]) {
                // SAFETY: the caller's contract.
                unsafe { kernels::multiply_accumulate::<$lanes>(tables, acc, lhs, rhs) }
            }

            pub(in crate::ntt) static KERNELS: Kernels<$word> = Kernels {
                strategy: $strategy,
                lanes: <$lanes as lanes::Lanes>::LANES,
                bits: $bits,
                min_polynomial_size: Tables::<$word>::min_polynomial_size::<$lanes>(),
                offered: $offered,
                tables: Tables::new::<$lanes>,
                forward,
                inverse,
                multiply,
                multiply_accumulate,
            };
        }
    };
}

kernels!(scalar: portable::Portable, u64, "shoup62", 62 bits, |_| true);

#[cfg(target_arch = "x86_64")]
kernels!(ifma46: ifma::Ifma46, u64, "ifma46", 46 bits, Isa::has_ifma, "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx2,fma");
#[cfg(target_arch = "x86_64")]
kernels!(ifma50: ifma::Ifma50, u64, "ifma50", 50 bits, Isa::has_ifma, "avx512f,avx512dq,avx512vl,avx512bw,avx512ifma,avx2,fma");

#[cfg(target_arch = "x86_64")]
kernels!(eight47: fma::Fma<__m512d, 47>, u64, "fma47", 47 bits, |isa| isa == Isa::Avx512, "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma");
#[cfg(target_arch = "x86_64")]
kernels!(eight50: fma::Fma<__m512d, 50>, u64, "fma50", 50 bits, |isa| isa == Isa::Avx512, "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma");
#[cfg(target_arch = "x86_64")]
kernels!(four47: fma::Fma<__m256d, 47>, u64, "fma47", 47 bits, |isa| isa >= Isa::Avx2, "avx2,fma");
#[cfg(target_arch = "x86_64")]
kernels!(four50: fma::Fma<__m256d, 50>, u64, "fma50", 50 bits, |isa| isa >= Isa::Avx2, "avx2,fma");

#[cfg(target_arch = "x86_64")]
kernels!(eight61: harvey::Harvey<__m512i, 61>, u64, "shoup61", 61 bits, |isa| isa == Isa::Avx512, "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma");
#[cfg(target_arch = "x86_64")]
kernels!(eight62: harvey::Harvey<__m512i, 62>, u64, "shoup62", 62 bits, |isa| isa == Isa::Avx512, "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma");
#[cfg(target_arch = "x86_64")]
kernels!(four61: harvey::Harvey<__m256i, 61>, u64, "shoup61", 61 bits, |isa| isa >= Isa::Avx2, "avx2,fma");
#[cfg(target_arch = "x86_64")]
kernels!(four62: harvey::Harvey<__m256i, 62>, u64, "shoup62", 62 bits, |isa| isa >= Isa::Avx2, "avx2,fma");

/// Every strategy on 64-bit words, the fastest first.
static KERNELS_64: &[&Kernels<u64>] = &[
    #[cfg(target_arch = "x86_64")]
    &ifma46::KERNELS,
    #[cfg(target_arch = "x86_64")]
    &ifma50::KERNELS,
    #[cfg(target_arch = "x86_64")]
    &eight47::KERNELS,
    #[cfg(target_arch = "x86_64")]
    &eight50::KERNELS,
    #[cfg(target_arch = "x86_64")]
    &eight61::KERNELS,
    #[cfg(target_arch = "x86_64")]
    &eight62::KERNELS,
    #[cfg(target_arch = "x86_64")]
    &four47::KERNELS,
    #[cfg(target_arch = "x86_64")]
    &four50::KERNELS,
    #[cfg(target_arch = "x86_64")]
    &four61::KERNELS,
    #[cfg(target_arch = "x86_64")]
    &four62::KERNELS,
    &scalar::KERNELS,
];

/// The negacyclic NTT modulo a prime p with 2N | p − 1 on the CPU.
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::ntt::{NttEngine, PrimeNtt};
///
/// let engine: PrimeNtt = PrimeNtt::new(256, 7681, Isa::current())?;
/// let mut values: Vec<u64> = (0..256).collect();
/// engine.forward_in_place(&mut values);
/// engine.inverse_in_place(&mut values);
/// assert!(values.iter().copied().eq(0..256));
/// # Ok::<(), ciphermill_math::ntt::NttError>(())
/// ```
#[derive(Debug)]
pub struct PrimeNtt<W: NttWord = u64> {
    isa: Isa,
    kernels: &'static Kernels<W>,
    tables: Tables<W>,
}

impl PrimeNtt<u64> {
    /// The least N.
    pub const MIN_POLYNOMIAL_SIZE: usize = 1 << 4;

    /// The greatest N.
    pub const MAX_POLYNOMIAL_SIZE: usize = 1 << 17;

    /// Prepares the tables, about 4.5N words, for the fastest strategy that `isa` offers for p and N.
    ///
    /// # Errors
    /// If `modulus` is not an odd prime below 2^62, if `polynomial_size` is not a power of two from 2^4 to 2^17, if 2N
    /// does not divide p − 1, or if the CPU lacks `isa`.
    pub fn new(polynomial_size: usize, modulus: u64, isa: Isa) -> Result<Self, NttError> {
        let (min, max) = (Self::MIN_POLYNOMIAL_SIZE, Self::MAX_POLYNOMIAL_SIZE);
        if !polynomial_size.is_power_of_two() || !(min..=max).contains(&polynomial_size) {
            return Err(NttError::PolynomialSize { given: polynomial_size, min, max });
        }
        Self::with_kernels(KERNELS_64, polynomial_size, Modulus::new(modulus)?, isa)
    }
}

impl<W: NttWord> PrimeNtt<W> {
    /// The first of `offered` that `isa`, p and N allow. The last one must allow every case that the caller accepts.
    pub(crate) fn with_kernels(
        offered: &[&'static Kernels<W>],
        polynomial_size: usize,
        modulus: Modulus,
        isa: Isa,
    ) -> Result<Self, NttError> {
        if !isa.is_available() {
            return Err(NttError::Isa { asked: isa, best: Isa::best() });
        }
        let suits = |k: &&&'static Kernels<W>| {
            (k.offered)(isa) && modulus.bits() <= k.bits && polynomial_size >= k.min_polynomial_size
        };
        let kernels = *offered.iter().find(suits).expect("the last strategy accepts every case of the caller");
        Ok(PrimeNtt { isa, kernels, tables: (kernels.tables)(modulus, polynomial_size)? })
    }
}

impl<W: NttWord> NttEngine<W> for PrimeNtt<W> {
    fn polynomial_size(&self) -> usize {
        self.tables.polynomial_size
    }

    fn modulus(&self) -> u64 {
        self.tables.modulus.value()
    }

    fn info(&self) -> EngineInfo {
        EngineInfo::new(self.kernels.strategy, EngineKind::Cpu(self.isa))
    }

    fn exponent(&self, position: usize) -> usize {
        let n = self.polynomial_size();
        assert!(position < n, "place {position} of {n}");
        let lanes = self.kernels.lanes;
        let (square, row, column) = (position / (lanes * lanes), position / lanes % lanes, position % lanes);
        let index = (square * lanes + column) * lanes + row;
        2 * reference::bit_reverse(index, n.trailing_zeros()) + 1
    }

    fn forward(&self, source: &dyn CoefficientSource<W>, spectrum: &mut [W]) {
        assert_eq!(source.len(), self.polynomial_size(), "length of the source");
        assert_eq!(spectrum.len(), self.polynomial_size(), "length of the spectrum");
        // SAFETY: `with_kernels` checked the CPU and made the tables for these kernels; the lengths are checked above.
        unsafe { (self.kernels.forward)(&self.tables, Some(source), spectrum) }
    }

    fn forward_in_place(&self, values: &mut [W]) {
        assert_eq!(values.len(), self.polynomial_size(), "length of the polynomial");
        // SAFETY: as for `forward`.
        unsafe { (self.kernels.forward)(&self.tables, None, values) }
    }

    fn multiply(&self, lhs: &mut [W], rhs: &[W]) {
        assert_eq!(lhs.len(), self.polynomial_size(), "length of the left factor");
        assert_eq!(rhs.len(), self.polynomial_size(), "length of the right factor");
        // SAFETY: as for `forward`.
        unsafe { (self.kernels.multiply)(&self.tables, lhs, rhs) }
    }

    fn multiply_accumulate(&self, acc: &mut [W], lhs: &[W], rhs: &[W]) {
        let n = self.polynomial_size();
        assert_eq!(acc.len(), n, "length of the accumulator");
        assert_eq!(lhs.len(), rhs.len(), "lengths of the factors");
        assert!(lhs.len().is_multiple_of(n), "factors of {} words are not whole spectra of {n}", lhs.len());
        // SAFETY: as for `forward`.
        unsafe { (self.kernels.multiply_accumulate)(&self.tables, acc, lhs, rhs) }
    }

    fn inverse(&self, spectrum: &mut [W], coefficients: &mut [W]) {
        assert_eq!(spectrum.len(), self.polynomial_size(), "length of the spectrum");
        assert_eq!(coefficients.len(), self.polynomial_size(), "length of the polynomial");
        // SAFETY: as for `forward`.
        unsafe { (self.kernels.inverse)(&self.tables, spectrum.as_mut_ptr(), coefficients.as_mut_ptr()) }
    }

    fn inverse_in_place(&self, values: &mut [W]) {
        assert_eq!(values.len(), self.polynomial_size(), "length of the spectrum");
        let values = values.as_mut_ptr();
        // SAFETY: as for `forward`.
        unsafe { (self.kernels.inverse)(&self.tables, values, values) }
    }
}
