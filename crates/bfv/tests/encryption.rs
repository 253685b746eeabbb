//! Encryption and decryption at every level, and refused inputs.

use crate::support::{INSECURE, context, fresh_seed, noise, plaintext, poly, rng, scaled, secret_coefficients, seed};
use ciphermill_bfv::keys::GaloisRequest;
use ciphermill_bfv::parameters::{
    BFV_1024, BFV_2048_128, BFV_4096, BFV_4096_128, BFV_8192_128, BFV_32768_128, CHAM_PAPER, TEST_32, TEST_512,
};
use ciphermill_bfv::{
    BfvError, Ciphertext, Context, Gadget, GaloisKeys, ParameterSet, PublicKey, RelinearizationKey, SecretKey, serial,
};
use ciphermill_lattice::Csprng;
use ciphermill_math::Isa;
use ciphermill_wire::{Encoder, seal};
use num_bigint::BigInt;
use num_traits::Signed;

/// Every level of every kind of set, under the secret key, seeded or not, and under the public key.
#[test]
fn every_level_decrypts() {
    for name in [TEST_32, TEST_512, BFV_1024, BFV_2048_128, BFV_4096_128, BFV_8192_128, CHAM_PAPER] {
        let context = context(name);
        let secret = SecretKey::generate(&context, &fresh_seed());
        let public = PublicKey::generate(&secret).expect("randomness");
        let mut rng = Csprng::from_secret(&fresh_seed(), 0);
        for limbs in 1..=context.chain().len() {
            let message = plaintext(&context, &mut rng);
            let seeded = secret.encrypt_seeded(&message, limbs, &mut rng).expect("a level");
            assert_eq!((seeded.limb_count(), seeded.key_tag()), (limbs, secret.tag()));
            let mut ciphertexts = vec![
                seeded.expand(&context).expect("same set"),
                secret.encrypt(&message, limbs, &mut rng).expect("a level"),
            ];
            // The paper's t leaves 2^9 at one limb, which the errors of a public key exceed.
            if (name, limbs) != (CHAM_PAPER, 1) {
                ciphertexts.push(public.encrypt(&message, limbs, &mut rng).expect("a level"));
            }
            for ciphertext in &ciphertexts {
                assert_eq!(secret.decrypt(ciphertext).expect("ours"), message, "{name} at {limbs} limbs");
                let noise = noise(&secret, ciphertext, &message);
                let greatest = noise.iter().map(BigInt::abs).max().expect("coefficients");
                assert_eq!(secret.noise(ciphertext).expect("ours"), greatest);
                let left = context.basis(limbs).log2() - 1.0 - (context.t() as f64).log2();
                let used = greatest.to_string().parse::<f64>().expect("a number").log2();
                let budget = secret.noise_budget(ciphertext).expect("ours");
                assert!((budget - (left - used)).abs() < 1e-6, "{budget} of {left} with {used} used");
            }
        }
    }
}

/// The largest set: 18 limbs of 32768 coefficients.
#[test]
fn the_largest_set_decrypts() {
    let context = context(BFV_32768_128);
    let secret = SecretKey::generate(&context, &seed(1));
    let mut rng = rng(2);
    let message = plaintext(&context, &mut rng);
    for limbs in [1, context.top(), context.chain().len()] {
        let ciphertext = secret.encrypt(&message, limbs, &mut rng).expect("a level");
        assert_eq!(secret.decrypt(&ciphertext).expect("ours"), message);
    }
}

/// Instruction sets give the same bits.
#[test]
fn paths_agree() {
    let parameters = ParameterSet::named(TEST_512, INSECURE).expect("a named set");
    let contexts: Vec<_> = ciphermill_testing::available(Isa::ALL, |isa| isa.is_available())
        .into_iter()
        .map(|isa| Context::new(&parameters, isa).expect("available"))
        .collect();
    let keys: Vec<_> = contexts.iter().map(|context| SecretKey::generate(context, &seed(3))).collect();
    let message = plaintext(&contexts[0], &mut rng(4));
    let seeded = keys[0].encrypt_seeded(&message, 3, &mut rng(5)).expect("a level");
    let ciphertext = seeded.expand(&contexts[0]).expect("same set");
    for (context, key) in contexts.iter().zip(&keys) {
        assert_eq!(secret_coefficients(key), secret_coefficients(&keys[0]));
        assert_eq!(seeded.expand(context).expect("same set"), ciphertext);
        assert_eq!(key.decrypt(&ciphertext).expect("ours"), message);
        assert_eq!(key.noise(&ciphertext).expect("ours"), keys[0].noise(&ciphertext).expect("ours"));
    }
}

