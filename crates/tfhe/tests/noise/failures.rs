//! Counted failures at raised noise against the predicted probabilities.

use std::cell::Cell;

use ciphermill_lattice::{Csprng, NoiseDistribution};
use ciphermill_tfhe::ciphertext::LweElements;
use ciphermill_tfhe::dimension::LweDimension;
use ciphermill_tfhe::lwe::LweCiphertext;
use ciphermill_tfhe::parameters::TEST_SMALL_U64;
use ciphermill_tfhe::{
    Backend, BootstrapJob, Ciphertext, ClientKey, Encoding, KeyForm, KeyOrder, ModulusSwitch, ParameterSet,
    ParameterSpec, TestVector, TestVectorElements, noise,
};

use super::Extent;
use super::samples::SWITCHES;
use crate::support::{INSECURE, Keys, Seed};

/// Standard deviations of a count: a wrong alarm in fewer than 10^−6 of the checks.
const DEVIATIONS: f64 = 5.0;

/// The counts of a check that cost no bootstrap, and of the bootstraps in the evidence.
pub(super) const DECRYPTIONS: usize = 20_000;

/// Whether a count agrees with a probability.
fn agrees(failures: usize, count: usize, p: f64) -> bool {
    let expected = count as f64 * p;
    (failures as f64 - expected).abs() <= DEVIATIONS * (expected * (1.0 - p)).sqrt()
}

/// Demands agreement with the probability at `variance`, and disagreement with those at half and twice of it.
pub(super) fn check(what: &str, failures: usize, count: usize, variance: f64, p_of: impl Fn(f64) -> f64) {
    let p = |factor: f64| p_of(factor * variance).exp2();
    println!("{what}: {failures} of {count} fail, predicted are {:.1}", p(1.0) * count as f64);
    assert!(agrees(failures, count, p(1.0)), "{what}: {failures} of {count}, predicted is {:.4}", p(1.0));
    for factor in [0.5, 2.0] {
        assert!(!agrees(failures, count, p(factor)), "{what}: {factor} of the variance passes");
    }
    let share = failures as f64 / count as f64;
    super::record(what, &[("decryptions", count as f64), ("failure_share", share), ("predicted_share", p(1.0))]);
}

/// The variance at which `log2_p_of` is `p`.
pub(super) fn variance_of(p: f64, log2_p_of: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (-80.0f64, 0.0f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if log2_p_of(middle.exp2()) < p.log2() { low = middle } else { high = middle }
    }
    low.exp2()
}

pub(super) fn gaussian(variance: f64) -> NoiseDistribution {
    NoiseDistribution::Gaussian { std_dev: variance.sqrt() }
}

/// An encryption of a message with other noise than the set's.
fn encrypt(client: &ClientKey, place: u64, order: KeyOrder, noise: NoiseDistribution, rng: &mut Csprng) -> Ciphertext {
    let elements = match order {
        KeyOrder::Small => {
            let key = client.lwe_secret_key();
            LweElements::U32(key.encrypt((place >> 32) as u32, noise, rng).expect("a valid noise"))
        }
        KeyOrder::Big => {
            let key = client.glwe_secret_key().to_lwe_secret_key();
            LweElements::U64(key.encrypt(place, noise, rng).expect("a valid noise"))
        }
    };
    Ciphertext::new(client.tag(), order, elements)
}

fn variant(switch: ModulusSwitch, change: impl FnOnce(&mut ParameterSpec)) -> ParameterSet {
    let mut spec = ParameterSet::named(TEST_SMALL_U64, INSECURE).expect("a named set").spec().clone();
    spec.name = format!("{switch}");
    spec.modulus_switch = switch;
    change(&mut spec);
    ParameterSet::new(spec, INSECURE).expect("admissible")
}

