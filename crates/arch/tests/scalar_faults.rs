//! Faulty programs and jobs end with an error that names the cause and the place.

use crate::scalar_support::assemble::*;
use crate::scalar_support::{baseline, machine, words};
use ciphermill_arch::scalar::{
    Baseline, Execution, ExecutionReport, MachineError, Program, Ring, ScalarError, ScalarMachine, Variant, run,
    simulate,
};
use ciphermill_math::Modulus;
use ciphermill_math::modulus::ntt_primes;
use proptest::prelude::*;

fn execute_within(code: &[u32], input: &[u8], instructions_max: u64) -> Result<ExecutionReport, ScalarError> {
    let program = Program::from_elf(&elf(code)).expect("a program");
    let execution = Execution { program: &program, input, output_max: 64, instructions_max, region: None };
    simulate(&machine(true), &execution)
}

fn fault(code: &[u32]) -> ScalarError {
    execute_within(code, &[1, 2, 3, 4], 10_000).expect_err("it goes wrong")
}

#[test]
fn illegal_words() {
    // All zeros, all ones, compressed instructions, floating point, atomics, a shift by 64, FENCE.I, mret, other CSRs, free
    // bits and vector operations of RVFHE, its custom-0.
    let words = [
        0u32,
        u32::MAX,
        0x0000_4501,
        0x0000_0053,
        0x0000_202f,
        0x4200_1013,
        0x0000_100f,
        0x3020_0073,
        i_type(0x73, 2, 5, 0, 0x300),
        i_type(0x73, 2, 5, 0, 0x808),
        i_type(0x73, 4, 5, 0, 0x800),
        r_type(0x2b, 0, 3, 7, 5, 6),
        r_type(0x2b, 0, 8, 7, 5, 6),
        r_type(0x2b, 0, 0x20, 7, 5, 6),
        0x0000_000b,
        r_type(0x33, 0, 2, 7, 5, 6),
        r_type(0x3b, 1, 1, 7, 5, 6),
        r_type(0x1b, 1, 1, 7, 5, 0),
        i_type(0x67, 1, 0, 0, 0),
        i_type(0x03, 7, 5, 5, 0),
        store(4, 5, 5, 0),
        branch(2, 0, 0, 8),
    ];
    for word in words {
        match fault(&[addi(0, 0, 0), word]) {
            ScalarError::IllegalInstruction { pc, word: found } => assert_eq!((pc, found), (CODE + 4, word)),
            other => panic!("{word:#010x}: {other}"),
        }
    }
}

#[test]
fn jumps_to_where_no_code_is() {
    for (code, target) in [
        (vec![jal(0, -4)], CODE - 4),
        (vec![jal(0, 2)], CODE + 2),
        (vec![addi(0, 0, 0)], CODE + 4),
        (vec![jalr(0, 0, -2)], u64::MAX - 1),
        ([&li(5, DATA)[..], &[jalr(0, 5, 0)]].concat(), DATA),
    ] {
        assert!(matches!(fault(&code), ScalarError::FetchFault { pc } if pc == target), "{target:#x}");
    }
}

#[test]
fn memory_that_may_not_be_touched() {
    let with_base = |base: u64, word: u32| [&li(5, base)[..], &[word]].concat();
    let at = CODE + 8;
    for (base, word, wanted_access, wanted_bytes) in [
        (0, load("lb", 6, 5, 0), "load", 1),
        (CODE - 8, load("ld", 6, 5, 0), "load", 8),
        (DATA + DATA_BYTES - 4, load("lw", 6, 5, 4), "load", 4),
        (0, load("ld", 6, 5, -8), "load", 8),
        (CODE, store(2, 6, 5, 0), "store", 4),
        (DATA + DATA_BYTES, store(0, 6, 5, 0), "store", 1),
    ] {
        match fault(&with_base(base, word)) {
            ScalarError::MemoryFault { pc, access, bytes, .. } => {
                assert_eq!((pc, access, bytes), (at, wanted_access, wanted_bytes));
            }
            other => panic!("{base:#x}: {other}"),
        }
    }
    for (word, wanted) in [(load("lh", 6, 5, 1), 2), (load("lwu", 6, 5, 2), 4), (store(3, 6, 5, 4), 8)] {
        let error = fault(&with_base(DATA, word));
        assert!(matches!(error, ScalarError::Misaligned { pc, bytes, .. } if pc == at && bytes == wanted), "{error}");
    }
    // Code may be read.
    let code = [with_base(CODE, load("lw", 6, 5, 0)), exit(0)].concat();
    assert_eq!(execute_within(&code, &[], 100).expect("it runs").status, 0);
}

