//! `arch run`: a workload on an array.

use std::path::PathBuf;

use ciphermill_arch::report::{Plan, measure, measure_traced};
use ciphermill_arch::trace::Trace;

use super::all_correct;
use super::machine::{MachineArg, WorkloadArgs};
use crate::error::CliError;
use crate::output;
use ciphermill_client::files::{self, PendingFile};

/// Compile a transform, a product or a key switch for an array and run it, cycle by cycle, with every value compared
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch run --n 8192 --machine ciphermill

Without --in-flight one input runs by itself (first), and then as many overlap as give the best steady state; both are simulated,
scratchpad to scratchpad. The bound is analytic: cycles for each input if the arithmetic never waited. Of all components, memories and
networks too, the busiest one is named, with the share of cycles in which it works. DRAM to DRAM is analytic, over the simulated
cycles: inputs and outputs also pass the memory's width. Factors are the cycles in which twiddles and keys come from DRAM, once.")]
pub(super) struct Args {
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    machine: MachineArg,
    /// Inputs whose computations overlap [default: one by itself, then the best of 1, 2, 3, 4, 6 and 8]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=1024))]
    in_flight: Option<u16>,
    /// Runs of the program behind one another; a steady state needs 2 [default: 8, or as many as fit]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u16).range(1..=1024))]
    runs: Option<u16>,
    /// Write a trace of all cores and networks for Perfetto (ui.perfetto.dev) here; without other numbers of one input's only run
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
    all_correct(report.lines.iter().filter(|line| !line.correct).count())
}
