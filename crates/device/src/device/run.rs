//! One run of a program.
//!
//! A run sees the space as it was when it began (the versions of its operands, and the object that triggers it) and
//! writes to its own registers. When it ends, only its result remains. So runs cannot disturb each other or
//! their operands, and need no lock on the space.

mod compute;
mod environment;
mod knowledge;
mod operands;
mod reach;
mod value;
mod whole;

use super::{
    CheckedOutput, CheckedProgram, Inner, Space,
    budget::Use,
    gate::Pass,
    keys::{Asker, Refused, is_late},
};
use crate::{
    error::{DeviceError, RunError},
    handler::{DEFAULT_LOG2_P_FAIL, HandlerError, KeyShape, ObjectHandler, Residency},
    memory::MemoryError,
    metrics::{InstructionMetrics, count, count_time},
    store::{Owner, SpaceId, StoredObject},
};
use ciphermill_program::{
    Action, Assessment, Facts, Instruction, KeyId, Program, Refusal, TypeCode, Verified, VrId, assess, verify,
};
use compute::State;
use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};
use value::Value;

/// The right to run, and a clock for the time that is spent with it.
struct Turn<'a> {
    inner: &'a Inner,
    begun: Instant,
    _pass: Pass<'a>,
}

impl<'a> Turn<'a> {
    fn wait(inner: &'a Inner, space: SpaceId) -> Result<Self, DeviceError> {
        let asked = Instant::now();
        let pass = inner.gate.enter(space).inspect_err(|_| count(&inner.metrics.programs_refused, 1))?;
        count_time(&inner.metrics.program_wait_ns, asked.elapsed());
        Ok(Self { inner, begun: Instant::now(), _pass: pass })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        count_time(&self.inner.metrics.program_ns, self.begun.elapsed());
    }
}

/// The terms of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Terms<'a> {
    /// The most bytes of the result.
    pub(super) limit: Option<u64>,
    /// The owner of the stored objects that the program may read; `None`: whatever their owner.
    pub(super) reach: Option<&'a Owner>,
}

/// Runs `program` for `trigger`; `operand` is the triggering object when it is being written. Returns the result.
pub(super) fn run(
    space: &Space,
    program: &Arc<StoredObject>,
    trigger: VrId,
    operand: Option<&[u8]>,
    terms: Terms<'_>,
) -> Result<Vec<u8>, DeviceError> {
    let inner = &*space.inner;
    let _turn = Turn::wait(inner, space.id)?;
    let outcome = decoded(inner, program).and_then(|code| execute(space, &code, trigger, operand, terms));
    let outcome = outcome.and_then(|result| within(terms.limit, result));
    match outcome {
        Ok(result) => {
            count(&inner.metrics.programs_run, 1);
            Ok(result)
        }
        Err(cause) => {
            count(&inner.metrics.programs_failed, 1);
            // A host can cause as many of these as it likes, and gets the cause itself; a counter counts them.
            tracing::debug!(space = space.id.0, %trigger, %cause, "program failed");
            let (program, cause) = (program.key().id, Box::new(cause));
            Err(DeviceError::ProgramFailed { space: space.id, program, trigger, cause })
        }
    }
}

/// Runs a program that no register holds, on the registers as they are stored. Returns the result and stores nothing.
pub(super) fn run_given(space: &Space, program: &Program) -> Result<Vec<u8>, DeviceError> {
    let inner = &*space.inner;
    let _turn = Turn::wait(inner, space.id)?;
    match execute(space, program, last_operand(program), None, Terms::default()) {
        Ok(result) => {
            count(&inner.metrics.programs_run, 1);
            Ok(result)
        }
        Err(cause) => {
            count(&inner.metrics.programs_failed, 1);
            Err(DeviceError::GivenProgramFailed { space: space.id, cause: Box::new(cause) })
        }
    }
}

/// Judges a program as [`run_given`] does before anything runs.
pub(super) fn check_given(space: &Space, program: &Program) -> Result<CheckedProgram, DeviceError> {
    let judge = || -> Result<CheckedProgram, RunError> {
        let run = Run::new(space, program, last_operand(program), None, None)?;
        let verified = run.verified(program)?;
        let output = |output: &ciphermill_program::Output| CheckedOutput {
            register: output.register,
            log2_p_fail: output.failure.log2(),
        };
        let outputs = run.assessed(&verified)?.outputs().iter().map(output).collect();
        Ok(CheckedProgram { estimate: verified.estimate(), outputs, limit: run.limit(verified.returned()) })
    };
    judge().map_err(|cause| DeviceError::GivenProgramFailed { space: space.id, cause: Box::new(cause) })
}

