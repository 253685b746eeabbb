//! `tfhe_cmux`: the accumulator of a blind rotation, and its CMux with a streamed key.

use std::collections::VecDeque;

use crate::model::{Configuration, Model, Port};

/// The accumulator of a blind rotation: two polynomials modulo p = 2^64 − 2^32 + 1.
#[derive(Debug)]
pub struct TfheCmux {
    model: Model,
    ports: Ports,
    n: usize,
    circuits: usize,
    levels: usize,
    /// The next beats of the key, each 2·`circuits` rows of 32 values.
    key: VecDeque<Vec<u64>>,
}

#[derive(Debug)]
struct Ports {
    clear: Port,
    gadget: Port,
    idle: Port,
    load_valid: Port,
    load_first: Port,
    load_component: Port,
    load_exponent: Port,
    load_data: Port,
    read_en: Port,
    read_component: Port,
    read_row: Port,
    read_data: Port,
    step_valid: Port,
    step_ready: Port,
    step_exponent: Port,
    key_round: Port,
    key_take: Port,
    key_data: Port,
}

impl Ports {
    fn new(model: &Model) -> Self {
        let port = |name| model.port(name);
        Self {
            clear: port("clear_i"),
            gadget: port("gadget_i"),
            idle: port("idle_o"),
            load_valid: port("load_valid_i"),
            load_first: port("load_first_i"),
            load_component: port("load_component_i"),
            load_exponent: port("load_exponent_i"),
            load_data: port("load_data_i"),
            read_en: port("read_en_i"),
            read_component: port("read_component_i"),
            read_row: port("read_row_i"),
            read_data: port("read_data_o"),
            step_valid: port("step_valid_i"),
            step_ready: port("step_ready_o"),
            step_exponent: port("step_exponent_i"),
            key_round: port("key_round_i"),
            key_take: port("key_take_o"),
            key_data: port("key_data_i"),
        }
    }
}

impl TfheCmux {
    /// Values in a row.
    pub const LANES: usize = 32;

    /// An instance of a configuration of `tfhe_cmux`, reset, for digits of `base_log` bits.
    pub fn new(configuration: &'static Configuration, seed: u32, base_log: u32, levels: usize) -> Self {
        let mut model = Model::new(configuration, seed);
        let ports = Ports::new(&model);
        for input in [
            ports.clear,
            ports.load_valid,
            ports.load_first,
            ports.load_component,
            ports.read_en,
            ports.step_valid,
            ports.key_round,
        ] {
            model.set(input, 0);
        }
        model.set(ports.gadget, u64::from(base_log) << 4 | levels as u64);
        model.reset();
        let n = 1 << configuration.parameter("LogN");
        let circuits = configuration.parameter("Circuits") as usize;
        Self { model, ports, n, circuits, levels, key: VecDeque::new() }
    }

    /// Clock edges so far.
    pub fn cycles(&self) -> u64 {
        self.model.cycles()
    }

    /// Resets the unit and forgets the key's beats.
    pub fn reset(&mut self) {
        self.key.clear();
        self.model.set(self.ports.step_valid, 0);
        self.model.set(self.ports.key_round, 0);
        self.model.reset();
    }

    /// Ends a CMux in progress, over one clock edge, and forgets the key's beats.
    pub fn clear(&mut self) {
        self.key.clear();
        self.model.set(self.ports.step_valid, 0);
        self.model.set(self.ports.clear, 1);
        self.model.clock();
        self.model.set(self.ports.clear, 0);
    }

    /// Sets the accumulator to X^exponent times a GLWE ciphertext.
    ///
    /// # Panics
    /// If the unit is not idle.
    pub fn load(&mut self, components: [&[u64]; 2], exponent: usize) {
        self.wait_idle();
        self.model.set(self.ports.load_exponent, exponent as u64);
        self.model.set(self.ports.load_valid, 1);
        let rows = self.n / Self::LANES;
        for (c, component) in components.into_iter().enumerate() {
            self.model.set(self.ports.load_component, c as u64);
            for t in 0..rows {
                let row: Vec<u64> = component[t..].iter().step_by(rows).copied().collect();
                self.model.set(self.ports.load_first, u64::from(t == 0));
                self.model.set_elements(self.ports.load_data, 64, &row);
                self.model.clock();
            }
        }
        self.model.set(self.ports.load_valid, 0);
        self.wait_idle();
    }

