//! The Goldilocks transform in both directions against the golden model: values, order, cycles, stalls, changes of direction,
//! reset.

mod support;

use std::collections::VecDeque;

use ciphermill_cosim::Configuration;
use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::units::NttGoldilocks;
use ciphermill_math::goldilocks::MODULUS;
use ciphermill_math::ntt::reference::{forward, inverse_unnormalised};
use support::{Source, counted, with_seeds};

/// The polynomials that go through the unit side by side.
#[derive(Clone)]
struct Frame {
    inverse: bool,
    polynomials: Vec<Vec<u64>>,
}

struct Shape {
    n: usize,
    butterflies: usize,
    polynomials: usize,
}

impl Shape {
    fn new(configuration: &Configuration) -> Self {
        let value = |name| configuration.parameter(name) as usize;
        Self { n: 1 << value("LogN"), butterflies: 1 << value("LogButterflies"), polynomials: value("Polynomials") }
    }

    fn rows(&self) -> usize {
        self.n / (2 * self.butterflies)
    }

    fn random(&self, source: &mut Source, inverse: bool) -> Frame {
        let polynomial = |_| (0..self.n).map(|_| source.below(MODULUS)).collect();
        Frame { inverse, polynomials: (0..self.polynomials).map(polynomial).collect() }
    }

    /// All p - 1, one coefficient at the ends of halves, alternating ends.
    fn corners(&self, inverse: bool) -> Vec<Frame> {
        let one = |place: usize| (0..self.n).map(|i| u64::from(i == place)).collect::<Vec<_>>();
        let ends = (0..self.n).map(|i| if i % 2 == 0 { MODULUS - 1 } else { 0 }).collect();
        let all = [vec![MODULUS - 1; self.n], one(0), one(self.n / 2 - 1), one(self.n - 1), ends];
        all.into_iter().map(|one| Frame { inverse, polynomials: vec![one; self.polynomials] }).collect()
    }

    /// Beat b in the order of bits reversed: a row; in natural order: half of it from the lower half of the polynomial.
    fn beat(&self, polynomial: &[u64], natural: bool, b: usize) -> Vec<u64> {
        let width = self.butterflies;
        if natural {
            let upper = self.n / 2 + b * width;
            [&polynomial[b * width..(b + 1) * width], &polynomial[upper..upper + width]].concat()
        } else {
            polynomial[2 * b * width..2 * (b + 1) * width].to_vec()
        }
    }

    fn beats(&self, polynomials: &[Vec<u64>], natural: bool) -> Vec<Vec<u64>> {
        let beat = |b| polynomials.iter().flat_map(|polynomial| self.beat(polynomial, natural, b)).collect();
        (0..self.rows()).map(beat).collect()
    }
}

impl Frame {
    fn transformed(&self) -> Vec<Vec<u64>> {
        let mut polynomials = self.polynomials.clone();
        for polynomial in &mut polynomials {
            if self.inverse { inverse_unnormalised(polynomial) } else { forward(polynomial) }
        }
        polynomials
    }
}

/// Streams frames through the unit. Returns in which cycle each frame's first beat went in, first came out, last came out.
fn stream(
    unit: &mut NttGoldilocks,
    shape: &Shape,
    frames: &[Frame],
    mut offer: impl FnMut() -> bool,
    mut ready: impl FnMut() -> bool,
) -> Vec<(u64, u64, u64)> {
    let to_beats = |frame: &Frame| {
        let inverse = frame.inverse;
        shape.beats(&frame.polynomials, !inverse).into_iter().map(move |beat| (beat, inverse))
    };
    let mut beats: VecDeque<(Vec<u64>, bool)> = frames.iter().flat_map(to_beats).collect();
    let (mut taken, mut results) = (Vec::new(), Vec::new());
    let mut came: Vec<Vec<u64>> = Vec::new();
    let mut first = 0;
    let patience = unit.cycles() + 200_000 + 60_000 * frames.len() as u64;
    while results.len() < frames.len() {
        let cycle = unit.cycles();
        assert!(cycle < patience, "{} of {} frames came out", results.len(), frames.len());
        let offered = if offer() { beats.front().map(|(beat, inverse)| (beat.as_slice(), *inverse)) } else { None };
        let (was_taken, beat) = unit.step(offered, ready());
        if was_taken {
            beats.pop_front();
            taken.push(cycle);
        }
        if let Some(beat) = beat {
            if came.is_empty() {
                first = cycle;
            }
            came.push(beat);
            if came.len() == shape.rows() {
                let number = results.len();
                let frame = &frames[number];
                assert!(came == shape.beats(&frame.transformed(), frame.inverse), "frame {number} is wrong");
                results.push((taken[number * shape.rows()], first, cycle));
                came.clear();
            }
        }
    }
    results
}

