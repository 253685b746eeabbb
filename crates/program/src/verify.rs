//! The verifier: what a program must satisfy before any of it runs.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::asm::LineMap;
use crate::id::{TypeClass, VrId};
use crate::instruction::{Instruction, MAX_INSTRUCTIONS, Program};

/// What the verifier has to know of a stored object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its length in bytes.
    pub size: u64,
}

/// The place where a program is to run, as the verifier sees it.
///
/// The answers must not change while a program is verified and run: a device answers from the view of the space that the
/// run will use.
pub trait Environment {
    /// The complete object in register `id`; `None` if there is none. For a compute-on-write run that includes the object
    /// whose write triggers it.
    fn object(&self, id: VrId) -> Option<ObjectInfo>;

    /// How long the instruction is expected to take here.
    fn cost(&self, instruction: &Instruction) -> Duration;
}

/// Bounds of one run, set by the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most instructions.
    pub max_instructions: usize,
    /// The most ciphertexts on the stack at one time.
    pub max_stack: usize,
    /// The longest estimated run time.
    pub max_duration: Duration,
}

impl Default for Limits {
    /// [`MAX_INSTRUCTIONS`], 256 stack entries, and 20 s: Linux times an NVMe command out at 30 s, and the program runs
    /// inside one.
    fn default() -> Self {
        Self { max_instructions: MAX_INSTRUCTIONS, max_stack: 256, max_duration: Duration::from_secs(20) }
    }
}

/// What is wrong with one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// A register is read that holds nothing.
    #[error(
        "{register} is read, but it is neither stored nor written before; store it first, or write it with mov or pop"
    )]
    Undefined {
        /// The register.
        register: VrId,
    },
    /// An operand is of the wrong kind.
    #[error("{register} is {}, the instruction needs {expected} here", register.class())]
    WrongType {
        /// The operand.
        register: VrId,
        /// What belongs in its place.
        expected: TypeClass,
    },
    /// An operand is no ciphertext.
    #[error("{register} is {}, the instruction needs a ciphertext (type 3, 4, 7, 8, 18 or 19) here", register.class())]
    NoCiphertext {
        /// The operand.
        register: VrId,
    },
    /// A register is written that programs must not write.
    #[error("{register} is {}, a program may write ciphertexts (types 3, 4, 7, 8, 18 and 19) only", register.class())]
    NotWritable {
        /// The destination.
        register: VrId,
    },
    /// Two operands belong to different keys.
    #[error(
        "{left} has key id {}, {right} has key id {}; an instruction works under one key",
        left.key_id,
        right.key_id
    )]
    KeyMismatch {
        /// The first register.
        left: VrId,
        /// The second register; for `pop`, the one that was pushed.
        right: VrId,
    },
    /// Two ciphertexts differ in length, so they cannot be of the same parameter set, or are vectors of different lengths.
    #[error(
        "{left} holds {left_size} bytes, {right} holds {right_size}; store ciphertexts of one parameter set and length"
    )]
    SizeMismatch {
        /// The first register.
        left: VrId,
        /// Its length in bytes.
        left_size: u64,
        /// The second register.
        right: VrId,
        /// Its length in bytes.
        right_size: u64,
    },
    /// A key that an instruction needs is not stored.
    #[error("the {role} {key} is not stored; write it before the program runs")]
    MissingKey {
        /// The key's register.
        key: VrId,
        /// `bootstrapping key`, `key-switching key`, `Galois key object` or `Paillier public key`.
        role: &'static str,
    },
    /// A pop from the empty stack.
    #[error("the stack is empty here; every pop needs a push before it")]
    StackUnderflow,
    /// A push onto a full stack.
    #[error("the stack already holds {limit} ciphertexts, which is the limit; pop before pushing more")]
    StackOverflow {
        /// The most ciphertexts allowed.
        limit: usize,
    },
    /// Ciphertexts are left on the stack at the end.
    #[error("{depth} pushed ciphertext(s) were never popped; the stack must be empty at return")]
    StackImbalance {
        /// How many are left.
        depth: usize,
    },
    /// The program does not end in a return.
    #[error("this is the last instruction, but it is not return; a program ends with return")]
    NoReturn,
    /// Something follows a return.
    #[error("it follows the return at instruction {at} and can never run; return must be the last instruction")]
    AfterReturn {
        /// The index of the return.
        at: usize,
    },
}

