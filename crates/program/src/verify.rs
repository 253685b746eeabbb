//! The verifier: the rules that a program must keep, checked before it runs.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::asm::LineMap;
use crate::class::{ObjectClass, TypeClass};
use crate::id::VrId;
use crate::instruction::{Instruction, MAX_INSTRUCTIONS, Program};
use crate::set::InstructionSet;
use crate::spec::{Action, OperandClass, ResultLength};

/// A stored object, as the verifier sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its length in bytes.
    pub size: u64,
}

/// The device on which a program is to run, as the verifier sees it.
///
/// The answers must not change while a program is verified and run: a device answers from the view of the space that the
/// run will use.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// /// Every register holds an object of 2,524 bytes.
/// struct Everything;
///
/// impl Environment for Everything {
///     fn object(&self, _: VrId) -> Option<ObjectInfo> {
///         Some(ObjectInfo { size: 2524 })
///     }
///
///     fn cost(&self, _: &Instruction) -> Duration {
///         Duration::from_millis(1)
///     }
/// }
///
/// assert_eq!(verify(set, &sum, &Everything, &Limits::default())?.estimate(), Duration::from_millis(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Environment {
    /// The complete object in register `id`; `None` if there is none. For a compute-on-write run that includes the object
    /// whose write triggers it.
    fn object(&self, id: VrId) -> Option<ObjectInfo>;

    /// How long the instruction is expected to take here.
    fn cost(&self, instruction: &Instruction) -> Duration;
}

/// Bounds of one run, set by the device.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let one = Limits { max_instructions: 1, ..Limits::default() };
/// let refused = verify(set, &sum, &stored, &one);
/// assert_eq!(refused, Err(VerifyError::TooManyInstructions { count: 2, limit: 1 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

/// A fault of one instruction.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let program = assemble(set, "return 3:0:9", &Bindings::new())?.program;
/// let refused = verify(set, &program, &stored, &Limits::default());
/// assert!(matches!(refused, Err(VerifyError::Instruction { fault: Fault::Undefined { .. }, .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// A register is read before it is stored or written.
    #[error(
        "{register} is read, but it is neither stored nor written before; store it first, or write it with mov or pop"
    )]
    Undefined {
        /// The register.
        register: VrId,
    },
    /// An operand is of the wrong kind.
    #[error("{register} is {given}, the instruction needs {expected} here")]
    WrongType {
        /// The operand.
        register: VrId,
        /// The class of its type.
        given: TypeClass,
        /// The class that the instruction accepts.
        expected: TypeClass,
    },
    /// An operand is not a ciphertext.
    #[error("{register} is {given}, the instruction needs a ciphertext (type {types}) here")]
    NoCiphertext {
        /// The operand.
        register: VrId,
        /// The class of its type.
        given: TypeClass,
        /// The types of ciphertexts, as text.
        types: String,
    },
    /// A register is written that programs must not write.
    #[error("{register} is {given}, a program may write ciphertexts (types {types}) only")]
    NotWritable {
        /// The destination.
        register: VrId,
        /// The class of its type.
        given: TypeClass,
        /// The types of ciphertexts, as text.
        types: String,
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
        /// The second register; for `pop`, the pushed register.
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
        /// Its name, as in `bootstrapping key`.
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

/// A program that may not run.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let short = Limits { max_duration: Duration::from_millis(1), ..Limits::default() };
/// let refused = verify(set, &sum, &stored, &short);
/// assert!(matches!(refused, Err(VerifyError::TooSlow { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
        /// The fault.
        fault: Fault,
    },
    /// The estimated run time is above the limit.
    #[error(
        "the program is estimated to run for {:.3} s, the limit is {:.3} s; split it, or raise the limit \
         (--max-program-seconds) and the host's I/O timeout with it",
        estimate.as_secs_f64(),
        limit.as_secs_f64()
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
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let assembly = assemble(set, "# a sum\nhomadd 3:0:2, 3:0:9\nreturn 3:0:2", &Bindings::new())?;
    /// let refused = verify(set, &assembly.program, &stored, &Limits::default()).unwrap_err();
    /// assert_eq!(refused.index(), Some(0));
    /// assert!(refused.in_source(&assembly.lines).to_string().starts_with("line 2: instruction 0"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

/// A program that [`verify`] has accepted, and the registers that it uses.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let verified = verify(set, &sum, &stored, &Limits::default())?;
/// assert_eq!(verified.inputs(), [x, y]);
/// assert_eq!(verified.writes(), [x]);
/// assert_eq!((verified.returned(), verified.stack_depth()), (x, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

    /// The ciphertexts and test vectors that are read from the store, ascending.
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
/// Programs have no branch, so one pass over the instructions is exact: every operand of an accepted program is
/// present, of the right kind, under one key and of one length, and the stack ends empty.
///
/// # Errors
/// The first fault in the order of the instructions; the estimated run time is judged last.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(verify(set, &sum, &stored, &Limits::default())?.returned(), x);
/// // The result of a program must exist.
/// let program = Program::new(vec![Instruction::ret("3:0:9".parse()?)])?;
/// assert!(verify(set, &program, &stored, &Limits::default()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify<'a>(
    set: &InstructionSet,
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
    let first_return = instructions.iter().enumerate().find_map(|(index, instruction)| match instruction.action() {
        Action::Return => Some((index, instruction.reads().next()?)),
        _ => None,
    });
    let returned = match first_return {
        Some((index, _)) if index < last => return Err(at(index + 1, Fault::AfterReturn { at: index })),
        Some((_, n)) => n,
        None => return Err(at(last, Fault::NoReturn)),
    };

    let mut machine = Machine::new(set, environment, limits);
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
    set: &'a InstructionSet,
    environment: &'a dyn Environment,
    max_stack: usize,
    /// Lengths of the registers written so far; the length of a product is not known before it is computed.
    written: HashMap<VrId, Option<u64>>,
    /// The pushed register and the length of its content at that time.
    stack: Vec<(VrId, Option<u64>)>,
    stack_depth: usize,
    inputs: BTreeSet<VrId>,
    keys: BTreeSet<VrId>,
    estimate: Duration,
}

