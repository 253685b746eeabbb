//! The constant-geometry transforms of radix 2 and 4 against their golden model, at every size that was built: values, order,
//! cycles, stalls, reset.

mod support;

use std::collections::VecDeque;

use ciphermill_cosim::Configuration;
use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::units::NttCg;
use ciphermill_math::Modulus;
use ciphermill_math::ntt::ConstantGeometryNtt;
use support::{Source, counted, with_seeds};

struct Frames {
    golden: ConstantGeometryNtt,
    modulus: Modulus,
    n: usize,
    inverse: bool,
    radix: usize,
    /// Each fold of the product by the square root of -1 is a cycle.
    root_folds: u64,
}

impl Frames {
    fn new(configuration: &Configuration) -> Self {
        let value = |name| configuration.parameter(name);
        let modulus = Modulus::new((1 << value("HighBit")) + (1 << value("LowBit")) + 1).expect("a modulus of 35 bits");
        let radix = if configuration.unit == "ntt_cg_r4" { 4 } else { 2 };
        let n = 1 << value("LogN");
        let golden = ConstantGeometryNtt::new(n, modulus).expect("a prime with roots");
        let root_folds = configuration.stated("RootFolds").unwrap_or(0) as u64;
        Self { golden, modulus, n, inverse: configuration.stated("Inverse") == Some(1), radix, root_folds }
    }

    fn random(&self, source: &mut Source) -> Vec<u64> {
        (0..self.n).map(|_| source.below(self.modulus.value())).collect()
    }

    /// All zero, all q - 1, one coefficient, alternating ends.
    fn corners(&self) -> Vec<Vec<u64>> {
        let top = self.modulus.value() - 1;
        let one = |place: usize| (0..self.n).map(|i| u64::from(i == place)).collect();
        let ends = (0..self.n).map(|i| if i % 2 == 0 { top } else { 0 }).collect();
        vec![vec![0; self.n], vec![top; self.n], one(0), one(1), one(self.n / 2), one(self.n - 1), ends]
    }

    fn transformed(&self, frame: &[u64]) -> Vec<u64> {
        let mut values = frame.to_vec();
        if self.inverse {
            self.golden.inverse(&mut values)
        } else {
            self.golden.forward(&mut values)
        }
        values
    }

    /// Cycles from frame to frame, from the first beat in to the first out, from there to the last out; and the fewest cycles
    /// that the multipliers allow.
    fn cycles(&self, lanes: usize) -> (u64, u64, u64, u64) {
        let (n, rows, log_n) = (self.n as u64, (self.n / lanes) as u64, u64::from(self.n.ilog2()));
        if self.radix == 4 {
            let stage = 3 * rows / 2;
            let pipe = 20 + self.root_folds;
            return (log_n / 2 * stage, (log_n / 2 - 1) * stage + pipe, stage - 2, 3 * n / 4 * (log_n / 2) / 4);
        }
        // As the module says: a stage takes N / lanes cycles, and waits where half of that is shorter than the pipeline.
        let stage = rows + 10u64.saturating_sub(rows / 2);
        (log_n * stage, (log_n - 1) * stage + 10, rows - 1, n / 2 * log_n / (lanes as u64 / 2))
    }

    /// The beats of a frame as the unit takes them.
    fn beats(&self, frame: &[u64], lanes: usize) -> VecDeque<Vec<u64>> {
        if self.inverse {
            frame.chunks(lanes).map(<[u64]>::to_vec).collect()
        } else {
            NttCg::beats_in_turn(frame, lanes, self.radix).map(<[u64]>::to_vec).collect()
        }
    }

    /// The frame of the beats that the unit gave.
    fn frame(&self, beats: &[Vec<u64>]) -> Vec<u64> {
        if self.inverse { NttCg::frame_of_turns(beats, 2) } else { beats.concat() }
    }
}

