//! Reads of elements that nothing has written.
//!
//! In C such an element has no value; in hardware it has that of an earlier run. A read is refused if it happens in any case and
//! no earlier access may have written its element. A read under a condition or at an index that depends on data is accepted.

use crate::analysis::{Visit, Visits};
use crate::diagnostic::{Problem, Result};
use crate::ir::{Kernel, Memory, Node, Program, Role};

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
                && happens(kernel, access.condition, iteration)
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

/// Whether a condition holds in an iteration whatever the data.
fn happens(kernel: &Kernel, condition: Option<Node>, iteration: usize) -> bool {
    condition.is_none_or(|condition| kernel.graph.value_in(condition, iteration).is_some_and(|value| value != 0))
}
