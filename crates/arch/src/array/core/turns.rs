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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::array::queued::{ALL_QUEUES, FIRST_TWIDDLE, NONE, Operation, Parts, Queue};

    /// An instruction as decoding makes them: registers that its kind names, pairs that begin with even numbers.
    fn instruction(kind: u8, [a, b, c]: [u8; 3]) -> (Queue, Queued) {
        let twiddle = FIRST_TWIDDLE + c % 16;
        let (operation, queue, [rd, rs1, rs2]) = match kind % 6 {
            0 => (Operation::LoadRow, Queue::Load, [a, NONE.rs1, NONE.rs2]),
            1 => (Operation::LoadTwiddles, Queue::Twiddle, [twiddle, NONE.rs1, NONE.rs2]),
            2 => (Operation::Copy, Queue::Send, [NONE.rd, a, NONE.rs2]),
            3 => (Operation::Add, Queue::Compute, [a, b, c]),
            4 => (Operation::Multiply, Queue::Compute, [a, b, twiddle]),
            _ => (Operation::ComplexTime, Queue::Compute, [a & !1, b & !1, twiddle]),
        };
        (queue, Queued::new(Parts { operation, queue, rd, rs1, rs2, ..NONE }))
    }

    /// The registers that it touches, a bit for each.
    fn touched(queued: Queued) -> u64 {
        queued.needs() | queued.writes()
    }

    proptest! {
        /// It is an instruction's turn when none before it that is still there touches one of its registers, also where counts begin anew.
        #[test]
        fn nothing_before_it_touches_the_same(
            start in prop_oneof![Just(0), u16::MAX - 40..=u16::MAX],
            program in prop::collection::vec((any::<u8>(), [0..32_u8, 0..32_u8, 0..32_u8]), 1..200),
            leaves in prop::collection::vec(0..4_usize, 600),
        ) {
            let mut turns = Turns { fetched: [start; REGISTERS], left: [start; REGISTERS] };
            let mut there: Vec<(Queue, Queued, Turn)> = Vec::new();
            let mut left = leaves.into_iter().cycle();
            let mut program = program.into_iter();
            loop {
                if there.len() < 40 && let Some((kind, registers)) = program.next() {
                    let (queue, queued) = instruction(kind, registers);
                    there.push((queue, queued, turns.take(queued)));
                } else if there.is_empty() {
                    break;
                }
                // Only heads of queues are asked, and leave.
                let heads = ALL_QUEUES.map(|queue| there.iter().position(|(of, ..)| *of == queue));
                let mut ready = [false; 4];
                for (ready, at) in ready.iter_mut().zip(heads) {
                    let Some(at) = at else { continue };
                    let (queue, queued, turn) = &there[at];
                    *ready = match queue {
                        Queue::Load | Queue::Twiddle => turns.is_of_load(*queued, turn),
                        Queue::Send => turns.is_of_sent(*queued, turn),
                        Queue::Compute => turns.is_of_computation(*queued, turn),
                    };
                    let free = there[..at].iter().all(|(_, before, _)| touched(*before) & touched(*queued) == 0);
                    prop_assert_eq!(*ready, free, "{:?} behind {:?}", queued, &there[..at]);
                }
                // The first of all can always go.
                let first = left.next().unwrap_or(0);
                let Some(queue) = (0..4).map(|at| (first + at) % 4).find(|at| ready[*at]) else {
                    prop_assert!(false, "nothing can go on");
                    break;
                };
                if let Some(at) = heads[queue] {
                    let (queue, queued, _) = there.remove(at);
                    match queue {
                        Queue::Load | Queue::Twiddle => turns.load_leaves(queued),
                        Queue::Send => turns.sent_leaves(queued),
                        Queue::Compute => turns.computation_leaves(queued),
                    }
                }
            }
        }
    }
}
