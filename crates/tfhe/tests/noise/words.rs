//! Every stage from a digit to a digit against the model.

use ciphermill_lattice::Csprng;
use ciphermill_tfhe::circuit::{GrayBit, reference};
use ciphermill_tfhe::noise::word::WordNoise;
use ciphermill_tfhe::parameters::{TEST_WORD, WORD_2M64, WORD_2M128};
use ciphermill_tfhe::word::{DenseTable, Table};
use ciphermill_tfhe::{Backend, KeyForm, ParameterSet, SelectorFile, ServerKey};

use super::Extent;
use super::judge::{Prediction, Samples, check};
use super::samples::Counts;
use crate::support::{INSECURE, Keys, Seed};

/// A torus element as a signed fraction.
fn fraction(x: u64) -> f64 {
    x as i64 as f64 * (-64f64).exp2()
}

/// Errors of each stage, a list for each key.
#[derive(Default)]
struct Stages {
    rotation: Samples,
    bit: Samples,
    rest: Samples,
    square: Samples,
    table: Samples,
    keyswitch: Samples,
    index: Samples,
}

impl Stages {
    fn measure(set: &ParameterSet, table: &DenseTable, counts: Counts, seed: Seed) -> Self {
        let mut stages = Self::default();
        for index in 0..counts.keys as u64 {
            stages.add_key(set, table, counts.per_key, seed, 5 * index);
        }
        stages
    }

    fn all_mut(&mut self) -> [&mut Samples; 7] {
        let Self { rotation, bit, rest, square, table, keyswitch, index } = self;
        [rotation, bit, rest, square, table, keyswitch, index]
    }

    fn add_key(&mut self, set: &ParameterSet, table: &DenseTable, count: usize, seed: Seed, index: u64) {
        let keys = Keys::generate(set, KeyForm::Seeded, seed, index);
        let conversion = keys.client.write_conversion_key(KeyForm::Seeded, seed.server(index + 3), Vec::new());
        let server =
            keys.load(Backend::Fft).with_conversion(&conversion.expect("words")[..], INSECURE).expect("its set");
        let mut rng = Csprng::from_secret(&seed.secret(index + 4), 0);
        for samples in self.all_mut() {
            samples.0.push(Vec::new());
        }
        while self.table.0.last().expect("one key").len() < count {
            self.add_word(&keys, &server, table, &mut rng);
        }
        for samples in self.all_mut() {
            samples.0.last_mut().expect("one key").truncate(count);
        }
    }