/// A ciphertext of `parts` parts and exactly the noise `noise`, built from the definition and read from bytes.
fn crafted(secret: &SecretKey, message: &[BigInt], parts: usize, limbs: usize) -> Ciphertext {
    let context = secret.context();
    let basis = context.basis(limbs);
    let mut rng = rng(7);
    let s = basis.forward(basis.from_signed(&secret_coefficients(secret)));
    let mut power = s.clone();
    let mut c0 = poly(context, limbs, message);
    let mut packed = Vec::new();
    for _ in 1..parts {
        let uniform: Vec<i64> = (0..context.n()).map(|_| rng.next_u64() as i64).collect();
        let part = basis.from_signed(&uniform);
        packed.extend(basis.pack(&part));
        let mut product = basis.forward(part);
        basis.multiply(&mut product, &power);
        basis.sub_assign(&mut c0, &basis.inverse(product));
        basis.multiply(&mut power, &s);
    }
    let mut out = Encoder::default();
    out.u64(context.parameters().id().0).u64(secret.tag().0);
    out.u8(context.n().ilog2() as u8).u8(limbs as u8).u8(parts as u8).u8(0).u32(0);
    out.bytes(&basis.pack(&c0)).bytes(&packed);
    Ciphertext::from_bytes(context, &seal(serial::CIPHERTEXT, 1, &out.into_vec())).expect("well-formed")
}

