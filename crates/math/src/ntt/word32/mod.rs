//! The negacyclic transform over primes below 2^31, in 32-bit words.
//!
//! The algorithms are those of [`reference`](super::reference). Forward, Cooley–Tukey butterflies (x + w·y, x − w·y)
//! work from blocks of N words downwards. Back, Gentleman–Sande butterflies (x + y, (x − y)·w) work in the opposite
//! order. A pass has two or three levels in registers. The last log2(LANES) levels work on tiles of LANES × LANES
//! words, which are transposed and stay transposed, so each kernel has its own order of a spectrum. Blocks of 4096
//! values and their factors are finished while they are in the L1 cache. The last inverse level includes 1/N.
//!
//! # With AVX-512 IFMA: eight 64-bit lanes
//!
//! Sixteen 32-bit products take four multiplications for even and odd lanes, and as many more with shuffles to reduce
//! them: ten instructions. Words have one or two spare bits, so every level also reduces, with five to seven more. A
//! 52-bit multiply-add has half as many lanes but leaves 21 spare bits. With w'' = ⌊w·2^52/p⌋, q = ⌊y·w''/2^52⌋ and T =
//! y·w − q·p (three multiply-adds), T is in [0, p·(1 + y/2^52)), and no other value is reduced: ten instructions for
//! sixteen butterflies. Only the lower 52 bits of a lane are significant, modulo 2^52; multiply-adds ignore the others.
//! Every multiplicand must satisfy 0 ≤ y < 2^51; then T < 2p.
//!
//! *Forward.*
//!
//! * Inputs of a pass are at least 8p. (6p suffice: three levels subtract at most 2p each before the last use as y.)
//! * All outputs are input 0 plus and minus products. So 8p more on input 0 keep the outputs at 8p and more.
//! * The inputs of the first pass are canonical. It adds 16p to input 0 and 8p to every other minuend.
//! * Every later pass raises the bound by at most 14p: values stay below 128p < 2^38.
//! * The last level reduces both x and y, and continues in 32-bit lanes, where 2p fits.
//!
//! *Inverse.* Inputs are below B·p, and sums only grow. So minuends are raised until no difference is negative.
//!
//! * A pass of eight points raises x0 by 8B·p, x2 by B·p, x4 by 3B·p, and x6 by B·p.
//! * Then x0 + x1 is in [8B, 10B)·p, x2 + x3 in [B, 3B)·p, x4 + x5 in [3B, 5B)·p, and x6 + x7 below 3B·p.
//! * The sum of the first four is in [9B, 13B)·p, that of the last four below 8B·p, and that of all below 21B·p.
//! * The addend of its multiply-add raises a product. It is 8p if a sum of two products (below 6p) is subtracted from
//!   it, and 2p if one product (below 2p) is. So outputs that are products or sums of products are below 18p.
//! * With four points x0 is raised by 3B·p, and all values stay below the bounds above.
//! * Passes start from canonical words and B = 1. If another pass would exceed 2^20·p < 2^51, the sum is reduced, and B
//!   is 18 again.
//!
//! **Floor for N = 4096.** 3072 vectors of butterflies with five instructions, 1536 shuffles of tiles, 512 conversions,
//! 1536 instructions of the last reduction, and some 450 additions against negative values are 19 400 instructions. On
//! two ports they take 9 700 cycles, 2.72 µs at 3.57 GHz, in either direction. Measured on a Granite-Rapids-class core:
//! 2.87 µs forward, 2.93 µs back, 95 % and 93 %.
//!
//! Tile factors of all blocks would be 14 bytes per value. From N = 2^15 up the tables hold three of seven factors. The
//! factors of neighbouring blocks differ by roots of order 4 and 8, so five more products per tile replace the other
//! four factors. At N = 2^16 that saves an eighth of the time; below 2^15 it would add 6 %.
//!
//! # Otherwise: eight or sixteen 32-bit lanes, or one
//!
//! Products are those of `montgomery`, in (−p, p) for any word y.
//!
//! * Canonical kernels (p < 2^31): x, in `[0, 2p)`, and the product are brought into `[0, p)`; sums and differences are
//!   again in `[0, 2p)`.
//! * Lazy kernels (p < 2^30): values are in `[0, 4p)`; x is brought into `[0, 2p)`, and x + p ± T is in (0, 4p).
//! * The inverse and the portable kernel keep canonical values.
//!
//! Eight (sixteen) butterflies take 17 instructions canonical, or 15 lazy, on three (two) ports. On AVX2 for N = 4096
//! these are 17 400 and 15 400 cycles, 4.9 and 4.3 µs. Measured: 7.1 and 6.6 µs, back 6.4 µs: 70 % and 65 %. Six of the
//! instructions are multiplications, and the tile factors must be split into even and odd lanes.

