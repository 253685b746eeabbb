//! The program of one core, and its bytes.

use std::fmt;

use thiserror::Error;

use super::codec::DecodeError;
use super::instruction::{Instruction, OperandError};
use super::operand::{Core, RangeError, check, wide};

/// The size of a core's instruction memory.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::InstructionMemory;
///
/// assert_eq!(InstructionMemory::new(16 << 10)?, InstructionMemory::PAPER);
/// assert_eq!(InstructionMemory::PAPER.words(), 4096);
/// assert!(InstructionMemory::new(3).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InstructionMemory {
    words: usize,
}

impl InstructionMemory {
    /// 16 KiB, as in the paper's section 4.
    pub const PAPER: Self = Self { words: 4096 };
    /// The maximum size in bytes: 4 MiB, so that every reader of programs has a limit.
    pub const MAX_BYTES: usize = 1 << 22;
    /// [`Self::MAX_BYTES`], for tools that read programs of unknown machines.
    pub const LARGEST: Self = Self { words: Self::MAX_BYTES / Instruction::BYTES };

    /// A memory of this many bytes. An incomplete last word is not used.
    ///
    /// # Errors
    /// [`RangeError`] for less than one word or more than [`Self::MAX_BYTES`].
    pub fn new(bytes: usize) -> Result<Self, RangeError> {
        let what = "the size of an instruction memory in bytes";
        check(what, bytes, wide(Instruction::BYTES), wide(Self::MAX_BYTES))?;
        Ok(Self { words: bytes / Instruction::BYTES })
    }

    /// The number of instructions that fit, at least 1.
    #[must_use]
    pub const fn words(self) -> usize {
        self.words
    }
}

/// A program of one core. It fits the core's instruction memory, every branch and jump stays inside, and the last
/// instruction is `ebreak` or a jump. Control therefore never leaves it.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::{Core, InstructionMemory, Program, assemble};
///
/// let program = assemble("again: bne x1, x2, again\nebreak", Core::FIRST, InstructionMemory::PAPER)?.program;
/// assert_eq!(program.to_string(), "l0:\n    bne x1, x2, l0\n    ebreak\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    core: Core,
    instructions: Vec<Instruction>,
}

/// An invalid program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("core {core}: {problem}")]
pub struct ProgramError {
    /// The core of the program.
    pub core: Core,
    /// The problem.
    pub problem: ProgramProblem,
}

/// The problem of an invalid program. Indices of words count from 0.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::{Core, InstructionMemory, Instruction, Program, ProgramProblem};
///
/// let endless = Program::new(Core::FIRST, vec![Instruction::Phase], InstructionMemory::PAPER).unwrap_err();
/// assert_eq!(endless.problem, ProgramProblem::NoEnd { index: 0 });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProgramProblem {
    /// There is no instruction.
    #[error("the program has no instruction; an idle core's is a single ebreak")]
    Empty,
    /// The bytes are not a whole number of words.
    #[error("{bytes} bytes are not a whole number of words of 4 bytes")]
    NotWords {
        /// The number of bytes.
        bytes: usize,
    },
    /// The program does not fit.
    #[error(
        "the program has {words} words, but the instruction memory holds {limit}; shorten it or enlarge the memory"
    )]
    TooLong {
        /// The words of the program.
        words: usize,
        /// The words of the memory.
        limit: usize,
    },
    /// A word is not an instruction.
    #[error("word {index}: {source}")]
    Decode {
        /// The index of the word.
        index: usize,
        /// The decoder's error.
        source: DecodeError,
    },
    /// The operands of an instruction cannot be combined.
    #[error("word {index}: {source}")]
    Operand {
        /// The index of the word.
        index: usize,
        /// The error.
        source: OperandError,
    },
    /// A branch or jump leaves the program.
    #[error("word {index}: the branch or jump goes to word {target}, but the program has the words 0 to {last}")]
    Branch {
        /// The index of the word.
        index: usize,
        /// The target of the branch or jump.
        target: i64,
        /// The index of the last word.
        last: usize,
    },
    /// The program continues after its last instruction.
    #[error("word {index}: the program goes on past its end; let the last instruction be ebreak or a jump")]
    NoEnd {
        /// The index of the last word.
        index: usize,
    },
}

impl ProgramProblem {
    /// The index of the word, if the problem concerns one.
    #[must_use]
    pub const fn index(&self) -> Option<usize> {
        match *self {
            Self::Empty | Self::NotWords { .. } | Self::TooLong { .. } => None,
            Self::Decode { index, .. }
            | Self::Operand { index, .. }
            | Self::Branch { index, .. }
            | Self::NoEnd { index } => Some(index),
        }
    }
}

