//! The order of instructions that touch the same register: that in which they were fetched.
//!
//! Each register counts the instructions that touch it, those fetched and those that have left their queue. An instruction takes the first
//! counts of its registers with it, and it is its turn when as many have left.

use crate::array::queued::{Queued, REGISTERS};

/// How many instructions before one touch its `rd`, `rs1` and `rs2` and, if those are pairs, the second registers of the first two. Modulo
/// 2^16, as far fewer wait in a core's queues.
pub(super) type Turn = [u16; 5];

/// Counts of all registers. Where an instruction names none it counts at the place that stands for none, which nobody asks.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    fetched: [u16; REGISTERS],
    left: [u16; REGISTERS],
}

fn named(queued: Queued) -> [usize; 3] {
    [queued.rd(), queued.rs1(), queued.rs2()].map(usize::from)
}

fn with_seconds([rd, rs1, rs2]: [usize; 3]) -> [usize; 5] {
    [rd, rs1, rs2, rd + 1, rs1 + 1].map(|register| register % REGISTERS)
}

/// Counts one more for each, and gives the counts before: a register that is named twice counts twice, from one number on.
#[inline(always)]
fn count<const N: usize>(counts: &mut [u16; REGISTERS], registers: [usize; N]) -> [u16; N] {
    let before = registers.map(|register| counts[register]);
    for register in registers {
        counts[register] = counts[register].wrapping_add(1);
    }
    before
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { fetched: [0; REGISTERS], left: [0; REGISTERS] }
    }

    /// The turn of an instruction that is fetched.
    #[inline(always)]
    pub(super) fn take(&mut self, queued: Queued) -> Turn {
        if queued.has_pairs() {
            return count(&mut self.fetched, with_seconds(named(queued)));
        }
        let [rd, rs1, rs2] = count(&mut self.fetched, named(queued));
        [rd, rs1, rs2, 0, 0]
    }

    /// Whether it is the turn of a load, which touches `rd` only.
    #[inline(always)]
    pub(super) fn is_of_load(&self, queued: Queued, turn: &Turn) -> bool {
        self.left[usize::from(queued.rd())] == turn[0]
    }

    /// Whether it is the turn of a copy or a store, which touches `rs1` only.
    #[inline(always)]
    pub(super) fn is_of_sent(&self, queued: Queued, turn: &Turn) -> bool {
        self.left[usize::from(queued.rs1())] == turn[1]
    }

    /// Whether it is the turn of a computation. The end of a phase touches nothing, and has no turn.
    #[inline(always)]
    pub(super) fn is_of_computation(&self, queued: Queued, turn: &Turn) -> bool {
        let registers = named(queued);
        if queued.has_pairs() {
            return with_seconds(registers).map(|register| self.left[register]) == *turn;
        }
        let [rd, rs1, rs2] = registers.map(|register| self.left[register]);
        (rd ^ turn[0]) | (rs1 ^ turn[1]) | (rs2 ^ turn[2]) == 0
    }

    #[inline(always)]
    pub(super) fn load_leaves(&mut self, queued: Queued) {
        count(&mut self.left, [queued.rd().into()]);
    }

    #[inline(always)]
    pub(super) fn sent_leaves(&mut self, queued: Queued) {
        count(&mut self.left, [queued.rs1().into()]);
    }

    #[inline(always)]
    pub(super) fn computation_leaves(&mut self, queued: Queued) {
        if queued.has_pairs() {
            count(&mut self.left, with_seconds(named(queued)));
        } else {
            count(&mut self.left, named(queued));
        }
    }
}
