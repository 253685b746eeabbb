//! `ntt_cg` and `ntt_cg_r4`: the constant-geometry transforms, a valid/ready stream in and one out.

use super::stream::{Beats, Streams};
use crate::model::{Configuration, Model};

/// The constant-geometry NTT with radix 2 or 4, or the inverse with radix 2.
#[derive(Debug)]
pub struct NttCg {
    model: Model,
    streams: Streams,
}

impl NttCg {
    /// An instance of a configuration of `ntt_cg` or `ntt_cg_r4`, reset.
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let mut model = Model::new(configuration, seed);
        let streams = Streams::new(&mut model, configuration.parameter("HighBit") as u32 + 1);
        model.reset();
        Self { model, streams }
    }

    /// Values in a beat.
    pub fn lanes(&self) -> usize {
        self.streams.lanes()
    }

    /// Clock edges so far.
    pub fn cycles(&self) -> u64 {
        self.model.cycles()
    }

    /// Resets the unit and discards its contents.
    pub fn reset(&mut self) {
        self.streams.reset(&mut self.model);
    }

    /// Offers a beat, or none, and accepts one if `ready`, over one clock edge. Returns whether the beat was accepted, and the
    /// output beat.
    pub fn step(&mut self, beat: Option<&[u64]>, ready: bool) -> (bool, Option<Vec<u64>>) {
        let Beats { taken, came } = self.streams.step(&mut self.model, beat, ready);
        self.model.clock();
        (taken, came)
    }

    /// The beats of a frame in the order in which a forward transform takes them and an inverse gives them: in turn from each
    /// of its `parts`, the two halves or the four quarters.
    pub fn beats_in_turn(frame: &[u64], lanes: usize, parts: usize) -> impl Iterator<Item = &[u64]> {
        let part = frame.len() / parts;
        (0..part / lanes).flat_map(move |b| (0..parts).map(move |k| &frame[k * part + b * lanes..][..lanes]))
    }

    /// The frame whose beats came in turn.
    pub fn frame_of_turns(beats: &[Vec<u64>], parts: usize) -> Vec<u64> {
        (0..parts).flat_map(|k| beats.iter().skip(k).step_by(parts).flatten().copied()).collect()
    }
}
