//! Tables: `static` arrays that functions of constants fill.

use super::{Binding, Lowering};
use crate::ast::{Expr, ExprKind, Function};
use crate::diagnostic::{Place, Problem, Result};
use crate::interpret::{Argumented, Array, fitting};
use crate::ir::Role;

impl<'u> Lowering<'u> {
    /// Whether a call fills `static` arrays with constants.
    pub(super) fn fills(&mut self, function: &Function, arguments: &[Expr]) -> bool {
        let mut arrays = 0;
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            if parameter.lengths.is_empty() {
                if self.constant(argument).is_none() {
                    return false;
                }
                continue;
            }
            let ExprKind::Name(name) = &argument.kind else { return false };
            match self.find(name, argument.place) {
                Ok(Binding::Memory(number, _)) if self.is_fixed(*number) => arrays += 1,
                _ => return false,
            }
        }
        arrays > 0
    }

    pub(super) fn is_fixed(&self, number: usize) -> bool {
        self.fixed.contains_key(&number) || matches!(self.memories[number].role, Role::Table(_))
    }

    pub(super) fn fill(&mut self, function: &'u Function, arguments: &[Expr], place: Place) -> Result<()> {
        let mut given = Vec::new();
        let mut numbers = Vec::new();
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            if parameter.lengths.is_empty() {
                let value = self.constant(argument).unwrap_or_default();
                fitting(value, parameter.of, argument.place)?;
                given.push(Argumented::Value(value, parameter.of));
                continue;
            }
            let Binding::Memory(number, of) = self.array_argument(parameter, argument)? else { continue };
            let array = match &self.memories[number].role {
                // An element that no function has written is 0 at the first run, and has any value at the runs after it.
                Role::Table(elements) => Array {
                    of,
                    lengths: self.memories[number].lengths.clone(),
                    elements: match self.filled.get(&number) {
                        Some(written) => written.clone(),
                        None => elements.iter().copied().map(Some).collect(),
                    },
                },
                _ => self.fixed[&number].clone(),
            };
            given.push(Argumented::Array(array));
            numbers.push(number);
        }
        for (number, array) in numbers.iter().copied().zip(self.interpreter.fill(function, given, place)?) {
            // Elements without a value are 0, as in any `static` array.
            let elements: Vec<i128> = array.elements.iter().map(|element| element.unwrap_or(0)).collect();
            let memory = &self.memories[number];
            let is_same = match &memory.role {
                Role::Table(before) => *before == elements,
                _ => elements.iter().all(|element| *element == 0),
            };
            if !is_same {
                self.check_unread(number, place)?;
                // Each parameter has its own copy.
                if numbers.iter().filter(|other| **other == number).count() > 1 {
                    let what = format!(
                        "`{}` is an argument for two parameters, and `{}` changes it",
                        memory.name, function.name
                    );
                    return Err(Problem::new(place, what, "use another array for one of them"));
                }
            }
            if self.constants.contains(&number) && !is_same {
                let what = format!("`{}` is a constant, and `{}` changes it", memory.name, function.name);
                return Err(Problem::new(place, what, "make it `static` and not `const`, or fill another array"));
            }
            let memory = &mut self.memories[number];
            memory.range = elements.iter().fold((i128::MAX, 0), |(a, b), &v| (a.min(v), b.max(v)));
            memory.role = Role::Table(elements);
            if self.fixed.remove(&number).is_some() || self.filled.contains_key(&number) {
                self.filled.insert(number, array.elements);
            }
        }
        Ok(())
    }

    /// Refuses to change a table after a kernel that reads it: the hardware has one table.
    fn check_unread(&self, number: usize, place: Place) -> Result<()> {
        let kernels = self.kernels.iter().map(|kernel| &kernel.accesses);
        let accesses = kernels.chain(self.body.iter().map(|body| &body.accesses)).flatten();
        match accesses.into_iter().find(|access| access.memory == number) {
            None => Ok(()),
            Some(read) => {
                let what =
                    format!("the table `{}` is filled after its read at {{also}}", self.memories[read.memory].name);
                Err(Problem::new(place, what, "fill it before, or use another table").and(read.place))
            }
        }
    }

    /// `static` arrays that no function fills have zeros.
    pub(super) fn fill_with_zeros(&mut self) {
        for (number, _) in std::mem::take(&mut self.fixed) {
            let memory = &mut self.memories[number];
            (memory.range, memory.role) = ((0, 0), Role::Table(vec![0; memory.len()]));
        }
    }
}
