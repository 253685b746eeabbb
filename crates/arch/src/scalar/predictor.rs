//! Branch prediction as in Rocket's front end: a branch target buffer, a return-address stack, and a table of one-bit
//! counters under a global history.
//!
//! Predictions and updates happen in program order. In hardware a branch may be predicted before the branches a few
//! cycles ahead of it have updated the table. The model omits the effect of a wrong path on the stack.

use super::instruction::{Class, Instruction};
use super::machine::Branch;

/// The cost of a branch or jump in the front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Fetched without delay.
    Hit,
    /// Predicted, but the target was known a stage late.
    Late,
    /// Mispredicted, or not predicted.
    Mispredicted,
}

struct Target {
    address: u64,
    is_return: bool,
    used: u64,
}

pub(super) struct Predictor {
    /// The addresses of the known branches. `targets` has their targets at the same indices.
    known: Vec<u64>,
    targets: Vec<Target>,
    targets_max: usize,
    /// The last `returns_max` return addresses, the newest last.
    returns: Vec<u64>,
    returns_max: usize,
    counters: Vec<bool>,
    history: u32,
    history_bits: u32,
    hashed_bits: u32,
    now: u64,
}

impl Predictor {
    pub(super) fn new(parameters: &Branch) -> Self {
        Predictor {
            known: Vec::new(),
            targets: Vec::new(),
            targets_max: parameters.btb_entries as usize,
            returns: Vec::new(),
            returns_max: parameters.ras_entries as usize,
            counters: vec![false; parameters.bht_entries as usize],
            history: 0,
            history_bits: parameters.bht_history_bits,
            hashed_bits: parameters.bht_hashed_bits,
            now: 0,
        }
    }

    /// The counter of a branch under the current history: the folded address, with its top bits changed by the history.
    /// A history longer than these bits is hashed by a multiplication with sqrt(3)/2.
    fn index(&self, pc: u64) -> usize {
        let bits = self.counters.len().trailing_zeros();
        let word = (pc >> 2) as u32;
        let folded = (word & (self.counters.len() as u32 - 1)) ^ (word >> bits & 3);
        let hashed = if self.hashed_bits == self.history_bits {
            self.history
        } else {
            let factor = (3f64.sqrt() / 2.0 * f64::from(1u32 << self.history_bits)) as u32;
            let product = factor.wrapping_mul(self.history) & ((1 << self.history_bits) - 1);
            product >> (self.history_bits - self.hashed_bits)
        };
        (folded ^ hashed << (bits - self.hashed_bits)) as usize
    }

    /// Predicts the branch or jump at `pc`, compares the prediction with the actual target, and learns from it.
    pub(super) fn resolve(&mut self, pc: u64, instruction: Instruction, class: Class, next_pc: u64) -> Outcome {
        self.now += 1;
        let taken = next_pc != pc.wrapping_add(4);
        let place = self.known.iter().position(|&known| known == pc);
        if let Some(place) = place {
            self.targets[place].used = self.now;
        }
        let known = place.map(|place| &self.targets[place]);
        match class {
            Class::Branch => {
                let index = self.index(pc);
                let predicted = self.counters[index];
                self.counters[index] = taken;
                self.history = (self.history >> 1) | u32::from(taken) << (self.history_bits - 1);
                match (predicted == taken, taken, known.is_some()) {
                    (false, true, _) => {
                        self.learn(pc, next_pc, false);
                        Outcome::Mispredicted
                    }
                    (false, false, _) => Outcome::Mispredicted,
                    (true, true, false) => {
                        self.learn(pc, next_pc, false);
                        Outcome::Late
                    }
                    (true, ..) => Outcome::Hit,
                }
            }
            Class::Jump => {
                let outcome = if known.is_some() { Outcome::Hit } else { Outcome::Late };
                if outcome == Outcome::Late {
                    self.learn(pc, next_pc, false);
                }
                self.call(pc, instruction);
                outcome
            }
            Class::IndirectJump => {
                // x1 and x5 are link registers.
                let is_return = instruction.rd == 0 && matches!(instruction.rs1, 1 | 5);
                let outcome = match known {
                    Some(target) => {
                        let stacked = self.returns.last().copied().filter(|_| target.is_return);
                        if stacked.unwrap_or(target.address) == next_pc { Outcome::Hit } else { Outcome::Mispredicted }
                    }
                    None if is_return && self.returns.last() == Some(&next_pc) => Outcome::Late,
                    None => Outcome::Mispredicted,
                };
                if outcome != Outcome::Hit {
                    self.learn(pc, next_pc, is_return);
                }
                if is_return {
                    self.returns.pop();
                }
                self.call(pc, instruction);
                outcome
            }
            _ => Outcome::Hit,
        }
    }

