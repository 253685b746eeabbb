//! The front end: fetches instructions, does the scalar ones, and hands the others to the queues.

use ciphermill_rvfhe::isa::{Instruction, ScalarRegister};

use super::{CoreEvent, CoreState, Entry};
use crate::array::error::SimulationError;
use crate::array::machine::{Issue, Machine};
use crate::array::program::{QUEUES, Queue, Step};

impl CoreState {
    pub(super) fn fetch(&mut self, now: u64, machine: &Machine) -> Result<bool, SimulationError> {
        let program = std::mem::take(&mut self.program);
        let fetched = self.fetch_from(now, &program, machine);
        self.program = program;
        fetched
    }

    pub(super) fn fetch_from(
        &mut self,
        now: u64,
        program: &[Step],
        machine: &Machine,
    ) -> Result<bool, SimulationError> {
        let mut moved = false;
        let mut modulus_set = false;
        for _ in 0..machine.core.issue_width {
            if self.done || (machine.core.issue == Issue::Blocking && self.is_under_way()) {
                break;
            }
            let Some(step) = program.get(self.pc) else {
                return Err(SimulationError::PastEnd { core: self.number, pc: self.pc as u32 });
            };
            match step {
                // A modulus is changed when all that needs the old one has begun, one in a cycle: the lanes have one port for it.
                Step::Front(Instruction::Csrrw { .. })
                    if modulus_set || !self.queues[Queue::Compute as usize].is_empty() =>
                {
                    break;
                }
                Step::Front(instruction) => {
                    modulus_set |= matches!(instruction, Instruction::Csrrw { .. });
                    self.execute(now, *instruction);
                }
                Step::Queued(queued) => {
                    let number = self.goes_to[queued.queue as usize] as usize;
                    if self.queues[number].len() >= machine.core.queue_depth {
                        break;
                    }
                    let (needs, writes) = queued.touches();
                    let after = self.follow(needs | writes, number);
                    self.loads_given += u32::from(queued.queue == Queue::Load);
                    let entry = Entry {
                        pc: self.pc as u32,
                        address: self.address(queued),
                        needs,
                        writes,
                        after,
                        loads: self.loads_given,
                        queued: *queued,
                    };
                    self.queues[number].push_back(entry);
                    if matches!(queued.queue, Queue::Compute | Queue::Send) {
                        self.log(|| CoreEvent::Fetch { cycle: now, pc: entry.pc });
                    }
                    self.pc += 1;
                }
            }
            moved = true;
        }
        Ok(moved)
    }

    /// Gives an instruction its number in a queue, and says how many must have left each queue before it.
    #[inline]
    fn follow(&mut self, mut touched: u64, queue: usize) -> [u32; QUEUES] {
        self.given[queue] = self.given[queue].wrapping_add(1);
        // Nothing to wait for in a queue is what has left it.
        let mut after = self.left;
        while touched != 0 {
            let last = &mut self.last[touched.trailing_zeros() as usize];
            touched &= touched - 1;
            let (other, count) = std::mem::replace(last, (queue as u8, self.given[queue]));
            let other = usize::from(other);
            // Its own queue keeps the order by itself.
            if other != queue && count.wrapping_sub(after[other]).cast_signed() > 0 {
                after[other] = count;
            }
        }
        after
    }

    pub(super) fn execute(&mut self, now: u64, instruction: Instruction) {
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
                // As the lanes take it: anything else leaves the register unset.
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
        // Before the first instruction is past the end, too.
        self.pc = usize::try_from(next).unwrap_or(usize::MAX);
    }
}