/// The register that takes the place of the triggering one where nothing triggers: of a program that passes the verifier
/// it is the one returned.
fn last_operand(program: &Program) -> VrId {
    let last = program.instructions().last().and_then(|last| last.registers().next());
    last.unwrap_or(super::program_register(KeyId(0)))
}

/// Keeps the bytes of an object that was just stored in a register. That saves reading it back; if memory has no room,
/// nothing is lost.
pub(super) fn keep(inner: &Inner, object: &StoredObject, bytes: &[u8]) {
    let paged = inner
        .registry
        .get(object.key().id.type_code)
        .is_some_and(|known| known.descriptor.residency == Residency::Paged);
    if let Some(handler) = inner.registry.handler(object.key().id.type_code)
        && let Ok(facts) = handler.facts(object.key().id, bytes.len() as u64, &mut &*bytes)
    {
        inner.facts.insert(object.key(), object.generation(), facts);
    }
    if paged && let Ok(register) = inner.memory.store_for(object.key().space.0, bytes) {
        inner.registers.insert(object.key(), object.generation(), Arc::new(register));
    }
}

fn decoded(inner: &Inner, object: &Arc<StoredObject>) -> Result<Arc<Program>, RunError> {
    let (key, generation) = (object.key(), object.generation());
    if let Some(program) = inner.programs.get(&key, generation) {
        return Ok(program);
    }
    let bytes = inner.store.read(Arc::clone(object)).pull_all()?;
    let program = Arc::new(Program::decode(inner.registry.instructions(), &bytes)?);
    inner.programs.insert(key, generation, Arc::clone(&program));
    Ok(program)
}

fn within(limit: Option<u64>, result: Vec<u8>) -> Result<Vec<u8>, RunError> {
    match limit {
        Some(limit) if result.len() as u64 > limit => {
            Err(RunError::ResultTooLarge { bytes: result.len() as u64, limit })
        }
        _ => Ok(result),
    }
}

fn execute(
    space: &Space,
    program: &Program,
    trigger: VrId,
    operand: Option<&[u8]>,
    terms: Terms<'_>,
) -> Result<Vec<u8>, RunError> {
    let mut run = Run::new(space, program, trigger, operand, terms.reach)?;
    let assessment = run.assessed(&run.verified(program)?)?;
    if let Some(bytes) = operand {
        let value = run.new_value(bytes)?;
        run.registers.insert(trigger, value);
    }
    let outcome = match run.whole(program, &assessment) {
        Ok(Some(result)) => Ok(result),
        Ok(None) => run.steps(program, &assessment),
        Err(cause) => Err(cause),
    };
    run.inner.metrics.add_instructions(&run.times);
    let result = outcome?;
    let handler = run.handler(trigger)?;
    handler.check_size(trigger, result.len() as u64, run.shape(trigger)).map_err(RunError::Result)?;
    Ok(result)
}

/// Sizes in bytes of the registers that a program has written so far, where they are known; the keys that it has used.
#[derive(Default)]
struct Sizes {
    registers: HashMap<VrId, Option<u64>>,
    stack: Vec<Option<u64>>,
    keys: HashSet<(TypeCode, KeyId)>,
    /// The stored operands that it has had prepared, by key.
    prepared: HashSet<((TypeCode, KeyId), VrId)>,
    /// The time of loads and preparations that was guessed.
    guessed: Duration,
}

/// The moment until which a run may go on that begins now.
fn end_of(duration: Duration) -> Instant {
    /// A year. A longer time does not limit a run, and could exceed the range of the clock.
    const LONG: Duration = Duration::from_secs(365 * 24 * 3600);
    Instant::now() + duration.min(LONG)
}

struct Run<'a> {
    inner: &'a Inner,
    space: &'a Space,
    trigger: VrId,
    operand: Option<&'a [u8]>,
    /// The versions the run sees, held for as long as it takes.
    view: HashMap<VrId, Arc<StoredObject>>,
    shapes: HashMap<(TypeCode, KeyId), Arc<dyn KeyShape>>,
    /// The keys in use, which stay in memory until the run ends.
    keys: HashMap<(TypeCode, KeyId), Arc<Use>>,
    /// The end of the time it may take.
    end: Instant,
    /// Instructions of the program.
    total: usize,
    registers: HashMap<VrId, Value>,
    stack: Vec<Value>,
    times: BTreeMap<&'static str, InstructionMetrics>,
    /// Sizes as the verifier sees them come about, instruction after instruction.
    sizes: RefCell<Sizes>,
    /// The facts of stored objects that were asked for.
    facts: RefCell<HashMap<VrId, Result<Facts, HandlerError>>>,
    /// The states that its instructions share, by key.
    states: HashMap<(TypeCode, KeyId), State>,
    /// Buffers of the instruction in work; kept to spare allocations.
    operands: Vec<Vec<u8>>,
    result: Vec<u8>,
}

