//! Byte formats of words and tables; docs/tfhe.md draws them.

use ciphermill_wire::{Decoder, Encoder, open, seal, sealed_len};

use super::{BODY_VERSION, TABLE, WORD, elements, put_elements};
use crate::ciphertext::KeyTag;
use crate::error::{TfheError, require_range};
use crate::lwe::LweCiphertext;
use crate::parameters::ParameterSpec;
use crate::word::{DenseTable, Diagram, Edge, MAX_DIGITS, Node, SelectorId, Table, Word};

/// Bytes of the fields before a word's elements.
const WORD_HEADER: u64 = 24;
/// Longest body of a word: 64 digits of dimension 4096.
const MAX_WORD_LEN: u64 = 2 << 20;
/// Longest body of a table: the entries, 4 MiB, and its head.
const MAX_TABLE_LEN: u64 = (4 << 20) + 128;
/// Forms of tables.
const DENSE: u8 = 0;
const DIAGRAM: u8 = 1;
/// Bits of an edge below the constant that raises it.
const RAISED_BITS: u32 = 30;

impl ParameterSpec {
    /// Length in bytes of a sealed word of this many digits.
    #[must_use]
    pub fn sealed_word_len(&self, digits: usize) -> u64 {
        let elements = digits as u64 * self.lwe_dimension.lwe_size() as u64;
        sealed_len(WORD_HEADER + 4 * elements)
    }
}

impl Word {
    /// The sealed bytes.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example_word.txt")]
    /// assert_eq!(Word::from_bytes(&word.to_bytes())?, word);
    /// assert_eq!(word.to_bytes().len() as u64, parameters.sealed_word_len(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Encoder::with_capacity(64);
        out.u64(self.key_tag().0).u16(self.digits().len() as u16).u16(0);
        out.u32(self.digits()[0].dimension().0 as u32).f64(self.variance());
        for digit in self.digits() {
            put_elements(&mut out, digit.elements());
        }
        seal(WORD, BODY_VERSION, &out.into_vec())
    }

    /// Reads sealed bytes.
    ///
    /// # Errors
    /// If they are damaged, of another kind or version, or a field is out of range.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TfheError> {
        let (_, mut input) = open(bytes, WORD, BODY_VERSION..=BODY_VERSION, MAX_WORD_LEN)?;
        let tag = KeyTag(input.u64()?);
        let digits = usize::from(input.u16()?);
        require_range("digits of a word", digits as u64, 1, MAX_DIGITS as u64)?;
        require_range("reserved field", u64::from(input.u16()?), 0, 0)?;
        let dimension = input.u32()?;
        require_range("LWE dimension", u64::from(dimension), 1, 4096)?;
        let variance = input.f64()?;
        let size = dimension as usize + 1;
        let all: Vec<u32> = elements(&mut input, digits * size)?;
        input.finish()?;
        let digits = all.chunks_exact(size).map(|digit| LweCiphertext::from_elements(digit.to_vec()));
        Self::new(tag, digits.collect(), variance)
    }
}

/// Bytes of an entry.
fn entry_bytes(output_bits: u32) -> usize {
    output_bits.div_ceil(8) as usize
}

impl Table {
    /// The sealed bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Encoder::with_capacity(64);
        match self {
            Self::Dense(table) => {
                out.u8(DENSE).u8(table.input_bits() as u8).u8(table.output_bits() as u8).u8(0);
                out.bytes(table.positions());
                let width = entry_bytes(table.output_bits());
                for entry in table.entries() {
                    out.bytes(&entry.to_le_bytes()[..width]);
                }
            }
            Self::Diagram(diagram) => {
                out.u8(DIAGRAM).u8(diagram.outputs().len() as u8).u16(0).u32(diagram.nodes().len() as u32);
                diagram.outputs().iter().for_each(|&edge| put_edge(&mut out, edge));
                for Node { selector, edges } in diagram.nodes() {
                    out.u8(selector.position).u8(selector.high.into()).u16(0);
                    edges.iter().for_each(|&edge| put_edge(&mut out, edge));
                }
            }
        }
        seal(TABLE, BODY_VERSION, &out.into_vec())
    }

    /// Reads sealed bytes.
    ///
    /// # Errors
    /// If they are damaged, of another kind or version, or not those of a table.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TfheError> {
        let (_, mut input) = open(bytes, TABLE, BODY_VERSION..=BODY_VERSION, MAX_TABLE_LEN)?;
        let table = match input.u8()? {
            DENSE => Self::Dense(dense(&mut input)?),
            DIAGRAM => Self::Diagram(diagram(&mut input)?),
            given => return Err(TfheError::Field { what: "form of a table", given: given.into(), min: 0, max: 1 }),
        };
        input.finish()?;
        Ok(table)
    }
}

fn dense(input: &mut Decoder<'_>) -> Result<DenseTable, TfheError> {
    let (input_bits, output_bits) = (u32::from(input.u8()?), u32::from(input.u8()?));
    require_range("reserved field", u64::from(input.u8()?), 0, 0)?;
    // Judged before anything of that size is read.
    DenseTable::check_bits(input_bits, output_bits)?;
    let positions = input.bytes(input_bits.div_ceil(2) as usize)?.to_vec();
    let width = entry_bytes(output_bits);
    let entries = input.bytes(width << input_bits)?.chunks_exact(width);
    let entry = |bytes: &[u8]| bytes.iter().rev().fold(0, |entry, &byte| entry << 8 | u32::from(byte));
    Ok(DenseTable::new(input_bits, output_bits, positions, entries.map(entry).collect())?)
}

fn put_edge(out: &mut Encoder, edge: Edge) {
    out.u32(match edge {
        Edge::Digit(digit) => digit.into(),
        Edge::Node(index) => 4 + index,
        Edge::Raised { node, digit } => u32::from(digit) << RAISED_BITS | (4 + node),
    });
}

fn edge(input: &mut Decoder<'_>) -> Result<Edge, TfheError> {
    let word = input.u32()?;
    let (digit, place) = ((word >> RAISED_BITS) as u8, word & ((1 << RAISED_BITS) - 1));
    match (place.checked_sub(4), digit) {
        (None, 0) => Ok(Edge::Digit(place as u8)),
        (None, _) => {
            Err(TfheError::Field { what: "constant of an edge without a node", given: digit.into(), min: 0, max: 0 })
        }
        (Some(node), 0) => Ok(Edge::Node(node)),
        (Some(node), digit) => Ok(Edge::Raised { node, digit }),
    }
}

fn diagram(input: &mut Decoder<'_>) -> Result<Diagram, TfheError> {
    let outputs = usize::from(input.u8()?);
    require_range("reserved field", u64::from(input.u16()?), 0, 0)?;
    let nodes = input.u32()? as usize;
    Diagram::check_sizes(nodes, outputs)?;
    let outputs = (0..outputs).map(|_| edge(input)).collect::<Result<Vec<_>, _>>()?;
    let node = |_| -> Result<Node, TfheError> {
        let (position, high) = (input.u8()?, input.u8()?);
        require_range("bit of a selector", high.into(), 0, 1)?;
        require_range("reserved field", u64::from(input.u16()?), 0, 0)?;
        Ok(Node { selector: SelectorId { position, high: high == 1 }, edges: [edge(input)?, edge(input)?] })
    };
    let nodes = (0..nodes).map(node).collect::<Result<Vec<_>, _>>()?;
    Ok(Diagram::new(nodes, outputs)?)
}
