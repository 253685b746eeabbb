//! The cores of the simulated array against the RTL of their lanes: a core of `lane.toml` and `rvfhe_lane` are given the same
//! instructions, arrivals and room for copies in the same cycles, and issue everything in the same cycles, with the same words.

mod lane_support;
mod support;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use ciphermill_arch::array::{Array, CIPHERMILL, CoreEvent, LANE, Machine, PAPER, Run};
use ciphermill_arch::record::Record;
use ciphermill_cosim::units::{
    Factors, LaneCounters, LaneEvent, LaneInputs, LaneInstruction, LaneOp, LaneTarget, ModAddSub, ModMul, RvfheLane,
};
use ciphermill_cosim::{Configuration, configurations};
use ciphermill_math::Modulus;
use ciphermill_math::modulus::ntt_primes;
use ciphermill_math::ntt::reference::prime;
use ciphermill_math::ntt::{Convolution, FourStepNtt};
use ciphermill_rvfhe::compiler::{Direction, Ring, Task, Transform, compile};
use ciphermill_rvfhe::isa::{Instruction, Operand};
use lane_support::programs::{self, at, modulus, pairs, set_modulus, twiddle, vector};
use lane_support::records::{Compared, keep};
use lane_support::{Trace, lane_instruction, machine, span};
use support::{Source, counted, frames, with_seeds};

const STALLS: [LaneEvent; 5] =
    [LaneEvent::Operand, LaneEvent::Destination, LaneEvent::Adder, LaneEvent::Port, LaneEvent::Network];

