//! Counted failures of digits and of split bits at raised noise against the predicted probabilities.

use ciphermill_lattice::{Csprng, NoiseDistribution};
use ciphermill_tfhe::ciphertext::LweElements;
use ciphermill_tfhe::circuit::{Split, reference};
use ciphermill_tfhe::lwe::LweCiphertext;
use ciphermill_tfhe::noise::word::WordNoise;
use ciphermill_tfhe::parameters::{TEST_WORD, WORD_2M64};
use ciphermill_tfhe::word::{DenseTable, Table, Word};
use ciphermill_tfhe::{
    Backend, Ciphertext, ClientKey, KeyForm, KeyOrder, ParameterSet, SelectorFile, ServerKey, SplitJob,
};

use super::super::Extent;
use super::super::failures::{DECRYPTIONS, check, gaussian, variance_of};
use crate::support::{INSECURE, Keys, Seed};

/// log2 of the probabilities that the noise is raised to.
const LOG2_P: [f64; 3] = [-6.0, -8.0, -10.0];

/// The quantiles of 0.05 % and 99.95 % of the Poisson distribution of this mean.
fn poisson(expected: f64) -> (usize, usize) {
    let mut term = (-expected).exp();
    let mut sum = term;
    let (mut least, mut most) = (0, 0);
    for count in 1.. {
        if sum < 0.000_5 {
            least = count;
        }
        if 1.0 - sum < 0.000_5 {
            break;
        }
        most = count;
        term *= expected / count as f64;
        sum += term;
    }
    (least, most)
}

/// [`check`], and in the evidence the interval of the Poisson distribution.
fn judge(what: &str, failures: usize, count: usize, variance: f64, p_of: impl Fn(f64) -> f64) {
    let (least, most) = poisson(p_of(variance).exp2() * count as f64);
    check(what, failures, count, variance, p_of);
    if Extent::of_this_run() == Extent::Full {
        assert!((least..=most).contains(&failures), "{what}: {failures} failures are not {least} to {most}");
    }
}

fn digit(client: &ClientKey, digit: u8, noise: NoiseDistribution, rng: &mut Csprng) -> LweCiphertext<u32> {
    client.lwe_secret_key().encrypt(u32::from(digit) << 30, noise, rng).expect("a valid noise")
}

#[test]
fn the_interval_of_a_count() {
    // From sums of the probabilities in Python.
    for (expected, interval) in [(1.0, (0, 6)), (20.0, (7, 36)), (312.5, (256, 372))] {
        assert_eq!(poisson(expected), interval, "{expected}");
    }
}

/// 20,000 digits whose noise is raised, at the indices that a rotation would have, and decrypted.
#[test]
fn digits_are_misread_as_predicted() {
    let seed = Seed::fresh();
    let set = ParameterSet::named(WORD_2M64, INSECURE).expect("a named set");
    let (client, noise) = (ClientKey::generate(&set, &seed.secret(0)), WordNoise::new(&set).expect("words"));
    let log_step = 32 - (2 * set.polynomial_size.get() / 4).trailing_zeros();
    let read = |digit: &LweCiphertext<u32>| {
        let exponents = reference::exponents(digit, set.polynomial_size).expect("a size");
        let steps = exponents.iter().map(|&e| ((e / 4) as u32) << log_step).collect();
        let phase = client.lwe_secret_key().decrypt_phase(&LweCiphertext::from_elements(steps)).expect("the small key");
        // An index stands for the phases from its own on, and a digit for those from an eighth below.
        (phase.wrapping_add(1 << 29) >> 30) as u8
    };
    for (stream, log2_p) in LOG2_P.into_iter().enumerate() {
        let variance = variance_of(log2_p.exp2(), |variance| noise.log2_p_digit(variance));
        let mut rng = Csprng::from_secret(&seed.secret(1), stream as u64);
        let wrong = |i: &usize| read(&digit(&client, (i % 4) as u8, gaussian(variance), &mut rng)) != (i % 4) as u8;
        let failures = (0..DECRYPTIONS).filter(wrong).count();
        let p_of = |total: f64| noise.log2_p_digit(total - noise.modulus_switch);
        judge(&format!("digit at 2^{log2_p}"), failures, DECRYPTIONS, noise.index(variance), p_of);
        let variance = variance_of(log2_p.exp2(), |variance| noise.log2_p_decryption(variance));
        let wrong = |i: &usize| {
            let digit = digit(&client, (i % 4) as u8, gaussian(variance), &mut rng);
            let word = Word::new(client.tag(), vec![digit], variance).expect("a digit");
            client.decrypt_digits(&word).expect("its key") != [(i % 4) as u8]
        };
        let failures = (0..DECRYPTIONS).filter(wrong).count();
        let p_of = |variance| noise.log2_p_decryption(variance);
        judge(&format!("decrypted digit at 2^{log2_p}"), failures, DECRYPTIONS, variance, p_of);
    }
}

