//! Bounds of memories, which are known after all passes.

use crate::diagnostic::{Problem, Result};
use crate::ir::{Memory, Program, Role};

/// Checks the memories of a function.
pub(super) fn check(program: &Program) -> Result<()> {
    program.memories.iter().try_for_each(has_values)
}

/// Refuses a parameter whose values have 128 bits: the compiler computes with at most 127 bits.
fn has_values(memory: &Memory) -> Result<()> {
    if memory.role != Role::Parameter || memory.range.1 < i128::MAX {
        return Ok(());
    }
    let what = format!("`{}` may have values of more than 127 bits", memory.name);
    Err(Problem::new(memory.place, what, "assert the range of its values, or use two values of 64 bits"))
}