#[cfg(target_arch = "x86_64")]
use std::cell::RefCell;

use super::{NttEngine, NttError, reference};
use crate::modulus::Modulus;
use crate::{BalancedDigit, CoefficientSource, EngineInfo, EngineKind, Isa, SourceView};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod kernels;
mod lanes;
mod montgomery;
#[cfg(target_arch = "x86_64")]
mod packed;
pub(crate) mod pointwise;
mod portable;
mod tables;
#[cfg(test)]
mod tests;

use lanes::Lanes;
pub(crate) use montgomery::Reduction;
#[cfg(target_arch = "x86_64")]
use tables::Aligned;
use tables::Tables;

/// Compiles the kernels for one vector type and set of CPU features.
macro_rules! entry_points {
    ($module:ident, $lanes:ty, $cell:ty $(, $features:literal)?) => {
        mod $module {
            use super::{Tables, kernels};

            /// See [`kernels::forward`].
            ///
            /// # Safety
            /// The contract of [`kernels::forward`].
            $(#[target_feature(enable = $features)])?
            pub(super) unsafe fn forward(tables: &Tables<$cell>, from: *const u32, data: *mut $cell, out: *mut u32) {
                // SAFETY: the caller's contract.
                unsafe { kernels::forward::<$lanes>(tables, from, data, out) }
            }

            /// See [`kernels::inverse`].
            ///
            /// # Safety
            /// The contract of [`kernels::inverse`].
            $(#[target_feature(enable = $features)])?
            pub(super) unsafe fn inverse(tables: &Tables<$cell>, from: *const u32, data: *mut $cell, out: *mut u32) {
                // SAFETY: the caller's contract.
                unsafe { kernels::inverse::<$lanes>(tables, from, data, out) }
            }
        }
    };
}

entry_points!(one_lane, super::portable::Portable, u32);
#[cfg(target_arch = "x86_64")]
entry_points!(eight, super::packed::Packed<super::avx2::Avx2, false>, u32, "avx2,fma");
#[cfg(target_arch = "x86_64")]
entry_points!(eight_lazy, super::packed::Packed<super::avx2::Avx2, true>, u32, "avx2,fma");
#[cfg(target_arch = "x86_64")]
entry_points!(
    sixteen,
    super::packed::Packed<super::avx512::Avx512, false>,
    u32,
    "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"
);
#[cfg(target_arch = "x86_64")]
entry_points!(
    sixteen_lazy,
    super::packed::Packed<super::avx512::Avx512, true>,
    u32,
    "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"
);
#[cfg(target_arch = "x86_64")]
entry_points!(wide, super::ifma::Ifma<false>, u64, "avx512ifma,avx512f,avx512dq,avx512vl,avx512bw,avx2,fma");
#[cfg(target_arch = "x86_64")]
entry_points!(wide_short, super::ifma::Ifma<true>, u64, "avx512ifma,avx512f,avx512dq,avx512vl,avx512bw,avx2,fma");

/// The kernel in use with its tables. Only [`Prime32Ntt`]'s constructor makes one, after checking the CPU.
#[derive(Debug)]
enum Kernel {
    OneLane(Tables<u32>),
    #[cfg(target_arch = "x86_64")]
    Eight(Tables<u32>),
    #[cfg(target_arch = "x86_64")]
    EightLazy(Tables<u32>),
    #[cfg(target_arch = "x86_64")]
    Sixteen(Tables<u32>),
    #[cfg(target_arch = "x86_64")]
    SixteenLazy(Tables<u32>),
    #[cfg(target_arch = "x86_64")]
    Wide(Tables<u64>),
    #[cfg(target_arch = "x86_64")]
    WideShort(Tables<u64>),
}

/// The N from which short tables are faster (measured): data, cells and full tables would exceed the L2 cache.
#[cfg(target_arch = "x86_64")]
const SHORT_FROM: usize = 1 << 15;

#[cfg(target_arch = "x86_64")]
thread_local! {
    /// The values of [`Kernel::Wide`] between passes.
    static CELLS: RefCell<(usize, Aligned<u64>)> = RefCell::new((0, Aligned::new(&[])));
}

/// Calls `f` with `count` cells of this thread. Their content is arbitrary.
#[cfg(target_arch = "x86_64")]
fn with_cells(count: usize, f: impl FnOnce(*mut u64)) {
    CELLS.with_borrow_mut(|(capacity, cells)| {
        if *capacity < count {
            (*capacity, *cells) = (count, Aligned::new(&vec![0; count]));
        }
        f(cells.as_mut_ptr());
    });
}

/// The negacyclic NTT modulo a prime below 2^31 on the CPU, for N = 2^8 … 2^17, in 32-bit words. It takes half the
/// memory of [`PrimeNtt`](super::PrimeNtt) and is faster for such primes.
///
/// Spectra are canonical. Sums of products may have any number of terms. After two terms, each below p², the sum is
/// brought below 2p² again, and 2p² + 2(p − 1)² < 4p² < 2^64.
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::ntt::{NttEngine, Prime32Ntt};
///
/// let engine = Prime32Ntt::new(256, 7681, Isa::current())?;
/// let mut values: Vec<u32> = (0..256).collect();
/// engine.forward_in_place(&mut values);
/// engine.inverse_in_place(&mut values);
/// assert!(values.iter().copied().eq(0..256));
/// # Ok::<(), ciphermill_math::ntt::NttError>(())
/// ```
#[derive(Debug)]
pub struct Prime32Ntt {
    isa: Isa,
    modulus: Modulus,
    reduction: Reduction,
    kernel: Kernel,
}

impl Prime32Ntt {
    /// The least N.
    pub const MIN_POLYNOMIAL_SIZE: usize = 1 << 8;

    /// The greatest N.
    pub const MAX_POLYNOMIAL_SIZE: usize = 1 << 17;

    /// The greatest length of p in bits.
    pub const MAX_BITS: u32 = 31;

    /// Prepares the tables: up to 33N bytes for AVX-512 IFMA, 17N or less otherwise.
    ///
    /// # Errors
    /// If `polynomial_size` is not a power of two from 2^8 to 2^17, if `modulus` is not an odd prime below 2^31 with a
    /// root of unity of order 2N, or if the CPU lacks `isa`.
    pub fn new(polynomial_size: usize, modulus: u32, isa: Isa) -> Result<Self, NttError> {
        Prime32Ntt::with_ifma(polynomial_size, modulus, isa, isa.has_ifma())
    }

    /// As [`new`](Self::new), with or without the multiply-add of AVX-512 IFMA, which the CPU must have.
    fn with_ifma(polynomial_size: usize, modulus: u32, isa: Isa, ifma: bool) -> Result<Self, NttError> {
        let (min, max) = (Self::MIN_POLYNOMIAL_SIZE, Self::MAX_POLYNOMIAL_SIZE);
        if !polynomial_size.is_power_of_two() || !(min..=max).contains(&polynomial_size) {
            return Err(NttError::PolynomialSize { given: polynomial_size, min, max });
        }
        if modulus >> Self::MAX_BITS != 0 {
            return Err(NttError::ModulusLength { given: modulus.into(), max_bits: Self::MAX_BITS });
        }
        let modulus = Modulus::new(modulus.into())?;
        if modulus.primitive_root_2n(polynomial_size).is_none() {
            return Err(NttError::NoRoot { modulus: modulus.value(), polynomial_size });
        }
        if !isa.is_available() {
            return Err(NttError::Isa { asked: isa, best: Isa::best() });
        }
        assert!(!ifma || isa.has_ifma());
        // Lazy values need 4p to fit a word.
        #[cfg(target_arch = "x86_64")]
        let lazy = modulus.bits() <= 30;
        let kernel = match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 if lazy => {
                Kernel::EightLazy(Tables::new::<packed::Packed<avx2::Avx2, true>>(modulus, polynomial_size))
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Kernel::Eight(Tables::new::<packed::Packed<avx2::Avx2, false>>(modulus, polynomial_size)),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 if ifma && polynomial_size >= SHORT_FROM => {
                Kernel::WideShort(Tables::new::<ifma::Ifma<true>>(modulus, polynomial_size))
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 if ifma => Kernel::Wide(Tables::new::<ifma::Ifma<false>>(modulus, polynomial_size)),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 if lazy => {
                Kernel::SixteenLazy(Tables::new::<packed::Packed<avx512::Avx512, true>>(modulus, polynomial_size))
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                Kernel::Sixteen(Tables::new::<packed::Packed<avx512::Avx512, false>>(modulus, polynomial_size))
            }
            _ => Kernel::OneLane(Tables::new::<portable::Portable>(modulus, polynomial_size)),
        };
        Ok(Prime32Ntt { isa, modulus, reduction: Reduction::new(modulus), kernel })
    }

    /// Forward transform from N words to N words, which may be the same memory.
    ///
    /// # Safety
    /// The words exist.
    unsafe fn forward_words(&self, from: *const u32, out: *mut u32) {
        // SAFETY: the constructor checked the CPU and made the tables for the kernel; the caller vouches for the words.
        unsafe {
            match &self.kernel {
                Kernel::OneLane(tables) => one_lane::forward(tables, from, out, out),
                #[cfg(target_arch = "x86_64")]
                Kernel::Eight(tables) => eight::forward(tables, from, out, out),
                #[cfg(target_arch = "x86_64")]
                Kernel::EightLazy(tables) => eight_lazy::forward(tables, from, out, out),
                #[cfg(target_arch = "x86_64")]
                Kernel::Sixteen(tables) => sixteen::forward(tables, from, out, out),
                #[cfg(target_arch = "x86_64")]
                Kernel::SixteenLazy(tables) => sixteen_lazy::forward(tables, from, out, out),
                #[cfg(target_arch = "x86_64")]
                Kernel::Wide(tables) => {
                    with_cells(tables.polynomial_size, |cells| wide::forward(tables, from, cells, out));
                }
                #[cfg(target_arch = "x86_64")]
                Kernel::WideShort(tables) => {
                    with_cells(tables.polynomial_size, |cells| wide_short::forward(tables, from, cells, out));
                }
            }
        }
    }

    /// Inverse transform from N words, which are destroyed, to N words, which may be the same memory.
    ///
    /// # Safety
    /// The words exist.
    unsafe fn inverse_words(&self, spectrum: *mut u32, out: *mut u32) {
        // SAFETY: as for `forward_words`.
        unsafe {
            match &self.kernel {
                Kernel::OneLane(tables) => one_lane::inverse(tables, spectrum, spectrum, out),
                #[cfg(target_arch = "x86_64")]
                Kernel::Eight(tables) => eight::inverse(tables, spectrum, spectrum, out),
                #[cfg(target_arch = "x86_64")]
                Kernel::EightLazy(tables) => eight_lazy::inverse(tables, spectrum, spectrum, out),
                #[cfg(target_arch = "x86_64")]
                Kernel::Sixteen(tables) => sixteen::inverse(tables, spectrum, spectrum, out),
                #[cfg(target_arch = "x86_64")]
                Kernel::SixteenLazy(tables) => sixteen_lazy::inverse(tables, spectrum, spectrum, out),
                #[cfg(target_arch = "x86_64")]
                Kernel::Wide(tables) => {
                    with_cells(tables.polynomial_size, |cells| wide::inverse(tables, spectrum, cells, out));
                }
                #[cfg(target_arch = "x86_64")]
                Kernel::WideShort(tables) => {
                    with_cells(tables.polynomial_size, |cells| wide_short::inverse(tables, spectrum, cells, out));
                }
            }
        }
    }

    /// LANES, and the index, before the transposition, of the word in a place of a tile.
    fn tile_index(&self, place: usize) -> (usize, usize) {
        fn of<A: Lanes>(place: usize) -> (usize, usize) {
            (A::LANES, A::tile_index(place % (A::LANES * A::LANES)))
        }
        match &self.kernel {
            Kernel::OneLane(_) => of::<portable::Portable>(place),
            #[cfg(target_arch = "x86_64")]
            Kernel::Eight(_) | Kernel::EightLazy(_) => of::<packed::Packed<avx2::Avx2, true>>(place),
            #[cfg(target_arch = "x86_64")]
            Kernel::Sixteen(_) | Kernel::SixteenLazy(_) => of::<packed::Packed<avx512::Avx512, true>>(place),
            #[cfg(target_arch = "x86_64")]
            Kernel::Wide(_) | Kernel::WideShort(_) => of::<ifma::Ifma<true>>(place),
        }
    }

    fn assert_len(&self, what: &str, len: usize) {
        assert_eq!(len, self.polynomial_size(), "length of the {what}");
    }

    /// Checks that there are N digits, each in [−p, p): from −half to mask − half.
    fn assert_digits(&self, count: usize, digit: BalancedDigit) {
        self.assert_len("source", count);
        let (p, BalancedDigit { mask, half, .. }) = (self.modulus.value(), digit);
        assert!(half <= p && mask < p + half, "digits from −{half} to {mask} − {half} do not fit the modulus {p}");
    }
}

impl NttEngine<u32> for Prime32Ntt {
    fn polynomial_size(&self) -> usize {
        match &self.kernel {
            Kernel::OneLane(tables) => tables.polynomial_size,
            #[cfg(target_arch = "x86_64")]
            Kernel::Eight(tables)
            | Kernel::EightLazy(tables)
            | Kernel::Sixteen(tables)
            | Kernel::SixteenLazy(tables) => tables.polynomial_size,
            #[cfg(target_arch = "x86_64")]
            Kernel::Wide(tables) | Kernel::WideShort(tables) => tables.polynomial_size,
        }
    }

    fn modulus(&self) -> u64 {
        self.modulus.value()
    }

    fn info(&self) -> EngineInfo {
        let strategy = match &self.kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Wide(_) | Kernel::WideShort(_) => "word32-ifma",
            _ => "word32-montgomery",
        };
        EngineInfo::new(strategy, EngineKind::Cpu(self.isa))
    }

    fn exponent(&self, position: usize) -> usize {
        let n = self.polynomial_size();
        assert!(position < n, "place {position} of {n}");
        let (lanes, within) = self.tile_index(position);
        let index = position - position % (lanes * lanes) + within;
        2 * reference::bit_reverse(index, n.trailing_zeros()) + 1
    }

    fn forward(&self, source: &dyn CoefficientSource<u32>, spectrum: &mut [u32]) {
        self.assert_len("source", source.len());
        self.assert_len("spectrum", spectrum.len());
        let p = self.modulus.value() as u32;
        match source.view() {
            SourceView::Slice(words) => {
                self.assert_len("source", words.len());
                // SAFETY: both are N words long.
                return unsafe { self.forward_words(words.as_ptr(), spectrum.as_mut_ptr()) };
            }
            SourceView::Digits(words, digit) => {
                self.assert_digits(words.len(), digit);
                pointwise::digits(self.isa, words, digit, p, spectrum);
            }
            SourceView::Digits32(words, digit) => {
                self.assert_digits(words.len(), digit);
                pointwise::digits_32(self.isa, words, digit, p, spectrum);
            }
            _ => source.read(0, spectrum),
        }
        self.forward_in_place(spectrum);
    }

    fn forward_in_place(&self, values: &mut [u32]) {
        self.assert_len("polynomial", values.len());
        let words = values.as_mut_ptr();
        // SAFETY: N words.
        unsafe { self.forward_words(words, words) }
    }

    fn multiply(&self, lhs: &mut [u32], rhs: &[u32]) {
        self.assert_len("left factor", lhs.len());
        self.assert_len("right factor", rhs.len());
        pointwise::multiply(self.isa, lhs, rhs, self.reduction);
    }

    fn multiply_accumulate(&self, acc: &mut [u32], lhs: &[u32], rhs: &[u32]) {
        let n = self.polynomial_size();
        self.assert_len("accumulator", acc.len());
        assert_eq!(lhs.len(), rhs.len(), "lengths of the factors");
        assert!(lhs.len().is_multiple_of(n), "factors of {} words are not whole spectra of {n}", lhs.len());
        pointwise::multiply_accumulate(self.isa, acc, lhs, rhs, self.reduction);
    }

    fn inverse(&self, spectrum: &mut [u32], coefficients: &mut [u32]) {
        self.assert_len("spectrum", spectrum.len());
        self.assert_len("polynomial", coefficients.len());
        // SAFETY: both are N words long.
        unsafe { self.inverse_words(spectrum.as_mut_ptr(), coefficients.as_mut_ptr()) }
    }

    fn inverse_in_place(&self, values: &mut [u32]) {
        self.assert_len("polynomial", values.len());
        let words = values.as_mut_ptr();
        // SAFETY: N words.
        unsafe { self.inverse_words(words, words) }
    }
}
