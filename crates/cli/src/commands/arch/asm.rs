//! `arch asm`: from the text of an RVFHE program to its words.

use std::path::PathBuf;

use ciphermill_rvfhe::isa::InstructionMemory;
use serde::Serialize;

use super::program::read_text;
use crate::error::CliError;
use crate::output;
use ciphermill_client::files;

/// Assemble the text of an RVFHE program into its words, little-endian and of 32 bits
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch asm examples/rvfhe/butterfly.s --out butterfly.bin

docs/rvfhe-isa.md has the instructions and their text. Whether a program fits a machine's instruction memory is seen by exec.")]
pub(super) struct Args {
    /// The text
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