impl Program {
    /// Creates the program of a core.
    ///
    /// # Errors
    /// [`ProgramError`] if the program is empty or does not fit the memory, if [`Instruction::check`] rejects an
    /// instruction, if a branch or jump leaves the program, or if its last instruction is neither `ebreak` nor a jump.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::{Core, Instruction, InstructionMemory, Program};
    ///
    /// let idle = Program::new(Core::FIRST, vec![Instruction::Ebreak], InstructionMemory::PAPER)?;
    /// assert_eq!(idle.to_bytes(), [0x73, 0, 0x10, 0]);
    /// assert!(Program::new(Core::FIRST, Vec::new(), InstructionMemory::PAPER).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(core: Core, instructions: Vec<Instruction>, memory: InstructionMemory) -> Result<Self, ProgramError> {
        match valid(&instructions, memory) {
            Ok(()) => Ok(Self { core, instructions }),
            Err(problem) => Err(ProgramError { core, problem }),
        }
    }

    /// Creates a program from its words, each of 4 bytes in little-endian order.
    ///
    /// # Errors
    /// [`ProgramError`] for bytes that are not words, words that are not instructions, and the errors of [`Self::new`].
    /// A program that does not fit is not allocated.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::{Core, Instruction, InstructionMemory, Program};
    ///
    /// let idle = Program::from_bytes(Core::FIRST, &[0x73, 0, 0x10, 0], InstructionMemory::PAPER)?;
    /// assert_eq!(idle.instructions(), [Instruction::Ebreak]);
    /// assert!(Program::from_bytes(Core::FIRST, &[0x73, 0, 0x10], InstructionMemory::PAPER).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(core: Core, bytes: &[u8], memory: InstructionMemory) -> Result<Self, ProgramError> {
        let wrong = |problem| ProgramError { core, problem };
        let (words, rest) = bytes.as_chunks::<{ Instruction::BYTES }>();
        if !rest.is_empty() {
            return Err(wrong(ProgramProblem::NotWords { bytes: bytes.len() }));
        }
        fits(words.len(), memory).map_err(wrong)?;
        let instructions = words.iter().enumerate().map(|(index, word)| {
            let decoded = Instruction::decode(u32::from_le_bytes(*word));
            decoded.map_err(|source| wrong(ProgramProblem::Decode { index, source }))
        });
        Self::new(core, instructions.collect::<Result<_, _>>()?, memory)
    }

    /// The words, each as 4 bytes in little-endian order.
    ///
    /// # Example
    /// ```
    /// use ciphermill_rvfhe::isa::{Core, InstructionMemory, Program, assemble};
    ///
    /// let program = assemble("phase\nebreak", Core::FIRST, InstructionMemory::PAPER)?.program;
    /// let bytes = program.to_bytes();
    /// assert_eq!(bytes.len(), 8);
    /// assert_eq!(Program::from_bytes(Core::FIRST, &bytes, InstructionMemory::PAPER)?, program);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.instructions.iter().flat_map(|instruction| instruction.encode().to_le_bytes()).collect()
    }

    /// The core of the program.
    #[must_use]
    pub const fn core(&self) -> Core {
        self.core
    }

    /// The instructions, at least one.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }
}

impl fmt::Display for Program {
    /// The assembly text, with labels, which [`super::assemble`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = |index: usize| self.instructions.get(index).and_then(|instruction| branch(index, instruction));
        let mut targets: Vec<i64> = (0..self.instructions.len()).filter_map(target).collect();
        targets.sort_unstable();
        targets.dedup();
        for (index, instruction) in self.instructions.iter().enumerate() {
            if targets.binary_search(&wide(index)).is_ok() {
                writeln!(f, "l{index}:")?;
            }
            match (instruction, target(index)) {
                (Instruction::Bne { rs1, rs2, .. }, Some(to)) => writeln!(f, "    bne {rs1}, {rs2}, l{to}")?,
                (Instruction::Jal { rd, .. }, Some(to)) => writeln!(f, "    jal {rd}, l{to}")?,
                _ => writeln!(f, "    {instruction}")?,
            }
        }
        Ok(())
    }
}

/// The target of the branch or jump at `index`.
fn branch(index: usize, instruction: &Instruction) -> Option<i64> {
    match instruction {
        Instruction::Bne { offset, .. } => Some(wide(index) + offset.instructions()),
        Instruction::Jal { offset, .. } => Some(wide(index) + offset.instructions()),
        _ => None,
    }
}

fn fits(words: usize, memory: InstructionMemory) -> Result<(), ProgramProblem> {
    if words == 0 {
        Err(ProgramProblem::Empty)
    } else if words > memory.words() {
        Err(ProgramProblem::TooLong { words, limit: memory.words() })
    } else {
        Ok(())
    }
}

fn valid(instructions: &[Instruction], memory: InstructionMemory) -> Result<(), ProgramProblem> {
    fits(instructions.len(), memory)?;
    let last = instructions.len() - 1;
    for (index, instruction) in instructions.iter().enumerate() {
        instruction.check().map_err(|source| ProgramProblem::Operand { index, source })?;
        if let Some(target) = branch(index, instruction).filter(|target| !(0..=wide(last)).contains(target)) {
            return Err(ProgramProblem::Branch { index, target, last });
        }
    }
    match instructions[last] {
        Instruction::Ebreak | Instruction::Jal { .. } => Ok(()),
        _ => Err(ProgramProblem::NoEnd { index: last }),
    }
}
