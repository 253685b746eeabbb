//! `program`: assemble, disassemble, check and run.

mod example;

use ciphermill_device::handlers;
use std::collections::HashMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use ciphermill_client::files;
use ciphermill_client::program::LoadedProgram;
use ciphermill_device::{CheckedOutput, CheckedProgram, DeviceError, RunError, program_register};
use ciphermill_lattice::ModelProbability;
use ciphermill_middleware::{Metadata, NvmeTransport, ReadMode, Transport, WriteMode};
use ciphermill_program::{Environment, Instruction, Limits, ObjectInfo, VrId, disassemble, disassemble_named, verify};
use clap::Subcommand;
use serde::Serialize;

use crate::device_args::Override;
use crate::error::CliError;
use crate::inputs::ProgramArgs;
use crate::output::{self, human_bytes, human_seconds};
use crate::place::PlaceArgs;

/// Assemble, disassemble, check and run secure-computing programs; print an example
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
    Example(example::Args),
}

/// Assemble a text into the binary form of a program register
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
    /// Give the registers names, declared in .bind lines
    #[arg(long)]
    named: bool,
    /// Print the text as JSON, one string per instruction
    #[arg(long)]
    json: bool,
}

/// Verify a program against the objects of a store or a served device, without running it
///
/// For a served device, only registers, types and keys are verified, against the list of its objects. Run time and
/// failure probability are not judged, and the device may still refuse the program.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill program check --store s xy.prg")]
struct Check {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    program: ProgramArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Run a program on the registers of a store and return its result, without storing it
///
/// A served device runs stored programs only. So with --connect, --read names a compute-on-read register: the
/// program is stored in the program register of its key, in place of the one there, and stays; then the register is
/// read computed. Before it is stored, it is checked as `program check --connect` checks.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill program run --store s xy.prg --out xy.ct
  $ ciphermill program run --connect 127.0.0.1:4420 --read 3:0:2 double.prg --out x2.ct")]
struct Run {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    program: ProgramArgs,
    /// With --connect: store the program permanently, and read this register computed
    #[arg(long, value_name = "T:K:D", requires = "connect")]
    read: Option<VrId>,
    /// Where to write the returned ciphertext [default: print its size only]
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
        Verb::Example(args) => example::run(args),
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
    let text =
        if args.named { disassemble_named(handlers::instruction_set(), &program) } else { disassemble(&program) };
    let report = Report { lines: text.lines().map(str::to_owned).collect() };
    output::result(args.json, &report, text.trim_end())
}

fn check(args: &Check) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Output {
        register: String,
        log2_p_fail: Option<f64>,
    }
    #[derive(Serialize)]
    struct Report {
        instructions: usize,
        estimated_seconds: Option<f64>,
        outputs: Option<Vec<Output>>,
        max_log2_p_fail: Option<f64>,
    }
    let loaded = args.program.load()?;
    if let Some(target) = args.place.remote_target()? {
        let transport = args.place.remote().connect(target)?;
        Listed::of(&transport)?.verify(&args.program, &loaded)?;
        let instructions = loaded.program.instructions().len();
        let report = Report { instructions, estimated_seconds: None, outputs: None, max_log2_p_fail: None };
        let file = args.program.file().display();
        let text = format!(
            "{file}: {instructions} instructions, nothing against them in the device's list of objects; the failure \
             probability is not judged here: the server judges it"
        );
        return output::result(args.json, &report, &text);
    }
    let (_, space) = args.place.device_and_space(false)?;
    let CheckedProgram { estimate, outputs, limit } =
        space.check(&loaded.program).map_err(|error| located(&args.program, &loaded, error))?;
    let instructions = loaded.program.instructions().len();
    let mut text = format!(
        "{}: accepted, {instructions} instructions, estimated {}",
        args.program.file().display(),
        human_seconds(estimate.as_secs_f64())
    );
    for CheckedOutput { register, log2_p_fail } in &outputs {
        let odds = match log2_p_fail {
            Some(log2) if *log2 == f64::NEG_INFINITY => "exact".to_owned(),
            Some(log2) => format!("wrong with probability {}", ModelProbability { log2: *log2 }),
            None => "of unknown failure probability (--assume-range)".to_owned(),
        };
        text += &format!("\noutput {register}: {odds}; the limit is 2^{limit}");
    }
    let output = |output: &CheckedOutput| Output {
        register: output.register.to_string(),
        log2_p_fail: output.log2_p_fail.filter(|log2| log2.is_finite()),
    };
    let report = Report {
        instructions,
        estimated_seconds: Some(estimate.as_secs_f64()),
        outputs: Some(outputs.iter().map(output).collect()),
        max_log2_p_fail: Some(limit),
    };
    output::result(args.json, &report, &text)
}

