//! Schedules simulated cycle by cycle: small kernels, and wrong schedules.

use ciphermill_hls::analysis::read_cycles;
use ciphermill_hls::ir::{Memory, Role, State};
use ciphermill_hls::report::Report;
use ciphermill_hls::schedule::Target;
use ciphermill_hls::schedule::problem::Problem;
use ciphermill_hls::schedule::simulate::SimulationError;
use ciphermill_hls::{Argument, Design, Memories, Options, Source};

fn design(text: &str) -> (Source, Design) {
    let source = Source::new("f.c", format!("#include <stdint.h>\n{text}"));
    let design = source.compile(&[], "f", &Target::ecp5(120.0)).unwrap_or_else(|error| panic!("{error}"));
    (source, design)
}

/// Elements of the parameters.
fn given(design: &Design) -> Vec<Vec<i128>> {
    let parameters = design.program.memories.iter().filter(|memory| memory.role == Role::Parameter);
    parameters.map(|one| (0..one.len()).map(|element| (5 * element + 1) as i128 % 16).collect()).collect()
}

/// The state after a run by the schedule, and its cycles from start to done.
fn run(design: &Design) -> Result<(State, u64), SimulationError> {
    let mut state = State::before(&design.program, given(design));
    let cycles = design.simulate(&mut state)?;
    Ok((state, cycles))
}

fn is_right(text: &str) -> u64 {
    let (source, design) = design(text);
    let (state, cycles) = run(&design).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let arguments: Vec<Argument> = given(&design).into_iter().map(Argument::Elements).collect();
    let (_, expected) = source.interpret(&[], "f", &arguments).unwrap_or_else(|error| panic!("{error}"));
    assert!(state.arrays(&design.program).eq(expected.iter().map(|array| &array[..])), "{text}");
    assert_eq!(cycles, design.run_cycles(), "{text}");
    cycles
}

const BUTTERFLIES: &str = r"
void f(uint16_t a[16]) {
#pragma HLS array_partition variable=a cyclic factor=2 dim=1
  for (unsigned s = 0; s < 3; s++)
    for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline
      uint16_t x = a[2 * i], y = a[2 * i + 1];
      a[2 * i] = ((uint32_t)x + y) % 3329;
      a[2 * i + 1] = ((uint32_t)x * y + 1) % 3329;
    }
}";

#[test]
fn kernels_have_the_values_of_the_reference() {
    assert!(is_right(BUTTERFLIES) >= 24);
    // The sum goes from iteration to iteration.
    is_right(
        "void f(uint32_t a[8]) {\n  for (unsigned i = 1; i < 8; i++) {\n#pragma HLS pipeline\n    a[i] = (a[i] + (uint64_t)a[i - 1] * 3) % 12289;\n  }\n}",
    );
}

/// A difference that is below zero in some iterations. It is divided in others only, and has further uses.
#[test]
fn a_division_of_a_guarded_difference_leaves_its_sign() {
    let header = "void f(uint8_t p[16], uint8_t q[16], uint16_t t[300], uint16_t r[16], uint16_t o[16]) {\n  \
                  for (unsigned i = 0; i < 16; i++) {\n#pragma HLS pipeline\n    uint8_t x = p[i], y = q[15 - i];\n    ";
    for body in [
        "if (x - y >= 0) r[i] = t[x - y];",
        "o[i] = x - y + 255; if (x >= y) r[i] = t[x - y];",
        "o[i] = (x - y < 200 ? x - y : x - y - 200) + 255; if (x >= y) r[i] = (x - y) % 200;",
        "o[i] = x - y + 256; if (x >= y) r[i] = (x - y) / 3 + (x - y) % 7;",
        "o[i] = 7 * (i < 2 || (i - 2) % 3);",
        "o[i] = 7 * (i < 5 || (i - 5) / 3);",
    ] {
        is_right(&format!("{header}{body}\n  }}\n}}"));
    }
}

/// The address needs no read, so the access may come before that read.
#[test]
fn an_index_with_one_value_does_not_wait_for_its_read() {
    let text = "void f(uint8_t a[8][2], uint8_t b[2]) {\n  uint8_t l[2];\n  \
                for (unsigned i = 0; i < 2; i++) l[i] = !(b[i] % 1);\n  a[l[1] & 7][1] |= 4;\n}";
    let (_, compiled) = design(text);
    let code = compiled.kernels.last().expect("the code after the loop");
    assert!((0..code.kernel.accesses.len()).any(|access| !code.is_used(access)), "the hardware reads the index");
    is_right(text);
}

/// The value has more bits than known values have, so it is read.
#[test]
fn a_table_of_one_element_is_read_as_other_tables() {
    let text = "static const uint64_t t[1] = {0xffffffffffffff00u};\nvoid f(uint64_t a[4]) {\n  uint64_t l[4];\n\
                #pragma HLS array_partition variable=l complete\n  for (unsigned i = 0; i < 4; i++) l[i] = i ^ t[0];\n  \
                for (unsigned i = 0; i < 4; i++) a[i] = l[i];\n}";
    let (_, compiled) = design(text);
    let is_table = |memory: &&Memory| matches!(memory.role, Role::Table(_));
    assert!(compiled.program.memories.iter().filter(is_table).map(read_cycles).eq([1]));
    is_right(text);
}