#[test]
fn programs_that_do_not_end() {
    assert!(matches!(fault(&[jal(0, 0)]), ScalarError::InstructionLimit { limit: 10_000 }));
    // The limit is exact: a program of three instructions.
    let code = [addi(A7, 0, 93), addi(A0, 0, 3), ECALL];
    assert_eq!(execute_within(&code, &[], 3).expect("it runs").whole.instructions, 3);
    assert!(matches!(execute_within(&code, &[], 2), Err(ScalarError::InstructionLimit { limit: 2 })));
}

#[test]
fn calls() {
    assert!(matches!(fault(&[EBREAK]), ScalarError::Breakpoint { pc: CODE }));
    let code = system_call(57, 0, 0, 0);
    assert!(matches!(fault(&code), ScalarError::SystemCall { number: 57, .. }));
    assert!(matches!(fault(&write(DATA, 65)), ScalarError::OutputLimit { limit: 64 }));
    let answer = |call: Vec<u32>| {
        // Ends with what the call gave.
        let code = [call, vec![addi(A7, 0, 93), ECALL]].concat();
        execute_within(&code, &[1, 2, 3, 4], 100).expect("it runs").status
    };
    assert_eq!(answer(read(DATA, 3)), 3);
    assert_eq!(answer(read(DATA, 100)), 4, "what there is");
    assert_eq!(answer(system_call(63, 1, DATA, 1)), -9, "EBADF");
    assert_eq!(answer(system_call(64, 2, DATA, 1)), -9);
    assert_eq!(answer(read(CODE, 4)), -14, "EFAULT");
    assert_eq!(answer(write(DATA + DATA_BYTES, 1)), -14);
    assert_eq!(answer(write(DATA, 0x7fff_0000)), -14);
}

#[test]
fn modulus_registers_that_are_not_set() {
    let set = |value: u64, register: u32| {
        let mut code = read(DATA, 8);
        code.extend(li(8, DATA));
        code.extend([load("ld", 9, 8, 0), i_type(0x73, 1, 0, 9, 0x800 + register as i32)]);
        code.push(r_type(0x2b, register, 0, 7, 5, 6));
        code.extend(exit(0));
        execute_within(&code, &value.to_le_bytes(), 100)
    };
    assert!(set(1 << 31, 5).is_ok());
    for value in [0, (1 << 31) + 1, 1 << 32, u64::MAX] {
        assert!(matches!(set(value, 5), Err(ScalarError::ModulusUnset { register: 5, .. })), "{value:#x}");
    }
}

#[test]
fn regions_that_are_not_reached() {
    let program = Program::from_elf(&elf(&exit(0))).expect("a program");
    let region = Some((CODE + 0x100, CODE));
    let execution = Execution { program: &program, input: &[], output_max: 0, instructions_max: 100, region };
    assert!(matches!(simulate(&machine(true), &execution), Err(ScalarError::Region { .. })));
}

#[test]
fn jobs_that_do_not_fit() {
    let machine = machine(true);
    let good = baseline(Variant::Naive, Ring::Cyclic, 1 << 10);
    let input = words(1 << 10, good.modulus, 1);
    for n in [0, 1, 3, 1000, 1 << 15, usize::MAX] {
        let bad = Baseline { polynomial_size: n, ..good };
        assert!(matches!(run(&machine, &bad, &input), Err(ScalarError::PolynomialSize { given, .. }) if given == n));
    }
    // Without roots of unity of order 2N, and too long for 32-bit words with a spare bit.
    let short = [12289, 97].map(|p| Modulus::new(p).expect("a prime"));
    let long = [32, 50].map(|bits| ntt_primes(bits, 1 << 14).next().expect("a prime"));
    for modulus in short.into_iter().chain(long) {
        let bad = Baseline { modulus, polynomial_size: 1 << 14, ..good };
        assert!(matches!(run(&machine, &bad, &vec![0; 1 << 14]), Err(ScalarError::Modulus { .. })), "{modulus}");
    }
    assert!(matches!(run(&machine, &good, &input[1..]), Err(ScalarError::InputLength { given: 1023, wanted: 1024 })));
    let mut bad = input.clone();
    bad[77] = good.modulus.value() as u32;
    assert!(matches!(run(&machine, &good, &bad), Err(ScalarError::InputRange { index: 77, .. })));
}

