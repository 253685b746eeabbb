//! The reach of a run: the stored objects that its caller lets it read.

use crate::{
    error::RunError,
    store::{Owner, StoredObject},
};
use ciphermill_program::{Instruction, Program, VrId};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Takes the objects of other owners that the program names out of its view. Fails if the program reads one of them. A
/// register that the program writes first is its own, whatever the store holds under the same name. Keys stay: a program
/// computes with them and cannot read them unless it names them.
pub(super) fn confine(
    view: &mut HashMap<VrId, Arc<StoredObject>>,
    program: &Program,
    given: Option<VrId>,
    owner: &Owner,
) -> Result<(), RunError> {
    let foreign = |view: &HashMap<VrId, Arc<StoredObject>>, register: VrId| {
        view.get(&register).is_some_and(|object| object.owner() != Some(owner))
    };
    let mut own: HashSet<VrId> = given.into_iter().collect();
    for (index, instruction) in program.instructions().iter().enumerate() {
        let read = instruction.reads().find(|register| !own.contains(register) && foreign(view, *register));
        if let Some(register) = read {
            return Err(RunError::OutOfReach { index, register });
        }
        own.extend(instruction.writes());
    }
    for register in program.instructions().iter().flat_map(Instruction::registers) {
        if foreign(view, register) {
            view.remove(&register);
        }
    }
    Ok(())
}
