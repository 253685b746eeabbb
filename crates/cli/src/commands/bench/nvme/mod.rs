//! A served device: rates and latencies over NVMe/TCP on loopback, compared with the floors of the same machine.

mod compute;
mod measure;
mod placement;
mod raw;
mod record;
mod served;
mod server;

use std::path::PathBuf;

use crate::error::CliError;
use crate::inputs::{EngineArgs, within};
use crate::output::Progress;
use record::Bench;

/// Time a device served over NVMe/TCP on loopback: reads, durable writes, compute-on-write, idle hosts
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill bench nvme --dir /var/tmp --seconds 3 --json

`ciphermill serve` runs as a separate process on a free port with a new store, which is removed at the end. Next to \
each figure, the report gives a floor of the same disk or the same loopback, measured just before in the same \
placement. Times are those of one command as the initiator sees it; rates are the median of ten windows. All data \
read is compared with the data written.

Placements, the last part of a case's name:
  free      the kernel places the threads; idle CPUs sleep
  awake     a busy thread of the lowest priority (SCHED_IDLE) keeps each CPU awake
  one-core  server and client share one CPU, so that no CPU has to be woken

Waking a sleeping CPU takes a virtual machine up to hundreds of microseconds, more than the rest of a short \
command. So `free` measures this machine, and the other placements measure the server.

`met` reports whether a figure meets its target on two cores. A missed target is not an error; the floor is the \
limit of the machine.")]
pub(crate) struct Args {
    /// Directory for the store and for the raw file
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Seconds for each load and for each floor that is a rate
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = within::<u32>(1..=600))]
    seconds: u32,
    /// Compute-on-write programs per placement
    #[arg(long, value_name = "K", default_value = "200", value_parser = within::<u32>(1..=100_000))]
    samples: u32,
    /// Hosts connected and idle, with two connections each
    #[arg(long, value_name = "N", default_value = "64", value_parser = within::<u32>(1..=100))]
    hosts: u32,
    #[command(flatten)]
    engine: EngineArgs,
    /// Print the records as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let directory = tempfile::Builder::new()
        .prefix("ciphermill-bench-")
        .tempdir_in(&args.dir)
        .map_err(CliError::file("make a folder in", &args.dir))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::Threads(error.to_string()))?;
    let mut bench = Bench::new();
    let progress = Progress::spinner("measuring a served device");
    runtime.block_on(measure::all(args, directory.path(), &mut bench))?;
    drop(progress);
    bench.tell(args.json)
}
