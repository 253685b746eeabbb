//! `ntt_goldilocks_shift`: the Goldilocks transform in both directions, with general products between shift-only transforms alone.

use crate::model::{Configuration, Model, Port};

/// The Goldilocks NTT by transforms of 32 points.
#[derive(Debug)]
pub struct NttGoldilocksShift {
    model: Model,
    clear: Port,
    in_valid: Port,
    in_ready: Port,
    in_inverse: Port,
    in_data: Port,
    out_room: Port,
    out_valid: Port,
    out_data: Port,
    factors_take: Port,
    factors: Port,
    spectrum: Port,
    products: Port,
    /// Whether factors were taken in the cycle before.
    multiplies: bool,
}

/// The inputs of one cycle of [`NttGoldilocksShift`].
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// A beat of a frame, and whether the frame's transform is the inverse one.
    pub beat: Option<(&'a [u64], bool)>,
    /// Whether the receiver has room for a whole frame.
    pub room: bool,
    /// The factors of the next beat of a forward frame.
    pub factors: &'a [u64],
}

/// What happened in one cycle of [`NttGoldilocksShift`].
#[derive(Debug)]
pub struct Step {
    /// Whether the beat that was offered was taken.
    pub taken: bool,
    /// The beat that came, if any.
    pub came: Option<Vec<u64>>,
    /// Whether the factors were taken.
    pub multiplied: bool,
    /// The beat of values whose factors were taken in the cycle before, if any.
    pub spectrum: Option<Vec<u64>>,
    /// General products by twiddles that began.
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
        let (in_data, out_room, out_valid) = (port("in_data_i"), port("out_room_i"), port("out_valid_o"));
        let (out_data, factors_take, factors) = (port("out_data_o"), port("factors_take_o"), port("factors_i"));
        let (spectrum, products) = (port("spectrum_o"), port("products_o"));
        let clear = port("clear_i");
        for input in [clear, in_valid, in_inverse, out_room] {
            model.set(input, 0);
        }
        model.reset();
        Self {
            model,
            clear,
            in_valid,
            in_ready,
            in_inverse,
            in_data,
            out_room,
            out_valid,
            out_data,
            factors_take,
            factors,
            spectrum,
            products,
            multiplies: false,
        }
    }

    /// Clock edges so far.
    pub fn cycles(&self) -> u64 {
        self.model.cycles()
    }

    /// Resets the unit and discards its contents.
    pub fn reset(&mut self) {
        self.multiplies = false;
        self.model.set(self.in_valid, 0);
        self.model.reset();
    }

    /// Drops all frames, over one clock edge.
    pub fn clear(&mut self) {
        self.multiplies = false;
        self.model.set(self.in_valid, 0);
        self.model.set(self.clear, 1);
        self.model.clock();
        self.model.set(self.clear, 0);
    }

    /// Gives the unit its inputs and one clock edge.
    pub fn step(&mut self, given: Given<'_>) -> Step {
        let model = &mut self.model;
        model.set(self.in_valid, u64::from(given.beat.is_some()));
        if let Some((beat, inverse)) = given.beat {
            model.set(self.in_inverse, u64::from(inverse));
            model.set_elements(self.in_data, 64, beat);
        }
        model.set(self.out_room, u64::from(given.room));
        model.set_elements(self.factors, 64, given.factors);
        model.eval();
        let beat_of = |port| {
            let mut beat = Vec::new();
            model.get_elements(port, 64, &mut beat);
            beat
        };
        let multiplied = model.get(self.factors_take) == 1;
        let step = Step {
            taken: given.beat.is_some() && model.get(self.in_ready) == 1,
            came: (model.get(self.out_valid) == 1).then(|| beat_of(self.out_data)),
            multiplied,
            spectrum: self.multiplies.then(|| beat_of(self.spectrum)),
            products: Self::LANES as u64 * model.get(self.products),
        };
        self.multiplies = multiplied;
        self.model.clock();
        step
    }
}
