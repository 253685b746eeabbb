//! Computations: when the units of the lanes are free for one, and what it gives.

use super::{CoreEvent, CoreState, Shared, Stepped};
use crate::array::error::SimulationError;
use crate::array::lanes;
use crate::array::machine::{Firing, Issue, Machine};
use crate::array::queued::{FIRST_TWIDDLE, Operation, Queue, Queued};

/// Adders and write ports that a computation takes, by the rules of docs/hw/rvfhe_lane.md: four bits for each cycle from its issue on, two
/// of adders, two of ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Takes {
    sum: u128,
    product: u128,
    butterfly: u128,
}

impl Takes {
    pub(super) fn new(machine: &Machine) -> Self {
        let (multiplier, adder) = (machine.lane.multiplier_latency, machine.lane.adder_latency);
        let two = machine.lane.adders == 2;
        let (first, second) = (1_u128, if two { 2 } else { 1 });
        let (port, last_port) = (4_u128, if two { 8 } else { 4 });
        let later = u32::from(!two);
        // Latencies are at most 12 and 4: 18 cycles.
        let at = |after: u32, unit: u128| unit << (4 * after);
        Self {
            sum: at(0, first) | at(adder, port),
            product: at(multiplier, last_port),
            butterfly: at(multiplier, first)
                | at(multiplier + later, second)
                | at(multiplier + adder, port)
                | at(multiplier + adder + later, last_port),
        }
    }
}

impl CoreState {
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
        let missing = queued.needs() & !self.full;
        let may_go = missing | queued.writes() & self.pending == 0 && self.turns.is_of_computation(queued, &head.turn);
        if !may_go {
            let vectors = u64::from(u32::MAX);
            if missing & vectors == 0 && missing != 0 {
                self.counts.twiddle += 1;
            } else {
                self.counts.operand += 1;
            }
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
        self.calculate(now, queued, shared);
        self.log(|| CoreEvent::Issue { cycle: now, pc: head.pc, words: Vec::new() });
        self.queues.pop_front(Queue::Compute);
        self.turns.computation_leaves(queued);
        Ok(true)
    }

    /// Reserves adders and write ports; not if one is taken.
    fn take_units(&mut self, operation: Operation) -> bool {
        let wanted = match operation {
            Operation::Add | Operation::Subtract => self.takes.sum,
            Operation::Multiply => self.takes.product,
            _ => self.takes.butterfly,
        };
        let free = self.units & wanted == 0;
        if free {
            self.units |= wanted;
        }
        free
    }

    fn calculate(&mut self, now: u64, queued: Queued, shared: &Shared<'_>) {
        let lane = &shared.machine.lane;
        let (lanes, modulus) = (self.lanes, self.moduli[usize::from(queued.modulus())]);
        let product = lane.multiplier_latency + 1;
        let twiddle = |twiddles: &[u32]| -> std::ops::Range<usize> {
            let first = usize::from(queued.rs2().wrapping_sub(FIRST_TWIDDLE)) * 2 * lanes;
            debug_assert!(first + 2 * lanes <= twiddles.len());
            first..first + 2 * lanes
        };
        let (rd, rs1) = (usize::from(queued.rd()), usize::from(queued.rs1()));
        match queued.operation() {
            Operation::Add | Operation::Subtract => {
                let rs2 = usize::from(queued.rs2());
                // The kernels work in place: on a copy, as either operand may be the destination.
                let mut result = [0; 32];
                result[..lanes].copy_from_slice(&self.vectors[rs1 * lanes..][..lanes]);
                let y = &self.vectors[rs2 * lanes..][..lanes];
                if queued.operation() == Operation::Add {
                    shared.lanes.add(&mut result[..lanes], y, modulus);
                } else {
                    shared.lanes.subtract(&mut result[..lanes], y, modulus);
                }
                self.vectors[rd * lanes..][..lanes].copy_from_slice(&result[..lanes]);
                self.fill_later(queued.rd(), now, lane.adder_latency + 1);
                self.counts.sums += 1;
            }
            Operation::Multiply => {
                self.vectors.copy_within(rs1 * lanes..(rs1 + 1) * lanes, rd * lanes);
                let twiddle = &self.twiddles[twiddle(&self.twiddles)];
                shared.lanes.multiply(&mut self.vectors[rd * lanes..][..lanes], twiddle, modulus);
                self.fill_later(queued.rd(), now, product);
                self.counts.products += 1;
            }
            Operation::Butterfly => {
                let twiddle = &self.twiddles[twiddle(&self.twiddles)];
                if let Ok([x, y]) =
                    self.vectors.get_disjoint_mut([rd * lanes..(rd + 1) * lanes, rs1 * lanes..(rs1 + 1) * lanes])
                {
                    shared.lanes.butterfly(x, y, twiddle, modulus);
                }
                let later = u32::from(lane.adders == 1);
                self.fill_later(queued.rd(), now, product + lane.adder_latency);
                self.fill_later(queued.rs1(), now, product + lane.adder_latency + later);
                self.counts.butterflies += 1;
            }
            _ => {
                let twiddle = &self.twiddles[twiddle(&self.twiddles)];
                let words = |register: usize| register * lanes..(register + 2) * lanes;
                if let Ok([x, y]) = self.vectors.get_disjoint_mut([words(rd), words(rs1)]) {
                    let in_time = queued.operation() == Operation::ComplexTime;
                    lanes::complex_butterfly(x, y, twiddle, in_time);
                }
                for register in [queued.rd(), queued.rd() + 1, queued.rs1(), queued.rs1() + 1] {
                    self.fill_later(register, now, lane.complex_latency + 1);
                }
                self.counts.butterflies += 1;
            }
        }
    }
}

/// How long a computation occupies a lane's units, one after the other.
fn duration(operation: Operation, machine: &Machine) -> u32 {
    let lane = &machine.lane;
    match operation {
        Operation::Add | Operation::Subtract => lane.adder_latency,
        Operation::Multiply => lane.multiplier_latency,
        Operation::Butterfly => lane.multiplier_latency + lane.adder_latency * (3 - lane.adders),
        _ => lane.complex_latency,
    }
}
