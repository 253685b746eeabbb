//! TFHE's transfer functions: ranges of messages and bounds on noise, from the operands of an instruction to its result.

use ciphermill_program::{Effect, Fact, Facts, Instruction, LogProbability, Operands, VrId};
use ciphermill_tfhe::ciphertext::LweElements;
use ciphermill_tfhe::circuit::Split;
use ciphermill_tfhe::judgement::log2_p_output;
use ciphermill_tfhe::noise::word::WordNoise;
use ciphermill_tfhe::serial::BOUNDS_LEN;
use ciphermill_tfhe::{
    Bounds, Ciphertext, Encoding, KeyOrder, MessageRange, NoiseName, NoiseSum, ParameterSet, RangeError, Table,
    TestVector, TestVectorElements, TfheError,
};

use super::super::downcast;
use super::{Shape, TV, opcode, words};
use crate::handler::{HandlerError, Premises};

/// The statements of a stored ciphertext.
#[derive(Clone, Copy, Debug)]
struct Stated {
    bounds: Bounds,
    choice: KeyOrder,
    /// By its words, so that copies have one name.
    name: NoiseName,
}

impl Fact for Stated {
    fn memory_bytes(&self) -> u64 {
        size_of::<Self>() as u64
    }
}

/// The knowledge about a ciphertext in a program.
#[derive(Clone, Debug)]
struct Known {
    range: Option<MessageRange>,
    noise: NoiseSum,
    choice: KeyOrder,
}

impl Fact for Known {
    fn memory_bytes(&self) -> u64 {
        size_of::<Self>() as u64 + self.noise.memory_bytes()
    }
}

/// The table of a test vector, if it states its encodings.
#[derive(Debug)]
struct Tabulated {
    table: Option<Table>,
    /// By its coefficients.
    name: NoiseName,
}

impl Fact for Tabulated {
    fn memory_bytes(&self) -> u64 {
        size_of::<Self>() as u64 + self.table.as_ref().map_or(0, Table::memory_bytes)
    }
}

/// The facts of a test vector or ciphertext.
pub(super) fn facts(id: VrId, bytes: &[u8]) -> Result<Facts, TfheError> {
    if id.type_code == TV {
        let vector = TestVector::from_bytes(bytes)?;
        return Ok(Facts::new(Tabulated { table: Table::of(&vector)?, name: vector_name(&vector) }));
    }
    let ciphertext = Ciphertext::from_bytes(bytes)?;
    let name = match ciphertext.elements() {
        LweElements::U32(lwe) => NoiseName::of(&lwe.elements()),
        LweElements::U64(lwe) => NoiseName::of(&lwe.elements()),
    };
    Ok(Facts::new(Stated { bounds: ciphertext.bounds(), choice: ciphertext.choice(), name }))
}

