//! The lanes of an RVFHE core against two models: the results of a program, in order and without time, and in which
//! cycle each thing happens, by the rules of docs/hw/rvfhe_lane.md.

mod support;

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};

use ciphermill_cosim::Configuration;
use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::units::{
    LaneCopy, LaneCounters, LaneError, LaneEvent, LaneInputs, LaneInstruction, LaneOp, LaneOutputs, LaneTarget,
    RvfheLane,
};
use ciphermill_math::modulus::ntt_primes;
use ciphermill_math::ntt::reference::prime;
use support::{Source, counted, with_seeds};

const WIDTH: u32 = 32;
const REGISTERS: usize = 32;
const TWIDDLES: usize = 16;
/// Registers from this one on get no arrivals in random programs.
const TEMPORARIES: usize = 20;

/// Why an instruction may have to wait.
const STALLS: [LaneEvent; 5] =
    [LaneEvent::Operand, LaneEvent::Destination, LaneEvent::Adder, LaneEvent::Port, LaneEvent::Network];

type Vector = Vec<u64>;

fn each(test: impl Fn(&'static Configuration)) {
    support::each("rvfhe_lane", test);
}

fn add(x: u64, y: u64, m: u64) -> u64 {
    (x + y) % m
}

fn sub(x: u64, y: u64, m: u64) -> u64 {
    (x + m - y) % m
}

fn mul(x: u64, y: u64, m: u64) -> u64 {
    (u128::from(x) * u128::from(y) % u128::from(m)) as u64
}

fn shoup(w: u64, m: u64) -> u64 {
    (w << WIDTH) / m
}

fn zip(x: &[u64], y: &[u64], of: impl Fn(u64, u64) -> u64) -> Vector {
    x.iter().zip(y).map(|(&x, &y)| of(x, y)).collect()
}

/// The results of an instruction: the values of rd, and of rs1 if it is a butterfly.
fn results(op: LaneOp, rd: &[u64], rs1: &[u64], rs2: &[u64], m: u64) -> [Vector; 2] {
    match op {
        LaneOp::Madd => [zip(rs1, rs2, |x, y| add(x, y, m)), Vec::new()],
        LaneOp::Msub => [zip(rs1, rs2, |x, y| sub(x, y, m)), Vec::new()],
        LaneOp::Mmul => [zip(rs1, rs2, |y, w| mul(y, w, m)), Vec::new()],
        LaneOp::Mbfly => {
            let product = zip(rs1, rs2, |y, w| mul(y, w, m));
            [zip(rd, &product, |x, p| add(x, p, m)), zip(rd, &product, |x, p| sub(x, p, m))]
        }
        LaneOp::Copy => [Vec::new(), Vec::new()],
    }
}

/// A program with its arrivals, in the order of their use, and the copies that leave.
struct Program {
    moduli: [u64; 8],
    instructions: Vec<LaneInstruction>,
    arrivals: Vec<(LaneTarget, Vector)>,
    copies: Vec<LaneCopy>,
}

/// Builds a program and runs it in order as it does: the model without time.
struct Builder {
    lanes: usize,
    program: Program,
    registers: Vec<Option<Vector>>,
    /// Which registers' values an instruction has read or written, so that no arrival is still to come.
    settled: [bool; REGISTERS],
    twiddles: Vec<Option<(Vector, u64)>>,
}

impl Builder {
    fn new(lanes: usize, moduli: [u64; 8]) -> Self {
        let program = Program { moduli, instructions: Vec::new(), arrivals: Vec::new(), copies: Vec::new() };
        Self {
            lanes,
            program,
            registers: vec![None; REGISTERS],
            settled: [false; REGISTERS],
            twiddles: vec![None; TWIDDLES],
        }
    }

    fn arrive(&mut self, register: usize, value: Vector) {
        self.program.arrivals.push((LaneTarget::Register(register as u8), value.clone()));
        self.registers[register] = Some(value);
        self.settled[register] = false;
    }

    fn arrive_twiddle(&mut self, register: usize, factors: Vector, m: u64, factor_first: bool) {
        let companions = factors.iter().map(|&w| shoup(w, m)).collect();
        let mut halves = [
            (LaneTarget::Factor(register as u8), factors.clone()),
            (LaneTarget::Companion(register as u8), companions),
        ];
        if !factor_first {
            halves.reverse();
        }
        self.program.arrivals.extend(halves);
        self.twiddles[register] = Some((factors, m));
    }

    /// Appends an instruction; all its operands must be present.
    fn push(&mut self, instruction: LaneInstruction) {
        let LaneInstruction { op, modulus, rd, rs1, rs2, free_rs1, free_rs2 } = instruction;
        let (rd, rs1, rs2) = (usize::from(rd), usize::from(rs1), usize::from(rs2));
        self.program.instructions.push(instruction);
        let m = self.program.moduli[usize::from(modulus)];
        let value = |register: usize| self.registers[register].clone().expect("a register that is read has a value");
        let has_twiddle = matches!(op, LaneOp::Mmul | LaneOp::Mbfly);
        let second = match op {
            LaneOp::Mmul | LaneOp::Mbfly => self.twiddles[rs2].clone().expect("a twiddle that is read is there").0,
            LaneOp::Copy => Vec::new(),
            LaneOp::Madd | LaneOp::Msub => value(rs2),
        };
        let x = if op == LaneOp::Mbfly { value(rd) } else { Vec::new() };
        let first = value(rs1);
        let [to_rd, to_rs1] = results(op, &x, &first, &second, m);
        self.settled[rs1] = true;
        match op {
            LaneOp::Madd | LaneOp::Msub => (self.settled[rs2], self.settled[rd]) = (true, true),
            LaneOp::Mmul | LaneOp::Mbfly => self.settled[rd] = true,
            LaneOp::Copy => {}
        }
        if free_rs1 {
            self.registers[rs1] = None;
        }
        if free_rs2 && has_twiddle {
            self.twiddles[rs2] = None;
        } else if free_rs2 && op != LaneOp::Copy {
            self.registers[rs2] = None;
        }
        match op {
            LaneOp::Copy => self.program.copies.push(LaneCopy { core: rs2 as u8, register: rd as u8, data: first }),
            LaneOp::Mbfly => {
                self.registers[rd] = Some(to_rd);
                self.registers[rs1] = Some(to_rs1);
            }
            _ => self.registers[rd] = Some(to_rd),
        }
    }

    /// A random instruction, and before it whatever arrives that it reads.
    fn push_random(&mut self, source: &mut Source) {
        let modulus = source.below(8) as u8;
        let m = self.program.moduli[usize::from(modulus)];
        let op = match source.below(10) {
            0 | 1 => LaneOp::Madd,
            2 | 3 => LaneOp::Msub,
            4 | 5 => LaneOp::Mmul,
            6..=8 => LaneOp::Mbfly,
            _ => LaneOp::Copy,
        };
        let any = |source: &mut Source, bound: usize| (source.any() % bound as u64) as usize;
        // Sums and the first operand of a butterfly must be below the modulus: a register that is not, or is empty,
        // gives way to one that arrives, unless it is a temporary or something else would be lost.
        let below = |registers: &[Option<Vector>], register: usize| {
            registers[register].as_ref().is_some_and(|value| value.iter().all(|&x| x < m))
        };
        let operand = |builder: &mut Self, source: &mut Source, bound: u64| loop {
            // Few registers, so that instructions depend on one another.
            let register = if source.chance(1, 2) { any(source, 6) } else { any(source, REGISTERS) };
            if below(&builder.registers, register) || (bound > m && builder.registers[register].is_some()) {
                return register as u8;
            }
            if register < TEMPORARIES && builder.registers[register].is_none() {
                let value = (0..builder.lanes).map(|_| source.below(bound)).collect();
                builder.arrive(register, value);
                return register as u8;
            }
            // All full of values of greater moduli: send one away.
            if register < TEMPORARIES && source.chance(1, 8) {
                builder.push(LaneInstruction {
                    op: LaneOp::Copy,
                    modulus: 0,
                    rd: any(source, REGISTERS) as u8,
                    rs1: register as u8,
                    rs2: any(source, REGISTERS) as u8,
                    free_rs1: true,
                    free_rs2: source.chance(1, 2),
                });
            }
        };
        let whole = 1 << WIDTH;
        let rs1 = operand(self, source, if matches!(op, LaneOp::Madd | LaneOp::Msub) { m } else { whole });
        let mut rd = any(source, REGISTERS) as u8;
        let rs2 = match op {
            LaneOp::Madd | LaneOp::Msub => operand(self, source, m),
            LaneOp::Copy => any(source, REGISTERS) as u8,
            LaneOp::Mmul | LaneOp::Mbfly => {
                let register = any(source, TWIDDLES);
                let fits = self.twiddles[register].as_ref().map(|(_, of)| *of == m);
                let register = if fits == Some(false) {
                    match self.twiddles.iter().position(|twiddle| twiddle.as_ref().is_none_or(|(_, of)| *of == m)) {
                        Some(register) => register,
                        None => return,
                    }
                } else {
                    register
                };
                if self.twiddles[register].is_none() {
                    let factors = (0..self.lanes).map(|_| source.below(m)).collect();
                    self.arrive_twiddle(register, factors, m, source.chance(1, 2));
                }
                register as u8
            }
        };
        // Which operand came may have gone again while another was looked for.
        let there = |builder: &Self, register: u8| builder.registers[usize::from(register)].is_some();
        if op == LaneOp::Mbfly {
            rd = operand(self, source, m);
        } else if op != LaneOp::Copy
            && usize::from(rd) < TEMPORARIES
            && !(there(self, rd) && self.settled[usize::from(rd)])
        {
            // A result and an arrival must not meet in an empty register.
            rd = TEMPORARIES as u8 + rd % (REGISTERS - TEMPORARIES) as u8;
        }
        if !there(self, rs1) || (matches!(op, LaneOp::Madd | LaneOp::Msub) && !there(self, rs2)) {
            return;
        }
        if op == LaneOp::Mbfly && rd == rs1 {
            return;
        }
        let (free_rs1, free_rs2) = (source.chance(1, 3), source.chance(1, 3));
        self.push(LaneInstruction { op, modulus, rd, rs1, rs2, free_rs1, free_rs2 });
    }
}

/// The rules of issue, with times in place of pipelines: the cycle of each write, and the occupied cycles.
struct Timed {
    adders: u64,
    now: u64,
    moduli: [Option<u64>; 8],
    head: Option<u32>,
    registers: Vec<Option<Vector>>,
    /// The cycle of each write.
    pending: Vec<Option<(u64, Vector)>>,
    halves: Vec<[Option<Vector>; 2]>,
    adder_taken: HashSet<u64>,
    port_taken: HashSet<(u64, u64)>,
    copy: Option<LaneCopy>,
    error: Option<LaneError>,
    counters: LaneCounters,
}

impl Timed {
    fn new(adders: u64) -> Self {
        Self {
            adders,
            now: 0,
            moduli: [None; 8],
            head: None,
            registers: vec![None; REGISTERS],
            pending: vec![None; REGISTERS],
            halves: vec![[None, None]; TWIDDLES],
            adder_taken: HashSet::new(),
            port_taken: HashSet::new(),
            copy: None,
            error: None,
            counters: LaneCounters::default(),
        }
    }

    /// What becomes of the instruction in this cycle; if it issues, of its results.
    fn issue(&mut self, beat: u32, copy_ready: bool) -> LaneEvent {
        let bits = |place: u32, count: u32| (beat >> place & ((1 << count) - 1)) as usize;
        let (rd, rs1, rs2) = (bits(0, 5), bits(5, 5), bits(10, 5));
        let (free_rs1, free_rs2, modulus) = (bits(15, 1) == 1, bits(16, 1) == 1, bits(17, 3));
        let op = match bits(20, 3) {
            0 => Some(LaneOp::Madd),
            1 => Some(LaneOp::Msub),
            2 => Some(LaneOp::Mmul),
            3 => Some(LaneOp::Mbfly),
            4 => Some(LaneOp::Copy),
            _ => None,
        };
        let has_twiddle = matches!(op, Some(LaneOp::Mmul | LaneOp::Mbfly));
        let op = op.filter(|op| !(has_twiddle && rs2 >= TWIDDLES || *op == LaneOp::Mbfly && rd == rs1));
        let Some(op) = op else {
            self.error.get_or_insert(LaneError::Encoding);
            return LaneEvent::Refused;
        };
        if op != LaneOp::Copy && self.moduli[modulus].is_none() {
            self.error.get_or_insert(LaneError::Modulus(modulus as u8));
            return LaneEvent::Refused;
        }

        let is_sum = matches!(op, LaneOp::Madd | LaneOp::Msub);
        let mut operands = vec![self.registers[rs1].clone()];
        operands.push(match op {
            LaneOp::Mmul | LaneOp::Mbfly => {
                let [factor, companion] = &self.halves[rs2];
                factor.clone().filter(|_| companion.is_some())
            }
            LaneOp::Copy => Some(Vec::new()),
            LaneOp::Madd | LaneOp::Msub => self.registers[rs2].clone(),
        });
        operands.push(if op == LaneOp::Mbfly { self.registers[rd].clone() } else { Some(Vec::new()) });
        let Some(operands) = operands.into_iter().collect::<Option<Vec<_>>>() else { return LaneEvent::Operand };
        if op != LaneOp::Copy && self.pending[rd].is_some() {
            return LaneEvent::Destination;
        }

        // When the first adder adds, and which ports write when: the results' times.
        let (now, last) = (self.now, self.adders - 1);
        let (adds, writes): (Vec<u64>, Vec<(u64, u64)>) = match (op, self.adders) {
            (LaneOp::Madd | LaneOp::Msub, _) => (vec![now], vec![(0, now + 1)]),
            (LaneOp::Mmul, _) => (vec![], vec![(last, now + 6)]),
            (LaneOp::Mbfly, 1) => (vec![now + 6, now + 7], vec![(0, now + 7), (0, now + 8)]),
            (LaneOp::Mbfly, _) => (vec![now + 6], vec![(0, now + 7), (1, now + 7)]),
            (LaneOp::Copy, _) => (vec![], vec![]),
        };
        if adds.iter().any(|cycle| self.adder_taken.contains(cycle)) {
            return LaneEvent::Adder;
        }
        if writes.iter().any(|write| self.port_taken.contains(write)) {
            return LaneEvent::Port;
        }
        if op == LaneOp::Copy && self.copy.is_some() && !copy_ready {
            return LaneEvent::Network;
        }
        self.adder_taken.extend(adds);
        self.port_taken.extend(&writes);
        let [first, second, x] = <[Vector; 3]>::try_from(operands).expect("three");
        if free_rs1 {
            self.registers[rs1] = None;
        }
        if free_rs2 && has_twiddle {
            self.halves[rs2] = [None, None];
        } else if free_rs2 && is_sum {
            self.registers[rs2] = None;
        }
        if op == LaneOp::Copy {
            self.copy = Some(LaneCopy { core: rs2 as u8, register: rd as u8, data: first });
        } else {
            let m = self.moduli[modulus].expect("seen above");
            let made = results(op, &x, &first, &second, m);
            for ((register, value), (_, cycle)) in [rd, rs1].into_iter().zip(made).zip(writes) {
                self.registers[register] = None;
                self.pending[register] = Some((cycle, value));
            }
        }
        LaneEvent::Issued(op)
    }

    /// One cycle, as `RvfheLane::step`.
    fn step(&mut self, inputs: &LaneInputs<'_>) -> LaneOutputs {
        let arrival_taken = inputs.arrival.is_some_and(|(target, _)| match target {
            LaneTarget::Register(r) => {
                self.registers[usize::from(r)].is_none() && self.pending[usize::from(r)].is_none()
            }
            LaneTarget::Factor(t) => self.halves[usize::from(t)][0].is_none(),
            LaneTarget::Companion(t) => self.halves[usize::from(t)][1].is_none(),
        });
        let copy = self.copy.clone();
        let idle = self.head.is_none() && copy.is_none() && self.pending.iter().all(Option::is_none);
        let arrival = inputs.arrival.filter(|_| arrival_taken);
        let mut written = HashSet::new();
        for (r, pending) in self.pending.iter().enumerate() {
            if pending.as_ref().is_some_and(|(cycle, _)| *cycle == self.now) {
                written.insert(r);
            }
        }

        let event = match self.head {
            None => LaneEvent::Empty,
            Some(beat) => self.issue(beat, inputs.copy_ready),
        };
        let leaves = matches!(event, LaneEvent::Issued(_) | LaneEvent::Refused);
        self.counters.count(event);
        // The edge. A copy that issued in this cycle is in the place of one that left.
        if event != LaneEvent::Issued(LaneOp::Copy) && inputs.copy_ready {
            self.copy = None;
        }
        for r in written {
            let (_, value) = self.pending[r].take().expect("just seen");
            self.registers[r] = Some(value);
        }
        if let Some((target, data)) = arrival {
            let data = Some(data.to_vec());
            match target {
                LaneTarget::Register(r) if self.pending[usize::from(r)].is_some() => {}
                LaneTarget::Register(r) => self.registers[usize::from(r)] = data,
                LaneTarget::Factor(t) => self.halves[usize::from(t)][0] = data,
                LaneTarget::Companion(t) => self.halves[usize::from(t)][1] = data,
            }
        }
        let instruction_ready = self.head.is_none() || leaves;
        if instruction_ready {
            self.head = inputs.instruction;
        }
        if let Some((register, m)) = inputs.modulus {
            self.moduli[usize::from(register)] = (1..=1 << (WIDTH - 1)).contains(&m).then_some(m);
        }
        self.adder_taken.remove(&self.now);
        self.port_taken.retain(|(_, cycle)| *cycle > self.now);
        self.now += 1;
        LaneOutputs { instruction_ready, arrival_taken, copy, idle }
    }
}

/// The lanes next to their model: every cycle shows the same.
struct Pair {
    unit: RvfheLane,
    timed: Timed,
}

impl Pair {
    fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let unit = RvfheLane::new(configuration, seed);
        let timed = Timed::new(unit.adders());
        Self { unit, timed }
    }

    fn reset(&mut self) {
        self.unit.reset();
        self.timed = Timed::new(self.unit.adders());
    }

    fn step(&mut self, inputs: &LaneInputs<'_>) -> LaneOutputs {
        let expected = self.timed.step(inputs);
        let shown = self.unit.step(inputs);
        assert_eq!(shown, expected, "cycle {}, {inputs:?}", self.timed.now - 1);
        assert_eq!(self.unit.error(), self.timed.error, "cycle {}", self.timed.now - 1);
        assert_eq!(self.unit.counters(), self.timed.counters, "cycle {}", self.timed.now - 1);
        shown
    }

    fn set_moduli(&mut self, moduli: &[u64; 8]) {
        for (register, &m) in moduli.iter().enumerate() {
            self.step(&LaneInputs { modulus: Some((register as u8, m)), copy_ready: true, ..LaneInputs::default() });
        }
    }

    /// Runs a program to its end, or for `most` cycles; gives the copies. See `advance`.
    fn run(&mut self, program: &Program, source: &mut Source, gaps: [u32; 3], most: u64) -> Vec<LaneCopy> {
        self.advance(&mut Streams::new(program), source, gaps, most)
    }

    /// Makes the remaining offers until all is done, or for `most` cycles; returns the copies. An instruction, an arrival and
    /// room for a copy each come `gaps` times in 8 not.
    fn advance(&mut self, streams: &mut Streams, source: &mut Source, gaps: [u32; 3], most: u64) -> Vec<LaneCopy> {
        let mut copies = Vec::new();
        let end = self.timed.now + most;
        while self.timed.now < end {
            let Streams { instructions, arrivals, offered, arriving } = streams;
            // What is offered stays until it is taken.
            *offered = (*offered || !source.chance(gaps[0], 8)) && !instructions.is_empty();
            *arriving = (*arriving || !source.chance(gaps[1], 8)) && !arrivals.is_empty();
            let inputs = LaneInputs {
                instruction: instructions.front().copied().filter(|_| *offered),
                arrival: arrivals.front().filter(|_| *arriving).map(|(target, data)| (*target, data.as_slice())),
                modulus: None,
                copy_ready: !source.chance(gaps[2], 8),
            };
            let over = instructions.is_empty() && arrivals.is_empty();
            let shown = self.step(&inputs);
            let copy_ready = inputs.copy_ready;
            if *offered && shown.instruction_ready {
                instructions.pop_front();
                *offered = false;
            }
            if shown.arrival_taken {
                arrivals.pop_front();
                *arriving = false;
            }
            copies.extend(shown.copy.filter(|_| copy_ready));
            if over && shown.idle {
                break;
            }
        }
        copies
    }
}

