//! The Goldilocks transform by shift-only transforms of 32 points against the golden model, in both directions: values, order,
//! cycles, general products, waits, changes of direction, factors of spectra, reset. And its factorisation, without hardware.

mod support;

use std::collections::VecDeque;

use ciphermill_cosim::Configuration;
use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::units::NttGoldilocksShift;
use ciphermill_cosim::units::ntt_goldilocks_shift::Given;
use ciphermill_math::goldilocks::{MODULUS, add, mul, pow, primitive_root_2n};
use ciphermill_math::ntt::reference::{bit_reverse, forward, inverse_unnormalised};
use support::{Source, counted, with_seeds};

const LANES: usize = NttGoldilocksShift::LANES;

#[derive(Clone)]
struct Frame {
    inverse: bool,
    polynomial: Vec<u64>,
    /// The factors of a forward frame's spectrum.
    factors: Vec<u64>,
}

impl Frame {
    fn random(source: &mut Source, n: usize, inverse: bool) -> Self {
        Self::new((0..n).map(|_| source.below(MODULUS)).collect(), inverse)
    }

    /// A frame whose spectrum has the factors 1.
    fn new(polynomial: Vec<u64>, inverse: bool) -> Self {
        Self { inverse, factors: vec![1; polynomial.len()], polynomial }
    }

    /// All p - 1, one coefficient at the ends of halves, alternating ends.
    fn corners(n: usize, inverse: bool) -> Vec<Self> {
        let one = |place: usize| (0..n).map(|i| u64::from(i == place)).collect::<Vec<_>>();
        let ends = (0..n).map(|i| if i % 2 == 0 { MODULUS - 1 } else { 0 }).collect();
        let all = [vec![MODULUS - 1; n], one(0), one(n / 2 - 1), one(n - 1), ends];
        all.into_iter().map(|polynomial| Self::new(polynomial, inverse)).collect()
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
    mut room: impl FnMut() -> bool,
) -> (Vec<(u64, u64, u64)>, u64) {
    let rows = n / LANES;
    let to_beats = |frame: &Frame| {
        let inverse = frame.inverse;
        beats(&frame.polynomial, !inverse).into_iter().map(move |beat| (beat, inverse))
    };
    let mut waiting: VecDeque<(Vec<u64>, bool)> = frames.iter().flat_map(to_beats).collect();
    let forward_frames = frames.iter().filter(|frame| !frame.inverse);
    let mut factors: VecDeque<Vec<u64>> = forward_frames.flat_map(|frame| beats(&frame.factors, false)).collect();
    let (mut taken, mut results) = (Vec::new(), Vec::new());
    let (mut came, mut spectrum): (Vec<Vec<u64>>, Vec<Vec<u64>>) = (Vec::new(), Vec::new());
    let (mut first, mut products) = (0, 0);
    let start = unit.cycles();
    let mut rooms = Vec::new();
    let patience = start + 200_000 + 60_000 * frames.len() as u64;
    while results.len() < frames.len() {
        let cycle = unit.cycles();
        assert!(cycle < patience, "{} of {} frames came out", results.len(), frames.len());
        let beat = if offer() { waiting.front().map(|(beat, inverse)| (beat.as_slice(), *inverse)) } else { None };
        rooms.push(room());
        // Only the factors of the beat that takes them may count.
        let step = unit.step(Given {
            beat,
            room: rooms[rooms.len() - 1],
            factors: factors.front().map_or(&[MODULUS - 1; LANES], |f| f),
        });
        products += step.products;
        if step.taken {
            waiting.pop_front();
            taken.push(cycle);
        }
        if step.multiplied {
            assert!(factors.pop_front().is_some(), "factors are taken once for each beat");
        }
        spectrum.extend(step.spectrum);
        if let Some(beat) = step.came {
            if came.is_empty() {
                first = cycle;
                assert!(rooms[(cycle - PIPE - start) as usize], "frame {} left without room", results.len());
            }
            came.push(beat);
            if came.len() == rows {
                let number = results.len();
                let frame = &frames[number];
                let mut transformed = frame.transformed();
                if !frame.inverse {
                    assert!(spectrum.drain(..rows).eq(beats(&transformed, false)), "spectrum {number} is wrong");
                    transformed.iter_mut().zip(&frame.factors).for_each(|(x, &factor)| *x = mul(*x, factor));
                }
                assert!(came == beats(&transformed, frame.inverse), "frame {number} is wrong");
                results.push((taken[number * rows], first, cycle));
                came.clear();
            }
        }
    }
    assert!(factors.is_empty() && spectrum.is_empty(), "each forward beat has taken its factors");
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

/// Factors cost no cycle and no product by a twiddle, and the inverse has none.
#[test]
fn spectra_are_multiplied_on_their_way_out() {
    each(|configuration, n| {
        with_seeds(|source| {
            let mut unit = NttGoldilocksShift::new(configuration, source.any() as u32);
            let mut frames: Vec<_> = [false, false, true].map(|inverse| Frame::random(source, n, inverse)).to_vec();
            frames[0].factors = (0..n).map(|_| source.below(MODULUS)).collect();
            frames[1].factors = vec![MODULUS - 1; n];
            let (times, products) = stream(&mut unit, n, &frames, || true, || true);
            assert_eq!(times[1].2 - times[0].2, 3 * (n / LANES) as u64, "{configuration}: cycles from frame to frame");
            assert_eq!(products, (2 * n * frames.len()) as u64, "{configuration}: general products");
        });
    });
}

#[test]
fn directions_change_and_both_sides_wait() {
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
fn reset_and_clear_in_mid_frame_leave_nothing_behind() {
    each(|configuration, n| {
        with_seeds(|source| {
            let mut unit = NttGoldilocksShift::new(configuration, source.any() as u32);
            for round in 0..6 {
                let inverse = round % 2 == 1;
                let frame = Frame::random(source, n, inverse);
                let mut waiting: VecDeque<_> = beats(&frame.polynomial, !inverse).into();
                for _ in 0..source.below(4 * (n / LANES) as u64) {
                    let beat = waiting.front().map(|beat| (beat.as_slice(), inverse));
                    if unit.step(Given { beat, room: true, factors: &frame.factors[..LANES] }).taken {
                        waiting.pop_front();
                    }
                }
                if round < 3 {
                    unit.reset();
                } else {
                    unit.clear();
                }
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
