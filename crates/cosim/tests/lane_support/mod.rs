//! One core of the simulated array, and the RTL of its lanes with all that came to this core.

pub(crate) mod programs;
pub(crate) mod records;

use std::collections::{HashMap, HashSet, VecDeque};

use ciphermill_arch::array::{CoreEvent, LANE, Machine};
use ciphermill_cosim::Configuration;
use ciphermill_cosim::units::{LaneCounters, LaneEvent, LaneInputs, LaneInstruction, LaneOp, LaneTarget, RvfheLane};
use ciphermill_rvfhe::isa::Instruction;
use records::Compared;

/// `lane.toml` with as many lanes and adders as the RTL has, in a grid of that number of cores.
pub(crate) fn machine(configuration: &Configuration, rows: u32, columns: u32) -> Machine {
    let mut machine = Machine::from_toml(LANE).expect("the committed description is valid");
    machine.core.lanes = configuration.parameter("Lanes") as u32;
    machine.lane.adders = configuration.parameter("Adders") as u32;
    machine.network.link_bytes = 4 * machine.core.lanes;
    (machine.grid.rows, machine.grid.columns) = (rows, columns);
    machine
}

/// The part of an instruction for the lanes, without the work of the front end, and without loads.
pub(crate) fn lane_instruction(instruction: &Instruction) -> Option<LaneInstruction> {
    use Instruction as I;
    let of = |op, modulus: usize, rd: usize, rs1: usize, rs2: usize, free_rs1, free_rs2| {
        let [modulus, rd, rs1, rs2] = [modulus, rd, rs1, rs2].map(|number| number as u8);
        Some(LaneInstruction { op, modulus, rd, rs1, rs2, free_rs1, free_rs2 })
    };
    match *instruction {
        I::Madd { vd, vs1, vs2, modulus } | I::Msub { vd, vs1, vs2, modulus } => {
            let op = if matches!(instruction, I::Madd { .. }) { LaneOp::Madd } else { LaneOp::Msub };
            let (first, second) = (vs1.register.number(), vs2.register.number());
            of(op, modulus.number(), vd.number(), first, second, vs1.free, vs2.free)
        }
        I::Mmul { vd, vs1, ts2, modulus } => {
            let (first, twiddle) = (vs1.register.number(), ts2.register.number());
            of(LaneOp::Mmul, modulus.number(), vd.number(), first, twiddle, vs1.free, ts2.free)
        }
        I::Mbfly { vd, vs1, ts2, modulus } => {
            let twiddle = ts2.register.number();
            of(LaneOp::Mbfly, modulus.number(), vd.number(), vs1.number(), twiddle, false, ts2.free)
        }
        // The RTL names a register at the other core where the instruction names a row: of no matter to the lanes.
        I::Copy { core, vs1, row } => {
            of(LaneOp::Copy, 0, row.offset.get() % 32, vs1.number(), core.number(), true, false)
        }
        I::Copyk { core, vs1, row } => {
            of(LaneOp::Copy, 0, row.offset.get() % 32, vs1.number(), core.number(), false, false)
        }
        I::Sts { vs1, vector } => of(LaneOp::Copy, 0, vector.offset.get() % 32, vs1.number(), 0, true, false),
        _ => None,
    }
}

fn wide(words: &[u32]) -> Vec<u64> {
    words.iter().map(|word| u64::from(*word)).collect()
}

/// The inputs of a core of the array, with their cycles, and the actions of the core.
#[derive(Default)]
pub(crate) struct Trace {
    fetched: VecDeque<(u64, LaneInstruction)>,
    moduli: HashMap<u64, Vec<(u8, u64)>>,
    arrivals: HashMap<u64, (LaneTarget, Vec<u64>)>,
    taken: HashSet<u64>,
    /// The cycle of every issue.
    pub issued: Vec<(u64, LaneOp)>,
    /// What copies and stores carried.
    copies: Vec<Vec<u64>>,
    last: u64,
}