/// Why a program may not run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// More instructions than the device allows.
    #[error("the program has {count} instructions, the limit is {limit}; split it into several programs")]
    TooManyInstructions {
        /// How many it has.
        count: usize,
        /// The most allowed.
        limit: usize,
    },
    /// One instruction is at fault.
    #[error("instruction {index} (`{instruction}`): {fault}")]
    Instruction {
        /// Its index, from 0.
        index: usize,
        /// The instruction.
        instruction: Instruction,
        /// What is wrong with it.
        fault: Fault,
    },
    /// The estimated run time is above the limit.
    #[error(
        "the program is estimated to run for {estimate:.3?}, the limit is {limit:.3?}; split it, or raise the limit \
         (--max-program-seconds) and the host's I/O timeout with it"
    )]
    TooSlow {
        /// The sum of the instructions' costs.
        estimate: Duration,
        /// The longest allowed.
        limit: Duration,
    },
}

impl VerifyError {
    /// The index of the instruction at fault, where the fault is that of one instruction.
    #[must_use]
    pub const fn index(&self) -> Option<usize> {
        match self {
            Self::Instruction { index, .. } => Some(*index),
            _ => None,
        }
    }

    /// The error with the line of the source text in front, as in `line 3: instruction 1 (…): …`.
    #[must_use]
    pub fn in_source<'a>(&'a self, lines: &'a LineMap) -> InSource<'a> {
        InSource { error: self, line: self.index().and_then(|index| lines.line(index)) }
    }
}

/// A [`VerifyError`] that prints the source line it belongs to: see [`VerifyError::in_source`].
#[derive(Clone, Copy, Debug)]
pub struct InSource<'a> {
    error: &'a VerifyError,
    line: Option<usize>,
}

impl fmt::Display for InSource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        fmt::Display::fmt(self.error, f)
    }
}

/// A program that [`verify`] has accepted, and what it will touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<'a> {
    program: &'a Program,
    inputs: Vec<VrId>,
    keys: Vec<VrId>,
    writes: Vec<VrId>,
    returned: VrId,
    stack_depth: usize,
    estimate: Duration,
}

impl<'a> Verified<'a> {
    /// The program.
    #[must_use]
    pub const fn program(&self) -> &'a Program {
        self.program
    }

    /// The ciphertexts and test vectors that are read as they stand in the store, ascending.
    #[must_use]
    pub fn inputs(&self) -> &[VrId] {
        &self.inputs
    }

    /// The keys that its instructions use, ascending.
    #[must_use]
    pub fn keys(&self) -> &[VrId] {
        &self.keys
    }

    /// The registers it writes, ascending.
    #[must_use]
    pub fn writes(&self) -> &[VrId] {
        &self.writes
    }

    /// The register whose content is the result.
    #[must_use]
    pub const fn returned(&self) -> VrId {
        self.returned
    }

    /// The most ciphertexts on its stack at one time.
    #[must_use]
    pub const fn stack_depth(&self) -> usize {
        self.stack_depth
    }

    /// The estimated run time: the sum of [`Environment::cost`].
    #[must_use]
    pub const fn estimate(&self) -> Duration {
        self.estimate
    }
}

