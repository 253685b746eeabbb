//! The front end: fetches instructions, executes the scalar ones, and passes the others to the queues.

use ciphermill_rvfhe::isa::{Instruction, ScalarRegister};

use super::queues::Entry;
use super::{CoreEvent, CoreState, Stepped};
use crate::array::error::SimulationError;
use crate::array::machine::{Issue, Machine};
use crate::array::queued::{Queue, Queued};

impl CoreState {
    #[inline(always)]
    pub(super) fn fetch(&mut self, now: u64, machine: &Machine) -> Stepped {
        let blocking = machine.core.issue == Issue::Blocking;
        let mut modulus_set = false;
        for fetched in 0..machine.core.issue_width {
            if self.done || (blocking && self.is_under_way()) {
                return Ok(fetched > 0);
            }
            let Some(queued) = self.program.get(self.pc) else {
                return Err(SimulationError::PastEnd { core: self.number, pc: self.pc as u32 }.into());
            };
            if let Some(instruction) = self.program.front(queued) {
                if matches!(instruction, Instruction::Csrrw { .. }) {
                    // A modulus can change when all computations with the old one have issued, one per cycle: the lanes
                    // have one port for it.
                    if modulus_set || !self.queues.is_empty(Queue::Compute) {
                        return Ok(fetched > 0);
                    }
                    modulus_set = true;
                }
                self.execute(now, instruction);
            } else {
                let queue = queued.queue();
                if self.queues.is_full(queue) {
                    return Ok(fetched > 0);
                }
                self.queue(now, queue, queued);
            }
        }
        Ok(true)
    }

    /// Appends an instruction to its queue, which has room.
    #[inline(always)]
    fn queue(&mut self, now: u64, queue: Queue, queued: Queued) {
        let (pc, address) = (self.pc as u32, self.address(queued));
        let (ticket, loads) = (self.scoreboard.issue_ticket(queued), self.queues.given(Queue::Load));
        self.queues.push_back(queue, Entry { pc, address, queued, loads, ticket });
        if matches!(queue, Queue::Compute | Queue::Send) {
            self.log(|| CoreEvent::Fetch { cycle: now, pc });
        }
        self.pc += 1;
    }

    fn execute(&mut self, now: u64, instruction: Instruction) {
        use Instruction as I;
        let x = |register: ScalarRegister| self.x[register.number()];
        let mut next = self.pc as i64 + 1;
        let (rd, value) = match instruction {
            I::Lui { rd, immediate } => (rd, immediate.get() << 12),
            I::Addi { rd, rs1, immediate } => (rd, x(rs1).wrapping_add_signed(immediate.get())),
            I::Add { rd, rs1, rs2 } => (rd, x(rs1).wrapping_add(x(rs2))),
            I::Xor { rd, rs1, rs2 } => (rd, x(rs1) ^ x(rs2)),
            I::Bne { rs1, rs2, offset } => {
                if x(rs1) != x(rs2) {
                    next = self.pc as i64 + offset.instructions();
                }
                (ScalarRegister::ZERO, 0)
            }
            I::Jal { rd, offset } => {
                next = self.pc as i64 + offset.instructions();
                (rd, (self.pc as u32 + 1) * 4)
            }
            I::Csrrw { rd, modulus, rs1 } => {
                let (at, new) = (modulus.number(), x(rs1));
                let old = std::mem::replace(&mut self.moduli[at], new);
                // As in the lanes: any other value leaves the register unset.
                let valid = (1..=1 << 31).contains(&new);
                self.moduli_set = self.moduli_set & !(1 << at) | u8::from(valid) << at;
                self.log(|| CoreEvent::Modulus { cycle: now, register: at as u8, value: new });
                (rd, old)
            }
            _ => {
                self.done = true;
                (ScalarRegister::ZERO, 0)
            }
        };
        if rd != ScalarRegister::ZERO {
            self.x[rd.number()] = value;
        }
        // A target before the first instruction is also outside the program.
        self.pc = usize::try_from(next).unwrap_or(usize::MAX);
    }
}
