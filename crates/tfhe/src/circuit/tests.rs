use ciphermill_lattice::rng::{Csprng, SecretSeed};
use ciphermill_lattice::{NoiseDistribution, PolynomialSize, PublicSeed};

use super::reference::{automorphism, ring_switch, scheme_switch, selectors, trace};
use super::{ConversionKey, ConversionShape, GrayBit, SeededConversionKey, Split};
use crate::dimension::{Decomposition, GlweDimension, LweDimension};
use crate::ggsw::{GgswCiphertext, GgswEncryptor};
use crate::glwe::{GlweCiphertext, GlweSecretKey};
use crate::keyswitch::SeededLweKeyswitchKey;
use crate::lwe::{LweCiphertext, LweSecretKey};
use crate::noise::word::WordNoise;
use crate::parameters::{ParameterSet, SecurityPolicy, TEST_WORD, WordGadgets};
use crate::range::{MessageRange, RangeError};
use crate::reference::cmux;

pub(crate) const GADGETS: WordGadgets = WordGadgets {
    selector: Decomposition::new(7, 2),
    trace: Decomposition::new(7, 6),
    square: Decomposition::new(9, 4),
};
const PBS: Decomposition = Decomposition::new(15, 2);
const SMALL: LweDimension = LweDimension(16);
const K: GlweDimension = GlweDimension(2);
const N: usize = 64;

pub(crate) fn noise(log2: f64) -> NoiseDistribution {
    NoiseDistribution::Gaussian { std_dev: log2.exp2() }
}

pub(crate) fn rng(byte: u8) -> Csprng {
    Csprng::from_secret(&SecretSeed::from_bytes([byte; 32]), 0)
}

/// Keys of toy dimensions, for schoolbook products.
pub(crate) struct Keys {
    pub(crate) small: LweSecretKey,
    /// Of one polynomial: the ring of tables.
    pub(crate) table: GlweSecretKey,
    pub(crate) bootstrap: Vec<GgswCiphertext<u64>>,
    pub(crate) conversion: ConversionKey,
}

impl Keys {
    pub(crate) fn new() -> Self {
        let mut rng = rng(1);
        let small = LweSecretKey::generate(SMALL, &mut rng);
        let size = PolynomialSize::new(N).expect("a power of two");
        let rotation = GlweSecretKey::generate(K, size, &mut rng);
        let encryptor = GgswEncryptor::<u64>::new(&rotation, PBS, noise(-50.0)).expect("a gadget");
        let masks = PublicSeed([2; 32]);
        let rows = encryptor.shape().row_count() as u64;
        let bits = small.bits().iter().enumerate();
        let bootstrap = bits.map(|(i, &bit)| encryptor.encrypt(bit, &masks, i as u64 * rows, &mut rng)).collect();
        let size = PolynomialSize::new(K.0 * N).expect("a power of two");
        let table = GlweSecretKey::from_bits(rotation.bits().to_vec(), size);
        let shape = ConversionShape { polynomial_size: size, trace: GADGETS.trace, square: GADGETS.square };
        let noises = SecretSeed::from_bytes([3; 32]);
        let conversion = SeededConversionKey::generate(&table, shape, noise(-50.0), PublicSeed([4; 32]), |row| {
            Csprng::from_secret(&noises, row)
        });
        Self { small, table, bootstrap, conversion: conversion.expect("a gadget").expand() }
    }

    pub(crate) fn digit(&self, digit: u8, rng: &mut Csprng) -> LweCiphertext<u32> {
        self.small.encrypt(u32::from(digit) << 30, noise(-20.0), rng).expect("fits")
    }

    pub(crate) fn size(&self) -> PolynomialSize {
        self.table.polynomial_size()
    }
}

/// A phase as a signed fraction of the torus.
fn fraction(phase: u64) -> f64 {
    phase as i64 as f64 * (-64f64).exp2()
}

#[test]
fn an_automorphism_maps_powers() {
    let mut x = vec![0; 8];
    x[3] = 5;
    // X^9 = −X modulo X^8 + 1.
    assert_eq!(automorphism(&x, 3), [0, 5u64.wrapping_neg(), 0, 0, 0, 0, 0, 0]);
    x[1] = 2;
    let twice = automorphism(&automorphism(&x, 5), 13);
    // 5·13 = 65 = 1 modulo 16.
    assert_eq!(twice, x);
}

/// Only the constant coefficient stays, with its size: ring switch divides it by N' and the trace multiplies it.
#[test]
fn ring_switch_and_trace_keep_the_message_and_clear_the_rest() {
    let (keys, mut rng) = (Keys::new(), rng(5));
    let big = keys.table.to_lwe_secret_key();
    for message in [0u64, 1 << 57, 3 << 62, 0x1234_5678_9abc_def0] {
        let input = big.encrypt(message, noise(-50.0), &mut rng).expect("fits");
        let switched = ring_switch(&input, keys.size()).expect("its dimension");
        let phase = keys.table.decrypt_phase(&trace(&keys.conversion, &switched).expect("its ring")).expect("its ring");
        assert!(fraction(phase[0].wrapping_sub(message)).abs() < (-30f64).exp2(), "{message:x}: {:x}", phase[0]);
        assert!(phase[1..].iter().all(|&x| fraction(x).abs() < (-33f64).exp2()));
    }
    let wrong = LweCiphertext::trivial(0u64, LweDimension(64));
    assert!(ring_switch(&wrong, keys.size()).is_err());
}