/// A server key with words, the counts of a run, and the probability that the noise is raised to.
fn bench(seed: Seed) -> (Keys, ServerKey, usize, f64) {
    let set = ParameterSet::named(TEST_WORD, INSECURE).expect("a named set");
    let keys = Keys::generate(&set, KeyForm::Seeded, seed, 0);
    let conversion = keys.client.write_conversion_key(KeyForm::Seeded, seed.server(7), Vec::new()).expect("words");
    let server = keys.load(Backend::Fft).with_conversion(&conversion[..], INSECURE).expect("its set");
    let (count, log2_p) = match Extent::of_this_run() {
        Extent::Quick => (1600, -4.0),
        Extent::Full => (DECRYPTIONS, -6.0),
    };
    (keys, server, count, log2_p)
}

/// Whole selections and look-ups of digits whose noise is raised. A look-up is wrong if its digit was misread.
#[test]
fn look_ups_of_noisy_digits_fail_as_predicted() {
    let seed = Seed::fresh();
    let (keys, server, count, log2_p) = bench(seed);
    let (client, noise) = (&keys.client, WordNoise::new(keys.client.parameters()).expect("words"));
    let variance = variance_of(log2_p.exp2(), |variance| noise.log2_p_digit(variance));
    let table = Table::Dense(DenseTable::of_function(2, 2, |x| 3 - x).expect("a table"));
    let mut rng = Csprng::from_secret(&seed.secret(8), 0);
    let mut failures = 0;
    for _ in 0..count / 40 {
        let digits = (0..40).map(|i| digit(client, i % 4, gaussian(variance), &mut rng)).collect();
        let selectors = server.select(&Word::new(client.tag(), digits, variance).expect("digits")).expect("its key");
        for (i, selected) in selectors.digits().iter().enumerate() {
            let mut file = SelectorFile::new();
            file.put(0, &ciphermill_tfhe::Selectors::new(vec![selected.clone()])).expect("room");
            let result = server.look_up(&file, &table).expect("selected");
            failures += usize::from(client.decrypt_digits(&result).expect("its key") != [3 - (i % 4) as u8]);
        }
    }
    let p_of = |total: f64| noise.log2_p_digit(total - noise.modulus_switch);
    judge("look-up of noisy digits", failures, count, noise.index(variance), p_of);
}

/// Splits of integers of one bit whose noise is raised.
#[test]
fn splits_of_noisy_integers_fail_as_predicted() {
    let seed = Seed::fresh();
    let (keys, server, count, log2_p) = bench(seed);
    let (client, noise) = (&keys.client, WordNoise::new(keys.client.parameters()).expect("words"));
    let split = Split::new(1, 1).expect("a bit");
    let variance = variance_of(log2_p.exp2(), |variance| noise.log2_p_split(split, variance));
    let (key, mut rng) = (client.glwe_secret_key().to_lwe_secret_key(), Csprng::from_secret(&seed.secret(8), 1));
    let mut failures = 0;
    for _ in 0..count / 40 {
        let integers: Vec<Ciphertext> = (0..40u64)
            .map(|i| {
                let elements = key.encrypt(i << 63, gaussian(variance), &mut rng).expect("a valid noise");
                Ciphertext::new(client.tag(), KeyOrder::Big, LweElements::U64(elements))
            })
            .collect();
        let jobs: Vec<_> = integers.iter().map(|input| SplitJob { input, split }).collect();
        for (i, word) in server.split_batch(&jobs).expect("its key").iter().enumerate() {
            failures += usize::from(client.decrypt_digits(word).expect("its key") != [(i % 2) as u8]);
        }
    }
    let added = noise.split_index(split, 0, 0.0);
    let p_of = |total: f64| noise.log2_p_split(split, total - added);
    judge("split of noisy integers", failures, count, noise.split_index(split, 0, variance), p_of);
}
