//! RVFHE programs in files, as all verbs of `arch` read them.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use ciphermill_rvfhe::isa::{
    Assembly, Core, Instruction, InstructionMemory, MAX_TEXT_BYTES, Program, ProgramProblem, assemble,
};
use serde::Serialize;

use crate::error::CliError;
use crate::output;
use ciphermill_client::files;

/// Whose program it is said to be. A file does not know, and no message of these verbs names it.
const CORE: Core = Core::FIRST;

/// Reads a text and assembles it. An error has the line and the column.
pub(super) fn read_text(path: &Path, memory: InstructionMemory) -> Result<Assembly, CliError> {
    let bytes = files::read(path, MAX_TEXT_BYTES as u64)?;
    let text = std::str::from_utf8(&bytes).map_err(CliError::content(path))?;
    assemble(text, CORE, memory).map_err(CliError::content(path))
}

/// Reads the words of a program. An error has the number of the word.
pub(super) fn read_binary(path: &Path, memory: InstructionMemory) -> Result<Program, CliError> {
    let bytes = files::read(path, InstructionMemory::MAX_BYTES as u64)?;
    Program::from_bytes(CORE, &bytes, memory).map_err(|error| CliError::content(path)(error.problem))
}

/// Reads little-endian words of 32 bits, in a file of at most `limit` bytes.
pub(super) fn read_words(path: &Path, limit: u64) -> Result<Vec<u32>, CliError> {
    let bytes = files::read(path, limit)?;
    let (words, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(CliError::content(path)(ProgramProblem::NotWords { bytes: bytes.len() }));
    }
    Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// Prints a program's text, or its lines as JSON.
pub(super) fn print_text(json: bool, text: &str) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Report<'a> {
        lines: Vec<&'a str>,
    }
    output::result(json, &Report { lines: text.lines().collect() }, text.trim_end())
}

/// The files of one core in a directory of programs.
#[derive(Debug)]
pub(super) struct CoreFiles {
    /// The words of its program.
    pub(super) program: PathBuf,
    /// Its twiddle memory: words in pairs, factor and companion, for each lane of each row.
    pub(super) twiddles: PathBuf,
}

impl CoreFiles {
    pub(super) fn new(directory: &Path, core: usize) -> Self {
        let file = |kind: &str| directory.join(format!("core-{core:02}.{kind}"));
        Self { program: file("bin"), twiddles: file("twiddles") }
    }
}

/// A program as it came from a file.
#[derive(Debug)]
pub(super) struct LoadedProgram {
    /// The file.
    pub(super) path: PathBuf,
    /// The words.
    pub(super) words: Vec<u32>,
    /// Of a text, the line of each instruction.
    lines: Vec<usize>,
}

impl LoadedProgram {
    /// Reads a text if the name ends in `.s`, words if it does not.
    pub(super) fn read(path: &Path, memory: InstructionMemory) -> Result<Self, CliError> {
        let (program, lines) = if path.extension().is_some_and(|extension| extension == "s") {
            let Assembly { program, lines } = read_text(path, memory)?;
            (program, lines)
        } else {
            (read_binary(path, memory)?, Vec::new())
        };
        let words = program.instructions().iter().map(Instruction::encode).collect();
        Ok(Self { path: path.to_owned(), words, lines })
    }

    /// Adds the line of an instruction, or its index, to an error message.
    pub(super) fn located(&self, pc: usize, what: &impl Display) -> String {
        match self.lines.get(pc) {
            Some(line) => format!("line {line}: {what}"),
            None => what.to_string(),
        }
    }
}
