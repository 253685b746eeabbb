//! Reads of elements that nothing has written.
//!
//! In C such an element has no value; in hardware it has that of an earlier run. A read is refused if it happens in any case and
//! no earlier access may have written its element. A read under a condition or at an index that depends on data is accepted.

use crate::analysis::{Visit, Visits};
use crate::diagnostic::{Problem, Result};
use crate::ir::{Access, Kernel, Memory, Node, Op, Program, Role};

/// Checks the local memories of a function.
pub(crate) fn check(program: &Program) -> Result<()> {
    let mut written: Vec<Option<Written>> = program.memories.iter().map(Written::of).collect();
    for kernel in &program.kernels {
        if kernel.accesses.iter().any(|access| written[access.memory].is_some()) {
            in_kernel(kernel, &program.memories, &mut written)?;
        }
    }
    Ok(())
}

/// The elements of a memory that may have been written.
struct Written(Vec<bool>);

impl Written {
    /// Nothing, for a memory that begins without contents; `None` for others.
    fn of(memory: &Memory) -> Option<Self> {
        (memory.role == Role::Local).then(|| Self(vec![false; memory.len()]))
    }

    fn add(&mut self, visit: Visit) {
        match visit.element {
            Some(element) => self.0[element] = true,
            None => self.0.fill(true),
        }
    }

    /// The element of a visit, if nothing can have written it.
    fn lacks(&self, visit: Visit) -> Option<usize> {
        visit.element.filter(|&element| !self.0[element])
    }
}

fn in_kernel(kernel: &Kernel, memories: &[Memory], written: &mut [Option<Written>]) -> Result<()> {
    let visits = Visits::of(kernel, memories);
    for iteration in 0..kernel.iterations() {
        for (number, access) in kernel.accesses.iter().enumerate() {
            let (Some(written), Some(visit)) = (&mut written[access.memory], visits.get(number, iteration)) else {
                continue;
            };
            if access.written.is_some() {
                written.add(visit);
            } else if let Some(element) = written.lacks(visit)
                && kernel.is_certain(number, iteration)
                && (!memories[access.memory].lengths.is_empty() || is_needed(kernel, number, iteration))
            {
                let name = memories[access.memory].element_name(element);
                let what =
                    format!("iteration {iteration} of `{}` reads `{name}`, which nothing has written", kernel.name);
                return Err(Problem::new(access.place, what, "write it first"));
            }
        }
    }
    Ok(())
}

/// Whether an access in an iteration needs the value of a read. A kernel reads a variable that outlives an iteration in each
/// iteration, and may select another value.
fn is_needed(kernel: &Kernel, read: usize, iteration: usize) -> bool {
    let needs =
        |access: &Access| access.indices.iter().copied().chain(access.written).chain(access.condition).collect();
    let mut open: Vec<Node> = kernel.accesses.iter().flat_map(|access| -> Vec<Node> { needs(access) }).collect();
    let mut seen = vec![false; kernel.graph.len()];
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut seen[node.index()], true) || kernel.graph.value_in(node, iteration).is_some() {
            continue;
        }
        match kernel.graph.get(node).op {
            Op::Read(access) if access == read => return true,
            Op::Select(condition, yes, no) => match kernel.graph.value_in(condition, iteration) {
                Some(0) => open.push(no),
                Some(_) => open.push(yes),
                None => open.extend([condition, yes, no]),
            },
            op => open.extend(op.operands()),
        }
    }
    false
}