/// Decides, before anything runs, whether a program may run in `environment` within `limits`.
///
/// Programs have no branch, so one pass over the instructions is exact: what it accepts meets every operand present, of
/// the right kind, under one key and of one length, and leaves the stack empty.
///
/// # Errors
/// The first fault in the order of the instructions; the estimated run time is judged last.
pub fn verify<'a>(
    program: &'a Program,
    environment: &dyn Environment,
    limits: &Limits,
) -> Result<Verified<'a>, VerifyError> {
    let instructions = program.instructions();
    if instructions.len() > limits.max_instructions {
        return Err(VerifyError::TooManyInstructions { count: instructions.len(), limit: limits.max_instructions });
    }
    let at = |index: usize, fault| VerifyError::Instruction { index, instruction: instructions[index], fault };
    let last = instructions.len() - 1;
    let first_return = instructions.iter().enumerate().find_map(|(index, instruction)| match *instruction {
        Instruction::Return { n } => Some((index, n)),
        _ => None,
    });
    let returned = match first_return {
        Some((index, _)) if index < last => return Err(at(index + 1, Fault::AfterReturn { at: index })),
        Some((_, n)) => n,
        None => return Err(at(last, Fault::NoReturn)),
    };

    let mut machine = Machine::new(environment, limits);
    for (index, instruction) in instructions.iter().enumerate() {
        machine.step(instruction).map_err(|fault| at(index, fault))?;
    }
    if machine.estimate > limits.max_duration {
        return Err(VerifyError::TooSlow { estimate: machine.estimate, limit: limits.max_duration });
    }
    Ok(Verified {
        program,
        inputs: machine.inputs.into_iter().collect(),
        keys: machine.keys.into_iter().collect(),
        writes: machine.written.keys().copied().collect::<BTreeSet<_>>().into_iter().collect(),
        returned,
        stack_depth: machine.stack_depth,
        estimate: machine.estimate,
    })
}

/// The program's state with every ciphertext reduced to its length.
struct Machine<'a> {
    environment: &'a dyn Environment,
    max_stack: usize,
    /// Lengths of the registers written so far; that of a product is not known before it is computed.
    written: HashMap<VrId, Option<u64>>,
    /// The pushed register and the length of its content at that time.
    stack: Vec<(VrId, Option<u64>)>,
    stack_depth: usize,
    inputs: BTreeSet<VrId>,
    keys: BTreeSet<VrId>,
    estimate: Duration,
}

impl<'a> Machine<'a> {
    fn new(environment: &'a dyn Environment, limits: &Limits) -> Self {
        Self {
            environment,
            max_stack: limits.max_stack,
            written: HashMap::new(),
            stack: Vec::new(),
            stack_depth: 0,
            inputs: BTreeSet::new(),
            keys: BTreeSet::new(),
            estimate: Duration::ZERO,
        }
    }

    fn step(&mut self, instruction: &Instruction) -> Result<(), Fault> {
        match *instruction {
            Instruction::Return { n } => {
                self.read_ciphertext(n)?;
                if !self.stack.is_empty() {
                    return Err(Fault::StackImbalance { depth: self.stack.len() });
                }
            }
            Instruction::Move { dst, src } => {
                writable(dst)?;
                let size = self.read_ciphertext(src)?;
                same_class(dst, src)?;
                same_key(dst, src)?;
                self.written.insert(dst, size);
            }
            Instruction::Push { n } => {
                let size = self.read_ciphertext(n)?;
                if self.stack.len() >= self.max_stack {
                    return Err(Fault::StackOverflow { limit: self.max_stack });
                }
                self.stack.push((n, size));
                self.stack_depth = self.stack_depth.max(self.stack.len());
            }
            Instruction::Pop { n } => {
                writable(n)?;
                let (pushed, size) = self.stack.pop().ok_or(Fault::StackUnderflow)?;
                same_class(n, pushed)?;
                same_key(n, pushed)?;
                self.written.insert(n, size);
            }
            Instruction::Bootstrap { tv, n } => {
                writable(n)?;
                self.read(tv, TypeClass::TestVector)?;
                let size = self.read(n, TypeClass::Tlwe)?;
                same_key(tv, n)?;
                self.need_key(VrId::bootstrapping_key(n.key_id), "bootstrapping key")?;
                self.need_key(VrId::key_switching_key(n.key_id), "key-switching key")?;
                self.written.insert(n, size);
            }
            Instruction::HomAdd { n1, n2 } | Instruction::HomSub { n1, n2 } => {
                self.sum(n1, n2, TypeClass::Tlwe)?;
            }
            Instruction::HomIntMult { n, .. } => {
                writable(n)?;
                let size = self.read(n, TypeClass::Tlwe)?;
                self.written.insert(n, size);
            }
            Instruction::Hmvp { matrix, n } => {
                writable(n)?;
                self.read(matrix, TypeClass::BfvMatrix)?;
                self.read(n, TypeClass::BfvVector)?;
                same_key(matrix, n)?;
                self.need_key(VrId::galois_keys(n.key_id), "Galois key object")?;
                self.written.insert(n, None);
            }
            Instruction::PaillierAdd { n1, n2 } | Instruction::PaillierSub { n1, n2 } => {
                self.sum(n1, n2, TypeClass::PaillierVector)?;
                self.need_paillier_key(n1)?;
            }
            Instruction::PaillierAddPlain { weights, n } | Instruction::PaillierScale { weights, n } => {
                let size = self.weigh(weights, n)?;
                self.written.insert(n, size);
            }
            Instruction::PaillierMatVec { weights, n } => {
                self.weigh(weights, n)?;
                self.written.insert(n, None);
            }
        }
        self.estimate = self.estimate.saturating_add(self.environment.cost(instruction));
        Ok(())
    }

