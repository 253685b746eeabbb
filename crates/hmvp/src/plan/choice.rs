//! The planner's choice and its judgement.

use super::names;
use super::request::{PlanError, Request, Strategy};
use crate::algorithm1::Algorithm1;
use crate::diagonal::Diagonal;
use crate::error::HmvpError;
use crate::rotate_and_sum::RotateAndSum;
use crate::row_packed::{RowPacked, RowPackedOptions};
use crate::{Algorithm, Operands, parts};
use ciphermill_bfv::error::require_range;
use ciphermill_bfv::noise;
use ciphermill_bfv::parameters::{ParameterSet, SecurityPolicy};

/// A strategy with what only it has to choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Layout {
    Algorithm1,
    RotateAndSum,
    Diagonal,
    RowPacked(RowPackedOptions),
}

/// Everything about a plan that does not follow from its request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) layout: Layout,
    pub(crate) parameters: ParameterSet,
    /// Bits of each part of a matrix entry, lowest first: see [`parts`].
    pub(crate) matrix_parts: Vec<u32>,
    /// So for vector entries.
    pub(crate) vector_parts: Vec<u32>,
}

/// The least t for which the residue of a sum of `cols` products of such parts determines the sum: n·2^(a+v−1) + 1. A
/// sum is at most n·2^(a−1)·2^(v−1) in magnitude and takes both signs, so that t > 2·n·|A|·|v| is needed. Products of
/// entries −2^(a−1) and −2^(v−1) reach the positive bound, which ⌊(t−1)/2⌋ must not fall below.
pub(super) fn needed_modulus(cols: usize, matrix_bits: u32, vector_bits: u32) -> u128 {
    ((cols as u128) << (matrix_bits + vector_bits - 1)) + 1
}

impl Choice {
    pub(crate) fn strategy(&self) -> Strategy {
        match self.layout {
            Layout::Algorithm1 => Strategy::Algorithm1,
            Layout::RotateAndSum => Strategy::RotateAndSum,
            Layout::Diagonal => Strategy::Diagonal,
            Layout::RowPacked(_) => Strategy::RowPacked,
        }
    }

    /// The widest part of a matrix entry and of a vector entry.
    fn widest(&self) -> (u32, u32) {
        (widest(&self.matrix_parts), widest(&self.vector_parts))
    }

    /// Products of one matrix part and one vector part.
    pub(crate) fn pairs(&self) -> u64 {
        (self.matrix_parts.len() * self.vector_parts.len()) as u64
    }

    /// The strategy at work. Makes no tables.
    ///
    /// # Errors
    /// If the strategy cannot use the set, or has no room for all entries of the request.
    pub(super) fn algorithm(&self, request: &Request) -> Result<Box<dyn Algorithm>, HmvpError> {
        let (rows, cols, set) = (request.rows, request.cols, &self.parameters);
        let algorithm: Box<dyn Algorithm> = match self.layout {
            Layout::Algorithm1 => Box::new(Algorithm1::new(rows, cols, set)?),
            Layout::RotateAndSum => Box::new(RotateAndSum::new(rows, cols, set)?),
            Layout::Diagonal => Box::new(Diagonal::new(rows, cols, set)?),
            Layout::RowPacked(options) => Box::new(RowPacked::new(rows, cols, set, options)?),
        };
        // A part may be 2^(bits − 1) of either sign.
        let (given, max) = (1u64 << (self.widest().0 - 1), algorithm.max_entry());
        require_range("magnitude of a matrix entry", given, 0, max)?;
        Ok(algorithm)
    }

