//! The compiler on machines and tasks that are at the edge of what there is, or beyond: a program or an error that says which bound.
//! That programs compute what they should is for `crates/arch` to test, which runs them.

use std::sync::Arc;

use ciphermill_math::Modulus;
use ciphermill_math::ntt::{Convolution, FourStepNtt};
use ciphermill_rvfhe::compiler::{Butterfly, CompileError, Direction, Ring, Target, Task, Transform, compile};

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

/// Values below the modulus, of which hardly two are alike.
fn polynomial(size: usize, seed: u64) -> Arc<[u32]> {
    let value = |i: u64| ((i + (seed << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % MODULUS;
    (0..size as u64).map(|i| value(i) as u32).collect()
}

fn key_switch(polynomial_size: usize, digits: u64) -> Task {
    let pair = |digit| [polynomial(polynomial_size, 2 * digit), polynomial(polynomial_size, 2 * digit + 1)];
    Task::KeySwitch { polynomial_size, modulus: modulus(), key: (0..digits).map(pair).collect() }
}

/// A target whose memories have no end.
fn endless(target: Target) -> Target {
    let most = u32::MAX;
    Target { data_rows: most, twiddle_rows: most, instructions: most, scratchpad_vectors: most, ..target }
}

/// The error; a program would be too long to be shown.
fn refused(target: &Target, task: &Task, in_flight: usize) -> CompileError {
    compile(target, task, in_flight).map(drop).expect_err("no program")
}

/// Every number of a target is a number that it may be, or an error names it.
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

/// Copies that take tens of thousands of cycles, as over 32 cores in a row with links of a byte, are no reason to give up.
#[test]
fn a_slow_network_is_waited_for() {
    for remote_latency in [1_000, 24_578, 32_768] {
        for size in [1024, 2048, 8192] {
            let compiled = compile(&Target { remote_latency, ..target() }, &forward(size), 1).unwrap();
            assert!(compiled.expected_cycles > remote_latency, "N = {size}");
        }
    }
}

/// One core of two lanes, whose programs are the longest for their N.
fn narrow() -> Target {
    endless(Target { cores: 1, lanes: 2, ..target() })
}

/// Memories may be larger than what a program can name.
#[test]
fn memories_are_reached_as_far_as_addresses_go() {
    let error = refused(&narrow(), &key_switch(256, 16), 1);
    assert!(matches!(error, CompileError::DataRows { needed: 2433.., have: 2432 }), "{error}");
    let error = refused(&narrow(), &key_switch(128, 16), 1);
    assert!(matches!(error, CompileError::TwiddleRows { needed: 2049.., have: 2048 }), "{error}");
    assert!(compile(&narrow(), &key_switch(128, 14), 1).is_ok());
}

/// Keys whose spectra have the same value in both lanes of each vector, a pair for all lanes: more pairs than can be named, so that some
/// have to be rows.
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
