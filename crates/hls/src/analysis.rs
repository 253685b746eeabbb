//! Exact banks, conflicts and dependence distances: each index that depends on loop variables alone is evaluated in every
//! iteration.

mod dependences;

use crate::diagnostic::Result;
use crate::ir::{Access, Full, Graph, Kernel, Memory, Node, Op, Role};
use crate::pragma::{Division, Mode, Ports};
pub use dependences::{Dependence, Distance, Trusted, distances, trusted};
pub(crate) use dependences::{MAX_DISTANCES, check_independence, distances_within};

/// How a memory is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The number of banks.
    pub banks: usize,
    /// Elements of a bank.
    pub depth: usize,
    /// Elements of a bank in each dimension, and banks in each dimension.
    dimensions: Vec<(Division, usize, usize)>,
}

impl Layout {
    /// The layout of a memory.
    #[must_use]
    pub fn of(memory: &Memory) -> Self {
        // A table has a copy for each access, so it needs no banks.
        let is_table = matches!(memory.role, Role::Table(_));
        let dimension = |(&length, division): (&usize, &Option<Division>)| {
            let division = division.filter(|_| !is_table).unwrap_or(Division::Block(1));
            let banks = match division {
                Division::Complete => length,
                Division::Block(banks) | Division::Cyclic(banks) => (banks as usize).min(length),
            };
            (division, length.div_ceil(banks), banks)
        };
        let dimensions: Vec<_> = memory.lengths.iter().zip(&memory.divisions).map(dimension).collect();
        let product = |of: fn(&(Division, usize, usize)) -> usize| dimensions.iter().map(of).product();
        Self { banks: product(|one| one.2), depth: product(|one| one.1), dimensions }
    }

    /// The banks of each dimension.
    pub(crate) fn banks_of_dimensions(&self) -> impl Iterator<Item = usize> {
        self.dimensions.iter().map(|(_, _, banks)| *banks)
    }

    /// The bank and the row of an element.
    #[must_use]
    pub fn place(&self, indices: impl IntoIterator<Item = usize>) -> (usize, usize) {
        self.dimensions.iter().zip(indices).fold((0, 0), |(bank, row), (&(division, depth, banks), index)| {
            let (within_bank, within_row) = match division {
                Division::Complete => (index, 0),
                Division::Block(_) => (index / depth, index % depth),
                Division::Cyclic(_) => (index % banks, index / banks),
            };
            (bank * banks + within_bank, row * depth + within_row)
        })
    }

    /// Nodes of the bank and the row of an element with these indices.
    pub(crate) fn nodes(&self, graph: &mut Graph, indices: &[Node]) -> Result<(Node, Node), Full> {
        let mut add = |op: Op| graph.add(op);
        let zero = add(Op::Const(0))?;
        let (mut bank, mut row) = (zero, zero);
        for (&(division, depth, banks), &index) in self.dimensions.iter().zip(indices) {
            let (within_bank, within_row) = match division {
                Division::Complete => (index, zero),
                Division::Block(_) => (add(Op::Div(index, depth as i128))?, add(Op::Rem(index, depth as i128))?),
                Division::Cyclic(_) => (add(Op::Rem(index, banks as i128))?, add(Op::Div(index, banks as i128))?),
            };
            let mut joined = |high: Node, low: Node, factor: usize| {
                let factor = add(Op::Const(factor as i128))?;
                let scaled = add(Op::Mul(high, factor))?;
                add(Op::Add(scaled, low))
            };
            bank = joined(bank, within_bank, banks)?;
            row = joined(row, within_row, depth)?;
        }
        Ok((bank, row))
    }
}

/// One access in one iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The element; `None` if its index is known only at run time.
    pub element: Option<usize>,
    /// The bank of the element; `None` if it is known only at run time.
    pub bank: Option<usize>,
}

/// All visits of a kernel, by access and then by iteration; `None` where the access does not happen.
#[derive(Clone, Debug)]
pub struct Visits(Vec<Vec<Option<Visit>>>);