/// The remaining offers.
struct Streams {
    instructions: VecDeque<u32>,
    arrivals: VecDeque<(LaneTarget, Vector)>,
    offered: bool,
    arriving: bool,
}

impl Streams {
    fn new(program: &Program) -> Self {
        Self {
            instructions: program.instructions.iter().map(|instruction| instruction.encode()).collect(),
            arrivals: program.arrivals.iter().cloned().collect(),
            offered: false,
            arriving: false,
        }
    }
}

fn random_moduli(source: &mut Source) -> [u64; 8] {
    // Two at the end of the range always; also small ones.
    let mut moduli = [(); 8].map(|()| 1 + source.below(1 << (WIDTH - 1)));
    moduli[0] = 1 << (WIDTH - 1);
    moduli[1] = (1 << (WIDTH - 1)) - 1;
    moduli[2] = 1 + source.below(5);
    moduli
}

fn random_program(source: &mut Source, lanes: usize, length: usize) -> Program {
    let mut builder = Builder::new(lanes, random_moduli(source));
    for _ in 0..length {
        builder.push_random(source);
    }
    // The final contents of the registers are also compared.
    for register in 0..REGISTERS {
        if builder.registers[register].is_some() {
            builder.push(LaneInstruction {
                op: LaneOp::Copy,
                modulus: 7,
                rd: register as u8,
                rs1: register as u8,
                rs2: 31,
                free_rs1: true,
                free_rs2: false,
            });
        }
    }
    builder.program
}

