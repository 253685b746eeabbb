//! TFHE's transfer functions: ranges of messages and bounds on noise, from the operands of an instruction to its result.

use ciphermill_program::{Effect, Fact, Facts, Instruction, LogProbability, Operands, VrId};
use ciphermill_tfhe::judgement::log2_p_output;
use ciphermill_tfhe::noise::fresh_variance;
use ciphermill_tfhe::serial::BOUNDS_LEN;
use ciphermill_tfhe::{
    Bounds, Ciphertext, Encoding, KeyOrder, MessageRange, ParameterSet, RangeError, Table, TestVector, TfheError,
};

use super::super::downcast;
use super::{Shape, TV, opcode};
use crate::handler::{HandlerError, Premises};

/// The statements of a ciphertext.
#[derive(Clone, Copy, Debug)]
struct Stated {
    bounds: Bounds,
    choice: KeyOrder,
}

impl Fact for Stated {
    fn memory_bytes(&self) -> u64 {
        size_of::<Self>() as u64
    }
}

/// The table of a test vector, if it states its encodings.
#[derive(Debug)]
struct Tabulated(Option<Table>);

impl Fact for Tabulated {
    fn memory_bytes(&self) -> u64 {
        size_of::<Self>() as u64 + self.0.as_ref().map_or(0, Table::memory_bytes)
    }
}

/// The facts of a test vector or ciphertext.
pub(super) fn facts(id: VrId, bytes: &[u8]) -> Result<Facts, TfheError> {
    if id.type_code == TV {
        return Ok(Facts::new(Tabulated(Table::of(&TestVector::from_bytes(bytes)?)?)));
    }
    let ciphertext = Ciphertext::from_bytes(bytes)?;
    Ok(Facts::new(Stated { bounds: ciphertext.bounds(), choice: ciphertext.choice() }))
}

/// The size of a ciphertext in the newest version of its format.
pub(super) fn newest_size(facts: &Facts, size: u64) -> u64 {
    match facts.get::<Stated>() {
        Some(Stated { bounds: Bounds::UNSTATED, .. }) => size + BOUNDS_LEN,
        _ => size,
    }
}

/// The bounds that a result states.
pub(super) fn result_bounds(facts: &Facts) -> Bounds {
    facts.get().map_or(Bounds::UNKNOWN, |Stated { bounds, .. }| *bounds)
}

/// The rules under the premises of a run.
pub(super) struct Rules<'a> {
    parameters: Option<&'a ParameterSet>,
    assume_range: bool,
}

impl<'a> Rules<'a> {
    pub(super) fn new(premises: Premises<'a>) -> Self {
        let parameters = downcast::<Shape>(premises.shape).map(|shape| &shape.parameters);
        Self { parameters, assume_range: premises.assume_range }
    }

    /// The facts of the result, and the probability that a bootstrap looks up another message.
    pub(super) fn effect(&self, instruction: &Instruction, operands: &[Facts]) -> Result<Effect, HandlerError> {
        let exact = |stated| Effect { facts: Facts::new(stated), failure: LogProbability::NEVER };
        match (instruction.opcode(), instruction.operands(), operands) {
            (opcode::BOOTSTRAP, Operands::Two(tv, n), [table, input]) => {
                let table = table.get().and_then(|Tabulated(table)| table.as_ref());
                self.bootstrap((tv, table), (n, self.stated(input)))
            }
            (opcode::HOM_ADD, Operands::Two(n1, _), [lhs, rhs]) => {
                self.linear(n1, (lhs, rhs), Bounds::add, MessageRange::add).map(exact)
            }
            (opcode::HOM_SUB, Operands::Two(n1, _), [lhs, rhs]) => {
                self.linear(n1, (lhs, rhs), Bounds::sub, MessageRange::sub).map(exact)
            }
            (opcode::HOM_INT_MULT, Operands::Factor(n, factor), [input]) => {
                let Stated { bounds, choice } = self.stated(input);
                bounds.range().map(|range| range.scale(factor)).transpose().map_err(|error| outside(n, error))?;
                Ok(exact(Stated { bounds: bounds.scale(factor), choice }))
            }
            _ => Ok(Effect::default()),
        }
    }

