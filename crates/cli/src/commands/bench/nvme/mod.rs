//! A served device: rates and latencies over NVMe/TCP on loopback, beside the floors of the same machine.

mod compute;
mod raw;
mod served;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ciphermill_math::Isa;
use ciphermill_nvme::Host;
use ciphermill_nvme::initiator::{Controller, InitiatorConfig};
use serde::Serialize;

use super::Record;
use super::samples::Samples;
use crate::error::CliError;
use crate::machine::{Machine, peak_rss_bytes};
use crate::output;
use raw::Raw;
use served::Load;

/// A device served over NVMe/TCP on loopback: reads, durable writes, compute-on-write, idle hosts
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill bench nvme --dir /var/tmp --seconds 3 --json

Starts `ciphermill serve` as a process of its own on a free port with a new store, and removes it at the end. Beside each figure
stands a floor of the same disk or the same loopback, measured just before. Times are those of one command as the initiator
sees it; rates are the median of ten windows. Everything that is read is compared with what was written.")]
pub(crate) struct Args {
    /// Directory for the store and for the raw file
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Seconds for each load
    #[arg(long, value_name = "S", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Programs run by a write
    #[arg(long, value_name = "K", default_value = "200", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    samples: u32,
    /// Hosts connected and idle
    #[arg(long, value_name = "H", default_value = "64", value_parser = clap::value_parser!(u32).range(1..=1000))]
    hosts: u32,
    /// Print the records as JSON
    #[arg(long)]
    json: bool,
}

/// Windows of a rate.
const WINDOWS: u32 = 10;

#[derive(Serialize)]
struct Params {
    block_bytes: u64,
    depth: usize,
}

/// What only these records have; what a case does not tell is `null`.
#[derive(Default, Serialize)]
struct More {
    /// Commands per second: the median window.
    ops_per_s: Option<f64>,
    bytes_per_s: Option<f64>,
    p99_ns: Option<u64>,
    /// What the machine gives without a server: nanoseconds of one such step.
    floor_ns: Option<u64>,
    /// The same as bytes per second.
    floor_bytes_per_s: Option<f64>,
    floor: &'static str,
    /// Share of one core, for idle hosts.
    cpu_share: Option<f64>,
}

/// A server in a process of its own, killed when this is dropped.
struct Server {
    child: Child,
    address: String,
    subsystem: String,
}

impl Server {
    fn start(store: &Path) -> Result<Self, CliError> {
        let this = std::env::current_exe().map_err(CliError::file("find", Path::new("ciphermill")))?;
        let mut child = Command::new(&this)
            .args(["serve", "--listen", "127.0.0.1:0", "--allow-host", "any", "--insecure-params", "--json", "--store"])
            .arg(store)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(CliError::file("start", &this))?;
        let mut line = String::new();
        if let Some(said) = child.stdout.take() {
            BufReader::new(said).read_line(&mut line).map_err(CliError::file("hear from", &this))?;
        }
        let started: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        let field = |name: &str| started[name].as_str().map(str::to_owned);
        match (field("listening"), field("subsystem")) {
            (Some(address), Some(subsystem)) => Ok(Self { child, address, subsystem }),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                Err(CliError::Server(format!("it did not say where it listens: {line:?}")))
            }
        }
    }

    async fn connect(&self, number: u32) -> Result<Controller, CliError> {
        let nqn = format!("nqn.2014-08.org.nvmexpress:uuid:be9c0000-0000-4000-8000-{number:012x}");
        let mut id = *b"bench-host-00000";
        id[12..].copy_from_slice(&number.to_be_bytes());
        let config = InitiatorConfig::new(&self.address, &self.subsystem, Host { nqn, id });
        Ok(Controller::connect(config).await?)
    }

    /// Seconds of CPU that it has used.
    fn cpu_seconds(&self) -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        // After the name in parentheses: state is the first field, user and system time are the 12th and 13th.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The records of a run.
struct Bench {
    machine: Machine,
    records: Vec<Record<Params, More>>,
    wrong: usize,
}

