//! Powers of one base, from a table of products of its powers.
//!
//! A comb (Lim and Lee, "More flexible exponentiation with precomputation", 1994): the exponent is cut into `teeth` rows of
//! `spacing` bits. Column c of these rows, read as a number of `teeth` bits, says which product of the powers
//! base^(2^(spacing·i)) belongs to it. Columns are cut into `tables` runs of `run` each, every run with a table of its own
//! (shifted by 2^(run·t)), so that `run` − 1 squarings serve all of them: spacing products and run − 1 squarings in all, from
//! tables·2^teeth residues. With run = 1 there are no squarings: that is the method of Brickell, Gordon, McCurley and Wilson
//! (1992) with windows of `teeth` bits, at the same memory, so that no other code is needed for it.

use std::fmt;

use zeroize::Zeroize;

use super::exponent::{SQUARING, check_bits};
use super::kernel::Kernel;
use super::modulus::Scratch;
use super::work::{Accumulator, Wiped, broadcast};
use super::{BigIntError, IntegerBatch, MAX_EXPONENT_BITS, OddModulus, Residues, limbs};

/// Groups that are worked on together, so that a table is read once for all of them.
const BLOCK: usize = 4;

/// Teeth above which a scan costs more than it saves at any size of modulus.
const MAX_TEETH: u32 = 9;

/// A base prepared for many exponentiations. Its powers are wiped when it is dropped.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let base = ring.fixed_base(&ring.enter(&batch(&[3]))?, 8);
/// assert_eq!(base.bits(), 8);
/// assert!(base.belongs_to(&ring) && base.memory_bytes() <= OddModulus::FIXED_BASE_BYTES);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FixedBase {
    ring: u64,
    bits: u32,
    comb: Comb,
    /// For each run its groups: entry e is lane e mod lanes of group ⌊e/lanes⌋.
    table: Wiped,
    table_words: usize,
}

/// How the bits of an exponent are read.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Comb {
    teeth: u32,
    /// Columns.
    spacing: u32,
    /// Columns per table.
    run: u32,
    tables: u32,
}

impl Comb {
    /// Words of one table.
    fn table_words(&self, kernel: &dyn Kernel) -> usize {
        (1usize << self.teeth).div_ceil(kernel.lanes()) * kernel.group_words()
    }

    fn bytes(&self, kernel: &dyn Kernel) -> usize {
        self.tables as usize * self.table_words(kernel) * size_of::<u64>()
    }

    /// In products, of an exponentiation.
    fn cost(&self, kernel: &dyn Kernel) -> f64 {
        let scan = choice_cost(kernel) * f64::from(1 << self.teeth);
        f64::from(self.spacing) * (1.0 + scan) + f64::from(self.run.saturating_sub(1)) * SQUARING
    }

    /// The cheapest that fits; one tooth and one table if none does.
    fn best(kernel: &dyn Kernel, bits: u32, bytes: usize) -> Self {
        let plain = Self { teeth: 1, spacing: bits, run: bits, tables: 1.min(bits) };
        let mut best = plain;
        for teeth in 1..=MAX_TEETH.min(bits) {
            let spacing = bits.div_ceil(teeth);
            // Longer runs, hence fewer tables, as long as nothing fits: more memory never costs more here.
            let fitting = (1..=spacing)
                .map(|run| Self { teeth, spacing, run, tables: spacing.div_ceil(run) })
                .find(|comb| comb.bytes(kernel) <= bytes);
            if let Some(comb) = fitting
                && comb.cost(kernel) < best.cost(kernel)
            {
                best = comb;
            }
        }
        best
    }

    /// The entry for column `column` of all rows of an exponent.
    fn index(&self, exponent: &[u64], column: u32) -> u64 {
        (0..self.teeth).fold(0, |index, tooth| {
            let bit = column + tooth * self.spacing;
            let limb = exponent.get((bit / limbs::LIMB_BITS) as usize).copied().unwrap_or(0);
            index | (limb >> (bit % limbs::LIMB_BITS) & 1) << tooth
        })
    }
}

