//! The cases of the benchmark, with their placements and floors.

use std::path::Path;
use std::time::{Duration, Instant};

use ciphermill_nvme::BLOCK_BYTES;
use ciphermill_tfhe::Backend;

use super::Args;
use super::compute::Computing;
use super::placement::{Placed, Placement};
use super::raw::{self, PIECE, RawFile};
use super::record::{Asked, Bench, More, Params, median, median_ns};
use super::served::{self, Load};
use super::server::Server;
use crate::error::CliError;

/// Windows of a rate.
const WINDOWS: u32 = 10;

/// The figure of the machine for a load without a server.
struct Floor {
    what: &'static str,
    /// Last part but one of the name of its own record.
    case: &'static str,
    times: Vec<Duration>,
    bytes_per_s: Option<f64>,
}

/// The setup that all cases share.
struct Ground<'a> {
    args: &'a Args,
    server: Server,
    raw: RawFile,
    window: Duration,
}

/// Everything, with a store and a raw file in `directory`.
pub(super) async fn all(args: &Args, directory: &Path, bench: &mut Bench) -> Result<(), CliError> {
    let engine = args.engine.bootstrap(Backend::Fft)?;
    let raw = RawFile::create(directory).map_err(CliError::file("write in", &args.dir))?;
    let server = Server::start(&directory.join("store"), args.engine.engine, args.hosts)?;
    let ground = Ground { args, server, raw, window: Duration::from_secs(args.seconds.into()) / WINDOWS };
    let controller = ground.server.connect(0).await?;
    let namespace = controller.namespace(1).await?;
    served::fill(&namespace).await?;
    let mut computing = Computing::prepare(&namespace, engine).await?;
    controller.disconnect().await;
    for placement in Placement::ALL {
        let placed = ground.place(placement)?;
        bench.awake_by(placed.awake_by());
        for load in Load::of(placement) {
            ground.load(placement, *load, bench).await?;
        }
        ground.compute(placement, &mut computing, bench).await?;
        drop(placed);
    }
    // How fast the raw file is read back, for the reader of the record.
    let reads = ground.raw.reads(WINDOWS, ground.window).map_err(CliError::file("read in", &args.dir))?;
    let more = More { bytes_per_s: Some(median(reads)), ..More::default() };
    bench.push("raw/read/128k", Params { block_bytes: PIECE as u64, depth: 1 }, Vec::new(), 0, more);
    ground.idle(bench).await
}

impl Ground<'_> {
    fn place(&self, placement: Placement) -> Result<Placed, CliError> {
        let place = |error| CliError::Threads(format!("placement {}: {error}", placement.name()));
        placement.take(self.server.pid()).map_err(place)
    }

    /// No host is connected meanwhile: this thread attends to nothing else.
    fn floor(&self, load: Load) -> Result<Floor, CliError> {
        let floor = |what, case, times, rates: Vec<f64>| Floor {
            what,
            case,
            times,
            bytes_per_s: (!rates.is_empty()).then(|| median(rates)),
        };
        let measured = match (load.write, load.blocks > 1) {
            (false, false) => raw::round_trips(2_000)
                .map(|times| floor("round trip on loopback", "raw/round-trip/4k", times, Vec::new())),
            (false, true) => raw::stream(WINDOWS, self.window)
                .map(|rates| floor("stream on loopback", "raw/stream/128k", Vec::new(), rates)),
            (true, false) => {
                self.raw.syncs(200).map(|times| floor("4 KiB and fdatasync", "raw/fdatasync/4k", times, Vec::new()))
            }
            (true, true) => self
                .raw
                .writes(WINDOWS, self.window)
                .map(|rates| floor("4 MiB and fdatasync", "raw/write/4m", Vec::new(), rates)),
        };
        measured.map_err(CliError::file("measure in", &self.args.dir))
    }

    async fn load(&self, placement: Placement, load: Load, bench: &mut Bench) -> Result<(), CliError> {
        let floor = self.floor(load)?;
        let floor_ns = (!floor.times.is_empty()).then(|| median_ns(&floor.times));
        let block_bytes = load.blocks * BLOCK_BYTES as u64;
        let controller = self.server.connect(0).await?;
        let namespace = controller.namespace(1).await?;
        let seen = served::run(&namespace, load, WINDOWS, self.window).await?;
        controller.disconnect().await;
        // One record of each floor: loads of other depths have the same, measured again.
        if load.blocks > 1 || load.depth == 1 {
            let more = More { placement, bytes_per_s: floor.bytes_per_s, ..More::default() };
            bench.push(floor.case, Params { block_bytes, depth: 1 }, floor.times, 0, more);
        }
        let rate = median(seen.rates);
        let more = More {
            placement,
            ops_per_s: Some(rate),
            bytes_per_s: Some(rate * block_bytes as f64),
            floor: floor.what,
            floor_ns,
            floor_bytes_per_s: floor.bytes_per_s,
            asked: load.asked(),
            ..More::default()
        };
        bench.push(&load.name(), Params { block_bytes, depth: load.depth }, seen.times, seen.wrong, more);
        Ok(())
    }

    async fn compute(
        &self,
        placement: Placement,
        computing: &mut Computing,
        bench: &mut Bench,
    ) -> Result<(), CliError> {
        let controller = self.server.connect(0).await?;
        let namespace = controller.namespace(1).await?;
        let computed = computing.run(&namespace, &self.raw, self.args.samples).await?;
        controller.disconnect().await;
        let medians = [&computed.served, &computed.bare, &computed.sync].map(|times| median_ns(times));
        let [served, bare, sync] = medians;
        let params = || Params { block_bytes: BLOCK_BYTES as u64, depth: 1 };
        let more = || More { placement, ..More::default() };
        bench.push("program/table5/bare", params(), computed.bare, computed.wrong_bare, more());
        bench.push("program/table5/fdatasync", params(), computed.sync, 0, more());
        let more = More {
            placement,
            added_ns: Some(served.cast_signed() - bare.cast_signed()),
            floor: "4 KiB and fdatasync, in turn with them",
            floor_ns: Some(sync),
            asked: Some(Asked::AddedBeyondFloorNs(1_000_000)),
            ..More::default()
        };
        bench.push("nvme/compute-on-write/table5", params(), computed.served, computed.wrong_served, more);
        Ok(())
    }

    /// The CPU time that connected hosts cost when they ask for nothing but to be kept alive.
    async fn idle(&self, bench: &mut Bench) -> Result<(), CliError> {
        let mut hosts = Vec::new();
        for number in 1..=self.args.hosts {
            hosts.push(self.server.connect(number).await?);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (begun, before) = (Instant::now(), self.server.cpu_seconds());
        // Long enough for several keep-alives of each.
        tokio::time::sleep(Duration::from_secs(u64::from(self.args.seconds).clamp(10, 60))).await;
        let used = self.server.cpu_seconds().zip(before).map(|(after, before)| after - before);
        let cpu_share = used.map(|seconds| seconds / begun.elapsed().as_secs_f64());
        let more = More { cpu_share, asked: Some(Asked::CpuShare(0.01)), ..More::default() };
        let params = Params { block_bytes: 0, depth: hosts.len() };
        bench.push(&format!("nvme/idle/{}hosts", self.args.hosts), params, vec![begun.elapsed()], 0, more);
        for host in hosts {
            host.disconnect().await;
        }
        Ok(())
    }
}
