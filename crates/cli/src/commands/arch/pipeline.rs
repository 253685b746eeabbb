//! `arch pipeline`: the macro-pipeline of encrypted matrix-vector products.

use std::path::{Path, PathBuf};

use ciphermill_arch::pipeline::{
    CHAM_EXPLORE, Exploration, Job, PipelineMachine, explore, simulate, table3, table3_records,
};
use ciphermill_arch::trace::Trace;
use clap::Subcommand;

use super::descriptions::{PIPELINES, description};
use super::number;
use crate::error::CliError;
use crate::output;
use ciphermill_client::files::{self, PendingFile};

/// Model the macro-pipeline of the CHAM paper: a product, its Table 3, its design space
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Run(RunArgs),
    Table3(Table3Args),
    Explore(ExploreArgs),
}

#[derive(clap::Args, Debug)]
struct PipelineArg {
    /// Pipeline: cham-paper, cham-ciphermill, or a file like crates/arch/machines/cham-paper.toml
    #[arg(long, value_name = "NAME|FILE", default_value = "cham-ciphermill")]
    machine: PathBuf,
}

/// Simulate one product, stage by stage
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch pipeline run --rows 2048 --cols 256 --machine cham-paper")]
struct RunArgs {
    /// Rows of the matrix; use 1 to 16384
    #[arg(long, value_name = "M", default_value = "1024")]
    rows: u64,
    /// Columns of the matrix; use 1 to 16384
    #[arg(long, value_name = "N", default_value = "256")]
    cols: u64,
    #[command(flatten)]
    machine: PipelineArg,
    /// Where to write a trace for Perfetto (ui.perfetto.dev)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

/// Compare Table 3 of the CHAM paper with the simulation
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch pipeline table3 --machine cham-paper")]
struct Table3Args {
    #[command(flatten)]
    machine: PipelineArg,
    /// Print the records as JSON
    #[arg(long)]
    json: bool,
}

/// List every design of a sweep with its resources and its speed
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch pipeline explore")]
struct ExploreArgs {
    /// Sweep: cham, or a file like crates/arch/machines/cham-explore.toml
    #[arg(long, value_name = "NAME|FILE", default_value = "cham")]
    sweep: PathBuf,
    #[command(flatten)]
    machine: PipelineArg,
    /// Print the records of all designs that fit as JSON
    #[arg(long)]
    json: bool,
}

/// Reads a pipeline's description.
pub(super) fn pipeline_machine(name: &Path) -> Result<PipelineMachine, CliError> {
    let text = description(name, &PIPELINES)?;
    PipelineMachine::from_toml(&text).map_err(CliError::content(name))
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    match &args.verb {
        Verb::Run(args) => one(args),
        Verb::Table3(args) => table_3(args),
        Verb::Explore(args) => designs(args),
    }
}

fn one(args: &RunArgs) -> Result<(), CliError> {
    let machine = pipeline_machine(&args.machine.machine)?;
    let job = Job { rows: args.rows, columns: args.cols };
    // Before the work: a file that is in the way is told at once.
    let pending = args.trace.as_deref().map(|path| PendingFile::create(path, files::PUBLIC, args.force)).transpose()?;
    let mut trace = pending.as_ref().map(|_| Trace::new());
    let run = simulate(&machine, &job, trace.as_mut())?;
    if let (Some(mut pending), Some(trace)) = (pending, trace) {
        pending.fill(|out| trace.write(out))?;
        pending.commit()?;
    }
    let mut table = output::table(["engine", "stage", "units", "tokens", "items", "busy", "utilization"]);
    for stage in &run.stages {
        table.add_row([
            stage.engine.to_string(),
            stage.stage.name().to_owned(),
            stage.units.to_string(),
            stage.tokens.to_string(),
            stage.items.to_string(),
            stage.busy_cycles.to_string(),
            format!("{:.1} %", 100.0 * stage.utilization),
        ]);
    }
    let text = format!(
        "{table}\n{} × {} on `{}`: {} cycles, simulated, {:.2} ms at {} MHz; {} cycles a row; no schedule takes fewer than {}",
        job.rows,
        job.columns,
        run.machine,
        run.cycles,
        run.milliseconds(),
        run.clock_mhz,
        number(run.steady_cycles_per_row, 0),
        run.bound_cycles
    );
    output::result(args.json, &run.records(), &text)
}

fn table_3(args: &Table3Args) -> Result<(), CliError> {
    let rows = table3(&pipeline_machine(&args.machine.machine)?, &[4096])?;
    let mut table = output::table(["rows", "printed, ms", "simulated, ms", "printed/simulated", "cycles a row"]);
    for row in &rows {
        table.add_row([
            row.run.job.rows.to_string(),
            number(row.printed.map(|printed| printed.accelerator_ms), 2),
            format!("{:.2}", row.ms),
            number(row.ratio, 2),
            number(row.run.steady_cycles_per_row, 0),
        ]);
    }
    output::result(args.json, &table3_records(&rows), &table.to_string())
}

fn designs(args: &ExploreArgs) -> Result<(), CliError> {
    let text = description(&args.sweep, &[("cham", CHAM_EXPLORE)])?;
    let sweep = Exploration::from_toml(&text).map_err(CliError::content(&args.sweep))?;
    let space = explore(&sweep, &pipeline_machine(&args.machine.machine)?)?;
    let mut table =
        output::table(["design", "LUT", "DSP", "BRAM", "URAM", "share", "scarcest", "cycles", "cycles a row"]);
    for point in space.front() {
        table.add_row([
            point.design.name(),
            point.resources.lut.to_string(),
            point.resources.dsp.to_string(),
            point.resources.bram.to_string(),
            point.resources.uram.to_string(),
            format!("{:.0} %", 100.0 * point.share),
            point.scarcest.to_owned(),
            point.cycles.map_or(String::new(), |cycles| cycles.to_string()),
            number(point.cycles_steady, 0),
        ]);
    }
    let fit = space.points.iter().filter(|point| point.fits).count();
    let text = format!(
        "{table}\nthe front of {} designs, {fit} of which fit; {} × {}; cycles simulated, resources analytic",
        space.points.len(),
        space.job.rows,
        space.job.columns
    );
    output::result(args.json, &space.records(), &text)
}