fn each(test: impl Fn(&'static Configuration, Shape)) {
    support::each("ntt_goldilocks", |configuration| test(configuration, Shape::new(configuration)));
}

/// From the read of values to their results.
const PIPE: u64 = 10;

#[test]
fn frames_of_one_direction_follow_one_another_without_a_gap() {
    each(|configuration, shape| {
        with_seeds(|source| {
            let mut unit = NttGoldilocks::new(configuration, source.any() as u32);
            let (rows, stages) = (shape.rows() as u64, u64::from(shape.n.ilog2()));
            for inverse in [false, true] {
                let mut frames = shape.corners(inverse);
                let random = support::frames(3, 4);
                frames.extend((0..random).map(|_| shape.random(source, inverse)));
                let times = stream(&mut unit, &shape, &frames, || true, || true);
                for pair in times.windows(2) {
                    assert_eq!(pair[1].2 - pair[0].2, stages * rows, "{configuration}: cycles from frame to frame");
                }
                let (begin, first, last) = times[0];
                let latency = (stages - 1) * rows + PIPE;
                assert_eq!((first - begin, last - first), (latency, rows - 1), "{configuration}: latency, length");
                // From the first beat in to the last one out.
                assert_eq!(last - begin + 1, stages * rows + PIPE);
                let bound = shape.n as u64 / 2 * stages / shape.butterflies as u64;
                counted(configuration, random, "frames");
                record::cycles(configuration, Cycles { cycles: stages * rows, latency, bound });
            }
        });
    });
}

#[test]
fn directions_change_and_both_sides_stall() {
    each(|configuration, shape| {
        with_seeds(|source| {
            let mut unit = NttGoldilocks::new(configuration, source.any() as u32);
            let frames: Vec<_> =
                [false, true, true, false].into_iter().map(|inverse| shape.random(source, inverse)).collect();
            stream(&mut unit, &shape, &frames, || true, || true);
            let coins: Vec<_> = (0..99_991).map(|_| (source.chance(3, 5), source.chance(2, 3))).collect();
            let (mut offer, mut room) = (coins.iter().cycle(), coins.iter().cycle());
            let mut offer = || offer.next().is_some_and(|coin| coin.0);
            stream(&mut unit, &shape, &frames, &mut offer, || room.next().is_some_and(|coin| coin.1));
        });
    });
}

#[test]
fn a_reset_in_mid_frame_leaves_nothing_behind() {
    each(|configuration, shape| {
        with_seeds(|source| {
            let mut unit = NttGoldilocks::new(configuration, source.any() as u32);
            for round in 0..3 {
                let inverse = round % 2 == 1;
                let frame = shape.random(source, inverse);
                let mut beats: VecDeque<_> = shape.beats(&frame.polynomials, !inverse).into();
                for _ in 0..source.below(2 * shape.n as u64) {
                    if unit.step(beats.front().map(|beat| (beat.as_slice(), inverse)), true).0 {
                        beats.pop_front();
                    }
                }
                unit.reset();
                let frames = [shape.random(source, !inverse)];
                stream(&mut unit, &shape, &frames, || true, || true);
            }
        });
    });
}
