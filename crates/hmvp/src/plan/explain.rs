//! The costs of a plan, for people and for reports.

use ciphermill_lattice::ModelProbability;
use std::fmt;

use super::cost::{product_us, total};
use super::request::Strategy;
use super::{Terms, search};
use crate::serial;
use ciphermill_bfv::explain::{bytes, security};

/// The costs of a product by a plan.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let explanation: Explanation = plan.explain();
/// assert_eq!(explanation.vector_bytes, vector.to_bytes().len() as u64);
/// assert_eq!(explanation.product_bytes, keys.multiply(&matrix, &vector)?.to_bytes().len() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Explanation {
    /// The strategy.
    pub strategy: Strategy,
    /// Name of the parameter set.
    pub parameters: String,
    /// N.
    pub polynomial_size: usize,
    /// log2 of the ciphertext modulus Q.
    pub ciphertext_bits: f64,
    /// log2 of the product of the whole chain.
    pub chain_bits: f64,
    /// t.
    pub plaintext_modulus: u64,
    /// Estimated security in bits: the lattice-estimator's figure, 0 if it has none for this N.
    pub security_bits: f64,
    /// The level that the homomorphic-encryption standard of 2018 gives the set; `None` below 128 bits.
    pub standard_bits: Option<u32>,
    /// Parts of a matrix entry.
    pub matrix_parts: usize,
    /// Parts of a vector entry.
    pub vector_parts: usize,
    /// Products of a plaintext and a ciphertext.
    pub plain_products: u64,
    /// Key switches that share the digits of their input with others.
    pub hoisted_key_switches: u64,
    /// The other key switches.
    pub key_switches: u64,
    /// Transforms of N words during a product (matrix prepared).
    pub ntts: u64,
    /// Transforms of N words to prepare the matrix.
    pub prepare_ntts: u64,
    /// log2 of the expected standard deviation of the noise of an entry.
    pub noise_bits: f64,
    /// log2 of the noise at which decryption fails, Q/(2t).
    pub noise_limit_bits: f64,
    /// log2 of the probability that any entry of the product is wrong.
    pub log2_failure: f64,
    /// Bytes of the prepared matrix.
    pub matrix_bytes: u64,
    /// Bytes of the Galois keys in memory.
    pub key_bytes: u64,
    /// Bytes of an encrypted vector as sent.
    pub vector_bytes: u64,
    /// Bytes of a product as sent.
    pub product_bytes: u64,
    /// Microseconds of a product on one thread by the planner's estimate, whose constants are those of one machine.
    pub estimated_us: f64,
    /// The strategies that were weighed, and why each was not taken.
    pub alternatives: Vec<Alternative>,
}

/// A strategy that was weighed.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let alternatives: Vec<Alternative> = plan.explain().alternatives;
/// assert_eq!(alternatives.len(), 3, "all strategies but the chosen one");
/// assert!(alternatives.iter().all(|other| other.strategy != plan.strategy() && !other.reason.is_empty()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Alternative {
    /// The strategy.
    pub strategy: Strategy,
    /// Its estimated time relative to the one taken; `None` if it cannot be used.
    pub relative_cost: Option<f64>,
    /// Why it was not taken.
    pub reason: String,
}

pub(super) fn explain(terms: &Terms) -> Explanation {
    let (request, choice, algorithm) = (terms.request(), terms.choice(), terms.algorithm());
    let (set, costs) = (&choice.parameters, total(choice, algorithm));
    let judgement = terms.judgement();
    let time = product_us(choice, algorithm);
    let others = Strategy::ALL.into_iter().filter(|strategy| *strategy != choice.strategy());
    let alternatives = others.map(|strategy| match search::best_of(request, strategy) {
        Ok(found) => Alternative {
            strategy,
            relative_cost: Some(found.time / time),
            reason: if request.strategy.is_some() {
                format!("{} was asked for", choice.strategy().name())
            } else {
                format!("takes {:.1} times as long by estimate", found.time / time)
            },
        },
        Err(error) => Alternative { strategy, relative_cost: None, reason: error.to_string() },
    });
    Explanation {
        strategy: choice.strategy(),
        parameters: set.name.clone(),
        polynomial_size: set.polynomial_size.get(),
        ciphertext_bits: judgement.limit_bits + 1.0 + (set.plaintext_modulus as f64).log2(),
        chain_bits: set.chain_bits(),
        plaintext_modulus: set.plaintext_modulus,
        security_bits: set.security().bits,
        standard_bits: set.standard_level().map(|level| level.bits()),
        matrix_parts: choice.matrix_parts.len(),
        vector_parts: choice.vector_parts.len(),
        plain_products: costs.plain_products,
        hoisted_key_switches: costs.hoisted_key_switches,
        key_switches: costs.key_switches,
        ntts: costs.ntts,
        prepare_ntts: costs.prepare_ntts,
        noise_bits: judgement.noise_bits,
        noise_limit_bits: judgement.limit_bits,
        log2_failure: judgement.log2_failure,
        matrix_bytes: costs.matrix_bytes,
        key_bytes: costs.key_bytes,
        vector_bytes: serial::vector_len(terms),
        product_bytes: serial::product_len(terms),
        estimated_us: time,
        alternatives: alternatives.collect(),
    }
}

impl fmt::Display for Explanation {
    /// One aligned line per fact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: String| writeln!(f, "{name:<24}{value}");
        line("strategy", self.strategy.name().to_owned())?;
        line("parameters", self.parameters.clone())?;
        line(
            "N, log2 Q, log2 QP",
            format!("{}, {:.1}, {:.1}", self.polynomial_size, self.ciphertext_bits, self.chain_bits),
        )?;
        line("plaintext modulus", self.plaintext_modulus.to_string())?;
        line("security", security(self.security_bits, self.standard_bits))?;
        line("parts of entries", format!("matrix {}, vector {}", self.matrix_parts, self.vector_parts))?;
        line("plaintext products", self.plain_products.to_string())?;
        line("key switches", format!("{} hoisted, {} others", self.hoisted_key_switches, self.key_switches))?;
        line("transforms", format!("{} a product, {} to prepare the matrix", self.ntts, self.prepare_ntts))?;
        line("noise", format!("2^{:.1}, wrong from 2^{:.1} on", self.noise_bits, self.noise_limit_bits))?;
        line("failure probability", ModelProbability { log2: self.log2_failure }.to_string())?;
        line("memory", format!("matrix {}, keys {}", bytes(self.matrix_bytes), bytes(self.key_bytes)))?;
        line("sent", format!("vector {}, product {}", bytes(self.vector_bytes), bytes(self.product_bytes)))?;
        line("estimated time", format!("{:.0} us on one thread", self.estimated_us))?;
        for other in &self.alternatives {
            line(&format!("not {}", other.strategy.name()), other.reason.clone())?;
        }
        Ok(())
    }
}
