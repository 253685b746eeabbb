//! Programs as one job of the engine.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use ciphermill_program::{Action, Instruction, Operands, VrId};
use ciphermill_tfhe::engine::{ProgramJob, Register, Step};
use ciphermill_tfhe::{Bounds, Ciphertext, Output, TestVector};

use super::{Loaded, Shape, TLWE_COR, TLWE_COW, TV, ciphertext, opcode, transfer};
use crate::handler::{HandlerError, WholeProgram};
use crate::handlers::{downcast, loaded, operand_error};

/// The registers of a program at most: those that a [`Register`] numbers.
const REGISTERS: usize = 1 << Register::BITS;

/// Whether each instruction is a step of the paper's Table 4, on test vectors and ciphertexts of a limited number.
pub(super) fn has_steps(instructions: &[Instruction]) -> bool {
    let ids: HashSet<VrId> = instructions.iter().flat_map(Instruction::registers).collect();
    if ids.len() > REGISTERS || !ids.iter().all(|id| [TV, TLWE_COR, TLWE_COW].contains(&id.type_code)) {
        return false;
    }
    let paper = [opcode::BOOTSTRAP, opcode::HOM_ADD, opcode::HOM_SUB, opcode::HOM_INT_MULT];
    let step =
        |instruction: &Instruction| instruction.action() != Action::Compute || paper.contains(&instruction.opcode());
    instructions.iter().all(step)
}

/// The numbers of registers, in the order in which they were asked for.
#[derive(Default)]
struct Numbers(HashMap<VrId, Register>);

impl Numbers {
    /// The number of a register; `None` if all are in use.
    fn of(&mut self, id: VrId) -> Option<Register> {
        if let Some(register) = self.0.get(&id) {
            return Some(*register);
        }
        let register = Register::try_from(self.0.len()).ok()?;
        self.0.insert(id, register);
        Some(register)
    }

    fn step(&mut self, instruction: &Instruction) -> Option<Step> {
        Some(match (instruction.action(), instruction.operands()) {
            (Action::Return, Operands::One(n)) => Step::Return(self.of(n)?),
            (Action::Move, Operands::Two(target, source)) => Step::Move(self.of(target)?, self.of(source)?),
            (Action::Push, Operands::One(n)) => Step::Push(self.of(n)?),
            (Action::Pop, Operands::One(n)) => Step::Pop(self.of(n)?),
            (Action::Compute, Operands::Two(a, b)) => {
                let (a, b) = (self.of(a)?, self.of(b)?);
                match instruction.opcode() {
                    opcode::BOOTSTRAP => Step::Bootstrap(a, b),
                    opcode::HOM_ADD => Step::Add(a, b),
                    opcode::HOM_SUB => Step::Sub(a, b),
                    _ => return None,
                }
            }
            (Action::Compute, Operands::Factor(n, value)) if instruction.opcode() == opcode::HOM_INT_MULT => {
                Step::Scale(self.of(n)?, value)
            }
            _ => return None,
        })
    }
}

/// The register before the program whose content it returns, if no step computes the result.
fn unchanged(steps: &[Step]) -> Option<Register> {
    // Where a content came from; none once it is computed. A register that is not listed has its own content.
    let mut origins: HashMap<Register, Option<Register>> = HashMap::new();
    let mut stack = Vec::new();
    for &step in steps {
        let origin = |register: Register| origins.get(&register).copied().unwrap_or(Some(register));
        match step {
            Step::Return(register) => return origin(register),
            Step::Push(register) => stack.push(origin(register)),
            Step::Pop(register) => drop(origins.insert(register, stack.pop().flatten())),
            Step::Move(target, source) => drop(origins.insert(target, origin(source))),
            Step::Bootstrap(_, register)
            | Step::Add(register, _)
            | Step::Sub(register, _)
            | Step::Scale(register, _) => {
                origins.insert(register, None);
            }
        }
    }
    None
}

/// See [`ObjectHandler::execute_program`](crate::handler::ObjectHandler::execute_program).
pub(super) fn execute(program: &WholeProgram<'_>, result: &mut Vec<u8>) -> Result<bool, HandlerError> {
    let key: &Loaded = loaded(Some(program.key), "a program")?;
    let mut numbers = Numbers::default();
    let steps: Option<Vec<Step>> = program.instructions.iter().map(|instruction| numbers.step(instruction)).collect();
    let Some(steps) = steps else { return Ok(false) };
    let mut ciphertexts: Vec<(Register, Ciphertext)> = Vec::new();
    let mut test_vectors: Vec<(Register, TestVector)> = Vec::new();
    for &(id, content) in program.operands {
        let Some(register) = numbers.of(id) else { return Ok(false) };
        match id.type_code {
            TV => test_vectors.push((register, TestVector::from_bytes(content).map_err(|e| operand_error(id, &e))?)),
            _ => ciphertexts.push((register, ciphertext(id, content)?)),
        }
    }
    let ciphertexts: Vec<_> = ciphertexts.iter().map(|(register, ciphertext)| (*register, ciphertext)).collect();
    let test_vectors: Vec<_> = test_vectors.iter().map(|(register, vector)| (*register, vector)).collect();
    let job = ProgramJob { steps: &steps, ciphertexts: &ciphertexts, test_vectors: &test_vectors };
    if !key.0.runs_program(&job) {
        return Ok(false);
    }
    let engine = |what: String| HandlerError::Engine { what };
    let start = Instant::now();
    let mut outputs = key.0.run(&[job.into()]).map_err(|e| engine(e.to_string()))?;
    let bootstraps = job.reached().iter().filter(|step| matches!(step, Step::Bootstrap(..))).count();
    if let Some(shape) = downcast::<Shape>(program.shape)
        && let Ok(count @ 1..) = u32::try_from(bootstraps)
    {
        shape.observe_bootstrap(start.elapsed() / count);
    }
    if let Some(register) = unchanged(&steps)
        && let Some((_, content)) = program.operands.iter().find(|(id, _)| numbers.of(*id) == Some(register))
    {
        // No instruction computed it: it stays as it is stored, in whatever version of its format.
        result.extend_from_slice(content);
        return Ok(true);
    }
    let output = outputs.pop().and_then(Output::into_ciphertext);
    let value = output.ok_or_else(|| engine("a program returned no ciphertext".to_owned()))?;
    // What an engine states of its result does not count.
    let bounds = program.facts.map_or(Bounds::UNKNOWN, transfer::result_bounds);
    result.extend_from_slice(&value.with_bounds(bounds).to_bytes());
    Ok(true)
}
