//! `program`: assemble, disassemble, check and run.

use std::path::PathBuf;

use ciphermill_device::{DeviceError, RunError, SpaceId};
use ciphermill_program::{disassemble, disassemble_named};
use clap::Subcommand;
use serde::Serialize;

use crate::error::CliError;
use crate::files;
use crate::inputs::{LoadedProgram, ProgramArgs};
use crate::output::{self, human_bytes};
use crate::store::StoreArgs;

/// Assemble, disassemble, check and run secure-computing programs
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Asm(Asm),
    Disasm(Disasm),
    Check(Check),
    Run(Run),
}

/// Assemble a text into the binary form, the content of a program register
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill program asm examples/programs/xy.cms --bind r2=3:0:2 --bind r3=4:0:3 --out xy.prg")]
struct Asm {
    #[command(flatten)]
    program: ProgramArgs,
    /// Where to write the binary form
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Print a program as text
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill program disasm xy.prg")]
struct Disasm {
    #[command(flatten)]
    program: ProgramArgs,
    /// Give the registers names, declared by .bind lines
    #[arg(long)]
    named: bool,
    /// Print the text as JSON, with one string per instruction
    #[arg(long)]
    json: bool,
}

/// Verify a program against what a store holds, without running it
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill program check --store s xy.prg")]
struct Check {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    program: ProgramArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Run a program on the registers of a store and give what it returns; nothing is stored
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill program run --store s xy.prg --out xy.ct")]
struct Run {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    program: ProgramArgs,
    /// Where to write the returned ciphertext; without it, the program runs and only its size is shown
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.verb {
        Verb::Asm(args) => asm(args),
        Verb::Disasm(args) => disasm(args),
        Verb::Check(args) => check(args),
        Verb::Run(args) => run_program(args),
    }
}

fn asm(args: &Asm) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Name<'a> {
        name: &'a str,
        register: String,
    }
    #[derive(Serialize)]
    struct Report<'a> {
        path: &'a PathBuf,
        bytes: u64,
        instructions: usize,
        names: Vec<Name<'a>>,
    }
    let LoadedProgram { program, names, .. } = args.program.load()?;
    let bytes = files::write(&args.out, &program.encode(), files::PUBLIC, args.force)?;
    let instructions = program.instructions().len();
    let names: Vec<_> = names.iter().map(|(name, register)| Name { name, register: register.to_string() }).collect();
    let mut text = format!("{}: {instructions} instructions, {bytes} bytes", args.out.display());
    if !names.is_empty() {
        let mut table = output::table(["name", "register"]);
        for name in &names {
            table.add_row([name.name, &name.register]);
        }
        text = format!("{table}\n{text}");
    }
    output::result(args.json, &Report { path: &args.out, bytes, instructions, names }, &text)
}

fn disasm(args: &Disasm) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Report {
        lines: Vec<String>,
    }
    let LoadedProgram { program, .. } = args.program.load()?;
    let text = if args.named { disassemble_named(&program) } else { disassemble(&program) };
    let report = Report { lines: text.lines().map(str::to_owned).collect() };
    output::result(args.json, &report, text.trim_end())
}

fn check(args: &Check) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Report {
        instructions: usize,
        estimated_seconds: f64,
    }
    let loaded = args.program.load()?;
    let space = args.store.open()?;
    let estimate = space.check(&loaded.program).map_err(|error| located(&args.program, &loaded, error))?;
    let instructions = loaded.program.instructions().len();
    let report = Report { instructions, estimated_seconds: estimate.as_secs_f64() };
    let text =
        format!("{}: accepted, {instructions} instructions, estimated {estimate:.1?}", args.program.file().display());
    output::result(args.json, &report, &text)
}

fn run_program(args: &Run) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Report<'a> {
        bytes: usize,
        seconds: f64,
        /// Pages of ciphertexts that came to and went from main memory during the run.
        page_ins: u64,
        page_outs: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<&'a PathBuf>,
    }
    let loaded = args.program.load()?;
    let pending =
        args.out.as_ref().map(|path| files::PendingFile::create(path, files::PUBLIC, args.force)).transpose()?;
    let device = args.store.open_device()?;
    let space = device.space(SpaceId::EMBEDDED)?;
    let begun = std::time::Instant::now();
    let result = space.run(&loaded.program).map_err(|error| located(&args.program, &loaded, error))?;
    let took = begun.elapsed();
    if let Some(mut pending) = pending {
        pending.fill(|out| std::io::Write::write_all(out, &result))?;
        pending.commit()?;
    }
    let memory = device.metrics().memory;
    let report = Report {
        bytes: result.len(),
        seconds: took.as_secs_f64(),
        page_ins: memory.page_ins,
        page_outs: memory.page_outs,
        path: args.out.as_ref(),
    };
    let place = args.out.as_ref().map_or("the result".to_owned(), |path| path.display().to_string());
    let text =
        format!("{place}: {}, computed in {took:.1?} with the loading of keys", human_bytes(report.bytes as u64));
    output::result(args.json, &report, &text)
}

/// Names the program's file and, where it is a text, the line that an error is about.
fn located(args: &ProgramArgs, loaded: &LoadedProgram, error: DeviceError) -> CliError {
    let DeviceError::GivenProgramFailed { cause, .. } = &error else { return error.into() };
    let cause: &RunError = cause;
    let index = match cause {
        RunError::Verify(error) => error.index(),
        RunError::Instruction { index, .. } => Some(*index),
        _ => None,
    };
    let line = loaded.lines.as_ref().zip(index).and_then(|(lines, index)| lines.line(index));
    let what = match line {
        Some(line) => format!("line {line}: {cause}"),
        None => cause.to_string(),
    };
    CliError::Content { path: args.file().to_owned(), what }
}
