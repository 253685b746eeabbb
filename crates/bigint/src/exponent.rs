//! Exponentiation with windows.

use crypto_bigint::BoxedUint;
use zeroize::Zeroize;

use super::kernel::Kernel;
use super::modulus::Scratch;
use super::work::{Accumulator, Wiped};
use super::{BigIntError, IntegerBatch, MAX_EXPONENT_BITS, OddModulus, Residues, limbs};

/// Exponents of a declared width: the time of an exponentiation depends on the width, not on the values.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let same = Exponents::shared(&limbs::to_uint(&[5]), 3)?;
/// assert_eq!(low(&ring.pow(&x, &same)?), [243, 3125]);
/// assert!(matches!(Exponents::each(batch(&[1, 8]), 3), Err(BigIntError::ExponentBits { index: 1, bits: 3 })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Exponents {
    /// One row for all bases, or one per base.
    rows: IntegerBatch,
    shared: bool,
    bits: u32,
}

impl Exponents {
    /// One exponent for every base.
    ///
    /// # Errors
    /// [`BigIntError::ExponentBits`], [`BigIntError::ExponentWidth`].
    pub fn shared(exponent: &BoxedUint, bits: u32) -> Result<Self, BigIntError> {
        let mut exponents = Self::each(IntegerBatch::from_uints([exponent]), bits)?;
        exponents.shared = true;
        Ok(exponents)
    }

    /// One exponent per base.
    ///
    /// # Errors
    /// [`BigIntError::ExponentBits`], [`BigIntError::ExponentWidth`].
    pub fn each(rows: IntegerBatch, bits: u32) -> Result<Self, BigIntError> {
        check_bits(&rows, bits)?;
        Ok(Self { rows, shared: false, bits })
    }

    /// The declared width.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The number of exponents; `None` of one that is for every base.
    #[expect(clippy::len_without_is_empty, reason = "an exponent for every base has no length")]
    pub fn len(&self) -> Option<usize> {
        (!self.shared).then(|| self.rows.len())
    }

    /// The exponent of the base at `index`.
    ///
    /// # Panics
    /// If there is no such base.
    pub fn row(&self, index: usize) -> &[u64] {
        self.rows.row(if self.shared { 0 } else { index })
    }

    fn check(&self, bases: usize) -> Result<(), BigIntError> {
        if self.shared || self.rows.len() == bases {
            Ok(())
        } else {
            Err(BigIntError::Length { left: bases, right: self.rows.len() })
        }
    }
}

/// Whether all rows are below 2^bits. Every limb of a row is looked at, whatever is found.
pub(super) fn check_bits(rows: &IntegerBatch, bits: u32) -> Result<(), BigIntError> {
    if bits > MAX_EXPONENT_BITS {
        return Err(BigIntError::ExponentWidth { bits });
    }
    for (index, row) in rows.rows().enumerate() {
        let mut excess = 0;
        for (i, &limb) in row.iter().enumerate() {
            let kept = (u64::from(bits)).saturating_sub(64 * i as u64).min(64) as u32;
            excess |= if kept == 64 { 0 } else { limb >> kept };
        }
        if excess != 0 {
            return Err(BigIntError::ExponentBits { index, bits });
        }
    }
    Ok(())
}

/// `width` < 64 bits of `row` from bit `low` on; bits beyond its end are 0.
pub(super) fn window(row: &[u64], low: u32, width: u32) -> u64 {
    let (limb, shift) = ((low / limbs::LIMB_BITS) as usize, low % limbs::LIMB_BITS);
    let at = |i: usize| row.get(i).copied().unwrap_or(0);
    let wide = u128::from(at(limb)) | u128::from(at(limb + 1)) << 64;
    (wide >> shift) as u64 & ((1 << width) - 1)
}

/// Bits of the greatest of some rows. Time depends on them.
fn length_public<'a>(rows: impl Iterator<Item = &'a [u64]>) -> u32 {
    rows.map(limbs::bit_length_public).max().unwrap_or(0)
}

/// A squaring, in products: what cost models here count with.
pub(super) const SQUARING: f64 = 0.75;

/// The constant-time choice of one of many groups, per entry, in products: entries are as long as operands, a product takes
/// time by the square of that length. Measured: 0.3 on one lane; 0.2 to 0.9 on eight,
/// growing with the table.
fn scan_cost(kernel: &dyn Kernel) -> f64 {
    let factor = if kernel.lanes() > 1 { 0.8 } else { 0.3 };
    factor / kernel.single_words() as f64
}

const MAX_WINDOW: u32 = 8;

