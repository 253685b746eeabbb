//! The timing model on short sequences whose cycles can be counted by hand.

use crate::scalar_support::assemble::*;
use crate::scalar_support::machine;
use ciphermill_arch::scalar::{Causes, Execution, Measure, Program, Replacement, ScalarMachine, simulate};

const NOP: u32 = 0x13;

/// A loop with `rounds` rounds around `body`, in which x5 = 3, x6 = 2^63 + 1, x8 = [`DATA`], and modulus register 0 has
/// 97.
fn looped(machine: &ScalarMachine, body: &[u32], rounds: i32) -> Measure {
    let mut code = li(8, DATA).to_vec();
    code.extend([addi(5, 0, 3), addi(6, 0, 1), i_type(0x13, 1, 6, 6, 63), addi(6, 6, 1), addi(9, 0, 97)]);
    code.extend([i_type(0x73, 1, 0, 9, 0x800), addi(20, 0, rounds)]);
    let top = code.len() as i32;
    code.extend(body);
    // Long enough for everything to come to an end; the stores are there because a NOP also takes the write port for x0.
    for _ in 0..10 {
        code.extend([NOP; 8]);
        code.push(store(3, 5, 8, 1024));
    }
    code.push(addi(20, 20, -1));
    code.push(branch(1, 20, 0, 4 * (top - code.len() as i32)));
    code.extend(exit(0));
    let program = Program::from_elf(&elf(&code)).expect("a program");
    let execution = Execution { program: &program, input: &[], output_max: 0, instructions_max: 100_000, region: None };
    simulate(machine, &execution).expect("it runs").whole
}

/// The cost of `body` with warm caches and predictor: the 31st round minus that of an empty body.
fn steady(machine: &ScalarMachine, body: &[u32]) -> Measure {
    let round = |body| {
        let measure = looped(machine, body, 31) - looped(machine, body, 30);
        assert_eq!(measure.cycles, measure.causes.total(), "each cycle has one cause");
        measure
    };
    round(body) - round(&[])
}

/// The stalls of `body`, whose instructions all execute once per round.
fn stalls(machine: &ScalarMachine, body: &[u32]) -> Causes {
    let measure = steady(machine, body);
    assert_eq!(measure.instructions, body.len() as u64);
    Causes { issue: measure.causes.issue - measure.instructions, ..measure.causes }
}

/// An instruction that reads x7.
const USE: u32 = 0x0003_8e33; // add x28, x7, x0

#[test]
fn instructions_take_a_cycle() {
    assert_eq!(USE, register("add", 28, 7, 0));
    assert_eq!(stalls(&machine(true), &[NOP; 20]), Causes::default());
    let dependent = [addi(7, 5, 1), addi(7, 7, 1), addi(7, 7, 1)];
    assert_eq!(stalls(&machine(true), &dependent), Causes::default(), "results are bypassed");
}

#[test]
fn loads_are_late() {
    let load_use = |body: &[u32]| {
        let causes = stalls(&machine(true), body);
        assert_eq!(causes, Causes { load_use: causes.load_use, ..Causes::default() });
        causes.load_use
    };
    for (name, delay) in [("ld", 1), ("lw", 1), ("lwu", 1), ("lh", 2), ("lhu", 2), ("lb", 2), ("lbu", 2)] {
        assert_eq!(load_use(&[load(name, 7, 8, 0), USE]), delay, "{name}");
        assert_eq!(load_use(&[load(name, 7, 8, 0), NOP, USE]), delay - 1, "{name}, one instruction between");
        assert_eq!(load_use(&[load(name, 7, 8, 0), addi(7, 0, 1)]), delay, "{name}, written again");
        assert_eq!(load_use(&[load(name, 7, 8, 0), store(3, 7, 8, 8)]), delay, "{name}, stored");
        assert_eq!(load_use(&[load(name, 7, 8, 0), NOP, NOP, USE]), 0, "{name}, two between");
    }
}

#[test]
fn products_are_late_by_the_length_of_the_first_operand() {
    let multiply = |body: &[u32]| {
        let causes = stalls(&machine(true), body);
        assert_eq!(causes, Causes { multiply: causes.multiply, ..Causes::default() });
        causes.multiply
    };
    // x6 has 64 bits: 8 steps, and 2; x5 has one byte: 2 steps, as many for 32 bits.
    assert_eq!(multiply(&[register("mul", 7, 6, 5), USE]), 9);
    assert_eq!(multiply(&[register("mul", 7, 5, 6), USE]), 3);
    assert_eq!(multiply(&[register("mulw", 7, 5, 6), USE]), 3);
    assert_eq!(multiply(&[register("mulhu", 7, 5, 5), USE]), 9, "no early end for high halves");
    // The unit is one.
    assert_eq!(multiply(&[register("mul", 7, 5, 6), register("mul", 28, 5, 6)]), 3);
    let others = [register("mul", 7, 5, 6), store(3, 5, 8, 0), store(3, 5, 8, 8), store(3, 5, 8, 16), USE];
    assert_eq!(multiply(&others), 0, "hidden behind stores");
    // Two cycles in which the product could be written go to others.
    let others = [register("mul", 7, 5, 6), NOP, NOP, store(3, 5, 8, 0), USE];
    assert_eq!(multiply(&others), 2);
}

