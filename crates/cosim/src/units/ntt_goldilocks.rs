//! `ntt_goldilocks`: the merged transform and its inverse for several polynomials side by side.

use super::stream::{Beats, Streams};
use crate::model::{Configuration, Model, Port};

/// The Goldilocks NTT in both directions.
#[derive(Debug)]
pub struct NttGoldilocks {
    model: Model,
    streams: Streams,
    in_inverse: Port,
    butterflies: usize,
    polynomials: usize,
}

impl NttGoldilocks {
    /// An instance of a configuration of `ntt_goldilocks`, reset.
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let mut model = Model::new(configuration, seed);
        let streams = Streams::new(&mut model, 64);
        let in_inverse = model.port("in_inverse_i");
        let butterflies = 1 << configuration.parameter("LogButterflies");
        let polynomials = configuration.parameter("Polynomials") as usize;
        model.set(in_inverse, 0);
        model.reset();
        Self { model, streams, in_inverse, butterflies, polynomials }
    }

    /// Polynomials that are transformed at once.
    pub fn polynomials(&self) -> usize {
        self.polynomials
    }

    /// Butterflies for each of them.
    pub fn butterflies(&self) -> usize {
        self.butterflies
    }

    /// Clock edges so far.
    pub fn cycles(&self) -> u64 {
        self.model.cycles()
    }

    /// Resets the unit and discards its contents.
    pub fn reset(&mut self) {
        self.streams.reset(&mut self.model);
    }

    /// Offers a beat of a frame of that direction, or none, and accepts one if `ready`, over one clock edge. Returns whether
    /// the beat was accepted, and the output beat. A beat has the lanes of polynomial 0, then those of 1, and so on.
    pub fn step(&mut self, beat: Option<(&[u64], bool)>, ready: bool) -> (bool, Option<Vec<u64>>) {
        if let Some((_, inverse)) = beat {
            self.model.set(self.in_inverse, u64::from(inverse));
        }
        let Beats { taken, came } = self.streams.step(&mut self.model, beat.map(|(beat, _)| beat), ready);
        self.model.clock();
        (taken, came)
    }
}
