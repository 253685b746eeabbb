//! Errors of the device.

use crate::{
    handler::HandlerError,
    memory::MemoryError,
    store::{SpaceId, StoreError},
};
use ciphermill_program::{DecodeError, Instruction, InstructionSetError, KeyId, TypeCode, VerifyError, VrId};
use std::time::Duration;

/// Why the device refused or failed an operation. Unless a variant says otherwise, everything is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The configuration cannot work.
    #[error("device configuration: {what}")]
    Configuration {
        /// The setting, and the rule for it.
        what: String,
    },
    /// The type code belongs to no handler.
    #[error("register {id} has the unknown object type {}; known types: {known}", id.type_code)]
    UnknownType {
        /// The register.
        id: VrId,
        /// The known codes and their names.
        known: String,
    },
    /// Two handlers claim one type code, or a handler claims one of the device's own.
    #[error("the handlers {first} and {second} both claim object type {code}")]
    DuplicateType {
        /// The code.
        code: TypeCode,
        /// Who claimed it first.
        first: &'static str,
        /// Who claimed it too.
        second: &'static str,
    },
    /// The instructions of the handlers do not go together.
    #[error("the handlers' instructions: {0}")]
    InstructionSet(#[from] InstructionSetError),
    /// The object is larger than the device takes, or the program longer.
    #[error(
        "register {id} was declared with {size} bytes, its limit is {limit}; raise max_object_bytes, for \
         programs max_program_instructions"
    )]
    TooLarge {
        /// The register.
        id: VrId,
        /// Declared size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A program was written to a register that is not a program register.
    #[error("register {id} is not a program register; the program of key {} is 0:{}:0", id.key_id, id.key_id)]
    NotAProgramRegister {
        /// The register.
        id: VrId,
    },
    /// The bytes are not a program.
    #[error("register {id}: {source}")]
    InvalidProgram {
        /// The register.
        id: VrId,
        /// The error.
        #[source]
        source: DecodeError,
    },
    /// A computed read of an object whose type computes nothing on reads.
    #[error("reading register {id} computes nothing: its type is {name}; read it as stored")]
    NotComputable {
        /// The register.
        id: VrId,
        /// Name of its type.
        name: &'static str,
    },
    /// A computed read without a program.
    #[error("register {id} cannot be computed: its program register {program} is empty; write a program first")]
    NoProgram {
        /// The register.
        id: VrId,
        /// The program register.
        program: VrId,
    },
    /// A program failed. The triggering register and the store are as they were.
    #[error("program {program} of space {space} failed for register {trigger}: {cause}")]
    ProgramFailed {
        /// The space.
        space: SpaceId,
        /// The program register.
        program: VrId,
        /// The register whose read or write ran it.
        trigger: VrId,
        /// Why it failed. Boxed, so that a result costs little where nothing fails.
        #[source]
        cause: Box<RunError>,
    },
    /// A program that was given to run or to check, rather than stored, failed.
    #[error("the program failed in space {space}: {cause}")]
    GivenProgramFailed {
        /// The space.
        space: SpaceId,
        /// Why it failed. Boxed, so that a result costs little where nothing fails.
        #[source]
        cause: Box<RunError>,
    },
    /// The read would disarm a one-shot object, and its caller may not change the object.
    #[error(
        "a read of {id} would disarm it, which changes it; read it as it is stored, or have it computed by request"
    )]
    WouldDisarm {
        /// The register.
        id: VrId,
    },
    /// Too many programs wait already, or too many of the space.
    #[error("{running} programs run and {waiting} wait, which is the limit; try again later")]
    Busy {
        /// Programs running.
        running: usize,
        /// Programs waiting; those of the space if it is its share that is used up.
        waiting: usize,
    },
    /// There is no memory to check an object of more than 1 MiB.
    #[error("register {id} cannot be checked: {source}")]
    NoMemory {
        /// The register.
        id: VrId,
        /// Why.
        #[source]
        source: KeyMemoryError,
    },
    /// The scheme refused the object.
    #[error(transparent)]
    Handler(HandlerError),
    /// The store failed or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Main memory cannot be set up.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl DeviceError {
    /// Whether the device had no room at the moment: the same request may succeed later.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        match self {
            Self::Busy { .. } => true,
            Self::NoMemory { source, .. } => !matches!(source, KeyMemoryError::TooLarge { .. }),
            Self::ProgramFailed { cause, .. } | Self::GivenProgramFailed { cause, .. } => {
                matches!(
                    **cause,
                    RunError::KeyMemory { source: KeyMemoryError::Busy { .. } | KeyMemoryError::InUse { .. }, .. }
                )
            }
            _ => false,
        }
    }
}

impl From<HandlerError> for DeviceError {
    /// A read that failed in the store is the store's failure, not the scheme's.
    fn from(error: HandlerError) -> Self {
        match error.store_error() {
            Some(store) => Self::Store(store.clone()),
            None => Self::Handler(error),
        }
    }
}

