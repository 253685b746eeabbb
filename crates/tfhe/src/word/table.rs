//! Tables: functions of words.

use super::{Diagram, SelectorId};

/// Digits of the longest word.
pub const MAX_DIGITS: usize = 64;
/// Positions of digits whose selectors exist at one time.
pub const MAX_POSITIONS: usize = 64;
/// Input bits of the largest dense table.
pub const MAX_DENSE_BITS: u32 = 20;
/// Output bits of the widest dense table.
const MAX_ENTRY_BITS: u32 = 32;

/// Errors of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The number of bits of the input or an entry.
    #[error("a table with {what} of {given} bits; use {min} to {max}")]
    Bits {
        /// `inputs` or `entries`.
        what: &'static str,
        /// Bits given.
        given: u32,
        /// Least.
        min: u32,
        /// Most.
        max: u32,
    },
    /// The number of entries.
    #[error("a table of {given} entries; inputs of {bits} bits need {expected}")]
    Entries {
        /// Entries given.
        given: usize,
        /// Bits of the input.
        bits: u32,
        /// Entries needed.
        expected: usize,
    },
    /// An entry with more bits than the output.
    #[error("entry {index} of the table is {value}; the largest value of {bits} bits is {max}")]
    Entry {
        /// Index of the entry.
        index: usize,
        /// Its value.
        value: u32,
        /// Bits of the output.
        bits: u32,
        /// Largest value.
        max: u32,
    },
    /// The positions of the input digits.
    #[error("{given} positions for {expected} digits; give one for each")]
    Positions {
        /// Positions given.
        given: usize,
        /// Digits of the input.
        expected: usize,
    },
    /// A position beyond the last one.
    #[error("position {given} of a selector; use 0 to {max}")]
    Position {
        /// Position given.
        given: u8,
        /// Last position.
        max: u8,
    },
    /// The same digit twice.
    #[error("position {given} occurs twice in a dense table; give every digit its own")]
    RepeatedPosition {
        /// Position given.
        given: u8,
    },
    /// An edge of a diagram to a node that does not come before.
    #[error("node {node} of the diagram has an edge to node {to}, which does not come before it")]
    Forward {
        /// Index of the node.
        node: usize,
        /// Where its edge leads.
        to: u32,
    },
    /// A selector twice on a path.
    #[error(
        "node {node} of the diagram branches on a selector of position {position}, as a node below it does; branch on each \
         selector once on every path"
    )]
    RepeatedSelector {
        /// Index of the node.
        node: usize,
        /// The position of its selector.
        position: u8,
    },
    /// A diagram of too many nodes or outputs.
    #[error("a diagram with {given} {what}; use {min} to {max}")]
    Size {
        /// `nodes` or `output digits`.
        what: &'static str,
        /// Number given.
        given: usize,
        /// Least.
        min: usize,
        /// Most.
        max: usize,
    },
}

/// A function of words in one of two forms.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// let mut file = SelectorFile::new();
/// file.put(0, &server.select(&word)?)?;
/// assert_eq!(client.decrypt_word(&server.look_up(&file, &root)?)?, 7);
/// assert_eq!((root.output_digits(), root.depth(), root.selectors().len()), (2, 6, 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Table {
    /// An entry for each input.
    Dense(DenseTable),
    /// A decision diagram.
    Diagram(Diagram),
}

impl Table {
    /// Digits of the output.
    #[must_use]
    pub fn output_digits(&self) -> usize {
        match self {
            Self::Dense(table) => table.output_digits(),
            Self::Diagram(diagram) => diagram.outputs().len(),
        }
    }

    /// The longest path of CMuxes from a constant to an output.
    #[must_use]
    pub fn depth(&self) -> usize {
        match self {
            Self::Dense(table) => table.selectors().len(),
            Self::Diagram(diagram) => diagram.depth(),
        }
    }

    /// The selectors that it reads, each once, in order.
    #[must_use]
    pub fn selectors(&self) -> Vec<SelectorId> {
        match self {
            Self::Dense(table) => {
                let mut selectors = table.selectors();
                selectors.sort_unstable();
                selectors
            }
            Self::Diagram(diagram) => diagram.selectors(),
        }
    }

    /// The value of the output digits for the digits at all positions.
    #[must_use]
    pub fn value(&self, digit_at: &dyn Fn(u8) -> u8) -> Vec<u8> {
        match self {
            Self::Dense(table) => table.value(digit_at),
            Self::Diagram(diagram) => diagram.value(digit_at),
        }
    }
}

