//! A plan without tables.

use super::choice::{Choice, Judgement, judge, limit_bits};
use super::request::Request;
use super::search;
use crate::Algorithm;
use crate::error::HmvpError;
use ciphermill_bfv::parameters::SecurityPolicy;

/// The agreement of both sides of a product: the request, the choice, and the strategy. The shapes of all objects
/// follow from it.
#[derive(Debug)]
pub(crate) struct Terms {
    request: Request,
    choice: Choice,
    algorithm: Box<dyn Algorithm>,
}

impl Terms {
    /// The planner's choice.
    pub(super) fn find(request: &Request) -> Result<Self, HmvpError> {
        request.validate()?;
        let found = search::best(request)?;
        Ok(Self { request: request.clone(), choice: found.choice, algorithm: found.algorithm })
    }

    /// Judges choices that came from outside as the planner's own candidates. They may differ from the choice that the
    /// planner would make.
    ///
    /// # Errors
    /// If the request is out of range, or the choices do not meet it.
    pub(crate) fn judged(request: Request, choice: Choice, policy: SecurityPolicy) -> Result<Self, HmvpError> {
        request.validate()?;
        choice.require_agreement(&request, policy)?;
        let algorithm = choice.algorithm(&request)?;
        judge(&request, &choice, &*algorithm).require(&request)?;
        Ok(Self { request, choice, algorithm })
    }

    pub(crate) fn request(&self) -> &Request {
        &self.request
    }

    pub(crate) fn choice(&self) -> &Choice {
        &self.choice
    }

    pub(crate) fn algorithm(&self) -> &dyn Algorithm {
        &*self.algorithm
    }

    /// Whether these are the same terms.
    pub(super) fn agree(&self, other: &Self) -> bool {
        self.request == other.request && self.choice == other.choice
    }

    /// The expected noise.
    pub(crate) fn judgement(&self) -> Judgement {
        judge(&self.request, &self.choice, &*self.algorithm)
    }

    /// log2 of Q/(2t) for the Q of a product.
    pub(super) fn limit_bits(&self) -> f64 {
        limit_bits(&self.choice.parameters, &*self.algorithm)
    }
}
