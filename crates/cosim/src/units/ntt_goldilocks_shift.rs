//! `ntt_goldilocks_shift`: the Goldilocks transform in both directions, with general products between shift-only transforms alone.

use crate::model::{Configuration, Model, Port};

/// The Goldilocks NTT by transforms of 32 points.
#[derive(Debug)]
pub struct NttGoldilocksShift {
    model: Model,
    in_valid: Port,
    in_ready: Port,
    in_inverse: Port,
    in_data: Port,
    out_valid: Port,
    out_ready: Port,
    out_data: Port,
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
        let port = |name| model.port(name);
        let (in_valid, in_ready, in_inverse) = (port("in_valid_i"), port("in_ready_o"), port("in_inverse_i"));
        let in_data = port("in_data_i");
        let (out_valid, out_ready, out_data) = (port("out_valid_o"), port("out_ready_i"), port("out_data_o"));
        let products = port("products_o");
        model.set(in_valid, 0);
        model.set(in_inverse, 0);
        model.set(out_ready, 0);
        model.reset();
        Self { model, in_valid, in_ready, in_inverse, in_data, out_valid, out_ready, out_data, products }
    }

    /// Clock edges so far.
    pub fn cycles(&self) -> u64 {
        self.model.cycles()
    }

    /// Resets the unit: nothing that is in it comes out.
    pub fn reset(&mut self) {
        self.model.set(self.in_valid, 0);
        self.model.reset();
    }

    /// Offers a beat of a frame of that direction, or none, and takes one if `ready`, over one clock edge.
    pub fn step(&mut self, beat: Option<(&[u64], bool)>, ready: bool) -> Step {
        self.model.set(self.in_valid, u64::from(beat.is_some()));
        if let Some((beat, inverse)) = beat {
            self.model.set_elements(self.in_data, 64, beat);
            self.model.set(self.in_inverse, u64::from(inverse));
        }
        self.model.set(self.out_ready, u64::from(ready));
        self.model.eval();
        let taken = beat.is_some() && self.model.get(self.in_ready) == 1;
        let came = (ready && self.model.get(self.out_valid) == 1).then(|| {
            let mut came = Vec::with_capacity(Self::LANES);
            self.model.get_elements(self.out_data, 64, &mut came);
            came
        });
        let products = Self::LANES as u64 * self.model.get(self.products);
        self.model.clock();
        Step { taken, came, products }
    }
}