impl Visits {
    /// Evaluates all indices.
    #[must_use]
    pub fn of(kernel: &Kernel, memories: &[Memory]) -> Self {
        let of_access = |access: &Access| {
            let memory = &memories[access.memory];
            let layout = Layout::of(memory);
            let visit = |iteration: usize| {
                if access.condition.is_some_and(|condition| kernel.graph.is_false_in(condition, iteration)) {
                    return None;
                }
                let indices: Option<Vec<i64>> = access
                    .indices
                    .iter()
                    .map(|&index| kernel.graph.value_in(index, iteration).map(|v| v as i64))
                    .collect();
                Some(match indices {
                    Some(indices) => Visit {
                        element: Some(memory.element(indices.iter().copied())),
                        bank: Some(layout.place(indices.iter().map(|&index| index as usize)).0),
                    },
                    None => Visit { element: None, bank: (layout.banks == 1).then_some(0) },
                })
            };
            (0..kernel.iterations()).map(visit).collect()
        };
        Self(kernel.accesses.iter().map(of_access).collect())
    }

    /// The visit of an access in an iteration.
    #[must_use]
    pub fn get(&self, access: usize, iteration: usize) -> Option<Visit> {
        self.0[access][iteration]
    }
}

/// Two accesses that meet in a bank in the same iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The first access.
    pub first: usize,
    /// The second access.
    pub second: usize,
    /// The first iteration in which they meet.
    pub iteration: usize,
}

/// Whether both use the same kind of port.
fn compete(memory: &Memory, a: &Access, b: &Access) -> bool {
    match memory.ports {
        Ports::ReadAndWrite => a.written.is_some() == b.written.is_some(),
        Ports::TwoOfAny => true,
    }
}

/// Whether an array is built of registers. Registers have as many ports as their accesses need. A stream has one place, and a
/// table of one element is read as other tables.
#[must_use]
pub fn is_registers(memory: &Memory) -> bool {
    let is_written = memory.mode != Some(Mode::Stream) && !matches!(memory.role, Role::Table(_));
    is_written && Layout::of(memory).depth == 1
}

/// Rows up to which a table is built of LUTs.
const LUT_TABLE_ROWS: usize = 512;
/// Rows up to which a bank with a port to read and a port to write is built of LUTs.
const LUT_MEMORY_ROWS: usize = 256;

/// Whether the banks of an array, or the copies of a table, are block memories. Others are built of LUTs or registers.
///
/// A bank with two ports, each of which reads or writes, is always a block memory. A block memory does not define the data of
/// a read if another port writes the same element in the same cycle.
#[must_use]
pub fn is_block(memory: &Memory) -> bool {
    let has_two_ports = memory.ports == Ports::TwoOfAny && !is_registers(memory);
    match memory.role {
        Role::Table(_) => memory.len() > LUT_TABLE_ROWS,
        _ if memory.mode == Some(Mode::Stream) => false,
        _ => has_two_ports || Layout::of(memory).depth > LUT_MEMORY_ROWS,
    }
}

/// Cycles from the request of a read of a block memory to its data.
pub(crate) const BLOCK_READ_CYCLES: u32 = 3;

/// Cycles from the request of a read to its data.
///
/// The ports of banks have registers, and so has the output of a block memory: its data comes late in a cycle.
#[must_use]
pub fn read_cycles(memory: &Memory) -> u32 {
    match memory.role {
        _ if is_registers(memory) => 0,
        Role::Table(_) => 1,
        _ if memory.mode == Some(Mode::Stream) => 1,
        _ if is_block(memory) => BLOCK_READ_CYCLES,
        _ => 2,
    }
}

/// Pairs of accesses that meet in a bank in the same iteration, for memories that have ports. Tables have no ports, but a
/// copy for each access.
#[must_use]
pub fn conflicts(kernel: &Kernel, memories: &[Memory], visits: &Visits) -> Vec<Conflict> {
    let mut found = Vec::new();
    for (second, b) in kernel.accesses.iter().enumerate() {
        let memory = &memories[b.memory];
        if matches!(memory.role, Role::Table(_)) || is_registers(memory) {
            continue;
        }
        for (first, a) in kernel.accesses[..second].iter().enumerate() {
            if a.memory != b.memory || !compete(memory, a, b) {
                continue;
            }
            let meet = |iteration: usize| match (visits.get(first, iteration), visits.get(second, iteration)) {
                (Some(x), Some(y)) => x.bank.is_none() || y.bank.is_none() || x.bank == y.bank,
                _ => false,
            };
            if let Some(iteration) = (0..kernel.iterations()).find(|&iteration| meet(iteration)) {
                found.push(Conflict { first, second, iteration });
            }
        }
    }
    found
}