    /// Both components of the accumulator.
    ///
    /// # Panics
    /// If the unit is not idle.
    pub fn read(&mut self) -> [Vec<u64>; 2] {
        self.wait_idle();
        let rows = self.n / Self::LANES;
        let mut components = [vec![0; self.n], vec![0; self.n]];
        let mut row = Vec::new();
        self.model.set(self.ports.read_en, 1);
        // A row comes two cycles after it is asked for.
        for place in 0..2 * rows + 2 {
            if let Some(came) = place.checked_sub(2) {
                self.model.get_elements(self.ports.read_data, 64, &mut row);
                let component = &mut components[came / rows];
                component[came % rows..].iter_mut().step_by(rows).zip(&row).for_each(|(to, &x)| *to = x);
            }
            self.model.set(self.ports.read_component, (place / rows % 2) as u64);
            self.model.set(self.ports.read_row, (place % rows) as u64);
            self.model.clock();
        }
        self.model.set(self.ports.read_en, 0);
        components
    }

    /// Appends a transformed GGSW ciphertext to the key's stream: `key(component, digit, column)` is a spectrum in bit-reversed
    /// order, times 1/N.
    pub fn push_key<'k>(&mut self, key: impl Fn(usize, usize, usize) -> &'k [u64]) {
        let turns = 2 / self.circuits;
        for (turn, digit) in (0..turns).flat_map(|turn| (0..self.levels).map(move |digit| (turn, digit))) {
            for t in 0..self.n / Self::LANES {
                let mut beat = Vec::with_capacity(2 * self.circuits * Self::LANES);
                for (e, column) in (0..self.circuits).flat_map(|e| [(e, 0), (e, 1)]) {
                    let component = if turns == 2 { turn } else { e };
                    beat.extend(&key(component, digit, column)[t * Self::LANES..][..Self::LANES]);
                }
                self.key.push_back(beat);
            }
        }
    }

    /// Asks for CMuxes, one after the other, and gives the clock until the last one has ended. A round of the key waits in those cycles in which
    /// `round` says so, if its beats were pushed. Returns the cycles in which the CMuxes began, and the one in which the
    /// last one ended.
    ///
    /// # Panics
    /// If the unit takes more cycles than `patience`, or beats of the key that were not pushed.
    pub fn run(&mut self, exponents: &[usize], mut round: impl FnMut() -> bool, patience: u64) -> Vec<u64> {
        let mut times = Vec::new();
        let mut waiting = exponents.iter();
        let mut offered = waiting.next();
        let start = self.cycles();
        loop {
            self.model.set(self.ports.step_valid, u64::from(offered.is_some()));
            if let Some(&exponent) = offered {
                self.model.set(self.ports.step_exponent, exponent as u64);
            }
            self.model.eval();
            if self.model.get(self.ports.step_ready) == 1 {
                times.push(self.cycles());
                if offered.is_none() {
                    break;
                }
                offered = waiting.next();
            }
            self.step(&mut round);
            assert!(self.cycles() - start < patience, "{} of {} CMuxes began", times.len(), exponents.len());
        }
        self.model.set(self.ports.step_valid, 0);
        times
    }

    /// Gives the clock that many times, with the key as in [`run`](Self::run), while a CMux is asked for.
    pub fn run_for(&mut self, cycles: u64, exponent: usize) {
        self.model.set(self.ports.step_exponent, exponent as u64);
        self.model.set(self.ports.step_valid, 1);
        for _ in 0..cycles {
            self.step(&mut || true);
        }
        self.model.set(self.ports.step_valid, 0);
    }

    fn step(&mut self, round: &mut impl FnMut() -> bool) {
        let whole = self.key.len() >= self.n / Self::LANES;
        self.model.set(self.ports.key_round, u64::from(whole && round()));
        if let Some(beat) = self.key.front() {
            self.model.set_elements(self.ports.key_data, 64, beat);
        }
        self.model.eval();
        if self.model.get(self.ports.key_take) == 1 {
            assert!(self.key.pop_front().is_some(), "the unit takes no beat that was not pushed");
        }
        self.model.clock();
    }

    fn wait_idle(&mut self) {
        for _ in 0..16 {
            self.model.eval();
            if self.model.get(self.ports.idle) == 1 {
                return;
            }
            self.model.clock();
        }
        panic!("the unit is not idle");
    }
}