impl<'a> Run<'a> {
    fn new(
        space: &'a Space,
        program: &Program,
        trigger: VrId,
        operand: Option<&'a [u8]>,
        reach: Option<&Owner>,
    ) -> Result<Self, RunError> {
        let inner = &*space.inner;
        let mut registers: Vec<_> = program.instructions().iter().flat_map(Instruction::registers).collect();
        registers.push(trigger);
        registers.sort_unstable();
        registers.dedup();
        let mut families: Vec<_> =
            registers.iter().filter_map(|id| Some((inner.registry.get(id.type_code)?.key_type?, id.key_id))).collect();
        families.sort_unstable();
        families.dedup();
        let mut view = inner.store.view(space.id, registers, &families);
        if let Some(owner) = reach {
            reach::confine(&mut view, program, operand.map(|_| trigger), owner)?;
        }
        let mut run = Self {
            inner,
            space,
            trigger,
            operand,
            view,
            shapes: HashMap::new(),
            keys: HashMap::new(),
            end: end_of(inner.config.max_program_duration),
            total: program.instructions().len(),
            registers: HashMap::new(),
            stack: Vec::new(),
            times: BTreeMap::new(),
            sizes: RefCell::default(),
            facts: RefCell::default(),
            states: HashMap::new(),
            operands: Vec::new(),
            result: Vec::new(),
        };
        for (key_type, key_id) in families {
            let Some(handler) = inner.registry.handler(key_type) else { continue };
            let parts = run.key_parts(key_type, key_id);
            let name = (space.id, key_type, key_id);
            let shape = inner.keys.shape(&inner.store, &**handler, name, &parts).map_err(|source| {
                match source.store_error() {
                    Some(store) => RunError::Store(store.clone()),
                    None => RunError::Key { key: key_id, source },
                }
            })?;
            run.shapes.extend(shape.map(|shape| ((key_type, key_id), shape)));
        }
        Ok(run)
    }

    /// The parts of a key that the run sees, ascending.
    fn key_parts(&self, key_type: TypeCode, key_id: KeyId) -> Vec<Arc<StoredObject>> {
        let mut parts: Vec<_> = self
            .view
            .iter()
            .filter(|(id, _)| id.type_code == key_type && id.key_id == key_id)
            .map(|(_, object)| Arc::clone(object))
            .collect();
        parts.sort_unstable_by_key(|part| part.key());
        parts
    }

