//! Sources of coefficients that the first pass converts in registers, and prefetching during a transform.

use super::lanes::F64Lanes;
use crate::BalancedDigit;

/// A source of coefficients in memory, as [`SourceView`](crate::SourceView) describes it.
///
/// # Safety
/// [`load`](Coefficients::load) reads only the requested coefficients.
pub(super) unsafe trait Coefficients<L: F64Lanes>: Copy {
    /// The coefficients from `at` on, one per lane, each rounded to the nearest f64.
    ///
    /// # Safety
    /// The CPU offers the instruction set of `L`, and the source has `LANES` coefficients from `at` on.
    unsafe fn load(self, at: usize) -> L;
}

/// Integers.
#[derive(Clone, Copy)]
pub(super) struct Integers(pub(super) *const i64);

// SAFETY: reads `LANES` words from `at` on.
unsafe impl<L: F64Lanes> Coefficients<L> for Integers {
    #[inline(always)]
    unsafe fn load(self, at: usize) -> L {
        // SAFETY: the caller's contract.
        unsafe { L::load_i64(self.0.add(at)) }
    }
}

/// Digits of 64-bit words.
#[derive(Clone, Copy)]
pub(super) struct Digits<L> {
    pub(super) words: *const u64,
    pub(super) field: DigitField<L>,
}

// SAFETY: reads `LANES` words from `at` on.
unsafe impl<L: F64Lanes> Coefficients<L> for Digits<L> {
    #[inline(always)]
    unsafe fn load(self, at: usize) -> L {
        // SAFETY: the caller's contract.
        unsafe { L::load_digits(self.words.add(at), &self.field) }
    }
}

/// Digits of 32-bit words.
#[derive(Clone, Copy)]
pub(super) struct Digits32<L> {
    pub(super) words: *const u32,
    pub(super) field: DigitField<L>,
}

// SAFETY: reads `LANES` words from `at` on.
unsafe impl<L: F64Lanes> Coefficients<L> for Digits32<L> {
    #[inline(always)]
    unsafe fn load(self, at: usize) -> L {
        // SAFETY: the caller's contract.
        unsafe { L::load_digits_32(self.words.add(at), &self.field) }
    }
}

/// The constants that turn a word into one of its digits without a conversion.
///
/// `offset` is added, the word is shifted, and the bits of the field are masked in place. They become the fraction of a
/// number of known exponent: 2^(52−r) + field for a field r bits above the lowest bit. Subtracting
/// `bias` = 2^(52−r) + B/2 leaves the digit. Every step is exact.
///
/// Every member except `bias` is a bit pattern in every lane.
#[derive(Clone, Copy)]
pub(super) struct DigitField<L> {
    pub(super) offset: L,
    pub(super) shift: L,
    pub(super) mask: L,
    pub(super) exponent: L,
    pub(super) bias: L,
}

/// [`DigitField`] as words.
struct FieldWords {
    offset: u64,
    shift: u64,
    mask: u64,
    exponent: u64,
    bias: f64,
}

impl FieldWords {
    /// For a field of `bits` ≤ 52 bits, `shift` above the lowest, of `x + offset`.
    fn new(offset: u64, shift: u32, bits: u32, half: u64) -> FieldWords {
        // Bits that already lie in the fraction need no shift.
        let (shift, rest) = if shift + bits <= 52 { (0, shift) } else { (shift, 0) };
        let implied = 1u64 << (52 - rest);
        FieldWords {
            offset,
            shift: u64::from(shift),
            mask: ((1 << bits) - 1) << rest,
            exponent: (implied as f64).to_bits(),
            bias: (implied + half) as f64,
        }
    }

