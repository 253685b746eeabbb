//! Words of digits, and exact functions of them by tables.
//!
//! A *word* of b bits is ⌈b/2⌉ digits of two bits, the lowest first. [`circuit`](crate::circuit) defines digits and their
//! selectors. The selectors of a word look up any number of [tables](Table), and each result is a word again.
//!
//! ```text
//! selectors + table ─► CMux tree ─► rotation by selectors ─► digits in adjacent coefficients ─► extract, key switch
//! ```
//!
//! - A **dense** table has an entry for each input. The D digits of an entry are D adjacent coefficients. A polynomial holds
//!   ⌊N'/D⌋ entries: the low bits of the input rotate the polynomial, the others choose it in a tree. This is vertical packing
//!   (Chillotti, Gama, Georgieva, Izabachène, "TFHE: fast fully homomorphic encryption over the torus", 2020, section 5).
//! - A **diagram** is a reduced decision diagram with a CMux for each node: for functions of many bits that have a small one.
//!
//! [`mod@reference`] evaluates both with schoolbook products.

mod cipher;
mod diagram;
pub mod reference;
mod table;

pub use cipher::{DIGIT_BITS, Word};
pub use diagram::{Diagram, Edge, MAX_LIVE_NODES, Node};
pub use table::{DenseTable, MAX_DENSE_BITS, MAX_DIGITS, MAX_POSITIONS, Table, TableError};

use crate::circuit::GrayBit;

/// A selector of a word: the Gray bit of the digit at a position.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// // 50 in three digits: 2, 0, 3. The bits of the highest digit are h = 1 and h ⊕ l = 0.
/// let [sum, high] = [false, true].map(|high| SelectorId { position: 2, high });
/// assert_eq!((high.bit().of(3), sum.bit().of(3)), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SelectorId {
    /// Position of the digit, 0 to 63.
    pub position: u8,
    /// Whether it is the high bit h, or h ⊕ l.
    pub high: bool,
}

impl SelectorId {
    /// The bit of a digit that it encrypts.
    #[must_use]
    pub const fn bit(self) -> GrayBit {
        if self.high { GrayBit::High } else { GrayBit::Sum }
    }
}

#[cfg(test)]
mod tests;
