//! Faulty programs and machines: each ends with an error that names the cause and the place, within bounded time.

use ciphermill_arch::array::{
    Array, CIPHERMILL, CoreEvent, Experiment, ExperimentError, Firing, Issue, LANE, Machine, MachineError, PAPER, Port,
    SimulationError, Transposition, Waits,
};
use ciphermill_arch::report::{Operation, Workload};
use ciphermill_math::isa::Isa;
use ciphermill_rvfhe::compiler::{CompileError, Direction, Ring, Task, Transform, compile};
use ciphermill_rvfhe::isa::{Core, Instruction, InstructionMemory, assemble};
use proptest::prelude::*;

/// Numbers at and beyond the limits of some field.
const HOSTILE: [&str; 20] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "8",
    "12",
    "16",
    "17",
    "28",
    "29",
    "32",
    "64",
    "65",
    "1024",
    "65536",
    "1048576",
    "4294967295",
    "-1",
    "nan",
];

fn machine() -> Machine {
    Machine::from_toml(CIPHERMILL).unwrap()
}

/// The words of a text. Other cores end at once.
fn words(text: &str) -> Vec<u32> {
    let assembly =
        assemble(text, Core::new(0).unwrap(), InstructionMemory::PAPER).unwrap_or_else(|error| panic!("{error}"));
    assembly.program.instructions().iter().map(|instruction| instruction.encode()).collect()
}

fn run(texts: &[&str]) -> Result<u64, SimulationError> {
    let mut array = Array::new(machine());
    let mut programs = vec![words("ebreak"); 16];
    for (program, text) in programs.iter_mut().zip(texts) {
        *program = words(text);
    }
    array.run(&programs, &[], 0, 10_000).map(|run| run.cycles)
}

#[test]
fn a_deadlock_names_who_waits_for_what() {
    // Core 0 waits for a row that core 1 sends when it has one from core 0.
    let error =
        run(&["ldp v1, 0(x0)!\ncopy c1, v1, 0(x0)\nebreak", "ldp v2, 0(x0)!\ncopy c0, v2, 0(x0)\nebreak"]).unwrap_err();
    let SimulationError::Deadlock { blocked, .. } = &error else { panic!("{error}") };
    for core in [0, 1] {
        let row = blocked.0.iter().find(|blocked| blocked.core == core && blocked.waits == Waits::RowEmpty { row: 0 });
        assert!(row.is_some_and(|blocked| blocked.pc == Some(0)), "{error}");
    }
    let text = error.to_string();
    assert!(text.contains("core 0, instruction 0: words of row 0, or of its tile, are empty"), "{text}");

    let operand = run(&["lui x5, 0x1\ncsrrw x0, m0, x5\nmadd v1, v2, v3, m0\nebreak"]).unwrap_err().to_string();
    assert!(operand.contains("core 0, instruction 2: v2 is empty"), "{operand}");
    let twiddle = run(&["lds v1, 0(x0)\nlui x5, 0x1\ncsrrw x0, m0, x5\nmmul v1, v1, t3, m0\nebreak"]).unwrap_err();
    assert!(twiddle.to_string().contains("core 0, instruction 3: t3 is empty"), "{twiddle}");
    let twice = run(&["lds v1, 0(x0)\nlds v1, 1(x0)\nebreak"]).unwrap_err().to_string();
    assert!(twice.contains("core 0, instruction 1: v1 is still full"), "{twice}");
    // Two vectors to one row of another core, which no core empties.
    let full = run(&["lds v1, 0(x0)\ncopyk c1, v1, 7(x0)\ncopyk c1, v1, 7(x0)\nebreak"]).unwrap_err().to_string();
    assert!(full.contains("core 1, an arrived vector: row 7 is still full"), "{full}");
}

