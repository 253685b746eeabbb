//! Montgomery products against the definition: values, bounds, cycles, gaps between pairs, reset.

mod support;

use std::collections::VecDeque;

use ciphermill_cosim::Configuration;
use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::units::{MontMul, MontgomeryConstants};
use num_bigint::BigUint;
use support::{Source, counted, with_seeds};

struct Shape {
    digits: u64,
    period: u64,
    latency: u64,
    reduced: bool,
}

impl Shape {
    /// The slots of the module's head comment, computed again.
    fn new(configuration: &Configuration) -> Self {
        let value = |name| configuration.parameter(name) as u64;
        let (period, passes, reduced) = (value("Period"), value("QuotientPasses"), value("Reduce") == 1);
        let digits = (value("Bits") + 4).div_ceil(17 * value("Rows"));
        let array = if value("Karatsuba") == 1 { 6 } else { 2 };
        let quotient = if passes == 1 { 4 } else { passes + 3 };
        let around = array + 3;
        let mut last = digits * around + quotient;
        while period > 0 && (0..digits).any(|i| (i * around).abs_diff(last).is_multiple_of(period)) {
            last += 1;
        }
        // Operand register, array, sum; two cycles for the end, and as many for each time that N is taken away.
        let latency = last + array + 4 + if reduced { 4 } else { 0 };
        Self { digits, period, latency, reduced }
    }
}

/// A number below `bound`: often near its ends, or with long runs of ones and zeros.
fn below(source: &mut Source, bound: &BigUint) -> BigUint {
    let bits = bound.bits();
    let words = bits.div_ceil(64) as usize;
    let near = BigUint::from(source.below(4));
    match source.below(16) {
        0 => near % bound,
        1 => (bound + bound - near - 1u32) % bound,
        2 => {
            let ones = (BigUint::from(1u32) << source.below(bits + 1)) - 1u32;
            (ones << source.below(bits + 1)) % bound
        }
        _ => {
            let digits: Vec<u32> = (0..2 * words + 2).map(|_| source.any() as u32).collect();
            BigUint::new(digits) % bound
        }
    }
}

fn a_modulus(source: &mut Source, bits: u32) -> BigUint {
    let top = BigUint::from(1u32) << bits;
    match source.below(8) {
        0 => top - 1u32,
        1 => BigUint::from(3u32),
        2 => (top >> 1u32) + 1u32,
        _ => {
            let top = top >> source.below(3);
            below(source, &top) | BigUint::from(3u32)
        }
    }
}

fn a_pair(source: &mut Source, modulus: &BigUint) -> (BigUint, BigUint) {
    let bound = modulus * 4u32;
    let a = below(source, &bound);
    let b = if source.chance(1, 4) { a.clone() } else { below(source, &bound) };
    (a, b)
}

fn check(shape: &Shape, constants: &MontgomeryConstants, pair: &(BigUint, BigUint), result: &BigUint) {
    let n = &constants.modulus;
    // result·R ≡ a·b: no inverse of R is asked for.
    assert_eq!(result * &constants.r % n, &pair.0 * &pair.1 % n, "{n} {pair:?}");
    let bound = if shape.reduced { n.clone() } else { n * 3u32 };
    assert!(result < &bound, "{result} is not below {bound}");
}

/// Streams pairs through the unit and returns for each when it went in and when its result came.
fn stream(
    unit: &mut MontMul,
    shape: &Shape,
    constants: &MontgomeryConstants,
    pairs: &[(BigUint, BigUint)],
    mut offer: impl FnMut() -> bool,
) -> Vec<(u64, u64)> {
    let mut inside: VecDeque<(usize, u64)> = VecDeque::new();
    let mut times = Vec::new();
    let mut next = 0;
    // Pairs come once in 71 cycles at least, mostly.
    let patience = unit.cycles() + (10 + 2 * pairs.len() as u64) * (shape.latency + 8 + 500);
    while times.len() < pairs.len() {
        let cycle = unit.cycles();
        assert!(cycle < patience, "{} of {} products came", times.len(), pairs.len());
        let offered = pairs.get(next).filter(|_| offer());
        let (taken, came) = unit.step(offered.map(|(a, b)| (a, b)));
        // A result that comes in a cycle belongs to a pair that was taken before.
        if let Some(result) = came {
            let (number, begin) = inside.pop_front().expect("a result without a pair");
            check(shape, constants, &pairs[number], &result);
            times.push((begin, cycle));
        }
        if taken {
            inside.push_back((next, cycle));
            next += 1;
        }
    }
    assert!(inside.is_empty());
    times
}

