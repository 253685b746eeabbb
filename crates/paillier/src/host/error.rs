//! Why a stream, or one instruction of it, is refused.

use std::time::Duration;

use ciphermill_bigint::{BigIntError, EngineError};
use ciphermill_wire::WireError;

use super::Slot;
use crate::error::PaillierError;
use crate::random::RandomError;

/// A stream that could not be read. Nothing of it was executed.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_paillier::host::{Limits, StreamError};
/// let request = Request { instructions: vec![] }.encode();
/// let error = Request::decode(&request[1..], &Limits::default()).expect_err("a byte is missing");
/// assert!(matches!(error, StreamError::Wire(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The envelope is damaged, of another kind, or larger than the limit.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// There are too many instructions.
    #[error("the stream has {given} instructions, the limit is {limit}; split it")]
    Instructions {
        /// Instructions that the stream declares.
        given: u64,
        /// The most that are read.
        limit: u64,
    },
    /// A field of an instruction, or of its result, is wrong.
    #[error("instruction {index}, field {field}: {cause}")]
    Field {
        /// Which instruction, from 0 on.
        index: usize,
        /// Which field of it.
        field: &'static str,
        /// The reason.
        cause: FieldError,
    },
}

/// The reason why a field is refused.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_paillier::host::{FieldError, Limits, StreamError};
/// let n = IntegerBatch::from_words(8, key.n().to_vec());
/// let set_key = Instruction::SetKey { slot: Slot(16), n, blinding_base: None };
/// let request = Request { instructions: vec![set_key] }.encode();
/// // The slots are numbered from 0 to 15.
/// let Err(StreamError::Field { field, cause, .. }) = Request::decode(&request, &Limits::default()) else { panic!() };
/// assert_eq!((field, cause), ("slot", FieldError::Bound { given: 16, min: 0, max: 15 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// The instruction ends before the field does.
    #[error("{needed} bytes needed, {available} available")]
    Truncated {
        /// Bytes that the field takes.
        needed: u64,
        /// Bytes that are left.
        available: u64,
    },
    /// The instruction goes on after its last field.
    #[error("{given} bytes follow the last field")]
    Trailing {
        /// Bytes that are left.
        given: u64,
    },
    /// The value means nothing.
    #[error("{given} means nothing")]
    Unknown {
        /// The value.
        given: u64,
    },
    /// The value is out of range.
    #[error("{given} lies outside {min} to {max}")]
    Bound {
        /// The value.
        given: u64,
        /// The least that is accepted.
        min: u64,
        /// The greatest that is accepted.
        max: u64,
    },
    /// A message is not UTF-8.
    #[error("not UTF-8")]
    Text,
}

/// Why one instruction was refused, or failed; it has no result then, and the others are not touched by it.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_paillier::host::{Refusal, Status};
/// let refusal = Refusal::SlotEmpty { slot: Slot(3) };
/// assert_eq!(refusal.status(), Status::Slot);
/// assert_eq!(refusal.to_string(), "slot 3 is empty; set a key or a modulus first");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The time of the request was over before the instruction began.
    #[error("the time of a request, {limit:?}, is over; send fewer instructions or smaller operands")]
    Late {
        /// The time.
        limit: Duration,
    },
    /// Nothing was put into the slot, or what should have been was refused.
    #[error("slot {slot} is empty; set a key or a modulus first")]
    SlotEmpty {
        /// The slot.
        slot: Slot,
    },
    /// The slot holds a bare modulus.
    #[error("slot {slot} holds a modulus; this instruction needs a key")]
    NoKey {
        /// The slot.
        slot: Slot,
    },
    /// The key, its sizes or its base are refused.
    #[error(transparent)]
    Key(PaillierError),
    /// DJN blinding was asked for, with a key that has no base for it.
    #[error("the key in slot {slot} has no base for DJN blinding; ask for strict blinding")]
    NoBlindingBase {
        /// The slot.
        slot: Slot,
    },
    /// An operand is out of range.
    #[error("{operand} {element} is not {range}")]
    Range {
        /// Which operand.
        operand: &'static str,
        /// Which element of it.
        element: usize,
        /// The required value.
        range: &'static str,
    },
    /// A ciphertext is not a unit.
    #[error("{operand} {element} shares a factor with n: no encryption gives it")]
    NotUnit {
        /// Which operand.
        operand: &'static str,
        /// Which element of it.
        element: usize,
    },
    /// An operand has a shape that no stream can bring, as an empty batch has.
    #[error("{field}: {cause}")]
    Field {
        /// Which field of the instruction.
        field: &'static str,
        /// The reason.
        cause: FieldError,
    },
    /// Two operands do not go together.
    #[error("{left} elements cannot be paired with {right}; equal numbers, or one on either side, can")]
    Length {
        /// Elements on the left.
        left: usize,
        /// Elements on the right.
        right: usize,
    },
    /// The results of the stream would be larger than allowed.
    #[error("{needed} bytes of results, {left} of {limit} are left to this stream; split it")]
    Results {
        /// Bytes of this instruction's result.
        needed: u64,
        /// Bytes that the instructions before it have left.
        left: u64,
        /// Bytes of all results at most.
        limit: u64,
    },
    /// Operands that the arithmetic refuses.
    #[error(transparent)]
    Operands(#[from] BigIntError),
    /// The engine failed.
    #[error(transparent)]
    Engine(EngineError),
    /// The engine's answer cannot be right.
    #[error("the engine {engine} answered with {what}")]
    Answer {
        /// Its name.
        engine: String,
        /// The reason why its answer is refused.
        what: &'static str,
    },
    /// No randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
}

impl From<PaillierError> for Refusal {
    fn from(error: PaillierError) -> Self {
        Self::Key(error)
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Operands(error) => Self::Operands(error),
            error => Self::Engine(error),
        }
    }
}

/// How an instruction ended, as a number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Status {
    /// It has its result.
    Done = 0,
    /// The slot holds nothing, or nothing that fits the instruction.
    Slot = 1,
    /// The key or modulus is refused.
    Key = 2,
    /// An operand is refused.
    Operand = 3,
    /// The engine failed.
    Engine = 4,
    /// The operating system gave no randomness.
    Random = 5,
    /// The time of the request was over.
    Late = 6,
}

impl Status {
    /// The status of that number.
    ///
    /// # Example
    /// ```
    /// use ciphermill_paillier::host::Status;
    ///
    /// assert_eq!(Status::from_code(3), Some(Status::Operand));
    /// assert_eq!(Status::from_code(7), None);
    /// ```
    pub fn from_code(code: u16) -> Option<Self> {
        let all = [Self::Done, Self::Slot, Self::Key, Self::Operand, Self::Engine, Self::Random, Self::Late];
        all.into_iter().find(|&status| status as u16 == code)
    }
}

impl Refusal {
    /// The status that goes over the wire.
    pub fn status(&self) -> Status {
        match self {
            Self::SlotEmpty { .. } | Self::NoKey { .. } => Status::Slot,
            Self::Key(_) | Self::NoBlindingBase { .. } => Status::Key,
            Self::Range { .. }
            | Self::NotUnit { .. }
            | Self::Field { .. }
            | Self::Length { .. }
            | Self::Results { .. }
            | Self::Operands(_)
            | Self::Engine(EngineError::ModulusBits { .. } | EngineError::ExponentBits { .. }) => Status::Operand,
            Self::Engine(_) | Self::Answer { .. } => Status::Engine,
            Self::Random(_) => Status::Random,
            Self::Late { .. } => Status::Late,
        }
    }
}
