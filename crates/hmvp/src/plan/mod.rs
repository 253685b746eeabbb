//! What is computed how: the planner.

mod candidates;
mod choice;
mod cost;
mod explain;
mod request;
mod search;
mod terms;

use std::sync::Arc;

use ciphermill_math::Isa;

pub use explain::{Alternative, Explanation};
pub use request::{Encryption, MAX_FLOODING_BITS, PlanError, Request, Strategy};

pub(crate) use choice::{Choice, Layout};
pub(crate) use terms::Terms;

use super::Algorithm;
use crate::error::HmvpError;
use ciphermill_bfv::context::Context;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::keys::{GaloisRequest, PublicKey, SecretKey};

/// Everything that both sides of a product agree on. A pure function of the request and of nothing else, so that both
/// sides may make it themselves; or one side sends it. Plans are the same if their requests and choices are.
#[derive(Debug)]
pub struct Plan {
    terms: Terms,
    context: Context,
}

impl Plan {
    /// Picks strategy and parameters: of all that keep the request's bounds on failure and security, those whose product
    /// takes least time by [the planner's estimate](Explanation::estimated_us).
    ///
    /// # Errors
    /// If the request is out of range, or if no admissible parameters meet it.
    pub fn new(request: &Request, isa: Isa) -> Result<Self, HmvpError> {
        Self::on_terms(Terms::find(request)?, isa)
    }

    /// A plan with its tables.
    pub(crate) fn on_terms(terms: Terms, isa: Isa) -> Result<Self, HmvpError> {
        let context = Context::new(&terms.choice().parameters, isa)?;
        Ok(Self { terms, context })
    }

    /// What was asked for.
    pub fn request(&self) -> &Request {
        self.terms.request()
    }

    /// The strategy.
    pub fn strategy(&self) -> Strategy {
        self.choice().strategy()
    }

    /// The parameter set with its tables.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The Galois keys that the server needs.
    pub fn galois_requests(&self) -> Vec<GaloisRequest> {
        self.algorithm().galois_requests()
    }

    /// What the choice costs and why it was made.
    pub fn explain(&self) -> Explanation {
        explain::explain(&self.terms)
    }

    /// What was chosen.
    pub(crate) fn choice(&self) -> &Choice {
        self.terms.choice()
    }

    /// The plan without its tables.
    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The strategy at work.
    pub(crate) fn algorithm(&self) -> &dyn Algorithm {
        self.terms.algorithm()
    }

    /// log2 of the noise at which an entry of a product decrypts wrongly, Q/(2t) for the product's Q.
    pub(crate) fn noise_limit_bits(&self) -> f64 {
        self.terms.limit_bits()
    }

    /// log2 of the expected standard deviation of the noise of an entry; for an unsplit plan with that of re-randomising.
    pub(crate) fn noise_bits(&self) -> f64 {
        self.terms.judgement().noise_bits
    }

    /// An error unless `key` is of this plan's parameters.
    pub(crate) fn require_key(&self, key: &SecretKey) -> Result<(), BfvError> {
        self.context.require_parameters("the secret key", key.context().parameters().id())
    }

    /// An error unless `key` is of this plan's parameters.
    pub(crate) fn require_public_key(&self, key: &PublicKey) -> Result<(), BfvError> {
        self.context.require_parameters("the public key", key.context().parameters().id())
    }

    /// An error unless the plan has room for the noise of public-key encryption.
    pub(crate) fn require_public_encryption(&self) -> Result<(), HmvpError> {
        if self.request().encryption == Encryption::Public {
            return Ok(());
        }
        Err(BfvError::Unsupported {
            what: "encryption under the public key by a plan for encryption under the secret key, which has room for less \
                   noise; ask for a plan with public-key encryption"
                .to_owned(),
        }.into())
    }

    /// An error unless `other`, the plan of `what`, says the same as this one.
    pub(crate) fn require_same(&self, what: &'static str, other: &Arc<Plan>) -> Result<(), HmvpError> {
        let same = std::ptr::eq(self, &**other) || self.terms.agree(&other.terms);
        if same { Ok(()) } else { Err(HmvpError::WrongPlan { what }) }
    }

    /// An error unless `other` says the same for the same instruction set: the prepared forms of different ones do not
    /// go together.
    pub(crate) fn require_same_isa(&self, what: &'static str, other: &Arc<Plan>) -> Result<(), HmvpError> {
        if self.context.isa() == other.context.isa() {
            self.require_same(what, other)
        } else {
            Err(HmvpError::WrongPlan { what })
        }
    }
}
