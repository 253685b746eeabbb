//! Requests to the planner.

use crate::MAX_DIMENSION;
pub use ciphermill_bfv::encryption::Encryption;
use ciphermill_bfv::parameters::{ParameterError, ParameterSet, SecurityLevel};

/// How a product is computed.
///
/// # Example
/// ```
/// use ciphermill_hmvp::Strategy;
///
/// assert_eq!(Strategy::ALL.map(Strategy::name), ["algorithm1", "rotate-and-sum", "diagonal", "row-packed"]);
/// ```
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

    /// Whether entries are in slots, so that t must be a prime that is 1 modulo 2N.
    pub(super) fn is_batched(self) -> bool {
        matches!(self, Strategy::RotateAndSum | Strategy::Diagonal)
    }
}

/// A request for a product.
///
/// # Example
/// ```
/// use ciphermill_hmvp::{Plan, Request, Strategy};
/// use ciphermill_math::Isa;
///
/// let request = Request { strategy: Some(Strategy::Diagonal), vector_bits: 12, ..Request::new(64, 100) };
/// assert_eq!(Plan::new(&request, Isa::current())?.strategy(), Strategy::Diagonal);
/// assert!(Plan::new(&Request::new(0, 100), Isa::current()).is_err(), "use 1 to 16384 rows");
/// # Ok::<(), ciphermill_hmvp::HmvpError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// m, 1 to [`MAX_DIMENSION`].
    pub rows: usize,
    /// n, likewise.
    pub cols: usize,
    /// Matrix entries are in [−2^(b−1), 2^(b−1)), 2 to 32.
    pub matrix_bits: u32,
    /// So are vector entries, 2 to 32. Entries of products must fit 64-bit integers: n·2^(b_matrix + b_vector − 2) < 2^63.
    pub vector_bits: u32,
    /// Against classical attacks, by the [lattice-estimator's figures](ciphermill_bfv::parameters::estimate).
    pub security: SecurityLevel,
    /// Who encrypts.
    pub encryption: Encryption,
    /// A strategy, or the planner's choice.
    pub strategy: Option<Strategy>,
    /// A named parameter set or one of the caller's, or the planner's choice. A set that was admitted below 128 bits is
    /// taken as it is; the explanation says so.
    pub parameters: Option<ParameterSet>,
    /// log2 of the greatest acceptable probability that any entry of a product is wrong, −1000 to −1.
    pub log2_failure: f64,
    /// Whether the product must be one integer modulo t: then entries are not split, so that shares of the product can be
    /// formed modulo t, and there is room for the noise of re-randomising it.
    pub unsplit: bool,
    /// log2 of how many times the noise's bound uniform noise that floods it may be, at most
    /// [`MAX_FLOODING_BITS`]; 0 for no flooding. That much room Q/(2t) leaves.
    pub flooding_bits: u32,
    /// The greatest number of encryptions that a vector is the sum of ([`EncryptedVector::add`](crate::EncryptedVector::add)),
    /// at most [`MAX_SUMMANDS`]; 1 for no sums.
    pub summands: u32,
}

/// The greatest [`Request::summands`].
pub const MAX_SUMMANDS: u32 = 256;

/// The greatest [`Request::flooding_bits`].
pub const MAX_FLOODING_BITS: u32 = 256;

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
            summands: 1,
        }
    }

    /// An error unless everything is in its range.
    pub(super) fn validate(&self) -> Result<(), PlanError> {
        let range = |what, given, min, max| {
            if (min..=max).contains(&given) { Ok(()) } else { Err(PlanError::Range { what, given, min, max }) }
        };
        range("number of rows", self.rows, 1, MAX_DIMENSION)?;
        range("number of columns", self.cols, 1, MAX_DIMENSION)?;
        range("bits of a matrix entry", self.matrix_bits as usize, 2, 32)?;
        range("bits of a vector entry", self.vector_bits as usize, 2, 32)?;
        let greatest = (self.cols as u128) << (self.matrix_bits + self.vector_bits - 2);
        let max = 64 - self.cols.next_power_of_two().trailing_zeros() as usize;
        if greatest > i64::MAX as u128 {
            let given = (self.matrix_bits + self.vector_bits) as usize;
            let what = "the sum of the bits of a matrix entry and a vector entry (an entry of the product has 64 bits)";
            return Err(PlanError::Range { what, given, min: 4, max });
        }
        range("number of summands of a vector", self.summands as usize, 1, MAX_SUMMANDS as usize)?;
        range("bits for flooding", self.flooding_bits as usize, 0, MAX_FLOODING_BITS as usize)?;
        if (-1000.0..=-1.0).contains(&self.log2_failure) {
            Ok(())
        } else {
            Err(PlanError::Failure { given: self.log2_failure })
        }
    }
}

/// Why there is no plan.
///
/// # Example
/// ```
/// use ciphermill_hmvp::{HmvpError, Plan, PlanError, Request};
/// use ciphermill_math::Isa;
///
/// let error = Plan::new(&Request::new(0, 100), Isa::current()).expect_err("a matrix without rows");
/// assert!(matches!(error, HmvpError::Plan(PlanError::Range { given: 0, min: 1, max: 16384, .. })));
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The matrix does not fit.
    #[error("{what} is {given}; use {min} to {max}")]
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
    /// The failure probability is none that can be asked for.
    #[error("log2 of the failure probability is {given}; use -1000 to -1")]
    Failure {
        /// The request.
        given: f64,
    },
    /// The plaintext modulus cannot hold a product.
    #[error(
        "plaintext modulus {given} is too small for the product: {cols} terms of {matrix_bits} by {vector_bits} bits need \
         t of at least {needed}"
    )]
    PlaintextModulus {
        /// t.
        given: u64,
        /// n.
        cols: usize,
        /// Bits of a matrix entry, or of the widest part of one.
        matrix_bits: u32,
        /// Bits of a vector entry, or of the widest part of one.
        vector_bits: u32,
        /// The least t that would do.
        needed: u128,
    },
    /// A set is less secure than the request asks for.
    #[error(
        "parameter set {name} has an estimated security of {bits:.1} bits, the request asks for {required}; ask for less, use \
         another set, or opt in to insecure parameters explicitly"
    )]
    Security {
        /// The set.
        name: String,
        /// Its estimated security.
        bits: f64,
        /// The request.
        required: u32,
    },
    /// A set has a name that the planner gives to other numbers.
    #[error("parameter set {name} has not the numbers that its name states; give it another name")]
    Name {
        /// The name.
        name: String,
    },
    /// No parameter set does it.
    #[error("no parameter set for this product: {what}")]
    NoParameters {
        /// The obstacle and its remedy.
        what: String,
    },
    /// The parameter set that was given, or one that was tried, is not admissible.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
}