/// Two and three parts with noise up to the limit of decryption, and just beyond.
#[test]
fn noise_up_to_the_bound_decrypts() {
    for name in [TEST_32, CHAM_PAPER] {
        let context = context(name);
        let secret = SecretKey::generate(&context, &seed(8));
        for limbs in 1..=context.chain().len() {
            let message = plaintext(&context, &mut rng(9));
            // Rounding ⌊Q·m/t⌉ costs up to half a unit of the Q/(2t), and t·x/Q within 2^-50 of a half may be rounded
            // either way.
            let half = BigInt::from(context.basis(limbs).product()) / (2 * u128::from(context.t()));
            let (bound, step): (BigInt, BigInt) = (&half - 1 - (&half >> 48), 3 + (&half >> 47));
            for parts in [2, 3] {
                for sign in [1, -1] {
                    let noise = &bound * sign;
                    let phase: Vec<BigInt> = scaled(&context, &message, limbs).iter().map(|x| x + &noise).collect();
                    let ciphertext = crafted(&secret, &phase, parts, limbs);
                    assert_eq!(secret.decrypt(&ciphertext).expect("ours"), message, "{name} {limbs} {parts}");
                    assert_eq!(secret.noise(&ciphertext).expect("ours"), bound);
                    assert!(secret.noise_budget(&ciphertext).expect("ours") < 0.1);
                    let phase: Vec<BigInt> = phase.iter().map(|x| x + &step * sign).collect();
                    let ciphertext = crafted(&secret, &phase, parts, limbs);
                    assert_ne!(secret.decrypt(&ciphertext).expect("ours"), message, "{name} {limbs} {parts}");
                }
                let exact = crafted(&secret, &scaled(&context, &message, limbs), parts, limbs);
                assert_eq!(secret.noise(&exact).expect("ours"), BigInt::ZERO);
                let budget = context.basis(limbs).log2() - 1.0 - (context.t() as f64).log2();
                assert!((secret.noise_budget(&exact).expect("ours") - budget).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn fresh_ciphertexts_of_zero_decrypt_to_zero() {
    let context = context(BFV_4096);
    let secret = SecretKey::generate(&context, &seed(10));
    let public = PublicKey::generate(&secret).expect("randomness");
    let (one, other) = (public.encrypt_zero(2, &mut rng(11)), public.encrypt_zero(2, &mut rng(12)));
    let (one, other) = (one.expect("a level"), other.expect("a level"));
    assert_ne!(one, other);
    for zero in [&one, &other] {
        assert_eq!(secret.decrypt(zero).expect("ours").coefficients(), vec![0; 4096]);
    }
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let (context, other) = (context(TEST_32), context(TEST_512));
    let (secret, stranger) = (SecretKey::generate(&context, &seed(13)), SecretKey::generate(&context, &seed(14)));
    let foreign = SecretKey::generate(&other, &seed(13));
    let public = PublicKey::generate(&secret).expect("randomness");
    let mut rng = rng(15);
    let (message, long) = (plaintext(&context, &mut rng), plaintext(&other, &mut rng));
    let ciphertext = secret.encrypt(&message, 3, &mut rng).expect("a level");
    assert!(matches!(stranger.decrypt(&ciphertext), Err(BfvError::WrongKey { given, expected, .. })
        if given == secret.tag() && expected == stranger.tag()));
    assert!(matches!(foreign.decrypt(&ciphertext), Err(BfvError::WrongParameters { .. })));
    assert!(matches!(foreign.noise(&ciphertext), Err(BfvError::WrongParameters { .. })));
    assert!(matches!(stranger.noise_budget(&ciphertext), Err(BfvError::WrongKey { .. })));
    let seeded = secret.encrypt_seeded(&message, 3, &mut rng).expect("a level");
    assert!(matches!(seeded.expand(&other), Err(BfvError::WrongParameters { .. })));
    for limbs in [0, 5, usize::MAX] {
        for error in [
            secret.encrypt_seeded(&message, limbs, &mut rng).map(drop),
            secret.encrypt(&message, limbs, &mut rng).map(drop),
            public.encrypt(&message, limbs, &mut rng).map(drop),
            public.encrypt_zero(limbs, &mut rng).map(drop),
        ] {
            assert!(matches!(error, Err(BfvError::Range { min: 1, max: 4, .. })), "{error:?}");
        }
    }
    for error in [secret.encrypt(&long, 3, &mut rng), public.encrypt(&long, 3, &mut rng)] {
        assert!(matches!(error, Err(BfvError::Length { given: 512, expected: 32, .. })), "{error:?}");
    }
}

/// A seed stands for one key; the same context or not.
#[test]
fn secret_keys_are_ternary_and_of_their_seed() {
    let context = context(BFV_4096);
    let key = SecretKey::generate(&context, &seed(16));
    let again = SecretKey::generate(&context.clone(), &seed(16));
    assert_eq!((key.tag(), secret_coefficients(&key)), (again.tag(), secret_coefficients(&again)));
    let other = SecretKey::generate(&context, &seed(17));
    assert_ne!(other.tag(), key.tag());
    for key in [key, other, SecretKey::generate(&context, &fresh_seed())] {
        let coefficients = secret_coefficients(&key);
        for value in -1..=1 {
            // 1365 on average; the standard deviation is 30.
            let count = coefficients.iter().filter(|&&x| x == value).count();
            assert!((1165..1565).contains(&count), "{count} coefficients are {value}");
        }
        let text = format!("{key:?}");
        assert!(text.contains("tag") && text.len() < 80, "{text}");
    }
}

#[test]
fn galois_keys_are_for_automorphisms_only() {
    let small = context(TEST_32);
    let secret = SecretKey::generate(&small, &seed(18));
    let gadget = Gadget::Limbs { limbs_per_digit: 1 };
    let request = |element| GaloisRequest { element, gadget };
    for element in [0, 1, 2, 4, 62, 64, 65, 67, usize::MAX] {
        let error = GaloisKeys::generate(&secret, &[request(3), request(element)]).expect_err("not an automorphism");
        let says = error.to_string();
        assert!(says.contains(&element.to_string()) && says.contains("63"), "{says}");
    }
    let keys = GaloisKeys::generate(&secret, &[request(63), request(3), request(5), request(3)]).expect("keys");
    assert_eq!(keys.elements().collect::<Vec<_>>(), [3, 5, 63]);
    assert_eq!((keys.tag(), keys.parameter_id()), (secret.tag(), small.parameters().id()));
    keys.require([5, 3, 63]).expect("there");
    let missing = keys.require([9, 3, 7, 9]).expect_err("not there");
    assert!(matches!(&missing, BfvError::MissingGaloisKeys { elements } if *elements == [7, 9]), "{missing}");
    let empty = GaloisKeys::generate(&secret, &[]).expect("no keys");
    assert_eq!(empty.elements().len(), 0);

    let bare = context(BFV_1024);
    let secret = SecretKey::generate(&bare, &seed(19));
    assert!(GaloisKeys::generate(&secret, &[request(3)]).is_err());
    assert!(RelinearizationKey::generate(&secret).is_err());
}
