//! Checks of an engine's answers.

use ciphermill_bigint::{EngineError, IntegerBatch, TrustedEngine, limbs};

use super::Refusal;
use super::constants::Constants;

/// An answer of the right shape, below the modulus: an engine is another machine, and its answers are checked.
pub(super) fn answer(
    engine: &TrustedEngine,
    constants: &Constants,
    len: usize,
    given: Result<IntegerBatch, EngineError>,
) -> Result<IntegerBatch, Refusal> {
    let given = given?;
    if given.len() != len {
        return Err(wrong(engine, "another number of integers"));
    }
    if given.limbs() != constants.modulus.len() {
        return Err(wrong(engine, "integers of another width"));
    }
    if given.rows().any(|row| limbs::less_than(row, &constants.modulus) == 0) {
        return Err(wrong(engine, "an integer that is not below the modulus"));
    }
    Ok(given)
}

/// The reasons why an answer cannot be right.
pub(super) fn wrong(engine: &TrustedEngine, what: &'static str) -> Refusal {
    Refusal::Answer { engine: engine.info().name.into_owned(), what }
}
