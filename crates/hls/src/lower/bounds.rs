//! Bounds of memories, which are known after all passes.

use crate::analysis::Layout;
use crate::diagnostic::{Place, Problem, Result};
use crate::ir::{Memory, Program, Role};
use crate::pragma::{Division, MAX_BANKS, Mode};

/// Banks of an array in all dimensions.
const MAX_ALL_BANKS: usize = 1 << 12;

/// Checks the memories of a function.
pub(super) fn check(program: &Program) -> Result<()> {
    program.memories.iter().try_for_each(|memory| {
        has_values(memory)?;
        has_banks(memory)
    })
}

/// Refuses a parameter whose values have 128 bits: the compiler computes with at most 127 bits.
fn has_values(memory: &Memory) -> Result<()> {
    if memory.role != Role::Parameter || memory.range.1 < i128::MAX {
        return Ok(());
    }
    let what = format!("`{}` may have values of more than 127 bits", memory.name);
    Err(Problem::new(memory.place, what, "assert the range of its values, or use two values of 64 bits"))
}

/// Refuses too many banks. A stream has none, and its partition is refused elsewhere.
fn has_banks(memory: &Memory) -> Result<()> {
    if memory.mode == Some(Mode::Stream) {
        return Ok(());
    }
    let (layout, most) = (Layout::of(memory), MAX_BANKS as usize);
    let refused = |what: String, way_out: String| Err(Problem::new(memory.place, what, way_out));
    if let Some(banks) = layout.banks_of_dimensions().find(|banks| *banks > most) {
        let what = format!("`{}` has {banks} banks in a dimension, at most {most}", memory.name);
        return refused(what, format!("use `block` or `cyclic` with a factor of 1 to {most}"));
    }
    if layout.banks > MAX_ALL_BANKS {
        let what = format!("`{}` has {} banks in all dimensions, at most {MAX_ALL_BANKS}", memory.name, layout.banks);
        return refused(what, "use smaller factors, or partition fewer dimensions".to_owned());
    }
    Ok(())
}

/// Refuses more banks than a dimension of an array has elements.
pub(super) fn fits(division: Division, length: usize, array: &str, place: Place) -> Result<()> {
    match division {
        Division::Block(factor) | Division::Cyclic(factor) if factor as usize > length => {
            let what = format!("factor={factor} for a dimension of `{array}`, which has {length} elements");
            Err(Problem::new(place, what, format!("use 1 to {length}")))
        }
        _ => Ok(()),
    }
}
