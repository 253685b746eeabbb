//! Computations: their issue conditions and their results.

use super::{CoreEvent, CoreState, MODULI, Shared, Stepped, twiddle, vector};
use crate::array::error::SimulationError;
use crate::array::lanes;
use crate::array::machine::{Firing, Issue, Machine};
use crate::array::queued::{Operation, Queue, Queued};

impl CoreState {
    #[inline(always)]
    pub(super) fn compute(&mut self, now: u64, shared: &mut Shared<'_>) -> Stepped {
        let Some(head) = self.queues.front(Queue::Compute).copied() else {
            self.counts.no_instruction += 1;
            return Ok(false);
        };
        let queued = head.queued;
        if queued.is(Operation::Phase) {
            let ends = shared.machine.core.firing == Firing::Operand
                || self.loads_done.wrapping_sub(head.loads).cast_signed() >= 0;
            if ends {
                self.queues.pop_front(Queue::Compute);
            }
            self.counts.operand += 1;
            return Ok(ends);
        }
        if !self.has_operands(queued) || !self.scoreboard.admits_computation(queued, &head.ticket) {
            self.count_wait(queued);
            return Ok(false);
        }
        if now < self.lanes_until {
            self.counts.unit += 1;
            return Ok(false);
        }
        let complex = queued.has_pairs();
        if !complex && self.moduli_set >> queued.modulus() & 1 == 0 {
            let (core, pc, modulus) = (self.number, head.pc, queued.modulus());
            return Err(SimulationError::ModulusNotSet { core, pc, modulus }.into());
        }
        if complex {
            if now < self.complex_until {
                self.counts.unit += 1;
                return Ok(false);
            }
            self.complex_until = now + u64::from(shared.machine.lane.complex_interval);
        } else if !self.take_units(queued.operation()) {
            self.counts.unit += 1;
            return Ok(false);
        }
        if shared.machine.core.issue == Issue::Unpipelined {
            self.lanes_until = now + u64::from(duration(queued.operation(), shared.machine));
        }
        self.full &= !queued.frees();
        self.calculate(now, queued, shared.machine);
        self.log(|| CoreEvent::Issue { cycle: now, pc: head.pc, words: Vec::new() });
        self.queues.pop_front(Queue::Compute);
        self.scoreboard.computation_leaves(queued);
        Ok(true)
    }

    /// Whether the operands are full and no result is pending for the destination. An operand that is updated in place
    /// is full and therefore not pending. Equivalent to [`Queued::needs`] and [`Queued::writes`], with fewer steps.
    #[inline(always)]
    fn has_operands(&self, queued: Queued) -> bool {
        if queued.has_pairs() {
            return queued.needs() & !self.full == 0;
        }
        let destination = if queued.is(Operation::Butterfly) { self.full } else { !self.pending };
        (self.full >> queued.rs1()) & (self.full >> queued.rs2()) & (destination >> queued.rd()) & 1 != 0
    }

    #[inline(always)]
    fn count_wait(&mut self, queued: Queued) {
        let missing = queued.needs() & !self.full;
        let vectors = u64::from(u32::MAX);
        if missing & vectors == 0 && missing != 0 {
            self.counts.twiddle += 1;
        } else {
            self.counts.operand += 1;
        }
    }

    /// Reserves adders and write ports. Returns false if one of them is taken.
    #[inline(always)]
    fn take_units(&mut self, operation: Operation) -> bool {
        let wanted = match operation {
            Operation::Add | Operation::Subtract => self.reservations.sum,
            Operation::Multiply => self.reservations.product,
            _ => self.reservations.butterfly,
        };
        let free = self.units & wanted == 0;
        if free {
            self.units |= wanted;
        }
        free
    }

    #[inline(always)]
    fn calculate(&mut self, now: u64, queued: Queued, machine: &Machine) {
        let lane = &machine.lane;
        let modulus = self.moduli[usize::from(queued.modulus()) % MODULI];
        let product = lane.multiplier_latency + 1;
        let (rd, rs1) = (vector(queued.rd()), vector(queued.rs1()));
        let operation = queued.operation();
        match operation {
            Operation::Butterfly => {
                let twiddle = &self.twiddles[twiddle(queued.rs2())];
                // `Instruction::decode` rejects a butterfly of a register with itself.
                debug_assert_ne!(rd, rs1);
                if let Ok([x, y]) = self.vectors.get_disjoint_mut([rd, rs1]) {
                    lanes::butterfly(&mut x.0, &mut y.0, twiddle, modulus);
                }
                let later = u32::from(lane.adders == 1);
                self.fill_later(queued.rd(), now, product + lane.adder_latency);
                self.fill_later(queued.rs1(), now, product + lane.adder_latency + later);
                self.counts.butterflies += 1;
            }
            Operation::Multiply => {
                let mut result = self.vectors[rs1];
                lanes::multiply(&mut result.0, &self.twiddles[twiddle(queued.rs2())], modulus);
                self.vectors[rd] = result;
                self.fill_later(queued.rd(), now, product);
                self.counts.products += 1;
            }
            Operation::Add | Operation::Subtract => {
                let mut result = self.vectors[rs1];
                let y = &self.vectors[vector(queued.rs2())].0;
                if operation == Operation::Add {
                    lanes::add(&mut result.0, y, modulus);
                } else {
                    lanes::subtract(&mut result.0, y, modulus);
                }
                self.vectors[rd] = result;
                self.fill_later(queued.rd(), now, lane.adder_latency + 1);
                self.counts.sums += 1;
            }
            _ => {
                let twiddle = &self.twiddles[twiddle(queued.rs2())];
                // Register pairs start at even numbers and are distinct.
                debug_assert!(rd != rs1 && rd % 2 == 0 && rs1 % 2 == 0);
                if let Ok([x, y]) = self.vectors.get_disjoint_mut([rd..rd + 2, rs1..rs1 + 2])
                    && let (Ok(x), Ok(y)) = (x.try_into(), y.try_into())
                {
                    lanes::complex_butterfly(x, y, twiddle, operation == Operation::ComplexTime);
                }
                for register in [queued.rd(), queued.rd() + 1, queued.rs1(), queued.rs1() + 1] {
                    self.fill_later(register, now, lane.complex_latency + 1);
                }
                self.counts.butterflies += 1;
            }
        }
    }
}

/// The cycles for which a computation occupies unpipelined lanes.
fn duration(operation: Operation, machine: &Machine) -> u32 {
    let lane = &machine.lane;
    match operation {
        Operation::Add | Operation::Subtract => lane.adder_latency,
        Operation::Multiply => lane.multiplier_latency,
        Operation::Butterfly => lane.multiplier_latency + lane.adder_latency * (3 - lane.adders),
        _ => lane.complex_latency,
    }
}
