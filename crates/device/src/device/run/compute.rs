//! Instructions that a handler carries out: their operands, keys and states.

use super::{Run, value::Value};
use crate::{
    device::{budget::Reservation, budget::Use, keys::Refused},
    error::RunError,
    handler::{Job, ObjectHandler},
};
use ciphermill_program::{Assessment, Instruction, KeyId, TypeCode, VrId};
use std::any::Any;

/// The most neighbouring instructions that run in one call.
const MAX_JOINED: usize = 64;

/// The state that the instructions of a run share under one key, and the memory that is set aside for it.
pub(super) struct State {
    content: Box<dyn Any + Send>,
    _memory: Reservation,
}

/// An instruction with the memory that its operands occupy.
struct Gathered<'p> {
    instruction: &'p Instruction,
    /// Its buffers among those of the run.
    buffers: std::ops::Range<usize>,
    prepared: Option<Use>,
}

/// The register whose handler carries the instruction out.
pub(super) fn target(instruction: &Instruction) -> VrId {
    let own = instruction.registers().next();
    instruction.writes().or(own).unwrap_or(crate::program_register(instruction.key_id()))
}

impl Run<'_> {
    /// How many instructions run in one call: neighbours of one row and one key that write to a state only.
    pub(super) fn joined(&self, instructions: &[Instruction]) -> usize {
        let first = &instructions[0];
        if first.spec().run_state().is_none() || first.writes().is_some() {
            return 1;
        }
        let Ok(handler) = self.handler(target(first)) else { return 1 };
        let same = |other: &&Instruction| (other.opcode(), other.key_id()) == (first.opcode(), first.key_id());
        let sizes: Vec<u64> = instructions
            .iter()
            .take(MAX_JOINED)
            .take_while(same)
            .map(|instruction| instruction.reads().map(|id| self.size(id)).sum())
            .collect();
        // Their operands are in memory together.
        let fits = |count: &usize| self.inner.memory.check_working_set(sizes[..*count].iter().copied()).is_ok();
        let count = (1..=sizes.len()).take_while(fits).last().unwrap_or(1);
        handler.joined(&instructions[..count], &sizes[..count], self.shape(target(first))).clamp(1, count)
    }

    pub(super) fn size(&self, id: VrId) -> u64 {
        match self.registers.get(&id) {
            Some(Value::Paged(register)) => register.size() as u64,
            Some(Value::Resident(object)) => object.size(),
            None => self.view.get(&id).map_or(0, |object| object.size()),
        }
    }

    pub(super) fn compute(
        &mut self,
        index: usize,
        instructions: &[Instruction],
        assessment: &Assessment,
    ) -> Result<(), RunError> {
        let first = &instructions[0];
        let id = target(first);
        let handler = &**self.handler(id)?;
        let key = match handler.needs_key(first) {
            true => Some(self.key(id, handler)?),
            false => None,
        };
        let mut state = match first.spec().run_state() {
            Some(_) => Some(self.take_state(id, handler, key.as_deref())?),
            None => None,
        };
        let mut buffers = std::mem::take(&mut self.operands);
        let mut gathered = Vec::with_capacity(instructions.len());
        for (at, instruction) in (index..).zip(instructions) {
            let from = gathered.last().map_or(0, |last: &Gathered<'_>| last.buffers.end);
            gathered.push(self.gather(at, instruction, (handler, key.as_deref()), (&mut buffers, from))?);
        }
        let operands: Vec<Vec<&[u8]>> = gathered
            .iter()
            .map(|gathered| buffers[gathered.buffers.clone()].iter().map(Vec::as_slice).collect())
            .collect();
        let mut result = std::mem::take(&mut self.result);
        result.clear();
        let shape = self.shape(id);
        let jobs: Vec<Job<'_>> = gathered
            .iter()
            .zip(&operands)
            .zip(index..)
            .map(|((Gathered { instruction, prepared, .. }, operands), at)| Job {
                instruction,
                operands,
                key: key.as_ref().map(|key| key.value()),
                prepared: prepared.as_ref().map(Use::value),
                shape,
                facts: assessment.result(at),
            })
            .collect();
        let outcome = match (&mut state, &jobs[..]) {
            (Some((_, state)), jobs) => handler.execute_on_state(jobs, &mut *state.content, &mut result),
            (None, [job, ..]) => handler.execute(job, &mut result).map_err(|source| (0, source)),
            (None, []) => Ok(()),
        };
        outcome.map_err(|(job, source)| RunError::Instruction {
            index: index + job,
            instruction: instructions[job],
            source,
        })?;
        drop(jobs);
        self.states.extend(state);
        if let Some(register) = first.writes() {
            self.write(register, &result)?;
        }
        (self.operands, self.result) = (buffers, result);
        Ok(())
    }

    /// The state of the run under the key of a register; an empty one at first, with the memory that it may take.
    fn take_state(
        &mut self,
        id: VrId,
        handler: &dyn ObjectHandler,
        key: Option<&Use>,
    ) -> Result<((TypeCode, KeyId), State), RunError> {
        let family = self.family(id).ok_or(RunError::NoOperand { register: id })?;
        if let Some(state) = self.states.remove(&family) {
            return Ok((family, state));
        }
        let bytes = key.map_or(0, |key| handler.state_bytes(key.value()));
        // The run keeps its keys while it waits.
        let held = self.keys.values().map(|key| key.bytes()).sum();
        let memory = self.inner.keys.set_aside_for((self.space.id, family.1), held, bytes, self.end)?;
        Ok((family, State { content: handler.new_state(), _memory: memory }))
    }

    /// Reads the operands of an instruction into the buffers from `from` on, and prepares the one that the handler
    /// names.
    fn gather<'p>(
        &mut self,
        index: usize,
        instruction: &'p Instruction,
        (handler, key): (&dyn ObjectHandler, Option<&Use>),
        (buffers, from): (&mut Vec<Vec<u8>>, usize),
    ) -> Result<Gathered<'p>, RunError> {
        let values = instruction.reads().map(|id| self.load(id)).collect::<Result<Vec<_>, _>>()?;
        let place = handler.prepares(instruction);
        let operand = place.and_then(|place| Some((instruction.reads().nth(place)?, values.get(place)?)));
        let prepared = match (operand, key) {
            (Some(operand), Some(key)) => {
                // Loading the key and preparing a large matrix take long, and the instruction itself comes on top.
                self.in_time(index)?;
                let handler = &**self.handler(target(instruction))?;
                let prepared =
                    self.prepared((target(instruction), key), handler, operand).map_err(|refused| match refused {
                        Refused::Run(error) => error,
                        Refused::Instruction(source) => {
                            RunError::Instruction { index, instruction: *instruction, source }
                        }
                    })?;
                self.in_time(index)?;
                Some(prepared)
            }
            _ => None,
        };
        // Real main memory would have to hold the operands together; the bound is kept, so that it can be relied on.
        self.inner.memory.check_working_set(values.iter().map(Value::paged_bytes))?;
        let end = from + values.len();
        if buffers.len() < end {
            buffers.resize_with(end, Vec::new);
        }
        for (number, (value, buffer)) in values.iter().zip(&mut buffers[from..]).enumerate() {
            match place {
                Some(place) if place == number && prepared.is_some() => buffer.clear(),
                _ => self.read_into(value, buffer)?,
            }
        }
        // The values are dropped here: held on, the target would count as shared and could not be written in place.
        Ok(Gathered { instruction, buffers: from..end, prepared })
    }
}