#[test]
fn programs_refuse_jobs_that_are_none() {
    let good = baseline(Variant::Shoup, Ring::Negacyclic, 1 << 10);
    let job = good.input(&words(1 << 10, good.modulus, 1)).expect("a job");
    let program = Variant::Shoup.program().expect("a program");
    let status = |input: &[u8]| {
        let execution =
            Execution { program: &program, input, output_max: 1 << 16, instructions_max: 10_000_000, region: None };
        simulate(&machine(true), &execution).expect("it runs").status
    };
    assert_eq!(status(&job), 0);
    assert_eq!(status(&job[..job.len() - 1]), 1, "it ends early");
    assert_eq!(status(&[]), 1);
    for (at, byte) in [(0, b'X'), (4, 2), (8, 0), (8, 15), (15, 0x80)] {
        let mut bad = job.clone();
        bad[at] = byte;
        assert_eq!(status(&bad), 2, "byte {at}");
    }
}

#[test]
fn machine_descriptions_that_are_none() {
    let text = ScalarMachine::ROCKET;
    assert!(ScalarMachine::from_toml(text).is_ok());
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        ScalarMachine::from_toml(&text.replacen(from, to, 1)).expect_err("it is refused")
    };
    for (from, to, key) in [
        ("load_word = 2", "load_word = 0", "pipeline.load_word"),
        ("load_word = 2", "load_word = 65537", "pipeline.load_word"),
        ("bits_per_cycle = 8", "bits_per_cycle = 3", "multiplier.bits_per_cycle"),
        ("bits_per_cycle = 8", "bits_per_cycle = 32", "multiplier.bits_per_cycle"),
        ("bht_entries = 512", "bht_entries = 500", "branch.bht_entries"),
        ("bht_hashed_bits = 3", "bht_hashed_bits = 9", "branch.bht_hashed_bits"),
        ("bht_history_bits = 8", "bht_history_bits = 0", "branch.bht_history_bits"),
        ("btb_entries = 28", "btb_entries = 100000", "branch.btb_entries"),
        ("sets = 64", "sets = 0", "icache.sets"),
        ("sets = 64", "sets = 131072", "icache.sets"),
        ("ways = 8", "ways = 7", "l2.ways"),
        ("line_bytes = 64", "line_bytes = 8", "icache.line_bytes"),
        ("writeback_bytes_per_cycle = 8", "writeback_bytes_per_cycle = 0", "dcache.writeback_bytes_per_cycle"),
        ("clock_mhz = 1000", "clock_mhz = 0", "clock_mhz"),
        ("mispredict = 3", "mispredict = 4294967295", "branch.mispredict"),
    ] {
        match changed(from, to) {
            MachineError::Range { key: found, .. } => assert_eq!(found, key),
            other => panic!("{to}: {other}"),
        }
    }
    for (from, to) in [
        ("load_word = 2", "load_word = -1"),
        ("load_word = 2", "load_words = 2"),
        ("load_word = 2", ""),
        ("\"random\"", "\"fifo\""),
        ("\n[l2]\n", "\n[l3]\n"),
        ("name =", "nome ="),
        ("early_out = true", "early_out = 1"),
    ] {
        assert!(matches!(changed(from, to), MachineError::Parse(_)), "{to}");
    }
    // A description that is changed after it was read is checked again.
    let mut machine = machine(true);
    machine.dcache.ways = 0;
    let good = baseline(Variant::Naive, Ring::Cyclic, 2);
    assert!(matches!(run(&machine, &good, &[1, 2]), Err(ScalarError::Machine(MachineError::Range { .. }))));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    /// Any code ends: normally, with an error, or at the limit.
    #[test]
    fn any_code(
        fields in prop::collection::vec((0usize..14, any::<u32>()), 1..60),
        input in prop::collection::vec(any::<u8>(), 0..64),
        early_out: bool,
    ) {
        const OPCODES: [u32; 14] =
            [0x37, 0x17, 0x6f, 0x67, 0x63, 0x03, 0x23, 0x13, 0x1b, 0x33, 0x3b, 0x0f, 0x73, 0x2b];
        let mut code = li(8, DATA).to_vec();
        code.extend(fields.iter().map(|&(opcode, bits)| match OPCODES[opcode] {
            // Mostly calls of read and write, or modulus CSRs.
            0x73 if bits & 1 == 0 => ECALL,
            0x73 => bits & 0x00ff_ff80 | 0x8000_0000 | 0x73,
            // Mostly near the data.
            opcode @ (0x03 | 0x23) if bits & 0x80 == 0 => bits & !0x000f_807f | 8 << 15 | opcode,
            opcode @ (0x33 | 0x3b | 0x2b) => bits & 0x43ff_ff80 | opcode,
            opcode => bits & !0x7f | opcode,
        }));
        let program = Program::from_elf(&elf(&code)).expect("a program");
        let region = Some((CODE, CODE + 16));
        let execution = Execution { program: &program, input: &input, output_max: 64, instructions_max: 500, region };
        match simulate(&machine(early_out), &execution) {
            Ok(report) => prop_assert!(report.whole.cycles >= report.whole.instructions),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