#[test]
fn what_is_out_of_range_is_named() {
    for (text, wanted) in [
        (
            "lds v1, 0(x0)\nldt t0, 0(x0)\nmmul v1, v1, t0, m5\nebreak",
            "instruction 2: modulus register m5 is not set to 1 … 2^31",
        ),
        (
            "addi x5, x0, 640\nldp v1, 0(x5)\nebreak",
            "instruction 1: address 640 is outside the data memory; use 0 to 639",
        ),
        ("addi x5, x0, -1\nldp v1, 0(x5)\nebreak", "address 4294967295 is outside the data memory; use 0 to 639"),
        ("addi x5, x0, 639\nldp v1, 0(x5), tile=1\naddi x5, x0, 640\nebreak", "words of row 639"),
        ("addi x5, x0, 320\nldt t1, 0(x5)\nebreak", "address 320 is outside the twiddle memory; use 0 to 319"),
        (
            "lui x5, 0x3\nldt t1, 0(x5), broadcast\nebreak",
            "address 12288 is outside the twiddle memory's pairs; use 0 to 10239",
        ),
        ("lui x5, 0x6\nlds v1, 0(x5)\nebreak", "address 24576 is outside the scratchpad; use 0 to 24575"),
        ("lds v1, 0(x0)\nlui x5, 0x6\nsts v1, 0(x5)\nebreak", "is outside the scratchpad; use 0 to 24575"),
        (
            "lds v1, 0(x0)\naddi x5, x0, 600\ncopy c3, v1, 40(x5)\nebreak",
            "address 640 is outside the data memory; use 0 to 639",
        ),
        ("lds v1, 0(x0)\ncopy c16, v1, 0(x0)\nebreak", "instruction 1: a copy to core 16; this array has 16 cores"),
    ] {
        let error = run(&[text]).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}\n{error}");
    }
    let mut array = Array::new(machine());
    assert!(matches!(array.run(&[vec![0x73]], &[], 0, 1), Err(SimulationError::Cores { given: 1, cores: 16 })));
    let mut programs = vec![words("ebreak"); 16];
    for given in [0, 32, usize::MAX] {
        assert_eq!(array.run(&programs, &[(31, 1), (given, 1)], 0, 1), Err(SimulationError::Argument { given }));
    }
    programs[3] = vec![0xffff_ffff];
    assert!(matches!(array.run(&programs, &[], 0, 1), Err(SimulationError::Decode { core: 3, pc: 0, .. })));
    programs[3] = vec![words("addi x0, x0, 0\nebreak")[0]; 4097];
    let error = array.run(&programs, &[], 0, 1).unwrap_err();
    assert_eq!(error, SimulationError::InstructionMemory { core: 3, given: 4097, have: 4096 });
    programs[3].truncate(3);
    assert!(matches!(array.run(&programs, &[], 0, 100), Err(SimulationError::PastEnd { core: 3, pc: 3 })));
    programs[3] = words("back: jal x0, back\nebreak");
    assert_eq!(
        array.run(&programs, &[], 0, 500).unwrap_err(),
        SimulationError::CycleLimit { running: vec![3], limit: 500 }
    );
    assert!(matches!(
        array.set_twiddles(2, &vec![(0, 0); 320 * 32 + 1]),
        Err(SimulationError::TwiddleMemory { core: 2, have: 10240, .. })
    ));
}

/// A failed run leaves nothing that affects the next one.
#[test]
fn an_array_goes_on_after_an_error() {
    // Core 0 loads from the slice of core 15, multiplies, and sends to core 5, which stores.
    let good = |array: &mut Array| {
        let mut programs = vec![words("ebreak"); 16];
        programs[0] = words(
            "lui x5, 0x1\ncsrrw x0, m0, x5\nlds v1, 15(x0)\nldt t0, 0(x0)\nmmul v1, v1, t0!, m0\ncopy c5, v1, 3(x0)\nebreak",
        );
        programs[5] = words("ldp v9, 3(x0)!\nsts v9, 40(x0)\nebreak");
        array.set_twiddles(0, &[(2, 1 << 21); 32]).unwrap();
        array.scratchpad_mut()[15 * 32..16 * 32].fill(100);
        let run = array.run(&programs, &[], 1, 1000).unwrap();
        (run, array.scratchpad()[40 * 32..41 * 32].to_vec())
    };
    let wanted = good(&mut Array::new(machine()));
    assert_eq!(wanted.1, [200; 32]);
    for text in [
        // A deadlock with entries in every queue, an operand that will never be there, and a vector for a row that stays full.
        "lds v1, 15(x0)\ncopyk c5, v1, 3(x0)\ncopyk c5, v1, 3(x0)\ncopyk c5, v1, 3(x0)\nldt t1, 0(x0)\nldt t1, 1(x0)\n\
         ldp v3, 9(x0)\nlui x5, 0x1\ncsrrw x0, m0, x5\nmadd v1, v1, v2, m0\nebreak",
        // Ends in the middle of loads and messages.
        "lds v1, 15(x0)\nlds v2, 14(x0)\nlds v3, 13(x0)\ncopyk c5, v1, 3(x0)\nlui x5, 0x6\nlds v4, 0(x5)\nebreak",
        "lds v1, 15(x0)\nlds v2, 14(x0)\naddi x5, x0, 700\nldp v7, 0(x5)\nebreak",
        "lds v1, 15(x0)\ncopyk c5, v1, 3(x0)\nback: jal x0, back\nebreak",
    ] {
        let mut array = Array::new(machine());
        let mut programs = vec![words("ebreak"); 16];
        programs[0] = words(text);
        for limit in [3, 5, 8, 12, 20, 100, 1000] {
            array.run(&programs, &[], 0, limit).unwrap_err();
            assert_eq!(good(&mut array), wanted, "{text}, {limit}");
        }
    }
}