/// The constant-time choice of one of many residues, per entry, in products. Measured: 0.07 to 0.16 on eight
/// lanes, 0.3 on one.
fn choice_cost(kernel: &dyn Kernel) -> f64 {
    let factor = if kernel.lanes() > 1 { 0.15 } else { 0.3 };
    factor / kernel.single_words() as f64
}

impl FixedBase {
    /// Whether the base was prepared for this modulus.
    pub fn belongs_to(&self, modulus: &OddModulus) -> bool {
        self.ring == modulus.id()
    }
}

impl OddModulus {
    /// The bytes that [`fixed_base`](Self::fixed_base) spends on a table: about the private cache of a core.
    pub const FIXED_BASE_BYTES: usize = 2 << 20;

    /// Prepares `base` (one residue) for exponents of up to `bits` bits, with a table of
    /// [`FIXED_BASE_BYTES`](Self::FIXED_BASE_BYTES) at most.
    ///
    /// # Panics
    /// If `base` is not one residue, or belongs to another modulus, or `bits` is beyond [`MAX_EXPONENT_BITS`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let base = ring.fixed_base(&ring.enter(&batch(&[3]))?, 8);
    /// assert_eq!(low(&ring.pow_fixed(&base, &batch(&[0, 2, 5]))?), [1, 9, 243]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fixed_base(&self, base: &Residues, bits: u32) -> FixedBase {
        self.fixed_base_within(base, bits, Self::FIXED_BASE_BYTES)
    }

    /// As [`fixed_base`](Self::fixed_base), with a table of `bytes` bytes at most (never less than two residues, in whole
    /// groups). Time is `bits` squarings and a product for every group of the table.
    ///
    /// # Panics
    /// If `base` is not one residue, or belongs to another modulus, or `bits` is beyond [`MAX_EXPONENT_BITS`].
    pub fn fixed_base_within(&self, base: &Residues, bits: u32, bytes: usize) -> FixedBase {
        self.assert_owns(base);
        assert_eq!(base.len(), 1, "one base");
        assert!(bits <= MAX_EXPONENT_BITS, "exponents of {bits} bits");
        let kernel = self.kernel();
        let comb = Comb::best(kernel, bits, bytes);
        let (table_words, words) = (comb.table_words(kernel), kernel.group_words());
        let mut table = Wiped::zeroed(comb.tables as usize * table_words);
        let mut single = Wiped::zeroed(kernel.single_words());
        kernel.extract(&mut single, base.group(0), 0);
        let powers = spaced_powers(kernel, &comb, &single);
        let mut scratch = Scratch::new(kernel);
        let (mut product, mut factor) = (Accumulator::new(kernel), Wiped::zeroed(words));
        let lane_teeth = kernel.lanes().ilog2();
        for (run, table) in table.chunks_exact_mut(table_words.max(1)).enumerate() {
            let power = |tooth: u32| {
                let index = run * comb.teeth as usize + tooth as usize;
                &powers[index * kernel.single_words()..][..kernel.single_words()]
            };
            // The lanes of the first group are the products of the lowest teeth.
            kernel.one(product.set());
            for tooth in 0..comb.teeth.min(lane_teeth) {
                kernel.one(&mut factor);
                for lane in (0..kernel.lanes()).filter(|lane| lane >> tooth & 1 == 1) {
                    kernel.insert(&mut factor, lane, power(tooth));
                }
                product.multiply(kernel, &factor, &mut scratch.0);
            }
            table[..words].copy_from_slice(product.get());
            // Each further tooth doubles the table.
            for tooth in lane_teeth..comb.teeth {
                broadcast(kernel, &mut factor, power(tooth));
                let (lower, upper) = table.split_at_mut(words << (tooth - lane_teeth));
                for (lower, upper) in lower.chunks_exact(words).zip(upper.chunks_exact_mut(words)) {
                    kernel.multiply(upper, lower, &factor, &mut scratch.0);
                }
            }
        }
        FixedBase { ring: self.id(), bits, comb, table, table_words }
    }

    /// The base to each of the exponents, which have at most [`FixedBase::bits`] bits: constant-time in the exponents.
    ///
    /// # Errors
    /// [`BigIntError::ExponentBits`].
    ///
    /// # Panics
    /// If the base belongs to another modulus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let base = ring.fixed_base(&ring.enter(&batch(&[2]))?, 8);
    /// assert_eq!(low(&ring.pow_fixed(&base, &batch(&[10, 20]))?), [1024, 1_048_576]);
    /// let wide = ring.pow_fixed(&base, &batch(&[256]));
    /// assert!(matches!(wide, Err(BigIntError::ExponentBits { index: 0, bits: 8 })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pow_fixed(&self, base: &FixedBase, exponents: &IntegerBatch) -> Result<Residues, BigIntError> {
        assert_eq!(base.ring, self.id(), "a base of another modulus");
        check_bits(exponents, base.bits)?;
        let kernel = self.kernel();
        let (lanes, words, comb) = (kernel.lanes(), kernel.group_words(), base.comb);
        // The power 0, and padding.
        let mut out = self.one(exponents.len());
        if base.bits == 0 {
            return Ok(out);
        }
        let mut scratch = Scratch::new(kernel);
        let mut accumulators: Vec<_> = (0..BLOCK).map(|_| Accumulator::new(kernel)).collect();
        let mut factors = Wiped::zeroed(BLOCK * words);
        let mut index = vec![0; BLOCK * lanes];
        for (block, out) in out.words.chunks_mut(BLOCK * words).enumerate() {
            let groups = out.len() / words;
            let (factors, index) = (&mut factors[..groups * words], &mut index[..groups * lanes]);
            let first = block * BLOCK * lanes;
            let mut started = false;
            for step in (0..comb.run).rev() {
                if started {
                    accumulators[..groups].iter_mut().for_each(|a| a.square(kernel, &mut scratch.0));
                }
                for (run, table) in base.table.chunks_exact(base.table_words).enumerate() {
                    let column = run as u32 * comb.run + step;
                    // The last run may be shorter.
                    if column >= comb.spacing {
                        continue;
                    }
                    for (lane, index) in index.iter_mut().enumerate() {
                        let place = first + lane;
                        *index = if place < exponents.len() { comb.index(exponents.row(place), column) } else { 0 };
                    }
                    kernel.select_lane(factors, table, index);
                    for (accumulator, factor) in accumulators.iter_mut().zip(factors.chunks_exact(words)) {
                        if started {
                            accumulator.multiply(kernel, factor, &mut scratch.0);
                        } else {
                            accumulator.set().copy_from_slice(factor);
                        }
                    }
                    started = true;
                }
            }
            for (out, accumulator) in out.chunks_exact_mut(words).zip(&accumulators) {
                out.copy_from_slice(accumulator.get());
            }
        }
        index.zeroize();
        Ok(out)
    }
}

