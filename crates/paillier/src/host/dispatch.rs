//! The third stage: jobs to the engine, and its answers checked.

use ciphermill_bigint::{EngineError, Exponents, IntegerBatch, TrustedEngine};

use super::Refusal;
use super::answer::answer;
use super::constants::Constants;
use super::plan::{Factors, Job};

/// The job's integers, if it gives any. Whatever fails, nothing is given.
pub(super) fn dispatch(engine: &TrustedEngine, job: &Job) -> Result<Option<IntegerBatch>, Refusal> {
    match job {
        Job::Nothing => Ok(None),
        Job::Multiply { constants, left, right } => {
            let product = constants.prepared.multiply(left, right);
            answer(engine, constants, left.len().max(right.len()), product).map(Some)
        }
        Job::Pow { constants, bases, exponents } => {
            let powers = constants.prepared.pow(bases, exponents);
            answer(engine, constants, bases.len(), powers).map(Some)
        }
        Job::Encrypt { constants, units, blinding } => {
            let factors = answer(engine, constants, units.len(), factors(constants, blinding, units.len()))?;
            let product = constants.prepared.multiply(units, &factors);
            answer(engine, constants, units.len(), product).map(Some)
        }
    }
}

fn factors(constants: &Constants, blinding: &Factors, len: usize) -> Result<IntegerBatch, EngineError> {
    match blinding {
        Factors::Strict { bases, n } => constants.prepared.pow(bases, n),
        Factors::Djn { exponents } => {
            // The plan has seen that the key has a base.
            let key = constants.key.as_ref().expect("a key");
            let base = key.base.as_ref().expect("a key with a base");
            match &base.powers {
                Some(powers) => constants.prepared.pow_fixed(powers, exponents),
                None => {
                    let bases = IntegerBatch::concat(&vec![base.value.clone(); len]);
                    let bits = key.public.blinding_exponent_bits();
                    constants.prepared.pow(&bases, &Exponents::each(exponents.clone(), bits)?)
                }
            }
        }
    }
}