/// 600 programs a seed for 4 lanes, 60 for 32.
#[test]
fn random_programs_compute_what_they_say_when_the_rules_say() {
    each(|configuration| {
        let lanes = configuration.parameter("Lanes") as usize;
        let met = RefCell::new(HashSet::new());
        with_seeds(|source| {
            let mut pair = Pair::new(configuration, source.any() as u32);
            let programs = if lanes == 4 { 600 } else { 60 };
            for turn in 0..programs {
                let length = 10 + source.below(60) as usize;
                let program = random_program(source, lanes, length);
                // Every fourth program without a gap, every fourth with few arrivals, every fourth with a slow network.
                let gaps = [[0, 0, 0], [2, 6, 0], [0, 0, 7], [3, 3, 3]][turn % 4];
                pair.set_moduli(&program.moduli);
                let copies = pair.run(&program, source, gaps, 100_000);
                assert_eq!(copies.len(), program.copies.len(), "{configuration}: it did not end");
                for (i, (copy, expected)) in copies.iter().zip(&program.copies).enumerate() {
                    assert_eq!(copy, expected, "{configuration}: copy {i}");
                }
                assert_eq!(pair.unit.error(), None);
                let counters = pair.unit.counters();
                met.borrow_mut().extend((0..STALLS.len()).filter(|&i| counters.get(STALLS[i]) > 0));
                // The remaining twiddles do not matter in the next program.
                if turn % 8 == 7 || !pair.timed.halves.iter().all(|[w, _]| w.is_none()) {
                    pair.reset();
                }
            }
            counted(configuration, programs, "programs");
        });
        assert_eq!(met.borrow().len(), STALLS.len(), "{configuration}: some reason to stall was never met");
    });
}

