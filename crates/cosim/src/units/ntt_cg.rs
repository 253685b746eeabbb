//! `ntt_cg` and `ntt_cg_r4`: the constant-geometry transforms, a valid/ready stream in and one out.

use crate::model::{Configuration, Model, Port};

/// The constant-geometry NTT with radix 2 or 4, or the inverse with radix 2.
#[derive(Debug)]
pub struct NttCg {
    model: Model,
    in_valid: Port,
    in_ready: Port,
    in_data: Port,
    out_valid: Port,
    out_ready: Port,
    out_data: Port,
    width: u32,
    lanes: usize,
}

impl NttCg {
    /// An instance of a configuration of `ntt_cg` or `ntt_cg_r4`, reset.
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let mut model = Model::new(configuration, seed);
        let port = |name| model.port(name);
        let (in_valid, in_ready, in_data) = (port("in_valid_i"), port("in_ready_o"), port("in_data_i"));
        let (out_valid, out_ready, out_data) = (port("out_valid_o"), port("out_ready_i"), port("out_data_o"));
        let width = configuration.parameter("HighBit") as u32 + 1;
        let lanes = (in_data.bits() / width) as usize;
        model.set(in_valid, 0);
        model.set(out_ready, 0);
        model.reset();
        Self { model, in_valid, in_ready, in_data, out_valid, out_ready, out_data, width, lanes }
    }

    /// Values in a beat.
    pub fn lanes(&self) -> usize {
        self.lanes
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

    /// Offers a beat, or none, and takes one if `ready`, over one clock edge. Says whether the beat was taken, and gives the one
    /// that came.
    pub fn step(&mut self, beat: Option<&[u64]>, ready: bool) -> (bool, Option<Vec<u64>>) {
        self.model.set(self.in_valid, u64::from(beat.is_some()));
        if let Some(beat) = beat {
            self.model.set_elements(self.in_data, self.width, beat);
        }
        self.model.set(self.out_ready, u64::from(ready));
        self.model.eval();
        let taken = beat.is_some() && self.model.get(self.in_ready) == 1;
        let came = (ready && self.model.get(self.out_valid) == 1).then(|| {
            let mut came = Vec::with_capacity(self.lanes);
            self.model.get_elements(self.out_data, self.width, &mut came);
            came
        });
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
