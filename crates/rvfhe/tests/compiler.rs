//! The compiler on machines and tasks at and beyond their limits: a program, or an error that names the limit.
//! `crates/arch` runs the programs and tests their results.

use std::sync::Arc;

use ciphermill_math::Modulus;
use ciphermill_math::ntt::{Convolution, FourStepNtt};
use ciphermill_rvfhe::compiler::{
    Butterfly, CompileError, Direction, Fitting, Lack, Ring, Target, Task, Transform, compile,
};
use ciphermill_rvfhe::isa::{Core, Instruction, InstructionMemory, Program};
use proptest::prelude::*;

/// 2^31 − 2^27 + 1 has roots of unity of order 2^27.
const MODULUS: u64 = 2_013_265_921;

fn modulus() -> Modulus {
    Modulus::new(MODULUS).unwrap()
}

/// Sixteen cores of 32 lanes, as in `crates/arch/machines/ciphermill.toml`.
fn target() -> Target {
    Target {
        cores: 16,
        lanes: 32,
        data_rows: 640,
        twiddle_rows: 320,
        instructions: 4096,
        scratchpad_vectors: 24576,
        butterfly: Butterfly { interval: 1, latency: 8, second: 0 },
        complex_butterfly: Butterfly { interval: 4, latency: 17, second: 0 },
        product_latency: 7,
        sum_latency: 2,
        load_latency: 3,
        scratchpad_latency: 5,
        own_latency: 2,
        remote_latency: 8,
        loads_per_cycle: 2,
        copies_per_cycle: 2,
        copies_compete: false,
        per_phase: false,
    }
}

fn transform(polynomial_size: usize, ring: Ring, direction: Direction) -> Task {
    Task::Transform(Transform { polynomial_size, modulus: modulus(), ring, direction })
}

fn forward(polynomial_size: usize) -> Task {
    transform(polynomial_size, Ring::Negacyclic, Direction::Forward)
}