#[test]
fn a_read_waits_for_an_address_that_another_read_gives() {
    let text = "void f(uint8_t a[16], uint8_t b[16], uint8_t c[16]) {\n\
                #pragma HLS array_partition variable=b cyclic factor=3 dim=1\n\
                for (unsigned i = 0; i < 16; i++) {\n#pragma HLS pipeline\n    c[i] = b[a[i] & 15];\n  }\n}";
    is_right(text);
}

/// A late read of the element that the next iteration writes.
const LATE_READ: &str = "void f(uint8_t a[16], uint8_t b[16]) {
#pragma HLS bind_storage variable=a type=ram_t2p
  for (unsigned i = 0; i < 15; i++) {
#pragma HLS pipeline
    uint8_t x = b[i];
    if (x & 1) b[i] = a[i + 1];
    a[i] = i;
  }
}";

#[test]
fn no_port_reads_what_the_other_port_writes() {
    is_right(LATE_READ);
    let (_, right) = design(LATE_READ);
    let (accesses, depth) = (&right.kernels[0].schedule.accesses, right.kernels[0].schedule.depth);
    let writes: Vec<usize> =
        (0..accesses.len()).filter(|&access| right.kernels[0].kernel.accesses[access].written.is_some()).collect();
    // An earlier write of the same iteration frees the element too soon.
    let undefined =
        (0..depth).flat_map(|cycle| writes.iter().map(move |&write| (write, cycle))).any(|(write, cycle)| {
            let mut wrong = right.clone();
            wrong.kernels[0].schedule.accesses[write] = cycle;
            matches!(run(&wrong), Err(SimulationError::Undefined { .. }))
        });
    assert!(undefined, "a read and a write of an element in the same cycle are not found");
}

#[test]
fn wrong_schedules_are_found() {
    let (_, right) = design(BUTTERFLIES);
    let (expected, _) = run(&right).expect("a schedule");
    let changed = |change: fn(&mut Design)| {
        let mut wrong = right.clone();
        change(&mut wrong);
        run(&wrong)
    };
    // A write before its value is present.
    let early = changed(|wrong| {
        // The last write, whose product takes longest. One cycle is for the path to the memory.
        wrong.kernels[0].schedule.accesses[3] -= 2;
    });
    assert!(matches!(early, Err(SimulationError::Early { .. })), "{early:?}");
    // Two iterations in one cycle.
    let crowded = changed(|wrong| wrong.kernels[0].schedule.interval = 0);
    assert!(matches!(crowded, Err(SimulationError::Ports { .. })), "{crowded:?}");
    // An access after the end.
    let late = changed(|wrong| wrong.kernels[0].schedule.depth -= 1);
    assert!(matches!(late, Err(SimulationError::Late { .. })), "{late:?}");
    // Stages that begin too early read old words.
    assert!(right.kernels[0].schedule.gap > 0, "the gap matters here");
    let close = changed(|wrong| wrong.kernels[0].schedule.gap = 0);
    assert!(close.as_ref().map_or(true, |(state, _)| *state != expected), "{close:?}");
    // Another bank than the element's.
    let elsewhere = changed(|wrong| wrong.kernels[0].addresses.swap(0, 1));
    assert!(matches!(elsewhere, Err(SimulationError::Address { .. })), "{elsewhere:?}");
}

/// The cycles of accesses by exhaustion, to check proofs of the scheduler.
struct Exhaustion<'p> {
    problem: &'p Problem,
    interval: i64,
    last: i64,
}

impl Exhaustion<'_> {
    /// Whether all accesses can be placed. `cycles` are those of the first accesses.
    fn exists(&self, cycles: &mut Vec<i64>) -> bool {
        if cycles.len() == self.problem.earliest.len() {
            return true;
        }
        (i64::from(self.problem.earliest[cycles.len()])..=self.last).any(|cycle| {
            cycles.push(cycle);
            let exists = self.holds(cycles) && self.exists(cycles);
            cycles.pop();
            exists
        })
    }

    /// Whether the rules hold among the first accesses.
    fn holds(&self, cycles: &[i64]) -> bool {
        let in_time = |from: usize, to: usize, needed: i64| {
            let both = cycles.get(from).zip(cycles.get(to));
            both.is_none_or(|(from, to)| from + needed <= *to)
        };
        let latencies = self.problem.latencies.iter().all(|&(from, to, cycles)| in_time(from, to, cycles.into()));
        let dependence = |&(from, to, iterations, cycles): &(usize, usize, usize, u32)| {
            in_time(from, to, i64::from(cycles) - self.interval * iterations as i64)
        };
        let groups = self.problem.groups.iter().all(|(accesses, ports)| self.fits(cycles, accesses, *ports));
        latencies && self.problem.dependences.iter().all(dependence) && groups
    }

    /// Whether the accesses of a group find ports in the whole run.
    fn fits(&self, cycles: &[i64], accesses: &[usize], ports: u32) -> bool {
        let mut users = std::collections::HashMap::new();
        accesses.iter().filter(|access| **access < cycles.len()).all(|&access| {
            let visits = self.problem.banks[access].iter().enumerate().filter(|(_, bank)| **bank != -1);
            visits.into_iter().all(|(iteration, &bank)| {
                let count: &mut u32 =
                    users.entry((cycles[access] + self.interval * iteration as i64, bank)).or_default();
                *count += 1;
                *count <= ports
            })
        })
    }
}