/// The window width that costs least for exponents of `bits` bits, where an entry of the table is read for `scan`
/// products. It counts 2^w − 2 products for the table, then w squarings, a scan and a product for each window but the
/// first.
pub(super) fn best_window(bits: u32, scan: f64) -> u32 {
    let cost = |w: u32| {
        let (entries, windows) = (f64::from(1 << w), f64::from(bits.div_ceil(w)));
        // The table is half squarings.
        (entries - 2.0) * (1.0 + SQUARING) / 2.0 + windows * (f64::from(w) * SQUARING + 1.0 + scan * entries)
    };
    (1..=MAX_WINDOW).min_by(|&v, &w| cost(v).total_cmp(&cost(w))).unwrap_or(1)
}

/// The width of a sliding window, where a table of odd powers is used by exponents of `bits` bits in all, of which some share
/// a table: 2^(w − 1) products for it, then one for every w + 1 bits.
pub(super) fn best_sliding_window(bits: f64) -> u32 {
    let cost = |w: u32| f64::from(1 << (w - 1)) + bits / f64::from(w + 1);
    (1..=MAX_WINDOW).min_by(|&v, &w| cost(v).total_cmp(&cost(w))).unwrap_or(1)
}

/// A public number as a sum of odd digits below 2^width times powers of two, the greatest first: (exponent of two, digit).
/// Between digits lie `width` bits at least.
pub(super) fn sliding_digits(row: &[u64], width: u32) -> Vec<(u32, u64)> {
    let mut digits = Vec::new();
    let mut top = length_public([row].into_iter());
    while top > 0 {
        // Bit top − 1 is 1; the digit reaches down to the lowest 1 within the width.
        let low = top.saturating_sub(width);
        let bits = window(row, low, top - low);
        let zeros = bits.trailing_zeros();
        digits.push((low + zeros, bits >> zeros));
        top = low;
        while top > 0 && window(row, top - 1, 1) == 0 {
            top -= 1;
        }
    }
    digits
}

impl OddModulus {
    /// Each base to its exponent, by a fixed window: constant-time in bases and exponents of the declared width.
    ///
    /// # Errors
    /// [`BigIntError::Length`] if there are neither as many exponents as bases nor one that is [shared](Exponents::shared).
    ///
    /// # Panics
    /// If the bases belong to another modulus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let exponents = Exponents::each(batch(&[2, 3]), 2)?;
    /// assert_eq!(low(&ring.pow(&x, &exponents)?), [9, 125]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pow(&self, bases: &Residues, exponents: &Exponents) -> Result<Residues, BigIntError> {
        self.assert_owns(bases);
        exponents.check(bases.len())?;
        let kernel = self.kernel();
        let window = best_window(exponents.bits, scan_cost(kernel));
        let mut out = Residues::uninitialised(self, bases.len());
        let mut work = Work::new(kernel, 1 << window);
        for (first, (out, base)) in groups(kernel.lanes(), out.groups_mut().zip(bases.groups())) {
            work.all_powers(base);
            let rows = rows(exponents, first, kernel.lanes(), bases.len());
            work.fixed_window(exponents.bits, window, &rows, false);
            out.copy_from_slice(work.accumulator.get());
        }
        Ok(out)
    }

    /// Each base to its exponent, for exponents that everyone may know: time depends on them, not on the bases.
    ///
    /// Widths are those of the values, not of the declaration. A shared exponent, or one on a path with one lane, is taken
    /// by a sliding window over odd powers.
    ///
    /// # Errors
    /// [`BigIntError::Length`] if there are neither as many exponents as bases nor one that is [shared](Exponents::shared).
    ///
    /// # Panics
    /// If the bases belong to another modulus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let exponents = Exponents::each(batch(&[2, 3]), 64)?;
    /// assert_eq!(low(&ring.pow_public(&x, &exponents)?), [9, 125]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pow_public(&self, bases: &Residues, exponents: &Exponents) -> Result<Residues, BigIntError> {
        self.assert_owns(bases);
        exponents.check(bases.len())?;
        let kernel = self.kernel();
        let bits = length_public(exponents.rows.rows());
        let mut out = Residues::uninitialised(self, bases.len());
        let groups = groups(kernel.lanes(), out.groups_mut().zip(bases.groups()));
        if exponents.shared || kernel.lanes() == 1 {
            let window = best_sliding_window(f64::from(bits));
            let mut work = Work::new(kernel, 1 << (window - 1));
            for (first, (out, base)) in groups {
                work.odd_powers(base);
                work.sliding_window(&sliding_digits(exponents.row(first), window));
                out.copy_from_slice(work.accumulator.get());
            }
        } else {
            let window = best_window(bits, 0.0);
            let mut work = Work::new(kernel, 1 << window);
            for (first, (out, base)) in groups {
                let rows = rows(exponents, first, kernel.lanes(), bases.len());
                work.all_powers(base);
                work.fixed_window(length_public(rows.iter().copied()), window, &rows, true);
                out.copy_from_slice(work.accumulator.get());
            }
        }
        Ok(out)
    }
}