    /// Pushes the return address of a call.
    fn call(&mut self, pc: u64, instruction: Instruction) {
        if instruction.rd != 0 && self.returns_max > 0 {
            if self.returns.len() == self.returns_max {
                self.returns.remove(0);
            }
            self.returns.push(pc.wrapping_add(4));
        }
    }

    fn learn(&mut self, pc: u64, address: u64, is_return: bool) {
        if self.targets_max == 0 {
            return;
        }
        let target = Target { address, is_return, used: self.now };
        let oldest =
            || self.targets.iter().enumerate().min_by_key(|(_, target)| target.used).map_or(0, |(place, _)| place);
        let place = match self.known.iter().position(|&known| known == pc) {
            Some(place) => place,
            None if self.known.len() < self.targets_max => {
                self.known.push(pc);
                self.targets.push(target);
                return;
            }
            None => oldest(),
        };
        self.known[place] = pc;
        self.targets[place] = target;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predictor() -> Predictor {
        Predictor::new(&Branch {
            btb_entries: 2,
            ras_entries: 2,
            bht_entries: 512,
            bht_history_bits: 8,
            bht_hashed_bits: 3,
            mispredict: 3,
            late_target: 1,
        })
    }

    fn instruction(rd: u8, rs1: u8) -> Instruction {
        Instruction { op: crate::scalar::Op::Jalr, rd, rs1, rs2: 0, imm: 0 }
    }

    #[test]
    fn a_loop_is_learned() {
        let mut predictor = predictor();
        let mut run =
            |taken: bool| predictor.resolve(0x100, instruction(0, 0), Class::Branch, if taken { 0x80 } else { 0x104 });
        assert_eq!(run(true), Outcome::Mispredicted, "the counters start at not taken");
        // While the history fills with ones, every new index of the table must be learned once.
        for _ in 0..8 {
            run(true);
        }
        for _ in 0..20 {
            assert_eq!(run(true), Outcome::Hit);
        }
        assert_eq!(run(false), Outcome::Mispredicted, "the end of the loop");
    }

    #[test]
    fn jumps_are_late_once_and_forgotten_when_others_come() {
        let mut predictor = predictor();
        let mut jump = |pc: u64| predictor.resolve(pc, instruction(0, 0), Class::Jump, 0x1000);
        assert_eq!(jump(0), Outcome::Late);
        assert_eq!(jump(0), Outcome::Hit);
        assert_eq!(jump(4), Outcome::Late);
        assert_eq!(jump(0), Outcome::Hit);
        assert_eq!(jump(8), Outcome::Late, "displaces 4, used less recently");
        assert_eq!(jump(0), Outcome::Hit);
        assert_eq!(jump(4), Outcome::Late);
    }

    #[test]
    fn returns_come_from_the_stack_as_long_as_it_is_deep() {
        let mut predictor = predictor();
        for pc in [0x10, 0x20, 0x30] {
            predictor.resolve(pc, instruction(1, 0), Class::Jump, 0x1000);
        }
        let mut ret = |to: u64| predictor.resolve(0x1008, instruction(0, 1), Class::IndirectJump, to);
        assert_eq!(ret(0x34), Outcome::Late, "not yet in the target buffer");
        assert_eq!(ret(0x24), Outcome::Hit);
        assert_eq!(ret(0x14), Outcome::Mispredicted, "the third return address is not there any more");
    }
}