/// The noise that the trace leaves in the other coefficients, with exact products, against the model.
#[test]
fn the_rest_after_an_exact_trace_is_as_the_model_says() {
    const KEYS: u8 = 40;
    const PER_KEY: usize = 30;
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let mut spec = ParameterSet::named(TEST_WORD, policy).expect("a named set").spec().clone();
    spec.polynomial_size = PolynomialSize::new(N).expect("a power of two");
    let model = WordNoise::with_fft_error(&spec, 0.0).expect("words");
    let size = PolynomialSize::new(K.0 * N).expect("a power of two");
    let mut sum = 0.0;
    for key in 0..KEYS {
        let mut rng = rng(10 + key);
        let table = GlweSecretKey::generate(GlweDimension(1), size, &mut rng);
        let shape = ConversionShape { polynomial_size: size, trace: GADGETS.trace, square: GADGETS.square };
        let noises = SecretSeed::from_bytes([key; 32]);
        let conversion =
            SeededConversionKey::generate(&table, shape, spec.glwe_noise, PublicSeed([key + 1; 32]), |row| {
                Csprng::from_secret(&noises, row)
            });
        let conversion = conversion.expect("a gadget").expand();
        for _ in 0..PER_KEY {
            let input = table.to_lwe_secret_key().encrypt(1 << 57, noise(-26.0), &mut rng).expect("fits");
            let traced = trace(&conversion, &ring_switch(&input, size).expect("its dimension")).expect("its ring");
            let phase = table.decrypt_phase(&traced).expect("its ring");
            // Coefficients of one ciphertext share the key bits' mean, so one of them counts.
            sum += fraction(phase[1 + rng.next_u64() as usize % (size.get() - 1)]).powi(2);
        }
    }
    let samples = f64::from(KEYS) * PER_KEY as f64;
    let ratio = sum / samples / model.rest;
    // Half of the coefficients have almost 2^L steps of noise, a quarter half of that, and so on: the mean square of their
    // variances is 1.29 of the squared mean. So a sample's square has the relative variance 3·1.29 − 1.
    let allowed = 5.5 * (2.87 / samples).sqrt();
    assert!((ratio - 1.0).abs() < allowed, "{ratio:.3} of the predicted variance, allowed is 1 ± {allowed:.3}");
}

#[test]
fn a_scheme_switch_multiplies_by_the_negated_key() {
    let (keys, mut rng) = (Keys::new(), rng(6));
    let message = 3u64 << 55;
    let mut polynomial = vec![0; keys.size().get()];
    polynomial[0] = message;
    let input = keys.table.encrypt(&polynomial, noise(-50.0), &mut rng).expect("fits");
    let phase =
        keys.table.decrypt_phase(&scheme_switch(&keys.conversion, &input).expect("its ring")).expect("its ring");
    for (&bit, x) in keys.table.bits().iter().zip(phase) {
        let expected = message.wrapping_mul(u64::from(bit)).wrapping_neg();
        assert!(fraction(x.wrapping_sub(expected)).abs() < (-27f64).exp2());
    }
}

#[test]
fn selectors_choose_by_the_gray_bits_of_a_digit() {
    let (keys, mut rng) = (Keys::new(), rng(7));
    let constant = |value: u64| {
        let mut polynomial = vec![0; keys.size().get()];
        polynomial[0] = value << 61;
        GlweCiphertext::trivial(&polynomial, GlweDimension(1), keys.size()).expect("N' coefficients")
    };
    let (zero, one) = (constant(1), constant(6));
    for digit in (0..4).chain(0..4) {
        let input = keys.digit(digit, &mut rng);
        let pair = selectors(&keys.bootstrap, &keys.conversion, GADGETS.selector, &input).expect("one set");
        for (selector, bit) in pair.iter().zip(GrayBit::BOTH) {
            let chosen = keys.table.decrypt_phase(&cmux(selector, &zero, &one).expect("one ring")).expect("its ring");
            let expected = [1u64, 6][usize::from(bit.of(digit))] << 61;
            assert!(
                fraction(chosen[0].wrapping_sub(expected)).abs() < (-9f64).exp2(),
                "{digit} {bit:?} {:x}",
                chosen[0]
            );
        }
    }
}

