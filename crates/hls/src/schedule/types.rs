//! Schedules.

use crate::analysis::{Layout, is_registers};
use crate::ir::{Kernel, Memory, Node};
use crate::pragma::Mode;

/// The bank and the row of each access, as nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The bank.
    pub bank: Node,
    /// The row in the bank.
    pub row: Node,
}

impl Address {
    /// The bank and the row, if the hardware of an access needs them. A stream has no address, one bank is not selected, and a
    /// bank of registers has one row.
    pub(crate) fn needed(self, memory: &Memory) -> (Option<Node>, Option<Node>) {
        let has_address = memory.mode != Some(Mode::Stream);
        let bank = (has_address && Layout::of(memory).banks > 1).then_some(self.bank);
        (bank, (has_address && !is_registers(memory)).then_some(self.row))
    }
}

/// A schedule of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Cycles from iteration to iteration.
    pub interval: u32,
    /// Idle cycles after each run of the innermost loop.
    pub gap: u32,
    /// The cycle in which a node has its value, and the time in that cycle in ns; by node.
    pub nodes: Vec<(u32, f64)>,
    /// The cycle of the request; by access. The data of a read arrives two cycles later from a memory of LUTs, three cycles
    /// later from a block memory, one cycle later from a table or a stream, and in the same cycle from registers.
    pub accesses: Vec<u32>,
    /// The port of its bank that an access uses; by access. It can be 1 only if a bank has two ports of any kind.
    pub ports: Vec<u8>,
    /// Cycles of an iteration.
    pub depth: u32,
    /// The least interval that ports allow, and that dependences allow.
    pub bounds: (u32, u32),
    /// Whether it is proven that no shorter interval ends the run earlier with an iteration at most twice as long.
    pub proven: bool,
}

impl Schedule {
    /// The cycle in which an iteration begins.
    #[must_use]
    pub fn start(&self, kernel: &Kernel, iteration: usize) -> u64 {
        let innermost = kernel.loops.last().map_or(1, |one| one.trips.max(1));
        u64::from(self.interval) * iteration as u64 + u64::from(self.gap) * (iteration / innermost) as u64
    }

    /// Cycles from the beginning of the first iteration to the last write.
    #[must_use]
    pub fn cycles(&self, kernel: &Kernel) -> u64 {
        self.start(kernel, kernel.iterations() - 1) + u64::from(self.depth)
    }
}