    fn handler(&self, id: VrId) -> Result<&'a Arc<dyn ObjectHandler>, RunError> {
        self.inner.registry.handler(id.type_code).ok_or(RunError::NoOperand { register: id })
    }

    fn family(&self, id: VrId) -> Option<(TypeCode, KeyId)> {
        Some((self.inner.registry.get(id.type_code)?.key_type?, id.key_id))
    }

    fn shape(&self, id: VrId) -> Option<&dyn KeyShape> {
        self.shapes.get(&self.family(id)?).map(|shape| &**shape)
    }

    fn asker(&self, handler: &'a dyn ObjectHandler) -> Asker<'a> {
        Asker { store: &self.inner.store, handler, end: self.end, holds: !self.keys.is_empty() }
    }

    /// The key of a register in the form for computing.
    fn key(&mut self, id: VrId, handler: &'a dyn ObjectHandler) -> Result<Arc<Use>, RunError> {
        let family = self.family(id).ok_or(RunError::NoOperand { register: id })?;
        if let Some(key) = self.keys.get(&family) {
            return Ok(Arc::clone(key));
        }
        let name = (self.space.id, family.0, family.1);
        let parts = self.key_parts(family.0, family.1);
        let key = Arc::new(self.inner.keys.key(&self.asker(handler), name, &parts, self.shape(id))?);
        self.keys.insert(family, Arc::clone(&key));
        Ok(key)
    }

    /// The operand in the form that the handler prepares under the key. It is kept for other runs if the store holds the
    /// operand, and made for this instruction alone if the program made the operand.
    fn prepared(
        &self,
        (target, key): (VrId, &Use),
        handler: &'a dyn ObjectHandler,
        (source, operand): (VrId, &Value),
    ) -> Result<Use, Refused> {
        let (key_type, key_id) = self.family(target).ok_or(RunError::NoOperand { register: target })?;
        let (name, parts) = ((self.space.id, key_type, key_id), self.key_parts(key_type, key_id));
        let asker = self.asker(handler);
        match operand {
            Value::Resident(object) => {
                let content = || Ok(self.resident(object)?);
                self.inner.keys.prepared(&asker, (name, key, parts.as_slice()), object, content)
            }
            Value::Paged(register) => {
                let mut content = Vec::new();
                self.with_room(|| register.read_into(&mut content)).map_err(RunError::from)?;
                self.inner.keys.prepared_once(&asker, (name, key), source, &content)
            }
        }
    }

    fn verified<'p>(&self, program: &'p Program) -> Result<Verified<'p>, RunError> {
        let verified = verify(self.inner.registry.instructions(), program, self, &self.inner.config.program_limits());
        // After the end of the time, the verifier could not read objects, and its error would name another cause.
        self.in_time(0)?;
        Ok(verified?)
    }

    /// The facts of every result, if the handlers refuse none and the run fails rarely enough.
    fn assessed(&self, verified: &Verified<'_>) -> Result<Assessment, RunError> {
        let assessment = assess(verified, self).map_err(|refusal| match refusal.source.store_error() {
            Some(store) => RunError::Store(store.clone()),
            None if is_late(&refusal.source) => self.timed_out(0),
            None => {
                let Refusal { index, instruction, source } = refusal;
                RunError::Instruction { index, instruction, source }
            }
        })?;
        let limit = self.limit(verified.returned());
        match assessment.failure().log2() {
            Some(log2_p_fail) if log2_p_fail > limit => Err(RunError::FailureTooLikely { log2_p_fail, limit }),
            None if !self.inner.config.assume_range => Err(RunError::FailureUnknown),
            _ => Ok(assessment),
        }
    }

    /// An error once the time of the run is over, after `done` instructions.
    fn in_time(&self, done: usize) -> Result<(), RunError> {
        if Instant::now() > self.end { Err(self.timed_out(done)) } else { Ok(()) }
    }

    fn timed_out(&self, done: usize) -> RunError {
        RunError::TimedOut { done, total: self.total, limit: self.inner.config.max_program_duration }
    }

    /// log2 of the greatest failure probability of a run that returns this register.
    fn limit(&self, returned: VrId) -> f64 {
        let own = || self.inner.registry.handler(returned.type_code).map(|h| h.max_log2_p_fail(self.shape(returned)));
        self.inner.config.max_log2_p_fail.or_else(own).unwrap_or(DEFAULT_LOG2_P_FAIL)
    }

    fn steps(&mut self, program: &Program, assessment: &Assessment) -> Result<Vec<u8>, RunError> {
        let (instructions, mut index) = (program.instructions(), 0);
        while let Some(instruction) = instructions.get(index) {
            self.in_time(index)?;
            let started = Instant::now();
            let count = self.joined(&instructions[index..]);
            let returned = self.step(index, &instructions[index..index + count], assessment)?;
            let metrics = self.times.entry(instruction.mnemonic()).or_default();
            metrics.count += count as u64;
            metrics.time += started.elapsed();
            if let Some(result) = returned {
                return Ok(result);
            }
            index += count;
        }
        // The verifier has seen a return; an empty program cannot be made.
        Err(RunError::NoOperand { register: self.trigger })
    }

    /// Does one instruction, or neighbours that the handler takes together; gives the result if it is a return.
    fn step(
        &mut self,
        index: usize,
        instructions: &[Instruction],
        assessment: &Assessment,
    ) -> Result<Option<Vec<u8>>, RunError> {
        let instruction = &instructions[0];
        match instruction.action() {
            Action::Return => {
                let mut result = Vec::new();
                let value = self.operand(instruction)?;
                self.read_into(&value, &mut result)?;
                return Ok(Some(result));
            }
            Action::Move => {
                let value = self.operand(instruction)?;
                self.registers.extend(instruction.writes().map(|target| (target, value)));
            }
            Action::Push => {
                let value = self.operand(instruction)?;
                self.stack.push(value);
            }
            Action::Pop => {
                let target = instruction.writes().unwrap_or(self.trigger);
                let value = self.stack.pop().ok_or(RunError::NoOperand { register: target })?;
                self.registers.insert(target, value);
            }
            Action::Compute => self.compute(index, instructions, assessment)?,
        }
        Ok(None)
    }

    /// The only operand that an instruction of the device's own reads.
    fn operand(&mut self, instruction: &Instruction) -> Result<Value, RunError> {
        let register = instruction.reads().next().unwrap_or(self.trigger);
        self.load(register)
    }

    /// Puts new content into a register of the run.
    fn write(&mut self, id: VrId, bytes: &[u8]) -> Result<(), RunError> {
        // A register that nobody shares is written in place; if that fails for want of room, its pages are given back.
        match self.registers.remove(&id) {
            Some(Value::Paged(mut register)) if register.size() == bytes.len() => {
                if let Some(own) = Arc::get_mut(&mut register) {
                    match own.overwrite(bytes) {
                        Ok(()) => {
                            self.registers.insert(id, Value::Paged(register));
                            return Ok(());
                        }
                        Err(MemoryError::SwapFull { .. }) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            _ => {}
        }
        let value = self.new_value(bytes)?;
        self.registers.insert(id, value);
        Ok(())
    }
}
