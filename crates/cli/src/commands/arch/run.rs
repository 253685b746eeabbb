//! `arch run`: a workload on an array.

use std::path::PathBuf;

use ciphermill_arch::report::{Plan, measure, measure_traced};
use ciphermill_arch::trace::Trace;

use super::all_correct;
use super::workload::{MachineArg, WorkloadArgs};
use crate::error::CliError;
use crate::fault::judged;
use crate::inputs::within;
use crate::output;
use ciphermill_client::files::{self, PendingFile};

/// Simulate a transform, product or key switch on an array, cycle by cycle, and check every value
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch run --n 8192 --machine ciphermill

Cycle counts are simulated, from scratchpad to scratchpad. By default, one input runs alone first, and then the \
number of concurrent inputs with the best steady state. The bound is analytic: cycles per input if the arithmetic \
never waited. The report names the busiest component, memories and networks included, and its utilization.

DRAM-to-DRAM figures are analytic, on top of the simulated cycles: inputs and outputs also pass the width of the \
memory. `factors` is the number of cycles in which twiddles and keys are loaded from DRAM, once.")]
pub(super) struct Args {
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    machine: MachineArg,
    /// Inputs processed concurrently [default: one alone, then the best of 1, 2, 3, 4, 6 and 8]
    #[arg(long, value_name = "K", value_parser = within::<u16>(1..=1024))]
    in_flight: Option<u16>,
    /// Consecutive runs of the program; a steady state needs 2 [default: 8, or as many as fit]
    #[arg(long, value_name = "R", value_parser = within::<u16>(1..=1024))]
    runs: Option<u16>,
    /// Where to write a Perfetto trace (ui.perfetto.dev) of all cores and networks; of a single run unless --in-flight or --runs is given
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print the records as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let machine = args.machine.machine()?;
    let plan = Plan {
        workload: args.workload.workload()?,
        in_flight: args.in_flight.map(usize::from),
        runs: args.runs.map(usize::from),
    };
    let report = match &args.trace {
        None => measure(&machine, &plan)?,
        Some(path) => {
            // Before the work: a file that is in the way is told at once.
            let mut pending = PendingFile::create(path, files::PUBLIC, args.force)?;
            let mut trace = Trace::new();
            let report = measure_traced(&machine, &plan, &mut trace)?;
            pending.fill(|out| trace.write(out))?;
            pending.commit()?;
            report
        }
    };
    let mut table = output::table([
        "in flight",
        "runs",
        "first",
        "steady",
        "bound",
        "ratio",
        "adders",
        "busiest",
        "DRAM to DRAM",
        "factors",
        "instructions",
        "words",
        "correct",
    ]);
    for line in &report.lines {
        table.add_row([
            line.in_flight.to_string(),
            line.runs.to_string(),
            line.first.to_string(),
            line.steady.map_or(String::new(), |steady| format!("{steady:.1}")),
            format!("{:.1}", line.bound),
            format!("{:.2}", line.ratio()),
            line.adders.map_or(String::new(), |adders| format!("{:.1} %", 100.0 * adders)),
            format!("{} {:.1} %", line.busiest, 100.0 * line.utilization),
            format!("{:.1}", line.dram),
            line.factor_cycles.to_string(),
            line.instructions.to_string(),
            line.words.to_string(),
            if line.correct { "yes" } else { "NO" }.to_owned(),
        ]);
    }
    let text = format!(
        "{table}\n{} on `{}`, {} × {} lanes; cycles, simulated, scratchpad to scratchpad (bound of the arithmetic, DRAM to \
         DRAM and factors: analytic)",
        plan.workload,
        machine.name,
        machine.cores(),
        machine.core.lanes
    );
    output::result(args.json, &report.records(), &text)?;
    all_correct(report.lines.iter().filter(|line| !judged(line.correct)).count())
}
