//! Extraction, embedding and packing of LWE ciphertexts, compared with the plaintexts and with the plain definitions.

use crate::support::{INSECURE, context, fresh_seed, plaintext, rng, seed};
use ciphermill_bfv::keys::GaloisRequest;
use ciphermill_bfv::lwe::reference::{Lwe, Ring, Rlwe};
use ciphermill_bfv::lwe::{LweCiphertext, Unused};
use ciphermill_bfv::parameters::CHAM_PAPER;
use ciphermill_bfv::{BfvError, Ciphertext, Context, GaloisKeys, ParameterSet, SecretKey};
use ciphermill_lattice::Csprng;
use ciphermill_math::Isa;
use proptest::prelude::*;

/// Keys for packing `count` ciphertexts.
fn keys(secret: &SecretKey, count: usize, unused: Unused) -> GaloisKeys {
    let context = secret.context();
    let gadget = context.parameters().gadget;
    let elements = context.packing_elements(count, unused);
    let requests: Vec<GaloisRequest> = elements.into_iter().map(|element| GaloisRequest { element, gadget }).collect();
    GaloisKeys::generate(secret, &requests).expect("odd elements")
}

/// LWE ciphertexts of `count` uniform plaintexts, each extracted from a separate RLWE ciphertext.
fn inputs(secret: &SecretKey, count: usize, limbs: usize, rng: &mut Csprng) -> (Vec<u64>, Vec<LweCiphertext>) {
    let context = secret.context();
    let one = |i: usize| {
        let plaintext = plaintext(context, rng);
        let ciphertext = secret.encrypt(&plaintext, limbs, rng).expect("a level");
        let place = i * 7 % context.n();
        (plaintext.coefficients()[place], context.extract_lwe(&ciphertext, place).expect("a coefficient"))
    };
    (0..count).map(one).unzip()
}

fn on(name: &str, isa: Isa) -> Context {
    Context::new(&ParameterSet::named(name, INSECURE).expect("a named set"), isa).expect("available")
}

#[test]
fn every_coefficient_is_extracted_at_every_level() {
    let context = context("TEST_32");
    let (secret, mut rng) = (SecretKey::generate(&context, &seed(1)), rng(2));
    for limbs in 1..=context.chain().len() {
        let plaintext = plaintext(&context, &mut rng);
        let ciphertext = secret.encrypt(&plaintext, limbs, &mut rng).expect("a level");
        for (k, &coefficient) in plaintext.coefficients().iter().enumerate() {
            let lwe = context.extract_lwe(&ciphertext, k).expect("a coefficient");
            assert_eq!((lwe.dimension(), lwe.limb_count(), lwe.key_tag()), (32, limbs, secret.tag()));
            assert_eq!(secret.decrypt_lwe(&lwe).expect("its key"), coefficient, "coefficient {k}, {limbs} limbs");
            let embedded = context.lwe_to_rlwe(&lwe).expect("dimension N");
            let constant = secret.decrypt(&embedded).expect("its key").coefficients()[0];
            assert_eq!(constant, coefficient, "embedding of coefficient {k}, {limbs} limbs");
            assert_eq!(context.extract_lwe(&embedded, 0).expect("a coefficient"), lwe);
            if limbs <= context.top() {
                let ring = Ring::new(&context, limbs);
                let expected = ring.extract(&Rlwe::from(&ciphertext), k);
                assert_eq!(Lwe::from(&lwe), expected);
                assert_eq!(Rlwe::from(&embedded), ring.embed(&expected));
            }
        }
    }
}

#[test]
fn a_division_is_undone_by_doublings() {
    let context = context("TEST_32");
    let (secret, mut rng) = (SecretKey::generate(&context, &seed(1)), rng(3));
    let (_, inputs) = inputs(&secret, 1, 3, &mut rng);
    let ring = Ring::new(&context, 3);
    for log2 in 0..=5 {
        let divided = context.divide_lwe(&inputs[0], log2).expect("up to log2 N");
        assert_eq!(Lwe::from(&divided), ring.divide_by_power_of_two(&Lwe::from(&inputs[0]), log2));
        for (limb, p) in context.basis(3).moduli().enumerate() {
            let undone = p.mul(divided.body()[limb], 1 << log2);
            assert_eq!(undone, inputs[0].body()[limb]);
        }
    }
    assert!(matches!(context.divide_lwe(&inputs[0], 6), Err(BfvError::Range { .. })));
}

