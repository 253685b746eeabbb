//! Packed spectra of a transformed key: interleaved in the order of use, as f64 or as 48-bit numbers.
//!
//! A product of a row with a key reads gigabytes once, from memory. Its time depends on the number of bytes and on the
//! order in which they lie. `columns` products at a time share one row of operands, so the packed form of
//! `rows` · `columns` spectra is
//!
//! | bytes | content |
//! | --- | --- |
//! | 64 | the unit u, an f64 of the machine's order, and padding |
//! | per block of L points, row and column, in this order | L real parts, L imaginary parts, in `bytes` each |
//!
//! with L the lanes of the engine's vectors. Like a spectrum, the form is private to the engine that made it.
//!
//! # Error
//!
//! [`PackedWord::Fixed48`] stores round(x/u) + 2^47 with u = peak/(2^47 − 1), where `peak` is the largest part of all
//! these spectra. A part changes by at most u/2. Roundings are uniform, so the root mean square is u/√12. Nothing
//! saturates. Parts must be finite. If all parts are below 2^-975, where u would be subnormal, zeros are stored.
//!
//! The parts of a uniform torus polynomial are nearly Gaussian. The peak of c such parts is about √(2 ln c) standard
//! deviations: 4.9 for ten spectra of N = 16384. The error is then 2^−46.5 of a standard deviation, some fifteen times
//! the error of the transform itself. [`PackedWord::Float64`] keeps every bit.
//!
//! # Cost
//!
//! Each point and row costs, for two columns, 8 fused multiply-adds, and for 48 bits 4 permutations and 4 subtractions.
//! On eight lanes and two ports these are 8 cycles per 8 points and row: 82 000 cycles for 10 rows of N = 16384, 23 µs
//! at 3.57 GHz. The product reads 1.97 MB of key (2.62 MB as f64) and 1.3 MB of operands. From the second-level cache
//! (45 B per cycle) this is as fast as the computation; from memory the key determines the time.
//!
//! Measured on a Xeon (Granite Rapids class, two vector FMA per cycle at 3.57 GHz), 10 rows, two columns:
//!
//! | key | time | rate |
//! | --- | --- | --- |
//! | 1.6 GB in memory, 48 bits | 128 µs | 15.3 GB/s; a loop that only reads has 18.6 |
//! | in memory, f64 | 141 to 156 µs | |
//! | in the third-level cache | 92 µs | 23 to 30 GB/s, the rate of that cache |
//! | in the third-level cache, two operands at a time | 77 µs | as above |

use super::lanes::{Complex, F64Lanes};
use crate::Isa;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

/// The form of a real or imaginary part in packed spectra.
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
/// use ciphermill_math::fft::{FftEngine, PackedWord, TorusFft};
///
/// // 7 times the packed spectrum of X.
/// let engine = TorusFft::new(256, Isa::current())?;
/// let (mut lhs, mut rhs) = (vec![0i64; 256], vec![0i64; 256]);
/// (lhs[0], rhs[1]) = (7, 1);
/// let mut spectra = [vec![0.0; 256], vec![0.0; 256]];
/// engine.forward(&lhs, &mut spectra[0]);
/// engine.forward(&rhs, &mut spectra[1]);
/// let word = PackedWord::Fixed48;
/// let mut packed = vec![0; word.packed_len(1, 256)];
/// assert_eq!(packed.len(), 64 + 6 * 256);
/// engine.pack(word, &spectra[1], &mut packed);
/// let (mut sum, mut out) = (vec![0.0; 256], vec![0; 256]);
/// engine.multiply_packed(word, &mut [&mut sum], &[&spectra[0]], &packed, false);
/// engine.inverse_add_u64(&mut sum, &mut out);
/// assert_eq!(out[..3], [0, 7, 0]);
/// # Ok::<(), ciphermill_math::fft::FftError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PackedWord {
    /// 48-bit fixed point relative to the largest part: an error of at most 1/(2^48 − 2) of that part.
    Fixed48,
    /// The f64 itself.
    Float64,
}

/// Bytes before the first block: one cache line, so blocks keep their alignment.
const HEADER: usize = 64;

impl PackedWord {
    /// Bytes of a part.
    pub const fn bytes(self) -> usize {
        match self {
            PackedWord::Fixed48 => 6,
            PackedWord::Float64 => 8,
        }
    }

    /// Bytes of `spectra` packed spectra of `polynomial_size` words each, a multiple of 64 from 128 words on.
    pub const fn packed_len(self, spectra: usize, polynomial_size: usize) -> usize {
        HEADER + spectra * polynomial_size * self.bytes()
    }
}

/// 2^52 + 2^47. A 48-bit number in the low bits of this value's pattern makes the number less 2^47.
const OFFSET: f64 = 4_644_337_115_725_824.0;

