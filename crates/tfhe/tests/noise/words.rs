//! Every stage from a digit to a digit against the model.

mod failures;

use ciphermill_lattice::Csprng;
use ciphermill_tfhe::ciphertext::LweElements;
use ciphermill_tfhe::circuit::{GrayBit, Split, reference};
use ciphermill_tfhe::lwe::LweCiphertext;
use ciphermill_tfhe::noise::word::WordNoise;
use ciphermill_tfhe::parameters::{TEST_WORD, WORD_2M64, WORD_2M128};
use ciphermill_tfhe::word::{DenseTable, Table};
use ciphermill_tfhe::{Backend, Encoding, KeyForm, KeyOrder, ParameterSet, SelectorFile, ServerKey, SplitJob};

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
    split: Samples,
    split_index: Samples,
}

impl Stages {
    fn measure(set: &ParameterSet, table: &DenseTable, counts: Counts, seed: Seed) -> Self {
        let mut stages = Self::default();
        for index in 0..counts.keys as u64 {
            stages.add_key(set, table, counts.per_key, seed, 5 * index);
        }
        stages
    }

    fn all_mut(&mut self) -> [&mut Samples; 9] {
        let Self { rotation, bit, rest, square, table, keyswitch, index, split, split_index } = self;
        [rotation, bit, rest, square, table, keyswitch, index, split, split_index]
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
        while self.split.0.last().expect("one key").len() < count {
            self.add_integer(&keys, &server, &mut rng);
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
            let index = client.lwe_secret_key().decrypt_phase(&LweCiphertext::from_elements(steps));
            let index = index.expect("the small key").wrapping_add(1 << (log_step - 1));
            add(&mut self.index, fraction(u64::from(index.wrapping_sub(after)) << 32));
        }
    }

    /// The digits of an integer of eight bits, and the index of its lowest bit.
    fn add_integer(&mut self, keys: &Keys, server: &ServerKey, rng: &mut Csprng) {
        let client = &keys.client;
        let big = client.glwe_secret_key().to_lwe_secret_key();
        let (value, split) = (rng.next_u64() & 0xff, Split::new(8, 8).expect("8 bits"));
        let encoding = Encoding::unsigned(8, false).expect("8 bits");
        let integer = client.encrypt(&encoding, value as i64, KeyOrder::Big, rng).expect("in range");
        let digits = server.split_big(&[SplitJob { input: &integer, split }]).expect("its key");
        let add = |samples: &mut Samples, error: f64| samples.0.last_mut().expect("one key").push(error);
        let one = rng.next_u64() as usize % split.digits();
        let phase: u64 = big.decrypt_phase(&digits[0][one]).expect("the big key");
        add(&mut self.split, fraction(phase.wrapping_sub((value >> (2 * one) & 3) << 62)));
        let mut scaled = integer;
        scaled.scalar_mul_assign(1 << 7);
        let small = server.keyswitch(&scaled).expect("its key");
        let LweElements::U32(small) = small.elements() else { panic!("32 bits under the small key") };
        let size = client.parameters().polynomial_size;
        let log_step = 32 - size.get().trailing_zeros();
        // The exponents take the floor, so an index stands for a phase half a step above.
        let exponents = reference::split_exponents(small, size).expect("a size");
        let steps = exponents.iter().map(|&e| ((e / 2) as u32) << log_step).collect();
        let index = client.lwe_secret_key().decrypt_phase(&LweCiphertext::from_elements(steps)).expect("the small key");
        let place = (value as u32) << 31;
        add(
            &mut self.split_index,
            fraction(u64::from(index.wrapping_add(1 << (log_step - 1)).wrapping_sub(place)) << 32),
        );
    }
}

fn compare(name: &str, table: &DenseTable, quick: Counts, seed: Seed) {
    let set = ParameterSet::named(name, INSECURE).expect("a named set");
    let extent = Extent::of_this_run();
    let counts = if extent == Extent::Full { Counts { keys: 20, per_key: 400 } } else { quick };
    let noise = WordNoise::new(&set).expect("words");
    let exact = WordNoise::with_fft_error(&set, 0.0).expect("words");
    let stages = Stages::measure(&set, table, counts, seed);
    let key_spread = (set.lwe_dimension.0 as f64).sqrt().recip();
    let whole = |functions: usize| {
        1.0 / 12.0 * (-2.0 * f64::from((2 * set.polynomial_size.get() / functions).trailing_zeros())).exp2()
    };
    let fresh = ciphermill_tfhe::noise::fresh_variance(&set, KeyOrder::Big);
    let split = Split::new(8, 8).expect("8 bits");
    let split_index = |noise: &WordNoise| noise.split_index(split, 0, fresh) + whole(2);
    let bias = ciphermill_tfhe::noise::keyswitch_bias(&set);
    // A stage under the model, which bounds the errors of the transform, and with exact products.
    let stage = |variance: f64, exact: f64, bias: f64| Prediction {
        variance,
        bias,
        transform: variance - exact,
        key_spread,
        mixture: 1.0,
    };
    // The variances of the coefficients are nearly 2^L, of half of them, then 2^(L−1), of a quarter, and so on.
    let rest = Prediction { mixture: 9.0 / 7.0, ..stage(noise.rest, exact.rest, 0.0) };
    let index = noise.modulus_switch + whole(4);
    for (what, samples, prediction) in [
        ("rotation", &stages.rotation, stage(noise.rotation, exact.rotation, 0.0)),
        ("bit after the trace", &stages.bit, stage(noise.bit, exact.bit, 0.0)),
        ("rest after the trace", &stages.rest, rest),
        ("scheme switch", &stages.square, stage(noise.square, exact.square, 0.0)),
        ("table", &stages.table, stage(noise.dense(table), exact.dense(table), 0.0)),
        ("key switch", &stages.keyswitch, stage(noise.keyswitch, exact.keyswitch, bias)),
        ("index", &stages.index, stage(index, index, 0.0)),
        ("digit of a split", &stages.split, stage(2.0 * noise.rotation, 2.0 * exact.rotation, 0.0)),
        ("index of a split", &stages.split_index, stage(split_index(&noise), split_index(&exact), bias)),
    ] {
        check(&format!("{name}, {what}"), samples, &prediction, samples.bounds(&prediction));
    }
}

#[test]
fn stages_of_words() {
    let table = DenseTable::of_function(11, 6, |x| x.wrapping_mul(0x9e37_79b9) >> 26).expect("a table");
    compare(TEST_WORD, &table, Counts { keys: 36, per_key: 36 }, Seed::fresh());
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