#[test]
fn quotients_are_late_by_their_length() {
    let divide = |early_out: bool, body: &[u32]| {
        let causes = stalls(&machine(early_out), body);
        assert_eq!(causes, Causes { divide: causes.divide, ..Causes::default() });
        causes.divide
    };
    for name in ["divu", "remu", "divuw", "remuw"] {
        assert_eq!(divide(false, &[register(name, 7, 5, 5), USE]), 66, "{name}");
        assert_eq!(divide(true, &[register(name, 7, 5, 5), USE]), 4, "{name}, a quotient of one bit");
    }
    assert_eq!(divide(true, &[register("divu", 7, 6, 5), USE]), 66, "a quotient of 63 bits");
    assert_eq!(divide(false, &[register("div", 7, 6, 5), USE]), 68, "two signs");
    let both = stalls(&machine(false), &[register("divu", 7, 5, 5), register("mul", 28, 5, 5)]);
    assert_eq!(both, Causes { divide: 66, ..Causes::default() }, "one unit for both");
}

#[test]
fn modular_units_are_pipelines() {
    let custom = |op: u32, rd: u32| r_type(0x2b, 0, op, rd, 5, 5);
    let mut machine = machine(true);
    let modular = |machine: &ScalarMachine, body: &[u32]| {
        let causes = stalls(machine, body);
        assert_eq!(causes, Causes { modular: causes.modular, ..Causes::default() });
        causes.modular
    };
    assert_eq!(modular(&machine, &[custom(2, 7), USE]), 5);
    assert_eq!(modular(&machine, &[custom(2, 28), custom(2, 29), custom(2, 7), USE]), 5);
    assert_eq!(modular(&machine, &[custom(0, 7), USE, custom(1, 7), USE]), 0);
    machine.rvfhe.adder = 2;
    assert_eq!(modular(&machine, &[custom(0, 7), USE, custom(1, 7), USE]), 2);
}

#[test]
fn writing_a_modulus_flushes_the_pipeline() {
    let body = [i_type(0x73, 1, 7, 9, 0x801), USE];
    assert_eq!(stalls(&machine(true), &body), Causes { csr: 4, ..Causes::default() });
    // Reading does not; its result is two cycles late.
    let body = [i_type(0x73, 2, 7, 0, 0x800), USE];
    assert_eq!(stalls(&machine(true), &body), Causes { csr: 2, ..Causes::default() });
}

#[test]
fn branches_that_are_known_cost_nothing() {
    let mut machine = machine(true);
    for jump in [branch(0, 5, 5, 8), jal(0, 8)] {
        let known = steady(&machine, &[jump, NOP]);
        assert_eq!(known.instructions, 1, "the second is skipped");
        assert_eq!(known.causes, Causes { issue: 1, ..Causes::default() });
    }
    assert_eq!(stalls(&machine, &[branch(0, 5, 6, 8), NOP]), Causes::default(), "not taken");
    // A target that changes every round: x7 = its own address + 12 + (0 or 4).
    let changing = [i_type(0x13, 4, 21, 21, 4), auipc(7, 0), register("add", 7, 7, 21), jalr(0, 7, 12), NOP];
    assert_eq!(steady(&machine, &changing).causes.branch, 3);
    // Without a target buffer: a stage later.
    machine.branch.btb_entries = 0;
    assert_eq!(steady(&machine, &[jal(0, 8), NOP]).causes.branch, 1);
    assert_eq!(steady(&machine, &[branch(0, 5, 5, 8), NOP]).causes.branch, 1);
}

#[test]
fn misses_of_the_data_cache() {
    let mut machine = machine(true);
    machine.dcache.ways = 2;
    machine.dcache.replacement = Replacement::Lru;
    // Three lines of one set, 4 KiB apart, in turn. x10 to x12 point to them.
    let lines: Vec<u32> = (0..3).flat_map(|i| li(10 + i, DATA + 4096 * u64::from(i))).collect();
    let each = |instruction: &dyn Fn(u32) -> u32| {
        let body: Vec<u32> = lines.iter().copied().chain((10..13).map(instruction)).collect();
        body
    };
    let dcache = |machine: &ScalarMachine, body: &[u32]| {
        let causes = stalls(machine, body);
        assert_eq!(causes, Causes { dcache: causes.dcache, ..Causes::default() });
        causes.dcache
    };
    let loads = each(&|base| load("ld", base + 4, base, 0));
    let stores = each(&|base| store(3, 5, base, 0));
    assert_eq!(dcache(&machine, &loads[..8]), 0, "two of them fit");
    assert_eq!(dcache(&machine, &[&stores[..], &[NOP; 3]].concat()), 3 * (3 + 10 + 64 / 8 + 6), "victims are dirty");
    assert_eq!(dcache(&machine, &loads), 3 * (3 + 10));
    machine.l2.sets = 1;
    machine.l2.ways = 1;
    assert_eq!(stalls(&machine, &loads).dcache, 3 * (3 + 10 + 40));
}

#[test]
fn misses_of_the_instruction_cache() {
    let mut machine = machine(true);
    machine.icache.sets = 1;
    machine.icache.ways = 1;
    // The cache has one line of 16 instructions: a line more costs a miss more, of which the L2 knows the line.
    assert_eq!(stalls(&machine, &[NOP; 16]), Causes { icache: 3 + 10, ..Causes::default() });
}
