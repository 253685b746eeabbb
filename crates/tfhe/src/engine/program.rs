//! A whole program as one job, for engines that keep its values in their own memory from the first step to the last.

use std::collections::{HashMap, HashSet};

use super::PreparedKey;
use crate::ciphertext::{Ciphertext, TestVector};
use crate::error::TfheError;

/// The number of a register of a program. Ciphertexts and test vectors share the numbers.
pub type Register = u8;

/// One step of a program: an instruction of the paper's Table 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ends the program with the content of a register.
    Return(Register),
    /// Copies the second register to the first.
    Move(Register, Register),
    /// Puts a content on the stack.
    Push(Register),
    /// Takes the top of the stack.
    Pop(Register),
    /// Looks the second register up in the test vector of the first.
    Bootstrap(Register, Register),
    /// Adds the second register to the first.
    Add(Register, Register),
    /// Subtracts the second register from the first.
    Sub(Register, Register),
    /// Multiplies by an integer.
    Scale(Register, i32),
}

impl Step {
    /// The number of the instruction in the paper's Table 4.
    #[must_use]
    pub fn opcode(self) -> u8 {
        match self {
            Step::Return(_) => 0,
            Step::Move(..) => 1,
            Step::Push(_) => 2,
            Step::Pop(_) => 3,
            Step::Bootstrap(..) => 4,
            Step::Add(..) => 5,
            Step::Sub(..) => 6,
            Step::Scale(..) => 7,
        }
    }
}

/// A program with the contents of its registers; its output is a ciphertext.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
#[doc = include_str!("../example_server.txt")]
/// use ciphermill_tfhe::engine::{ProgramJob, Step};
/// // The square of 3 in three bits, plus 2, by single bootstraps of a CPU.
/// let two = client.encrypt(&encoding, 2, KeyOrder::Big, &mut rng)?;
/// let program = ProgramJob {
///     steps: &[Step::Bootstrap(9, 0), Step::Add(0, 1), Step::Return(0)],
///     ciphertexts: &[(0, &three), (1, &two)],
///     test_vectors: &[(9, &square)],
/// };
/// assert_eq!(client.decrypt(&encoding, &program.by_steps(&server)?)?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ProgramJob<'a> {
    /// The steps; the first return ends the program.
    pub steps: &'a [Step],
    /// The ciphertexts before the first step, all under one key.
    pub ciphertexts: &'a [(Register, &'a Ciphertext)],
    /// The test vectors.
    pub test_vectors: &'a [(Register, &'a TestVector)],
}