    /// The probability that a ciphertext decrypts to another message.
    pub(super) fn output(&self, id: VrId, facts: &Facts) -> Result<LogProbability, HandlerError> {
        let bounds = self.stated(facts).bounds;
        let Some(range) = bounds.range().or_else(|| self.assumed()) else {
            return if self.assume_range { Ok(LogProbability::UNKNOWN) } else { Err(no_range(id)) };
        };
        Ok(LogProbability::new(log2_p_output(&range, bounds.variance().unwrap_or(f64::INFINITY))))
    }

    /// The statements of a ciphertext, with a variance of at least that of a fresh encryption. Without a stored key the parameter
    /// set is not known, and the stated variance counts.
    fn stated(&self, facts: &Facts) -> Stated {
        let unknown = Stated { bounds: Bounds::UNKNOWN, choice: KeyOrder::Big };
        let Stated { bounds, choice } = facts.get().copied().unwrap_or(unknown);
        let raised = |parameters: &ParameterSet| bounds.at_least(fresh_variance(parameters, choice));
        Stated { bounds: self.parameters.map_or(bounds, raised), choice }
    }

    /// The range of the set's own messages, where ranges may be assumed.
    fn assumed(&self) -> Option<MessageRange> {
        let parameters = self.parameters.filter(|_| self.assume_range)?;
        Encoding::unsigned(parameters.message_bits, true).ok().map(|encoding| MessageRange::of(&encoding))
    }

    fn linear(
        &self,
        id: VrId,
        (lhs, rhs): (&Facts, &Facts),
        bounds: impl Fn(&Bounds, &Bounds) -> Bounds,
        range: impl Fn(&MessageRange, &MessageRange) -> Result<MessageRange, RangeError>,
    ) -> Result<Stated, HandlerError> {
        let (lhs, rhs) = (self.stated(lhs), self.stated(rhs));
        let ranges = lhs.bounds.range().zip(rhs.bounds.range());
        ranges.map(|(lhs, rhs)| range(&lhs, &rhs)).transpose().map_err(|error| outside(id, error))?;
        Ok(Stated { bounds: bounds(&lhs.bounds, &rhs.bounds), choice: lhs.choice })
    }

    fn bootstrap(&self, table: (VrId, Option<&Table>), input: (VrId, Stated)) -> Result<Effect, HandlerError> {
        let ((tv, table), (n, Stated { bounds, choice })) = (table, input);
        if !self.assume_range {
            table.ok_or_else(|| no_encodings(tv))?;
            bounds.range().ok_or_else(|| no_range(n))?;
        }
        // The verifier has seen the key.
        let Some(parameters) = self.parameters else { return Ok(Effect::default()) };
        let result = parameters.bootstrap_bounds(&bounds, table, choice).map_err(|error| outside(n, error))?;
        let looked_up = bounds.range().or_else(|| table.map(|table| MessageRange::of(&table.encodings().input)));
        let failure = match looked_up.or_else(|| self.assumed()) {
            Some(range) => {
                let variance = bounds.variance().unwrap_or(f64::INFINITY);
                LogProbability::new(parameters.log2_p_lookup(&range, variance, choice))
            }
            None => LogProbability::UNKNOWN,
        };
        Ok(Effect { facts: Facts::new(Stated { bounds: result, choice }), failure })
    }
}

fn outside(id: VrId, error: RangeError) -> HandlerError {
    HandlerError::Range { id, what: error.to_string() }
}

fn no_range(id: VrId) -> HandlerError {
    HandlerError::UnknownRange { id, what: "the ciphertext does not state the range of its message".to_owned() }
}

fn no_encodings(id: VrId) -> HandlerError {
    HandlerError::UnknownRange { id, what: "the test vector does not state its encodings".to_owned() }
}