#[test]
fn a_pair_packs_as_defined_at_every_level_on_every_path() {
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let context = on("TEST_32", isa);
        let (secret, mut rng) = (SecretKey::generate(&context, &seed(1)), rng(4));
        let keys = keys(&secret, 32, Unused::Leave);
        for limbs in 1..=context.top() {
            let ring = Ring::new(&context, limbs);
            let plain_keys = ring.keys(&context, &keys);
            for level in 1..=5 {
                let [even, odd] = [0, 1].map(|_| {
                    let plaintext = plaintext(&context, &mut rng);
                    secret.encrypt(&plaintext, limbs, &mut rng).expect("a level")
                });
                let packed = context.pack_two_lwes(&even, &odd, level, &keys).expect("together");
                let expected = ring.pack_two(&Rlwe::from(&even), &Rlwe::from(&odd), level, &plain_keys);
                assert!(Rlwe::from(&packed) == expected, "{limbs} limbs, level {level}, {isa}");
            }
        }
    }
}

/// Packs `count` ciphertexts, and compares with the definition and with the plaintexts.
fn check_packing(secret: &SecretKey, keys: &GaloisKeys, count: usize, limbs: usize, unused: Unused, rng: &mut Csprng) {
    let context = secret.context();
    let (values, inputs) = inputs(secret, count, limbs, rng);
    let factor = context.packing_factor(count, unused);
    let divided: Vec<LweCiphertext> =
        inputs.iter().map(|input| context.divide_lwe(input, factor).expect("up to log2 N")).collect();
    let packed = context.pack_lwes(&divided, unused, keys).expect("together");
    let what = format!("{count} inputs, {limbs} limbs, {unused:?}, {}", context.isa());

    let ring = Ring::new(context, limbs);
    let plain_keys = ring.keys(context, keys);
    let places = count.next_power_of_two();
    let mut plain: Vec<Lwe> = divided.iter().map(Lwe::from).collect();
    plain.resize(places, ring.zero_lwe());
    let mut expected = ring.pack(&plain, &plain_keys);
    if unused == Unused::Clear {
        expected = ring.trace(&expected, places.ilog2(), &plain_keys);
    }
    assert!(Rlwe::from(&packed) == expected, "{what}");

    let coefficients = secret.decrypt(&packed).expect("its key");
    for (i, &coefficient) in coefficients.coefficients().iter().enumerate() {
        let stride = context.n() / places;
        if i % stride == 0 {
            assert_eq!(coefficient, values.get(i / stride).copied().unwrap_or(0), "coefficient {i} of {what}");
        } else if unused == Unused::Clear {
            assert_eq!(coefficient, 0, "coefficient {i} of {what}");
        }
    }
}

#[test]
fn every_number_of_inputs_packs_as_defined() {
    let context = context("TEST_32");
    let (secret, mut rng) = (SecretKey::generate(&context, &seed(1)), rng(5));
    let keys = keys(&secret, 32, Unused::Clear);
    for count in 1..=32 {
        for unused in [Unused::Leave, Unused::Clear] {
            check_packing(&secret, &keys, count, 1 + count % 3, unused, &mut rng);
        }
    }
}

#[test]
fn the_papers_parameters_pack_as_defined_on_every_path() {
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let context = on(CHAM_PAPER, isa);
        let (secret, mut rng) = (SecretKey::generate(&context, &seed(1)), rng(6));
        let keys = keys(&secret, 3, Unused::Leave);
        check_packing(&secret, &keys, 3, 2, Unused::Leave, &mut rng);
    }
}

