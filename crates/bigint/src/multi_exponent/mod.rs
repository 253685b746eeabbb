//! Products of powers for exponents that everyone may know.
//!
//! Two ways, of which the cheaper by [`Plan`]'s count is taken. Straus' (1964): a table of small powers for every column,
//! used by all rows, and one chain of squarings per row. Pippenger's buckets: for each row and window the bases are sorted by
//! digit and multiplied up from the greatest digit on, so that no table is needed, but every digit value costs a product.
//!
//! Negative weights need no table of inverses. With weights below 2^t, b^(−w) = b^(2^t − w)·(b^−1)^(2^t): all exponents are
//! non-negative, and the product of the bases with negative weights of a row, inverted (all rows at once), enters the row's chain
//! as one more factor at bit t.

mod chains;
mod plan;
mod sweep;

use super::kernel::Kernel;
use super::modulus::Scratch;
use super::work::Wiped;
use super::{BigIntError, OddModulus, Residues};
use chains::{Chain, Singles, run_chains};
use plan::{Plan, Shape, Way};

/// A matrix of public integer weights, row after row.
///
/// # Example
/// ```
/// use ciphermill_bigint::WeightMatrix;
///
/// let weights = WeightMatrix::new(2, vec![1, 2, 0, -3])?;
/// assert_eq!((weights.rows(), weights.row(1)), (2, &[0, -3][..]));
/// assert!(WeightMatrix::new(3, vec![1, 2]).is_err(), "the row is not complete");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightMatrix {
    columns: usize,
    /// Magnitudes below 2^64.
    values: Vec<i128>,
}

impl WeightMatrix {
    /// The greatest magnitude of a weight: 2^64 − 1.
    pub const MAX_MAGNITUDE: u128 = u64::MAX as u128;

    /// `values` row after row, `columns` each.
    ///
    /// # Errors
    /// [`BigIntError::WeightShape`] unless they are whole rows of at least one column, [`BigIntError::WeightMagnitude`].
    pub fn new(columns: usize, values: Vec<i128>) -> Result<Self, BigIntError> {
        if columns == 0 || !values.len().is_multiple_of(columns) {
            return Err(BigIntError::WeightShape { columns, values: values.len() });
        }
        if let Some(index) = values.iter().position(|w| w.unsigned_abs() > Self::MAX_MAGNITUDE) {
            return Err(BigIntError::WeightMagnitude { index });
        }
        Ok(Self { columns, values })
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.columns
    }

    /// Columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, index: usize) -> &[i128] {
        &self.values[index * self.columns..][..self.columns]
    }
}

/// Weights modulo 2^bits, where all magnitudes are below 2^bits, without columns of zeros.
struct Unsigned {
    bits: u32,
    rows: usize,
    /// The columns that have a weight.
    columns: Vec<usize>,
    /// Row after row, as many as there are columns.
    values: Vec<u64>,
    /// For each row the places among `columns` with negative weights.
    negative: Vec<Vec<u32>>,
}

impl Unsigned {
    fn new(weights: &WeightMatrix) -> Self {
        let magnitude = |weight: i128| weight.unsigned_abs() as u64;
        let bits = u64::BITS - weights.values.iter().fold(0, |all, &w| all | magnitude(w)).leading_zeros();
        let rows = weights.rows();
        let columns: Vec<usize> =
            (0..weights.columns).filter(|&c| (0..rows).any(|row| weights.row(row)[c] != 0)).collect();
        // Two's complement, cut to the width.
        let mask = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
        let row = |row| columns.iter().map(move |&c| weights.row(row)[c]);
        let values = (0..rows).flat_map(|r| row(r).map(|w| w as u64 & mask)).collect();
        let negative = (0..rows)
            .map(|r| row(r).enumerate().filter(|(_, w)| *w < 0).map(|(place, _)| place as u32).collect())
            .collect();
        Self { bits, rows, columns, values, negative }
    }

    fn row(&self, index: usize) -> &[u64] {
        &self.values[index * self.columns.len()..][..self.columns.len()]
    }
}

