//! The costs of a sum, for people and for reports.

use std::fmt;

use ciphermill_lattice::ModelProbability;

use super::plan::SumPlan;
use super::terms::noise_std_dev;
use crate::explain::{bytes, security};

/// The costs of sums by a plan. All memory is known before any of it is allocated.
///
/// # Example
/// ```
/// use ciphermill_bfv::sums::{Segment, SumPlan, SumRequest};
/// use ciphermill_math::Isa;
///
/// let plan = SumPlan::new(&SumRequest::new(vec![Segment { len: 2, bound: 9 }], 2), Isa::current())?;
/// let explanation = plan.explain();
/// assert_eq!(explanation.sums_bytes, plan.sealed_sums_len());
/// assert!(explanation.noise_bits < explanation.noise_limit_bits);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SumExplanation {
    /// "sums".
    pub strategy: &'static str,
    /// Name of the parameter set.
    pub parameters: String,
    /// N.
    pub polynomial_size: usize,
    /// log2 of the ciphertext modulus Q.
    pub ciphertext_bits: f64,
    /// Estimated security in bits: the lattice-estimator's figure, 0 if it has none for this N.
    pub security_bits: f64,
    /// The level that the homomorphic-encryption standard of 2018 gives the set; `None` below 128 bits.
    pub standard_bits: Option<u32>,
    /// Ciphertexts of a contribution, and of a sum.
    pub ciphertexts: usize,
    /// log2 of the expected standard deviation of the noise of a sum of all parties.
    pub noise_bits: f64,
    /// log2 of the noise at which a total is wrong, 2^(d−1).
    pub noise_limit_bits: f64,
    /// log2 of the estimated probability that any total is wrong: see [`SumPlan::log2_failure`].
    pub log2_failure: f64,
    /// Bytes of a contribution, or of a sum, in memory.
    pub sums_memory: u64,
    /// Bytes of the secret key and the public key in memory.
    pub key_bytes: u64,
    /// Bytes of a contribution, or of a sum, as sent.
    pub sums_bytes: u64,
}

impl SumPlan {
    /// The costs of the plan.
    pub fn explain(&self) -> SumExplanation {
        let (context, set) = (self.context(), self.context().parameters());
        // The coefficients of the secret key, its spectrum, and both parts of the public key.
        let key_words = context.n() * (1 + 3 * context.chain().len());
        SumExplanation {
            strategy: "sums",
            parameters: set.name.clone(),
            polynomial_size: context.n(),
            ciphertext_bits: set.ciphertext_moduli.iter().map(|&q| (q as f64).log2()).sum(),
            security_bits: set.security().bits,
            standard_bits: set.standard_level().map(|level| level.bits()),
            ciphertexts: self.ciphertexts(),
            noise_bits: noise_std_dev(context.n(), self.request().parties).log2(),
            noise_limit_bits: f64::from(self.shift()) - 1.0,
            log2_failure: self.log2_failure(),
            sums_memory: self.terms.sums_memory(),
            key_bytes: 8 * key_words as u64,
            sums_bytes: self.sealed_sums_len(),
        }
    }
}

impl fmt::Display for SumExplanation {
    /// One aligned line per fact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: String| writeln!(f, "{name:<24}{value}");
        line("strategy", self.strategy.to_owned())?;
        line("parameters", self.parameters.clone())?;
        line("N, log2 Q", format!("{}, {:.1}", self.polynomial_size, self.ciphertext_bits))?;
        line("security", security(self.security_bits, self.standard_bits))?;
        line("ciphertexts", self.ciphertexts.to_string())?;
        line("noise", format!("2^{:.1}, wrong from 2^{:.1} on", self.noise_bits, self.noise_limit_bits))?;
        line("failure probability", ModelProbability { log2: self.log2_failure }.to_string())?;
        line("memory", format!("sum {}, keys {}", bytes(self.sums_memory), bytes(self.key_bytes)))?;
        line("sent", format!("sum {}", bytes(self.sums_bytes)))
    }
}
