//! `tfhe_vector`: an LWE sample of 32-bit elements, its additions, products with integers and key switches.

pub use ciphermill_arch::tfhe_engine::micro::WordOp;

use crate::model::{Configuration, Model, Port};

/// The sample of a program.
#[derive(Debug)]
pub struct TfheVector {
    model: Model,
    ports: Ports,
    /// n + 1.
    elements: usize,
}

#[derive(Debug)]
struct Ports {
    clear: Port,
    body: Port,
    gadget: Port,
    busy: Port,
    word_valid: Port,
    word_first: Port,
    word_op: Port,
    word: Port,
    read_index: Port,
    read_word: Port,
    element: Port,
    scale_valid: Port,
    scale_value: Port,
    switch_valid: Port,
    switch_body: Port,
    coefficient_valid: Port,
    coefficient_ready: Port,
    coefficient: Port,
    coefficient_last: Port,
    key_valid: Port,
    key_ready: Port,
    key: Port,
}

impl TfheVector {
    /// Elements of a beat of the key.
    pub const LANES: usize = 128;
    /// Elements of a word of memory.
    pub const WORD_LANES: usize = 16;

    /// An instance of a configuration of `tfhe_vector`, reset, for samples of that dimension.
    ///
    /// # Panics
    /// If the dimension is above 1023.
    pub fn new(configuration: &'static Configuration, seed: u32, dimension: usize) -> Self {
        assert!(dimension < 1024, "n is {dimension}; at most 1023");
        let mut model = Model::new(configuration, seed);
        let port = |name| model.port(name);
        let ports = Ports {
            clear: port("clear_i"),
            body: port("body_i"),
            gadget: port("gadget_i"),
            busy: port("busy_o"),
            word_valid: port("word_valid_i"),
            word_first: port("word_first_i"),
            word_op: port("word_op_i"),
            word: port("word_i"),
            read_index: port("read_index_i"),
            read_word: port("read_word_o"),
            element: port("element_o"),
            scale_valid: port("scale_valid_i"),
            scale_value: port("scale_value_i"),
            switch_valid: port("switch_valid_i"),
            switch_body: port("switch_body_i"),
            coefficient_valid: port("coefficient_valid_i"),
            coefficient_ready: port("coefficient_ready_o"),
            coefficient: port("coefficient_i"),
            coefficient_last: port("coefficient_last_i"),
            key_valid: port("key_valid_i"),
            key_ready: port("key_ready_o"),
            key: port("key_i"),
        };
        for input in [
            ports.clear,
            ports.word_valid,
            ports.word_first,
            ports.scale_valid,
            ports.switch_valid,
            ports.coefficient_valid,
            ports.coefficient_last,
            ports.key_valid,
        ] {
            model.set(input, 0);
        }
        model.set(ports.body, dimension as u64);
        model.set(ports.gadget, 3 << 4 | 7);
        model.reset();
        Self { model, ports, elements: dimension + 1 }
    }

    /// Clock edges so far.
    pub fn cycles(&self) -> u64 {
        self.model.cycles()
    }

    /// Ends an operation in progress, over one clock edge.
    pub fn clear(&mut self) {
        for input in
            [self.ports.scale_valid, self.ports.switch_valid, self.ports.coefficient_valid, self.ports.key_valid]
        {
            self.model.set(input, 0);
        }
        self.model.set(self.ports.clear, 1);
        self.model.clock();
        self.model.set(self.ports.clear, 0);
    }

    /// Resets the unit.
    pub fn reset(&mut self) {
        self.model.reset();
    }

    /// Gives all words of a sample.
    ///
    /// # Panics
    /// If there are not n + 1 elements.
    pub fn give(&mut self, op: WordOp, sample: &[u32]) {
        assert_eq!(sample.len(), self.elements, "elements of the sample");
        self.model.set(self.ports.word_op, op as u64);
        self.model.set(self.ports.word_valid, 1);
        for (i, word) in sample.chunks(Self::WORD_LANES).enumerate() {
            let mut word: Vec<u64> = word.iter().copied().map(u64::from).collect();
            word.resize(Self::WORD_LANES, 0);
            self.model.set(self.ports.word_first, u64::from(i == 0));
            self.model.set_elements(self.ports.word, 32, &word);
            self.model.clock();
        }
        self.model.set(self.ports.word_valid, 0);
    }