/// A table with an entry for each input word.
///
/// # Example
/// ```
/// use ciphermill_tfhe::word::DenseTable;
/// // The integer square root of 6 bits, of the digits at positions 0 to 2.
/// let table = DenseTable::of_function(6, 3, |x| x.isqrt())?;
/// assert_eq!((table.input_bits(), table.output_digits()), (6, 2));
/// // 50 = 2 + 0·4 + 3·16, and its root is 7 = 3 + 1·4.
/// assert_eq!(table.value(&|position| [2, 0, 3][usize::from(position)]), [3, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenseTable {
    input_bits: u32,
    output_bits: u32,
    positions: Vec<u8>,
    entries: Vec<u32>,
}

impl DenseTable {
    /// A table of `entries` for inputs of `input_bits` bits; digit i of the input is that at position `positions[i]`.
    ///
    /// # Errors
    /// [`TableError`] for bits out of range, another number of entries or positions than the bits need, an entry of more
    /// than `output_bits` bits, and a position that is out of range or repeated.
    pub fn new(input_bits: u32, output_bits: u32, positions: Vec<u8>, entries: Vec<u32>) -> Result<Self, TableError> {
        Self::check_bits(input_bits, output_bits)?;
        let expected = 1usize << input_bits;
        if entries.len() != expected {
            return Err(TableError::Entries { given: entries.len(), bits: input_bits, expected });
        }
        let max = u32::MAX >> (32 - output_bits);
        if let Some((index, &value)) = entries.iter().enumerate().find(|&(_, &value)| value > max) {
            return Err(TableError::Entry { index, value, bits: output_bits, max });
        }
        let digits = input_bits.div_ceil(2) as usize;
        if positions.len() != digits {
            return Err(TableError::Positions { given: positions.len(), expected: digits });
        }
        let mut seen = [false; MAX_POSITIONS];
        for &given in &positions {
            let Some(seen) = seen.get_mut(usize::from(given)) else {
                return Err(TableError::Position { given, max: MAX_POSITIONS as u8 - 1 });
            };
            if std::mem::replace(seen, true) {
                return Err(TableError::RepeatedPosition { given });
            }
        }
        Ok(Self { input_bits, output_bits, positions, entries })
    }

    /// Refuses bits out of range.
    pub(crate) fn check_bits(input_bits: u32, output_bits: u32) -> Result<(), TableError> {
        for (what, given, max) in [("inputs", input_bits, MAX_DENSE_BITS), ("entries", output_bits, MAX_ENTRY_BITS)] {
            if !(1..=max).contains(&given) {
                return Err(TableError::Bits { what, given, min: 1, max });
            }
        }
        Ok(())
    }

