//! Exponentiation with a fixed window.

use zeroize::Zeroize;

use super::kernel::Kernel;
use super::{BigIntError, IntegerBatch, OddModulus, Residues, limbs};
use crate::memory::AlignedWords;
use crypto_bigint::BoxedUint;

/// Exponents of a declared width: the time of an exponentiation depends on the width, not on the values.
#[derive(Debug)]
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
    /// [`BigIntError::ExponentBits`].
    pub fn shared(exponent: &BoxedUint, bits: u32) -> Result<Self, BigIntError> {
        let mut exponents = Self::each(IntegerBatch::from_uints([exponent]), bits)?;
        exponents.shared = true;
        Ok(exponents)
    }

    /// One exponent per base.
    ///
    /// # Errors
    /// [`BigIntError::ExponentBits`].
    pub fn each(rows: IntegerBatch, bits: u32) -> Result<Self, BigIntError> {
        for (index, row) in rows.rows().enumerate() {
            // Every limb is looked at, whatever is found.
            let mut excess = 0;
            for (i, &limb) in row.iter().enumerate() {
                let kept = (u64::from(bits)).saturating_sub(64 * i as u64).min(64) as u32;
                excess |= if kept == 64 { 0 } else { limb >> kept };
            }
            if excess != 0 {
                return Err(BigIntError::ExponentBits { index, bits });
            }
        }
        Ok(Self { rows, shared: false, bits })
    }

    /// The declared width.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// `width` bits from bit `low` on of the exponent of base `index`.
    pub(super) fn window(&self, index: usize, low: u32, width: u32) -> u64 {
        let row = if self.shared { self.rows.row(0) } else { self.rows.row(index) };
        window(row, low, width)
    }

    fn check(&self, bases: usize) -> Result<(), BigIntError> {
        if self.shared || self.rows.len() == bases {
            Ok(())
        } else {
            Err(BigIntError::Length { left: bases, right: self.rows.len() })
        }
    }
}

/// `width` < 64 bits of `row` from bit `low` on; bits beyond its end are 0.
pub(super) fn window(row: &[u64], low: u32, width: u32) -> u64 {
    let (limb, shift) = ((low / limbs::LIMB_BITS) as usize, low % limbs::LIMB_BITS);
    let at = |i: usize| row.get(i).copied().unwrap_or(0);
    let wide = u128::from(at(limb)) | u128::from(at(limb + 1)) << 64;
    (wide >> shift) as u64 & ((1 << width) - 1)
}

/// The window width that takes the fewest products for exponents of `bits` bits: 2^w − 2 for the table, then one per window.
pub(super) fn best_window(bits: u32) -> u32 {
    (1..=6).min_by_key(|&w| (1u32 << w) - 2 + bits.div_ceil(w)).unwrap_or(1)
}

impl OddModulus {
    /// Each base to its exponent, by a fixed window: constant-time in bases and exponents of the declared width.
    ///
    /// # Errors
    /// [`BigIntError::Length`] if there are as many exponents as neither 1 nor the bases.
    ///
    /// # Panics
    /// If the bases belong to another modulus.
    pub fn pow(&self, bases: &Residues, exponents: &Exponents) -> Result<Residues, BigIntError> {
        self.assert_owns(bases);
        exponents.check(bases.len())?;
        let kernel = self.kernel();
        let mut out = Residues::uninitialised(self, bases.len());
        let mut work = Work::new(kernel, best_window(exponents.bits));
        for (g, (out, base)) in out.groups_mut().zip(bases.groups()).enumerate() {
            let first = g * kernel.lanes();
            let real = (bases.len() - first).min(kernel.lanes());
            // Lanes without a number follow the first one's exponent.
            pow_group(kernel, out, base, exponents.bits, &mut work, |lane, low, width| {
                exponents.window(first + if lane < real { lane } else { 0 }, low, width)
            });
        }
        Ok(out)
    }
}

/// What an exponentiation needs besides its operands. Wiped when dropped.
pub(super) struct Work {
    window: u32,
    table: AlignedWords,
    accumulator: AlignedWords,
    factor: AlignedWords,
    pub(super) scratch: AlignedWords,
}

impl Work {
    pub(super) fn new(kernel: &dyn Kernel, window: u32) -> Self {
        let words = kernel.group_words();
        Self {
            window,
            table: AlignedWords::zeroed(words << window),
            accumulator: AlignedWords::zeroed(words),
            factor: AlignedWords::zeroed(words),
            scratch: AlignedWords::zeroed(kernel.scratch_words()),
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        for words in [&mut self.table, &mut self.accumulator, &mut self.factor, &mut self.scratch] {
            words.zeroize();
        }
    }
}

/// One group: 2^w powers of the base, then w squarings and a product for each window, of which every one reads all powers.
fn pow_group(
    kernel: &dyn Kernel,
    out: &mut [u64],
    base: &[u64],
    bits: u32,
    work: &mut Work,
    digit: impl Fn(usize, u32, u32) -> u64,
) {
    let words = kernel.group_words();
    let Work { window, table, accumulator, factor, scratch } = work;
    kernel.one(&mut table[..words]);
    if *window > 0 {
        table[words..2 * words].copy_from_slice(base);
    }
    for i in 2..1usize << *window {
        let (lower, rest) = table.split_at_mut(i * words);
        let power = &mut rest[..words];
        if i % 2 == 0 {
            kernel.square(power, &lower[i / 2 * words..][..words], scratch);
        } else {
            kernel.multiply(power, &lower[(i - 1) * words..][..words], base, scratch);
        }
    }
    let mut index = [0; 8];
    let mut low = bits.next_multiple_of(*window);
    kernel.one(out);
    let mut first = true;
    while low > 0 {
        low -= *window;
        for (lane, index) in index[..kernel.lanes()].iter_mut().enumerate() {
            *index = digit(lane, low, *window);
        }
        if first {
            kernel.select(out, table, &index[..kernel.lanes()]);
            first = false;
            continue;
        }
        for _ in 0..*window {
            kernel.square(accumulator, out, scratch);
            out.copy_from_slice(accumulator);
        }
        kernel.select(factor, table, &index[..kernel.lanes()]);
        kernel.multiply(accumulator, out, factor, scratch);
        out.copy_from_slice(accumulator);
    }
    index.zeroize();
}
