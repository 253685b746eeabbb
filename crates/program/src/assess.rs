//! The assessment: facts about contents, propagated through a program that the verifier has accepted.
//!
//! Facts are opaque here. A handler of the device makes them and has the transfer function of each of its instructions; the
//! built-in instructions copy them.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::id::{KeyId, VrId};
use crate::instruction::Instruction;
use crate::spec::Action;
use crate::verify::Verified;

/// The knowledge of a scheme about the content of a register.
pub trait Fact: Any + Send + Sync + fmt::Debug {
    /// Memory that it occupies, in bytes.
    fn memory_bytes(&self) -> u64;
}

/// A shared [`Fact`], or none.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// #[derive(Debug, PartialEq)]
/// struct Bits(u32);
///
/// impl Fact for Bits {
///     fn memory_bytes(&self) -> u64 {
///         4
///     }
/// }
///
/// let facts = Facts::new(Bits(7));
/// assert_eq!(facts.get(), Some(&Bits(7)));
/// assert_eq!(Facts::NONE.get::<Bits>(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Facts(Option<Arc<dyn Fact>>);

impl Facts {
    /// Nothing is known.
    pub const NONE: Self = Self(None);

    /// This fact.
    #[must_use]
    pub fn new(fact: impl Fact) -> Self {
        Self(Some(Arc::new(fact)))
    }

    /// The fact, if it is of this type.
    #[must_use]
    pub fn get<T: Fact>(&self) -> Option<&T> {
        let fact: &dyn Any = &**self.0.as_ref()?;
        fact.downcast_ref()
    }

    /// Memory that the fact occupies, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |fact| fact.memory_bytes())
    }
}

/// log2 of the probability of an event; `None` if it is not known.
///
/// # Example
/// ```
/// use ciphermill_program::LogProbability;
///
/// // At least one of two events of probability 2^-65.
/// let both = LogProbability::NEVER.or(LogProbability::new(-65.0)).or(LogProbability::new(-65.0));
/// assert_eq!(both.log2(), Some(-64.0));
/// assert_eq!(both.or(LogProbability::UNKNOWN).log2(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogProbability(Option<f64>);

impl LogProbability {
    /// An impossible event.
    pub const NEVER: Self = Self(Some(f64::NEG_INFINITY));

    /// An event of unknown probability.
    pub const UNKNOWN: Self = Self(None);

    /// The logarithm, at most 0; NaN counts as certain.
    #[must_use]
    pub fn new(log2: f64) -> Self {
        Self(Some(if log2.is_nan() { 0.0 } else { log2.min(0.0) }))
    }

    /// log2 of the probability, if it is known.
    #[must_use]
    pub const fn log2(self) -> Option<f64> {
        self.0
    }

    /// The union bound of two events.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let Some((a, b)) = self.0.zip(other.0) else { return Self::UNKNOWN };
        let (high, low) = (a.max(b), a.min(b));
        // The difference of two infinities is not a number.
        if high == f64::NEG_INFINITY { Self::NEVER } else { Self::new(high + (1.0 + (low - high).exp2()).log2()) }
    }
}

/// The effect of one instruction: the facts of its result, and the probability that it goes wrong.
///
/// # Example
/// ```
/// use ciphermill_program::{Effect, LogProbability};
///
/// // Nothing is known of the result, and nothing can go wrong.
/// assert_eq!(Effect::default().failure, LogProbability::NEVER);
/// ```
#[derive(Clone, Debug)]
pub struct Effect {
    /// The facts of the register that it writes.
    pub facts: Facts,
    /// Its failure.
    pub failure: LogProbability,
    /// The facts of the [state of the run](crate::InstructionSpec::state) that it writes.
    pub state: Facts,
}

impl Default for Effect {
    /// An exact instruction of whose result nothing is known.
    fn default() -> Self {
        Self { facts: Facts::NONE, failure: LogProbability::NEVER, state: Facts::NONE }
    }
}

