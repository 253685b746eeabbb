//! `ntt_goldilocks_shift`: the Goldilocks transform in both directions, with general products between shift-only transforms alone.

use super::stream::{Beats, Streams};
use crate::model::{Configuration, Model, Port};

/// The Goldilocks NTT by transforms of 32 points.
#[derive(Debug)]
pub struct NttGoldilocksShift {
    model: Model,
    streams: Streams,
    in_inverse: Port,
    products: Port,
}

/// What happened in one cycle of [`NttGoldilocksShift`].
#[derive(Debug)]
pub struct Step {
    /// Whether the beat that was offered was taken.
    pub taken: bool,
    /// The beat that came, if any.
    pub came: Option<Vec<u64>>,
    /// General products that began.
    pub products: u64,
}

impl NttGoldilocksShift {
    /// Values in a beat.
    pub const LANES: usize = 32;

    /// An instance of a configuration of `ntt_goldilocks_shift`, reset.
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let mut model = Model::new(configuration, seed);
        let streams = Streams::new(&mut model, 64);
        let (in_inverse, products) = (model.port("in_inverse_i"), model.port("products_o"));
        model.set(in_inverse, 0);
        model.reset();
        Self { model, streams, in_inverse, products }
    }

    /// Clock edges so far.
    pub fn cycles(&self) -> u64 {
        self.model.cycles()
    }

    /// Resets the unit and discards its contents.
    pub fn reset(&mut self) {
        self.streams.reset(&mut self.model);
    }

    /// Offers a beat of a frame of that direction, or none, and takes one if `ready`, over one clock edge.
    pub fn step(&mut self, beat: Option<(&[u64], bool)>, ready: bool) -> Step {
        if let Some((_, inverse)) = beat {
            self.model.set(self.in_inverse, u64::from(inverse));
        }
        let Beats { taken, came } = self.streams.step(&mut self.model, beat.map(|(beat, _)| beat), ready);
        let products = Self::LANES as u64 * self.model.get(self.products);
        self.model.clock();
        Step { taken, came, products }
    }
}