#[test]
fn n_inputs_fill_a_ciphertext_at_full_size() {
    let context = context(CHAM_PAPER);
    let (secret, mut rng) = (SecretKey::generate(&context, &seed(1)), rng(7));
    let keys = keys(&secret, 4096, Unused::Leave);
    assert_eq!(keys.elements().collect::<Vec<_>>(), (1..=12).map(|j| (1 << j) + 1).collect::<Vec<usize>>());
    let plaintext = plaintext(&context, &mut rng);
    let ciphertext = secret.encrypt(&plaintext, 2, &mut rng).expect("a level");
    let inputs: Vec<LweCiphertext> = (0..4096)
        .map(|k| context.divide_lwe(&context.extract_lwe(&ciphertext, k).expect("a coefficient"), 12).expect("12"))
        .collect();
    let packed = context.pack_lwes(&inputs, Unused::Leave, &keys).expect("together");
    assert_eq!(secret.decrypt(&packed).expect("its key"), plaintext);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_packing_is_as_defined(count in 1usize..33, limbs in 1usize..4, clear: bool, byte: u8) {
        let context = context("TEST_32");
        let (secret, mut rng) = (SecretKey::generate(&context, &seed(byte)), rng(!byte));
        let unused = if clear { Unused::Clear } else { Unused::Leave };
        check_packing(&secret, &keys(&secret, count, unused), count, limbs, unused, &mut rng);
    }
}

#[test]
fn a_fresh_key_packs_too() {
    let context = context("TEST_512");
    let secret = SecretKey::generate(&context, &fresh_seed());
    check_packing(&secret, &keys(&secret, 9, Unused::Clear), 9, 3, Unused::Clear, &mut rng(8));
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let context = context("TEST_32");
    let [secret, other] = [1, 2].map(|byte| SecretKey::generate(&context, &seed(byte)));
    let mut rng = rng(9);
    let keys = keys(&secret, 4, Unused::Leave);
    let (_, three) = inputs(&secret, 2, 3, &mut rng);
    let (_, two) = inputs(&secret, 1, 2, &mut rng);
    let (_, all) = inputs(&secret, 1, 4, &mut rng);
    let (_, foreign) = inputs(&other, 1, 3, &mut rng);
    let pack = |inputs: &[LweCiphertext], unused| context.pack_lwes(inputs, unused, &keys).map(|_| ());
    let pair = |x: &LweCiphertext, y: &LweCiphertext| pack(&[x.clone(), y.clone()], Unused::Leave);
    assert!(pair(&three[0], &three[1]).is_ok());
    assert!(matches!(pack(&[], Unused::Leave), Err(BfvError::Range { given: 0, .. })));
    let many = vec![three[0].clone(); 33];
    assert!(matches!(pack(&many, Unused::Leave), Err(BfvError::Range { given: 33, max: 32, .. })));
    assert!(matches!(pair(&three[0], &two[0]), Err(BfvError::Length { given: 2, expected: 3, .. })));
    assert!(matches!(pair(&all[0], &all[0]), Err(BfvError::Range { given: 4, max: 3, .. })));
    assert!(matches!(pair(&three[0], &foreign[0]), Err(BfvError::WrongKey { .. })));
    let missing = pack(&many[..5], Unused::Clear);
    assert!(matches!(missing, Err(BfvError::MissingGaloisKeys { elements }) if elements == [9, 17, 33]));
    assert!(matches!(secret.decrypt_lwe(&foreign[0]), Err(BfvError::WrongKey { .. })));

    let plaintext = plaintext(&context, &mut rng);
    let ciphertext = secret.encrypt(&plaintext, 3, &mut rng).expect("a level");
    let pack_two = |level| context.pack_two_lwes(&ciphertext, &ciphertext, level, &keys).map(|_| ());
    assert!(matches!(pack_two(0), Err(BfvError::Range { .. })));
    assert!(matches!(pack_two(6), Err(BfvError::Range { .. })));
    assert!(matches!(pack_two(3), Err(BfvError::MissingGaloisKeys { elements }) if elements == [9]));
    let square: Ciphertext = context.multiply(&ciphertext, &ciphertext).expect("together");
    assert!(matches!(context.pack_two_lwes(&square, &square, 1, &keys), Err(BfvError::Length { .. })));
    assert!(matches!(context.extract_lwe(&square, 0), Err(BfvError::Length { .. })));
    assert!(matches!(context.extract_lwe(&ciphertext, 32), Err(BfvError::Range { given: 32, max: 31, .. })));

    let elsewhere = crate::support::context("TEST_512");
    assert!(matches!(elsewhere.extract_lwe(&ciphertext, 0), Err(BfvError::WrongParameters { .. })));
    assert!(matches!(elsewhere.lwe_to_rlwe(&three[0]), Err(BfvError::WrongParameters { .. })));
    assert!(matches!(elsewhere.pack_lwes(&three, Unused::Leave, &keys), Err(BfvError::WrongParameters { .. })));
}