/// The knowledge of the device's handlers, for the assessment.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// /// Each sum goes wrong once in 1,024 times.
/// struct Sums;
///
/// impl Knowledge for Sums {
///     type Error = std::convert::Infallible;
///
///     fn stored(&self, _: VrId) -> Result<Facts, Self::Error> {
///         Ok(Facts::NONE)
///     }
///
///     fn effect(&self, _: &Instruction, _: &[Facts]) -> Result<Effect, Self::Error> {
///         Ok(Effect { failure: LogProbability::new(-10.0), ..Effect::default() })
///     }
///
///     fn output(&self, _: VrId, _: &Facts) -> Result<LogProbability, Self::Error> {
///         Ok(LogProbability::NEVER)
///     }
/// }
///
/// let verified = verify(set, &sum, &stored, &Limits::default())?;
/// assert_eq!(assess(&verified, &Sums)?.failure().log2(), Some(-10.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Knowledge {
    /// Why the handlers refuse an instruction or an output.
    type Error;

    /// The facts of the object that is stored in a register.
    ///
    /// # Errors
    /// If the object cannot be read.
    fn stored(&self, id: VrId) -> Result<Facts, Self::Error>;

    /// The transfer function of an instruction that a handler carries out. `operands` are the facts of the registers it
    /// reads, in the order of [`Instruction::reads`], then those of the state of the run that it uses.
    ///
    /// # Errors
    /// If its result would be wrong, or cannot be judged.
    fn effect(&self, instruction: &Instruction, operands: &[Facts]) -> Result<Effect, Self::Error>;

    /// The probability that an output with these facts is not read back right.
    ///
    /// # Errors
    /// If it cannot be judged.
    fn output(&self, register: VrId, facts: &Facts) -> Result<LogProbability, Self::Error>;
}

/// A refusal of one instruction by [`Knowledge`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("instruction {index} (`{instruction}`): {source}")]
pub struct Refusal<E: std::error::Error + 'static> {
    /// Its index, from 0; that of the return for an output.
    pub index: usize,
    /// The instruction.
    pub instruction: Instruction,
    /// Why.
    #[source]
    pub source: E,
}

/// The output of a program.
///
/// # Example
/// ```
/// use ciphermill_program::{Facts, LogProbability, Output};
///
/// let output = Output { register: "3:0:2".parse()?, facts: Facts::NONE, failure: LogProbability::UNKNOWN };
/// assert_eq!(output.register.to_string(), "3:0:2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Output {
    /// The returned register.
    pub register: VrId,
    /// The facts of its content.
    pub facts: Facts,
    /// The probability that the result is wrong: the union over the run and the reading of the output.
    pub failure: LogProbability,
}

/// The facts of every result of a program, and the failure probability of its run.
#[derive(Clone, Debug)]
pub struct Assessment {
    results: Vec<Facts>,
    output: Output,
}

impl Assessment {
    /// The facts of the result of an instruction, by its index; none for `return` and `push`.
    #[must_use]
    pub fn result(&self, index: usize) -> &Facts {
        self.results.get(index).unwrap_or(&Facts::NONE)
    }

    /// The outputs: the returned register.
    #[must_use]
    pub fn outputs(&self) -> &[Output] {
        std::slice::from_ref(&self.output)
    }

    /// The failure of a run: the union over its instructions and outputs.
    #[must_use]
    pub fn failure(&self) -> LogProbability {
        self.output.failure
    }
}

