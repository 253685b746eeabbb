//! The accumulator and its CMux against plain arithmetic modulo p: rotations, digits, products with a key in transformed
//! form, cycles, rounds of the key that come late, reset and clear.

mod support;
#[path = "support/tfhe.rs"]
mod tfhe;

use ciphermill_cosim::Configuration;
use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::units::TfheCmux;
use ciphermill_math::goldilocks::MODULUS;
use support::{Source, counted, with_seeds};
use tfhe::{Glwe, cmux, rotated};

/// A key in transformed form, a spectrum for each component, digit and column. The unit computes modulo p alone, so any
/// residues will do.
struct Key {
    spectra: Vec<Vec<u64>>,
    levels: usize,
}

impl Key {
    fn random(source: &mut Source, n: usize, levels: usize) -> Self {
        let spectra = (0..4 * levels).map(|_| (0..n).map(|_| source.below(MODULUS)).collect()).collect();
        Self { spectra, levels }
    }

    fn constant(value: u64, n: usize, levels: usize) -> Self {
        Self { spectra: vec![vec![value; n]; 4 * levels], levels }
    }

    fn spectrum(&self, component: usize, digit: usize, column: usize) -> &[u64] {
        &self.spectra[(component * self.levels + digit) * 2 + column]
    }
}

#[derive(Clone, Copy)]
struct Gadget {
    base_log: usize,
    levels: usize,
}

/// The set of the paper.
const PAPER: Gadget = Gadget { base_log: 9, levels: 5 };

impl Gadget {
    fn cmux(self, acc: &Glwe, exponent: usize, key: &Key) -> Glwe {
        let columns = |component, digit| [0, 1].map(|column| key.spectrum(component, digit, column));
        cmux(acc, exponent, (self.base_log, self.levels), columns)
    }
}

fn random_glwe(source: &mut Source, n: usize) -> Glwe {
    [(); 2].map(|()| (0..n).map(|_| source.below(MODULUS)).collect())
}