fn each(test: impl Fn(&'static Configuration)) {
    support::each("rvfhe_lane", test);
}

/// Prints the record of a configuration's programs; `make evidence AREA=lane` reads it.
fn said(record: &Record) {
    println!("record: {}", serde_json::to_string(record).expect("JSON"));
}

fn encoded(program: &[Instruction]) -> Vec<u32> {
    program.iter().map(Instruction::encode).collect()
}

/// Runs the program in core 0, nothing in the others, and gives what core 0 did.
fn observe(array: &mut Array, program: &[Instruction]) -> (Run, Vec<CoreEvent>) {
    array.observe(0).expect("there is a core");
    let mut all = vec![encoded(&[Instruction::Ebreak]); array.machine().cores() as usize];
    all[0] = encoded(program);
    let run = array.run(&all, &[], 0, 1_000_000).unwrap_or_else(|error| panic!("{error}"));
    (run, array.take_events(0))
}

// Latencies.

/// An instruction on registers 0 and 1, and a copy of a register that it writes.
fn and_copy(instruction: Instruction, result: usize) -> [Instruction; 2] {
    [instruction, Instruction::Sts { vs1: vector(result), vector: at(100) }]
}

/// One of each kind, with each of its results.
fn kinds() -> [(&'static str, [Instruction; 2]); 5] {
    let (vd, m) = (vector(2), modulus(0));
    let (vs1, vs2, ts2) = (vector(0).kept(), vector(1).kept(), twiddle(3).kept());
    let butterfly = Instruction::Mbfly { vd: vector(0), vs1: vector(1), ts2, modulus: m };
    [
        ("sum", and_copy(Instruction::Madd { vd, vs1, vs2, modulus: m }, 2)),
        ("difference", and_copy(Instruction::Msub { vd, vs1, vs2, modulus: m }, 2)),
        ("product", and_copy(Instruction::Mmul { vd, vs1, ts2, modulus: m }, 2)),
        ("butterfly's sum", and_copy(butterfly, 0)),
        ("butterfly's difference", and_copy(butterfly, 1)),
    ]
}

/// Cycles from the issue of the first instruction to that of the second, in the RTL.
fn distance_in_rtl(configuration: &'static Configuration, instructions: [Instruction; 2]) -> u64 {
    let mut unit = RvfheLane::new(configuration, 1);
    let words = vec![5; unit.lanes()];
    let targets = [LaneTarget::Register(0), LaneTarget::Register(1), LaneTarget::Factor(3), LaneTarget::Companion(3)];
    for target in targets {
        let arrival = Some((target, words.as_slice()));
        let inputs = LaneInputs { arrival, modulus: Some((0, 97)), ..LaneInputs::default() };
        assert!(unit.step(&inputs).arrival_taken);
    }
    let mut instructions = instructions.iter().filter_map(lane_instruction).map(LaneInstruction::encode).peekable();
    let mut issued = Vec::new();
    let mut before = unit.counters();
    for cycle in 0..40 {
        let inputs =
            LaneInputs { instruction: instructions.peek().copied(), copy_ready: true, ..LaneInputs::default() };
        if unit.step(&inputs).instruction_ready {
            instructions.next();
        }
        let after = unit.counters();
        let waited = |counters: &LaneCounters| -> u64 {
            STALLS.iter().chain(&[LaneEvent::Empty]).map(|event| counters.get(*event)).sum()
        };
        if waited(&after) == waited(&before) {
            issued.push(cycle);
        }
        before = after;
    }
    let [first, second] = issued[..] else { panic!("{configuration}: {issued:?}") };
    second - first
}

/// The same in a core of a machine.
fn distance_in_array(machine: &Machine, instructions: [Instruction; 2]) -> u64 {
    let mut array = Array::new(machine.clone());
    let lanes = machine.core.lanes as usize;
    array.scratchpad_mut()[..2 * lanes].fill(5);
    array.set_twiddles(0, &pairs(&vec![5; lanes], 97)).expect("it fits");
    let mut first = Vec::new();
    set_modulus(&mut first, 0, 97);
    first.extend((0..2).map(|register| Instruction::Lds { vd: vector(register), vector: at(register) }));
    first.push(Instruction::Ldt { td: twiddle(3), row: at(0), broadcast: false });
    first.push(Instruction::Ebreak);
    observe(&mut array, &first);
    let [one, two] = instructions;
    let (_, events) = observe(&mut array, &[one, two, Instruction::Ebreak]);
    let cycles = events.iter().filter_map(|event| match event {
        CoreEvent::Issue { cycle, .. } => Some(*cycle),
        _ => None,
    });
    let [first, second] = cycles.collect::<Vec<_>>()[..] else { panic!("{events:?}") };
    second - first
}

/// Clock edges from operands to result, of a unit that was shown nothing but zeros before and after.
fn edges(mut step: impl FnMut(u64) -> u64) -> u32 {
    for _ in 0..20 {
        step(0);
    }
    let results: Vec<_> = (0..20).map(|edge| step(if edge == 0 { 1 } else { 0 })).collect();
    let place = results.iter().position(|result| *result != 0).expect("a result");
    assert_eq!(results.iter().filter(|result| **result != 0).count(), 1);
    place as u32 + 1
}

/// The latencies in the descriptions of arrays equal those of the RTL.
#[test]
fn latencies_are_those_of_the_rtl() {
    let machines = [CIPHERMILL, PAPER, LANE].map(|text| Machine::from_toml(text).expect("it is committed"));
    // The units of which the lanes are made, with the parameters that they have there.
    let multiplier = configurations("mod_mul_shoup").find(|configuration| configuration.parameter("TileA") == 17);
    let multiplier = multiplier.map(|configuration| {
        let mut unit = ModMul::new(configuration, 1);
        edges(|x| unit.step(Factors { x, x_shoup: (x << 32) / 97, y: 5 * x, modulus: 97 }, true))
    });
    let adder = configurations("mod_addsub").find(|configuration| configuration.stated("Stages") == Some(1));
    let adder = adder.map(|configuration| {
        let mut unit = ModAddSub::new(configuration, 1);
        edges(|x| unit.step(x, x, 97, false, true))
    });
    println!("edges: multiplier {multiplier:?}, adder {adder:?}");
    each(|configuration| {
        let adders = configuration.parameter("Adders") as u32;
        let distances = kinds().map(|(what, instructions)| {
            let distance = distance_in_rtl(configuration, instructions);
            println!("{configuration}: a {what} can be read after {distance} cycles");
            for machine in &machines {
                // What is particular to butterflies depends on the adders.
                if machine.lane.adders == adders || !what.starts_with("butterfly") {
                    assert_eq!(distance_in_array(machine, instructions), distance, "{}, {what}", machine.name);
                }
            }
            distance as u32
        });
        let [sum, difference, product, first, second] = distances;
        assert_eq!(sum, difference);
        for machine in &machines {
            let lane = &machine.lane;
            // A result is written in the cycle in which it leaves its unit, and read in the next.
            assert_eq!((lane.adder_latency + 1, lane.multiplier_latency + 1), (sum, product), "{}", machine.name);
            assert!(adder.is_none_or(|edges| edges == lane.adder_latency), "{}", machine.name);
            assert!(multiplier.is_none_or(|edges| edges == lane.multiplier_latency), "{}", machine.name);
            let target = machine.target();
            assert_eq!((target.sum_latency, target.product_latency), (sum, product), "{}", machine.name);
            if lane.adders == adders {
                assert_eq!(target.butterfly.latency, first, "{}", machine.name);
                assert_eq!(target.butterfly.latency + target.butterfly.interval - 1, second, "{}", machine.name);
            }
        }
    });
}

// Programs.

/// 600 programs a seed for 4 lanes, 60 for 32, with their arrivals, changes of moduli, rows that are full and a network that is slow; more of
/// them for `make evidence`. The first ones of the fixed seed are those of docs/arch/lane.json.
#[test]
fn random_programs_issue_in_the_cycles_of_the_rtl() {
    each(|configuration| {
        let lanes = configuration.parameter("Lanes") as usize;
        let met = RefCell::new(HashSet::new());
        let (kept, all) = (Cell::new(None), Cell::new(Compared::default()));
        with_seeds(|source| {
            let mut machine = machine(configuration, 1, 2);
            machine.scratchpad.vectors = 4096;
            let usual = if lanes == 4 { 600 } else { 60 };
            let programs = usual * frames(600, 2) / 600;
            let mut compared = Compared::default();
            for turn in 0..programs {
                if turn == usual {
                    kept.set(kept.get().or(Some(compared)));
                }
                let length = 20 + source.below(100) as usize;
                let program = programs::random(source, lanes, length);
                // Every second time a copy to the other core takes eight cycles, every fourth the front end is slow.
                let network = &mut machine.network;
                (network.link_bytes, network.buffer) = [(4 * lanes as u32, 4), (lanes as u32 / 2, 1)][turn % 2];
                machine.core.issue_width = if turn % 4 == 2 { 1 } else { 4 };
                let mut array = Array::new(machine.clone());
                array.scratchpad_mut()[..program.scratchpad.len()].copy_from_slice(&program.scratchpad);
                array.set_twiddles(0, &program.twiddles).expect("they fit");
                let (_, events) = observe(&mut array, &program.instructions);
                let mut trace = Trace::default();
                trace.add(&program.instructions, events);
                let replayed = trace.replay(configuration, source.any() as u32);
                let counters = replayed.counters;
                compared.add(Compared { programs: 1, ..replayed.compared });
                met.borrow_mut().extend((0..STALLS.len()).filter(|&i| counters.get(STALLS[i]) > 0));
            }
            kept.set(kept.get().or(Some(compared)));
            counted(configuration, programs, "programs");
            all.update(|mut all| {
                all.add(compared);
                all
            });
        });
        said(&all.get().record(configuration, "random"));
        let kept = kept.get().unwrap_or_default();
        keep(configuration, "random", &[kept.record(configuration, "random")]);
        let met = met.borrow();
        let missing: Vec<_> = (0..STALLS.len()).filter(|i| !met.contains(i)).map(|i| STALLS[i]).collect();
        assert!(missing.is_empty(), "{configuration}: never met: {missing:?}");
    });
}

/// The transform of 32 points in the registers of every lane that `rvfhe_lane.rs` has, here from a program of the array.
#[test]
fn a_transform_of_registers_takes_the_cycles_of_the_rtl() {
    const N: usize = 32;
    const BUTTERFLIES: u64 = 80;
    each(|configuration| {
        with_seeds(|source| {
            let machine = machine(configuration, 1, 1);
            let lanes = machine.core.lanes as usize;
            let prime = ntt_primes(31, N).next().expect("there are primes of 31 bits");
            let m = prime.value();
            let psi = prime.primitive_root_2n(N).expect("the prime was chosen for it");
            let table = prime::twiddles(prime, psi, N);
            let mut array = Array::new(machine);
            array.set_twiddles(0, &pairs(&table, m)).expect("they fit");
            let polynomials: Vec<Vec<u64>> = (0..lanes).map(|_| (0..N).map(|_| source.below(m)).collect()).collect();
            for (at, word) in array.scratchpad_mut()[..N * lanes].iter_mut().enumerate() {
                *word = polynomials[at % lanes][at / lanes] as u32;
            }

            let load_twiddle = |k: usize| Instruction::Ldt { td: twiddle(k % 16), row: at(k), broadcast: true };
            let mut loading = Vec::new();
            set_modulus(&mut loading, 0, m);
            loading.extend((0..N).map(|register| Instruction::Lds { vd: vector(register), vector: at(register) }));
            loading.extend((1..N / 2).map(load_twiddle));
            loading.push(Instruction::Ebreak);
            // Twiddles of the last level take the places of those before as soon as these have been used.
            let mut transform = vec![load_twiddle(N / 2)];
            let mut blocks = 1;
            while blocks < N {
                let half = N / (2 * blocks);
                for block in 0..blocks {
                    let k = blocks + block;
                    for x in 2 * half * block..2 * half * block + half {
                        let free = x == 2 * half * block + half - 1;
                        let ts2 = Operand { register: twiddle(k % 16), free };
                        let (vd, vs1) = (vector(x), vector(x + half));
                        transform.push(Instruction::Mbfly { vd, vs1, ts2, modulus: modulus(0) });
                    }
                    if blocks < N / 2 {
                        transform.push(load_twiddle(N / 2 + k));
                    }
                }
                blocks *= 2;
            }
            transform.push(Instruction::Ebreak);
            let mut storing: Vec<_> =
                (0..N).map(|register| Instruction::Sts { vs1: vector(register), vector: at(64 + register) }).collect();
            storing.push(Instruction::Ebreak);

            let mut trace = Trace::default();
            for program in [&loading, &transform, &storing] {
                let (_, events) = observe(&mut array, program);
                trace.add(program, events);
            }
            let butterflies: Vec<_> = trace.issued.iter().copied().filter(|(_, op)| *op == LaneOp::Mbfly).collect();
            assert_eq!(butterflies.len() as u64, BUTTERFLIES);
            let expected = if configuration.parameter("Adders") == 2 { BUTTERFLIES } else { 2 * BUTTERFLIES - 1 };
            assert_eq!(span(&butterflies), expected, "{configuration}");
            trace.replay(configuration, source.any() as u32);
            for (lane, polynomial) in polynomials.iter().enumerate() {
                let mut expected = polynomial.clone();
                prime::forward(prime, &mut expected);
                let result = |register: usize| u64::from(array.scratchpad()[(64 + register) * lanes + lane]);
                assert_eq!((0..N).map(result).collect::<Vec<_>>(), expected, "{configuration}: lane {lane}");
            }
        });
    });
}

/// 2^31 − 2^27 + 1 has roots of unity of order 2^27.
const MODULUS: u64 = 2_013_265_921;

/// Runs a compiled transform on that number of cores. Compares its values with the definition, and every action of some
/// cores with the RTL. Returns the comparisons and their record.
fn transform(
    configuration: &'static Configuration,
    source: &mut Source,
    (rows, columns): (u32, u32),
    transform: &Transform,
    in_flight: usize,
    runs: usize,
) -> (Compared, Record) {
    let machine = machine(configuration, rows, columns);
    let (cores, lanes) = (machine.cores() as usize, machine.core.lanes as usize);
    let task = Task::Transform(transform.clone());
    let compiled = compile(&machine.target(), &task, in_flight).unwrap_or_else(|error| panic!("{error}"));
    let mut array = Array::new(machine);
    for (core, image) in compiled.cores.iter().enumerate() {
        array.set_twiddles(core, &image.twiddles).expect("they fit");
    }
    let size = transform.polynomial_size;
    // A spectrum's values are at their points' bit-reversed numbers.
    let number = |input: bool, index: u32| {
        let spectrum = (transform.direction == Direction::Forward) != input;
        if spectrum { (index.reverse_bits() >> (32 - size.ilog2())) as usize } else { index as usize }
    };
    let mut values = Vec::new();
    for run in 0..runs {
        for input in &compiled.inputs {
            let polynomial: Vec<u64> = (0..size).map(|_| source.below(MODULUS)).collect();
            let first = (run as u32 * compiled.stride + input.first_vector) as usize * lanes;
            for (word, index) in array.scratchpad_mut()[first..].iter_mut().zip(&*input.order) {
                *word = polynomial[number(true, *index)] as u32;
            }
            values.push(polynomial);
        }
    }
    // Corners of the mesh and one inside.
    let mut compared = vec![0, cores / 2, cores - 1];
    compared.dedup();
    for core in &compared {
        array.observe(*core).expect("there is such a core");
    }
    let programs: Vec<_> = compiled.cores.iter().map(|core| encoded(&core.instructions)).collect();
    let run = array.run(&programs, &[(10, runs as u32)], 0, 1_000_000).unwrap_or_else(|error| panic!("{error}"));

    let ring = if transform.ring == Ring::Cyclic { Convolution::Cyclic } else { Convolution::Negacyclic };
    let half = 1 << (size.ilog2() / 2);
    let golden = FourStepNtt::new(&[half, size / half], ring, transform.modulus).expect("it has roots");
    let outputs = (0..runs).flat_map(|run| compiled.outputs.iter().map(move |output| (run, output)));
    for ((run, output), mut polynomial) in outputs.zip(values) {
        match transform.direction {
            Direction::Forward => golden.forward(&mut polynomial),
            Direction::Inverse => golden.inverse(&mut polynomial),
        }
        let first = (run as u32 * compiled.stride + output.first_vector) as usize * lanes;
        for (word, index) in array.scratchpad()[first..].iter().zip(&*output.order) {
            assert_eq!(u64::from(*word), polynomial[number(false, *index)], "{configuration}, {transform:?}: {index}");
        }
    }

    let mut both = Compared { programs: 1, ..Compared::default() };
    for core in compared {
        let mut trace = Trace::default();
        trace.add(&compiled.cores[core].instructions, array.take_events(core));
        let replayed = trace.replay(configuration, source.any() as u32);
        if cores == 1 {
            assert_eq!(run.cycles, replayed.idle_from, "{configuration}, {transform:?}");
        }
        both.add(replayed.compared);
    }
    let name = if transform.direction == Direction::Forward { "ntt" } else { "intt" };
    let ring = if transform.ring == Ring::Cyclic { "cyclic" } else { "negacyclic" };
    let case = format!("{name}-{ring}/n{size}/c{cores}/f{in_flight}");
    let record = both.record(configuration, &case).with("n", size).with("ring", ring).with("cores", cores);
    (both, record.with("in_flight", in_flight).with("runs", runs))
}

/// Transforms as the compiler makes them, for one core and for several, of every length of a column that fits the registers or goes through
/// the data memory. Their records are those of docs/arch/lane.json, whatever values they have.
#[test]
fn compiled_transforms_issue_in_the_cycles_of_the_rtl() {
    const GRIDS: [(u32, (u32, u32)); 4] = [(0, (1, 1)), (1, (1, 2)), (2, (2, 2)), (4, (4, 4))];
    each(|configuration| {
        let log_lanes = configuration.parameter("Lanes").ilog2();
        let total = Cell::new(Compared::default());
        with_seeds(|source| {
            let mut records = Vec::new();
            let mut run = |grid, log_size: u32, ring, direction, in_flight, runs| {
                let modulus = Modulus::new(MODULUS).expect("a prime");
                let one = Transform { polynomial_size: 1 << log_size, modulus, ring, direction };
                let (compared, record) = transform(configuration, source, grid, &one, in_flight, runs);
                records.push(record);
                total.update(|mut total| {
                    total.add(compared);
                    total
                });
            };
            for (log_cores, grid) in GRIDS {
                for ring in [Ring::Cyclic, Ring::Negacyclic] {
                    for log_rows in 1..=7 {
                        run(grid, log_cores + log_lanes + log_rows, ring, Direction::Forward, 1, 1);
                    }
                    for log_rows in 4..=7 {
                        run(grid, log_cores + log_lanes + log_rows, ring, Direction::Inverse, 1, 1);
                    }
                }
                run(grid, log_cores + log_lanes + 4, Ring::Negacyclic, Direction::Forward, 4, 3);
            }
            for kind in ["ntt-", "intt-"] {
                let of_kind =
                    |record: &&Record| record.case.split('/').nth(2).is_some_and(|part| part.starts_with(kind));
                keep(configuration, kind, &records.iter().filter(of_kind).cloned().collect::<Vec<_>>());
            }
        });
        said(&total.get().record(configuration, "compiled"));
    });
}