impl ProgramJob<'_> {
    /// The steps up to the first return, that one included.
    #[must_use]
    pub fn reached(&self) -> &[Step] {
        let end = self.steps.iter().position(|step| matches!(step, Step::Return(_)));
        &self.steps[..end.map_or(self.steps.len(), |end| end + 1)]
    }

    /// The most values that the stack holds.
    #[must_use]
    pub fn stack_depth(&self) -> usize {
        let mut depth = 0usize;
        let after = |step: &Step| {
            match step {
                Step::Push(_) => depth += 1,
                Step::Pop(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth
        };
        self.reached().iter().map(after).max().unwrap_or(0)
    }

    /// Checks that each step finds its operands (ciphertexts, a test vector, the top of the stack), and that one returns.
    ///
    /// A register has one ciphertext or one test vector, and no step writes to a test vector.
    ///
    /// # Errors
    /// [`TfheError::Program`] with the first step that cannot be done.
    pub fn check(&self) -> Result<(), TfheError> {
        let mut given = HashSet::new();
        let ciphertexts = self.ciphertexts.iter().map(|(register, _)| *register);
        let tables: HashSet<Register> = self.test_vectors.iter().map(|(register, _)| *register).collect();
        if let Some(twice) = ciphertexts
            .chain(self.test_vectors.iter().map(|(register, _)| *register))
            .find(|register| !given.insert(*register))
        {
            return Err(TfheError::Program { step: 0, what: format!("register {twice} is given twice") });
        }
        let mut full: HashSet<Register> = self.ciphertexts.iter().map(|(register, _)| *register).collect();
        let mut depth = 0usize;
        for (step, &operation) in self.steps.iter().enumerate() {
            let fail = |what: String| Err(TfheError::Program { step, what });
            let read = match operation {
                Step::Return(register) | Step::Push(register) | Step::Scale(register, _) => vec![register],
                Step::Move(_, register) | Step::Bootstrap(_, register) => vec![register],
                Step::Add(register, other) | Step::Sub(register, other) => vec![register, other],
                Step::Pop(_) => Vec::new(),
            };
            if let Some(register) = read.into_iter().find(|register| !full.contains(register)) {
                return fail(format!("register {register} has no ciphertext"));
            }
            if let Step::Move(target, _) | Step::Pop(target) = operation
                && tables.contains(&target)
            {
                return fail(format!("register {target} has a test vector, which no step changes"));
            }
            match operation {
                Step::Return(_) => return Ok(()),
                Step::Push(_) => depth += 1,
                Step::Pop(_) if depth == 0 => return fail("the stack is empty".to_owned()),
                Step::Pop(target) => {
                    depth -= 1;
                    full.insert(target);
                }
                Step::Move(target, _) => drop(full.insert(target)),
                Step::Bootstrap(table, _) if !tables.contains(&table) => {
                    return fail(format!("register {table} has no test vector"));
                }
                _ => {}
            }
        }
        Err(TfheError::Program { step: self.steps.len(), what: "no step returns".to_owned() })
    }

    /// The definition of a program: its steps one after another, with bootstraps of `key`.
    ///
    /// # Errors
    /// As [`check`](Self::check) and the steps.
    pub fn by_steps(&self, key: &dyn PreparedKey) -> Result<Ciphertext, TfheError> {
        self.check()?;
        let missing = || TfheError::Engine { what: "a step that was checked reads nothing".to_owned() };
        let mut contents: HashMap<Register, Ciphertext> =
            self.ciphertexts.iter().map(|(register, ciphertext)| (*register, (*ciphertext).clone())).collect();
        let mut stack = Vec::new();
        for &step in self.steps {
            let read = |register: Register| contents.get(&register).cloned().ok_or_else(missing);
            let (target, value) = match step {
                Step::Return(register) => return read(register),
                Step::Push(register) => {
                    stack.push(read(register)?);
                    continue;
                }
                Step::Pop(register) => (register, stack.pop().ok_or_else(missing)?),
                Step::Move(target, source) => (target, read(source)?),
                Step::Bootstrap(table, register) => {
                    let found = self.test_vectors.iter().find(|(other, _)| *other == table);
                    let (_, test_vector) = found.ok_or_else(missing)?;
                    (register, key.bootstrap(&read(register)?, test_vector)?)
                }
                Step::Add(register, other) => {
                    let mut sum = read(register)?;
                    sum.add_assign(&read(other)?)?;
                    (register, sum)
                }
                Step::Sub(register, other) => {
                    let mut difference = read(register)?;
                    difference.sub_assign(&read(other)?)?;
                    (register, difference)
                }
                Step::Scale(register, factor) => {
                    let mut product = read(register)?;
                    product.scalar_mul_assign(factor);
                    (register, product)
                }
            };
            contents.insert(target, value);
        }
        Err(missing())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(steps: &[Step]) -> ProgramJob<'_> {
        ProgramJob { steps, ciphertexts: &[], test_vectors: &[] }
    }

    #[test]
    fn the_stack_is_as_deep_as_the_steps_before_the_return_make_it() {
        use Step::{Pop, Push, Return};
        assert_eq!(job(&[]).stack_depth(), 0);
        assert_eq!(job(&[Pop(0), Push(0), Push(0), Pop(1), Push(2), Return(0), Push(0), Push(0)]).stack_depth(), 2);
        assert_eq!(job(&[Push(1), Return(0), Push(0)]).reached(), [Push(1), Return(0)]);
    }

    #[test]
    fn a_step_that_reads_nothing_is_named() {
        let refused = job(&[Step::Pop(3), Step::Return(3)]).check().unwrap_err().to_string();
        assert!(refused.starts_with("step 0 of the program: the stack is empty"), "{refused}");
        let refused = job(&[Step::Move(1, 2)]).check().unwrap_err().to_string();
        assert!(refused.starts_with("step 0 of the program: register 2 has no ciphertext"), "{refused}");
        let refused = job(&[]).check().unwrap_err().to_string();
        assert!(refused.starts_with("step 0 of the program: no step returns"), "{refused}");
    }
}
