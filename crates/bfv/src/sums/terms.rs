//! The numbers of a plan, and their judgement.

use num_bigint::BigUint;

use super::layout::{Layout, width};
use super::request::SumRequest;
use crate::error::BfvError;
use crate::noise;
use crate::parameters::{ParameterSet, ParameterSpec};

/// The numbers of a plan.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Terms {
    pub(super) request: SumRequest,
    pub(super) parameters: ParameterSet,
    /// d, the bits below the message.
    pub(super) shift: u32,
    pub(super) layout: Layout,
}

/// log2 of Q, rounded down: messages and noise together have to stay below Q/2.
fn modulus_bits(spec: &ParameterSpec) -> u32 {
    let q: BigUint = spec.ciphertext_moduli.iter().map(|&q| BigUint::from(q)).product();
    q.bits() as u32 - 1
}

/// log2 of the probability that any of `coefficients` sums of `parties` contributions has noise of 2^(shift − 1) or more, for
/// independent Gaussian noise.
pub(super) fn log2_failure(n: usize, parties: u32, shift: u32, coefficients: usize) -> f64 {
    noise::log2_failure(f64::from(shift) - 1.0, noise_std_dev(n, parties), coefficients as f64)
}

/// The standard deviation of the noise of a sum of `parties` contributions.
pub(super) fn noise_std_dev(n: usize, parties: u32) -> f64 {
    (f64::from(parties) * noise::zero_variance(n as f64)).sqrt()
}

impl Terms {
    /// Bytes of the ciphertexts of a sum in memory.
    pub(super) fn sums_memory(&self) -> u64 {
        let n = self.parameters.polynomial_size.get();
        (8 * 2 * n * self.parameters.ciphertext_moduli.len() * self.layout.ciphertexts(n)) as u64
    }

    /// The terms with these choices, judged by the request; the request is valid.
    ///
    /// # Errors
    /// If they do not meet it.
    pub(super) fn judged(request: &SumRequest, parameters: ParameterSet, shift: u32) -> Result<Self, BfvError> {
        let unsupported = |what: String| Err(BfvError::Unsupported { what });
        if request.parameters.is_none() && !parameters.keeps(request.security) {
            let (name, bits) = (&parameters.name, request.security.bits());
            return unsupported(format!(
                "sums by {name} at a security of {bits} bits; use a smaller modulus or a larger N"
            ));
        }
        let capacity = modulus_bits(&parameters).saturating_sub(shift);
        let Some(layout) = Layout::new(request, capacity) else {
            let widest = request.segments.iter().map(|segment| width(request.greatest_total(segment))).max();
            return unsupported(format!(
                "totals of {} bits by {}, which has room for {capacity}; use a larger modulus, smaller bounds or fewer parties",
                widest.unwrap_or(0),
                parameters.name
            ));
        };
        let n = parameters.polynomial_size.get();
        let failure = log2_failure(n, request.parties, shift, layout.ciphertexts(n) * n);
        if failure > request.log2_failure {
            return unsupported(format!(
                "{shift} bits for noise, with which a total is wrong with a probability of 2^{failure:.1}; asked for was at \
                 most 2^{}",
                request.log2_failure
            ));
        }
        Ok(Self { request: request.clone(), parameters, shift, layout })
    }
}
