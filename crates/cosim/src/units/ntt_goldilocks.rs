//! `ntt_goldilocks`: the merged transform and its inverse for several polynomials side by side.

use crate::model::{Configuration, Model, Port};

/// The Goldilocks NTT in both directions.
#[derive(Debug)]
pub struct NttGoldilocks {
    model: Model,
    in_valid: Port,
    in_ready: Port,
    in_inverse: Port,
    in_data: Port,
    out_valid: Port,
    out_ready: Port,
    out_data: Port,
    butterflies: usize,
    polynomials: usize,
}

impl NttGoldilocks {
    /// An instance of a configuration of `ntt_goldilocks`, reset.
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let mut model = Model::new(configuration, seed);
        let port = |name| model.port(name);
        let (in_valid, in_ready, in_inverse) = (port("in_valid_i"), port("in_ready_o"), port("in_inverse_i"));
        let in_data = port("in_data_i");
        let (out_valid, out_ready, out_data) = (port("out_valid_o"), port("out_ready_i"), port("out_data_o"));
        let butterflies = 1 << configuration.parameter("LogButterflies");
        let polynomials = configuration.parameter("Polynomials") as usize;
        model.set(in_valid, 0);
        model.set(in_inverse, 0);
        model.set(out_ready, 0);
        model.reset();
        Self {
            model,
            in_valid,
            in_ready,
            in_inverse,
            in_data,
            out_valid,
            out_ready,
            out_data,
            butterflies,
            polynomials,
        }
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

    /// Resets the unit: nothing that is in it comes out.
    pub fn reset(&mut self) {
        self.model.set(self.in_valid, 0);
        self.model.reset();
    }

    /// Offers a beat of a frame of that direction, or none, and takes one if `ready`, over one clock edge. Says whether the
    /// beat was taken, and gives the one that came. A beat has the lanes of polynomial 0, then those of 1, and so on.
    pub fn step(&mut self, beat: Option<(&[u64], bool)>, ready: bool) -> (bool, Option<Vec<u64>>) {
        self.model.set(self.in_valid, u64::from(beat.is_some()));
        if let Some((beat, inverse)) = beat {
            self.model.set_elements(self.in_data, 64, beat);
            self.model.set(self.in_inverse, u64::from(inverse));
        }
        self.model.set(self.out_ready, u64::from(ready));
        self.model.eval();
        let taken = beat.is_some() && self.model.get(self.in_ready) == 1;
        let came = (ready && self.model.get(self.out_valid) == 1).then(|| {
            let mut came = Vec::with_capacity(2 * self.butterflies * self.polynomials);
            self.model.get_elements(self.out_data, 64, &mut came);
            came
        });
        self.model.clock();
        (taken, came)
    }
}
