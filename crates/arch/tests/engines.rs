//! The engines of cycle models pass the conformance suites of their seams.

use ciphermill_arch::engines::{ModelPaillier, ModelTfhe};
use ciphermill_bigint::CoprocessorEngine;
use ciphermill_bigint::conformance::{Extent, check};
use ciphermill_tfhe::conformance::{Agreement, Case};
use ciphermill_tfhe::{Backend, CpuEngine, ParameterSet, SecurityPolicy, TfheEngine, TorusWidth};

#[test]
fn the_tfhe_engine_has_the_bits_of_the_exact_transform() {
    let case = Case::full_polynomials(TorusWidth::U64).unwrap();
    let reference = case.outputs(&*case.prepare(&CpuEngine::new(Backend::Ntt)).unwrap()).unwrap();
    let engine = ModelTfhe::new();
    let key = case.prepare(&engine).unwrap();
    case.compare(&case.outputs(&*key).unwrap(), &reference, Agreement::Bits).unwrap();
    case.check_program(&engine, &*key).unwrap();
    assert!(!key.take_costs().is_empty() && key.take_costs().is_empty());
}

#[test]
fn sets_beyond_the_engine_are_refused_by_name() {
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    for (name, bound) in [("TEST_SMALL_U64", "N = 4096 or N = 16384"), ("NVME_TFHE_PAPER_U32", "a torus of 64 bits")] {
        let refused = ModelTfhe::new().check(&ParameterSet::named(name, policy).unwrap()).unwrap_err().to_string();
        assert!(refused.contains(name) && refused.contains(bound), "{refused}");
    }
    assert!(ModelTfhe::new().check(&ParameterSet::named("NVME_TFHE_PAPER", policy).unwrap()).is_ok());
}

#[test]
fn the_paillier_engine_conforms() {
    let extent = Extent { bits: vec![1024], powers: 1, lengths: vec![2], limit: Some(1024), ..Extent::default() };
    check(&CoprocessorEngine::new(ModelPaillier::default()), &extent);
}