    fn add_word(&mut self, keys: &Keys, server: &ServerKey, table: &DenseTable, rng: &mut Csprng) {
        let client = &keys.client;
        let (big, ring) = (client.glwe_secret_key().to_lwe_secret_key(), client.table_secret_key().expect("words"));
        let selector = client.parameters().word.expect("words").selector;
        let bits = table.input_bits();
        let value = rng.next_u64() & (u64::MAX >> (64 - bits));
        let word = client.encrypt_word(value, bits, rng).expect("in range");
        let add = |samples: &mut Samples, error: f64| samples.0.last_mut().expect("one key").push(error);
        for (i, stages) in server.digit_stages(&word).expect("its key").iter().enumerate() {
            let digit = (value >> (2 * i) & 3) as u8;
            let functions = GrayBit::BOTH.into_iter().flat_map(|bit| [1, 2].map(|level| (bit, level)));
            // Key bits have the mean ½, so that errors of the coefficients of one ciphertext depend on each other: one of them
            // counts.
            let one = rng.next_u64() as usize % 4;
            for (c, (bit, level)) in functions.enumerate().skip(one).take(1) {
                let place = u64::from(bit.of(digit)) << (64 - selector.base_log.0 * level);
                let phase: u64 = big.decrypt_phase(&stages.bits[c]).expect("the big key");
                add(&mut self.rotation, fraction(phase.wrapping_sub(place)));
                let traced = ring.decrypt_phase(&stages.traced[c]).expect("its ring");
                add(&mut self.bit, fraction(traced[0].wrapping_sub(place)));
                let at = 1 + rng.next_u64() as usize % (traced.len() - 1);
                add(&mut self.rest, fraction(traced[at]));
                // The phase is −S'·(traced phase), but for the noise of the scheme switch.
                let switched = ring.decrypt_phase(&stages.switched[c]).expect("its ring");
                let product = reference::times_key(&ring, &traced);
                add(&mut self.square, fraction(switched[at].wrapping_add(product[at])));
            }
        }
        let mut file = SelectorFile::new();
        file.put(0, &server.select(&word).expect("its key")).expect("room");
        let table = Table::Dense(table.clone());
        let outputs = server.look_up_big(&file, &table).expect("selected");
        let result = server.look_up(&file, &table).expect("selected");
        let expected = table.value(&|position| (value >> (2 * u32::from(position)) & 3) as u8);
        let size = client.parameters().polynomial_size;
        let log_step = 32 - (2 * size.get() / 4).trailing_zeros();
        let one = rng.next_u64() as usize % outputs.len();
        for ((output, small), digit) in outputs.iter().zip(result.digits()).zip(expected).skip(one).take(1) {
            let phase: u64 = big.decrypt_phase(output).expect("the big key");
            add(&mut self.table, fraction(phase.wrapping_sub(u64::from(digit) << 62)));
            let after: u32 = client.lwe_secret_key().decrypt_phase(small).expect("the small key");
            add(&mut self.keyswitch, fraction((u64::from(after) << 32).wrapping_sub(phase)));
            // The exponents take the floor, so an index stands for a phase half a step above.
            let exponents = reference::exponents(small, size).expect("a size");
            let steps = exponents.iter().map(|&e| ((e / 4) as u32) << log_step).collect();
            let index =
                client.lwe_secret_key().decrypt_phase(&ciphermill_tfhe::lwe::LweCiphertext::from_elements(steps));
            let index = index.expect("the small key").wrapping_add(1 << (log_step - 1));
            add(&mut self.index, fraction(u64::from(index.wrapping_sub(after)) << 32));
        }
    }
}

fn compare(name: &str, table: &DenseTable, quick: Counts, seed: Seed) {
    let set = ParameterSet::named(name, INSECURE).expect("a named set");
    let extent = Extent::of_this_run();
    let counts = if extent == Extent::Full { Counts { keys: 20, per_key: 400 } } else { quick };
    let noise = WordNoise::new(&set).expect("words");
    let stages = Stages::measure(&set, table, counts, seed);
    let key_spread = (set.lwe_dimension.0 as f64).sqrt().recip();
    let whole = 1.0 / 12.0 * (-2.0 * f64::from((2 * set.polynomial_size.get() / 4).trailing_zeros())).exp2();
    for (what, samples, variance, bias) in [
        ("rotation", &stages.rotation, noise.rotation, 0.0),
        ("bit after the trace", &stages.bit, noise.bit, 0.0),
        ("rest after the trace", &stages.rest, noise.rest, 0.0),
        ("scheme switch", &stages.square, noise.square, 0.0),
        ("table", &stages.table, noise.dense(table), 0.0),
        ("key switch", &stages.keyswitch, noise.keyswitch, ciphermill_tfhe::noise::keyswitch_bias(&set)),
        ("index", &stages.index, noise.modulus_switch + whole, 0.0),
    ] {
        let prediction = Prediction { variance, bias, key_spread };
        check(&format!("{name}, {what}"), samples, &prediction, samples.bounds(&prediction));
    }
}

#[test]
fn stages_of_words() {
    let table = DenseTable::of_function(11, 6, |x| x.wrapping_mul(0x9e37_79b9) >> 26).expect("a table");
    compare(TEST_WORD, &table, Counts { keys: 36, per_key: 24 }, Seed::fresh());
}

#[test]
fn stages_of_words_at_full_size() {
    if Extent::of_this_run() == Extent::Full {
        let table = DenseTable::of_function(14, 14, |x| x.wrapping_mul(0x9e37_79b9) >> 18).expect("a table");
        for name in [WORD_2M64, WORD_2M128] {
            compare(name, &table, Counts { keys: 20, per_key: 400 }, Seed::fresh());
        }
    }
}
