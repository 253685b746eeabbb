//! A run as the assessment sees it: the facts of stored objects, and the transfer functions of the handlers.

use super::Run;
use crate::device::keys::Until;
use crate::handler::{HandlerError, Premises, Role};
use ciphermill_program::{Effect, Facts, Instruction, Knowledge, LogProbability, VrId};
use std::sync::Arc;

impl Run<'_> {
    fn premises(&self, id: VrId) -> Premises<'_> {
        Premises { shape: self.shape(id), assume_range: self.inner.config.assume_range }
    }

    /// The facts of the object in a register before the run, read once for a run.
    pub(super) fn stored_facts(&self, id: VrId) -> Result<Facts, HandlerError> {
        if let Some(known) = self.facts.borrow().get(&id) {
            return known.clone();
        }
        let facts = self.read_facts(id);
        self.facts.borrow_mut().insert(id, facts.clone());
        facts
    }

    /// The facts of the triggering object, or of the version that the run sees.
    fn read_facts(&self, id: VrId) -> Result<Facts, HandlerError> {
        let Some(known) = self.inner.registry.get(id.type_code) else { return Ok(Facts::NONE) };
        let (Some(handler), Role::Value(_) | Role::TestVector) = (&known.handler, known.descriptor.role) else {
            return Ok(Facts::NONE);
        };
        if let Some(bytes) = self.operand
            && id == self.trigger
        {
            return handler.facts(id, bytes.len() as u64, &mut &*bytes);
        }
        let Some(object) = self.view.get(&id) else { return Ok(Facts::NONE) };
        let (key, generation) = (object.key(), object.generation());
        if let Some(facts) = self.inner.facts.get(&key, generation) {
            return Ok(facts);
        }
        let mut content = Until { inner: self.inner.store.read(Arc::clone(object)), end: self.end };
        let facts = handler.facts(id, object.size(), &mut content)?;
        if self.inner.store.is_current(object) {
            self.inner.facts.insert(key, generation, facts.clone());
        }
        Ok(facts)
    }
}

impl Knowledge for Run<'_> {
    type Error = HandlerError;

    fn stored(&self, id: VrId) -> Result<Facts, HandlerError> {
        self.stored_facts(id)
    }

    fn effect(&self, instruction: &Instruction, operands: &[Facts]) -> Result<Effect, HandlerError> {
        let target = instruction.writes().or_else(|| instruction.reads().next());
        let handled = target.and_then(|id| Some((id, self.inner.registry.handler(id.type_code)?)));
        let Some((target, handler)) = handled else { return Ok(Effect::default()) };
        handler.effect(instruction, operands, self.premises(target))
    }

    fn output(&self, register: VrId, facts: &Facts) -> Result<LogProbability, HandlerError> {
        let Some(handler) = self.inner.registry.handler(register.type_code) else { return Ok(LogProbability::NEVER) };
        handler.output_failure(register, facts, self.premises(register))
    }
}
