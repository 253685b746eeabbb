//! `arch exec`: programs written by hand, on an array.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use ciphermill_arch::array::{Array, Counts, Machine, Run, SimulationError};
use ciphermill_rvfhe::isa::{Instruction, InstructionMemory};

use super::program::{CoreFiles, LoadedProgram, read_words};
use super::workload::MachineArg;
use crate::error::CliError;
use crate::inputs::within;
use crate::output;
use ciphermill_client::files::{self, PendingFile};

/// Run RVFHE programs on an array, cycle by cycle, with their values
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch exec --core 0=examples/rvfhe/butterfly.s --set x10=2013265921 \\
    --twiddles w.bin --scratchpad in.bin --out-scratchpad out.bin

A file whose name ends in .s is read as text, any other file as words. Files of words hold little-endian 32-bit \
words; the rest of the memory is zero. Cycles are simulated, from the first instruction fetch to the last event, \
without the launch. The values are not checked.")]
pub(super) struct Args {
    /// Program of all cores that --core does not name, or a directory from `arch compile --out` [default: these cores end at once]
    #[arg(required_unless_present = "core")]
    program: Option<PathBuf>,
    /// Program of one core; may be repeated
    #[arg(long, value_name = "N=FILE", value_parser = core_file)]
    core: Vec<CoreFile>,
    #[command(flatten)]
    machine: MachineArg,
    /// Initial content of the scratchpad, from vector 0 on
    #[arg(long, value_name = "FILE")]
    scratchpad: Option<PathBuf>,
    /// Twiddle memory of all cores, or of one: pairs of words, factor and companion, lane by lane, from row 0 on
    #[arg(long, value_name = "[N=]FILE", value_parser = twiddle_file)]
    twiddles: Vec<TwiddleFile>,
    /// Initial value of a scalar register of all cores; may be repeated
    #[arg(long, value_name = "xR=VALUE", value_parser = argument)]
    set: Vec<(usize, u32)>,
    /// Where to write the final content of the scratchpad
    #[arg(long, value_name = "FILE")]
    out_scratchpad: Option<PathBuf>,
    /// Cycle limit; programs that are still running then are an error
    #[arg(long, value_name = "CYCLES", default_value = "1000000", value_parser = within::<u64>(1..))]
    cycle_limit: u64,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

/// A file for one core.
#[derive(Clone, Debug)]
struct CoreFile {
    core: usize,
    path: PathBuf,
}

/// A file for one core, or for all.
#[derive(Clone, Debug)]
struct TwiddleFile {
    core: Option<usize>,
    path: PathBuf,
}

fn core_file(text: &str) -> Result<CoreFile, String> {
    let parts = text.split_once('=').and_then(|(core, path)| Some((core.parse().ok()?, path)));
    let (core, path) = parts.ok_or("the number of a core and a file are wanted, as 3=FILE")?;
    Ok(CoreFile { core, path: path.into() })
}

fn twiddle_file(text: &str) -> Result<TwiddleFile, String> {
    let one = core_file(text).map(|CoreFile { core, path }| TwiddleFile { core: Some(core), path });
    Ok(one.unwrap_or_else(|_| TwiddleFile { core: None, path: text.into() }))
}

fn argument(text: &str) -> Result<(usize, u32), String> {
    let register = |name: &str| name.strip_prefix('x')?.parse().ok().filter(|number| (1..32).contains(number));
    let value = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let parts = text.split_once('=').and_then(|(name, number)| Some((register(name)?, value(number)?)));
    parts.ok_or_else(|| "one of x1 to x31 and a value below 2^32 are wanted, as x10=5 or x10=0x1f".to_owned())
}

impl Args {
    /// The directory of compiled programs, if it is one that was named.
    fn directory(&self) -> Option<&Path> {
        self.program.as_deref().filter(|path| path.is_dir())
    }
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let machine = args.machine.machine()?;
    once("--core", args.core.iter().map(|file| file.core.to_string()))?;
    once("--set", args.set.iter().map(|(register, _)| format!("x{register}")))?;
    once(
        "--twiddles",
        args.twiddles.iter().map(|file| file.core.map_or("all cores".to_owned(), |core| core.to_string())),
    )?;
    let programs = Programs::read(args, &machine)?;
    if args.directory().is_some() && !args.set.iter().any(|(register, value)| *register == 10 && *value > 0) {
        let what = "compiled programs expect in x10 how often they run, at least once: --set x10=1";
        return Err(CliError::Usage(what.to_owned()));
    }
    let mut array = Array::new(machine.clone());
    set_twiddles(args, &mut array)?;
    if let Some(path) = &args.scratchpad {
        // Longer files are refused before they are read.
        let words = read_words(path, 4 * array.scratchpad().len() as u64)?;
        array.scratchpad_mut()[..words.len()].copy_from_slice(&words);
    }
    // Before the work: a file that is in the way is told at once.
    let pending = args.out_scratchpad.as_deref().map(|path| PendingFile::create(path, files::PUBLIC, args.force));
    let pending = pending.transpose()?;
    let run = array.run(&programs.words(), &args.set, 0, args.cycle_limit).map_err(|error| programs.located(error))?;
    if let Some(mut pending) = pending {
        pending.fill(|out| array.scratchpad().iter().try_for_each(|word| out.write_all(&word.to_le_bytes())))?;
        pending.commit()?;
    }
    output::result(args.json, &[run.record(&machine)], &text(&run, &machine))
}

fn text(run: &Run, machine: &Machine) -> String {
    let mut table = output::table(["core"]);
    let names = Counts::default().by_name().map(|(name, _)| name.replace('_', "\n"));
    table.set_header(["core".to_owned()].into_iter().chain(names));
    for (number, counts) in run.counts.iter().enumerate() {
        let counts = counts.by_name().map(|(_, count)| count.to_string());
        table.add_row([number.to_string()].into_iter().chain(counts));
    }
    format!(
        "{table}\ncycles without a computation: no instruction, or waiting for an operand, a twiddle register, a unit\n\
         {} cycles on `{}`, simulated; the launch took {} before them, and the end reached the control core in cycle {}",
        run.cycles, machine.name, run.launch, run.completed
    )
}

/// The program of each core; none of a core that ends at once.
struct Programs {
    files: Vec<LoadedProgram>,
    of_core: Vec<Option<usize>>,
}

impl Programs {
    fn read(args: &Args, machine: &Machine) -> Result<Self, CliError> {
        let cores = machine.cores() as usize;
        // The fallback is for machines of more words than there are; the array looks again.
        let memory = InstructionMemory::new(4 * machine.memory.instruction_words as usize);
        let memory = memory.unwrap_or(InstructionMemory::LARGEST);
        let (mut files, mut of_core) = (Vec::new(), vec![None; cores]);
        match (args.directory(), args.program.as_deref()) {
            (Some(directory), _) => {
                let next = CoreFiles::new(directory, cores).program;
                if next.exists() {
                    let what = format!(
                        "a program of core {cores}, but `{}` has {cores} cores: compile for this machine into a separate directory",
                        machine.name
                    );
                    return Err(CliError::content(&next)(what));
                }
                for (core, of_core) in of_core.iter_mut().enumerate() {
                    files.push(LoadedProgram::read(&CoreFiles::new(directory, core).program, memory)?);
                    *of_core = Some(core);
                }
            }
            (None, Some(file)) => {
                files.push(LoadedProgram::read(file, memory)?);
                of_core.fill(Some(0));
            }
            (None, None) => {}
        }
        for CoreFile { core, path } in &args.core {
            *of_core.get_mut(*core).ok_or_else(|| no_core("--core", *core, machine))? = Some(files.len());
            files.push(LoadedProgram::read(path, memory)?);
        }
        Ok(Self { files, of_core })
    }

