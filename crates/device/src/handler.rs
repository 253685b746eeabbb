//! The device seam: the trait by which a scheme supplies its objects and instructions to the device.
//!
//! The device core knows programs, registers and storage, and names no scheme. Everything that depends on the meaning of
//! an object's bytes goes through an [`ObjectHandler`].

use crate::store::StoreError;
use ciphermill_program::{Effect, Facts, Instruction, KeyId, LogProbability, Opcode, Scheme, TypeCode, VrId};
use std::{any::Any, fmt, io::Read, sync::Arc, time::Duration};

/// Where the registers of a type live while the device uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residency {
    /// In the paged part of main memory (the paper's non-persistent area).
    Paged,
    /// Outside of paging, as long as they are in use (the paper's persistent area).
    Persistent,
}

/// When an object makes the device run the program of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Never: an operand only.
    Never,
    /// When it is read: the reader gets the result (compute-on-read).
    OnRead,
    /// When it is written: the result is stored (compute-on-write).
    OnWrite,
}

/// The role of an object on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A program; its register is (0, key id, 0). The device itself handles this role.
    Program,
    /// A table that instructions read and never write.
    TestVector,
    /// A public evaluation key, or a part of one.
    Key,
    /// A ciphertext.
    Value(Trigger),
}

/// One object type of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeDescriptor {
    /// The type code.
    pub code: TypeCode,
    /// Its name, for people.
    pub name: &'static str,
    /// Where its registers live.
    pub residency: Residency,
    /// Its role.
    pub role: Role,
}

/// The properties of a Key ID that the head of one of its key objects holds: the parameter set. Cheap; the device keeps it
/// for size checks and estimates. Downcast it with [`Any`].
pub trait KeyShape: Any + Send + Sync + fmt::Debug {}
impl<T: Any + Send + Sync + fmt::Debug> KeyShape for T {}

/// A key in the form that instructions use (transformed, checked, whole), or an operand prepared under one. Downcast it with
/// [`Any`].
pub trait KeyContext: Any + Send + Sync {
    /// Memory that it occupies, in bytes, with the objects that only it keeps alive.
    fn memory_bytes(&self) -> u64;
}

/// One stored object of a Key ID, for [`ObjectHandler::open_key`].
pub struct KeyPart {
    /// Its register; the data id says which part it is.
    pub id: VrId,
    /// Its size in bytes.
    pub size: u64,
    /// Its content; each MiB is checked against its checksum before it is given out.
    pub content: Box<dyn Read + Send>,
}

/// log2 of the greatest failure probability of a run that the device accepts, unless its scheme or its configuration says
/// otherwise.
pub const DEFAULT_LOG2_P_FAIL: f64 = -64.0;

/// The premises of a handler's judgement, in addition to the facts.
#[derive(Clone, Copy, Debug)]
pub struct Premises<'a> {
    /// The shape of the key stored under the same Key ID, if there is one.
    pub shape: Option<&'a dyn KeyShape>,
    /// Whether a content of unknown range is assumed to have one that fits
    /// ([`DeviceConfig::assume_range`](crate::DeviceConfig::assume_range)).
    pub assume_range: bool,
}