/// The pattern of 2^52, which leaves 48 bits below its exponent.
const EXPONENT: u64 = 0x4330 << 48;

/// The least peak whose unit is a normal number with a finite reciprocal: about 2^-975.
const LEAST_PEAK: f64 = f64::MIN_POSITIVE * LARGEST;

/// The largest magnitude of a 48-bit part.
const LARGEST: f64 = 140_737_488_355_327.0;

/// Lanes that read and write packed parts.
///
/// # Safety
/// As [`F64Lanes`].
unsafe trait PackedLanes: F64Lanes {
    /// Reads `LANES` parts of 48 bits, in units.
    ///
    /// # Safety
    /// The CPU offers the type's instruction set; `from` is readable for 6 · `LANES` bytes.
    unsafe fn load_48(from: *const u8) -> Self;

    /// Writes the low 48 bits of the patterns.
    ///
    /// # Safety
    /// `to` is writable for 6 · `LANES` bytes.
    unsafe fn store_48(self, to: *mut u8);
}

/// Reads `LANES` parts of `BYTES` bytes.
///
/// # Safety
/// As [`PackedLanes::load_48`], for `BYTES` · `LANES` bytes.
#[inline(always)]
unsafe fn load<L: PackedLanes, const BYTES: usize>(from: *const u8) -> L {
    // SAFETY: the caller's contract; unaligned reads are allowed.
    unsafe { if BYTES == 6 { L::load_48(from) } else { L::load(from.cast()) } }
}

/// Packs `spectra` of `words` words each after the header, times `inverse` = 1/u.
type Pack = unsafe fn(PackedWord, words: usize, spectra: &[f64], inverse: f64, packed: &mut [u8]);

/// Sums = (sums +) u · Σ_r lhs_r ∘ packed_(r,c), for each operand. The lengths match: `words`, rows and columns.
type Multiply =
    unsafe fn(PackedWord, words: usize, sums: &mut [&mut [f64]], lhs: &[&[f64]], packed: &[u8], accumulate: bool);

/// The kernels of one vector type. Each requires a CPU that offers its instruction set, and spectra of a multiple of
/// 2 · LANES words.
struct PackedKernels {
    pack: Pack,
    multiply: Multiply,
}

