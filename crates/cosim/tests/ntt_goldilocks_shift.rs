//! The Goldilocks transform by shift-only transforms of 32 points against the golden model, in both directions: values, order,
//! cycles, general products, stalls, changes of direction, reset. And its factorisation, without hardware.

mod support;

use std::collections::VecDeque;

use ciphermill_cosim::Configuration;
use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::units::NttGoldilocksShift;
use ciphermill_math::goldilocks::{MODULUS, add, mul, pow, primitive_root_2n};
use ciphermill_math::ntt::reference::{bit_reverse, forward, inverse_unnormalised};
use support::{Source, counted, with_seeds};

const LANES: usize = NttGoldilocksShift::LANES;

#[derive(Clone)]
struct Frame {
    inverse: bool,
    polynomial: Vec<u64>,
}

impl Frame {
    fn random(source: &mut Source, n: usize, inverse: bool) -> Self {
        Self { inverse, polynomial: (0..n).map(|_| source.below(MODULUS)).collect() }
    }

    /// All p - 1, one coefficient at the ends of halves, alternating ends.
    fn corners(n: usize, inverse: bool) -> Vec<Self> {
        let one = |place: usize| (0..n).map(|i| u64::from(i == place)).collect::<Vec<_>>();
        let ends = (0..n).map(|i| if i % 2 == 0 { MODULUS - 1 } else { 0 }).collect();
        let all = [vec![MODULUS - 1; n], one(0), one(n / 2 - 1), one(n - 1), ends];
        all.into_iter().map(|polynomial| Self { inverse, polynomial }).collect()
    }

    fn transformed(&self) -> Vec<u64> {
        let mut polynomial = self.polynomial.clone();
        if self.inverse {
            inverse_unnormalised(&mut polynomial)
        } else {
            forward(&mut polynomial)
        }
        polynomial
    }
}

/// Natural order is strided: beat t has the values t, t + N/32, …; in bit-reversed order it has 32t … 32t + 31.
fn beats(polynomial: &[u64], natural: bool) -> Vec<Vec<u64>> {
    if natural {
        let rows = polynomial.len() / LANES;
        (0..rows).map(|t| polynomial[t..].iter().step_by(rows).copied().collect()).collect()
    } else {
        polynomial.chunks_exact(LANES).map(<[u64]>::to_vec).collect()
    }
}

/// Streams frames through the unit. Returns in which cycle each frame's first beat went in, first came out, last came out, and
/// the general products of all.
fn stream(
    unit: &mut NttGoldilocksShift,
    n: usize,
    frames: &[Frame],
    mut offer: impl FnMut() -> bool,
    mut ready: impl FnMut() -> bool,
) -> (Vec<(u64, u64, u64)>, u64) {
    let rows = n / LANES;
    let to_beats = |frame: &Frame| {
        let inverse = frame.inverse;
        beats(&frame.polynomial, !inverse).into_iter().map(move |beat| (beat, inverse))
    };
    let mut waiting: VecDeque<(Vec<u64>, bool)> = frames.iter().flat_map(to_beats).collect();
    let (mut taken, mut results) = (Vec::new(), Vec::new());
    let mut came: Vec<Vec<u64>> = Vec::new();
    let (mut first, mut products) = (0, 0);
    let patience = unit.cycles() + 200_000 + 60_000 * frames.len() as u64;
    while results.len() < frames.len() {
        let cycle = unit.cycles();
        assert!(cycle < patience, "{} of {} frames came out", results.len(), frames.len());
        let offered = if offer() { waiting.front().map(|(beat, inverse)| (beat.as_slice(), *inverse)) } else { None };
        let step = unit.step(offered, ready());
        products += step.products;
        if step.taken {
            waiting.pop_front();
            taken.push(cycle);
        }
        if let Some(beat) = step.came {
            if came.is_empty() {
                first = cycle;
            }
            came.push(beat);
            if came.len() == rows {
                let number = results.len();
                let frame = &frames[number];
                assert!(came == beats(&frame.transformed(), frame.inverse), "frame {number} is wrong");
                results.push((taken[number * rows], first, cycle));
                came.clear();
            }
        }
    }
    (results, products)
}