fn vector_name(vector: &TestVector) -> NoiseName {
    match vector.elements() {
        TestVectorElements::U32(body) => NoiseName::of(&body.coefficients()),
        TestVectorElements::U64(body) => NoiseName::of(&body.coefficients()),
    }
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
    if let Some(Stated { bounds, .. }) = facts.get() {
        return *bounds;
    }
    let Some(Known { range, noise, .. }) = facts.get() else { return Bounds::UNKNOWN };
    Bounds::new(*range, noise.stated_variance()).unwrap_or(Bounds::UNKNOWN)
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
        let exact = |known: Known| Effect { facts: Facts::new(known), ..Effect::default() };
        match (instruction.opcode(), instruction.operands(), operands) {
            (opcode::BOOTSTRAP, Operands::Two(tv, n), [table, input]) => {
                self.bootstrap((tv, table.get()), (n, self.known(input)))
            }
            (opcode::HOM_ADD, Operands::Two(n1, _), [lhs, rhs]) => {
                self.linear(n1, (lhs, rhs), NoiseSum::add, MessageRange::add).map(exact)
            }
            (opcode::HOM_SUB, Operands::Two(n1, _), [lhs, rhs]) => {
                self.linear(n1, (lhs, rhs), NoiseSum::sub, MessageRange::sub).map(exact)
            }
            (opcode::HOM_INT_MULT, Operands::Factor(n, factor), [input]) => {
                let Known { range, noise, choice } = self.known(input);
                let range = range.map(|range| range.scale(factor)).transpose().map_err(|error| outside(n, error))?;
                Ok(exact(Known { range, noise: noise.scale(factor), choice }))
            }
            (opcode::SPLIT, Operands::Two(_, n), [integer]) => self.split(n, self.known(integer)),
            _ => Ok(Effect::default()),
        }
    }

    /// The word of an integer. Its range says which bits it has, so that it is never assumed.
    fn split(&self, n: VrId, Known { range, noise, choice }: Known) -> Result<Effect, HandlerError> {
        let range = range.ok_or_else(|| no_range(n))?;
        let split = Split::of(&range).map_err(|error| outside(n, error))?;
        if choice != KeyOrder::Big {
            let what = "an integer is split under the big key, and it is under the small one".to_owned();
            return Err(HandlerError::Operand { id: n, what });
        }
        // The verifier has seen the key; one without words is refused by the run.
        let words = self.parameters.and_then(|parameters| WordNoise::new(parameters));
        let (variance, failure) = match words {
            Some(words) => (words.split(), LogProbability::new(words.log2_p_split(split, noise.variance()))),
            None => (f64::INFINITY, LogProbability::UNKNOWN),
        };
        Ok(Effect { facts: words::of_word(split.digits(), variance), failure, ..Effect::default() })
    }

    /// The probability that a ciphertext decrypts to another message.
    pub(super) fn output(&self, id: VrId, facts: &Facts) -> Result<LogProbability, HandlerError> {
        let Known { range, noise, .. } = self.known(facts);
        let Some(range) = range.or_else(|| self.assumed()) else {
            return if self.assume_range { Ok(LogProbability::UNKNOWN) } else { Err(no_range(id)) };
        };
        Ok(LogProbability::new(log2_p_output(&range, noise.variance())))
    }

    /// The knowledge about a ciphertext. A stored one has a variance of at least that of a fresh encryption. Without a stored
    /// key the parameter set is not known: the stated variance counts, and all operands may depend on each other.
    fn known(&self, facts: &Facts) -> Known {
        if let Some(known) = facts.get::<Known>() {
            return known.clone();
        }
        let Some(Stated { bounds, choice, name }) = facts.get().copied() else {
            let noise = NoiseSum::dependent(NoiseName::of(&"unknown"), f64::INFINITY);
            return Known { range: None, noise, choice: KeyOrder::Big };
        };
        let noise = match self.parameters {
            Some(parameters) => parameters.stated_noise(name, bounds.variance().unwrap_or(0.0), choice),
            None => NoiseSum::dependent(name, bounds.variance().unwrap_or(f64::INFINITY)),
        };
        Known { range: bounds.range(), noise, choice }
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
        noise: impl Fn(&NoiseSum, &NoiseSum) -> NoiseSum,
        range: impl Fn(&MessageRange, &MessageRange) -> Result<MessageRange, RangeError>,
    ) -> Result<Known, HandlerError> {
        let (lhs, rhs) = (self.known(lhs), self.known(rhs));
        let ranges = lhs.range.zip(rhs.range);
        let range = ranges.map(|(lhs, rhs)| range(&lhs, &rhs)).transpose().map_err(|error| outside(id, error))?;
        Ok(Known { range, noise: noise(&lhs.noise, &rhs.noise), choice: lhs.choice })
    }

    fn bootstrap(&self, table: (VrId, Option<&Tabulated>), input: (VrId, Known)) -> Result<Effect, HandlerError> {
        let ((tv, tabulated), (n, Known { range, noise, choice })) = (table, input);
        let table = tabulated.and_then(|tabulated| tabulated.table.as_ref());
        if !self.assume_range {
            table.ok_or_else(|| no_encodings(tv))?;
            range.ok_or_else(|| no_range(n))?;
        }
        // The verifier has seen the key.
        let Some(parameters) = self.parameters else { return Ok(Effect::default()) };
        let input = Bounds::UNKNOWN.with_range(range);
        let result = parameters.bootstrap_bounds(&input, table, choice).map_err(|error| outside(n, error))?;
        let looked_up = range.or_else(|| table.map(|table| MessageRange::of(&table.encodings().input)));
        let failure = match looked_up.or_else(|| self.assumed()) {
            Some(range) => LogProbability::new(parameters.log2_p_lookup(&range, noise.variance(), choice)),
            None => LogProbability::UNKNOWN,
        };
        // Equal operands and tables give equal words.
        let name = NoiseName::of(&(tabulated.map(|tabulated| tabulated.name), noise.name()));
        let noise = parameters.bootstrapped_noise(name, choice);
        let facts = Facts::new(Known { range: result.range(), noise, choice });
        Ok(Effect { facts, failure, ..Effect::default() })
    }
}

fn outside(id: VrId, error: RangeError) -> HandlerError {
    HandlerError::Range { id, what: error.to_string() }
}

pub(super) fn no_range(id: VrId) -> HandlerError {
    HandlerError::UnknownRange { id, what: "the ciphertext does not state the range of its message".to_owned() }
}

fn no_encodings(id: VrId) -> HandlerError {
    HandlerError::UnknownRange { id, what: "the test vector does not state its encodings".to_owned() }
}
