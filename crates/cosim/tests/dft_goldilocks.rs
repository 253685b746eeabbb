//! The shift-only transform of 32 points against its definition, in all modes, every cycle another one, with standstill.

mod support;

use std::collections::VecDeque;

use ciphermill_cosim::Configuration;
use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::units::{DftGoldilocks, DftMode};
use ciphermill_math::goldilocks::{MODULUS, add, mul, pow};
use support::{Source, counted, with_seeds};

const POINTS: usize = 32;
/// `dft_goldilocks_pkg::Latency`.
const LATENCY: usize = 13;

/// The sum of 64^(j·k)·x_j, or for each h of the interleaved ones the same over its lanes; 64 has order 32, 8 has order 64.
fn defined(row: &[u64], mode: DftMode, middle: usize) -> Vec<u64> {
    let points = if mode.middle { middle } else { POINTS };
    let interleaved = POINTS / points;
    let scaled = |yes: bool, x: u64, lane: usize| if yes { mul(x, pow(8, lane as u64)) } else { x };
    (0..POINTS)
        .map(|lane| {
            let (k, h) = (lane / interleaved, lane % interleaved);
            let sum = (0..points).fold(0, |sum, j| {
                let place = j * interleaved + h;
                let root = pow(64, (interleaved * j * k) as u64);
                add(sum, mul(scaled(mode.pre, row[place], place), root))
            });
            scaled(mode.post, sum, lane)
        })
        .collect()
}

/// Rows of random values, rows of the ends of digits, which make the greatest sums, and rows with one value.
fn a_row(source: &mut Source) -> Vec<u64> {
    const ENDS: [u64; 8] =
        [0, 1, MODULUS - 1, MODULUS, u64::MAX, 0xffff_ffff, 0xffff_ffff_0000_0000, 0x8000_0000_8000_0000];
    match source.below(4) {
        0 => (0..POINTS).map(|_| ENDS[source.below(8) as usize]).collect(),
        1 => {
            let end = ENDS[source.below(8) as usize];
            (0..POINTS).map(|_| if source.chance(1, 2) { end } else { 0 }).collect()
        }
        2 => {
            let mut row = vec![0; POINTS];
            row[source.below(POINTS as u64) as usize] = source.any();
            row
        }
        _ => (0..POINTS).map(|_| source.any()).collect(),
    }
}

fn each(test: impl Fn(&'static Configuration, usize)) {
    support::each("dft_goldilocks", |configuration| test(configuration, 1 << configuration.parameter("LogMiddle")));
}

/// Streams rows through the unit, which stands still where `enable` is false, and checks each when it is due.
fn check(unit: &mut DftGoldilocks, middle: usize, rows: impl Iterator<Item = (Vec<u64>, DftMode, bool)>) {
    let mut inside: VecDeque<(Vec<u64>, DftMode)> = VecDeque::new();
    let flush = (0..LATENCY).map(|_| (vec![0; POINTS], DftMode::default(), true));
    for (row, mode, enable) in rows.chain(flush) {
        let came = unit.step(&row, mode, enable);
        if enable {
            inside.push_back((row, mode));
            if inside.len() > LATENCY {
                inside.pop_front();
            }
        }
        // What stands still shows the same row again.
        if let (LATENCY, Some((row, mode))) = (inside.len(), inside.front()) {
            assert_eq!(came, defined(row, *mode, middle), "{mode:?} of {row:x?}");
        }
    }
}

#[test]
fn rows_are_transformed_in_every_mode() {
    each(|configuration, middle| {
        with_seeds(|source| {
            let mut unit = DftGoldilocks::new(configuration, source.any() as u32);
            const ROWS: usize = 4000;
            let rows = (0..ROWS).map(|_| {
                let row = a_row(source);
                let mut coin = || source.chance(1, 2);
                (row, DftMode { pre: coin(), middle: coin(), post: coin() }, source.chance(7, 8))
            });
            check(&mut unit, middle, rows);
            counted(configuration, ROWS, "rows");
            // A row in every enabled cycle.
            record::cycles(configuration, Cycles { cycles: 1, latency: LATENCY as u64, bound: 1 });
        });
    });
}

#[test]
fn the_greatest_sums_do_not_overflow() {
    // For each output and mode: either digit full just where it counts with the same sign.
    each(|configuration, middle| {
        let mut unit = DftGoldilocks::new(configuration, 1);
        let rows = (0..POINTS * 32).map(|number| {
            let (lane, bit) = (number / 32, |i: usize| number >> i & 1 == 1);
            let mode = DftMode { pre: bit(0), middle: bit(1), post: bit(2) };
            let digit = if bit(3) { 0xffff_ffff } else { 0xffff_ffff_0000_0000 };
            let counts = |place: usize| {
                let exponent = 6 * place * lane + if mode.pre { 3 * place } else { 0 };
                (exponent / 96 % 2 == 1) != bit(4)
            };
            ((0..POINTS).map(|place| if counts(place) { digit } else { 0 }).collect(), mode, true)
        });
        check(&mut unit, middle, rows);
    });
}