/// Items with the places of their first lanes.
fn groups<T>(lanes: usize, items: impl Iterator<Item = T>) -> impl Iterator<Item = (usize, T)> {
    items.enumerate().map(move |(group, item)| (group * lanes, item))
}

/// The exponents of a group's lanes. Lanes without a number follow the first one's: a base of 1 stays 1.
fn rows(exponents: &Exponents, first: usize, lanes: usize, len: usize) -> Vec<&[u64]> {
    (first..first + lanes).map(|place| exponents.row(if place < len { place } else { first })).collect()
}

/// The workspace of an exponentiation.
struct Work<'a> {
    kernel: &'a dyn Kernel,
    table: Wiped,
    accumulator: Accumulator,
    factor: Wiped,
    scratch: Scratch,
}

impl<'a> Work<'a> {
    fn new(kernel: &'a dyn Kernel, entries: usize) -> Self {
        let words = kernel.group_words();
        Self {
            kernel,
            table: Wiped::zeroed(words * entries),
            accumulator: Accumulator::new(kernel),
            factor: Wiped::zeroed(words),
            scratch: Scratch::new(kernel),
        }
    }

    /// Fills the table with base^0, base^1, ….
    fn all_powers(&mut self, base: &[u64]) {
        let (words, scratch) = (self.kernel.group_words(), &mut self.scratch.0);
        self.kernel.one(&mut self.table[..words]);
        self.table[words..2 * words].copy_from_slice(base);
        for i in 2..self.table.len() / words {
            let (lower, rest) = self.table.split_at_mut(i * words);
            let power = &mut rest[..words];
            if i % 2 == 0 {
                self.kernel.square(power, &lower[i / 2 * words..][..words], scratch);
            } else {
                self.kernel.multiply(power, &lower[(i - 1) * words..], base, scratch);
            }
        }
    }

    /// Fills the table with base^1, base^3, ….
    fn odd_powers(&mut self, base: &[u64]) {
        let (words, scratch) = (self.kernel.group_words(), &mut self.scratch.0);
        self.table[..words].copy_from_slice(base);
        if self.table.len() > words {
            self.kernel.square(&mut self.factor, base, scratch);
        }
        for i in 1..self.table.len() / words {
            let (lower, rest) = self.table.split_at_mut(i * words);
            self.kernel.multiply(&mut rest[..words], &lower[(i - 1) * words..], &self.factor, scratch);
        }
    }

    /// From all powers: for each window `width` squarings and a product.
    fn fixed_window(&mut self, bits: u32, width: u32, rows: &[&[u64]], public: bool) {
        let Self { kernel, table, accumulator, factor, scratch } = self;
        let mut index = vec![0; rows.len()];
        let mut low = bits.next_multiple_of(width);
        kernel.one(accumulator.set());
        let top = low;
        while low > 0 {
            low -= width;
            for (index, row) in index.iter_mut().zip(rows) {
                *index = window(row, low, width);
            }
            if low + width == top {
                if public {
                    kernel.select_public(accumulator.set(), table, &index);
                } else {
                    kernel.select(accumulator.set(), table, &index);
                }
                continue;
            }
            for _ in 0..width {
                accumulator.square(*kernel, &mut scratch.0);
            }
            if !public {
                kernel.select(factor, table, &index);
            } else if index.iter().any(|&i| i != 0) {
                kernel.select_public(factor, table, &index);
            } else {
                continue;
            }
            accumulator.multiply(*kernel, factor, &mut scratch.0);
        }
        index.zeroize();
    }

    /// From odd powers: a product for each digit, and as many squarings as they lie apart.
    fn sliding_window(&mut self, digits: &[(u32, u64)]) {
        let Self { kernel, table, accumulator, scratch, .. } = self;
        let words = kernel.group_words();
        kernel.one(accumulator.set());
        let mut level = None;
        for &(position, digit) in digits {
            let power = &table[(digit / 2) as usize * words..][..words];
            match level {
                None => accumulator.set().copy_from_slice(power),
                Some(level) => {
                    (position..level).for_each(|_| accumulator.square(*kernel, &mut scratch.0));
                    accumulator.multiply(*kernel, power, &mut scratch.0);
                }
            }
            level = Some(position);
        }
        (0..level.unwrap_or(0)).for_each(|_| accumulator.square(*kernel, &mut scratch.0));
    }
}
