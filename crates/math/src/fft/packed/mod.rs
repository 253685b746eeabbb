//! Spectra as a transformed key keeps them: interleaved in the order of their use, and as 48-bit numbers where that is
//! enough.
//!
//! A product of a row with a key reads gigabytes once, from memory. What counts is the number of bytes and that they
//! lie in the order in which they are read. `columns` products at a time share one row of operands, so the packed form
//! of `rows` · `columns` spectra is
//!
//! | bytes | content |
//! | --- | --- |
//! | 64 | the unit u, an f64 of the machine's order, and padding |
//! | per block of L points, row and column, in this order | L real parts, L imaginary parts, in `bytes` each |
//!
//! with L the lanes of the engine's vectors: like a spectrum it is private to the engine that made it.
//!
//! # Error
//!
//! [`PackedWord::Fixed48`] keeps round(x/u) + 2^47 with u = peak/(2^47 − 1), where `peak` is the largest part of all
//! these spectra. A part changes by at most u/2 and, roundings being uniform, by u/√12 in root mean square; nothing
//! saturates. Parts are to be finite; if all of them are below 2^-975, where u would be no normal number, zeros are
//! kept. The parts of a uniform torus polynomial are nearly Gaussian, so that the peak of c of them is about √(2 ln c)
//! standard deviations: 4.9 for ten spectra of N = 16384, and the error 2^−46.5 of a standard deviation, some fifteen
//! times what the transform itself errs. [`PackedWord::Float64`] keeps every bit.
//!
//! # Cost
//!
//! Per point, row and two columns: 8 fused multiply-adds, and for 48 bits 4 permutations and 4 subtractions. On eight
//! lanes and two ports 8 cycles per 8 points and row, that is 82 000 for 10 rows of N = 16384, 23 µs at 3.57 GHz; 1.97
//! MB of key (2.62 MB as f64) and 1.3 MB of operands. From the second-level cache (45 B a cycle) as fast as it
//! computes; from memory the key decides.
//!
//! Measured (Xeon, Granite Rapids class, two vector FMA per cycle at 3.57 GHz; 10 rows, two columns, a key of 1.6 GB):
//! 128 µs, 15.3 GB/s where a loop that only reads gets 18.6; as f64 141 to 156 µs. With the key in the third-level
//! cache 92 µs, and 77 µs with two operands at a time: 23 to 30 GB/s, the rate of that cache. Asking for operands and
//! sums ahead as well, or for the key further ahead, changed nothing.

use super::lanes::{Complex, F64Lanes};
use crate::Isa;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

/// How a real or imaginary part is kept in packed spectra.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PackedWord {
    /// 48 bits of fixed point below the largest part: an error of at most 1/(2^48 − 2) of that.
    Fixed48,
    /// As it is.
    Float64,
}

/// Bytes before the first block: one cache line, so that blocks keep the alignment.
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

/// 2^52 + 2^47: a number below 2^48 in the low bits of this one's pattern, less 2^47.
const OFFSET: f64 = 4_644_337_115_725_824.0;

/// The pattern of 2^52, below whose exponent there is room for 48 bits.
const EXPONENT: u64 = 0x4330 << 48;

/// The least peak whose unit is a normal number, and the reciprocal of that finite: about 2^-975.
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
    // SAFETY: handed on from the caller; unaligned reads are allowed.
    unsafe { if BYTES == 6 { L::load_48(from) } else { L::load(from.cast()) } }
}

/// Packs `spectra` of `words` words each behind the header, times `inverse` = 1/u.
type Pack = unsafe fn(PackedWord, words: usize, spectra: &[f64], inverse: f64, packed: &mut [u8]);

/// Sums = (sums +) u · Σ_r lhs_r ∘ packed_(r,c), for each operand; all of `words`, rows and columns that fit.
type Multiply =
    unsafe fn(PackedWord, words: usize, sums: &mut [&mut [f64]], lhs: &[&[f64]], packed: &[u8], accumulate: bool);

/// The kernels of one vector type. Each asks for a CPU that offers its instruction set, and for spectra of a multiple
/// of 2 · LANES words.
struct PackedKernels {
    pack: Pack,
    multiply: Multiply,
}

/// Compiles the kernels for one vector type in a module of their own and lists them in `KERNELS`.
macro_rules! entry_points {
    ($needs:literal, $lanes:ty, $name:ident $(, $features:literal)?) => {
        pub(super) mod $name {
            use crate::fft::packed::{self, PackedKernels, PackedWord};

            pub(in crate::fft::packed) const KERNELS: PackedKernels = PackedKernels { pack, multiply };

            #[doc = concat!("# Safety\n", $needs)]
            $(#[target_feature(enable = $features)])?
            unsafe fn pack(word: PackedWord, words: usize, spectra: &[f64], inverse: f64, packed: &mut [u8]) {
                // SAFETY: handed on from the caller.
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
                // SAFETY: handed on from the caller.
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

/// [`FftEngine::pack`](super::FftEngine::pack) for an engine whose spectra have `words` words, in groups of `lanes` real
/// and `lanes` imaginary parts, and whose `isa` this CPU offers.
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

/// [`FftEngine::multiply_packed`](super::FftEngine::multiply_packed); as [`pack_spectra`].
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
/// The CPU offers the instruction set of `L`; `words` is a multiple of 2 · `LANES` and divides `spectra`'s length, and
/// `packed` has room for them.
#[inline(always)]
unsafe fn pack<L: PackedLanes>(word: PackedWord, words: usize, spectra: &[f64], inverse: f64, packed: &mut [u8]) {
    debug_assert_eq!(packed.len(), HEADER + spectra.len() * word.bytes());
    // SAFETY: `to` passes over the packed bytes once, as many as there are parts.
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
/// The CPU offers the instruction set of `L`; `words` is a multiple of 2 · `LANES` and divides the lengths of all sums,
/// which are equal, and of all operands, which are equal too; `packed` holds a spectrum for each spectrum of an operand
/// and each of its sums.
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
        // SAFETY: handed on from the caller.
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
    // SAFETY: handed on from the caller.
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
        // SAFETY: handed on from the caller; the columns named exist.
        unsafe {
            column += match columns - column {
                1 => multiply_some::<L, O, BYTES, ACCUMULATE, 1>(words, column, &mut sums, lhs, packed),
                3 => multiply_some::<L, O, BYTES, ACCUMULATE, 3>(words, column, &mut sums, lhs, packed),
                _ => multiply_some::<L, O, BYTES, ACCUMULATE, 2>(words, column, &mut sums, lhs, packed),
            };
        }
    }
}

/// How far ahead the key is asked for, in bytes: hardware prefetchers alone keep too few lines on their way.
const AHEAD: usize = 1536;

/// Columns `first`..`first` + C; answers C. A point's products are added up in registers, over the rows in order,
/// before they are scaled and, apart from that, added to what is there: so a sum does not depend on who adds it, or
/// with what.
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

/// Asks for a cache line, where the CPU can be asked.
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
