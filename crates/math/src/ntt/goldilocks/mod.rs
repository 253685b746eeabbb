//! The negacyclic transform over the Goldilocks prime p = 2^64 − 2^32 + 1 on the CPU.
//!
//! There are two kernels. [`kernels`] computes with 64-bit words and is generic over the vector type (one, four or
//! eight lanes). The modulus leaves no headroom, so each sum needs a correction. [`ifma`] computes with pairs of signed
//! words, which need no correction, on CPUs with AVX-512 IFMA. Its first levels at large N are those of [`kernels`].
//!
//! Both follow one contract. Coefficients in and out are canonical. A spectrum may hold any 64-bit words, which
//! represent their residues; the words that a transform writes depend on the path. Sums of
//! [`NttEngine::multiply_accumulate`] and products of [`NttEngine::multiply`] are canonical.

use super::{NttEngine, NttError, reference};
use crate::goldilocks::MODULUS;
use crate::{CoefficientSource, EngineInfo, EngineKind, Isa};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod kernels;
mod lanes;
mod portable;
mod sources;
mod tables;
#[cfg(test)]
mod tests;

use tables::Tables;

/// Compiles the kernels for one vector type and set of CPU features.
macro_rules! entry_points {
    ($module:ident, $lanes:ty $(, $features:literal)?) => {
        mod $module {
            use super::{CoefficientSource, Tables, kernels};

            /// See [`kernels::forward`].
            ///
            /// # Safety
            /// The contract of [`kernels::forward`].
            $(#[target_feature(enable = $features)])?
            pub(super) unsafe fn forward(
                tables: &Tables,
                source: Option<&dyn CoefficientSource<u64>>,
                out: *mut u64,
            ) {
                // SAFETY: the caller's contract.
                unsafe { kernels::forward::<$lanes>(tables, source, out) }
            }

            /// See [`kernels::inverse`].
            ///
            /// # Safety
            /// The contract of [`kernels::inverse`].
            $(#[target_feature(enable = $features)])?
            pub(super) unsafe fn inverse(tables: &Tables, spectrum: *mut u64, coefficients: *mut u64) {
                // SAFETY: the caller's contract.
                unsafe { kernels::inverse::<$lanes>(tables, spectrum, coefficients) }
            }

            /// See [`kernels::multiply`].
            ///
            /// # Safety
            /// The contract of [`kernels::multiply`].
            $(#[target_feature(enable = $features)])?
            pub(super) unsafe fn multiply(lhs: &mut [u64], rhs: &[u64]) {
                // SAFETY: the caller's contract.
                unsafe { kernels::multiply::<$lanes>(lhs, rhs) }
            }

            /// See [`kernels::multiply_accumulate`].
            ///
            /// # Safety
            /// The contract of [`kernels::multiply_accumulate`].
            $(#[target_feature(enable = $features)])?
            pub(super) unsafe fn multiply_accumulate(acc: &mut [u64], lhs: &[u64], rhs: &[u64]) {
                // SAFETY: the caller's contract.
                unsafe { kernels::multiply_accumulate::<$lanes>(acc, lhs, rhs) }
            }
        }
    };
}

entry_points!(scalar, u64);
#[cfg(target_arch = "x86_64")]
entry_points!(four_lanes, super::avx2::Avx2, "avx2,fma");
#[cfg(target_arch = "x86_64")]
entry_points!(eight_lanes, super::avx512::Avx512, "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma");

/// The kernels of one engine, with their tables. Only [`GoldilocksNtt::with_kernels`] makes one, after checking the
/// CPU.
#[derive(Debug)]
enum Kernels {
    Scalar(Tables),
    #[cfg(target_arch = "x86_64")]
    FourLanes(Tables),
    #[cfg(target_arch = "x86_64")]
    EightLanes(Tables),
    #[cfg(target_arch = "x86_64")]
    Ifma(ifma::Tables),
}

impl Kernels {
    fn lanes(&self) -> usize {
        match self {
            Kernels::Scalar(_) => 1,
            #[cfg(target_arch = "x86_64")]
            Kernels::FourLanes(_) => 4,
            #[cfg(target_arch = "x86_64")]
            Kernels::EightLanes(_) | Kernels::Ifma(_) => 8,
        }
    }
}

/// The negacyclic NTT modulo p = 2^64 − 2^32 + 1 on the CPU, for N = 2^4 … 2^17.
///
/// A pass over the data has three or two levels; the passes run depth first. A pass multiplies each block's parts by
/// powers of its root. It continues with a cyclic transform of 8 or 4 points, whose roots are powers of two, because 2
/// has order 192. The twiddle factors of the first five levels are also powers of two. The last log2(LANES) levels work
/// on transposed tiles, which stay transposed, so the order of a spectrum depends on the path.
///
/// It suits products that must be exact; a floating-point transform is approximate. It is always faster than the
/// [reference](mod@reference).
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::ntt::{GoldilocksNtt, NttEngine};
///
/// let engine = GoldilocksNtt::new(1024, Isa::current())?;
/// let mut values: Vec<u64> = (0..1024).collect();
/// engine.forward_in_place(&mut values);
/// engine.inverse_in_place(&mut values);
/// assert!(values.iter().copied().eq(0..1024));
/// # Ok::<(), ciphermill_math::ntt::NttError>(())
/// ```
#[derive(Debug)]
pub struct GoldilocksNtt {
    isa: Isa,
    polynomial_size: usize,
    kernels: Kernels,
}

impl GoldilocksNtt {
    /// The least N.
    pub const MIN_POLYNOMIAL_SIZE: usize = 1 << 4;

    /// The greatest N.
    pub const MAX_POLYNOMIAL_SIZE: usize = 1 << 17;

    /// Prepares the tables: fewer than 5N words, half of them for the inverse.
    ///
    /// # Errors
    /// If `polynomial_size` is not a power of two from 2^4 to 2^17, or if the CPU lacks `isa`.
    pub fn new(polynomial_size: usize, isa: Isa) -> Result<Self, NttError> {
        Self::with_kernels(polynomial_size, isa, isa.has_ifma())
    }

    /// As [`new`](Self::new), with or without IFMA. Without it, the kernels are those of CPUs that have only AVX-512.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    fn with_kernels(polynomial_size: usize, isa: Isa, use_ifma: bool) -> Result<Self, NttError> {
        let (min, max) = (Self::MIN_POLYNOMIAL_SIZE, Self::MAX_POLYNOMIAL_SIZE);
        if !polynomial_size.is_power_of_two() || !(min..=max).contains(&polynomial_size) {
            return Err(NttError::PolynomialSize { given: polynomial_size, min, max });
        }
        if !isa.is_available() {
            return Err(NttError::Isa { asked: isa, best: Isa::best() });
        }
        let tables = |lanes| Tables::new(polynomial_size, lanes);
        let kernels = match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Kernels::FourLanes(tables(4)),
            // Below 64 words a tile of 8 × 8 does not fit. A tile of 4 × 4 does, and AVX-512 here implies AVX2.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 if polynomial_size < 64 => Kernels::FourLanes(tables(4)),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 if use_ifma && isa.has_ifma() => Kernels::Ifma(ifma::Tables::new(polynomial_size)),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Kernels::EightLanes(tables(8)),
            _ => Kernels::Scalar(tables(1)),
        };
        Ok(GoldilocksNtt { isa, polynomial_size, kernels })
    }

    /// Forward transform, from `source`, or in place without one.
    fn transform(&self, source: Option<&dyn CoefficientSource<u64>>, words: &mut [u64]) {
        if let Some(source) = source {
            assert_eq!(source.len(), self.polynomial_size, "length of the source");
        }
        assert_eq!(words.len(), self.polynomial_size, "length of the spectrum");
        let out = words.as_mut_ptr();
        // SAFETY: `with_kernels` checked the CPU and made the tables for these kernels; the lengths are checked above.
        unsafe {
            match &self.kernels {
                Kernels::Scalar(tables) => scalar::forward(tables, source, out),
                #[cfg(target_arch = "x86_64")]
                Kernels::FourLanes(tables) => four_lanes::forward(tables, source, out),
                #[cfg(target_arch = "x86_64")]
                Kernels::EightLanes(tables) => eight_lanes::forward(tables, source, out),
                #[cfg(target_arch = "x86_64")]
                Kernels::Ifma(tables) => ifma::forward(tables, source, out),
            }
        }
    }

    /// Inverse transform.
    ///
    /// # Safety
    /// Both pointers refer to N writable words, the same or disjoint.
    unsafe fn transform_back(&self, spectrum: *mut u64, coefficients: *mut u64) {
        // SAFETY: as in `transform`; the caller vouches for the words.
        unsafe {
            match &self.kernels {
                Kernels::Scalar(tables) => scalar::inverse(tables, spectrum, coefficients),
                #[cfg(target_arch = "x86_64")]
                Kernels::FourLanes(tables) => four_lanes::inverse(tables, spectrum, coefficients),
                #[cfg(target_arch = "x86_64")]
                Kernels::EightLanes(tables) => eight_lanes::inverse(tables, spectrum, coefficients),
                #[cfg(target_arch = "x86_64")]
                Kernels::Ifma(tables) => ifma::inverse(tables, spectrum, coefficients),
            }
        }
    }
}

impl NttEngine for GoldilocksNtt {
    fn polynomial_size(&self) -> usize {
        self.polynomial_size
    }

    fn modulus(&self) -> u64 {
        MODULUS
    }

    fn info(&self) -> EngineInfo {
        EngineInfo::new("goldilocks", EngineKind::Cpu(self.isa))
    }

    fn exponent(&self, position: usize) -> usize {
        let n = self.polynomial_size;
        assert!(position < n, "place {position} of {n}");
        let lanes = self.kernels.lanes();
        let (tile, row, column) = (position / (lanes * lanes), position / lanes % lanes, position % lanes);
        let index = (tile * lanes + column) * lanes + row;
        2 * reference::bit_reverse(index, n.trailing_zeros()) + 1
    }

    fn forward(&self, source: &dyn CoefficientSource<u64>, spectrum: &mut [u64]) {
        self.transform(Some(source), spectrum);
    }

    fn forward_in_place(&self, values: &mut [u64]) {
        self.transform(None, values);
    }

    fn multiply(&self, lhs: &mut [u64], rhs: &[u64]) {
        assert_eq!(lhs.len(), self.polynomial_size, "length of the left factor");
        assert_eq!(rhs.len(), self.polynomial_size, "length of the right factor");
        // SAFETY: `with_kernels` checked the CPU; the lengths are checked above.
        unsafe {
            match &self.kernels {
                Kernels::Scalar(_) => scalar::multiply(lhs, rhs),
                #[cfg(target_arch = "x86_64")]
                Kernels::FourLanes(_) => four_lanes::multiply(lhs, rhs),
                #[cfg(target_arch = "x86_64")]
                Kernels::EightLanes(_) | Kernels::Ifma(_) => eight_lanes::multiply(lhs, rhs),
            }
        }
    }

    fn multiply_accumulate(&self, acc: &mut [u64], lhs: &[u64], rhs: &[u64]) {
        let n = self.polynomial_size;
        assert_eq!(acc.len(), n, "length of the accumulator");
        assert_eq!(lhs.len(), rhs.len(), "lengths of the factors");
        assert!(lhs.len().is_multiple_of(n), "factors of {} words are not whole spectra of {n}", lhs.len());
        // SAFETY: `with_kernels` checked the CPU, N is a multiple of the width, the lengths are checked above.
        unsafe {
            match &self.kernels {
                Kernels::Scalar(_) => scalar::multiply_accumulate(acc, lhs, rhs),
                #[cfg(target_arch = "x86_64")]
                Kernels::FourLanes(_) => four_lanes::multiply_accumulate(acc, lhs, rhs),
                #[cfg(target_arch = "x86_64")]
                Kernels::EightLanes(_) => eight_lanes::multiply_accumulate(acc, lhs, rhs),
                #[cfg(target_arch = "x86_64")]
                Kernels::Ifma(_) => {
                    let rows = lhs.len() / n;
                    ifma::multiply_accumulate(n, rows, [acc.as_mut_ptr()], lhs.as_ptr(), [rhs.as_ptr()])
                }
            }
        }
    }

    fn forward_multiply_accumulate(
        &self,
        sources: &[&dyn CoefficientSource<u64>],
        columns: &[&[u64]],
        accs: &mut [u64],
        scratch: &mut [u64],
    ) {
        let n = self.polynomial_size;
        let words = sources.len() * n;
        assert_eq!(accs.len(), columns.len() * n, "length of the accumulators");
        assert!(columns.iter().all(|column| column.len() == words), "lengths of the columns");
        let lhs = &mut scratch[..words];
        #[cfg(target_arch = "x86_64")]
        if let (Kernels::Ifma(tables), [first, second]) = (&self.kernels, columns) {
            assert!(sources.iter().all(|source| source.len() == n), "length of a source");
            let (acc_first, acc_second) = accs.split_at_mut(n);
            let accs = [acc_first.as_mut_ptr(), acc_second.as_mut_ptr()];
            let columns = [first.as_ptr(), second.as_ptr()];
            // SAFETY: as for `transform` and `multiply_accumulate`.
            unsafe { ifma::forward_multiply_accumulate(tables, sources, columns, accs, lhs.as_mut_ptr()) };
            return;
        }
        self.forward_batch(sources, lhs);
        for (acc, column) in accs.chunks_exact_mut(n).zip(columns) {
            self.multiply_accumulate(acc, lhs, column);
        }
    }

    fn inverse(&self, spectrum: &mut [u64], coefficients: &mut [u64]) {
        assert_eq!(spectrum.len(), self.polynomial_size, "length of the spectrum");
        assert_eq!(coefficients.len(), self.polynomial_size, "length of the polynomial");
        // SAFETY: both have N words, checked above, and are borrowed exclusively.
        unsafe { self.transform_back(spectrum.as_mut_ptr(), coefficients.as_mut_ptr()) }
    }

    fn inverse_in_place(&self, values: &mut [u64]) {
        assert_eq!(values.len(), self.polynomial_size, "length of the spectrum");
        let values = values.as_mut_ptr();
        // SAFETY: N words, checked above, borrowed exclusively.
        unsafe { self.transform_back(values, values) }
    }
}
