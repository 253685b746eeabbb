//! A run as the verifier sees it: stored objects and expected times.

use super::{Run, Sizes};
use crate::{
    cost::Expected,
    device::registry::Known,
    handler::{Residency, Role, TypeDescriptor},
};
use ciphermill_program::{Action, Environment, Instruction, ObjectInfo, VrId};
use std::{sync::Arc, time::Duration};

impl Run<'_> {
    /// Whether the register has the object that is being written.
    fn is_trigger(&self, id: VrId) -> bool {
        self.operand.is_some() && id == self.trigger
    }

    fn is_paged(&self, id: VrId) -> bool {
        self.inner.registry.get(id.type_code).is_some_and(|known| known.descriptor.residency == Residency::Paged)
    }

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

impl Sizes {
    /// The part of a guess that counts. All guesses of a program together stay below its limit, so that they alone do not refuse it.
    fn guess(&mut self, time: Duration, limit: Duration) -> Duration {
        let counted = time.min((limit / 4 * 3).saturating_sub(self.guessed));
        self.guessed += counted;
        counted
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
        let load = match sizes.keys.insert(family) {
            true => self.inner.keys.expected_load(name, &parts()),
            false => Expected::Timed(Duration::ZERO),
        };
        let prepared = handler.prepares(instruction).and_then(|place| {
            let operand = instruction.reads().nth(place)?;
            // Objects outside of paging are prepared once and kept; what the program has written is prepared each time.
            let stored = self.view.get(&operand).filter(|_| {
                !sizes.registers.contains_key(&operand) && !self.is_trigger(operand) && !self.is_paged(operand)
            });
            let again = stored.is_some() && !sizes.prepared.insert((family, operand));
            let bytes = operands.get(place).copied().flatten().filter(|_| !again)?;
            Some(self.inner.keys.expected_preparation((name, &parts()), stored.map(Arc::as_ref), bytes))
        });
        [Some(load), prepared].into_iter().flatten().fold(cost, |cost, expected| {
            cost + match expected {
                Expected::Timed(time) => time,
                Expected::Guessed(time) => sizes.guess(time, self.inner.config.max_program_duration),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_alone_refuse_no_program() {
        let (mut sizes, limit) = (Sizes::default(), Duration::from_secs(20));
        let counted: Vec<_> = [5, 100, 1].map(|secs| sizes.guess(Duration::from_secs(secs), limit).as_secs()).into();
        assert_eq!(counted, [5, 10, 0]);
    }
}