/// Streams frames through the unit; `offer` and `ready` say in which cycles there is input and room for output. Returns in
/// which cycle each frame's first beat went in, first came out, and last came out.
fn stream(
    unit: &mut NttCg,
    frames: &Frames,
    inputs: &[Vec<u64>],
    mut offer: impl FnMut() -> bool,
    mut ready: impl FnMut() -> bool,
) -> Vec<(u64, u64, u64)> {
    let rows = frames.n / unit.lanes();
    let mut beats: VecDeque<Vec<u64>> = inputs.iter().flat_map(|frame| frames.beats(frame, unit.lanes())).collect();
    let mut taken = Vec::new();
    let mut results = Vec::new();
    let mut came: Vec<Vec<u64>> = Vec::new();
    let mut first = 0;
    let patience = unit.cycles() + 200_000 + 40_000 * inputs.len() as u64;
    while results.len() < inputs.len() {
        let cycle = unit.cycles();
        assert!(cycle < patience, "{} of {} frames came out", results.len(), inputs.len());
        let offered = if offer() { beats.front().map(Vec::as_slice) } else { None };
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
            if came.len() == rows {
                let number = results.len();
                assert!(frames.frame(&came) == frames.transformed(&inputs[number]), "frame {number} is wrong");
                results.push((taken[number * rows], first, cycle));
                came.clear();
            }
        }
    }
    results
}

fn each(test: impl Fn(&'static Configuration, Frames)) {
    for unit in ["ntt_cg", "ntt_cg_r4"] {
        support::each(unit, |configuration| test(configuration, Frames::new(configuration)));
    }
}

#[test]
fn frames_follow_one_another_without_a_gap() {
    each(|configuration, frames| {
        with_seeds(|source| {
            let mut unit = NttCg::new(configuration, source.any() as u32);
            let mut inputs = frames.corners();
            let random = support::frames(9, 2);
            inputs.extend((0..random).map(|_| frames.random(source)));
            let times = stream(&mut unit, &frames, &inputs, || true, || true);
            let (period, latency, length, bound) = frames.cycles(unit.lanes());
            for pair in times.windows(2) {
                assert_eq!(pair[1].2 - pair[0].2, period, "{configuration}: cycles from frame to frame");
            }
            let (begin, first, last) = times[0];
            assert_eq!((first - begin, last - first), (latency, length), "{configuration}: latency, length of a frame");
            counted(configuration, random, "frames");
            record::cycles(configuration, Cycles { cycles: period, latency, bound });
        });
    });
}

#[test]
fn stalls_on_both_sides_change_nothing_but_time() {
    each(|configuration, frames| {
        with_seeds(|source| {
            let mut unit = NttCg::new(configuration, source.any() as u32);
            let inputs: Vec<_> = (0..4).map(|_| frames.random(source)).collect();
            let mut coins = (0..1 << 20)
                .map(|_| (source.chance(3, 5), source.chance(2, 3)))
                .collect::<Vec<_>>()
                .into_iter()
                .cycle();
            let mut room = coins.clone();
            let mut offer = move || coins.next().is_some_and(|coin| coin.0);
            stream(&mut unit, &frames, &inputs, &mut offer, move || room.next().is_some_and(|coin| coin.1));
            // A frame comes out whole though no other follows.
            stream(&mut unit, &frames, &inputs[..1], || true, || true);
        });
    });
}

#[test]
fn a_reset_in_mid_frame_leaves_nothing_behind() {
    each(|configuration, frames| {
        with_seeds(|source| {
            let mut unit = NttCg::new(configuration, source.any() as u32);
            for _ in 0..4 {
                let frame = frames.random(source);
                let mut beats = frames.beats(&frame, unit.lanes());
                let stop = source.below(2 * frames.n as u64);
                for _ in 0..stop {
                    if unit.step(beats.front().map(Vec::as_slice), true).0 {
                        beats.pop_front();
                    }
                }
                unit.reset();
                let inputs = [frames.random(source)];
                stream(&mut unit, &frames, &inputs, || true, || true);
            }
        });
    });
}