    /// The sample, by words.
    pub fn words(&mut self) -> Vec<u32> {
        let (mut out, mut word) = (Vec::new(), Vec::new());
        for i in 0..self.elements.div_ceil(Self::WORD_LANES) {
            self.model.set(self.ports.read_index, (i * Self::WORD_LANES) as u64);
            self.model.clock();
            self.model.get_elements(self.ports.read_word, 32, &mut word);
            out.extend(word.iter().map(|&x| x as u32));
        }
        out.truncate(self.elements);
        out
    }

    /// One element of the sample.
    pub fn element(&mut self, index: usize) -> u32 {
        self.model.set(self.ports.read_index, index as u64);
        self.model.clock();
        self.model.get(self.ports.element) as u32
    }

    /// The sample becomes `value` times the multiplicand. Returns the cycles.
    pub fn scale(&mut self, value: u32) -> u64 {
        let start = self.cycles();
        self.model.set(self.ports.scale_value, u64::from(value));
        self.model.set(self.ports.scale_valid, 1);
        self.model.clock();
        self.model.set(self.ports.scale_valid, 0);
        self.wait();
        self.cycles() - start
    }

    /// A key switch with digits of `base_log` bits, of which the rows of `key` are as many beats as the sample has.
    /// `coefficients` and `beats` say in which cycles a coefficient and a beat are offered. Stops after `limit` cycles. Returns the cycles.
    pub fn switch(
        &mut self,
        (base_log, levels): (u32, usize),
        (mask, body): (&[u64], u32),
        key: &[u32],
        mut coefficients: impl FnMut() -> bool,
        mut beats: impl FnMut() -> bool,
        limit: u64,
    ) -> u64 {
        let start = self.cycles();
        let ports = &self.ports;
        self.model.set(ports.gadget, u64::from(base_log) << 4 | levels as u64);
        // The offset of the digits takes a cycle.
        self.model.clock();
        self.model.set(ports.switch_body, u64::from(body));
        self.model.set(ports.switch_valid, 1);
        self.model.clock();
        self.model.set(ports.switch_valid, 0);
        let lanes = key.chunks(self.elements).flat_map(|row| row.chunks(Self::LANES));
        let mut rows = lanes.map(|beat| {
            let mut beat: Vec<u64> = beat.iter().copied().map(u64::from).collect();
            beat.resize(Self::LANES, 0);
            beat
        });
        let (mut next_row, mut next) = (rows.next(), 0);
        if let Some(row) = &next_row {
            self.model.set_elements(ports.key, 32, row);
        }
        while (next < mask.len() || next_row.is_some()) && self.model.cycles() - start < limit {
            let offered = next < mask.len() && coefficients();
            self.model.set(ports.coefficient_valid, u64::from(offered));
            if offered {
                self.model.set(ports.coefficient, mask[next]);
                self.model.set(ports.coefficient_last, u64::from(next + 1 == mask.len()));
            }
            let beat = next_row.is_some() && beats();
            self.model.set(ports.key_valid, u64::from(beat));
            self.model.eval();
            next += usize::from(offered && self.model.get(ports.coefficient_ready) == 1);
            let taken = beat && self.model.get(ports.key_ready) == 1;
            self.model.clock();
            if taken {
                next_row = rows.next();
                if let Some(row) = &next_row {
                    self.model.set_elements(ports.key, 32, row);
                }
            }
        }
        self.model.set(ports.coefficient_valid, 0);
        self.model.set(ports.key_valid, 0);
        if self.model.cycles() - start < limit {
            self.wait();
        }
        self.cycles() - start
    }

    /// Whether an operation is in progress.
    pub fn is_busy(&mut self) -> bool {
        self.model.eval();
        self.model.get(self.ports.busy) == 1
    }

    fn wait(&mut self) {
        for _ in 0..1000 {
            if !self.is_busy() {
                return;
            }
            self.model.clock();
        }
        panic!("the unit stays busy");
    }
}
