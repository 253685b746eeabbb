//! Units without a protocol: a value enters every cycle, its result leaves a fixed number of cycles later.

use crate::model::{Configuration, Model, Port};

/// `mod_addsub`.
#[derive(Debug)]
pub struct ModAddSub {
    model: Model,
    enable: Port,
    x: Port,
    y: Port,
    modulus: Port,
    sub: Port,
    result: Port,
}

impl ModAddSub {
    /// An instance of a configuration of `mod_addsub`.
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let model = Model::new(configuration, seed);
        let port = |name| model.port(name);
        let (enable, x, y) = (port("en_i"), port("x_i"), port("y_i"));
        let (modulus, sub, result) = (port("modulus_i"), port("sub_i"), port("result_o"));
        Self { model, enable, x, y, modulus, sub, result }
    }

    /// Gives the unit x + y or x - y modulo m to compute, for x, y < m, and one clock edge; `enable` false makes its registers
    /// stand still. Returns the outputs after the edge.
    pub fn step(&mut self, x: u64, y: u64, modulus: u64, subtract: bool, enable: bool) -> u64 {
        self.model.set(self.enable, u64::from(enable));
        self.model.set(self.x, x);
        self.model.set(self.y, y);
        self.model.set(self.modulus, modulus);
        self.model.set(self.sub, u64::from(subtract));
        self.model.clock();
        self.model.get(self.result)
    }
}

/// A modular multiplier: `mod_mul_shoup`, `mod_mul_goldilocks`, `mod_mul_lowham`,
/// `mod_mul_root4`.
#[derive(Debug)]
pub struct ModMul {
    model: Model,
    enable: Port,
    x: Port,
    /// Shoup's companion of x and the modulus, where the unit needs them.
    shoup: Option<(Port, Port)>,
    /// The other factor, where it is none that the unit is made for.
    y: Option<Port>,
    result: Port,
}

/// The inputs of a multiplier in one cycle. `x_shoup` and `modulus` go to `mod_mul_shoup` alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Factors {
    /// The factor that is known in advance.
    pub x: u64,
    /// ⌊x·2^Width / modulus⌋.
    pub x_shoup: u64,
    /// The other factor.
    pub y: u64,
    /// The modulus.
    pub modulus: u64,
}

impl ModMul {
    /// An instance of a configuration of a multiplier.
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let mut model = Model::new(configuration, seed);
        let port = |name| model.port(name);
        let shoup = (configuration.unit == "mod_mul_shoup").then(|| (port("x_shoup_i"), port("modulus_i")));
        let (enable, x, result) = (port("en_i"), port("x_i"), port("result_o"));
        let y = (configuration.unit != "mod_mul_root4").then(|| port("y_i"));
        model.set(enable, 1);
        Self { model, enable, x, shoup, y, result }
    }

    /// Gives the unit these factors and one clock edge; `enable` false makes it stand still. Returns what the unit shows
    /// after the edge.
    pub fn step(&mut self, factors: Factors, enable: bool) -> u64 {
        self.model.set(self.enable, u64::from(enable));
        self.model.set(self.x, factors.x);
        if let Some(y) = self.y {
            self.model.set(y, factors.y);
        }
        if let Some((x_shoup, modulus)) = self.shoup {
            self.model.set(x_shoup, factors.x_shoup);
            self.model.set(modulus, factors.modulus);
        }
        self.model.clock();
        self.model.get(self.result)
    }
}

/// `butterfly`: a Shoup multiplier, an adder and a subtractor.
#[derive(Debug)]
pub struct Butterfly {
    model: Model,
    enable: Port,
    valid: Port,
    inputs: [Port; 5],
    outputs: [Port; 3],
}

/// `butterfly_ctgs`: one multiplier and two adders in either order.
#[derive(Debug)]
pub struct ButterflyCtGs {
    model: Model,
    enable: Port,
    gs: Port,
    inputs: [Port; 3],
    outputs: [Port; 2],
}

impl ButterflyCtGs {
    /// An instance of a configuration of `butterfly_ctgs`.
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let model = Model::new(configuration, seed);
        let port = |name| model.port(name);
        let (enable, gs) = (port("en_i"), port("gs_i"));
        let (inputs, outputs) = (["x_i", "y_i", "w_i"].map(port), ["first_o", "second_o"].map(port));
        Self { model, enable, gs, inputs, outputs }
    }

    /// Gives the unit x, y and w and one clock edge; `enable` false makes it stand still. Returns the pair that the unit shows
    /// after the edge. `gs` may change only when nothing that counts is inside.
    pub fn step(&mut self, gs: bool, wing: [u64; 3], enable: bool) -> (u64, u64) {
        self.model.set(self.enable, u64::from(enable));
        self.model.set(self.gs, u64::from(gs));
        for (port, value) in self.inputs.into_iter().zip(wing) {
            self.model.set(port, value);
        }
        self.model.clock();
        let [first, second] = self.outputs.map(|port| self.model.get(port));
        (first, second)
    }
}

/// The inputs of a butterfly in one cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wing {
    /// The value that is not multiplied.
    pub x: u64,
    /// The value that is.
    pub y: u64,
    /// The twiddle factor.
    pub w: u64,
    /// ⌊w·2^Width / modulus⌋.
    pub w_shoup: u64,
    /// The modulus.
    pub modulus: u64,
}

impl Butterfly {
    /// An instance of a configuration of `butterfly`, reset.
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let mut model = Model::new(configuration, seed);
        let port = |name| model.port(name);
        let (enable, valid) = (port("en_i"), port("valid_i"));
        let inputs = ["x_i", "y_i", "w_i", "w_shoup_i", "modulus_i"].map(port);
        let outputs = ["valid_o", "sum_o", "difference_o"].map(port);
        model.set(enable, 1);
        model.set(valid, 0);
        model.reset();
        Self { model, enable, valid, inputs, outputs }
    }

    /// Resets the unit and discards its contents.
    pub fn reset(&mut self) {
        self.model.reset();
    }

    /// Gives the unit a wing, or none, and one clock edge; `enable` false makes it stand still. Returns the pair
    /// (x + w·y, x − w·y) that the unit shows after the edge, if any.
    pub fn step(&mut self, wing: Option<Wing>, enable: bool) -> Option<(u64, u64)> {
        self.model.set(self.enable, u64::from(enable));
        self.model.set(self.valid, u64::from(wing.is_some()));
        let Wing { x, y, w, w_shoup, modulus } = wing.unwrap_or_default();
        for (port, value) in self.inputs.into_iter().zip([x, y, w, w_shoup, modulus]) {
            self.model.set(port, value);
        }
        self.model.clock();
        let [valid, sum, difference] = self.outputs.map(|port| self.model.get(port));
        (valid == 1).then_some((sum, difference))
    }
}