impl<'a> Machine<'a> {
    fn new(set: &'a InstructionSet, environment: &'a dyn Environment, limits: &Limits) -> Self {
        Self {
            set,
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
        let target = instruction.writes();
        if let Some(register) = target {
            self.writable(register)?;
        }
        let lengths = self.read_operands(instruction)?;
        let first = lengths.first().copied();
        match (instruction.action(), target, first) {
            (Action::Return, ..) if !self.stack.is_empty() => {
                return Err(Fault::StackImbalance { depth: self.stack.len() });
            }
            (Action::Move, Some(target), Some((source, length))) => self.copy(target, source, length)?,
            (Action::Push, _, Some(pushed)) => {
                if self.stack.len() >= self.max_stack {
                    return Err(Fault::StackOverflow { limit: self.max_stack });
                }
                self.stack.push(pushed);
                self.stack_depth = self.stack_depth.max(self.stack.len());
            }
            (Action::Pop, Some(target), _) => {
                let (pushed, length) = self.stack.pop().ok_or(Fault::StackUnderflow)?;
                self.copy(target, pushed, length)?;
            }
            (Action::Compute, target, _) => self.compute(instruction, target, &lengths)?,
            _ => {}
        }
        self.estimate = self.estimate.saturating_add(self.environment.cost(instruction));
        Ok(())
    }

    /// The registers that the instruction reads, with the lengths of their content where those are known.
    fn read_operands(&mut self, instruction: &Instruction) -> Result<Vec<(VrId, Option<u64>)>, Fault> {
        let mut lengths = Vec::with_capacity(2);
        for (register, operand) in instruction.registers().zip(instruction.spec().operands()) {
            match operand.class {
                OperandClass::Class(class) => self.expect(register, class)?,
                OperandClass::AnyCiphertext => self.expect_ciphertext(register)?,
            }
            if operand.access.reads() {
                lengths.push((register, self.read(register)?));
            }
        }
        Ok(lengths)
    }

    /// The rules of an instruction that a handler carries out: one key, its objects stored, lengths that go together.
    fn compute(
        &mut self,
        instruction: &Instruction,
        target: Option<VrId>,
        read: &[(VrId, Option<u64>)],
    ) -> Result<(), Fault> {
        let (first, second) = instruction.first_and_second();
        if let Some(second) = second {
            same_key(first, second)?;
        }
        let spec = instruction.spec();
        let length = match spec.result_length() {
            ResultLength::Unknown => None,
            ResultLength::OfOperand(index) => read.get(index).and_then(|&(_, length)| length),
            ResultLength::Common => common_length(read)?,
        };
        for key in spec.key_uses() {
            self.need_key(key.register(first.key_id), key.name)?;
        }
        self.written.extend(target.map(|target| (target, length)));
        Ok(())
    }

    /// Puts the content of `source` into `target`.
    fn copy(&mut self, target: VrId, source: VrId, length: Option<u64>) -> Result<(), Fault> {
        if let TypeClass::Known(class) = self.set.class(source.type_code) {
            self.expect(target, class)?;
        }
        same_key(target, source)?;
        self.written.insert(target, length);
        Ok(())
    }

    fn expect(&self, register: VrId, class: &'static ObjectClass) -> Result<(), Fault> {
        if class.contains(register.type_code) {
            return Ok(());
        }
        let given = self.set.class(register.type_code);
        Err(Fault::WrongType { register, given, expected: TypeClass::Known(class) })
    }

    fn expect_ciphertext(&self, register: VrId) -> Result<(), Fault> {
        let given = self.set.class(register.type_code);
        if given.is_ciphertext() {
            return Ok(());
        }
        Err(Fault::NoCiphertext { register, given, types: self.set.ciphertext_types("or") })
    }

    fn writable(&self, register: VrId) -> Result<(), Fault> {
        let given = self.set.class(register.type_code);
        if given.is_ciphertext() {
            return Ok(());
        }
        Err(Fault::NotWritable { register, given, types: self.set.ciphertext_types("and") })
    }

    /// The length of the content of `register` at this point, if it is known.
    fn read(&mut self, register: VrId) -> Result<Option<u64>, Fault> {
        if let Some(&length) = self.written.get(&register) {
            return Ok(length);
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

/// The one length of all operands, as far as lengths are known.
fn common_length(read: &[(VrId, Option<u64>)]) -> Result<Option<u64>, Fault> {
    let mut common: Option<(VrId, u64)> = None;
    for &(right, length) in read {
        let Some(right_size) = length else { continue };
        match common {
            Some((left, left_size)) if left_size != right_size => {
                return Err(Fault::SizeMismatch { left, left_size, right, right_size });
            }
            Some(_) => {}
            None => common = Some((right, right_size)),
        }
    }
    Ok(common.map(|(_, size)| size))
}

fn same_key(left: VrId, right: VrId) -> Result<(), Fault> {
    if left.key_id == right.key_id { Ok(()) } else { Err(Fault::KeyMismatch { left, right }) }
}