fn run_program(args: &Run) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Report<'a> {
        bytes: usize,
        seconds: f64,
        /// Pages of ciphertexts that came to and went from main memory during the run; of a store only.
        #[serde(skip_serializing_if = "Option::is_none")]
        page_ins: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        page_outs: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<&'a PathBuf>,
        #[serde(skip_serializing_if = "Option::is_none")]
        r#override: Option<Override>,
    }
    let loaded = args.program.load()?;
    let remote = args.place.remote_target()?;
    if remote.is_some() && args.read.is_none() {
        let what = "a served device runs stored programs only: name the register to read computed with --read T:K:D; the \
                    program is stored for its key and stays";
        return Err(CliError::Usage(what.to_owned()));
    }
    let pending =
        args.out.as_ref().map(|path| files::PendingFile::create(path, files::PUBLIC, args.force)).transpose()?;
    let begun = std::time::Instant::now();
    let (result, memory) = match remote.zip(args.read) {
        Some((target, register)) => {
            readable(register)?;
            let transport = args.place.remote().connect(target)?;
            (run_stored(&transport, &args.program, &loaded, register)?, None)
        }
        None => {
            let (device, space) = args.place.device_and_space(false)?;
            let result = space.run(&loaded.program).map_err(|error| located(&args.program, &loaded, error))?;
            (result, Some(device.metrics().memory))
        }
    };
    let took = begun.elapsed();
    if let Some(mut pending) = pending {
        pending.fill(|out| std::io::Write::write_all(out, &result))?;
        pending.commit()?;
    }
    let report = Report {
        bytes: result.len(),
        seconds: took.as_secs_f64(),
        page_ins: memory.map(|memory| memory.page_ins),
        page_outs: memory.map(|memory| memory.page_outs),
        path: args.out.as_ref(),
        r#override: args.place.overridden(),
    };
    let place = args.out.as_ref().map_or("the result".to_owned(), |path| path.display().to_string());
    let mut text = format!(
        "{place}: {}, computed in {} with the loading of keys",
        human_bytes(report.bytes as u64),
        human_seconds(report.seconds)
    );
    if let Some(found) = &report.r#override {
        text += &format!("\noverride: {found}");
    }
    output::result(args.json, &report, &text)
}

/// Refuses a register whose type computes nothing on reads.
fn readable(register: VrId) -> Result<(), CliError> {
    if handlers::instruction_set().computes_on_reads(register.type_code) {
        return Ok(());
    }
    Err(CliError::Usage(format!(
        "register {register} of --read is {}, and reading it computes nothing: name a compute-on-read register, of type 3, \
         7 or 18; the program was not stored",
        handlers::instruction_set().class(register.type_code)
    )))
}

/// Stores a program for a key and reads a register of it computed. The program replaces an earlier one permanently,
/// so it is verified first as far as possible.
fn run_stored(
    transport: &NvmeTransport,
    args: &ProgramArgs,
    loaded: &LoadedProgram,
    register: VrId,
) -> Result<Vec<u8>, CliError> {
    let listed = Listed::of(transport)?;
    if listed.object(register).is_none() {
        return Err(CliError::Connect(format!(
            "blob {register} is not stored, so it cannot be read computed: put it first; the program was not stored"
        )));
    }
    listed.verify(args, loaded)?;
    let bytes = loaded.program.encode();
    let metadata = Metadata::new(program_register(register.key_id));
    let written = transport.write(&metadata, bytes.len() as u64, &mut bytes.as_slice(), WriteMode::Stored);
    written?;
    let mut result = Vec::new();
    transport.read(register.into(), ReadMode::Compute, &mut result)?;
    Ok(result)
}

/// The listed objects of a device, as the verifier needs them.
struct Listed(HashMap<VrId, u64>);

impl Listed {
    fn of(transport: &NvmeTransport) -> Result<Self, CliError> {
        Ok(Self(transport.list()?.into_iter().map(|stat| (stat.id.register(), stat.size)).collect()))
    }

    /// Verifies a program against the list.
    fn verify(&self, args: &ProgramArgs, loaded: &LoadedProgram) -> Result<(), CliError> {
        verify(handlers::instruction_set(), &loaded.program, self, &Limits::default())
            .map_err(|error| at_line(args, loaded, error.index(), &error))?;
        Ok(())
    }
}

impl Environment for Listed {
    fn object(&self, id: VrId) -> Option<ObjectInfo> {
        self.0.get(&id).map(|&size| ObjectInfo { size })
    }

    /// Not known here.
    fn cost(&self, _: &Instruction) -> Duration {
        Duration::ZERO
    }
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
    at_line(args, loaded, index, cause)
}

/// Names the file and, where it is a text, the line.
fn at_line(args: &ProgramArgs, loaded: &LoadedProgram, index: Option<usize>, cause: &dyn Display) -> CliError {
    let line = loaded.lines.as_ref().zip(index).and_then(|(lines, index)| lines.line(index));
    let what = match line {
        Some(line) => format!("line {line}: {cause}"),
        None => cause.to_string(),
    };
    CliError::content(args.file())(what)
}