/// Values below the modulus that are almost all different.
fn polynomial(size: usize, seed: u64) -> Arc<[u32]> {
    let value = |i: u64| ((i + (seed << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % MODULUS;
    (0..size as u64).map(|i| value(i) as u32).collect()
}

fn key_switch(polynomial_size: usize, digits: u64) -> Task {
    let pair = |digit| [polynomial(polynomial_size, 2 * digit), polynomial(polynomial_size, 2 * digit + 1)];
    Task::KeySwitch { polynomial_size, modulus: modulus(), key: (0..digits).map(pair).collect() }
}

/// A target with practically unlimited memories.
fn endless(target: Target) -> Target {
    let most = u32::MAX;
    Target { data_rows: most, twiddle_rows: most, instructions: most, scratchpad_vectors: most, ..target }
}

/// The error. A program would be too long to print.
fn refused(target: &Target, task: &Task, in_flight: usize) -> CompileError {
    compile(target, task, in_flight).map(drop).expect_err("no program")
}

/// Sizes that fit with one in flight.
fn alone(sizes: &[usize]) -> Fitting {
    Fitting::Sizes { in_flight: 1, sizes: sizes.to_vec() }
}

/// Every number of a target is accepted, or an error names it.
#[test]
fn impossible_targets_are_refused() {
    type Change = fn(&mut Target, u32);
    let numbers: [(&str, Change, &[u32], &[u32]); 17] = [
        ("number of cores", |t, n| t.cores = n, &[0, 3, 64, u32::MAX], &[1, 32]),
        ("number of lanes", |t, n| t.lanes = n, &[0, 1, 33, 64, u32::MAX], &[2, 32]),
        ("latency of butterflies", |t, n| t.butterfly.latency = n, &[0, 65, u32::MAX], &[1, 64]),
        ("latency of complex butterflies", |t, n| t.complex_butterfly.latency = n, &[0, 65, u32::MAX], &[1, 64]),
        ("delay of butterflies' second result", |t, n| t.butterfly.second = n, &[65, u32::MAX], &[0, 64]),
        (
            "delay of complex butterflies' second result",
            |t, n| t.complex_butterfly.second = n,
            &[65, u32::MAX],
            &[0, 64],
        ),
        ("interval of butterflies", |t, n| t.butterfly.interval = n, &[0, 17, u32::MAX], &[1, 16]),
        ("interval of complex butterflies", |t, n| t.complex_butterfly.interval = n, &[0, 17, u32::MAX], &[1, 16]),
        ("latency of products", |t, n| t.product_latency = n, &[0, 65, u32::MAX], &[1, 64]),
        ("latency of sums", |t, n| t.sum_latency = n, &[0, 65, u32::MAX], &[1, 64]),
        ("latency of loads", |t, n| t.load_latency = n, &[0, 65, u32::MAX], &[1, 64]),
        ("latency of the scratchpad", |t, n| t.scratchpad_latency = n, &[0, 65, u32::MAX], &[1, 64]),
        ("latency of copies", |t, n| t.own_latency = n, &[0, 65, u32::MAX], &[1, 64]),
        ("latency of copies to other cores", |t, n| t.remote_latency = n, &[0, 32769, u32::MAX], &[1, 32768]),
        ("number of loads in a cycle", |t, n| t.loads_per_cycle = n, &[0, 17, u32::MAX], &[1, 16]),
        ("number of copies in a cycle", |t, n| t.copies_per_cycle = n, &[0, 17, u32::MAX], &[1, 16]),
        // Other rings' numbers are checked all the same.
        ("latency of complex butterflies", |t, n| t.complex_butterfly.latency = n, &[1 << 20], &[2]),
    ];
    for (what, change, bad, taken) in numbers {
        let with = |number| {
            let mut target = target();
            change(&mut target, number);
            // A size that arrays of 1 to 32 cores of 2 to 32 lanes take.
            let size = (target.cores.min(32) * target.lanes.min(32) * 8) as usize;
            (target, forward(size))
        };
        for number in bad {
            let (target, task) = with(*number);
            let error = refused(&target, &task, 1);
            assert!(
                matches!(error, CompileError::Target { what: named, given, .. } if (named, given) == (what, *number)),
                "{what} {number}: {error}"
            );
        }
        for number in taken {
            let (target, task) = with(*number);
            assert!(compile(&target, &task, 1).is_ok(), "{what} {number}");
        }
    }
}

/// Copies that take tens of thousands of cycles, as over 32 cores in a row with links of a byte, do not stop the
/// scheduler.
#[test]
fn a_slow_network_is_waited_for() {
    for remote_latency in [1_000, 24_578, 32_768] {
        for size in [1024, 2048, 8192] {
            let compiled = compile(&Target { remote_latency, ..target() }, &forward(size), 1).unwrap();
            assert!(compiled.expected_cycles > remote_latency, "N = {size}");
        }
    }
}

/// One core of two lanes has the longest programs for their N.
fn narrow() -> Target {
    endless(Target { cores: 1, lanes: 2, ..target() })
}

/// Memories may be larger than a program's addresses.
#[test]
fn memories_are_reached_as_far_as_addresses_go() {
    let error = refused(&narrow(), &key_switch(256, 16), 1);
    let CompileError::DataRows { needed: 2433.., have: 2432, fitting } = error else { panic!("{error}") };
    assert_eq!(fitting, alone(&[4, 8, 16, 32, 64]));
    let error = refused(&narrow(), &key_switch(128, 16), 1);
    let CompileError::TwiddleRows { needed: 2049.., have: 2048, fitting } = error else { panic!("{error}") };
    assert_eq!(fitting, alone(&[4, 8, 16, 32, 64]));
    assert!(compile(&narrow(), &key_switch(128, 14), 1).is_ok());
}

/// Keys whose spectra have the same value in both lanes of each vector, which gives one pair for all lanes. These are
/// more pairs than can be addressed, so that some must be rows.
#[test]
fn pairs_that_cannot_be_named_are_rows() {
    let size = 128;
    let forward = compile(&narrow(), &forward(size), 1).unwrap();
    let order = &forward.outputs[0].order;
    let lane_bit = order[0] ^ order[1];
    let ntt = FourStepNtt::new(&[8, 16], Convolution::Negacyclic, modulus()).unwrap();
    let polynomial = |seed: u64| -> Arc<[u32]> {
        let value = |point: u32| {
            let index = point.reverse_bits() >> (u32::BITS - size.ilog2());
            (u64::from(index & !lane_bit) + 1 + (seed << 8)).wrapping_mul(0x9e37_79b9_7f4a_7c15) % MODULUS
        };
        let mut values: Vec<u64> = (0..size as u32).map(value).collect();
        ntt.inverse(&mut values);
        values.into_iter().map(|value| value as u32).collect()
    };
    let key = (0..16).map(|digit| [polynomial(2 * digit), polynomial(2 * digit + 1)]).collect();
    let task = Task::KeySwitch { polynomial_size: size, modulus: modulus(), key };
    let compiled = compile(&narrow(), &task, 1).unwrap_or_else(|error| panic!("{error}"));
    // All pairs that can be named come first, then rows of both kinds, more than the transforms alone need.
    let (pairs, rows) = compiled.cores[0].twiddles.split_at(2048);
    assert!(!pairs.contains(&(0, 0)));
    assert!(rows.chunks(2).any(|row| row[0] == row[1]) && rows.chunks(2).any(|row| row[0] != row[1]));
}

fn product(polynomial_size: usize) -> Task {
    let (ring, operand) = (Ring::Cyclic, polynomial(polynomial_size, 0));
    Task::Product { polynomial_size, modulus: modulus(), ring, operand }
}

/// Memories that hold no program, or not as many in flight.
#[test]
fn memories_that_are_too_small_are_named() {
    let changed = |change: fn(&mut Target)| {
        let mut target = target();
        change(&mut target);
        target
    };
    let error = refused(&changed(|target| target.data_rows = 272), &forward(8192), 1);
    assert_eq!(error, CompileError::DataRows { needed: 288, have: 272, fitting: alone(&[1024, 2048, 4096]) });
    let text = "the program needs 288 rows of data memory and can address 272; with 1 in flight the largest N that fits is 4096";
    assert_eq!(error.to_string(), text);
    let none = |smallest| Fitting::Nothing { smallest };
    let short = changed(|target| target.data_rows = 31);
    let error = refused(&short, &forward(8192), 1);
    let smallest = Some((1024, Lack::DataRows { needed: 266, have: 31 }));
    assert_eq!(error, CompileError::DataRows { needed: 288, have: 31, fitting: none(smallest) });
    let text = "the program needs 288 rows of data memory and can address 31; no N fits; with N = 1024 the program needs 266 rows of data \
                memory and can address 31";
    assert_eq!(error.to_string(), text);
    let error = refused(&short, &forward(1024), 1);
    assert_eq!(error.to_string(), "the program needs 266 rows of data memory and can address 31; no N fits");
    let error = refused(&short, &forward(512), 1);
    assert_eq!(error, CompileError::PolynomialSize { given: 512, fitting: none(smallest) });
    let error = refused(&changed(|target| target.twiddle_rows = 8), &forward(8192), 1);
    assert_eq!(error, CompileError::TwiddleRows { needed: 24, have: 8, fitting: alone(&[1024]) });
    let error = refused(&changed(|target| target.instructions = 200), &forward(8192), 1);
    assert_eq!(
        error,
        CompileError::Instructions { needed: 299, have: 200, fitting: alone(&[1024, 2048, 4096]) },
        "{error}"
    );
    // Two polynomials of 2^10 values are 64 vectors.
    let error = refused(&changed(|target| target.scratchpad_vectors = 63), &forward(1024), 1);
    assert_eq!(error, CompileError::Scratchpad { needed: 64, have: 63, fitting: none(None) });
    let error = refused(&changed(|target| target.scratchpad_vectors = 255), &forward(4096), 1);
    assert_eq!(error, CompileError::Scratchpad { needed: 256, have: 255, fitting: alone(&[1024, 2048]) });
    // An inverse of 2^10 or 2^11 has too few rows.
    let inverse = transform(1024, Ring::Cyclic, Direction::Inverse);
    let error = refused(&changed(|target| target.scratchpad_vectors = 64), &inverse, 1);
    let smallest = Some((4096, Lack::Scratchpad { needed: 256, have: 64 }));
    assert_eq!(error, CompileError::PolynomialSize { given: 1024, fitting: none(smallest) });

    assert_eq!(refused(&target(), &forward(8192), 0), CompileError::InFlight { given: 0, max: 8 });
    assert_eq!(refused(&target(), &forward(8192), usize::MAX), CompileError::InFlight { given: usize::MAX, max: 8 });
    // Four products of 2^13 in flight take the rows of one of 2^15.
    let error = refused(&target(), &product(8192), 4);
    let CompileError::DataRows { have: 640, fitting, .. } = error else { panic!("{error}") };
    assert_eq!(fitting, Fitting::Sizes { in_flight: 4, sizes: vec![4096] });
    // What is wrong with one in flight is not the count's fault.
    let error = refused(&target(), &key_switch(4096, 16), 3);
    assert_eq!(error, CompileError::DataRows { needed: 1296, have: 640, fitting: none(None) });
    // A prime that no N of the machine has a root of unity for.
    let small = Task::Transform(Transform {
        polynomial_size: 512,
        modulus: Modulus::new(257).unwrap(),
        ring: Ring::Negacyclic,
        direction: Direction::Forward,
    });
    let text = "a polynomial of 512 values does not fit: no N fits; with N = 1024 modulus 257 has no root of unity";
    assert_eq!(refused(&target(), &small, 1).to_string(), text);
}

/// No known machine has a gap in its sizes. If one has, the error lists the sizes.
#[test]
fn sizes_with_a_gap_are_listed() {
    let text = |in_flight, sizes: &[usize]| {
        let fitting = Fitting::Sizes { in_flight, sizes: sizes.to_vec() };
        CompileError::PolynomialSize { given: 2048, fitting }.to_string()
    };
    let begin = "a polynomial of 2048 values does not fit: with 3 in flight";
    assert_eq!(text(3, &[1024]), format!("{begin} 1024 is wanted"));
    assert_eq!(text(3, &[4096, 8192]), format!("{begin} a power of two from 4096 to 8192 is wanted"));
    assert_eq!(text(3, &[1024, 4096]), format!("{begin} 1024 or 4096 is wanted"));
    assert_eq!(text(3, &[1024, 4096, 8192]), format!("{begin} 1024, 4096 or 8192 is wanted"));
    let one = CompileError::PolynomialSize { given: 9, fitting: Fitting::WithOne { in_flight: 3, sizes: vec![8, 16] } };
    let text = "a polynomial of 9 values does not fit: with 3 in flight no N fits, with 1 a power of two from 8 to 16 is wanted";
    assert_eq!(one.to_string(), text);
}

/// A number that may be allowed, at its limits or beyond.
fn number(max: u32) -> impl Strategy<Value = u32> {
    prop_oneof![50 => 1..=max, 20 => Just(1), 20 => Just(max), 1 => prop::sample::select(vec![0, max + 1, u32::MAX])]
}

fn power(max: u32) -> impl Strategy<Value = u32> {
    prop_oneof![40 => (0..=max).prop_map(|log| 1 << log), 1 => any::<u32>(), 1 => 0..70_u32]
}

fn memory() -> impl Strategy<Value = u32> {
    prop_oneof![6 => Just(u32::MAX), 2 => Just(4096), 1 => 0..2000_u32]
}

fn any_target() -> impl Strategy<Value = Target> {
    let butterfly = || {
        (number(16), number(64), number(64)).prop_map(|(interval, latency, second)| Butterfly {
            interval,
            latency,
            second,
        })
    };
    let sizes = (power(5), power(5), [memory(), memory(), memory(), memory()]);
    let latencies = [number(64), number(64), number(64), number(64), number(64), number(1 << 15)];
    let options = (number(16), number(16), any::<bool>(), any::<bool>());
    (sizes, butterfly(), butterfly(), latencies, options).prop_map(
        |((cores, lanes, memories), butterfly, complex_butterfly, latencies, options)| Target {
            cores,
            lanes,
            data_rows: memories[0],
            twiddle_rows: memories[1],
            instructions: memories[2],
            scratchpad_vectors: memories[3],
            butterfly,
            complex_butterfly,
            product_latency: latencies[0],
            sum_latency: latencies[1],
            load_latency: latencies[2],
            scratchpad_latency: latencies[3],
            own_latency: latencies[4],
            remote_latency: latencies[5],
            loads_per_cycle: options.0,
            copies_per_cycle: options.1,
            copies_compete: options.2,
            per_phase: options.3,
        },
    )
}

/// A task of an N that may fit, with operands that may be too short or too large, and a number in flight.
fn any_task(target: &Target) -> impl Strategy<Value = (Task, usize)> + use<> {
    let values = target.cores.clamp(1, 32) as usize * target.lanes.clamp(2, 32) as usize;
    let fitting = (0..9_u32).prop_map(move |log| values << log);
    let size = prop_oneof![20 => fitting, 1 => any::<usize>(), 1 => 0..5000_usize];
    let modulus =
        prop::sample::select(vec![3, 12289, MODULUS, MODULUS, MODULUS, 2_147_352_577, 4_294_967_291, (1 << 61) - 1]);
    let modulus = modulus.prop_map(|prime| Modulus::new(prime).unwrap());
    let ring = prop::sample::select(vec![Ring::Cyclic, Ring::Negacyclic, Ring::Complex]);
    let in_flight = prop_oneof![8 => 1..5_usize, 1 => Just(0), 1 => any::<usize>()];
    (size, modulus, ring, 0..5_u8, prop_oneof![9 => 0..4_usize, 1 => Just(17)], 0..30_u8, in_flight).prop_map(
        |(polynomial_size, modulus, ring, kind, digits, oddity, in_flight)| {
            let length = if oddity == 0 { polynomial_size / 2 } else { polynomial_size.min(1 << 14) };
            let bound = if oddity == 1 { 1 << 32 } else { modulus.value() };
            let value = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % bound;
            let operand: Arc<[u32]> = (0..length.min(1 << 14) as u64).map(|i| value(i) as u32).collect();
            let direction = if kind == 0 { Direction::Forward } else { Direction::Inverse };
            let task = match kind {
                0 | 1 => Task::Transform(Transform { polynomial_size, modulus, ring, direction }),
                2 => Task::Product { polynomial_size, modulus, ring, operand },
                _ => Task::KeySwitch { polynomial_size, modulus, key: vec![[operand.clone(), operand]; digits] },
            };
            (task, in_flight)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    /// Valid programs that fit the target, or an error that is not an internal error of the compiler.
    #[test]
    fn any_target_and_task(
        (target, (task, in_flight)) in any_target().prop_flat_map(|target| (any_task(&target), Just(target)).prop_map(|(task, target)| (target, task)))
    ) {
        match compile(&target, &task, in_flight) {
            Ok(compiled) => {
                prop_assert_eq!(compiled.cores.len(), target.cores as usize);
                prop_assert!(compiled.stride <= target.scratchpad_vectors);
                let memory = InstructionMemory::new(InstructionMemory::MAX_BYTES).unwrap();
                for (number, image) in compiled.cores.into_iter().enumerate() {
                    prop_assert!(image.instructions.len() <= target.instructions as usize);
                    let rows = image.twiddles.len() / target.lanes as usize;
                    prop_assert!(rows <= target.twiddle_rows as usize);
                    prop_assert!(image.twiddles.len() % target.lanes as usize == 0);
                    for instruction in &image.instructions {
                        match instruction {
                            Instruction::Ldt { row, broadcast: true, .. } => {
                                prop_assert!(row.offset.get() < image.twiddles.len());
                            }
                            Instruction::Ldt { row, .. } => prop_assert!(row.offset.get() < rows),
                            Instruction::Copy { core, .. } => prop_assert!(core.number() < target.cores as usize),
                            _ => {}
                        }
                    }
                    prop_assert!(Program::new(Core::new(number).unwrap(), image.instructions, memory).is_ok());
                }
            }
            Err(error @ (CompileError::NoOrder | CompileError::Range(_))) => prop_assert!(false, "{}", error),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

/// The same task with another N, and with operand values that are almost all different.
fn resized(task: &Task, polynomial_size: usize) -> Task {
    let polynomial = |number, modulus: &Modulus| -> Arc<[u32]> {
        polynomial(polynomial_size, number).iter().map(|value| (u64::from(*value) % modulus.value()) as u32).collect()
    };
    match task {
        Task::Transform(transform) => Task::Transform(Transform { polynomial_size, ..transform.clone() }),
        Task::Product { modulus, ring, .. } => {
            Task::Product { polynomial_size, modulus: *modulus, ring: *ring, operand: polynomial(0, modulus) }
        }
        Task::KeySwitch { modulus, key, .. } => {
            let pair = |digit| [2 * digit, 2 * digit + 1].map(|number| polynomial(number, modulus));
            Task::KeySwitch { polynomial_size, modulus: *modulus, key: (0..key.len() as u64).map(pair).collect() }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A suggested number fits, and twice that number does not.
    #[test]
    fn what_errors_say_is_so(
        (target, (task, in_flight)) in any_target().prop_flat_map(|target| (any_task(&target), Just(target)).prop_map(|(task, target)| (target, task)))
    ) {
        let Err(error) = compile(&target, &task, in_flight) else { return Ok(()) };
        let compiles = |size, in_flight| compile(&target, &resized(&task, size), in_flight).is_ok();
        let fitting = match &error {
            CompileError::PolynomialSize { fitting, .. }
            | CompileError::Scratchpad { fitting, .. }
            | CompileError::DataRows { fitting, .. }
            | CompileError::TwiddleRows { fitting, .. }
            | CompileError::Instructions { fitting, .. } => fitting,
            CompileError::InFlight { max, .. } => {
                let compiles = |count| compile(&target, &task, count).is_ok();
                prop_assert!(compiles(*max) && !compiles(max + 1) && !compiles(2 * max), "{}", error);
                return Ok(());
            }
            _ => return Ok(()),
        };
        if let (Some(least), Some(most)) = (fitting.sizes().first(), fitting.sizes().last()) {
            prop_assert!(compiles(*least, fitting.in_flight()) && compiles(*most, fitting.in_flight()), "{}", error);
            prop_assert!(!compiles(least / 2, fitting.in_flight()) && !compiles(2 * most, fitting.in_flight()), "{}", error);
        }
        match fitting {
            Fitting::Sizes { in_flight: count, .. } => prop_assert_eq!(*count, in_flight),
            Fitting::WithOne { sizes, .. } => {
                prop_assert!(sizes.iter().all(|size| !compiles(*size, in_flight)), "{}", error);
            }
            Fitting::Nothing { .. } => {
                let values = (target.cores * target.lanes) as usize;
                prop_assert!((1..=7).all(|log| !compiles(values << log, 1)), "{}", error);
            }
        }
    }
}
