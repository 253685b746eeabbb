//! The co-simulated TFHE engine behind the seam: the same bits as the CPU's exact transform, in both orders of keys and in
//! whole programs, and the costs of its cycle model.

#[allow(dead_code, reason = "these tests draw no random numbers")]
mod support;

use ciphermill_arch::engines::ModelTfhe;
use ciphermill_cosim::engines::RtlTfhe;
use ciphermill_tfhe::conformance::{Agreement, Case};
use ciphermill_tfhe::{Backend, CpuEngine, TorusWidth};

#[test]
fn bootstraps_and_programs_have_the_bits_of_the_cpu_and_the_costs_of_the_model() {
    // Without such a configuration, the test below would see none.
    if support::with("tfhe_engine", "LogN", 14).is_none() {
        return;
    }
    support::each("tfhe_engine", |configuration| {
        if configuration.parameter("LogN") != 14 {
            return;
        }
        let case = Case::full_polynomials(TorusWidth::U64).unwrap();
        let reference = case.outputs(&*case.prepare(&CpuEngine::new(Backend::Ntt)).unwrap()).unwrap();
        let engine = RtlTfhe::new(configuration);
        let key = case.prepare(&engine).unwrap();
        let outputs = case.outputs(&*key).unwrap();
        case.compare(&outputs, &reference, Agreement::Bits).unwrap();
        case.check_program(&engine, &*key).unwrap();
        let costs = key.take_costs();
        let engine = ModelTfhe::new().with_circuits(configuration.parameter("Circuits") as u64).unwrap();
        let model = case.prepare(&engine).unwrap();
        case.compare(&case.outputs(&*model).unwrap(), &reference, Agreement::Bits).unwrap();
        case.check_program(&engine, &*model).unwrap();
        // The same jobs: the inputs in a batch, one of them alone, a program as a job and step by step, and again.
        assert_eq!(costs, model.take_costs(), "{configuration}");
        assert!(costs.len() >= 6, "{} costs", costs.len());
    });
}