#[test]
fn machines_with_impossible_values_are_refused() {
    for text in [CIPHERMILL, PAPER, LANE] {
        Machine::from_toml(text).unwrap();
    }
    for (field, from, to) in [
        ("grid.rows", "rows = 4", "rows = 0"),
        ("grid.rows times grid.columns", "columns = 4", "columns = 3"),
        ("core.lanes", "lanes = 32", "lanes = 33"),
        ("core.queue_depth", "queue_depth = 16", "queue_depth = 0"),
        ("lane.adders", "adders = 2", "adders = 3"),
        ("lane.multiplier_latency", "multiplier_latency = 6", "multiplier_latency = 0"),
        ("memory.data_rows", "data_rows = 640", "data_rows = 4000000000"),
        ("network.link_bytes", "link_bytes = 128", "link_bytes = 0"),
        ("scratchpad.latency", "latency = 4", "latency = 40"),
        ("dram.bytes_per_cycle", "bytes_per_cycle = 32", "bytes_per_cycle = 0"),
        ("clock_ghz", "clock_ghz = 1.0", "clock_ghz = nan"),
        ("clock_ghz", "clock_ghz = 1.0", "clock_ghz = 5e-324"),
    ] {
        let text = CIPHERMILL.replace(from, to);
        assert_ne!(text, CIPHERMILL, "{from}");
        let error = Machine::from_toml(&text).unwrap_err();
        assert!(matches!(&error, MachineError::Value { field: named, .. } if *named == field), "{to}: {error}");
    }
    for slices in ["[0, 16]", "[3, 0, 3]"] {
        let text = CIPHERMILL.replace("latency = 4\n", &format!("latency = 4\nslices = {slices}\n"));
        assert!(matches!(Machine::from_toml(&text), Err(MachineError::Value { field: "scratchpad.slices", .. })));
    }
    for (from, to) in
        [("adders = 2", ""), ("adders = 2", "adders = 2\nsubtractors = 1"), ("adders = 2", "adders = \"two\"")]
    {
        assert!(matches!(Machine::from_toml(&CIPHERMILL.replace(from, to)), Err(MachineError::Syntax(_))), "{to}");
    }
    assert!(matches!(Machine::from_toml(&" ".repeat(1 << 17)), Err(MachineError::TooLong { .. })));
}