/// A reset in the middle of a program leaves nothing: the next one is as if it were the first.
#[test]
fn a_reset_forgets_all() {
    each(|configuration| {
        let lanes = configuration.parameter("Lanes") as usize;
        with_seeds(|source| {
            let mut pair = Pair::new(configuration, source.any() as u32);
            for _ in 0..if lanes == 4 { 100 } else { 20 } {
                let program = random_program(source, lanes, 40);
                pair.set_moduli(&program.moduli);
                let until = 1 + source.below(120);
                pair.run(&program, source, [1, 1, 1], until);
                pair.reset();
                assert_eq!(pair.unit.counters(), LaneCounters::default());
                let program = random_program(source, lanes, 20);
                pair.set_moduli(&program.moduli);
                assert_eq!(pair.run(&program, source, [0, 0, 0], 100_000), program.copies);
                pair.reset();
            }
        });
    });
}

fn instruction(op: LaneOp, rd: usize, rs1: usize, rs2: usize) -> LaneInstruction {
    let (rd, rs1, rs2) = (rd as u8, rs1 as u8, rs2 as u8);
    LaneInstruction { op, modulus: 0, rd, rs1, rs2, free_rs1: false, free_rs2: false }
}

/// A negacyclic transform of 32 points in every lane, all in registers: a butterfly a cycle with two adders, and every second
/// one with one, from the first to the last. Half of the twiddles arrive while it runs, in the places of the
/// used ones.
#[test]
fn a_transform_in_registers() {
    const LOG_N: u32 = 5;
    const N: usize = 1 << LOG_N;
    const BUTTERFLIES: u64 = (N as u64 / 2) * LOG_N as u64;
    each(|configuration| {
        let lanes = configuration.parameter("Lanes") as usize;
        with_seeds(|source| {
            let modulus = ntt_primes(WIDTH - 1, N).next().expect("there are primes of 31 bits");
            let m = modulus.value();
            let psi = modulus.primitive_root_2n(N).expect("the prime was chosen for it");
            let table = prime::twiddles(modulus, psi, N);
            let mut pair = Pair::new(configuration, source.any() as u32);
            pair.set_moduli(&[m, 0, 0, 0, 0, 0, 0, 0]);

            let polynomials: Vec<Vector> = (0..lanes).map(|_| (0..N).map(|_| source.below(m)).collect()).collect();
            let mut builder = Builder::new(lanes, [m; 8]);
            for register in 0..N {
                builder.arrive(register, polynomials.iter().map(|polynomial| polynomial[register]).collect());
            }
            for (k, &w) in table.iter().enumerate().take(N / 2).skip(1) {
                builder.arrive_twiddle(k, vec![w; lanes], m, true);
            }
            let loading = std::mem::replace(&mut builder.program, Builder::new(lanes, [m; 8]).program);
            assert_eq!(pair.run(&loading, source, [0, 0, 0], 1_000), []);

            let mut blocks = 1;
            while blocks < N {
                let half = N / (2 * blocks);
                for block in 0..blocks {
                    let k = blocks + block;
                    if blocks == N / 2 {
                        builder.arrive_twiddle(k % TWIDDLES, vec![table[k]; lanes], m, true);
                    }
                    for x in 2 * half * block..2 * half * block + half {
                        let last = x == 2 * half * block + half - 1;
                        let butterfly = instruction(LaneOp::Mbfly, x, x + half, k % TWIDDLES);
                        builder.push(LaneInstruction { free_rs2: last, ..butterfly });
                    }
                }
                blocks *= 2;
            }
            let transform = std::mem::replace(&mut builder.program, Builder::new(lanes, [m; 8]).program);
            let (before, begin) = (pair.unit.counters(), pair.timed.now);
            pair.run(&transform, source, [0, 0, 0], 1_000);
            let after = pair.unit.counters();
            let count = |event| after.get(event) - before.get(event);

            let issue = if pair.unit.adders() == 2 { BUTTERFLIES } else { 2 * BUTTERFLIES - 1 };
            assert_eq!(count(LaneEvent::Issued(LaneOp::Mbfly)), BUTTERFLIES);
            assert_eq!(count(LaneEvent::Adder), issue - BUTTERFLIES);
            for stall in [LaneEvent::Operand, LaneEvent::Destination, LaneEvent::Port, LaneEvent::Network] {
                assert_eq!(count(stall), 0, "{configuration}: {stall:?}");
            }
            // One cycle into the instruction register, the last butterfly's results, one to see that all is over.
            let latency = pair.unit.butterfly_latency();
            assert_eq!(pair.timed.now - begin, 1 + issue + latency + 1);
            record::cycles(configuration, Cycles { cycles: issue, latency, bound: BUTTERFLIES });

            for register in 0..N {
                let copy = instruction(LaneOp::Copy, register, register, 0);
                builder.push(LaneInstruction { free_rs1: true, ..copy });
            }
            let copies = pair.run(&builder.program, source, [0, 0, 0], 1_000);
            for (lane, polynomial) in polynomials.iter().enumerate() {
                let mut expected = polynomial.clone();
                prime::forward(modulus, &mut expected);
                let got: Vector = copies.iter().map(|copy| copy.data[lane]).collect();
                assert_eq!(got, expected, "{configuration}: lane {lane}");
            }
        });
    });
}

