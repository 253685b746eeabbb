//! Key switching of LWE ciphertexts to secrets of other dimensions.

use crate::support::{INSECURE, context, fresh_seed, plaintext, rng, seed};
use ciphermill_bfv::lwe::{LweCiphertext, LweKeySwitchKey, LweSecretKey, MAX_LWE_DIMENSION};
use ciphermill_bfv::parameters::{CHAM_PAPER, ParameterError};
use ciphermill_bfv::{BfvError, Context, SecretKey, SecurityPolicy};
use ciphermill_lattice::{Csprng, DecompositionBaseLog};

/// The LWE ciphertexts of the first `count` coefficients of a uniform plaintext.
fn inputs(secret: &SecretKey, count: usize, limbs: usize, rng: &mut Csprng) -> (Vec<u64>, Vec<LweCiphertext>) {
    let context = secret.context();
    let plaintext = plaintext(context, rng);
    let ciphertext = secret.encrypt(&plaintext, limbs, rng).expect("a level");
    let extract = |k| context.extract_lwe(&ciphertext, k).expect("a coefficient");
    (plaintext.coefficients()[..count].to_vec(), (0..count).map(extract).collect())
}

fn switch_and_decrypt(context: &Context, dimension: usize, limbs: usize, base_log: usize, rng: &mut Csprng) {
    let from = SecretKey::generate(context, &seed(1));
    let to = LweSecretKey::generate(context, dimension, &seed(2)).expect("a dimension");
    let key = LweKeySwitchKey::generate(&from, &to, limbs, DecompositionBaseLog(base_log), INSECURE).expect("fits");
    assert_eq!((key.from_tag(), key.to_tag()), (from.tag(), to.tag()));
    let (values, inputs) = inputs(&from, 5, limbs, rng);
    let switched = key.switch(context, &inputs).expect("its inputs");
    for (value, lwe) in values.iter().zip(&switched) {
        assert_eq!((lwe.dimension(), lwe.limb_count(), lwe.key_tag()), (dimension, limbs, to.tag()));
        let got = to.decrypt(lwe).expect("its key");
        assert_eq!(got, *value, "dimension {dimension}, {limbs} limbs, digits of {base_log} bits");
    }
}

#[test]
fn any_dimension_level_and_base_keeps_the_plaintext() {
    let (context, mut rng) = (context("TEST_32"), rng(1));
    for (dimension, limbs, base_log) in [(1, 2, 8), (17, 1, 3), (32, 3, 16), (700, 2, 1), (5, 2, 30), (33, 3, 32)] {
        switch_and_decrypt(&context, dimension, limbs, base_log, &mut rng);
    }
}

#[test]
fn a_secure_dimension_takes_the_papers_ciphertexts() {
    let context = context(CHAM_PAPER);
    let (from, mut rng) = (SecretKey::generate(&context, &seed(1)), rng(2));
    let to = LweSecretKey::generate(&context, 2048, &fresh_seed()).expect("a dimension");
    // 35 bits at dimension 2048, where 53 keep 128 bits of security; t takes 24 of them.
    let policy = SecurityPolicy::Require128Bits;
    let key = LweKeySwitchKey::generate(&from, &to, 1, DecompositionBaseLog(6), policy).expect("fits");
    let (values, inputs) = inputs(&from, 3, 1, &mut rng);
    let switched = key.switch(&context, &inputs).expect("its inputs");
    // The noise is 2^6/√12·√(4096·6)·3.2 = 2^13.2, and a unit of the plaintext 2^10: the upper bits survive.
    for (value, lwe) in values.iter().zip(&switched) {
        let t = context.t();
        let difference = (to.decrypt(lwe).expect("its key") + t - value) % t;
        assert!(difference.min(t - difference) <= 64, "off by {difference}");
    }
}

#[test]
fn bad_numbers_and_foreign_objects_are_refused() {
    let (context, mut rng) = (context("TEST_32"), rng(4));
    let [from, other] = [1, 2].map(|byte| SecretKey::generate(&context, &seed(byte)));
    for dimension in [0, MAX_LWE_DIMENSION + 1] {
        assert!(matches!(LweSecretKey::generate(&context, dimension, &seed(1)), Err(BfvError::Range { .. })));
    }
    let to = LweSecretKey::generate(&context, 20, &seed(3)).expect("a dimension");
    let generate =
        |limbs, base_log, policy| LweKeySwitchKey::generate(&from, &to, limbs, DecompositionBaseLog(base_log), policy);
    for (limbs, base_log) in [(0, 8), (4, 8), (1, 0), (1, 33)] {
        assert!(matches!(generate(limbs, base_log, INSECURE), Err(BfvError::Range { .. })), "{limbs}, {base_log}");
    }
    let insecure = generate(1, 8, SecurityPolicy::Require128Bits).map(|_| ());
    let refused: Result<(), BfvError> = Err(BfvError::Parameters(ParameterError::Insecure {
        what: "an LWE key of dimension 20".to_owned(),
        bits: 0.0,
        log2_modulus: context.basis(1).log2(),
        dimension: 20,
    }));
    assert_eq!(format!("{insecure:?}"), format!("{refused:?}"));

    let key = generate(2, 8, INSECURE).expect("fits");
    let (_, right) = inputs(&from, 1, 2, &mut rng);
    let (_, foreign) = inputs(&other, 1, 2, &mut rng);
    let (_, higher) = inputs(&from, 1, 3, &mut rng);
    let switched = key.switch(&context, &right).expect("its inputs");
    assert!(key.switch(&context, &[]).expect("nothing to do").is_empty());
    assert!(matches!(key.switch(&context, &foreign), Err(BfvError::WrongKey { .. })));
    assert!(matches!(key.switch(&context, &higher), Err(BfvError::Length { .. })));
    assert!(matches!(key.switch(&context, &switched), Err(BfvError::WrongKey { .. })));
    assert!(matches!(to.decrypt(&right[0]), Err(BfvError::WrongKey { .. })));
    assert!(matches!(from.decrypt_lwe(&switched[0]), Err(BfvError::WrongKey { .. })));
    let elsewhere = crate::support::context("TEST_512");
    assert!(matches!(key.switch(&elsewhere, &right), Err(BfvError::WrongParameters { .. })));
    assert!(!format!("{to:?}").contains("coefficients"));
}