/// Errors of the memory for keys and prepared operands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyMemoryError {
    /// It never fits.
    #[error(
        "it takes {needed} bytes while it is loaded, and all loaded keys together may take {limit}; use more key memory (--key-memory)"
    )]
    TooLarge {
        /// Bytes that loading takes at most.
        needed: u64,
        /// The budget in bytes.
        limit: u64,
    },
    /// Running programs hold the memory for longer than a program waits, or other spaces have a right to it.
    #[error(
        "{needed} bytes of key memory were not free within {waited:?}: {used} of {limit} are in use; try again later"
    )]
    Busy {
        /// Bytes that loading takes at most.
        needed: u64,
        /// Bytes in use.
        used: u64,
        /// The budget in bytes.
        limit: u64,
        /// The wait.
        waited: Duration,
    },
    /// Another program loads the same key, or its memory goes to a space that has a right to it.
    #[error(
        "it was not ready within {waited:?}: another program loads it, or another space needs its memory; try again later"
    )]
    InUse {
        /// The wait.
        waited: Duration,
    },
}

/// Why a program failed.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // The operands of the program are not stored.
/// let Err(DeviceError::GivenProgramFailed { cause, .. }) = space.check(&sum) else { panic!("no operands") };
/// assert!(matches!(*cause, RunError::Verify(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The stored program cannot be decoded.
    #[error("the stored program is not valid: {0}")]
    Program(#[from] DecodeError),
    /// The verifier rejected it before anything ran.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The result would be wrong too often.
    #[error(
        "the result would be wrong with a probability of 2^{log2_p_fail:.1}, the limit is 2^{limit:.1}; use fewer operations \
         between bootstraps, integers of fewer bits or a parameter set with less noise, or raise the limit (--max-log2-p-fail)"
    )]
    FailureTooLikely {
        /// log2 of the probability: the union over the bootstraps and outputs of the run.
        log2_p_fail: f64,
        /// log2 of the greatest that is accepted.
        limit: f64,
    },
    /// The handlers cannot say how often the result would be wrong.
    #[error("the failure probability of the result is not known; --assume-range accepts it")]
    FailureUnknown,
    /// An instruction failed, or its result would be wrong.
    #[error("instruction {index} (`{instruction}`): {source}")]
    Instruction {
        /// Its index, from 0.
        index: usize,
        /// The instruction.
        instruction: Instruction,
        /// Why.
        #[source]
        source: HandlerError,
    },
    /// An engine that runs programs whole failed in one.
    #[error("the program as a whole: {source}")]
    Whole {
        /// Why.
        #[source]
        source: HandlerError,
    },
    /// The key could not be brought into the form for computing.
    #[error("key {key}: {source}")]
    Key {
        /// The Key ID.
        key: KeyId,
        /// Why.
        #[source]
        source: HandlerError,
    },
    /// Loading the key had not ended when the time of the program was up.
    #[error("key {key}: loading it was stopped after {took:?}, when the time of the program was up")]
    LoadTimedOut {
        /// The Key ID.
        key: KeyId,
        /// The time that loading took until then.
        took: Duration,
    },
    /// The key, or an operand prepared under it, got no memory.
    #[error("key {key}: {source}")]
    KeyMemory {
        /// The Key ID.
        key: KeyId,
        /// Why.
        #[source]
        source: KeyMemoryError,
    },
    /// The result does not fit the register it is meant for.
    #[error("the result does not fit: {0}")]
    Result(#[source] HandlerError),
    /// The result has more bytes than the writer of the triggering register allowed.
    #[error("the result has {bytes} bytes, the writer allowed {limit}; nothing was stored")]
    ResultTooLarge {
        /// Bytes of the result.
        bytes: u64,
        /// The most bytes, [`WriteOptions::result_limit`](crate::WriteOptions::result_limit).
        limit: u64,
    },
    /// It ran longer than allowed.
    #[error("stopped after {done} of {total} instructions at the time limit of {limit:?}")]
    TimedOut {
        /// Instructions done.
        done: usize,
        /// Instructions of the program.
        total: usize,
        /// The limit.
        limit: Duration,
    },
    /// Main memory or its swap area failed or is too small.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// An operand could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The program reads an object outside of the reach of its caller; nothing ran.
    #[error(
        "instruction {index} reads {register}, which does not belong to the caller; programs that run for this caller read \
         its own objects only"
    )]
    OutOfReach {
        /// Index of the instruction, from 0.
        index: usize,
        /// The register.
        register: VrId,
    },
    /// A register that the verifier found present is missing: the handler's types and the program crate disagree.
    #[error("register {register} holds nothing the program can use")]
    NoOperand {
        /// The register.
        register: VrId,
    },
}
