//! The scoreboard: instructions that touch the same register leave their queues in program order.
//!
//! Each register has two counters: the instructions fetched that touch it, and those that have left their queue. At fetch an instruction
//! records the first counters of its registers as its ticket. It may leave when the second counters have reached the ticket.

use crate::array::queued::{Queued, REGISTERS};

/// The number of earlier instructions that touch `rd`, `rs1`, `rs2` and, for register pairs, the second registers of `rd` and `rs1`.
/// Counted modulo 2^16: a core's queues hold far fewer instructions.
pub(super) type Ticket = [u16; 5];

/// Two counters per register. An operand that is not used counts at the index of `NO_REGISTER`, which is never compared.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    fetched: [u16; REGISTERS],
    left: [u16; REGISTERS],
}

fn named(queued: Queued) -> [usize; 3] {
    [queued.rd(), queued.rs1(), queued.rs2()].map(usize::from)
}

fn with_seconds([rd, rs1, rs2]: [usize; 3]) -> [usize; 5] {
    [rd, rs1, rs2, rd + 1, rs1 + 1].map(|register| register % REGISTERS)
}

/// Increments the counter of each register and returns the counts before. A register that is named twice counts twice, and both of its
/// entries get the same count.
#[inline(always)]
fn count<const N: usize>(counts: &mut [u16; REGISTERS], registers: [usize; N]) -> [u16; N] {
    let before = registers.map(|register| counts[register]);
    for register in registers {
        counts[register] = counts[register].wrapping_add(1);
    }
    before
}

impl Scoreboard {
    pub(super) fn new() -> Self {
        Self { fetched: [0; REGISTERS], left: [0; REGISTERS] }
    }

    /// Issues the ticket of a fetched instruction.
    #[inline(always)]
    pub(super) fn issue_ticket(&mut self, queued: Queued) -> Ticket {
        if queued.has_pairs() {
            return count(&mut self.fetched, with_seconds(named(queued)));
        }
        let [rd, rs1, rs2] = count(&mut self.fetched, named(queued));
        [rd, rs1, rs2, 0, 0]
    }

    /// Whether all earlier instructions on the register of a load have left. A load touches `rd` only.
    #[inline(always)]
    pub(super) fn admits_load(&self, queued: Queued, ticket: &Ticket) -> bool {
        self.left[usize::from(queued.rd())] == ticket[0]
    }

    /// Whether all earlier instructions on the register of a copy or a store have left. They touch `rs1` only.
    #[inline(always)]
    pub(super) fn admits_send(&self, queued: Queued, ticket: &Ticket) -> bool {
        self.left[usize::from(queued.rs1())] == ticket[1]
    }

    /// Whether all earlier instructions on the registers of a computation have left. The end of a phase touches no register and has no
    /// ticket.
    #[inline(always)]
    pub(super) fn admits_computation(&self, queued: Queued, ticket: &Ticket) -> bool {
        let registers = named(queued);
        if queued.has_pairs() {
            return with_seconds(registers).map(|register| self.left[register]) == *ticket;
        }
        let [rd, rs1, rs2] = registers.map(|register| self.left[register]);
        (rd ^ ticket[0]) | (rs1 ^ ticket[1]) | (rs2 ^ ticket[2]) == 0
    }

    #[inline(always)]
    pub(super) fn load_leaves(&mut self, queued: Queued) {
        count(&mut self.left, [queued.rd().into()]);
    }

    #[inline(always)]
    pub(super) fn send_leaves(&mut self, queued: Queued) {
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

    /// An instruction as the decoder builds it: with the registers of its kind, and pairs that start at even numbers.
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

    /// The registers that the instruction touches, as a bit mask.
    fn touched(queued: Queued) -> u64 {
        queued.needs() | queued.writes()
    }

    proptest! {
        /// An instruction is admitted exactly when no earlier queued instruction touches one of its registers, also where counters wrap.
        #[test]
        fn admits_exactly_independent_instructions(
            start in prop_oneof![Just(0), u16::MAX - 40..=u16::MAX],
            program in prop::collection::vec((any::<u8>(), [0..32_u8, 0..32_u8, 0..32_u8]), 1..200),
            leaves in prop::collection::vec(0..4_usize, 600),
        ) {
            let mut scoreboard = Scoreboard { fetched: [start; REGISTERS], left: [start; REGISTERS] };
            let mut waiting: Vec<(Queue, Queued, Ticket)> = Vec::new();
            let mut left = leaves.into_iter().cycle();
            let mut program = program.into_iter();
            loop {
                if waiting.len() < 40 && let Some((kind, registers)) = program.next() {
                    let (queue, queued) = instruction(kind, registers);
                    waiting.push((queue, queued, scoreboard.issue_ticket(queued)));
                } else if waiting.is_empty() {
                    break;
                }
                // Only the heads of the queues are tested and can leave.
                let heads = ALL_QUEUES.map(|queue| waiting.iter().position(|(of, ..)| *of == queue));
                let mut ready = [false; 4];
                for (ready, at) in ready.iter_mut().zip(heads) {
                    let Some(at) = at else { continue };
                    let (queue, queued, ticket) = &waiting[at];
                    *ready = match queue {
                        Queue::Load | Queue::Twiddle => scoreboard.admits_load(*queued, ticket),
                        Queue::Send => scoreboard.admits_send(*queued, ticket),
                        Queue::Compute => scoreboard.admits_computation(*queued, ticket),
                    };
                    let free = waiting[..at].iter().all(|(_, before, _)| touched(*before) & touched(*queued) == 0);
                    prop_assert_eq!(*ready, free, "{:?} behind {:?}", queued, &waiting[..at]);
                }
                // The oldest instruction can always leave.
                let first = left.next().unwrap_or(0);
                let Some(queue) = (0..4).map(|at| (first + at) % 4).find(|at| ready[*at]) else {
                    prop_assert!(false, "deadlock");
                    break;
                };
                if let Some(at) = heads[queue] {
                    let (queue, queued, _) = waiting.remove(at);
                    match queue {
                        Queue::Load | Queue::Twiddle => scoreboard.load_leaves(queued),
                        Queue::Send => scoreboard.send_leaves(queued),
                        Queue::Compute => scoreboard.computation_leaves(queued),
                    }
                }
            }
        }
    }
}