fn each(test: impl Fn(&'static Configuration, usize)) {
    support::each("tfhe_cmux", |configuration| test(configuration, 1 << configuration.parameter("LogN")));
}

fn unit(configuration: &'static Configuration, source: &mut Source, gadget: Gadget) -> TfheCmux {
    TfheCmux::new(configuration, source.any() as u32, gadget.base_log as u32, gadget.levels)
}

fn push(unit: &mut TfheCmux, key: &Key) {
    unit.push_key(|component, digit, column| key.spectrum(component, digit, column));
}

/// Cycles in which the transform's pipeline empties, before the inverse and after it.
const GAPS: u64 = 56;

/// Cycles of a CMux whose key never waits.
fn cycles(configuration: &Configuration, n: usize, levels: usize) -> u64 {
    let frames = (2 * levels + 2) / configuration.parameter("Circuits") as usize;
    (3 * n / TfheCmux::LANES * frames) as u64 + GAPS
}

#[test]
fn loaded_rows_are_rotated() {
    each(|configuration, n| {
        with_seeds(|source| {
            let mut unit = unit(configuration, source, PAPER);
            let glwe = random_glwe(source, n);
            let rows = n / TfheCmux::LANES;
            let random = source.below(2 * n as u64) as usize;
            for exponent in [0, 1, rows - 1, rows, rows + 1, n - 1, n, n + 1, 2 * n - rows, 2 * n - 1, random] {
                unit.load([&glwe[0], &glwe[1]], exponent);
                let expected = [0, 1].map(|c| rotated(&glwe[c], exponent));
                assert!(unit.read() == expected, "{configuration}: X^{exponent}");
            }
        });
    });
}

#[test]
fn cmuxes_follow_one_another_in_constant_time() {
    each(|configuration, n| {
        with_seeds(|source| {
            let mut unit = unit(configuration, source, PAPER);
            let rows = n / TfheCmux::LANES;
            let random = support::frames(1, 4);
            // An exponent of 1 needs the last new row first; 0 changes nothing, in the same time.
            let mut exponents = vec![1, n + rows, 0, 2 * n - 1];
            exponents.extend((0..random).map(|_| source.below(2 * n as u64) as usize));
            let mut acc = random_glwe(source, n);
            unit.load([&acc[0], &acc[1]], 0);
            for (i, &exponent) in exponents.iter().enumerate() {
                let key = if i == 1 { Key::constant(MODULUS - 1, n, 5) } else { Key::random(source, n, 5) };
                acc = PAPER.cmux(&acc, exponent, &key);
                push(&mut unit, &key);
            }
            let times = unit.run(&exponents, || true, 100_000 * exponents.len() as u64);
            let expected = cycles(configuration, n, PAPER.levels);
            for pair in times.windows(2) {
                assert_eq!(pair[1] - pair[0], expected, "{configuration}: cycles of a CMux");
            }
            assert!(unit.read() == acc, "{configuration}: the accumulator");
            counted(configuration, exponents.len(), "CMuxes");
            let bound = expected - GAPS;
            record::cycles(configuration, Cycles { cycles: expected, latency: expected, bound });
        });
    });
}

/// Corner values of the accumulator, and other decompositions, down to one digit of one bit.
#[test]
fn decompositions_are_the_library_s() {
    each(|configuration, n| {
        with_seeds(|source| {
            for (base_log, levels) in [(1, 1), (16, 3), (9, 7), (3, 15), (4, 15)] {
                let gadget = Gadget { base_log, levels };
                let mut unit = unit(configuration, source, gadget);
                let corners =
                    [0, 1, MODULUS - 1, MODULUS / 2, MODULUS / 2 + 1, 0xffff_ffff, 1 << 32, (1 << 32) + 1, 1 << 63];
                let acc: Glwe = [(); 2].map(|()| {
                    (0..n)
                        .map(|_| match source.below(16) as usize {
                            i if i < corners.len() => corners[i],
                            _ => source.below(MODULUS),
                        })
                        .collect()
                });
                let key = Key::random(source, n, levels);
                let exponent = source.below(2 * n as u64) as usize;
                unit.load([&acc[0], &acc[1]], 0);
                push(&mut unit, &key);
                let times = unit.run(&[exponent], || true, 1_000_000);
                assert_eq!(times[1] - times[0], cycles(configuration, n, levels), "{configuration}: {levels} levels");
                assert!(
                    unit.read() == gadget.cmux(&acc, exponent, &key),
                    "{configuration}: 2^{base_log}, {levels} levels"
                );
            }
        });
    });
}

#[test]
fn a_key_that_comes_late_changes_no_bit() {
    each(|configuration, n| {
        with_seeds(|source| {
            let mut unit = unit(configuration, source, PAPER);
            let mut acc = random_glwe(source, n);
            unit.load([&acc[0], &acc[1]], 0);
            let exponents = [3, 2 * n - 5];
            for &exponent in &exponents {
                let key = Key::random(source, n, 5);
                acc = PAPER.cmux(&acc, exponent, &key);
                push(&mut unit, &key);
            }
            let times = unit.run(&exponents, || source.chance(1, 400), 1_000_000);
            assert!(times[1] - times[0] > cycles(configuration, n, 5), "{configuration}: it has waited");
            assert!(unit.read() == acc, "{configuration}: the accumulator");
        });
    });
}

#[test]
fn reset_and_clear_in_mid_step_leave_nothing_behind() {
    each(|configuration, n| {
        with_seeds(|source| {
            let mut unit = unit(configuration, source, PAPER);
            for round in 0..4 {
                let acc = random_glwe(source, n);
                let key = Key::random(source, n, 5);
                unit.load([&acc[0], &acc[1]], 0);
                push(&mut unit, &key);
                // The last round ends within the inverse transform.
                let all = cycles(configuration, n, 5);
                let within = if round == 3 { all - source.below(1000) } else { source.below(all) };
                unit.run_for(within.max(1), 7);
                if round % 2 == 0 {
                    unit.reset();
                } else {
                    unit.clear();
                }
                let exponent = source.below(2 * n as u64) as usize;
                unit.load([&acc[0], &acc[1]], 0);
                push(&mut unit, &key);
                unit.run(&[exponent], || true, 100_000);
                assert!(unit.read() == PAPER.cmux(&acc, exponent, &key), "{configuration}: round {round}");
            }
        });
    });
}
