//! Evaluation of a program, iteration by iteration, in the order of the source.

use super::{Kernel, Memory, Node, Op, Program, Role};

/// The contents of the memories of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The elements of each memory. An element is `None` until it is written.
    pub memories: Vec<Vec<Option<i128>>>,
}

/// Errors of an evaluation. An accepted program stops early only if an assertion of the source does not hold, or if a read
/// whose condition or index depends on data meets an element that nothing has written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// An element is read before it is written.
    #[error("{memory}[{element}] is read before it is written, in iteration {iteration} of {kernel}")]
    Unwritten {
        /// The memory.
        memory: String,
        /// The number of the element.
        element: usize,
        /// The kernel.
        kernel: String,
        /// The number of the iteration.
        iteration: usize,
    },
    /// A value is outside of the range that the compiler found.
    #[error("a value of {kernel} is {value}, not in {least} to {most}")]
    Range {
        /// The kernel.
        kernel: String,
        /// The value.
        value: i128,
        /// The least value.
        least: i128,
        /// The greatest value.
        most: i128,
    },
}

impl State {
    /// The state before the first kernel: tables have their contents.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let contents = |memory: &Memory| match &memory.role {
            Role::Table(elements) => elements.iter().copied().map(Some).collect(),
            _ => vec![None; memory.len()],
        };
        Self { memories: program.memories.iter().map(contents).collect() }
    }

    /// The state before a call with these elements of the parameters, in their order. A parameter that is not an array has one
    /// element.
    ///
    /// # Example
    /// ```
    /// use ciphermill_hls::Source;
    /// use ciphermill_hls::ir::State;
    ///
    /// let source = Source::new("add.c", "void add(unsigned char a[2], unsigned char x) { a[1] = a[0] ^ x; }");
    /// let program = source.lower(&[], "add")?;
    /// let mut state = State::before(&program, [vec![6, 0], vec![3]]);
    /// program.evaluate(&mut state)?;
    /// assert_eq!(state.arrays(&program).next(), Some(&[Some(6), Some(5)][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn before(program: &Program, parameters: impl IntoIterator<Item = Vec<i128>>) -> Self {
        let mut state = Self::new(program);
        let memories = program.memories.iter().zip(&mut state.memories);
        let contents = memories.filter(|(memory, _)| memory.role == Role::Parameter).map(|(_, contents)| contents);
        for (contents, elements) in contents.zip(parameters) {
            *contents = elements.into_iter().map(Some).collect();
        }
        state
    }

    /// The state after a call that leaves these elements in the arrays among the parameters, and this result.
    #[must_use]
    pub fn after(program: &Program, arrays: impl IntoIterator<Item = Vec<Option<i128>>>, result: Option<i128>) -> Self {
        let (mut state, mut arrays) = (Self::new(program), arrays.into_iter());
        for (memory, contents) in program.memories.iter().zip(&mut state.memories) {
            if memory.role == Role::Result {
                *contents = vec![result];
            } else if memory.is_array_parameter()
                && let Some(elements) = arrays.next()
            {
                *contents = elements;
            }
        }
        state
    }

    /// The elements of the arrays among the parameters.
    pub fn arrays<'s>(&'s self, program: &'s Program) -> impl Iterator<Item = &'s [Option<i128>]> {
        let memories = program.memories.iter().zip(&self.memories);
        memories.filter(|(memory, _)| memory.is_array_parameter()).map(|(_, contents)| &contents[..])
    }
}

impl Program {
    /// Runs all kernels.
    ///
    /// # Errors
    /// [`EvaluationError`], if an assertion of the source does not hold.
    pub fn evaluate(&self, state: &mut State) -> Result<(), EvaluationError> {
        self.kernels.iter().try_for_each(|kernel| {
            (0..kernel.iterations()).try_for_each(|iteration| kernel.evaluate(&self.memories, iteration, state))
        })
    }
}

impl Kernel {
    /// Runs one iteration.
    fn evaluate(&self, memories: &[Memory], iteration: usize, state: &mut State) -> Result<(), EvaluationError> {
        // Accesses are evaluated in their order, because a read must see the writes before it.
        let mut values: Vec<Option<i128>> = vec![None; self.graph.len()];
        for (number, access) in self.accesses.iter().enumerate() {
            let memory = &memories[access.memory];
            if let Some(condition) = access.condition
                && self.value(condition, iteration, &mut values) == 0
            {
                continue;
            }
            let mut indices = Vec::new();
            for &index in &access.indices {
                indices.push(self.value(index, iteration, &mut values) as i64);
            }
            let element = memory.element(indices);
            match access.written {
                Some(written) => {
                    let value = self.value(written, iteration, &mut values);
                    state.memories[access.memory][element] = Some(value);
                }
                None => {
                    let Some(value) = state.memories[access.memory][element] else {
                        // The kernel may select another value than that of a variable without one.
                        if memory.lengths.is_empty() {
                            continue;
                        }
                        return Err(EvaluationError::Unwritten {
                            memory: memory.name.clone(),
                            element,
                            kernel: self.name.clone(),
                            iteration,
                        });
                    };
                    if let Some((node, data)) = self.graph.nodes().find(|(_, data)| data.op == Op::Read(number)) {
                        let (least, most) = data.range;
                        if value < least || value > most {
                            return Err(EvaluationError::Range { kernel: self.name.clone(), value, least, most });
                        }
                        values[node.index()] = Some(value);
                    }
                }
            }
        }
        Ok(())
    }

    /// The value of a node, without recursion: graphs may be deep.
    fn value(&self, node: Node, iteration: usize, values: &mut [Option<i128>]) -> i128 {
        let mut open = vec![node];
        while let Some(&top) = open.last() {
            match self.value_or_operand(top, iteration, values) {
                Ok(value) => {
                    values[top.index()] = Some(value);
                    open.pop();
                }
                Err(operand) => open.push(operand),
            }
        }
        values[node.index()].unwrap_or_default()
    }

    /// The value of a node, or an operand that must be evaluated first.
    fn value_or_operand(&self, node: Node, iteration: usize, values: &[Option<i128>]) -> Result<i128, Node> {
        let of = |node: Node| self.graph.value_in(node, iteration).or(values[node.index()]);
        let op = self.graph.get(node).op;
        match (of(node), op) {
            (Some(value), _) => Ok(value),
            // The condition of the read does not hold in this iteration, so no access uses the value.
            (None, Op::Read(_)) => Ok(0),
            // Only the chosen side has a value within its range.
            (None, Op::Select(condition, yes, no)) => {
                let chosen = if of(condition).ok_or(condition)? != 0 { yes } else { no };
                of(chosen).ok_or(chosen)
            }
            _ => match op.operands().into_iter().find(|operand| of(*operand).is_none()) {
                Some(operand) => Err(operand),
                None => Ok(op.value(|operand| of(operand).unwrap_or_default()).unwrap_or_default()),
            },
        }
    }
}
