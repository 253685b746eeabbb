//! `arch sweep`: an array with some of its numbers changed.

use ciphermill_arch::report::{Axis, Plan, Sweep, SweepPoint, default_axes, sweep_records};

use super::workload::{MachineArg, WorkloadArgs};
use super::{all_correct, number};
use crate::error::CliError;
use crate::fault::judged;
use crate::inputs::within;
use crate::output::{self, Progress};

/// Vary parameters of an array, one at a time or in every combination, and run a workload on each
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch sweep --n 4096 --vary link-bytes=16,32,64,128 --vary adders=1,2 --product

Parameters: lanes, grid (4x4), issue-width, queue-depth, issue, firing, adders, multiplier-latency, adder-latency, \
complex-interval, complex-latency, copies, copy-ports, arrival-ports, twiddle-port, data-rows, twiddle-rows, \
instruction-words, read-latency, write-ports, transposition, link-bytes, hop-latency, buffer, scratchpad-vectors, \
scratchpad-latency, slices, dram-bytes, in-flight.

slices selects the cores that have a slice of the scratchpad: all, rows (first and last row), corners, column (the \
first), or a list such as 0+3+12+15. By default, the parameters with the largest effect are varied around the \
machine. A change of lanes keeps the bytes of each core's memories.")]
pub(super) struct Args {
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    machine: MachineArg,
    /// Parameter and its values, as lanes=8,16,32; may be repeated
    #[arg(long, value_name = "PARAMETER=V,…")]
    vary: Vec<Axis>,
    /// Run every combination, up to 4096, instead of one parameter at a time
    #[arg(long, requires = "vary")]
    product: bool,
    /// Inputs processed concurrently [default: the best of 1, 2, 3, 4, 6 and 8 that fit]
    #[arg(long, value_name = "K", value_parser = within::<u16>(1..=1024))]
    in_flight: Option<u16>,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = within::<u16>(1..=64))]
    threads: Option<u16>,
    /// Print the records as JSON, without the points that do not fit
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let machine = args.machine.machine()?;
    let workload = args.workload.workload()?;
    let axes = if args.vary.is_empty() { default_axes() } else { args.vary.clone() };
    let plan = Plan { workload, in_flight: args.in_flight.map(usize::from), runs: None };
    let sweep = Sweep { axes, product: args.product, plan };
    let threads = args.threads.map(usize::from);
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let progress = Progress::bar("sweep");
    let points = sweep.run(&machine, threads, &|done, all| progress.set(done as u64, all as u64))?;
    drop(progress);
    let records = sweep_records(&points);
    // The machine as it is does not count.
    let asked: Vec<&SweepPoint> = points.iter().filter(|point| !point.changed.is_empty()).collect();
    if let Some(SweepPoint { error: Some(why), .. }) = asked.first()
        && asked.iter().all(|point| point.error.is_some())
    {
        return Err(CliError::NothingRan { why: why.clone() });
    }
    let wrong = records.iter().filter(|record| !judged(record.correct != Some(false))).count();
    if args.json {
        output::json(&records)?;
        for point in points.iter().filter(|point| point.error.is_some()) {
            eprintln!("left out: {}: {}", changed(point, &machine.name), point.error.as_deref().unwrap_or_default());
        }
        return all_correct(wrong);
    }
    let mut table =
        output::table(["changed", "in flight", "first", "steady", "ratio", "busiest", "DRAM to DRAM", "correct"]);
    let mut left_out = String::new();
    for point in &points {
        let changed = changed(point, &machine.name);
        let Some(record) = &point.record else {
            // In the table the message would make it wider than any screen.
            left_out += &format!("\n{changed}: {}", point.error.as_deref().unwrap_or_default());
            continue;
        };
        table.add_row([
            changed,
            record.params["in_flight"].to_string(),
            record.cycles.to_string(),
            number(record.cycles_steady, 1),
            number(point.ratio, 2),
            format!(
                "{} {} %",
                record.params["busiest"].as_str().unwrap_or_default(),
                number(record.utilization.map(|share| 100.0 * share), 1)
            ),
            number(point.dram, 1),
            if record.correct == Some(true) { "yes" } else { "NO" }.to_owned(),
        ]);
    }
    output::line(&format!(
        "{table}\n{workload}; cycles, simulated, scratchpad to scratchpad; ratio to the bound of the arithmetic; busiest component and its \
         share of the cycles; DRAM to DRAM: analytic{left_out}"
    ))?;
    all_correct(wrong)
}

/// The changed parameters of a point.
fn changed(point: &SweepPoint, machine: &str) -> String {
    if point.changed.is_empty() {
        return format!("`{machine}` as it is");
    }
    let changed: Vec<String> = point.changed.iter().map(|(name, value)| format!("{name}={value}")).collect();
    changed.join(" ")
}
