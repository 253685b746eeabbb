//! `arch disasm`: from the words of an RVFHE program to its text.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use ciphermill_rvfhe::isa::paper::PaperInstruction;
use ciphermill_rvfhe::isa::{Instruction, InstructionMemory, ProgramProblem};

use super::program::{print_text, read_binary, read_words};
use crate::error::CliError;

/// Print an RVFHE program as text, which `asm` accepts
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch disasm butterfly.bin

With --paper, words that are valid in the paper's Table 2 are read as the paper's instructions. Each output line is \
the equivalent instruction of this instruction set, with the paper's in a comment. If there is no equivalent, the \
comment gives the reason and the line must be written by hand.")]
pub(super) struct Args {
    /// Program: little-endian 32-bit words
    file: PathBuf,
    /// Read words as the paper's instructions where they are valid
    #[arg(long)]
    paper: bool,
    /// Print the lines as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let text = if args.paper {
        paper_text(&args.file)?
    } else {
        read_binary(&args.file, InstructionMemory::LARGEST)?.to_string()
    };
    print_text(args.json, &text)
}

/// The paper's words have no program around them: its copies leave out where they go, and what ends a program is not said.
fn paper_text(path: &Path) -> Result<String, CliError> {
    let words = read_words(path, InstructionMemory::MAX_BYTES as u64)?;
    if words.is_empty() {
        return Err(CliError::content(path)(ProgramProblem::Empty));
    }
    let mut text = String::new();
    for (index, word) in words.into_iter().enumerate() {
        let line = match (PaperInstruction::decode(word), Instruction::decode(word)) {
            (Ok(paper), _) => match paper.to_ours() {
                Ok(ours) => format!("{ours}  # {paper}"),
                Err(why) => format!("# {paper}: {why}"),
            },
            // Loops and addresses are standard instructions in the paper as here.
            (Err(_), Ok(ours)) => ours.to_string(),
            (Err(error), Err(_)) => return Err(CliError::content(path)(format!("word {index}: {error}"))),
        };
        // Of a string, this cannot fail.
        let _ = writeln!(text, "    {line}");
    }
    Ok(text)
}
