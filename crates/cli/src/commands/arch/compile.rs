//! `arch compile`: the compiled programs of a workload, core by core.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ciphermill_arch::report::{Programs, programs};
use ciphermill_rvfhe::compiler::Polynomial;

use super::program::{CoreFiles, print_text};
use super::workload::{MachineArg, WorkloadArgs};
use crate::error::CliError;
use crate::inputs::within;
use crate::output;
use ciphermill_client::files::{self, PendingFile};

/// Compile a transform, product or key switch for an array, and show or write the program of each core
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill arch compile --n 8192 --out ntt
  $ ciphermill arch exec ntt --set x10=1 --scratchpad coefficients.bin --out-scratchpad points.bin

A program expects the number of runs, at least 1, in register x10, and in x11 the scratchpad vector to which the \
addresses of its inputs and outputs are relative.

inputs.order and outputs.order hold one 32-bit word per word of a polynomial, vector after vector: the index of a \
coefficient, or the bit-reversed index of a point. Point k is the value at r^(2k+1) in a negacyclic ring and at r^k \
in a cyclic ring, where r is the `root` of the record. The cycles are analytic: those of the ideal core that the \
compiler assumes.")]
pub(super) struct Args {
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    machine: MachineArg,
    /// Inputs processed concurrently
    #[arg(long, value_name = "K", default_value = "1", value_parser = within::<u16>(1..=1024))]
    in_flight: u16,
    /// Directory for core-NN.bin (the words) and core-NN.twiddles (the twiddle memory) of each core, and for inputs.order and
    /// outputs.order; made if it does not exist
    #[arg(long, value_name = "DIR", conflicts_with = "listing")]
    out: Option<PathBuf>,
    /// Print only the program of this core, as text
    #[arg(long, value_name = "CORE")]
    listing: Option<usize>,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
    /// Print the record as JSON; with --listing, the lines
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let machine = args.machine.machine()?;
    let made = programs(&machine, &args.workload.workload()?, args.in_flight.into())?;
    if let Some(number) = args.listing {
        let core = made.cores.get(number).ok_or_else(|| {
            let last = made.cores.len() - 1;
            CliError::Usage(format!("--listing {number}: `{}` has the cores 0 to {last}", made.machine))
        })?;
        return print_text(args.json, &core.program.to_string());
    }
    if let Some(directory) = &args.out {
        write(&made, directory, args.force)?;
    }
    let mut table = output::table(["core", "instructions", "bytes", "twiddle rows"]);
    for (number, core) in made.cores.iter().enumerate() {
        let instructions = core.program.instructions().len();
        table.add_row([number, instructions, 4 * instructions, core.twiddle_rows].map(|number| number.to_string()));
    }
    output::result(args.json, &[made.record()], &format!("{table}\n{}", summary(&made)))
}

fn summary(made: &Programs) -> String {
    let vectors = |polynomials: &[Polynomial]| {
        let first: Vec<_> = polynomials.iter().map(|polynomial| polynomial.first_vector.to_string()).collect();
        first.join(", ")
    };
    let Programs { machine, workload, in_flight, expected_cycles, stride, butterflies, .. } = made;
    format!(
        "{workload} for `{machine}`, {in_flight} in flight; a run has {butterflies} butterflies and should take {expected_cycles} \
         cycles, analytic; it reads the scratchpad from vectors {} on and writes it from {} on, each further run {stride} vectors behind",
        vectors(&made.inputs),
        vectors(&made.outputs)
    )
}

/// All files or none.
fn write(made: &Programs, directory: &Path, force: bool) -> Result<(), CliError> {
    let cores = &made.cores;
    match fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(CliError::file("create", directory)(error));
        }
        _ => {}
    }
    let mut pending = Vec::with_capacity(2 * cores.len());
    for (number, core) in cores.iter().enumerate() {
        let CoreFiles { program, twiddles } = CoreFiles::new(directory, number);
        let pairs = core.twiddles.iter().flat_map(|(factor, companion)| [*factor, *companion]);
        let pairs: Vec<u8> = pairs.flat_map(u32::to_le_bytes).collect();
        for (path, bytes) in [(program, core.program.to_bytes()), (twiddles, pairs)] {
            let mut file = PendingFile::create(&path, files::PUBLIC, force)?;
            file.fill(|out| out.write_all(&bytes))?;
            pending.push(file);
        }
    }
    // All inputs of a program have one order, and so have its outputs.
    for (name, polynomials) in [("inputs.order", &made.inputs), ("outputs.order", &made.outputs)] {
        let order = polynomials.first().map(|polynomial| &polynomial.order[..]).unwrap_or_default();
        let bytes: Vec<u8> = order.iter().flat_map(|number| number.to_le_bytes()).collect();
        let mut file = PendingFile::create(&directory.join(name), files::PUBLIC, force)?;
        file.fill(|out| out.write_all(&bytes))?;
        pending.push(file);
    }
    Ok(files::commit_all(pending)?)
}
