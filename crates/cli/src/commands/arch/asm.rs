//! `arch asm`: from the text of an RVFHE program to its words.

use std::path::PathBuf;

use ciphermill_rvfhe::isa::InstructionMemory;
use serde::Serialize;

use super::program::read_text;
use crate::error::CliError;
use crate::output;
use ciphermill_client::files;

/// Assemble an RVFHE program into little-endian 32-bit words
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch asm examples/rvfhe/butterfly.s --out butterfly.bin

docs/rvfhe-isa.md lists the instructions and their syntax. `arch exec` checks whether a program fits the \
instruction memory of a machine.")]
pub(super) struct Args {
    /// Assembly text
    #[arg(value_name = "FILE.s")]
    file: PathBuf,
    /// Where to write the words
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Report<'a> {
        path: &'a PathBuf,
        bytes: u64,
        instructions: usize,
    }
    let program = read_text(&args.file, InstructionMemory::LARGEST)?.program;
    let bytes = files::write(&args.out, &program.to_bytes(), files::PUBLIC, args.force)?;
    let instructions = program.instructions().len();
    let text = format!("{}: {instructions} instructions, {bytes} bytes", args.out.display());
    output::result(args.json, &Report { path: &args.out, bytes, instructions }, &text)
}