    /// # Safety
    /// The CPU offers the instruction set of `L`.
    #[inline(always)]
    unsafe fn splat<L: F64Lanes>(&self) -> DigitField<L> {
        // SAFETY: the caller's contract.
        unsafe {
            DigitField {
                offset: L::splat_bits(self.offset),
                shift: L::splat_bits(self.shift),
                mask: L::splat_bits(self.mask),
                exponent: L::splat_bits(self.exponent),
                bias: L::splat(self.bias),
            }
        }
    }
}

/// The width of the digit's field, if it has at most 52 bits and lies within 64 bits.
fn field_bits(digit: BalancedDigit) -> Option<u32> {
    let bits = 64 - digit.mask.leading_zeros();
    let contiguous = digit.mask & digit.mask.wrapping_add(1) == 0;
    let balanced = (1..=52).contains(&bits) && digit.half == 1 << (bits - 1);
    (contiguous && balanced && digit.shift + bits <= 64).then_some(bits)
}

impl<L: F64Lanes> DigitField<L> {
    /// The field of 64-bit words; `None` if the digit does not fit an f64's fraction.
    ///
    /// # Safety
    /// The CPU offers the instruction set of `L`.
    #[inline(always)]
    pub(super) unsafe fn of_words(digit: BalancedDigit) -> Option<Self> {
        let bits = field_bits(digit)?;
        // SAFETY: the caller's contract.
        Some(unsafe { FieldWords::new(digit.offset, digit.shift, bits, digit.half).splat() })
    }

    /// The field of 32-bit words that are the upper halves of 64 bits. The lower half of `offset` carries nothing into
    /// them. `None` if the field reaches into the lower half.
    ///
    /// # Safety
    /// As [`of_words`](DigitField::of_words).
    #[inline(always)]
    pub(super) unsafe fn of_half_words(digit: BalancedDigit) -> Option<Self> {
        let bits = field_bits(digit).filter(|_| digit.shift >= 32)?;
        // SAFETY: the caller's contract.
        Some(unsafe { FieldWords::new(digit.offset >> 32, digit.shift - 32, bits, digit.half).splat() })
    }
}

/// Memory that a transform prefetches while it computes.
///
/// Every group of butterflies prefetches a small part, in the order of the addresses. So the fetches are spread evenly
/// and have a pattern. More than two lines per group is slower in total than reading the rest after the transform. A
/// core has few fill buffers (16 of them at 15.8 GB/s are 65 ns each), and the transform's own misses need them as
/// well.
#[derive(Clone, Copy)]
pub(super) struct Feed {
    at: *const u8,
    due: *const u8,
    end: *const u8,
    step: usize,
}

/// The most bytes that one group of butterflies prefetches.
const MOST_PER_STEP: usize = 2 * 64;

impl Feed {
    /// Spreads `memory` over `groups` steps. If the steps cannot cover all of it, they cover its start.
    #[inline(always)]
    pub(super) fn new(memory: &[u8], groups: usize) -> Feed {
        let range = memory.as_ptr_range();
        Feed {
            at: range.start,
            due: range.start,
            end: range.end,
            step: memory.len().div_ceil(groups.max(1)).min(MOST_PER_STEP),
        }
    }

    /// Prefetches the next part.
    #[inline(always)]
    pub(super) fn advance<const FEED: bool>(&mut self) {
        if !FEED {
            return;
        }
        self.due = self.due.wrapping_add(self.step);
        if self.due > self.end {
            self.due = self.end;
        }
        while self.at < self.due {
            prefetch_second_level(self.at);
            self.at = self.at.wrapping_add(64);
        }
    }
}

/// Prefetches a line into the second-level cache.
#[inline(always)]
fn prefetch_second_level(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64, and a prefetch never faults, whatever its address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(line.cast())
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

/// Prefetches the line of a word into the first-level cache, as for reading. Prefetching as for writing (`prefetchw`)
/// is a CPU feature that no kernel enables, and each thread works on its own lines.
#[inline(always)]
pub(super) fn prefetch_first_level(word: *const f64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64, and a prefetch never faults, whatever its address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(word.cast())
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}