    /// A sum or difference in `n1` of two ciphertexts of one class.
    fn sum(&mut self, n1: VrId, n2: VrId, class: TypeClass) -> Result<(), Fault> {
        writable(n1)?;
        let left_size = self.read(n1, class)?;
        let right_size = self.read(n2, class)?;
        same_key(n1, n2)?;
        if let (Some(left_size), Some(right_size)) = (left_size, right_size)
            && left_size != right_size
        {
            return Err(Fault::SizeMismatch { left: n1, left_size, right: n2, right_size });
        }
        // Either length is that of the sum.
        self.written.insert(n1, left_size.or(right_size));
        Ok(())
    }

    /// What combines public weights with the Paillier vector in `n`; its length before.
    fn weigh(&mut self, weights: VrId, n: VrId) -> Result<Option<u64>, Fault> {
        writable(n)?;
        self.read(weights, TypeClass::PaillierWeights)?;
        let size = self.read(n, TypeClass::PaillierVector)?;
        same_key(weights, n)?;
        self.need_paillier_key(n)?;
        Ok(size)
    }

    fn need_paillier_key(&mut self, n: VrId) -> Result<(), Fault> {
        self.need_key(VrId::paillier_public_key(n.key_id), "Paillier public key")
    }

    /// The length of the ciphertext that `register` holds at this point, if it is known.
    fn read_ciphertext(&mut self, register: VrId) -> Result<Option<u64>, Fault> {
        if !register.class().is_ciphertext() {
            return Err(Fault::NoCiphertext { register });
        }
        self.read(register, register.class())
    }

    /// The length of what `register` holds at this point, if it is known.
    fn read(&mut self, register: VrId, expected: TypeClass) -> Result<Option<u64>, Fault> {
        if register.class() != expected {
            return Err(Fault::WrongType { register, expected });
        }
        if let Some(&size) = self.written.get(&register) {
            return Ok(size);
        }
        let object = self.environment.object(register).ok_or(Fault::Undefined { register })?;
        self.inputs.insert(register);
        Ok(Some(object.size))
    }

    fn need_key(&mut self, key: VrId, role: &'static str) -> Result<(), Fault> {
        if !self.keys.contains(&key) {
            self.environment.object(key).ok_or(Fault::MissingKey { key, role })?;
            self.keys.insert(key);
        }
        Ok(())
    }
}

fn writable(register: VrId) -> Result<(), Fault> {
    if register.class().is_ciphertext() { Ok(()) } else { Err(Fault::NotWritable { register }) }
}

/// Whether what `source` holds may stand in `register`.
fn same_class(register: VrId, source: VrId) -> Result<(), Fault> {
    let expected = source.class();
    if register.class() == expected { Ok(()) } else { Err(Fault::WrongType { register, expected }) }
}

fn same_key(left: VrId, right: VrId) -> Result<(), Fault> {
    if left.key_id == right.key_id { Ok(()) } else { Err(Fault::KeyMismatch { left, right }) }
}