impl Trace {
    /// Adds a run's events.
    pub(crate) fn add(&mut self, program: &[Instruction], events: Vec<CoreEvent>) {
        let instruction = |pc: u32| lane_instruction(&program[pc as usize]).expect("an instruction of the lanes");
        for event in events {
            match event {
                CoreEvent::Fetch { cycle, pc } => self.fetched.push_back((cycle, instruction(pc))),
                CoreEvent::Modulus { cycle, register, value } => {
                    self.moduli.entry(cycle).or_default().push((register, u64::from(value)));
                }
                CoreEvent::Issue { cycle, pc, words } => {
                    let LaneInstruction { op, .. } = instruction(pc);
                    self.issued.push((cycle, op));
                    if op == LaneOp::Copy {
                        self.copies.push(wide(&words));
                    }
                    self.last = self.last.max(cycle);
                }
                CoreEvent::Taken { cycle } => {
                    self.taken.insert(cycle);
                    self.last = self.last.max(cycle);
                }
                CoreEvent::Arrival { first, cycle, register, words } => {
                    let words = wide(&words);
                    let mut arrive = |cycle, target, words: &[u64]| {
                        let another = self.arrivals.insert(cycle, (target, words.to_vec()));
                        assert!(another.is_none(), "two arrivals in cycle {cycle}");
                        self.last = self.last.max(cycle);
                    };
                    if register < 32 {
                        arrive(cycle, LaneTarget::Register(register), &words);
                    } else {
                        let (factors, companions) = words.split_at(words.len() / 2);
                        arrive(first, LaneTarget::Factor(register - 32), factors);
                        arrive(cycle, LaneTarget::Companion(register - 32), companions);
                    }
                }
            }
        }
    }

    /// Gives the RTL the inputs of the core of the array, in the same cycles, and asserts that it does the same in the
    /// same cycles.
    ///
    /// An instruction is offered from the cycle in which the array fetched it, as soon as those before it have been taken: the
    /// array's queue stands in front of the lanes. The network takes a copy when the array's did.
    pub(crate) fn replay(mut self, configuration: &'static Configuration, seed: u32) -> Replayed {
        let mut unit = RvfheLane::new(configuration, seed);
        let mut before = unit.counters();
        let mut issued = Vec::new();
        let mut copies = Vec::new();
        let mut idle_from = 0;
        for cycle in 0.. {
            let mut moduli = self.moduli.remove(&cycle).unwrap_or_default();
            assert!(moduli.len() <= 1, "two moduli in cycle {cycle}");
            let arrival = self.arrivals.remove(&cycle);
            let offered = self.fetched.front().filter(|(from, _)| *from <= cycle);
            let inputs = LaneInputs {
                instruction: offered.map(|(_, instruction)| instruction.encode()),
                arrival: arrival.as_ref().map(|(target, words)| (*target, words.as_slice())),
                modulus: moduli.pop(),
                copy_ready: self.taken.remove(&cycle),
            };
            let shown = unit.step(&inputs);
            if inputs.instruction.is_some() && shown.instruction_ready {
                self.fetched.pop_front();
            }
            if let Some((target, _)) = inputs.arrival {
                assert!(shown.arrival_taken, "{configuration}, cycle {cycle}: {target:?} is not empty");
            }
            if inputs.copy_ready {
                let copy = shown.copy.unwrap_or_else(|| panic!("{configuration}, cycle {cycle}: there is no copy"));
                copies.push(copy.data);
            }
            let after = unit.counters();
            let ops = [LaneOp::Madd, LaneOp::Msub, LaneOp::Mmul, LaneOp::Mbfly, LaneOp::Copy];
            let has_issued = |op: &&LaneOp| after.get(LaneEvent::Issued(**op)) != before.get(LaneEvent::Issued(**op));
            if let Some(op) = ops.iter().find(has_issued) {
                let expected = self.issued.get(issued.len());
                assert_eq!(expected, Some(&(cycle, *op)), "{configuration}: issue number {}", issued.len());
                issued.push((cycle, *op));
            }
            before = after;
            if !shown.idle {
                idle_from = cycle + 1;
            }
            if cycle > self.last && shown.idle {
                break;
            }
            assert!(cycle < self.last + 100, "{configuration}: {} issues of {}", issued.len(), self.issued.len());
        }
        assert_eq!(unit.error(), None, "{configuration}");
        assert_eq!(issued.len(), self.issued.len(), "{configuration}");
        assert_eq!(copies, self.copies, "{configuration}");
        let compared = Compared {
            programs: 0,
            cores: 1,
            issues: issued.len() as u64,
            cycles: span(&self.issued),
            cycles_rtl: span(&issued),
        };
        Replayed { counters: before, idle_from, compared }
    }
}

/// The actions of the RTL.
pub(crate) struct Replayed {
    /// What became of its cycles.
    pub counters: LaneCounters,
    /// The first cycle after which nothing was inside.
    pub idle_from: u64,
    /// Issues and cycles of this core in both.
    pub compared: Compared,
}

/// Cycles from the first issue to the last one, both counted.
pub(crate) fn span(issued: &[(u64, LaneOp)]) -> u64 {
    issued.last().map_or(0, |(last, _)| last - issued[0].0 + 1)
}