impl Bench {
    fn push(&mut self, case: String, params: Params, mut times: Vec<Duration>, wrong: usize, mut more: More) {
        times.sort_unstable();
        let p99 = times.get((times.len() * 99 / 100).min(times.len().saturating_sub(1)));
        more.p99_ns = p99.map(|time| time.as_nanos() as u64);
        let samples = Samples { times, wrong };
        let (min_ns, median_ns) = samples.min_and_median();
        self.wrong += wrong;
        self.records.push(Record {
            schema: "ciphermill-bench/1",
            case,
            params,
            isa: Isa::current().name(),
            threads: self.machine.threads,
            samples: samples.times.len(),
            min_ns,
            median_ns,
            peak_rss_bytes: peak_rss_bytes(),
            correct: wrong == 0,
            kind: "measured",
            machine: self.machine.clone(),
            more,
        });
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn median_time(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let directory = tempfile::Builder::new()
        .prefix("ciphermill-bench-")
        .tempdir_in(&args.dir)
        .map_err(CliError::file("make a folder in", &args.dir))?;
    let window = Duration::from_secs(args.seconds.into()) / WINDOWS;
    let raw = Raw::measure(directory.path(), WINDOWS, window).map_err(CliError::file("measure in", &args.dir))?;
    let server = Server::start(&directory.path().join("store"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::Threads(error.to_string()))?;
    let mut bench = Bench { machine: Machine::this(), records: Vec::new(), wrong: 0 };
    runtime.block_on(measure(args, &server, &raw, window, &mut bench))?;
    drop(server);
    tell(args, &bench)
}

async fn measure(args: &Args, server: &Server, raw: &Raw, window: Duration, bench: &mut Bench) -> Result<(), CliError> {
    let sync = median_time(raw.fdatasync.clone());
    let round_trip = median_time(raw.round_trips.clone());
    let controller = server.connect(0).await?;
    let namespace = controller.namespace(1).await?;
    served::fill(&namespace).await?;
    for load in Load::ALL {
        let seen = served::run(&namespace, load, WINDOWS, window).await?;
        let rate = median(seen.rates);
        let bytes = load.blocks * ciphermill_nvme::BLOCK_BYTES as u64;
        let large = load.blocks > 1;
        let (floor, floor_ns, floor_bytes_per_s) = match (load.write, large) {
            (false, false) => ("round trip on loopback", Some(round_trip), None),
            (false, true) => ("stream on loopback", None, Some(median(raw.stream.clone()))),
            (true, false) => ("4 KiB and fdatasync", Some(sync), None),
            (true, true) => ("4 MiB and fdatasync", None, Some(median(raw.writes.clone()))),
        };
        let more = More {
            ops_per_s: Some(rate),
            bytes_per_s: Some(rate * bytes as f64),
            floor,
            floor_ns: floor_ns.map(|time| time.as_nanos() as u64),
            floor_bytes_per_s,
            ..More::default()
        };
        bench.push(load.name(), Params { block_bytes: bytes, depth: load.depth }, seen.times, seen.wrong, more);
    }
    // How fast the raw file is read back, for the reader of the record.
    let more =
        More { bytes_per_s: Some(median(raw.reads.clone())), floor: "none: it is the raw file", ..More::default() };
    bench.push("raw/read/128k".to_owned(), Params { block_bytes: raw::PIECE as u64, depth: 1 }, Vec::new(), 0, more);
    let more = More { floor: "none: it is the raw file", ..More::default() };
    bench.push("raw/fdatasync/4k".to_owned(), Params { block_bytes: 4096, depth: 1 }, raw.fdatasync.clone(), 0, more);

    let computed = compute::run(&namespace, args.samples).await?;
    let bare = median_time(computed.bare.clone());
    let params = || Params { block_bytes: 4096, depth: 1 };
    let more = More { floor: "none: it is the program alone", ..More::default() };
    bench.push("program/table5/bare".to_owned(), params(), computed.bare, 0, more);
    let floor_ns = Some((bare + sync).as_nanos() as u64);
    let more = More { floor: "the bare program and one fdatasync", floor_ns, ..More::default() };
    bench.push("nvme/compute-on-write/table5".to_owned(), params(), computed.served, computed.wrong, more);
    controller.disconnect().await;
    idle(args, server, bench).await
}

/// The CPU time that connected hosts cost when they ask for nothing but to be kept alive.
async fn idle(args: &Args, server: &Server, bench: &mut Bench) -> Result<(), CliError> {
    let mut hosts = Vec::new();
    for number in 1..=args.hosts {
        hosts.push(server.connect(number).await?);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (begun, before) = (Instant::now(), server.cpu_seconds());
    // Long enough for several keep-alives of each.
    tokio::time::sleep(Duration::from_secs(u64::from(args.seconds).clamp(10, 60))).await;
    let used = server.cpu_seconds().zip(before).map(|(after, before)| after - before);
    let cpu_share = used.map(|seconds| seconds / begun.elapsed().as_secs_f64());
    let more = More { cpu_share, floor: "none", ..More::default() };
    let params = Params { block_bytes: 0, depth: hosts.len() };
    bench.push(format!("nvme/idle/{}hosts", args.hosts), params, vec![begun.elapsed()], 0, more);
    for host in hosts {
        host.disconnect().await;
    }
    Ok(())
}

fn tell(args: &Args, bench: &Bench) -> Result<(), CliError> {
    let mut table = output::table(["case", "median", "p99", "per second", "throughput", "floor", "of what"]);
    for record in &bench.records {
        let more = &record.more;
        let gigabytes = |rate: Option<f64>| rate.map_or(String::new(), |rate| format!("{:.2} GB/s", rate / 1e9));
        let floor = match (more.floor_ns, more.floor_bytes_per_s, more.cpu_share) {
            (Some(ns), ..) => output::human_time(ns),
            (_, Some(rate), _) => gigabytes(Some(rate)),
            (.., Some(share)) => format!("{:.2} % of a core", share * 100.0),
            _ => String::new(),
        };
        table.add_row([
            record.case.clone(),
            output::human_time(record.median_ns),
            more.p99_ns.map(output::human_time).unwrap_or_default(),
            more.ops_per_s.map_or(String::new(), |rate| format!("{rate:.0}")),
            gigabytes(more.bytes_per_s),
            floor,
            more.floor.to_owned(),
        ]);
    }
    let record = serde_json::json!({ "correct": bench.wrong == 0, "records": bench.records });
    output::result(args.json, &record, &format!("{table}\nmeasured on {}", bench.machine.cpu))?;
    match bench.wrong {
        0 => Ok(()),
        wrong => Err(CliError::WrongResults { wrong }),
    }
}
