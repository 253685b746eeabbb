//! A run as the verifier sees it: stored objects and expected times.

use super::Run;
use crate::{
    device::registry::Known,
    handler::{Role, TypeDescriptor},
};
use ciphermill_program::{Action, Environment, Instruction, ObjectInfo, VrId};
use std::{sync::Arc, time::Duration};

impl Run<'_> {
    /// The size of a value in the newest version of its format. One that cannot be read is judged by its own size, and
    /// refused by the assessment.
    fn newest_size(&self, id: VrId, size: u64) -> u64 {
        let Some(Known { descriptor: TypeDescriptor { role: Role::Value(_), .. }, handler: Some(handler), .. }) =
            self.inner.registry.get(id.type_code)
        else {
            return size;
        };
        self.stored_facts(id).map_or(size, |facts| handler.newest_size(&facts, size))
    }
}

/// The run's view, with the triggering object in its register.
impl Environment for Run<'_> {
    fn object(&self, id: VrId) -> Option<ObjectInfo> {
        let size = match self.operand {
            Some(bytes) if id == self.trigger => bytes.len() as u64,
            _ => self.view.get(&id)?.size(),
        };
        Some(ObjectInfo { size: self.newest_size(id, size) })
    }

    /// The verifier asks for each instruction in turn.
    fn cost(&self, instruction: &Instruction) -> Duration {
        let mut sizes = self.sizes.borrow_mut();
        let size = |id: VrId| match sizes.registers.get(&id) {
            Some(size) => *size,
            None => self.object(id).map(|object| object.size),
        };
        let operands: Vec<_> = instruction.reads().map(size).collect();
        let target = instruction.writes().or_else(|| instruction.reads().next());
        let handled = target.and_then(|id| Some((id, self.inner.registry.handler(id.type_code)?)));
        let first = operands.first().copied().flatten();
        let written = match instruction.action() {
            Action::Push => {
                sizes.stack.push(first);
                None
            }
            Action::Pop => sizes.stack.pop().flatten(),
            Action::Move => first,
            _ => handled.and_then(|(id, handler)| handler.result_size(instruction, &operands, self.shape(id))),
        };
        if let Some(register) = instruction.writes() {
            sizes.registers.insert(register, written);
        }
        let Some((id, handler)) = handled else { return Duration::ZERO };
        let cost = handler.estimate(instruction, &operands, self.shape(id));
        let Some(family) = self.family(id).filter(|_| handler.needs_key(instruction)) else { return cost };
        let name = (self.space.id, family.0, family.1);
        let parts = || self.key_parts(family.0, family.1);
        let limit = self.inner.config.max_program_duration;
        let load = match sizes.keys.insert(family) {
            true => self.inner.keys.expected_load(name, &parts(), limit / 2),
            false => Duration::ZERO,
        };
        let prepared = handler.prepares(instruction).and_then(|place| {
            let operand = instruction.reads().nth(place)?;
            // One that the program wrote is prepared for each instruction, one that is stored for the first.
            let stored = self.view.get(&operand).filter(|_| !sizes.registers.contains_key(&operand));
            let again = stored.is_some() && !sizes.prepared.insert((family, operand));
            let bytes = operands.get(place).copied().flatten().filter(|_| !again)?;
            Some(self.inner.keys.expected_preparation((name, &parts()), stored.map(Arc::as_ref), bytes, limit / 4))
        });
        cost + load + prepared.unwrap_or_default()
    }
}
