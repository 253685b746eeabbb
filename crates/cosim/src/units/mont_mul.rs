//! `mont_mul`: Montgomery products.

use num_bigint::BigUint;

use crate::model::{Configuration, Model, Port};

/// The constants that the host computes once per modulus.
#[derive(Clone, Debug)]
pub struct MontgomeryConstants {
    /// N.
    pub modulus: BigUint,
    /// (N·u + 1) / 2^Digit.
    pub nhat: BigUint,
    /// −1/N modulo 2^Digit.
    pub u: BigUint,
    /// R = 2^(Digits·Digit).
    pub r: BigUint,
}

impl MontgomeryConstants {
    /// The constants of an odd modulus for digits of `digit` bits of which there are `digits`.
    ///
    /// # Panics
    /// If the modulus is even.
    pub fn new(modulus: &BigUint, digit: u32, digits: u32) -> Self {
        let one = BigUint::from(1u32);
        let base = &one << digit;
        let inverse = modulus.modinv(&base).expect("an odd number has an inverse modulo a power of two");
        let u = &base - inverse;
        let nhat = (modulus * &u + &one) >> digit;
        Self { modulus: modulus.clone(), nhat, u, r: one << (digit * digits) }
    }
}

/// The Montgomery multiplier.
#[derive(Debug)]
pub struct MontMul {
    model: Model,
    modulus: Port,
    nhat: Port,
    u: Port,
    valid: Port,
    ready: Port,
    a: Port,
    b: Port,
    out_valid: Port,
    result: Port,
    bits: u32,
    digit: u32,
}

impl MontMul {
    /// An instance of a configuration of `mont_mul`, reset, without a modulus.
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let mut model = Model::new(configuration, seed);
        let port = |name| model.port(name);
        let (modulus, nhat, u) = (port("modulus_i"), port("nhat_i"), port("u_i"));
        let (valid, ready, a, b) = (port("valid_i"), port("ready_o"), port("a_i"), port("b_i"));
        let (out_valid, result) = (port("valid_o"), port("result_o"));
        let (bits, digit) = (modulus.bits(), u.bits());
        model.set(valid, 0);
        model.reset();
        Self { model, modulus, nhat, u, valid, ready, a, b, out_valid, result, bits, digit }
    }

    /// The longest modulus.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The constants of a modulus in this configuration.
    ///
    /// # Panics
    /// If the modulus is even or too long.
    pub fn constants(&self, modulus: &BigUint) -> MontgomeryConstants {
        assert!(modulus.bits() <= u64::from(self.bits), "{} bits, at most {}", modulus.bits(), self.bits);
        // As in the module: 4 bits above the modulus.
        MontgomeryConstants::new(modulus, self.digit, (self.bits + 4).div_ceil(self.digit))
    }

    /// Loads a modulus; nothing may be inside.
    pub fn load(&mut self, constants: &MontgomeryConstants) {
        self.model.set_number(self.modulus, &constants.modulus);
        self.model.set_number(self.nhat, &constants.nhat);
        self.model.set_number(self.u, &constants.u);
    }

    /// Clock edges so far.
    pub fn cycles(&self) -> u64 {
        self.model.cycles()
    }

    /// Resets the unit and discards its contents.
    pub fn reset(&mut self) {
        self.model.set(self.valid, 0);
        self.model.reset();
    }

    /// Offers a pair below 4N, or none, over one clock edge. Says whether it was taken, and gives the result that is there in
    /// this cycle.
    pub fn step(&mut self, pair: Option<(&BigUint, &BigUint)>) -> (bool, Option<BigUint>) {
        self.model.set(self.valid, u64::from(pair.is_some()));
        if let Some((a, b)) = pair {
            self.model.set_number(self.a, a);
            self.model.set_number(self.b, b);
        }
        self.model.eval();
        let taken = pair.is_some() && self.model.get(self.ready) == 1;
        let came = (self.model.get(self.out_valid) == 1).then(|| self.model.get_number(self.result));
        self.model.clock();
        (taken, came)
    }
}
