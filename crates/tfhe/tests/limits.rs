//! Refusals of the lower layer: gadgets and noise that do not fit a torus, keys that do not fit the memory allowed.

use crate::support::{INSECURE, keys, seed};
use ciphermill_lattice::{Csprng, NoiseDistribution};
use ciphermill_math::Isa;
use ciphermill_tfhe::dimension::{Decomposition, GlweDimension, LweDimension, PolynomialSize};
use ciphermill_tfhe::ggsw::GgswEncryptor;
use ciphermill_tfhe::glwe::{GlweCiphertext, GlweSecretKey};
use ciphermill_tfhe::keyswitch::SeededLweKeyswitchKey;
use ciphermill_tfhe::lwe::LweSecretKey;
use ciphermill_tfhe::parameters::{NVME_TFHE_PAPER, TEST_SMALL_U64, security_bits};
use ciphermill_tfhe::{
    Backend, Encoding, KeyForm, KeyOrder, ParameterError, ParameterSet, ParameterSpec, SecurityPolicy, ServerKey,
    TfheError,
};

const NOISE: NoiseDistribution = NoiseDistribution::Gaussian { std_dev: 1e-6 };

#[test]
fn gadgets_that_do_not_fit_the_torus() {
    let mut rng = Csprng::from_secret(&seed(1), 0);
    let size = PolynomialSize::new(64).expect("a power of two");
    let key = GlweSecretKey::generate(GlweDimension(1), size, &mut rng);
    // The paper's l = 5, B = 2^9: 45 bits.
    let paper = Decomposition::new(9, 5);
    assert!(GgswEncryptor::<u64>::new(&key, paper, NOISE).is_ok());
    let refused = GgswEncryptor::<u32>::new(&key, paper, NOISE).err().expect("45 bits of 32");
    assert!(refused.to_string().contains("32"), "{refused}");
    assert!(GgswEncryptor::<u64>::new(&key, Decomposition::new(9, 8), NOISE).is_err());
    let small = LweSecretKey::generate(LweDimension(8), &mut rng);
    let masks = ciphermill_lattice::PublicSeed([1; 32]);
    let noise = |index| Csprng::from_secret(&seed(2), index);
    let refused = SeededLweKeyswitchKey::generate(&small, &small, paper, NOISE, masks, noise);
    assert!(refused.is_err(), "{refused:?}");
}

#[test]
fn noise_that_is_none() {
    let mut rng = Csprng::from_secret(&seed(3), 0);
    let key = LweSecretKey::generate(LweDimension(8), &mut rng);
    for noise in [
        NoiseDistribution::Gaussian { std_dev: f64::NAN },
        NoiseDistribution::Gaussian { std_dev: -1.0 },
        NoiseDistribution::Gaussian { std_dev: 2.0 },
        NoiseDistribution::TUniform { bound_log2: 40 },
    ] {
        let refused = key.encrypt(0u32, noise, &mut rng);
        assert!(matches!(refused, Err(TfheError::Parameters(ParameterError::Noise { .. }))), "{refused:?}");
    }
}

#[test]
fn glwe_ciphertexts_have_two_to_nine_polynomials() {
    let size = PolynomialSize::new(16).expect("a power of two");
    for polynomials in [0, 1, 10] {
        let refused = GlweCiphertext::from_coefficients(vec![0u32; 16 * polynomials], size);
        assert!(matches!(refused, Err(TfheError::Field { min: 2, max: 9, .. })), "{refused:?}");
    }
    assert!(GlweCiphertext::from_coefficients(vec![0u32; 17], size).is_err());
    assert_eq!(GlweCiphertext::from_coefficients(vec![0u32; 144], size).expect("k = 8").dimension().0, 8);
}

/// A key is refused before it takes memory, with its need and the limit.
#[test]
fn keys_beyond_the_memory_allowed() {
    let keys = keys(TEST_SMALL_U64, KeyForm::Seeded, 20);
    let needed = keys.client.parameters().loaded_key_bytes(Backend::Fft);
    let load = |limit| {
        let readers = (&keys.bootstrap[..], &keys.keyswitch[..]);
        ServerKey::load_on(Isa::current(), limit, readers.0, readers.1, Backend::Fft, INSECURE, &mut |_, _| ())
    };
    assert_eq!(load(needed).expect("just enough").memory_bytes(), needed);
    let refused = load(needed - 1);
    assert!(
        matches!(refused, Err(TfheError::KeyTooLarge { needed: n, limit }) if (n, limit) == (needed, needed - 1)),
        "{refused:?}"
    );
    let paper = ParameterSet::named(NVME_TFHE_PAPER, INSECURE).expect("a named set");
    let keyswitch = 16384 * 7 * 801 * 4;
    assert_eq!(paper.loaded_key_bytes(Backend::Ntt), 800 * 4 * 5 * 16384 * 8 + keyswitch);
    // 48 bits a word, and a cache line for each component.
    assert_eq!(paper.loaded_key_bytes(Backend::Fft), 800 * (4 * 5 * 16384 * 6 + 2 * 64) + keyswitch);
}

/// Outside of the published curves no security is claimed, however large the lines would say it is.
#[test]
fn no_security_is_claimed_off_the_curves() {
    let base = ParameterSet::named("MESSAGE_2_2M64", SecurityPolicy::Require128Bits).expect("a secure set");
    let judge = |change: &dyn Fn(&mut ParameterSpec)| {
        let mut spec = base.spec().clone();
        change(&mut spec);
        ParameterSet::new(spec, SecurityPolicy::Require128Bits)
    };
    assert!(judge(&|_| ()).is_ok());
    // The lines alone would give these 128 bits.
    assert!(security_bits(256, -3.9) > 128.0);
    for change in [
        &(|spec: &mut ParameterSpec| {
            spec.lwe_dimension = LweDimension(256);
            spec.lwe_noise = NoiseDistribution::Gaussian { std_dev: (-3.9f64).exp2() };
        }) as &dyn Fn(&mut ParameterSpec),
        &|spec| {
            spec.lwe_dimension = LweDimension(4096);
            spec.lwe_noise = NoiseDistribution::TUniform { bound_log2: 1 };
        },
        &|spec| spec.glwe_noise = NoiseDistribution::Gaussian { std_dev: (-63f64).exp2() },
    ] {
        let refused = judge(change);
        assert!(matches!(refused, Err(ParameterError::Insecure { bits: 0.0, .. })), "{refused:?}");
    }
}

/// The cost of an encoding: the set is made for four bits, and eleven are hopeless.
#[test]
fn encodings_say_what_they_cost() {
    let set = ParameterSet::named("MESSAGE_4_2M64", SecurityPolicy::Require128Bits).expect("a secure set");
    let cost = |bits| set.log2_p_fail_of(&Encoding::unsigned(bits, true).expect("few bits"), KeyOrder::Big);
    // One operand instead of a combination of norm 5: better than the set's own figure.
    assert!(cost(4) < set.log2_p_fail(), "{}", cost(4));
    // From eleven bits on, a message has at most one of the 2N = 4096 indices.
    assert_eq!([cost(11), cost(12)], [0.0; 2]);
    assert!((1..11).all(|bits| cost(bits) < cost(bits + 1)));
}