/// One scheme's objects and instructions.
///
/// All methods may be called from many threads at once. Bytes come from outside: no content, however malformed, may
/// panic.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // The device asks the handler of a register's type whether an object may be stored there.
/// let handler = tfhe::TfheHandler::new(Arc::new(CpuEngine::new(Backend::Fft)), insecure);
/// handler.check_size(x, one.len() as u64, None)?;
/// handler.validate(x, one.len() as u64, &mut one.as_slice(), None)?;
/// assert!(handler.validate(x, 4, &mut b"junk".as_slice(), None).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ObjectHandler: Send + Sync + fmt::Debug {
    /// Name of the scheme.
    fn name(&self) -> &'static str;

    /// Its part of the instruction set: the classes of its types, and the rows of its instructions. The device's
    /// [instruction set](crate::Device::instruction_set) consists of the built-in instructions and those of its handlers.
    fn scheme(&self) -> &'static Scheme;

    /// The types it handles; no other handler of the device may claim them. At most one has [`Role::Key`], none has
    /// [`Role::Program`].
    fn types(&self) -> &[TypeDescriptor];

    /// Reads the parameter set off the head of the key object `id` of `size` bytes.
    ///
    /// # Errors
    /// [`HandlerError`] when the head is not that of a key the handler can use.
    fn describe_key(&self, id: VrId, size: u64, head: &mut dyn Read) -> Result<Arc<dyn KeyShape>, HandlerError>;

    /// Checks the size of an object, before its bytes arrive. `shape` is that of a key stored under the same Key ID, if
    /// there is one; without it the handler checks against the largest set.
    ///
    /// # Errors
    /// [`HandlerError::WrongSize`].
    fn check_size(&self, id: VrId, size: u64, shape: Option<&dyn KeyShape>) -> Result<(), HandlerError>;

    /// The most memory that [`validate`](Self::validate) takes at any moment for an object of this size, in bytes. The device
    /// sets it aside for objects of more than 1 MiB. The default is that of an object that is read whole and decoded.
    fn validate_bytes(&self, id: VrId, size: u64) -> u64 {
        let _ = id;
        size.saturating_mul(2)
    }

    /// Judges a complete object before it is stored, in one pass over its content. For a key object, `shape` is that of
    /// the other parts of its Key ID, if there are any.
    ///
    /// # Errors
    /// [`HandlerError::Invalid`]; [`HandlerError::Read`] hands on an error of `content`.
    fn validate(
        &self,
        id: VrId,
        size: u64,
        content: &mut dyn Read,
        shape: Option<&dyn KeyShape>,
    ) -> Result<(), HandlerError>;

    /// The most memory that [`open_key`](Self::open_key) takes at any moment, in bytes, its result included. The device sets
    /// it aside before it calls that.
    fn key_bytes(&self, shape: &dyn KeyShape) -> u64;

    /// Brings a key into the form that instructions use, from all objects with [`Role::Key`] of its Key ID. May take
    /// long and much memory; the device calls it for the first program that needs the key, and keeps the result until
    /// one of the objects is replaced or deleted, or other keys need the memory.
    ///
    /// # Errors
    /// [`HandlerError::KeyIncomplete`] when a part is missing, else as [`validate`](Self::validate).
    fn open_key(&self, key_id: KeyId, parts: Vec<KeyPart>) -> Result<Arc<dyn KeyContext>, HandlerError>;

    /// The operand, counted from 0 in the order of [`Instruction::reads`], that the instruction uses in a form prepared
    /// under its key, if it uses one so.
    fn prepares(&self, instruction: &Instruction) -> Option<usize> {
        let _ = instruction;
        None
    }

    /// The most memory that [`prepare`](Self::prepare) takes at any moment, in bytes, its result included. The device sets it
    /// aside before it calls that.
    ///
    /// # Errors
    /// [`HandlerError::Operand`] for content that cannot be prepared.
    fn prepare_bytes(&self, id: VrId, operand: &[u8], key: &dyn KeyContext) -> Result<u64, HandlerError> {
        let _ = (id, operand, key);
        Ok(0)
    }

    /// Prepares the operand that [`prepares`](Self::prepares) names. The device keeps the result until the operand or the
    /// key is replaced or deleted, or other keys need the memory.
    ///
    /// # Errors
    /// [`HandlerError::Operand`] for content that cannot be prepared, [`HandlerError::Engine`] when an accelerator fails.
    fn prepare(&self, id: VrId, operand: &[u8], key: &dyn KeyContext) -> Result<Arc<dyn KeyContext>, HandlerError> {
        let _ = (operand, key);
        Err(HandlerError::Engine {
            what: format!("the {} handler prepares nothing, register {id} neither", self.name()),
        })
    }

    /// Whether the instruction needs the key of its registers. One that does not costs no key loading.
    fn needs_key(&self, instruction: &Instruction) -> bool;

    /// How long the instruction is expected to take, the loading of its key and the preparing of its operand not counted.
    /// `operands` are the sizes in bytes of the registers it reads, in the order of [`Instruction::reads`]; `None` where an
    /// earlier instruction will have written one and [`result_size`](Self::result_size) did not say.
    fn estimate(&self, instruction: &Instruction, operands: &[Option<u64>], shape: Option<&dyn KeyShape>) -> Duration;

    /// The size in bytes of the register that the instruction writes, as far as it follows from the sizes of its operands.
    /// The device uses it for the estimates of later instructions only, so an error here changes nothing else.
    fn result_size(
        &self,
        instruction: &Instruction,
        operands: &[Option<u64>],
        shape: Option<&dyn KeyShape>,
    ) -> Option<u64> {
        let _ = (instruction, operands, shape);
        None
    }

    /// The facts that the content of a register states, for [`effect`](Self::effect). The handler reads as much of the content
    /// as it needs. The device keeps the facts of a stored object.
    ///
    /// # Errors
    /// [`HandlerError::Operand`] for content that is not of its type; [`HandlerError::Read`] hands on an error of `content`.
    fn facts(&self, id: VrId, size: u64, content: &mut dyn Read) -> Result<Facts, HandlerError> {
        let _ = (id, size, content);
        Ok(Facts::NONE)
    }

    /// The size in bytes that an object with these facts has in the newest version of its format. The verifier compares
    /// objects by it, so that versions mix in one instruction.
    fn newest_size(&self, facts: &Facts, size: u64) -> u64 {
        let _ = facts;
        size
    }

    /// The transfer function of one instruction: the facts of its result, and the probability that it goes wrong. `operands`
    /// are the facts of the registers it reads, in the order of [`Instruction::reads`]. The default knows nothing of the
    /// result and of no failure, which is right for exact schemes only.
    ///
    /// # Errors
    /// [`HandlerError::Range`] if the result would be wrong, [`HandlerError::UnknownRange`] if it cannot be judged.
    fn effect(
        &self,
        instruction: &Instruction,
        operands: &[Facts],
        premises: Premises<'_>,
    ) -> Result<Effect, HandlerError> {
        let _ = (instruction, operands, premises);
        Ok(Effect::default())
    }

    /// The probability that the key's owner does not read a content with these facts right.
    ///
    /// # Errors
    /// [`HandlerError::UnknownRange`] if it cannot be judged.
    fn output_failure(&self, id: VrId, facts: &Facts, premises: Premises<'_>) -> Result<LogProbability, HandlerError> {
        let _ = (id, facts, premises);
        Ok(LogProbability::NEVER)
    }

    /// log2 of the greatest failure probability that is accepted for results under the key of this shape, unless the
    /// [configuration](crate::DeviceConfig::max_log2_p_fail) says otherwise.
    fn max_log2_p_fail(&self, shape: Option<&dyn KeyShape>) -> f64 {
        let _ = shape;
        DEFAULT_LOG2_P_FAIL
    }

    /// An empty state of a run, for the instructions of the scheme that [use one](ciphermill_program::InstructionSpec::state).
    /// The device keeps it until the run ends, and gives it to every such instruction under the same key.
    fn new_state(&self) -> Box<dyn Any + Send> {
        Box::new(())
    }

    /// The most memory that the state of a run takes under this key, in bytes. The device sets it aside before the first
    /// instruction that uses the state.
    fn state_bytes(&self, key: &dyn KeyContext) -> u64 {
        let _ = key;
        0
    }

    /// How many of these instructions run in one call of [`execute_on_state`](Self::execute_on_state): at least the first.
    /// They are neighbours, of one row and one key, use the state of the run and write no register. `sizes` has, for each,
    /// the bytes of the registers that it reads.
    fn joined(&self, instructions: &[Instruction], sizes: &[u64], shape: Option<&dyn KeyShape>) -> usize {
        let _ = (instructions, sizes, shape);
        1
    }

    /// Computes instructions that use the state of the run: one, or several that [`joined`](Self::joined) took together.
    /// `result` is empty and takes the new content of the register that a single one writes.
    ///
    /// # Errors
    /// As [`execute`](Self::execute), with the index of the job at fault.
    fn execute_on_state(
        &self,
        jobs: &[Job<'_>],
        state: &mut (dyn Any + Send),
        result: &mut Vec<u8>,
    ) -> Result<(), (usize, HandlerError)> {
        let _ = (state, result);
        let opcode = jobs.first().map_or(Opcode(0), |job| job.instruction.opcode());
        Err((0, HandlerError::Unsupported { handler: self.name(), opcode }))
    }

    /// Whether the handler's engine may run this program as one job. Its instructions are the device's own and others, and
    /// the device has not looked whether the others are all of this handler.
    fn runs_program(&self, instructions: &[Instruction]) -> bool {
        let _ = instructions;
        false
    }

    /// Runs a program that [`runs_program`](Self::runs_program) named, with all its instructions under one key. `result` is empty and takes
    /// the content that the program returns. False, with `result` empty, if the engine does not run it after all; the device then does
    /// its instructions one after another.
    ///
    /// # Errors
    /// [`HandlerError::Operand`] for content that cannot be computed on, [`HandlerError::Engine`] if the engine fails.
    fn execute_program(&self, program: &WholeProgram<'_>, result: &mut Vec<u8>) -> Result<bool, HandlerError> {
        let _ = (program, result);
        Ok(false)
    }

    /// Computes one instruction that is not Return, Move, Push or Pop; those are the device's own. `result` is empty and
    /// takes the new content of the register it writes.
    ///
    /// # Errors
    /// [`HandlerError::Unsupported`] for an instruction of another scheme, [`HandlerError::Operand`] for content it cannot
    /// compute on, [`HandlerError::Engine`] when an accelerator fails.
    fn execute(&self, job: &Job<'_>, result: &mut Vec<u8>) -> Result<(), HandlerError>;
}

/// An instruction with its operands, its key and its prepared operands.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The instruction.
    pub instruction: &'a Instruction,
    /// The contents of the registers it reads, in the order of [`Instruction::reads`]. That of a prepared operand is empty.
    pub operands: &'a [&'a [u8]],
    /// Its key, if and only if [`ObjectHandler::needs_key`] says so.
    pub key: Option<&'a dyn KeyContext>,
    /// The operand that [`ObjectHandler::prepares`] names, in the form that [`ObjectHandler::prepare`] gave it.
    pub prepared: Option<&'a dyn KeyContext>,
    /// The shape of the Key ID in this space, if a key is stored: the same that [`ObjectHandler::estimate`] gets, so measured
    /// times that are kept in it are not those of other spaces.
    pub shape: Option<&'a dyn KeyShape>,
    /// The facts of the result, as [`ObjectHandler::effect`] gave them. The handler writes them into the result where its
    /// format states them.
    pub facts: &'a Facts,
}

