//! What is computed how: the planner.

use ciphermill_math::Isa;

use super::Algorithm;
use crate::context::Context;
use crate::error::BfvError;
use crate::keys::GaloisRequest;
use crate::parameters::{ParameterError, ParameterSet, SecurityLevel};

/// How a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// The paper's algorithm 1: a product per row, its constant coefficient extracted as an LWE ciphertext, and the LWE
    /// ciphertexts packed.
    Algorithm1,
    /// Entries in slots, a product and log2(n) rotations per N entries (C. Juvekar, V. Vaikuntanathan, A. Chandrakasan,
    /// "GAZELLE", USENIX Security 2018).
    RotateAndSum,
    /// Entries in slots by diagonals, with baby and giant steps (S. Halevi, V. Shoup, CRYPTO 2014 and 2018).
    Diagonal,
    /// Many rows per plaintext, the packing split into baby steps before and giant steps after the products, both hoisted.
    RowPacked,
}

impl Strategy {
    /// All, in the order of the design page.
    pub const ALL: [Strategy; 4] =
        [Strategy::Algorithm1, Strategy::RotateAndSum, Strategy::Diagonal, Strategy::RowPacked];

    /// Its name in command lines and reports: `algorithm1`, `rotate-and-sum`, `diagonal`, `row-packed`.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Algorithm1 => "algorithm1",
            Strategy::RotateAndSum => "rotate-and-sum",
            Strategy::Diagonal => "diagonal",
            Strategy::RowPacked => "row-packed",
        }
    }
}

/// How vectors are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encryption {
    /// Under the secret key: less noise, half the size.
    Secret,
    /// Under the public key.
    Public,
}

/// What is wanted of a product.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// m, 1 to [`MAX_DIMENSION`](super::MAX_DIMENSION).
    pub rows: usize,
    /// n, likewise.
    pub cols: usize,
    /// Matrix entries are in [−2^(b−1), 2^(b−1)), 2 to 32.
    pub matrix_bits: u32,
    /// So are vector entries, 2 to 32.
    pub vector_bits: u32,
    /// Against classical attacks, by the standard's table.
    pub security: SecurityLevel,
    /// Who encrypts.
    pub encryption: Encryption,
    /// A strategy, or the planner's choice.
    pub strategy: Option<Strategy>,
    /// A named parameter set or one of the caller's, or the planner's choice.
    pub parameters: Option<ParameterSet>,
    /// log2 of the greatest acceptable probability that any entry of a product is wrong.
    pub log2_failure: f64,
    /// Whether the product must be one integer modulo t: then entries are not split, so that shares of the product can be
    /// formed modulo t.
    pub unsplit: bool,
    /// Further bits that Q/(2t) must leave above the noise, for flooding it.
    pub flooding_bits: u32,
}

impl Request {
    /// An 8-bit product of 128-bit security by the planner's choice, failing with a probability of at most 2^-64.
    pub fn new(rows: usize, cols: usize) -> Self {
        Self {
            rows,
            cols,
            matrix_bits: 8,
            vector_bits: 8,
            security: SecurityLevel::Bits128,
            encryption: Encryption::Secret,
            strategy: None,
            parameters: None,
            log2_failure: -64.0,
            unsplit: false,
            flooding_bits: 0,
        }
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The matrix does not fit.
    #[error("{what} is {given}, allowed are {min} to {max}")]
    Range {
        /// The number.
        what: &'static str,
        /// Its value.
        given: usize,
        /// Smallest admissible value.
        min: usize,
        /// Largest admissible value.
        max: usize,
    },
    /// The plaintext modulus cannot hold a product.
    #[error(
        "plaintext modulus {given} cannot tell all products apart: {cols} terms of {matrix_bits} by {vector_bits} bits need \
         t of at least {needed}"
    )]
    PlaintextModulus {
        /// t.
        given: u64,
        /// n.
        cols: usize,
        /// Bits of a matrix entry.
        matrix_bits: u32,
        /// Bits of a vector entry.
        vector_bits: u32,
        /// The least t that would do.
        needed: u128,
    },
    /// No parameter set does it.
    #[error("no parameter set for this product: {what}")]
    NoParameters {
        /// What stands in the way, and what would help.
        what: String,
    },
    /// The parameter set that was given, or one that was tried, is not admissible.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
}

/// Everything that both sides of a product agree on. A pure function of the request and of nothing else, so that both
/// sides may make it themselves.
#[derive(Debug)]
pub struct Plan {
    pub(crate) request: Request,
    pub(crate) strategy: Strategy,
    pub(crate) context: Context,
    /// Bits of each part of a matrix entry, lowest first: an entry is Σ part_i·2^(bits of the parts before), all parts
    /// signed. One part unless the plan splits.
    pub(crate) matrix_parts: Vec<u32>,
    /// So for vector entries.
    pub(crate) vector_parts: Vec<u32>,
    pub(crate) algorithm: Box<dyn Algorithm>,
}

impl Plan {
    /// Picks strategy and parameters.
    ///
    /// # Errors
    /// If the request is out of range, or if no admissible parameters meet it.
    pub fn new(request: &Request, isa: Isa) -> Result<Self, BfvError> {
        let _ = (request, isa);
        todo!()
    }

    /// What was asked for.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The strategy.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The parameter set with its tables.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The Galois keys that the server needs.
    pub fn galois_requests(&self) -> Vec<GaloisRequest> {
        self.algorithm.galois_requests()
    }

    /// What the choice costs and why it was made.
    pub fn explain(&self) -> Explanation {
        todo!()
    }
}

/// What a product by a plan costs.
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
    /// Bits of security by the standard's table; `None` below 128.
    pub security_bits: Option<u32>,
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
    /// The strategies that were weighed, and why each was not taken.
    pub alternatives: Vec<Alternative>,
}

/// A strategy that was weighed.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Alternative {
    /// The strategy.
    pub strategy: Strategy,
    /// Its estimated time relative to the one taken; `None` if it cannot be used.
    pub relative_cost: Option<f64>,
    /// Why it was not taken.
    pub reason: String,
}