fn each(test: impl Fn(&'static Configuration, Shape)) {
    support::each("mont_mul", |configuration| test(configuration, Shape::new(configuration)));
}

#[test]
fn products_follow_one_another_at_the_stated_pace() {
    each(|configuration, shape| {
        with_seeds(|source| {
            let mut unit = MontMul::new(configuration, source.any() as u32);
            let pace = if shape.period == 0 { shape.latency } else { shape.period };
            for _ in 0..10 {
                let constants = unit.constants(&a_modulus(source, unit.bits()));
                unit.load(&constants);
                let pairs: Vec<_> = (0..60).map(|_| a_pair(source, &constants.modulus)).collect();
                let times = stream(&mut unit, &shape, &constants, &pairs, || true);
                for (begin, end) in &times {
                    assert_eq!(end - begin, shape.latency, "{configuration}: latency");
                }
                for two in times.windows(2) {
                    assert_eq!(two[1].0 - two[0].0, pace, "{configuration}: from pair to pair");
                }
                counted(configuration, pairs.len(), "products");
            }
            // Each digit of the operand and of the reduction takes the array once.
            record::cycles(configuration, Cycles { cycles: pace, latency: shape.latency, bound: 2 * shape.digits });
        });
    });
}

#[test]
fn gaps_between_pairs_change_nothing() {
    each(|configuration, shape| {
        with_seeds(|source| {
            let mut unit = MontMul::new(configuration, source.any() as u32);
            for chance in [2, 5, 11, 29, 71] {
                let constants = unit.constants(&a_modulus(source, unit.bits()));
                unit.load(&constants);
                let pairs: Vec<_> = (0..40).map(|_| a_pair(source, &constants.modulus)).collect();
                let times = stream(&mut unit, &shape, &constants, &pairs, || source.chance(1, chance));
                assert!(times.iter().all(|(begin, end)| end - begin == shape.latency), "{configuration}");
            }
        });
    });
}

#[test]
fn the_ends_of_the_range_are_right() {
    each(|configuration, shape| {
        let mut unit = MontMul::new(configuration, 5);
        let top = BigUint::from(1u32) << unit.bits();
        for modulus in [&top - 1u32, (&top >> 1u32) + 1u32, BigUint::from(3u32), BigUint::from(1u32)] {
            let constants = unit.constants(&modulus);
            unit.load(&constants);
            let most = &modulus * 4u32 - 1u32;
            let ends = [BigUint::ZERO, BigUint::from(1u32), &modulus - 1u32, modulus.clone(), &modulus + 1u32, most];
            let pairs: Vec<_> = ends.iter().flat_map(|a| ends.iter().map(|b| (a.clone(), b.clone()))).collect();
            stream(&mut unit, &shape, &constants, &pairs, || true);
        }
    });
}

#[test]
fn a_reset_empties_the_unit() {
    each(|configuration, shape| {
        with_seeds(|source| {
            let mut unit = MontMul::new(configuration, source.any() as u32);
            let constants = unit.constants(&a_modulus(source, unit.bits()));
            unit.load(&constants);
            for _ in 0..10 {
                for _ in 0..source.below(2 * shape.latency) {
                    let (a, b) = a_pair(source, &constants.modulus);
                    unit.step(Some((&a, &b)));
                }
                unit.reset();
                // `stream` fails on a result without an owner.
                let pairs: Vec<_> = (0..3).map(|_| a_pair(source, &constants.modulus)).collect();
                stream(&mut unit, &shape, &constants, &pairs, || true);
            }
        });
    });
}