/// 20,000 decryptions of fresh encryptions whose noise is raised to a failure in 50.
#[test]
fn decryptions_fail_as_predicted() {
    let seed = Seed::fresh();
    let set = variant(ModulusSwitch::Plain, |_| ());
    let client = ClientKey::generate(&set, &seed.secret(0));
    let encoding = Encoding::unsigned(4, true).expect("few bits");
    let p_of = |variance| noise::log2_p_wrong(&encoding, variance);
    let variance = variance_of(0.02, p_of);
    for (stream, order) in [KeyOrder::Small, KeyOrder::Big].into_iter().enumerate() {
        let mut rng = Csprng::from_secret(&seed.secret(1), stream as u64);
        let wrong = |m: &i64| {
            let place = encoding.encode(*m).expect("in range");
            let ciphertext = encrypt(&client, place, order, gaussian(variance), &mut rng);
            client.decrypt(&encoding, &ciphertext).ok() != Some(*m)
        };
        let failures = (0..DECRYPTIONS as i64).map(|i| i % 16).filter(wrong).count();
        check(&format!("decryption, {order}"), failures, DECRYPTIONS, variance, p_of);
    }
}

/// The table's entry at the phase index of the exponents, as blind rotation finds it.
fn looked_up(client: &ClientKey, table: &TestVector, switch: ModulusSwitch, input: &Ciphertext) -> u64 {
    let (LweElements::U32(small), TestVectorElements::U64(table)) = (input.elements(), table.elements()) else {
        panic!("other widths")
    };
    let size = client.parameters().polynomial_size;
    let log_step = 31 - size.get().trailing_zeros();
    let exponents = switch.exponents(small.elements(), size);
    let switched = exponents.iter().map(|&e| (e as u32) << log_step).collect();
    let switched = LweCiphertext::from_elements(switched);
    let index = (client.lwe_secret_key().decrypt_phase(&switched).expect("its key") >> log_step) as usize;
    match index.checked_sub(size.get()) {
        None => table.body()[index],
        Some(beyond) => table.body()[beyond].wrapping_neg(),
    }
}

/// Keys of the look-ups.
const LOOK_UP_KEYS: u64 = 200;

/// Look-ups of a set, with 100 inputs under each of 200 keys, and the share that must fail under each key.
fn look_ups(set: &ParameterSet, bits: u32, seed: Seed, p_of: impl Fn(&ClientKey) -> f64) -> (usize, f64) {
    let encoding = Encoding::unsigned(bits, true).expect("few bits");
    let table = set.test_vector(&encoding, &encoding, |m| m).expect("the identity");
    let (keys, per_key) = (LOOK_UP_KEYS, DECRYPTIONS as u64 / LOOK_UP_KEYS);
    let (mut failures, mut expected) = (0, 0.0);
    for key in 0..keys {
        let client = ClientKey::generate(set, &seed.secret(key));
        let mut rng = Csprng::from_secret(&seed.secret(keys + key), 0);
        expected += p_of(&client) / keys as f64;
        for i in 0..per_key as i64 {
            let place = encoding.encode(i * 37 % (1 << bits)).expect("in range");
            let input = encrypt(&client, place, KeyOrder::Small, set.lwe_noise, &mut rng);
            failures += usize::from(looked_up(&client, &table, set.modulus_switch, &input) != place);
        }
    }
    (failures, expected)
}

/// The number of ones in the small key: a ciphertext of body 0 whose mask is a unit has the phase −s_i.
fn ones(client: &ClientKey) -> f64 {
    let n = client.parameters().lwe_dimension.0;
    let bit = |i: usize| {
        let elements = (0..=n).map(|j| u32::from(i == j)).collect();
        let phase = client.lwe_secret_key().decrypt_phase(&LweCiphertext::from_elements(elements));
        f64::from(phase.expect("its key").wrapping_neg())
    };
    (0..n).map(bit).sum()
}

/// A set whose only noise is the modulus switch of n = 16 elements.
fn coarse(switch: ModulusSwitch, bits: u32) -> ParameterSet {
    variant(switch, |spec| {
        spec.lwe_dimension = LweDimension(16);
        spec.lwe_noise = gaussian((-60f64).exp2());
        spec.message_bits = bits;
    })
}

/// Two indices per message and the centred switch: the figure is exact, whatever the key.
#[test]
fn centred_look_ups_fail_as_predicted() {
    let set = coarse(ModulusSwitch::Centred, 9);
    let encoding = Encoding::unsigned(9, true).expect("few bits");
    let variance = noise::phase_index_variance(set.spec(), KeyOrder::Small, 0.0);
    let (failures, _) = look_ups(&set, 9, Seed::fresh(), |_| 0.0);
    let p_of = |variance| noise::log2_p_lookup(set.spec(), &encoding, variance);
    check("centred look-up at the edges", failures, DECRYPTIONS, variance, p_of);
}