/// Refused instructions leave everything as it was, frees included; the first one is reported.
#[test]
fn what_cannot_be_executed_is_refused() {
    each(|configuration| {
        let lanes = configuration.parameter("Lanes") as usize;
        with_seeds(|source| {
            let sum = LaneInstruction { free_rs1: true, free_rs2: true, ..instruction(LaneOp::Madd, 0, 0, 1) };
            let with_modulus = |modulus| LaneInstruction { modulus, ..sum }.encode();
            let product = instruction(LaneOp::Mmul, 0, 1, 16).encode();
            let butterfly = instruction(LaneOp::Mbfly, 1, 1, 0).encode();
            let reserved = |op: u32| op << 20 | 1 << 15 | 1 << 16;
            // Registers 1 to 4 are set to values that are not a modulus, 5 was never set, 6 is set and unset again, 7 is
            // the greatest.
            let wrong = [
                (with_modulus(1), LaneError::Modulus(1)),
                (with_modulus(2), LaneError::Modulus(2)),
                (with_modulus(3), LaneError::Modulus(3)),
                (with_modulus(5), LaneError::Modulus(5)),
                (with_modulus(6), LaneError::Modulus(6)),
                (product, LaneError::Encoding),
                (butterfly, LaneError::Encoding),
                (reserved(5), LaneError::Encoding),
                (reserved(6), LaneError::Encoding),
                (reserved(7), LaneError::Encoding),
            ];
            for first in 0..wrong.len() {
                let mut pair = Pair::new(configuration, source.any() as u32);
                let top = 1 << (WIDTH - 1);
                for set in [(1, 0), (2, top + 1), (3, (1 << WIDTH) - 1), (6, 5), (6, 0), (7, top)] {
                    pair.step(&LaneInputs { modulus: Some(set), ..LaneInputs::default() });
                }
                let values: [Vector; 2] = [(); 2].map(|()| (0..lanes).map(|_| source.below(top)).collect());
                for (register, value) in values.iter().enumerate() {
                    let arrival = Some((LaneTarget::Register(register as u8), value.as_slice()));
                    assert!(pair.step(&LaneInputs { arrival, ..LaneInputs::default() }).arrival_taken);
                }
                for i in 0..wrong.len() {
                    let (beat, _) = wrong[(first + i) % wrong.len()];
                    assert!(
                        pair.step(&LaneInputs { instruction: Some(beat), ..LaneInputs::default() }).instruction_ready
                    );
                }
                pair.step(&LaneInputs::default());
                assert_eq!(pair.unit.error(), Some(wrong[first].1));
                assert_eq!(pair.unit.counters().get(LaneEvent::Refused), wrong.len() as u64);
                // The greatest modulus is one, and the operands are all there.
                let good = Program {
                    moduli: [top; 8],
                    instructions: vec![
                        LaneInstruction { modulus: 7, ..instruction(LaneOp::Msub, 2, 0, 1) },
                        instruction(LaneOp::Copy, 9, 2, 3),
                    ],
                    arrivals: Vec::new(),
                    copies: Vec::new(),
                };
                let data = zip(&values[0], &values[1], |x, y| sub(x, y, top));
                assert_eq!(pair.run(&good, source, [0, 0, 0], 100), [LaneCopy { core: 3, register: 9, data }]);
                assert_eq!(pair.unit.error(), Some(wrong[first].1));
            }
        });
    });
}