#[test]
fn a_size_that_does_not_fit_says_which_does() {
    let modulus = ciphermill_math::Modulus::new(2_013_265_921).unwrap();
    let task = |polynomial_size| {
        let (ring, direction) = (Ring::Negacyclic, Direction::Forward);
        Task::Transform(Transform { polynomial_size, modulus, ring, direction })
    };
    let target = machine().target();
    for size in [0, 1, 512, 3000, 1 << 17, 1 << 40, usize::MAX] {
        let error = compile(&target, &task(size), 1).unwrap_err();
        let CompileError::PolynomialSize { given, fitting } = &error else { panic!("{size}: {error}") };
        assert_eq!((*given, fitting.sizes()), (size, &[1024, 2048, 4096, 8192, 16384, 32768, 65536][..]));
    }
    assert!(compile(&target, &task(1024), 1).is_ok() && compile(&target, &task(65536), 1).is_ok());
    assert_eq!(compile(&target, &task(8192), 0).unwrap_err(), CompileError::InFlight { given: 0, max: 8 });
    assert_eq!(compile(&target, &task(8192), 9).unwrap_err(), CompileError::InFlight { given: 9, max: 8 });
    let small = ciphermill_rvfhe::compiler::Target { instructions: 100, ..target.clone() };
    assert!(matches!(compile(&small, &task(8192), 1), Err(CompileError::Instructions { have: 100, .. })));
    let few = ciphermill_rvfhe::compiler::Target { data_rows: 32, ..target.clone() };
    assert!(matches!(compile(&few, &task(8192), 1), Err(CompileError::DataRows { have: 32, .. })));
    let few = ciphermill_rvfhe::compiler::Target { twiddle_rows: 8, ..target };
    assert!(matches!(compile(&few, &task(8192), 1), Err(CompileError::TwiddleRows { have: 8, .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any text in place of a value gives an error, or a machine whose programs compile or are rejected.
    #[test]
    fn any_description_is_read_or_refused(line in 0..60_usize, value in "(-?[0-9]{1,12}|[0-9.e]{1,8}|\\[[0-9, ]{0,8}\\]|[a-z\"=\\[\\]]{0,12})") {
        let mut lines: Vec<String> = CIPHERMILL.lines().map(str::to_owned).collect();
        let line = line % lines.len();
        if let Some((name, _)) = lines[line].clone().split_once('=') {
            lines[line] = format!("{name}= {value}");
        } else {
            lines[line] = value;
        }
        if let Ok(machine) = Machine::from_toml(&lines.join("\n")) {
            let modulus = ciphermill_math::Modulus::new(2_013_265_921).unwrap();
            let (ring, direction) = (Ring::Cyclic, Direction::Forward);
            let task = Task::Transform(Transform { polynomial_size: 2048, modulus, ring, direction });
            let experiment = Experiment { task, in_flight: 1, runs: 1, seed: 1 };
            if let Ok(measured) = experiment.measure(&machine) {
                prop_assert!(measured.correct);
            }
        }
    }

    /// Pairs of numbers at or beyond their limits, and tasks of the smallest size for such a machine.
    #[test]
    fn limits_are_admitted_or_refused(
        base in 0..3_usize,
        changes in prop::collection::vec((0..60_usize, prop::sample::select(&HOSTILE[..])), 1..4),
        operation in prop::sample::select(&Operation::ALL[..]),
        in_flight in 1..3_usize,
    ) {
        let text = [CIPHERMILL, PAPER, LANE][base];
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let numbers: Vec<usize> = (0..lines.len())
            .filter(|line| lines[*line].split_once(" = ").is_some_and(|(_, value)| value.parse::<f64>().is_ok()))
            .collect();
        for (line, value) in changes {
            let line = numbers[line % numbers.len()];
            let name = lines[line].split(" = ").next().unwrap_or_default().to_owned();
            lines[line] = format!("{name} = {value}");
        }
        if let Ok(machine) = Machine::from_toml(&lines.join("\n")) {
            let least = (machine.cores() * machine.core.lanes) as usize;
            for polynomial_size in [2 * least, 8 * least] {
                let workload = Workload { operation, digits: 1, ..Workload::ntt(polynomial_size) };
                let experiment = Experiment { task: workload.task().unwrap(), in_flight, runs: 2, seed: 1 };
                match experiment.measure(&machine) {
                    Ok(measured) => {
                        prop_assert!(measured.correct);
                        prop_assert!(measured.adders.is_none_or(|share| share > 0.0 && share <= 1.0));
                    }
                    // What compiles runs to its end.
                    Err(ExperimentError::Simulation(error)) => prop_assert!(false, "{error}"),
                    Err(_) => {}
                }
            }
        }
    }

    /// Any words on small arrays of every kind end normally or with an error, identically on every instruction set.
    #[test]
    fn any_words_end_on_any_array(
        programs in prop::collection::vec(prop::collection::vec(any_instruction(), 0..40), 4),
        latencies in [1..13_u32, 1..5_u32, 1..29_u32, 1..17_u32, 1..29_u32, 1..17_u32],
        ports in [1..5_u32, 1..5_u32, 1..5_u32, 1..3_u32, 1..65_u32, 1..65_u32],
        (log_lanes, wide) in (1..6_u32, 0..8_u8),
        kinds: u16,
    ) {
        let mut machine = machine();
        let bit = |at: u16| kinds >> at & 1 == 1;
        (machine.grid.rows, machine.grid.columns) =
            if wide == 0 { (4, 8) } else { (1 + u32::from(bit(0)), 1 + u32::from(bit(1))) };
        machine.core.lanes = 1 << log_lanes;
        machine.core.issue = [Issue::Dataflow, Issue::Unpipelined, Issue::Blocking][usize::from(kinds >> 2) % 3];
        machine.core.firing = if bit(4) { Firing::Phase } else { Firing::Operand };
        let port = |shared| if shared { Port::Shared } else { Port::Own };
        (machine.lane.copies, machine.lane.twiddle_port) = (port(bit(5)), port(bit(6)));
        machine.memory.transposition = if bit(7) { Transposition::Serial } else { Transposition::Banked };
        machine.network.link_bytes = if bit(8) { 1 } else { 128 };
        machine.scratchpad.slices = if bit(9) { vec![0] } else { vec![] };
        (machine.memory.inbox, machine.scratchpad.requests) = (1 + u32::from(kinds >> 10) % 16, 1 + u32::from(kinds >> 12));
        machine.core.issue_width = 1 + u32::from(kinds) % 16;
        let lane = &mut machine.lane;
        [lane.multiplier_latency, lane.adder_latency, lane.complex_latency, ..] = latencies;
        [.., machine.memory.read_latency, machine.scratchpad.latency, machine.network.hop_latency] = latencies;
        [lane.copy_ports, lane.arrival_ports, machine.memory.write_ports, lane.adders, ..] = ports;
        [.., machine.core.queue_depth, machine.network.buffer] = ports;
        machine.lane.complex_interval = machine.lane.complex_latency.min(1 + u32::from(kinds >> 3) % 16);
        machine.check().unwrap();
        let start = words("lui x5, 0x1000\ncsrrw x0, m0, x5\nlds v0, 0(x0)\nlds v1, 1(x0)\nebreak");
        let program = |words: &Vec<u32>| [&start[..4], &words[..], &[0x0010_0073]].concat();
        let programs: Vec<Vec<u32>> = programs.iter().map(program).cycle().take(machine.cores() as usize).collect();
        let run = |array: &mut Array| {
            let ended = array.run(&programs, &[(10, 1)], 1, 3_000);
            (ended, array.scratchpad().to_vec())
        };
        let mut array = Array::new(machine.clone());
        let (ended, scratchpad) = run(&mut array);
        match &ended {
            Ok(run) => prop_assert!(run.cycles <= 3_000 && run.completed >= run.cycles),
            Err(SimulationError::Deadlock { blocked, .. }) => prop_assert!(!blocked.0.is_empty()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
        let mut others: Vec<Array> = ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()).into_iter().map(|isa| Array::on(machine.clone(), isa)).collect();
        for other in &mut others {
            prop_assert_eq!(&(ended.clone(), scratchpad.clone()), &run(other));
        }
        // After an error it is as a new one that has the same in its scratchpad; and it goes on after an end.
        let again = run(&mut array);
        for other in &mut others {
            prop_assert_eq!(&again, &run(other));
        }
        if ended.is_err() {
            let mut new = Array::new(machine);
            new.scratchpad_mut().copy_from_slice(&scratchpad);
            prop_assert_eq!(again, run(&mut new));
        }
    }

    /// Any words end normally or with an error, in bounded time.
    #[test]
    fn any_words_end(random in prop::collection::vec(any_instruction(), 0..60), seed: u64) {
        let mut array = Array::new(machine());
        let mut program = random;
        program.push(0x0010_0073);
        let mut programs = vec![vec![0x0010_0073]; 16];
        programs[seed as usize % 16] = program.clone();
        programs[(seed >> 8) as usize % 16] = program;
        let twiddles = vec![(1, 2); 64];
        array.set_twiddles(0, &twiddles).unwrap();
        // A modulus for arithmetic, and scalar registers for addresses.
        let start = words("lui x5, 0x1000\ncsrrw x0, m0, x5\nebreak");
        for program in &mut programs {
            program.splice(0..0, start[..2].iter().copied());
        }
        match array.run(&programs, &[(10, 1)], 1, 5_000) {
            Ok(run) => prop_assert!(run.cycles <= 5_000),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

/// Valid words of the array's opcodes, most with small addresses, and a few invalid words.
fn any_instruction() -> impl Strategy<Value = u32> {
    let word = (any::<u32>(), 0..7_u32).prop_map(|(word, kind)| match kind {
        0 => word & 0x0fff_8f80 | 0x0b,
        1 => word & 0x00ff_8f80 | 0x100b,
        2 => word & 0x00ff_8f80 | 0x200b,
        3 => word & 0x01f0_8f80 | 0x400b,
        _ => word & 0x36ff_8f80 | 0x2b,
    });
    let decodes = word.prop_filter("an instruction", |word| Instruction::decode(*word).is_ok());
    prop_oneof![60 => decodes, 1 => any::<u32>()]
}

/// A complex butterfly also uses the imaginary registers, which its word does not name. Stores of these registers,
/// which were loaded first, wait until it has finished.
#[test]
fn imaginary_registers_keep_the_order() {
    let text = "lds v3, 1(x0)\nlds v5, 3(x0)\nlds v2, 0(x0)\nlds v4, 2(x0)\nldt t0, 0(x0)\nfbfly.dit v2, v4, t0\n\
        sts v3, 9(x0)\nsts v5, 11(x0)\nsts v2, 8(x0)\nsts v4, 10(x0)\nlds v3, 4(x0)\nlds v5, 5(x0)\n\
        sts v3, 12(x0)\nsts v5, 13(x0)\nebreak";
    let mut array = Array::new(machine());
    let lanes = machine().core.lanes as usize;
    let number = |value: f32| value.to_bits();
    for (vector, value) in [1.0, 2.0, 3.0, 4.0, 50.0, 60.0].into_iter().enumerate() {
        array.scratchpad_mut()[vector * lanes..][..lanes].fill(number(value));
    }
    // w = 2 + i: (3 + 4i)·w = 2 + 11i.
    array.set_twiddles(0, &vec![(number(2.0), number(1.0)); lanes]).unwrap();
    let mut programs = vec![words("ebreak"); 16];
    programs[0] = words(text);
    array.observe(0).unwrap();
    array.run(&programs, &[], 0, 10_000).unwrap();
    let stored: Vec<f32> = (8..14).map(|vector| f32::from_bits(array.scratchpad()[vector * lanes])).collect();
    assert_eq!(stored, [3.0, 13.0, -1.0, -9.0, 50.0, 60.0]);
    let events = array.take_events(0);
    let issued = |of: u32| {
        let issue = events.iter().find_map(|event| match event {
            CoreEvent::Issue { cycle, pc, .. } if *pc == of => Some(*cycle),
            _ => None,
        });
        issue.expect("an issue")
    };
    let arrived = |register: u8| {
        let of = |event: &CoreEvent| match event {
            CoreEvent::Arrival { cycle, register: into, .. } if *into == register => Some(*cycle),
            _ => None,
        };
        events.iter().filter_map(of).max().expect("an arrival")
    };
    assert!(issued(6) > issued(5) && arrived(3) > issued(6) && arrived(5) > issued(7));
}

/// A core with stores in flight to a remote slice has not ended.
#[test]
fn a_run_is_completed_when_what_was_stored_is_there() {
    let mut machine = machine();
    machine.scratchpad.slices = vec![15];
    machine.network.hop_latency = 16;
    let mut programs = vec![words("ebreak"); 16];
    programs[0] = words("lds v0, 0(x0)\nsts v0, 1(x0)\nebreak");
    let run = Array::new(machine).run(&programs, &[], 1, 10_000).unwrap();
    assert_eq!(run.marks.len(), 1);
    assert!(run.completed > run.cycles && run.cycles >= run.marks[0], "{run:?}");
}

#[test]
fn a_machine_whose_fields_were_changed_is_checked() {
    let mut machine = Machine::from_toml(CIPHERMILL).unwrap();
    machine.core.lanes = 64;
    let modulus = ciphermill_math::Modulus::new(2_013_265_921).unwrap();
    let (ring, direction) = (Ring::Negacyclic, Direction::Forward);
    let task = Task::Transform(Transform { polynomial_size: 8192, modulus, ring, direction });
    let error = Experiment { task, in_flight: 1, runs: 1, seed: 1 }.measure(&machine).unwrap_err();
    assert!(matches!(error, ExperimentError::Machine(_)) && error.to_string().contains("core.lanes is 64"), "{error}");
}
