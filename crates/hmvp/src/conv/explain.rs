//! The costs of a convolution, for people and for reports.

use std::fmt;

use ciphermill_bfv::explain::{bytes, security};
use ciphermill_lattice::ModelProbability;

use super::plan::{ConvPlan, noise_limit_bits};
use super::shape::Shape;

/// The costs of a convolution by a plan. All memory is that of the finished objects, known before any of it is allocated.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let shape = ConvShape {
///     channels: 1, height: 3, width: 3, kernels: 1, kernel_height: 2, kernel_width: 2, stride: 1, padding: 0,
/// };
/// let plan = Conv2dPlan::new(&Conv2dRequest::new(shape), Isa::current())?;
/// let explanation = plan.explain();
/// assert_eq!(explanation.plain_products, 1);
/// assert!(explanation.noise_bits < explanation.noise_limit_bits);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ConvExplanation {
    /// "convolution".
    pub strategy: &'static str,
    /// Name of the parameter set.
    pub parameters: String,
    /// N.
    pub polynomial_size: usize,
    /// log2 of the ciphertext modulus Q.
    pub ciphertext_bits: f64,
    /// t.
    pub plaintext_modulus: u64,
    /// Estimated security in bits: the lattice-estimator's figure, 0 if it has none for this N.
    pub security_bits: f64,
    /// The level that the homomorphic-encryption standard of 2018 gives the set; `None` below 128 bits.
    pub standard_bits: Option<u32>,
    /// Ciphertexts of an image.
    pub image_ciphertexts: usize,
    /// Ciphertexts of an output.
    pub output_ciphertexts: usize,
    /// Plaintexts of the kernels.
    pub kernel_plaintexts: usize,
    /// Products of a plaintext and a ciphertext.
    pub plain_products: usize,
    /// log2 of the expected standard deviation of the noise of an entry.
    pub noise_bits: f64,
    /// log2 of the noise at which decryption fails, Q/(2t).
    pub noise_limit_bits: f64,
    /// log2 of the estimated probability that any entry of an output is wrong, for independent Gaussian noise.
    pub log2_failure: f64,
    /// Bytes of the prepared kernels.
    pub kernels_bytes: u64,
    /// Bytes of the secret key in memory. The server needs no key.
    pub key_bytes: u64,
    /// Bytes of an encrypted image in memory.
    pub image_memory: u64,
    /// Bytes of an encrypted output in memory.
    pub output_memory: u64,
    /// Bytes of an encrypted image as sent.
    pub image_bytes: u64,
    /// Bytes of an encrypted output as sent.
    pub output_bytes: u64,
}

impl<S: Shape> ConvPlan<S> {
    /// The costs of the plan.
    pub fn explain(&self) -> ConvExplanation {
        let set = self.context().parameters();
        let limit = noise_limit_bits(set);
        let sent = set.sealed_ciphertext_len(self.context().top(), 2);
        let polynomial = self.polynomial_bytes();
        // Coefficients of 64 bits, and their spectra over the chain, which has no special primes or those of a given set.
        let key_words = self.context().n() * (1 + self.context().chain().len());
        ConvExplanation {
            strategy: "convolution",
            parameters: set.name.clone(),
            polynomial_size: self.context().n(),
            ciphertext_bits: limit + 1.0 + (set.plaintext_modulus as f64).log2(),
            plaintext_modulus: set.plaintext_modulus,
            security_bits: set.security().bits,
            standard_bits: set.standard_level().map(|level| level.bits()),
            image_ciphertexts: self.image_ciphertexts(),
            output_ciphertexts: self.output_ciphertexts(),
            kernel_plaintexts: self.layout.plaintexts(),
            plain_products: self.plain_products(),
            noise_bits: self.noise_std_dev().log2(),
            noise_limit_bits: limit,
            log2_failure: self.log2_failure(),
            kernels_bytes: self.layout.plaintexts() as u64 * polynomial,
            key_bytes: 8 * key_words as u64,
            image_memory: 2 * self.image_ciphertexts() as u64 * polynomial,
            output_memory: 2 * self.output_ciphertexts() as u64 * polynomial,
            image_bytes: self.image_ciphertexts() as u64 * sent,
            output_bytes: self.output_ciphertexts() as u64 * sent,
        }
    }
}

impl fmt::Display for ConvExplanation {
    /// One aligned line per fact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: String| writeln!(f, "{name:<24}{value}");
        line("strategy", self.strategy.to_owned())?;
        line("parameters", self.parameters.clone())?;
        line("N, log2 Q", format!("{}, {:.1}", self.polynomial_size, self.ciphertext_bits))?;
        line("plaintext modulus", self.plaintext_modulus.to_string())?;
        line("security", security(self.security_bits, self.standard_bits))?;
        line("ciphertexts", format!("image {}, output {}", self.image_ciphertexts, self.output_ciphertexts))?;
        line("plaintexts of kernels", self.kernel_plaintexts.to_string())?;
        line("plaintext products", self.plain_products.to_string())?;
        line("noise", format!("2^{:.1}, wrong from 2^{:.1} on", self.noise_bits, self.noise_limit_bits))?;
        line("failure probability", ModelProbability { log2: self.log2_failure }.to_string())?;
        let objects = format!("image {}, output {}", bytes(self.image_memory), bytes(self.output_memory));
        let prepared = format!("kernels {}, secret key {}", bytes(self.kernels_bytes), bytes(self.key_bytes));
        line("memory", format!("{prepared}, {objects}"))?;
        line("sent", format!("image {}, output {}", bytes(self.image_bytes), bytes(self.output_bytes)))
    }
}
