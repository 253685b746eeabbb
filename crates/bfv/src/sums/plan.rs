//! The agreement between the parties, the aggregator and the key holder.

use std::fmt;

use ciphermill_math::Isa;

use super::request::SumRequest;
use super::search;
use super::terms::{Terms, log2_failure};
use crate::context::Context;
use crate::error::BfvError;

/// The most bytes of the ciphertexts of a sum in memory.
const MAX_BYTES: u64 = 1 << 32;

/// Sums with everything fixed. A pure function of the request.
///
/// # Example
/// ```
/// use ciphermill_bfv::sums::{Segment, SumPlan, SumRequest};
/// use ciphermill_math::Isa;
///
/// let request = SumRequest::new(vec![Segment { len: 100_000, bound: 1000 }], 8);
/// let plan = SumPlan::new(&request, Isa::current())?;
/// // Several totals of 14 bits in each coefficient.
/// assert!(plan.ciphertexts() * plan.context().n() < 100_000 / 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SumPlan {
    pub(super) terms: Terms,
    context: Context,
}

impl fmt::Debug for SumPlan {
    /// Without the tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SumPlan").field("terms", &self.terms).finish_non_exhaustive()
    }
}

impl PartialEq for SumPlan {
    fn eq(&self, other: &Self) -> bool {
        self.terms == other.terms
    }
}

impl SumPlan {
    /// Picks parameters and layout.
    ///
    /// # Errors
    /// If a number is out of range, no admissible parameters leave room for the totals, or the ciphertexts of a sum would take
    /// more than 4 GiB.
    pub fn new(request: &SumRequest, isa: Isa) -> Result<Self, BfvError> {
        request.validate()?;
        let terms = match &request.parameters {
            Some(parameters) => search::given(request, parameters)?,
            None => search::chosen(request)?,
        };
        Self::on_terms(terms, isa)
    }

    pub(super) fn on_terms(terms: Terms, isa: Isa) -> Result<Self, BfvError> {
        let needed = terms.sums_memory();
        if needed > MAX_BYTES {
            return Err(BfvError::Memory { what: "a sum's ciphertexts", needed, limit: MAX_BYTES });
        }
        let context = Context::new(&terms.parameters, isa)?;
        Ok(Self { terms, context })
    }

    /// The request.
    pub fn request(&self) -> &SumRequest {
        &self.terms.request
    }

    /// The parameter set with its tables.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Ciphertexts of a contribution, and of a sum.
    pub fn ciphertexts(&self) -> usize {
        self.terms.layout.ciphertexts(self.context.n())
    }

    /// d: the message is 2^d times the packed totals.
    pub fn shift(&self) -> u32 {
        self.terms.shift
    }

    /// log2 of the estimated probability that any total is wrong, with as many contributions as the plan has parties.
    ///
    /// The estimate is for independent Gaussian noise and takes the union bound over all coefficients. It is not a bound for
    /// the true noise, whose errors and keys have bounded magnitude and whose far tails the model does not describe. Below
    /// 2^-128 read it as "negligible": [`ModelProbability`](ciphermill_lattice::ModelProbability) prints it so.
    pub fn log2_failure(&self) -> f64 {
        let coefficients = self.ciphertexts() * self.context.n();
        log2_failure(self.context.n(), self.terms.request.parties, self.terms.shift, coefficients)
    }
}