/// A program with the values that it reads and its key.
#[derive(Clone, Copy)]
pub struct WholeProgram<'a> {
    /// All instructions.
    pub instructions: &'a [Instruction],
    /// The contents of the registers that it reads before it writes them.
    pub operands: &'a [(VrId, &'a [u8])],
    /// Its key.
    pub key: &'a dyn KeyContext,
    /// The shape of the key, as in [`Job::shape`].
    pub shape: Option<&'a dyn KeyShape>,
    /// The facts of its result, as in [`Job::facts`].
    pub facts: Option<&'a Facts>,
}

/// An object or instruction that a handler refused.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandlerError {
    /// The size does not fit the parameter set.
    #[error("register {id} takes {expected} bytes under the parameter set of its key, {given} were given")]
    WrongSize {
        /// The register.
        id: VrId,
        /// Size given, in bytes.
        given: u64,
        /// Sizes that are right, as text (`3204`, or `4 to 1048576`).
        expected: String,
    },
    /// The content is not an object of its type.
    #[error("register {id}: {what}")]
    Invalid {
        /// The register.
        id: VrId,
        /// The error in the content.
        what: String,
    },
    /// The content is under a parameter set below 128 bits of security, and the handler's policy does not accept it.
    #[error("register {id}: {what}, where the device is opened or served")]
    Insecure {
        /// The register.
        id: VrId,
        /// The scheme's refusal.
        what: String,
    },
    /// The content could not be read.
    #[error("register {id}: {source}")]
    Read {
        /// The register.
        id: VrId,
        /// The error of the reader.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// A key is not complete.
    #[error("key {key} is not complete: {missing} is not stored; write it first")]
    KeyIncomplete {
        /// The Key ID.
        key: KeyId,
        /// The missing parts, as text.
        missing: String,
    },
    /// The scheme has no such instruction.
    #[error("the {handler} handler has no instruction with opcode {opcode}")]
    Unsupported {
        /// Name of the handler.
        handler: &'static str,
        /// The opcode.
        opcode: Opcode,
    },
    /// An operand cannot be computed on.
    #[error("operand {id}: {what}")]
    Operand {
        /// The operand's register.
        id: VrId,
        /// The error in it.
        what: String,
    },
    /// The result would be wrong: a message would leave its range, or a table does not cover it.
    #[error("register {id}: {what}")]
    Range {
        /// The register.
        id: VrId,
        /// The range and its limit.
        what: String,
    },
    /// The range of a content is not known, so that no result can be judged.
    #[error(
        "register {id}: {what}, so that the result cannot be judged; write the object in the newest version of its format, \
         or accept it as it is (--assume-range)"
    )]
    UnknownRange {
        /// The register.
        id: VrId,
        /// The missing knowledge.
        what: String,
    },
    /// The engine of the device implements no operation of the scheme.
    #[error("engine {engine} does not implement {scheme}; open or serve the device with another engine")]
    EngineLacks {
        /// The engine's name.
        engine: String,
        /// The scheme's name.
        scheme: &'static str,
    },
    /// The engine that computes failed.
    #[error("the compute engine failed: {what}")]
    Engine {
        /// The error of the engine.
        what: String,
    },
}

impl HandlerError {
    /// Wraps an error of a content reader.
    #[must_use]
    pub fn read(id: VrId, source: std::io::Error) -> Self {
        Self::Read { id, source: Arc::new(source) }
    }

    /// The store error behind a failed read, if there was one.
    #[must_use]
    pub fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Read { source, .. } => StoreError::from_io(source),
            _ => None,
        }
    }
}