/// Propagates facts through an accepted program and adds up its failure probabilities.
///
/// # Errors
/// The first refusal of the handlers, in the order of the instructions.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// # struct Nothing;
/// # impl Knowledge for Nothing {
/// #     type Error = std::convert::Infallible;
/// #     fn stored(&self, _: VrId) -> Result<Facts, Self::Error> { Ok(Facts::NONE) }
/// #     fn effect(&self, _: &Instruction, _: &[Facts]) -> Result<Effect, Self::Error> { Ok(Effect::default()) }
/// #     fn output(&self, _: VrId, _: &Facts) -> Result<LogProbability, Self::Error> { Ok(LogProbability::NEVER) }
/// # }
/// // `Nothing` has no facts, and knows of no failure.
/// let verified = verify(set, &sum, &stored, &Limits::default())?;
/// let assessment = assess(&verified, &Nothing)?;
/// assert_eq!(assessment.outputs()[0].register, x);
/// assert_eq!(assessment.failure(), LogProbability::NEVER);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn assess<K>(verified: &Verified<'_>, knowledge: &K) -> Result<Assessment, Refusal<K::Error>>
where
    K: Knowledge,
    K::Error: std::error::Error + 'static,
{
    let instructions = verified.program().instructions();
    let mut walk = Walk {
        knowledge,
        written: HashMap::new(),
        stack: Vec::new(),
        states: HashMap::new(),
        failure: LogProbability::NEVER,
    };
    let mut results = Vec::with_capacity(instructions.len());
    let mut output = (LogProbability::NEVER, Facts::NONE);
    for (index, instruction) in instructions.iter().enumerate() {
        let refuse = |source| Refusal { index, instruction: *instruction, source };
        match instruction.action() {
            Action::Return => {
                let Known { facts, computed } = walk.operand(instruction).map_err(refuse)?;
                // A stored object that no instruction changed is as right as it was.
                let read =
                    if computed { knowledge.output(verified.returned(), &facts) } else { Ok(LogProbability::NEVER) };
                output = (read.map_err(refuse)?, facts);
                results.push(Facts::NONE);
            }
            _ => results.push(walk.step(instruction).map_err(refuse)?),
        }
    }
    let (read, facts) = output;
    let output = Output { register: verified.returned(), facts, failure: walk.failure.or(read) };
    Ok(Assessment { results, output })
}

/// The facts of a content, and whether the program computed it.
#[derive(Clone, Default)]
struct Known {
    facts: Facts,
    computed: bool,
}

/// The program's state with every content reduced to its facts.
struct Walk<'a, K> {
    knowledge: &'a K,
    written: HashMap<VrId, Known>,
    stack: Vec<Known>,
    /// The states of the run, by name and key.
    states: HashMap<(&'static str, KeyId), Facts>,
    failure: LogProbability,
}

impl<K: Knowledge> Walk<'_, K> {
    /// The facts that an instruction other than a return writes, which its register has from here on.
    fn step(&mut self, instruction: &Instruction) -> Result<Facts, K::Error> {
        let known = match instruction.action() {
            Action::Push => {
                let known = self.operand(instruction)?;
                self.stack.push(known);
                return Ok(Facts::NONE);
            }
            // The verifier has seen a push for every pop.
            Action::Pop => self.stack.pop().unwrap_or_default(),
            Action::Move | Action::Return => self.operand(instruction)?,
            Action::Compute => {
                let facts = |id| self.known(id).map(|known| known.facts);
                let mut operands = instruction.reads().map(facts).collect::<Result<Vec<_>, _>>()?;
                let state = instruction.spec().run_state();
                let place = state.map(|state| (state.name, instruction.key_id()));
                operands.extend(place.map(|place| self.states.get(&place).cloned().unwrap_or_default()));
                let effect = self.knowledge.effect(instruction, &operands)?;
                self.failure = self.failure.or(effect.failure);
                if let Some(place) = place.filter(|_| state.is_some_and(|state| state.access.writes())) {
                    self.states.insert(place, effect.state);
                }
                Known { facts: effect.facts, computed: true }
            }
        };
        self.written.extend(instruction.writes().map(|register| (register, known.clone())));
        Ok(known.facts)
    }

    /// The facts of the first register that is read.
    fn operand(&mut self, instruction: &Instruction) -> Result<Known, K::Error> {
        instruction.reads().next().map_or_else(|| Ok(Known::default()), |id| self.known(id))
    }

    fn known(&mut self, id: VrId) -> Result<Known, K::Error> {
        if let Some(known) = self.written.get(&id) {
            return Ok(known.clone());
        }
        let known = Known { facts: self.knowledge.stored(id)?, computed: false };
        self.written.insert(id, known.clone());
        Ok(known)
    }
}