/// Small loops, with the interval and its bounds by ports and dependences.
const LOOPS: &[(&str, u32, (u32, u32))] = &[
    // Two reads of one bank, and a value that goes from iteration to iteration.
    (
        "void f(uint8_t a[32], uint8_t b[16]) {
  for (unsigned i = 1; i < 16; i++) {
#pragma HLS pipeline
    b[i] = b[i - 1] ^ a[i] ^ a[i + 16];
  }
}",
        3,
        (2, 3),
    ),
    // The second read waits until the first one is done with all iterations: its value is needed late.
    (
        "void f(uint8_t a[8], uint32_t b[4]) {
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline
    b[i] = ((uint64_t)a[i] * a[i] * a[i] * a[i]) % 12289 ^ a[i + 4];
  }
}",
        1,
        (2, 1),
    ),
    // Two reads of a bank with two ports.
    (
        "void f(uint8_t a[8]) {
#pragma HLS bind_storage variable=a type=ram_t2p
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline
    a[i] = a[i] ^ a[7 - i];
  }
}",
        4,
        (1, 4),
    ),
];

#[test]
fn intervals_are_the_least_by_exhaustion() {
    let target = Target::ecp5(120.0);
    for &(text, interval, bounds) in LOOPS {
        let (_, design) = design(text);
        let one = &design.kernels[0];
        let (schedule, iterations) = (&one.schedule, one.kernel.iterations() as u32);
        assert_eq!((schedule.interval, schedule.bounds, schedule.proven), (interval, bounds, true), "{text}");
        let memories = &design.program.memories;
        let problem = Problem::of(&one.kernel, &one.addresses, memories, &one.distances, &one.widths, &target);
        for shorter in 1..interval {
            let saved = (interval - shorter) * (iterations - 1);
            let depth = (2 * schedule.depth).min(schedule.depth + saved - 1);
            let exhaustion = Exhaustion { problem: &problem, interval: shorter.into(), last: i64::from(depth) - 1 };
            assert!(!exhaustion.exists(&mut Vec::new()), "interval {shorter} of\n{text}");
        }
        // The exhaustion finds the schedule of the compiler.
        let last = i64::from(schedule.depth) - 1;
        let exhaustion = Exhaustion { problem: &problem, interval: interval.into(), last };
        assert!(exhaustion.exists(&mut Vec::new()), "interval {interval} of\n{text}");
        is_right(text);
    }
}

/// Three products of an iteration that begin in different cycles, at an interval above one.
const PRODUCTS: &str = "
void f(uint16_t a[48], uint32_t b[16]) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline
    uint16_t x = a[i], y = a[i + 16], z = a[i + 32];
    b[i] = ((uint32_t)x * y & 65535) * z ^ (uint32_t)y * z;
  }
}";

#[test]
fn products_share_multipliers_at_longer_intervals() {
    let (source, design) = design(PRODUCTS);
    let schedule = &design.kernels[0].schedule;
    assert_eq!(schedule.interval, 3);
    let options = Options { name: "f", source: "f.c", memories: Memories::Inside };
    let module = design.to_systemverilog(&options);
    let multipliers = module.lines().filter(|line| line.contains("_p[0] <= ")).count() as u64;
    let report = Report::of(&design, &source, &[], &Target::ecp5(120.0));
    // The three products begin in different cycles modulo 3.
    assert_eq!((multipliers, report.hardware.multiplier_count()), (1, 1), "{module}");
    is_right(PRODUCTS);
}

#[test]
fn products_of_the_same_cycle_do_not_share_a_multiplier() {
    let text = PRODUCTS.replace("#pragma HLS pipeline", "#pragma HLS pipeline II=3");
    let alone = text.replace("a[48]", "a[3][16]").replace("a[i + 16]", "a[1][i]").replace("a[i + 32]", "a[2][i]");
    let alone = alone
        .replace("a[i]", "a[0][i]")
        .replace("{\n  for", "{\n#pragma HLS array_partition variable=a complete dim=1\n  for");
    let (source, design) = design(&alone.replace("& 65535) * z", "& 65535) + z"));
    let report = Report::of(&design, &source, &[], &Target::ecp5(120.0));
    assert_eq!((design.kernels[0].schedule.interval, report.hardware.multiplier_count()), (3, 2));
}