impl OddModulus {
    /// For each row of weights the product of the bases to the weights of that row. Time depends on the weights; zeros cost
    /// nothing, and widths are those of the greatest magnitude.
    ///
    /// # Errors
    /// [`BigIntError::Length`] unless there is a base for every column; [`BigIntError::NotInvertible`] if a base that has
    /// a negative weight has no inverse.
    ///
    /// # Panics
    /// If the bases belong to another modulus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let weights = WeightMatrix::new(2, vec![1, 2, 0, 3])?;
    /// // 3·5^2 and 5^3.
    /// assert_eq!(low(&ring.multi_pow_public(&x, &weights)?), [75, 125]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multi_pow_public(&self, bases: &Residues, weights: &WeightMatrix) -> Result<Residues, BigIntError> {
        self.assert_owns(bases);
        if bases.len() != weights.columns {
            return Err(BigIntError::Length { left: bases.len(), right: weights.columns });
        }
        let weights = Unsigned::new(weights);
        let plan = Plan::best(&Shape::of(&weights, self.kernel()));
        self.multi_pow_planned(bases, &weights, plan)
    }

    fn multi_pow_planned(&self, bases: &Residues, weights: &Unsigned, plan: Plan) -> Result<Residues, BigIntError> {
        let bases = self.gather(bases, &weights.columns);
        let corrections = self.corrections(&bases, weights)?;
        match plan.way {
            Way::Straus { window } => Ok(self.straus(&bases, weights, &corrections, window, plan.parts)),
            Way::Buckets { window } => Ok(self.buckets(&bases, weights, &corrections, window)),
        }
    }

    /// For each row with negative weights the inverse of the product of their bases.
    fn corrections(&self, bases: &Residues, weights: &Unsigned) -> Result<Corrections, BigIntError> {
        let rows: Vec<usize> = (0..weights.rows).filter(|&row| !weights.negative[row].is_empty()).collect();
        if rows.is_empty() {
            return Ok(Corrections { rows, inverses: self.one(0) });
        }
        let kernel = self.kernel();
        let singles = Singles::of(kernel, bases, 0);
        let parts = if kernel.lanes() == 1 { 1 } else { (kernel.lanes() / rows.len()).max(1) };
        let chains = rows.iter().map(|&row| Chain {
            items: weights.negative[row].iter().map(|&place| (0, singles.first() + place)).collect(),
        });
        let products = self.run_in_parts(&singles, chains.collect(), parts);
        let inverses = self.invert_public(&products).map_err(|_| {
            let mut places: Vec<usize> = weights.negative.iter().flatten().map(|&place| place as usize).collect();
            places.sort_unstable();
            places.dedup();
            let culprit = match self.all_units_public(&self.gather(bases, &places)) {
                Err(BigIntError::NotInvertible { index }) => index,
                _ => 0,
            };
            BigIntError::NotInvertible { index: weights.columns[places[culprit]] }
        })?;
        Ok(Corrections { rows, inverses })
    }

    /// Chains whose items may be dealt out to several lanes each.
    fn run_in_parts(&self, singles: &Singles<'_>, chains: Vec<Chain>, parts: usize) -> Residues {
        let count = chains.len();
        if parts == 1 {
            return run_chains(self, singles, &chains);
        }
        let dealt: Vec<Chain> = (0..parts)
            .flat_map(|part| {
                chains
                    .iter()
                    .map(move |chain| Chain { items: chain.items.iter().skip(part).step_by(parts).copied().collect() })
            })
            .collect();
        let all = run_chains(self, singles, &dealt);
        let part = |part: usize| self.gather(&all, &(part * count..(part + 1) * count).collect::<Vec<_>>());
        (1..parts).fold(part(0), |product, p| self.multiply(&product, &part(p)).expect("parts of one length"))
    }

    /// Straus' way, for as many columns at once as leave the table of a bearable size.
    fn straus(
        &self,
        bases: &Residues,
        weights: &Unsigned,
        corrections: &Corrections,
        window: u32,
        parts: usize,
    ) -> Residues {
        let kernel = self.kernel();
        let recoding = chains::Recoding::new(kernel, weights.bits, window);
        let entry_bytes = recoding.entries * kernel.single_words() * size_of::<u64>();
        let columns = (TABLE_BYTES / entry_bytes).max(1).next_multiple_of(kernel.lanes());
        let mut product: Option<Residues> = None;
        for from in (0..bases.len()).step_by(columns) {
            let to = (from + columns).min(bases.len());
            let extra = if from == 0 { corrections.rows.len() } else { 0 };
            let singles = recoding.table(self, &bases.slice(from..to), extra);
            let mut chains: Vec<Chain> =
                (0..weights.rows).map(|row| recoding.chain(&weights.row(row)[from..to], singles.first())).collect();
            let singles =
                if extra > 0 { corrections.enter(kernel, singles, &mut chains, weights.bits) } else { singles };
            let part = self.run_in_parts(&singles, chains, parts);
            product = Some(match product {
                None => part,
                Some(product) => self.multiply(&product, &part).expect("a number for each row"),
            });
        }
        product.unwrap_or_else(|| self.one(weights.rows))
    }

    /// Buckets: the powers of each window of each row, then a chain per row.
    fn buckets(&self, bases: &Residues, weights: &Unsigned, corrections: &Corrections, window: u32) -> Residues {
        let kernel = self.kernel();
        let windows = chains::balanced(weights.bits, window);
        let singles = Singles::of(kernel, bases, 0);
        let programs: Vec<_> = (0..weights.rows)
            .flat_map(|row| windows.iter().map(move |w| (row, w)))
            .map(|(row, &(low, width))| sweep::program(weights.row(row), low, width, singles.first()))
            .collect();
        let sums = sweep::run_programs(self, &singles, &programs);
        let singles = Singles::of(kernel, &sums, corrections.rows.len());
        let mut chains: Vec<Chain> = (0..weights.rows)
            .map(|row| Chain {
                items: windows
                    .iter()
                    .enumerate()
                    .filter(|(index, _)| !programs[row * windows.len() + index].is_empty())
                    .map(|(index, &(low, _))| (low, singles.first() + (row * windows.len() + index) as u32))
                    .collect(),
            })
            .collect();
        let singles = corrections.enter(kernel, singles, &mut chains, weights.bits);
        run_chains(self, &singles, &chains)
    }
}

/// Bytes of a table of powers that is worked with at once: of one core's share of the last level of caches.
const TABLE_BYTES: usize = 16 << 20;

/// The factors that remain for the negative weights of rows.
struct Corrections {
    rows: Vec<usize>,
    inverses: Residues,
}

impl Corrections {
    /// Puts the inverses in the room left in `singles`, and each at the top of its row's chain.
    fn enter<'a>(&self, kernel: &dyn Kernel, mut singles: Singles<'a>, chains: &mut [Chain], bits: u32) -> Singles<'a> {
        for (index, &row) in self.rows.iter().enumerate() {
            let at = singles.set_extra(kernel, index, &self.inverses);
            chains[row].items.insert(0, (bits, at));
        }
        singles
    }
}

#[cfg(test)]
mod tests;
