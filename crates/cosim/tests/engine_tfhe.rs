//! The co-simulated TFHE engine behind the seam: the same bits as the CPU's exact transform, in both orders of keys.

#[allow(dead_code, reason = "these tests draw no random numbers")]
mod support;

use ciphermill_cosim::engines::RtlTfhe;
use ciphermill_tfhe::conformance::{Agreement, Case};
use ciphermill_tfhe::{Backend, CpuEngine, TorusWidth};

#[test]
fn bootstraps_have_the_bits_of_the_cpu() {
    support::each("tfhe_engine", |configuration| {
        if configuration.parameter("LogN") != 14 {
            return;
        }
        let case = Case::full_polynomials(TorusWidth::U64).unwrap();
        let reference = case.outputs(&*case.prepare(&CpuEngine::new(Backend::Ntt)).unwrap()).unwrap();
        let key = case.prepare(&RtlTfhe::new(configuration)).unwrap();
        let outputs = case.outputs(&*key).unwrap();
        case.compare(&outputs, &reference, Agreement::Bits).unwrap();
    });
}