    /// An error unless the choice is one for this request, whatever its noise. `policy` may accept less security than the
    /// request asks for, as old plans have it.
    pub(super) fn require_agreement(&self, request: &Request, policy: SecurityPolicy) -> Result<(), PlanError> {
        let unmet = |what: &str| {
            Err(PlanError::NoParameters { what: format!("the plan's {what} differs from the requested {what}") })
        };
        if request.strategy.is_some_and(|strategy| strategy != self.strategy()) {
            return unmet("strategy");
        }
        match &request.parameters {
            Some(given) if *given != self.parameters => return unmet("parameter set"),
            _ => {}
        }
        names::require_own(&self.parameters)?;
        if !self.parameters.keeps(request.security) && policy == SecurityPolicy::Require128Bits {
            let (name, bits) = (self.parameters.name.clone(), self.parameters.security().bits);
            return Err(PlanError::Security { name, bits, required: request.security.bits() });
        }
        for (bits, chosen) in [(request.matrix_bits, &self.matrix_parts), (request.vector_bits, &self.vector_parts)] {
            let count = chosen.len() as u32;
            let most = if request.unsplit { 1 } else { bits.div_ceil(super::candidates::LEAST_PART_BITS) };
            if !(1..=most).contains(&count) || *chosen != parts::part_bits(bits, count) {
                return unmet("splitting of entries");
            }
        }
        let (matrix_bits, vector_bits) = self.widest();
        let needed = needed_modulus(request.cols, matrix_bits, vector_bits);
        let given = self.parameters.plaintext_modulus;
        if u128::from(given) < needed {
            return Err(PlanError::PlaintextModulus { given, cols: request.cols, matrix_bits, vector_bits, needed });
        }
        Ok(())
    }
}

pub(super) fn widest(parts: &[u32]) -> u32 {
    parts.iter().copied().max().unwrap_or(0)
}

/// The expected noise of a choice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judgement {
    /// log2 of the standard deviation of the noise of an entry.
    pub(crate) noise_bits: f64,
    /// log2 of Q/(2t).
    pub(crate) limit_bits: f64,
    /// log2 of the probability that any entry of the product is wrong, flooded as the request says.
    pub(crate) log2_failure: f64,
}

/// log2 of Q/(2t) for the Q of a product.
pub(super) fn limit_bits(parameters: &ParameterSet, algorithm: &dyn Algorithm) -> f64 {
    let q: f64 = parameters.chain().take(algorithm.product_limbs()).map(|q| (q as f64).log2()).sum();
    q - 1.0 - (parameters.plaintext_modulus as f64).log2()
}

/// Predicts the noise of `choice`, whose algorithm is `algorithm`.
pub(super) fn judge(request: &Request, choice: &Choice, algorithm: &dyn Algorithm) -> Judgement {
    let (matrix_bits, _) = choice.widest();
    let mut std_dev =
        algorithm.noise_std_dev(&Operands { matrix_bits, encryption: request.encryption, summands: request.summands });
    if request.unsplit {
        let n = choice.parameters.polynomial_size.get() as f64;
        std_dev = std_dev.hypot(noise::zero_variance(n).sqrt());
    }
    let limit_bits = limit_bits(&choice.parameters, algorithm);
    let entries = request.rows as f64 * choice.pairs() as f64;
    let left = limit_bits - flooded_bits(request.flooding_bits);
    Judgement { noise_bits: std_dev.log2(), limit_bits, log2_failure: noise::log2_failure(left, std_dev, entries) }
}

/// log2 of how many times its bound noise is that was flooded with uniform noise of 2^`flooding_bits` times that bound.
pub(crate) fn flooded_bits(flooding_bits: u32) -> f64 {
    if flooding_bits == 0 { 0.0 } else { (1.0 + f64::from(flooding_bits).exp2()).log2() }
}

impl Judgement {
    /// Whether the request's bound on failure is kept.
    pub(super) fn keeps(&self, request: &Request) -> bool {
        self.log2_failure <= request.log2_failure
    }

    /// The expected noise, in words.
    pub(super) fn says(&self, request: &Request) -> String {
        let flooding = match request.flooding_bits {
            0 => String::new(),
            bits => format!(" after {bits} bits of flooding"),
        };
        format!(
            "noise of 2^{:.1} where 2^{:.1} decrypts wrongly{flooding}, so that a product is wrong with a probability of \
             2^{:.1}, at most 2^{:.1} is asked for",
            self.noise_bits, self.limit_bits, self.log2_failure, request.log2_failure
        )
    }

    /// An error unless it is.
    pub(super) fn require(&self, request: &Request) -> Result<(), PlanError> {
        if self.keeps(request) {
            return Ok(());
        }
        let what = format!("the plan's set has {}", self.says(request));
        Err(PlanError::NoParameters { what })
    }
}
