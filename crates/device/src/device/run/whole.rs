//! Programs that a handler's engine runs whole: one job instead of one for each instruction.

use super::{Run, compute::target};
use crate::{
    error::RunError,
    handler::{ObjectHandler, WholeProgram},
    metrics::InstructionMetrics,
};
use ciphermill_program::{Action, Assessment, Instruction, Program, VrId};
use std::{collections::HashSet, time::Instant};

/// The name of a whole program among the instructions of the metrics.
const NAME: &str = "program";

impl<'a> Run<'a> {
    /// The result of the program, if the handler of its instructions runs it whole. All its registers must be under one
    /// key, and the values that it reads must fit into memory together.
    pub(super) fn whole(&mut self, program: &Program, assessment: &Assessment) -> Result<Option<Vec<u8>>, RunError> {
        let instructions = program.instructions();
        let Some((id, handler)) = self.only_handler(instructions) else { return Ok(None) };
        let started = Instant::now();
        let key = self.key(id, handler)?;
        self.in_time(0)?;
        let read = operands(instructions);
        // Test vectors are read as well, so they count here.
        if self.inner.memory.check_working_set(read.iter().map(|&id| self.size(id))).is_err() {
            return Ok(None);
        }
        let values = read.iter().map(|&id| self.load(id)).collect::<Result<Vec<_>, _>>()?;
        let mut contents = vec![Vec::new(); values.len()];
        for (value, content) in values.iter().zip(&mut contents) {
            self.read_into(value, content)?;
        }
        // Their memory can be given to others while the engine computes.
        drop(values);
        self.in_time(0)?;
        let operands: Vec<(VrId, &[u8])> = read.into_iter().zip(contents.iter().map(Vec::as_slice)).collect();
        let facts = assessment.outputs().first().map(|output| &output.facts);
        let job = WholeProgram { instructions, operands: &operands, key: key.value(), shape: self.shape(id), facts };
        let mut result = Vec::new();
        let done = handler.execute_program(&job, &mut result).map_err(|source| RunError::Whole { source })?;
        if !done {
            return Ok(None);
        }
        // The engine does not stop within a program, but a late result does not count.
        self.in_time(instructions.len())?;
        self.times.insert(NAME, InstructionMetrics { count: 1, time: started.elapsed() });
        Ok(Some(result))
    }

    /// The handler that carries all instructions out which are not the device's own, if it runs such programs whole, and
    /// a register of the key that it needs.
    fn only_handler(&self, instructions: &[Instruction]) -> Option<(VrId, &'a dyn ObjectHandler)> {
        let first = instructions.iter().find(|instruction| instruction.action() == Action::Compute)?;
        let id = target(first);
        let handler = &**self.handler(id).ok()?;
        let family = self.family(id)?;
        let same = |register: VrId| self.family(register) == Some(family);
        let whole = handler.runs_program(instructions)
            && instructions.iter().any(|instruction| handler.needs_key(instruction))
            && instructions.iter().flat_map(Instruction::registers).all(same);
        whole.then_some((id, handler))
    }
}

/// The registers that a program reads before it writes them, each once, in the order of the instructions.
fn operands(instructions: &[Instruction]) -> Vec<VrId> {
    let mut known = HashSet::new();
    let mut read = Vec::new();
    for instruction in instructions {
        read.extend(instruction.reads().filter(|&id| known.insert(id)));
        known.extend(instruction.writes());
    }
    read
}
