//! The co-simulated Paillier engine behind the seam: the conformance suite, and Paillier with the CPU's bits.

#[allow(dead_code, reason = "these tests draw no random numbers")]
mod support;

use std::sync::Arc;

use ciphermill_arch::engines::ModelPaillier;
use ciphermill_bigint::conformance::{Extent, check};
use ciphermill_bigint::{CoprocessorEngine, EngineError, ModExpEngine, SecretPolicy, TrustError, TrustedEngine};
use ciphermill_cosim::engines::RtlPaillier;
use ciphermill_paillier::{
    Blinding, Csprng, EngineEncryption, EngineEvaluation, KeyBits, PaillierError, PlaintextVector, SecretKey,
};

/// Every configuration that was built, at its full size.
#[test]
fn the_engine_conforms() {
    support::each("paillier_engine", |configuration| {
        let engine = CoprocessorEngine::new(RtlPaillier::new(configuration));
        let most = configuration.parameter("Bits") as u32;
        let extent = Extent { bits: vec![most], powers: 1, lengths: vec![2], limit: Some(most), ..Extent::default() };
        check(&engine, &extent);
        println!("{configuration}: {} cycles", engine.coprocessor().cycles());
    });
}

/// The engine for n² of 512-bit keys.
fn engine() -> Option<CoprocessorEngine<RtlPaillier>> {
    support::with("paillier_engine", "Bits", 1024)
        .map(|configuration| CoprocessorEngine::new(RtlPaillier::new(configuration)))
}

#[test]
fn two_values_are_encrypted_to_the_bits_of_the_cpu() {
    let Some(engine) = engine() else { return };
    let mut rng = Csprng::from_seed([1; 32]);
    let owner = SecretKey::generate(KeyBits::insecure_bench(512).unwrap(), &mut rng).unwrap();
    let key = owner.public_key();
    let trusted = TrustedEngine::new(Arc::new(engine.clone()), SecretPolicy::InsecureParameters).unwrap();
    let encryption = EngineEncryption::new(key, &trusted).unwrap();
    let plaintexts = PlaintextVector::from_i64(key, &[20, -22]);
    for blinding in [Blinding::Djn, Blinding::Strict] {
        let ours = encryption.encrypt(&plaintexts, blinding, &mut Csprng::from_seed([2; 32])).unwrap();
        let expected = key.encrypt(&plaintexts, blinding, &mut Csprng::from_seed([2; 32])).unwrap();
        assert_eq!(ours.to_integers(), expected.to_integers(), "{blinding:?}");
        assert_eq!(owner.decrypt(&ours).unwrap().to_i64().unwrap(), [20, -22]);
        let evaluation = EngineEvaluation::new(key, &engine).unwrap();
        let sum = evaluation.add(&ours, &expected).unwrap();
        assert_eq!(sum.to_integers(), ours.add(&expected).unwrap().to_integers());
    }
}

#[test]
fn longer_keys_and_production_keys_are_refused() {
    let Some(engine) = engine() else { return };
    let owner = SecretKey::generate(KeyBits::insecure_bench(640).unwrap(), &mut Csprng::from_seed([3; 32])).unwrap();
    let refused = EngineEvaluation::new(owner.public_key(), &engine).unwrap_err();
    assert!(matches!(refused, PaillierError::Engine(EngineError::ModulusBits { bits: 1280, max: 1024, .. })));
    assert!(refused.to_string().contains("1024"), "{refused}");
    let refused = TrustedEngine::new(Arc::new(engine.clone()), SecretPolicy::Production).unwrap_err();
    assert_eq!(refused, TrustError::Simulation { engine: "rtl-paillier".to_owned() });
    let refused = owner.on_engine(Arc::new(engine.clone())).unwrap_err();
    assert!(matches!(refused, PaillierError::Trust(TrustError::NotCpu { .. })));
    assert!(!engine.info().constant_time);
}

/// Batches of powers and products of any phase, and one of more jobs than the ring holds.
#[test]
fn the_costs_are_those_of_the_model() {
    let Some(engine) = engine() else { return };
    let mut rng = Csprng::from_seed([4; 32]);
    let owner = SecretKey::generate(KeyBits::insecure_bench(512).unwrap(), &mut rng).unwrap();
    let plaintexts = PlaintextVector::from_i64(owner.public_key(), &[7; 13]);
    let on = |engine: Arc<dyn ModExpEngine>| {
        let trusted = TrustedEngine::new(Arc::clone(&engine), SecretPolicy::InsecureParameters).unwrap();
        let encryption = EngineEncryption::new(owner.public_key(), &trusted).unwrap();
        let values = encryption.encrypt(&plaintexts, Blinding::Strict, &mut Csprng::from_seed([5; 32])).unwrap();
        (values.to_integers(), engine.take_costs())
    };
    let (values, costs) = on(Arc::new(engine));
    let (expected, model) = on(Arc::new(CoprocessorEngine::new(ModelPaillier::default())));
    assert_eq!(values, expected);
    assert_eq!(costs, model);
    assert!(costs.iter().any(|cost| cost.stalls > 0) && costs.len() > 1, "{costs:?}");
}