fn each(test: impl Fn(&'static Configuration, usize)) {
    support::each("ntt_goldilocks_shift", |configuration| test(configuration, 1 << configuration.parameter("LogN")));
}

/// From the read of a row to its results.
const PIPE: u64 = 22;

#[test]
fn frames_of_one_direction_follow_one_another_without_a_gap() {
    each(|configuration, n| {
        with_seeds(|source| {
            let mut unit = NttGoldilocksShift::new(configuration, source.any() as u32);
            let rows = (n / LANES) as u64;
            for inverse in [false, true] {
                let mut frames = Frame::corners(n, inverse);
                let random = support::frames(3, 4);
                frames.extend((0..random).map(|_| Frame::random(source, n, inverse)));
                let (times, products) = stream(&mut unit, n, &frames, || true, || true);
                for pair in times.windows(2) {
                    assert_eq!(pair[1].2 - pair[0].2, 3 * rows, "{configuration}: cycles from frame to frame");
                }
                let (begin, first, last) = times[0];
                let latency = 2 * rows + PIPE;
                assert_eq!((first - begin, last - first), (latency, rows - 1), "{configuration}: latency, length");
                // From the first beat in to the last one out.
                assert_eq!(last - begin + 1, 3 * rows + PIPE);
                assert_eq!(products, (2 * n * frames.len()) as u64, "{configuration}: general products");
                // One row a cycle through the transform; the multipliers alone would allow 2N / 32.
                counted(configuration, random, "frames");
                record::cycles(configuration, Cycles { cycles: 3 * rows, latency, bound: 2 * rows });
            }
        });
    });
}

#[test]
fn directions_change_and_both_sides_stall() {
    each(|configuration, n| {
        with_seeds(|source| {
            let mut unit = NttGoldilocksShift::new(configuration, source.any() as u32);
            let frames: Vec<_> =
                [false, true, true, false].into_iter().map(|inverse| Frame::random(source, n, inverse)).collect();
            stream(&mut unit, n, &frames, || true, || true);
            let coins: Vec<_> = (0..99_991).map(|_| (source.chance(3, 5), source.chance(2, 3))).collect();
            let (mut offer, mut room) = (coins.iter().cycle(), coins.iter().cycle());
            let mut offer = || offer.next().is_some_and(|coin| coin.0);
            let (_, products) = stream(&mut unit, n, &frames, &mut offer, || room.next().is_some_and(|coin| coin.1));
            assert_eq!(products, (2 * n * frames.len()) as u64, "{configuration}: general products");
        });
    });
}

#[test]
fn a_reset_in_mid_frame_leaves_nothing_behind() {
    each(|configuration, n| {
        with_seeds(|source| {
            let mut unit = NttGoldilocksShift::new(configuration, source.any() as u32);
            for round in 0..3 {
                let inverse = round % 2 == 1;
                let frame = Frame::random(source, n, inverse);
                let mut waiting: VecDeque<_> = beats(&frame.polynomial, !inverse).into();
                for _ in 0..source.below(4 * (n / LANES) as u64) {
                    if unit.step(waiting.front().map(|beat| (beat.as_slice(), inverse)), true).taken {
                        waiting.pop_front();
                    }
                }
                unit.reset();
                let frames = [Frame::random(source, n, !inverse)];
                stream(&mut unit, n, &frames, || true, || true);
            }
        });
    });
}

/// A transform of `values.len()` points with a root of that order.
fn cyclic(values: &[u64], root: u64) -> Vec<u64> {
    let sum = |k: usize| {
        values.iter().enumerate().fold(0, |sum, (j, &x)| add(sum, mul(x, pow(root, (j * k % values.len()) as u64))))
    };
    (0..values.len()).map(sum).collect()
}

#[test]
fn the_factorisation_is_the_transform() {
    // What the unit does, step by step in plain loops: N = 32·R·32, general products by the powers of ψ alone.
    with_seeds(|source| {
        for log_n in 11..=15 {
            let n = 1usize << log_n;
            let radix = n / 1024;
            let psi = primitive_root_2n(n).expect("2^32 has room");
            assert_eq!(pow(psi, (n / 32) as u64), 8, "the root of order 64 is a power of two");
            let at = |digit1: usize, digit2: usize, digit3: usize| 32 * radix * digit1 + 32 * digit2 + digit3;
            let mut values: Vec<_> = (0..n).map(|_| source.below(MODULUS)).collect();
            let mut expected = values.clone();
            forward(&mut expected);
            let mut products = 0;
            let mut general = |x: u64, exponent: usize| {
                products += 1;
                mul(x, pow(psi, exponent as u64))
            };
            for j2 in 0..radix {
                for j3 in 0..32 {
                    let lanes: Vec<_> = (0..32).map(|j1| mul(values[at(j1, j2, j3)], pow(8, j1 as u64))).collect();
                    for (k1, x) in cyclic(&lanes, 64).into_iter().enumerate() {
                        values[at(k1, j2, j3)] = general(x, (32 * j2 + j3) * (2 * k1 + 1));
                    }
                }
            }
            for k1 in 0..32 {
                for j3 in 0..32 {
                    let lanes: Vec<_> = (0..radix).map(|j2| values[at(k1, j2, j3)]).collect();
                    for (k2, x) in cyclic(&lanes, pow(64, 32 / radix as u64)).into_iter().enumerate() {
                        values[at(k1, k2, j3)] = general(x, 64 * j3 * k2);
                    }
                }
            }
            for k1 in 0..32 {
                for k2 in 0..radix {
                    let lanes: Vec<_> = (0..32).map(|j3| values[at(k1, k2, j3)]).collect();
                    for (k3, x) in cyclic(&lanes, 64).into_iter().enumerate() {
                        let place = bit_reverse(k1 + 32 * k2 + 32 * radix * k3, log_n);
                        assert_eq!(x, expected[place], "N = {n}, place {place}");
                    }
                }
            }
            assert_eq!(products, 2 * n);
        }
    });
}