#[test]
fn a_split_takes_the_bits_of_an_integer() {
    let (keys, mut rng) = (Keys::new(), rng(11));
    let (big, noises) = (keys.table.to_lwe_secret_key(), SecretSeed::from_bytes([12; 32]));
    let switch = |row| Csprng::from_secret(&noises, row);
    let keyswitch = SeededLweKeyswitchKey::generate(
        &big,
        &keys.small,
        Decomposition::new(4, 5),
        noise(-25.0),
        PublicSeed([13; 32]),
        switch,
    );
    let keyswitch = keyswitch.expect("a gadget").expand();
    // All places, and fewer bits than places.
    for (log2_places, bits, value) in [(1, 1, 1u64), (6, 6, 0b10_1101), (7, 7, 0x7f), (8, 5, 0b1_0110), (9, 9, 0)] {
        let split = Split::new(log2_places, bits).expect("few");
        let integer = big.encrypt(value << (64 - log2_places), noise(-50.0), &mut rng).expect("fits");
        let digits = super::reference::split(&keys.bootstrap, &keyswitch, split, &integer).expect("one set");
        assert_eq!(digits.len(), split.digits());
        for (i, digit) in digits.iter().enumerate() {
            let phase: u64 = big.decrypt_phase(digit).expect("its key");
            let error = fraction(phase.wrapping_sub((value >> (2 * i) & 3) << 62));
            assert!(error.abs() < (-12f64).exp2(), "{split:?} {value} digit {i}: {error}");
        }
    }
    let wrong = LweCiphertext::trivial(0u64, LweDimension(64));
    assert!(super::reference::split(&keys.bootstrap, &keyswitch, Split::new(2, 2).expect("few"), &wrong).is_err());
}

#[test]
fn the_bits_of_a_range() {
    let of = |places, min, max| Split::of(&MessageRange::new(places, min, max).expect("a range"));
    for (places, min, max, bits) in [
        (2, 0, 0, 1),
        (2, 0, 1, 1),
        (16, 0, 7, 3),
        (16, 3, 8, 4),
        (1 << 14, 0, 16383, 14),
        (1 << 14, -1, 5, 14),
        (1 << 21, 0, 1 << 20, 21),
    ] {
        let split = of(places, min, max).expect("a power of two");
        assert_eq!((split.log2_places(), split.bits()), (places.ilog2(), bits), "{places} {min} {max}");
    }
    for places in [1, 3, 20] {
        assert_eq!(of(places, 0, 0), Err(RangeError::NotPowerOfTwo { places }));
    }
}

/// The bits of a digit under the big key, at each level.
fn bits_of(keys: &Keys, digit: &LweCiphertext<u32>) -> Vec<LweCiphertext<u64>> {
    let rotation = keys.bootstrap[0].shape();
    let exponents = super::reference::exponents(digit, rotation.polynomial_size).expect("a size");
    let vector = super::reference::vector(GADGETS.selector, rotation.glwe_dimension, rotation.polynomial_size);
    let (mask, body) = exponents.split_at(keys.bootstrap.len());
    let rotated = crate::reference::blind_rotate(&keys.bootstrap, mask, body[0], &vector.expect("a size"));
    super::reference::extract_bits(&rotated.expect("one set"), GADGETS.selector).expect("four bits")
}

/// Selectors and look-ups with both transforms, against tables in the clear and against the reference.
#[test]
fn both_transforms_look_up_like_the_reference() {
    use crate::bootstrap::{fft::FftDomain, ntt::NttDomain};
    use ciphermill_math::{Isa, fft::PackedWord, ntt::CpuNttProvider};
    let (keys, mut rng) = (Keys::new(), rng(10));
    for isa in Isa::available() {
        let fft = |shape| FftDomain::<u64>::new(shape, PackedWord::Float64, isa);
        let ntt = |shape| NttDomain::over_modulus(shape, &CpuNttProvider::new(isa), isa);
        check_ring(&keys, &super::ring::Ring::new(&keys.conversion, GADGETS.selector, fft).expect("a ring"), &mut rng);
        check_ring(&keys, &super::ring::Ring::new(&keys.conversion, GADGETS.selector, ntt).expect("a ring"), &mut rng);
    }
}

fn check_ring<D: crate::bootstrap::Domain<u64>>(keys: &Keys, ring: &super::ring::Ring<D>, rng: &mut Csprng) {
    use crate::word::{DenseTable, Table};
    let big = keys.table.to_lwe_secret_key();
    assert!(ring.memory_bytes() > 0);
    for (bits, output, input) in [(3u32, 5, 6u32), (7, 6, 77), (8, 3, 200)] {
        let f = |x: u32| (x * 37 + 11) % (1 << output);
        let digits: Vec<_> = (0..bits.div_ceil(2)).map(|i| keys.digit((input >> (2 * i) & 3) as u8, rng)).collect();
        let file: Vec<_> =
            digits.iter().map(|digit| ring.select(&bits_of(keys, digit)).expect("two selectors")).collect();
        let table = Table::Dense(DenseTable::of_function(bits, output, f).expect("a table"));
        let words_at = |id: crate::word::SelectorId| {
            let words = ring.words(&file[usize::from(id.position)], id.bit());
            words.ok_or(crate::error::TfheError::ForeignSelectors)
        };
        let outputs = ring.look_up(&table, &words_at).expect("one ring");
        let value = outputs.iter().enumerate().map(|(i, digit)| {
            let phase: u64 = big.decrypt_phase(digit).expect("its key");
            (phase.wrapping_add(1 << 61) >> 62) << (2 * i)
        });
        assert_eq!(value.sum::<u64>(), u64::from(f(input)), "{ring:?}, {bits} bits to {output}");
    }
}