/// A network that takes nothing holds the next copy and all later ones; results in progress are written all the same. And an
/// instruction waits for both halves of its twiddle.
#[test]
fn a_stalled_network_loses_nothing() {
    each(|configuration| {
        let lanes = configuration.parameter("Lanes") as usize;
        with_seeds(|source| {
            let m = 1 + source.below(1 << (WIDTH - 1));
            let mut builder = Builder::new(lanes, [m; 8]);
            for register in 0..8 {
                builder.arrive(register, (0..lanes).map(|_| source.below(m)).collect());
            }
            builder.arrive_twiddle(3, (0..lanes).map(|_| source.below(m)).collect(), m, false);
            for register in 0..4 {
                builder.push(instruction(LaneOp::Mbfly, register, register + 4, 3));
            }
            builder.push(instruction(LaneOp::Mmul, 8, 0, 3));
            for register in [0, 4, 8, 1, 2, 3, 5, 6, 7] {
                builder.push(instruction(LaneOp::Copy, register, register, 0));
            }
            let program = builder.program;
            let mut pair = Pair::new(configuration, source.any() as u32);
            pair.set_moduli(&program.moduli);
            let mut streams = Streams::new(&program);
            // The factors stay away at first.
            let factors = streams.arrivals.pop_back().expect("there are some");
            assert_eq!(pair.advance(&mut streams, source, [0, 0, 0], 60), []);
            assert_eq!(pair.unit.counters().get(LaneEvent::Issued(LaneOp::Mbfly)), 0);
            assert!(pair.unit.counters().get(LaneEvent::Operand) > 40);
            streams.arrivals.push_back(factors);
            assert_eq!(pair.advance(&mut streams, source, [0, 0, 8], 100), []);
            // One copy stands at the port, the next cannot issue, and all results are present.
            assert_eq!(pair.unit.counters().get(LaneEvent::Issued(LaneOp::Copy)), 1);
            assert!(pair.unit.counters().get(LaneEvent::Network) > 40);
            assert!(pair.timed.pending.iter().all(Option::is_none));
            assert_eq!(pair.advance(&mut streams, source, [0, 0, 0], 100), program.copies);
        });
    });
}