    /// The table of a function, of the word at the first positions.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_function(input_bits: u32, output_bits: u32, f: impl Fn(u32) -> u32) -> Result<Self, TableError> {
        let inputs = if input_bits <= MAX_DENSE_BITS { 1u32 << input_bits } else { 0 };
        let positions = (0..input_bits.div_ceil(2) as u8).collect();
        Self::new(input_bits, output_bits, positions, (0..inputs).map(f).collect())
    }

    /// Bits of the input.
    #[must_use]
    pub fn input_bits(&self) -> u32 {
        self.input_bits
    }

    /// Bits of an entry.
    #[must_use]
    pub fn output_bits(&self) -> u32 {
        self.output_bits
    }

    /// Digits of an entry.
    #[must_use]
    pub fn output_digits(&self) -> usize {
        self.output_bits.div_ceil(2) as usize
    }

    /// The position of each input digit, the lowest first.
    #[must_use]
    pub fn positions(&self) -> &[u8] {
        &self.positions
    }

    /// The entries, by input.
    #[must_use]
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// The selector of each bit of the permuted input, the lowest first: for each digit h ⊕ l, then h. The highest digit of an
    /// odd number of bits has h = 0, so only its first bit counts.
    #[must_use]
    pub fn selectors(&self) -> Vec<SelectorId> {
        (0..self.input_bits as usize)
            .map(|bit| SelectorId { position: self.positions[bit / 2], high: bit % 2 == 1 })
            .collect()
    }

    /// The input whose selectors have the bits of `selected`: l = (h ⊕ l) ⊕ h in each digit.
    pub(crate) fn input_of(selected: u32) -> u32 {
        selected ^ (selected >> 1 & 0x5555_5555)
    }

    /// The digit at place `digit` of an entry.
    pub(crate) fn output_digit(entry: u32, digit: usize) -> u8 {
        (entry >> (2 * digit) & 3) as u8
    }

    /// The digits of the entry that a look-up finds for the digits at all positions.
    #[must_use]
    pub fn value(&self, digit_at: &dyn Fn(u8) -> u8) -> Vec<u8> {
        let bits = self.selectors().into_iter().enumerate();
        let selected = bits.map(|(bit, id)| u32::from(id.bit().of(digit_at(id.position))) << bit).sum();
        let index = Self::input_of(selected) as usize;
        (0..self.output_digits()).map(|digit| Self::output_digit(self.entries[index], digit)).collect()
    }

    /// log2 of the entries that one polynomial of `size` coefficients holds: the bits that rotate.
    pub(crate) fn rotated_bits(&self, size: usize) -> u32 {
        (size / self.output_digits()).ilog2().min(self.input_bits)
    }

    /// The polynomial for the upper bits of the permuted input, as multiples of 1/4: entry e has its D digits in the
    /// coefficients from e·D on.
    pub(crate) fn polynomial(&self, size: usize, upper: u32) -> Vec<u64> {
        let (digits, rotated) = (self.output_digits(), self.rotated_bits(size));
        let mut polynomial = vec![0; size];
        for (lower, coefficients) in polynomial.chunks_exact_mut(digits).take(1 << rotated).enumerate() {
            let entry = self.entries[Self::input_of(upper << rotated | lower as u32) as usize];
            for (digit, coefficient) in coefficients.iter_mut().enumerate() {
                *coefficient = u64::from(Self::output_digit(entry, digit)) << 62;
            }
        }
        polynomial
    }

    /// The number of polynomials.
    pub(crate) fn polynomial_count(&self, size: usize) -> u32 {
        1 << (self.input_bits - self.rotated_bits(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::GrayBit;

    fn selected(table: &DenseTable, input: u32) -> u32 {
        let bits = table.selectors().into_iter().enumerate().map(|(bit, selector)| {
            let digit = (input >> (2 * u32::from(selector.position)) & 3) as u8;
            u32::from(selector.bit().of(digit)) << bit
        });
        bits.sum()
    }

    #[test]
    fn the_permuted_input_is_that_of_the_selectors() {
        for bits in 1..=7 {
            let table = DenseTable::of_function(bits, bits, |x| x).expect("a table");
            for input in 0..1 << bits {
                assert_eq!(DenseTable::input_of(selected(&table, input)), input, "{bits} bits");
            }
        }
        assert_eq!(GrayBit::BOTH.map(|bit| bit.of(3)), [0, 1]);
    }

    #[test]
    fn every_entry_is_in_its_place() {
        for (bits, output, size) in [(3, 2, 64), (6, 5, 16), (7, 14, 64), (9, 1, 256), (5, 32, 16)] {
            let f = |x: u32| x.wrapping_mul(0x9e37_79b9) >> (32 - output);
            let table = DenseTable::of_function(bits, output, f).expect("a table");
            let count = table.polynomial_count(size);
            let polynomials: Vec<_> = (0..count).map(|upper| table.polynomial(size, upper)).collect();
            let rotated = table.rotated_bits(size);
            assert_eq!(polynomials.len(), 1 << (bits - rotated));
            for input in 0..1u32 << bits {
                let selected = selected(&table, input);
                let (upper, lower) = (selected >> rotated, selected & ((1 << rotated) - 1));
                let from = lower as usize * table.output_digits();
                let digits = polynomials[upper as usize][from..][..table.output_digits()].iter().map(|x| x >> 62);
                let value = digits.enumerate().map(|(i, digit)| (digit as u32) << (2 * i)).sum::<u32>();
                assert_eq!(value, f(input), "{bits} bits to {output}, {input}");
            }
        }
    }

    #[test]
    fn bad_tables_are_refused() {
        let table = |bits, output, positions: &[u8], entries: &[u32]| {
            DenseTable::new(bits, output, positions.to_vec(), entries.to_vec()).map(drop)
        };
        assert_eq!(table(2, 2, &[0], &[0, 1, 2, 3]), Ok(()));
        assert_eq!(table(2, 2, &[0], &[0, 1, 2]), Err(TableError::Entries { given: 3, bits: 2, expected: 4 }));
        let wide = TableError::Entry { index: 3, value: 4, bits: 2, max: 3 };
        assert_eq!(table(2, 2, &[0], &[0, 1, 2, 4]), Err(wide));
        assert_eq!(table(2, 32, &[0], &[u32::MAX; 4]), Ok(()));
        assert_eq!(table(2, 2, &[], &[0; 4]), Err(TableError::Positions { given: 0, expected: 1 }));
        assert_eq!(table(2, 2, &[64], &[0; 4]), Err(TableError::Position { given: 64, max: 63 }));
        assert_eq!(table(4, 2, &[5, 5], &[0; 16]), Err(TableError::RepeatedPosition { given: 5 }));
        assert!(matches!(table(0, 2, &[], &[0]), Err(TableError::Bits { what: "inputs", given: 0, .. })));
        assert!(matches!(table(21, 2, &[], &[]), Err(TableError::Bits { what: "inputs", given: 21, .. })));
        assert!(matches!(table(1, 33, &[0], &[0; 2]), Err(TableError::Bits { what: "entries", given: 33, .. })));
        assert!(DenseTable::of_function(64, 1, |x| x).is_err());
    }
}