/// Compiles the kernels for one vector type in a separate module and lists them in `KERNELS`.
macro_rules! entry_points {
    ($needs:literal, $lanes:ty, $name:ident $(, $features:literal)?) => {
        pub(super) mod $name {
            use crate::fft::packed::{self, PackedKernels, PackedWord};

            pub(in crate::fft::packed) const KERNELS: PackedKernels = PackedKernels { pack, multiply };

            #[doc = concat!("# Safety\n", $needs)]
            $(#[target_feature(enable = $features)])?
            unsafe fn pack(word: PackedWord, words: usize, spectra: &[f64], inverse: f64, packed: &mut [u8]) {
                // SAFETY: the caller's contract.
                unsafe { packed::pack::<$lanes>(word, words, spectra, inverse, packed) }
            }

            #[doc = concat!("# Safety\n", $needs)]
            $(#[target_feature(enable = $features)])?
            unsafe fn multiply(
                word: PackedWord,
                words: usize,
                sums: &mut [&mut [f64]],
                lhs: &[&[f64]],
                packed: &[u8],
                accumulate: bool,
            ) {
                // SAFETY: the caller's contract.
                unsafe { packed::multiply::<$lanes>(word, words, sums, lhs, packed, accumulate) }
            }
        }
    };
}
use entry_points;

/// The kernels of an instruction set and a number of lanes.
fn kernels(isa: Isa, lanes: usize) -> &'static PackedKernels {
    match (isa, lanes) {
        (_, 1) => &portable::scalar::KERNELS,
        #[cfg(target_arch = "x86_64")]
        (Isa::Avx512, 8) => &avx512::vector::KERNELS,
        #[cfg(target_arch = "x86_64")]
        (Isa::Avx2 | Isa::Avx512, _) => &avx2::vector::KERNELS,
        _ => &portable::vector::KERNELS,
    }
}

/// [`FftEngine::pack`](super::FftEngine::pack) for an engine whose spectra have `words` words, in groups of `lanes`
/// real and `lanes` imaginary parts. This CPU must offer its `isa`.
pub(super) fn pack_spectra(isa: Isa, words: usize, lanes: usize, word: PackedWord, spectra: &[f64], packed: &mut [u8]) {
    assert_eq!(spectra.len() % words, 0, "whole spectra of {words} words");
    assert_eq!(packed.len(), word.packed_len(spectra.len() / words, words), "bytes of the packed spectra");
    let peak = match word {
        PackedWord::Fixed48 => Some(peak(isa, spectra)).filter(|&peak| peak >= LEAST_PEAK).unwrap_or(0.0),
        PackedWord::Float64 => LARGEST,
    };
    let inverse = if peak > 0.0 { LARGEST / peak } else { 0.0 };
    packed[..HEADER].fill(0);
    packed[..8].copy_from_slice(&(peak / LARGEST).to_ne_bytes());
    // SAFETY: the engine was made for an instruction set that this CPU offers; words are a multiple of 2 · `lanes`, and
    // the lengths are checked.
    unsafe { (kernels(isa, lanes).pack)(word, words, spectra, inverse, packed) }
}

/// [`FftEngine::multiply_packed`](super::FftEngine::multiply_packed), with the conditions of [`pack_spectra`].
#[expect(clippy::too_many_arguments, reason = "the method's arguments and three properties of the engine")]
pub(super) fn multiply_packed(
    isa: Isa,
    words: usize,
    lanes: usize,
    word: PackedWord,
    sums: &mut [&mut [f64]],
    lhs: &[&[f64]],
    packed: &[u8],
    accumulate: bool,
) {
    assert_eq!(sums.len(), lhs.len(), "sums for each operand");
    let (columns, rows) = (sums.first().map_or(0, |s| s.len() / words), lhs.first().map_or(0, |l| l.len() / words));
    assert!(sums.iter().all(|s| s.len() == columns * words), "whole spectra of {words} words, and as many per operand");
    assert!(lhs.iter().all(|l| l.len() == rows * words), "whole spectra of {words} words, and as many per operand");
    if !lhs.is_empty() {
        assert_eq!(packed.len(), word.packed_len(rows * columns, words), "bytes of the packed spectra");
    }
    // SAFETY: as in `pack_spectra`.
    unsafe { (kernels(isa, lanes).multiply)(word, words, sums, lhs, packed, accumulate) }
}

crate::multiversion! {
    /// The largest magnitude.
    fn peak(isa, parts: &[f64]) -> f64 {
        let mut largest = [0.0f64; 16];
        let (chunks, rest) = parts.as_chunks::<16>();
        for chunk in chunks {
            for (l, x) in largest.iter_mut().zip(chunk) {
                *l = if x.abs() > *l { x.abs() } else { *l };
            }
        }
        largest.iter().chain(rest).fold(0.0, |l, x| if x.abs() > l { x.abs() } else { l })
    }
}

/// # Safety
/// The CPU offers the instruction set of `L`. `words` is a multiple of 2 · `LANES` and divides the length of `spectra`.
/// `packed` has room for them.
#[inline(always)]
unsafe fn pack<L: PackedLanes>(word: PackedWord, words: usize, spectra: &[f64], inverse: f64, packed: &mut [u8]) {
    debug_assert_eq!(packed.len(), HEADER + spectra.len() * word.bytes());
    // SAFETY: `to` passes over the packed bytes once; there are as many as parts.
    unsafe {
        let (inverse, offset) = (L::splat(inverse), L::splat(OFFSET));
        let mut to = packed.as_mut_ptr().add(HEADER);
        for at in (0..words).step_by(2 * L::LANES) {
            for spectrum in (0..spectra.len()).step_by(words) {
                for half in [0, L::LANES] {
                    let x = L::load(spectra.as_ptr().add(spectrum + at + half));
                    match word {
                        PackedWord::Fixed48 => x.mul_add(inverse, offset).store_48(to),
                        PackedWord::Float64 => x.store(to.cast()),
                    }
                    to = to.add(word.bytes() * L::LANES);
                }
            }
        }
    }
}

/// # Safety
/// The CPU offers the instruction set of `L`. `words` is a multiple of 2 · `LANES`. All sums have one length, and all
/// operands have one length; `words` divides both. `packed` holds a spectrum for each spectrum of an operand and each
/// of its sums.
#[inline(always)]
unsafe fn multiply<L: PackedLanes>(
    word: PackedWord,
    words: usize,
    sums: &mut [&mut [f64]],
    lhs: &[&[f64]],
    packed: &[u8],
    accumulate: bool,
) {
    // Two operands at a time need 32 registers.
    let together = if L::LANES == 8 { 2 } else { 1 };
    for (sums, lhs) in sums.chunks_mut(together).zip(lhs.chunks(together)) {
        // SAFETY: the caller's contract.
        unsafe {
            match (sums, lhs) {
                ([s0, s1], &[l0, l1]) => multiply_operands::<L, 2>(word, words, [s0, s1], [l0, l1], packed, accumulate),
                ([s0], &[l0]) => multiply_operands::<L, 1>(word, words, [s0], [l0], packed, accumulate),
                _ => {}
            }
        }
    }
}

/// # Safety
/// As [`multiply`].
#[inline(always)]
unsafe fn multiply_operands<L: PackedLanes, const O: usize>(
    word: PackedWord,
    words: usize,
    sums: [&mut [f64]; O],
    lhs: [&[f64]; O],
    packed: &[u8],
    accumulate: bool,
) {
    // SAFETY: the caller's contract.
    unsafe {
        match (word, accumulate) {
            (PackedWord::Fixed48, false) => multiply_columns::<L, O, 6, false>(words, sums, lhs, packed),
            (PackedWord::Fixed48, true) => multiply_columns::<L, O, 6, true>(words, sums, lhs, packed),
            (PackedWord::Float64, false) => multiply_columns::<L, O, 8, false>(words, sums, lhs, packed),
            (PackedWord::Float64, true) => multiply_columns::<L, O, 8, true>(words, sums, lhs, packed),
        }
    }
}

/// All columns, three or two at a time.
///
/// # Safety
/// As [`multiply`].
#[inline(always)]
unsafe fn multiply_columns<L: PackedLanes, const O: usize, const BYTES: usize, const ACCUMULATE: bool>(
    words: usize,
    mut sums: [&mut [f64]; O],
    lhs: [&[f64]; O],
    packed: &[u8],
) {
    let columns = sums[0].len() / words;
    let mut column = 0;
    while column < columns {
        // SAFETY: the caller's contract; the columns named exist.
        unsafe {
            column += match columns - column {
                1 => multiply_some::<L, O, BYTES, ACCUMULATE, 1>(words, column, &mut sums, lhs, packed),
                3 => multiply_some::<L, O, BYTES, ACCUMULATE, 3>(words, column, &mut sums, lhs, packed),
                _ => multiply_some::<L, O, BYTES, ACCUMULATE, 2>(words, column, &mut sums, lhs, packed),
            };
        }
    }
}

/// The prefetch distance of the key in bytes. Hardware prefetchers alone keep too few lines in flight.
const AHEAD: usize = 1536;

/// Computes columns `first`..`first` + C and returns C.
///
/// A point's products are summed in registers, over the rows in order. The sum is then scaled and, as a separate step,
/// added to the given sum. So a sum does not depend on the split into calls.
///
/// # Safety
/// As [`multiply`], with `first` + C columns in `sums`.
#[inline(always)]
unsafe fn multiply_some<L: PackedLanes, const O: usize, const BYTES: usize, const ACCUMULATE: bool, const C: usize>(
    words: usize,
    first: usize,
    sums: &mut [&mut [f64]; O],
    lhs: [&[f64]; O],
    packed: &[u8],
) -> usize {
    let group = 2 * L::LANES;
    let step = group * BYTES;
    let row_step = step * (sums[0].len() / words);
    let mut unit = [0; 8];
    unit.copy_from_slice(&packed[..8]);
    // SAFETY: every access lies within the spectra and the packed bytes, whose lengths the caller vouches for; a
    // prefetch may name any address.
    unsafe {
        let unit = L::splat(f64::from_ne_bytes(unit));
        let zero = L::splat(0.0);
        let mut row_at = packed.as_ptr().add(HEADER);
        for at in (0..words).step_by(group) {
            let mut partial = [[Complex { re: zero, im: zero }; C]; O];
            for row in (0..lhs[0].len()).step_by(words) {
                let mut x = [Complex { re: zero, im: zero }; O];
                for (x, lhs) in x.iter_mut().zip(&lhs) {
                    *x = Complex::<L>::load(lhs.as_ptr().add(row + at));
                }
                let from = row_at.add(first * step);
                if L::LANES > 1 {
                    let mut line = 0;
                    while line < C * step {
                        prefetch(from.wrapping_add(AHEAD + line));
                        line += 64;
                    }
                }
                for column in 0..C {
                    let from = from.add(column * step);
                    let y = Complex { re: load::<L, BYTES>(from), im: load::<L, BYTES>(from.add(step / 2)) };
                    for (partial, x) in partial.iter_mut().zip(x) {
                        partial[column] = x.mul_add(y, partial[column]);
                    }
                }
                row_at = row_at.add(row_step);
            }
            for (partial, sums) in partial.into_iter().zip(sums.iter_mut()) {
                for (column, partial) in partial.into_iter().enumerate() {
                    let to = sums.as_mut_ptr().add((first + column) * words + at);
                    let mut sum = Complex { re: partial.re.mul(unit), im: partial.im.mul(unit) };
                    if ACCUMULATE {
                        let before = Complex::<L>::load(to);
                        sum = Complex { re: before.re.add(sum.re), im: before.im.add(sum.im) };
                    }
                    sum.store(to);
                }
            }
        }
    }
    C
}

/// Prefetches a cache line, on CPUs that allow it.
#[inline(always)]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is allowed, and every x86-64 has it.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
