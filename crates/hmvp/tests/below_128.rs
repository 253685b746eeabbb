//! Plans, keys and vectors of an earlier version under a set below 128 bits of security: they open with the opt-in, and only
//! with it.

use std::path::PathBuf;
use std::sync::Arc;

use ciphermill_bfv::parameters::ParameterError;
use ciphermill_bfv::{BfvError, GaloisKeys, ParameterSet, SecretKey, SecurityLevel, SecurityPolicy};
use ciphermill_hmvp::{
    CpuEngine, EncryptedProduct, EncryptedVector, HmvpEngine, HmvpError, PlainMatrix, Plan, PlanError, Request,
    SealedMatrix,
};
use ciphermill_math::Isa;
use ciphermill_wire::{Header, seal};

const STRICT: SecurityPolicy = SecurityPolicy::Require128Bits;
const OPT_IN: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

fn stored(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/below-128").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The error of a refused set, and its figure.
fn require_insecure<T>(what: &str, result: Result<T, HmvpError>) {
    match result.map(drop) {
        Err(HmvpError::Scheme(BfvError::Parameters(ParameterError::Insecure { bits, .. }))) => {
            assert!((126.0..127.0).contains(&bits), "{what}: {bits}");
        }
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn objects_of_an_earlier_version_open_with_the_opt_in_only() {
    let isa = Isa::current();
    let [plan, matrix, vector] = ["rotate.plan", "rotate.mat", "rotate.ct"].map(stored);
    require_insecure("plan", Plan::from_bytes(&plan, STRICT, isa));
    require_insecure("matrix", PlainMatrix::from_bytes(&matrix, STRICT, isa));
    require_insecure("sealed matrix", SealedMatrix::from_bytes(&matrix, STRICT));
    require_insecure("plan of the matrix", SealedMatrix::plan(&matrix, STRICT, isa));
    require_insecure("vector", EncryptedVector::head(&vector, STRICT));
    let key = SecretKey::from_secret_key_bytes(&stored("rotate.key"), STRICT, isa).map(drop);
    assert!(matches!(key, Err(BfvError::Parameters(ParameterError::Insecure { .. }))), "{key:?}");

    let plan = Arc::new(Plan::from_bytes(&plan, OPT_IN, isa).expect("an old plan"));
    assert_eq!(plan.context().parameters().name, "hmvp-n4096-2x36+36-t25");
    let explanation = plan.explain();
    assert_eq!(explanation.standard_bits, Some(128));
    assert!(explanation.to_string().contains("bits, below 128"), "{explanation}");
    let key = SecretKey::from_secret_key_bytes(&stored("rotate.key"), OPT_IN, isa).expect("its key");
    let galois = GaloisKeys::from_bytes(plan.context(), &stored("rotate.galois")).expect("its keys");
    let matrix = PlainMatrix::from_bytes(&matrix, OPT_IN, isa).expect("its matrix");
    let vector = EncryptedVector::from_bytes(&plan, &vector).expect("its vector");
    let engine = CpuEngine::new();
    let prepared = engine.prepare_matrix(&plan, &matrix).expect("in range");
    let product = engine.prepare(&plan, &galois).expect("complete").multiply(&prepared, &vector).expect("a product");
    assert_eq!(product.decrypt(&key).expect("its key"), [5 - 12 - 14336, -5 + 14329]);
    require_insecure("product", EncryptedProduct::head(&product.to_bytes(), STRICT));
    EncryptedProduct::head(&product.to_bytes(), OPT_IN).expect("its own bytes");
}

/// The planner's own choice today has the security that the old one lacks.
#[test]
fn the_same_request_gets_a_secure_plan_today() {
    let old = Plan::from_bytes(&stored("rotate.plan"), OPT_IN, Isa::current()).expect("an old plan");
    let new = Plan::new(old.request(), Isa::current()).expect("a plan");
    assert!(new.explain().security_bits >= 128.0 && old.explain().security_bits < 128.0);
    assert_ne!(new.context().parameters().name, old.context().parameters().name);
    Plan::from_bytes(&new.to_bytes(), STRICT, Isa::current()).expect("it travels");
}

/// The body of a plan with one byte changed, sealed again.
fn patched(plan: &Plan, at: usize, byte: u8) -> Vec<u8> {
    let bytes = plan.to_bytes();
    let header = Header::decode(&bytes).expect("an envelope");
    let mut body = bytes[24..bytes.len() - 4].to_vec();
    body[at] = byte;
    seal(header.kind, header.version, &body)
}

/// A plan says which security was asked for; its set must have it.
#[test]
fn a_plan_of_less_security_than_it_states_is_refused() {
    let plan = Plan::new(&Request::new(64, 64), Isa::current()).expect("a plan");
    let bits = plan.explain().security_bits;
    assert!((128.0..192.0).contains(&bits), "{bits}");
    // The level is byte 10 of a request: 1 is 192 bits.
    let stronger = patched(&plan, 10, 1);
    let error = Plan::from_bytes(&stronger, STRICT, Isa::current()).map(drop).expect_err("150 bits at most");
    let name = plan.context().parameters().name.clone();
    assert!(
        matches!(&error, HmvpError::Plan(PlanError::Security { name: of, required: 192, .. }) if *of == name),
        "{error}"
    );
    let read = Plan::from_bytes(&stronger, OPT_IN, Isa::current()).expect("opted in");
    assert_eq!(read.request().security, SecurityLevel::Bits192);
}

/// A plan whose set has the name of other numbers is refused, whatever the policy.
#[test]
fn a_plan_under_a_foreign_name_is_refused() {
    let plan = Plan::new(&Request::new(64, 64), Isa::current()).expect("a plan");
    let name = plan.context().parameters().name.clone();
    assert!(name.starts_with("hmvp-n4096-1x"), "{name}");
    // The last digit of log2 t.
    let at = 24 + 4 + 1 + name.len() - 1;
    let changed = patched(&plan, at, b'9');
    for policy in [STRICT, OPT_IN] {
        let error = Plan::from_bytes(&changed, policy, Isa::current()).map(drop).expect_err("other numbers");
        assert!(matches!(&error, HmvpError::Plan(PlanError::Name { .. })), "{error}");
    }
    // Nor does a caller's set get one.
    let mut spec = plan.context().parameters().spec().clone();
    spec.plaintext_modulus *= 2;
    let set = ParameterSet::new(spec, STRICT).expect("sound numbers");
    let error = Plan::new(&Request { parameters: Some(set), ..Request::new(64, 64) }, Isa::current()).map(drop);
    assert!(matches!(error, Err(HmvpError::Plan(PlanError::Name { .. }))), "{error:?}");
}
