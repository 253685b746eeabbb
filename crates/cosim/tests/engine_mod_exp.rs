//! The co-simulated exponentiation as an engine: the conformance suite, and Paillier with the CPU's bits.

#[allow(dead_code, reason = "these tests draw no random frames")]
mod support;

use std::sync::Arc;

use ciphermill_bigint::conformance::{Extent, check};
use ciphermill_bigint::{EngineError, ModExpEngine, SecretPolicy, TrustError, TrustedEngine};
use ciphermill_cosim::engines::RtlModExp;
use ciphermill_paillier::{
    Blinding, Csprng, EngineEncryption, EngineEvaluation, KeyBits, PaillierError, PlaintextVector, SecretKey,
};

/// Every configuration of the unit that was built, at its full size.
#[test]
fn the_unit_conforms() {
    support::each("mod_exp", |configuration| {
        let engine = RtlModExp::new(configuration);
        let most = configuration.parameter("Bits") as u32;
        let extent = Extent { bits: vec![most], powers: 1, lengths: vec![2], limit: Some(most), ..Extent::default() };
        check(&engine, &extent);
        println!("{configuration}: {} cycles", engine.cycles());
    });
}

/// The engine for n² of 512-bit keys.
fn engine() -> Option<RtlModExp> {
    support::with("mod_exp", "Bits", 1024).map(RtlModExp::new)
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
    assert_eq!(refused, TrustError::Simulation { engine: "rtl".to_owned() });
    let refused = owner.on_engine(Arc::new(engine.clone())).unwrap_err();
    assert!(matches!(refused, PaillierError::Trust(TrustError::NotCpu { .. })));
    assert!(!engine.info().constant_time);
}