    fn words(&self) -> Vec<Vec<u32>> {
        let idle = || vec![Instruction::Ebreak.encode()];
        self.of_core.iter().map(|file| file.map_or_else(idle, |file| self.files[file].words.clone())).collect()
    }

    fn of(&self, core: usize) -> Option<&LoadedProgram> {
        self.of_core.get(core).copied().flatten().map(|file| &self.files[file])
    }

    /// Names files, and lines of texts.
    fn located(&self, error: SimulationError) -> CliError {
        if let SimulationError::Deadlock { cycle, blocked } = &error {
            let waiting = blocked.0.iter().map(|one| match (self.of(one.core), one.pc) {
                (Some(program), Some(pc)) => {
                    format!("{}: {}", program.path.display(), program.located(pc as usize, one))
                }
                _ => one.to_string(),
            });
            return CliError::Deadlock { cycle: *cycle, waiting: waiting.collect() };
        }
        match error.place().and_then(|(core, pc)| Some((self.of(core)?, pc))) {
            Some((program, pc)) => CliError::content(&program.path)(program.located(pc, &error)),
            None => error.into(),
        }
    }
}

/// Fills the twiddle memories: first from the directory, then from --twiddles.
fn set_twiddles(args: &Args, array: &mut Array) -> Result<(), CliError> {
    let cores = array.machine().cores() as usize;
    if let Some(directory) = args.directory() {
        for core in 0..cores {
            let path = CoreFiles::new(directory, core).twiddles;
            if path.exists() {
                array.set_twiddles(core, &read_pairs(&path, array.machine())?)?;
            }
        }
    }
    for TwiddleFile { core, path } in &args.twiddles {
        let pairs = read_pairs(path, array.machine())?;
        match core {
            Some(core) if *core >= cores => return Err(no_core("--twiddles", *core, array.machine())),
            Some(core) => array.set_twiddles(*core, &pairs)?,
            None => (0..cores).try_for_each(|core| array.set_twiddles(core, &pairs))?,
        }
    }
    Ok(())
}

/// Factors and companions, no more than a twiddle memory holds.
fn read_pairs(path: &Path, machine: &Machine) -> Result<Vec<(u32, u32)>, CliError> {
    let limit = 8 * u64::from(machine.memory.twiddle_rows) * u64::from(machine.core.lanes);
    let words = read_words(path, limit)?;
    let (pairs, rest) = words.as_chunks::<2>();
    if !rest.is_empty() {
        let what =
            format!("{} words are not pairs of a factor and its companion; give an even number of words", words.len());
        return Err(CliError::content(path)(what));
    }
    Ok(pairs.iter().map(|[factor, companion]| (*factor, *companion)).collect())
}

/// Refuses an option that names the same thing twice: one of the two would be lost.
fn once(option: &str, named: impl Iterator<Item = String>) -> Result<(), CliError> {
    let mut seen = HashSet::new();
    for name in named {
        if seen.contains(&name) {
            return Err(CliError::Usage(format!("{option} is given twice for {name}")));
        }
        seen.insert(name);
    }
    Ok(())
}

fn no_core(option: &str, given: usize, machine: &Machine) -> CliError {
    let last = machine.cores() - 1;
    CliError::Usage(format!("{option} names core {given}: `{}` has the cores 0 to {last}", machine.name))
}