/// Four indices per message and the plain switch. A key of w ones has the variance w/12 index², and one edge is an index
/// nearer than the other. The figure of the set counts the body's rounding as noise too, which at n = 16 is 1/9 of the
/// variance: a bound.
#[test]
fn plain_look_ups_fail_as_predicted() {
    let set = coarse(ModulusSwitch::Plain, 8);
    let step = 0.5 / set.polynomial_size.get() as f64;
    let p_of = |ones: f64| noise::log2_p_index(set.polynomial_size, 8, ones / 12.0 * step * step).exp2();
    let others = Cell::new([0.0; 2]);
    let (failures, p) = look_ups(&set, 8, Seed::fresh(), |client| {
        let [half, twice] = [0.5, 2.0].map(|factor| p_of(factor * ones(client)) / LOOK_UP_KEYS as f64);
        others.set([others.get()[0] + half, others.get()[1] + twice]);
        p_of(ones(client))
    });
    println!("{failures} of {DECRYPTIONS} fail, predicted is {p:.4}");
    assert!(agrees(failures, DECRYPTIONS, p), "{failures} of {DECRYPTIONS}, predicted is {p:.4}");
    for other in others.get() {
        assert!(!agrees(failures, DECRYPTIONS, other), "{failures} of {DECRYPTIONS} agree with {other:.4} too");
    }
    let bound = noise::log2_p_fail(set.spec(), KeyOrder::Small, 8, 1.0).exp2();
    let mean = p_of(8.0);
    assert!(mean < bound && bound < 1.5 * mean, "{mean} {bound}");
    let share = failures as f64 / DECRYPTIONS as f64;
    super::record("plain look-up at the edges", &[("failure_share", share), ("predicted_share", p)]);
}

/// Whole bootstraps of inputs whose noise is raised, in both orders and with both switches.
#[test]
fn bootstraps_fail_as_predicted() {
    let (count, p) = match Extent::of_this_run() {
        Extent::Quick => (600, 0.1),
        Extent::Full => (DECRYPTIONS, 0.02),
    };
    let seed = Seed::fresh();
    for switch in SWITCHES {
        let set = variant(switch, |_| ());
        let encoding = Encoding::unsigned(set.message_bits, true).expect("few bits");
        let keys = Keys::generate(&set, KeyForm::Seeded, seed, 0);
        let server = keys.load(Backend::Fft);
        let table = set.test_vector(&encoding, &encoding, |m| m).expect("the identity");
        for (stream, order) in [KeyOrder::Small, KeyOrder::Big].into_iter().enumerate() {
            let p_of = |variance| match switch {
                ModulusSwitch::Plain => noise::log2_p_index(set.polynomial_size, set.message_bits, variance),
                ModulusSwitch::Centred => noise::log2_p_lookup(set.spec(), &encoding, variance),
            };
            let variance = variance_of(p, p_of);
            let raised = gaussian(variance - noise::phase_index_variance(set.spec(), order, 0.0));
            let mut rng =
                Csprng::from_secret(&seed.secret(9), 2 * stream as u64 + u64::from(switch == ModulusSwitch::Plain));
            let messages: Vec<i64> = (0..count as i64).map(|i| i % 16).collect();
            let mut inputs = messages
                .iter()
                .map(|&m| encrypt(&keys.client, encoding.encode(m).expect("in range"), order, raised, &mut rng));
            let inputs: Vec<Ciphertext> = inputs.by_ref().collect();
            let jobs: Vec<_> = inputs.iter().map(|input| BootstrapJob { input, test_vector: &table }).collect();
            let outputs = server.bootstrap_batch(&jobs).expect("its key");
            let wrong = |(m, output): &(&i64, &Ciphertext)| keys.client.decrypt(&encoding, output).ok() != Some(**m);
            let failures = messages.iter().zip(&outputs).filter(wrong).count();
            check(&format!("bootstrap, {order}, {switch}"), failures, count, variance, p_of);
        }
    }
}