/// The powers base^(2^(spacing·tooth + run·table)), table after table, as singles.
fn spaced_powers(kernel: &dyn Kernel, comb: &Comb, base: &[u64]) -> Wiped {
    let single_words = kernel.single_words();
    let mut powers = Wiped::zeroed((comb.teeth * comb.tables) as usize * single_words);
    let mut scratch = Scratch::new(kernel);
    let mut power = Accumulator::new(kernel);
    broadcast(kernel, power.set(), base);
    for tooth in 0..comb.teeth {
        for column in 0..comb.spacing {
            if column % comb.run == 0 {
                let index = (column / comb.run * comb.teeth + tooth) as usize;
                kernel.extract(&mut powers[index * single_words..][..single_words], power.get(), 0);
            }
            power.square(kernel, &mut scratch.0);
        }
    }
    powers
}

impl FixedBase {
    /// Bits of the greatest exponent.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.table)
    }

    /// Products and squarings of an exponentiation.
    pub fn operations(&self) -> (u32, u32) {
        (self.comb.spacing.saturating_sub(1), self.comb.run.saturating_sub(1))
    }
}

/// Shows the shape only.
impl fmt::Debug for FixedBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedBase").field("bits", &self.bits).field("comb", &self.comb).finish_non_exhaustive()
    }
}
