//! Passes of lowering, each with the ranges of memories that the pass before found.

use super::{Lowering, bounds};
use crate::analysis::Visits;
use crate::ast::Unit;
use crate::diagnostic::{Place, Result};
use crate::ir::{Access, Kernel, Memory, Op, Program, Role};
use crate::{naming, streams, unwritten};

/// Passes with the ranges of the pass before.
const MAX_PASSES: usize = 4;

type Range = (i128, i128);

/// Lowers a function of a source.
pub(crate) fn lower(unit: &Unit, name: &str) -> Result<Program> {
    let program = settled(unit, name)?;
    let place = unit.functions.iter().find(|one| one.name == name).map_or(Place::BEGIN, |one| one.place);
    bounds::check(&program)?;
    naming::check(&program, place)?;
    streams::check(&program)?;
    unwritten::check(&program)?;
    Ok(program)
}

/// The program of the last pass. Elements have the range of the written values. The first pass finds it from the ranges of
/// types. A written value may come from another memory, whose range only the next pass knows.
fn settled(unit: &Unit, name: &str) -> Result<Program> {
    let (mut program, mut ranges) = (Lowering::run(unit, name, &[])?, Vec::new());
    for _ in 0..MAX_PASSES {
        let found = written(&program);
        if found == ranges {
            break;
        }
        // Only one program is in memory at a time.
        drop(program);
        program = Lowering::run(unit, name, &found)?;
        ranges = found;
    }
    Ok(program)
}

/// The range of the elements of each memory: of the written values, and of the asserted values from outside.
fn written(program: &Program) -> Vec<Range> {
    let contents = |(number, memory): (usize, &Memory)| match memory.role {
        Role::Table(_) => Some(memory.range),
        // The elements that no access writes keep their values. The assertions of reads are promises for all elements.
        Role::Parameter if !program.is_read(number) && !is_written_whole(program, number) => Some(memory.range),
        _ => None,
    };
    let mut found: Vec<Option<Range>> = program.memories.iter().enumerate().map(contents).collect();
    for kernel in &program.kernels {
        for (memory, range) in values(kernel, &program.memories) {
            let joined = found[memory].map_or(range, |known| (known.0.min(range.0), known.1.max(range.1)));
            found[memory] = Some(joined);
        }
    }
    let within = |(found, memory): (Option<Range>, &Memory)| {
        let (least, most) = found.unwrap_or(memory.range);
        (least.clamp(0, memory.range.1), most.clamp(0, memory.range.1))
    };
    found.into_iter().zip(&program.memories).map(within).collect()
}

/// Whether each run writes all elements of a memory, whatever the data.
fn is_written_whole(program: &Program, memory: usize) -> bool {
    let mut written = vec![false; program.memories[memory].len()];
    let is_write = |access: &Access| access.memory == memory && access.written.is_some();
    for kernel in program.kernels.iter().filter(|kernel| kernel.accesses.iter().any(is_write)) {
        let visits = Visits::of(kernel, &program.memories);
        for access in (0..kernel.accesses.len()).filter(|&access| is_write(&kernel.accesses[access])) {
            for iteration in (0..kernel.iterations()).filter(|&iteration| kernel.is_certain(access, iteration)) {
                if let Some(element) = visits.get(access, iteration).and_then(|visit| visit.element) {
                    written[element] = true;
                }
            }
        }
    }
    written.into_iter().all(|is_written| is_written)
}

/// The written values of a kernel, and those that it reads from outside: the memory and the range of each.
fn values<'k>(kernel: &'k Kernel, memories: &'k [Memory]) -> impl Iterator<Item = (usize, Range)> {
    // A parameter has contents from outside. Its reads have their range.
    let outside = kernel.graph.nodes().filter_map(|(_, data)| match data.op {
        Op::Read(access) => Some((kernel.accesses[access].memory, data.range)),
        _ => None,
    });
    let outside = outside.filter(|(memory, _)| memories[*memory].role == Role::Parameter);
    let inside = kernel.accesses.iter().filter_map(|access| Some((access.memory, kernel.graph.range(access.written?))));
    outside.chain(inside)
}
