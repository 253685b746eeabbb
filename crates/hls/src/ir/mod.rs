//! The intermediate representation: memories, and kernels that read and write them.
//!
//! A [`Kernel`] is a nest of loops around code without branches. That code is a [`Graph`]: each node is one value of an
//! iteration. The trip counts of loops are constants, so a node that depends on loop variables alone is evaluated in every
//! iteration, and its range is exact.

mod evaluate;
mod graph;
mod widths;

pub use evaluate::{EvaluationError, State};
pub(crate) use graph::{Full, Room};
pub use graph::{Graph, Node, NodeData, Op};
pub use widths::Widths;

use crate::diagnostic::Place;
use crate::pragma::{Division, Mode, Ports};

/// A function as memories and kernels, which run one after another.
#[derive(Clone, Debug)]
pub struct Program {
    /// The name of the function.
    pub name: String,
    /// The memories.
    pub memories: Vec<Memory>,
    /// The kernels, in their order.
    pub kernels: Vec<Kernel>,
}

impl Program {
    /// Whether a kernel reads a memory.
    pub(crate) fn is_read(&self, memory: usize) -> bool {
        let mut accesses = self.kernels.iter().flat_map(|kernel| &kernel.accesses);
        accesses.any(|access| access.memory == memory && access.written.is_none())
    }
}

/// Where the contents of a memory come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// A parameter of the function: the caller writes its contents before a run, and reads them after it.
    Parameter,
    /// A variable or an array of the function, without contents at its start.
    Local,
    /// The function's result, of one element.
    Result,
    /// Constants.
    Table(Vec<i128>),
}

/// An array, or a variable that outlives an iteration.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Its name in the source, with a number if several have it.
    pub name: String,
    /// Where it is declared.
    pub place: Place,
    /// The range of its elements.
    pub range: (i128, i128),
    /// The lengths of its dimensions; empty for a variable.
    pub lengths: Vec<usize>,
    /// How each dimension is divided among banks.
    pub divisions: Vec<Option<Division>>,
    /// The ports of a bank.
    pub ports: Ports,
    /// How it is connected, if it is a parameter with a pragma `interface`.
    pub mode: Option<Mode>,
    /// Where its contents come from.
    pub role: Role,
}

impl Memory {
    /// Whether it is an array among the parameters.
    #[must_use]
    pub fn is_array_parameter(&self) -> bool {
        self.role == Role::Parameter && !self.lengths.is_empty()
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lengths.iter().product()
    }

    /// Whether it has no elements. Arrays of C have at least one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of the element with these indices, the last of which changes fastest.
    #[must_use]
    pub fn element(&self, indices: impl IntoIterator<Item = i64>) -> usize {
        self.lengths.iter().zip(indices).fold(0, |element, (&length, index)| element * length + index as usize)
    }

    /// The indices of the element with that number.
    #[must_use]
    pub fn indices(&self, mut element: usize) -> Vec<usize> {
        let mut indices = vec![0; self.lengths.len()];
        for (index, &length) in indices.iter_mut().zip(&self.lengths).rev() {
            *index = element % length;
            element /= length;
        }
        indices
    }

    /// The text of the element with that number, as in C.
    #[must_use]
    pub fn element_name(&self, element: usize) -> String {
        let indices = self.indices(element).into_iter().map(|index| format!("[{index}]"));
        indices.fold(self.name.clone(), |text, index| text + &index)
    }

    /// The bits of an element.
    #[must_use]
    pub fn bits(&self) -> u32 {
        bits(self.range)
    }
}

/// The bits of an unsigned number of a range.
#[must_use]
pub fn bits(range: (i128, i128)) -> u32 {
    (128 - range.1.max(0).leading_zeros()).max(1)
}

/// The greatest number of this many bits, at most 127.
pub(crate) fn ones(bits: u32) -> i128 {
    i128::MAX >> 127u32.saturating_sub(bits)
}

/// A loop of a nest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Its label in the source, or its variable.
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// The variable's first value.
    pub first: i64,
    /// The value that each iteration adds to the variable.
    pub step: i64,
    /// The number of iterations.
    pub trips: usize,
}

/// A read or a write of a memory in every iteration.
#[derive(Clone, Debug)]
pub struct Access {
    /// The number of the memory.
    pub memory: usize,
    /// The index of each dimension.
    pub indices: Vec<Node>,
    /// The written value; `None` for a read.
    pub written: Option<Node>,
    /// The condition under which it happens; `None` if it happens in all iterations.
    pub condition: Option<Node>,
    /// Where it is in the source.
    pub place: Place,
}

/// A nest of loops around code without branches.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// Its loops, the outermost first; empty if the code runs once.
    pub loops: Vec<Loop>,
    /// The code.
    pub graph: Graph,
    /// The accesses in the order of the source.
    pub accesses: Vec<Access>,
    /// The pipeline that the source asks for: `None` for no pipeline, `Some(None)` for the least interval.
    pub pipeline: Option<Option<u32>>,
    /// Memories through which iterations of the innermost loop do not depend on one another, according to the source.
    pub independent: Vec<(usize, Place)>,
}

impl Kernel {
    /// The number of iterations.
    #[must_use]
    pub fn iterations(&self) -> usize {
        self.loops.iter().map(|one| one.trips).product()
    }

    /// Whether an access happens in an iteration, whatever the data.
    pub(crate) fn is_certain(&self, access: usize, iteration: usize) -> bool {
        let condition = self.accesses[access].condition;
        condition.is_none_or(|one| self.graph.value_in(one, iteration).is_some_and(|value| value != 0))
    }
}
