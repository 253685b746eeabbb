//! `dft_goldilocks`: transforms of 32 points, or of fewer side by side, by shifts and additions.

use crate::model::{Configuration, Model, Port};

/// What `dft_goldilocks` does with a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct DftMode {
    /// Multiplies lane j by 8^j before.
    pub pre: bool,
    /// Takes the row for interleaved transforms of fewer points.
    pub middle: bool,
    /// Multiplies lane k by 8^k after.
    pub post: bool,
}

/// The transform of 32 points modulo the Goldilocks prime.
#[derive(Debug)]
pub struct DftGoldilocks {
    model: Model,
    enable: Port,
    mode: [Port; 3],
    data: Port,
    result: Port,
}

impl DftGoldilocks {
    /// An instance of a configuration of `dft_goldilocks`.
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let model = Model::new(configuration, seed);
        let (enable, mode) = (model.port("en_i"), ["pre_i", "middle_i", "post_i"].map(|name| model.port(name)));
        let (data, result) = (model.port("data_i"), model.port("data_o"));
        Self { model, enable, mode, data, result }
    }

    /// Gives the unit a row of 32 values below 2^64 and one clock edge; `enable` false makes it stand still. Returns the row that
    /// the unit shows after the edge.
    pub fn step(&mut self, row: &[u64], mode: DftMode, enable: bool) -> Vec<u64> {
        self.model.set(self.enable, u64::from(enable));
        for (port, bit) in self.mode.into_iter().zip([mode.pre, mode.middle, mode.post]) {
            self.model.set(port, u64::from(bit));
        }
        self.model.set_elements(self.data, 64, row);
        self.model.clock();
        let mut result = Vec::with_capacity(row.len());
        self.model.get_elements(self.result, 64, &mut result);
        result
    }
}
