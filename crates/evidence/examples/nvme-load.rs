//! Loads an NVMe/TCP target, and says how fast it is: like `fio`, for one pattern at a time.
//!
//! ```text
//! cargo run --release -p ciphermill-nvme --example nvme-load -- serve listen=127.0.0.1:4420 mib=1024
//! cargo run --release -p ciphermill-nvme --example nvme-load -- run address=127.0.0.1:4420 rw=randread bs=4096 depth=32
//! ```
//! `serve` serves a namespace in memory until it is interrupted. `run` sends commands and prints one JSON object: commands
//! and bytes per second, and the latency of single commands in microseconds. Its options:
//!
//! | option | values and default |
//! | --- | --- |
//! | `address=` | `127.0.0.1:4420` |
//! | `nqn=` | the name that `serve` uses |
//! | `host=` | `nqn.2014-08.org.nvmexpress:load` |
//! | `nsid=` | 1 |
//! | `rw=` | `randread` (default), `randwrite`, `read`, `write` |
//! | `bs=` | 4096, or a multiple of it |
//! | `depth=`, `queues=` | 1 |
//! | `seconds=`, `warmup=` | 5 and 1 |
//! | `digests=` | `none` (default), `header`, `data`, `both` |
//! | `runtime=` | `current` (default), `multi`, `blocking` (`depth` threads) |
//! | `blocks=` | blocks of the namespace to use; all by default |
//!
//! `idle` makes `hosts=64` connections (each a separate host), leaves them idle for `seconds`, and prints the processor
//! time of this process.

use ciphermill_nvme::{
    Answer, BLOCK_BYTES, Caller, CommandError, Geometry, Host, Namespace, Status, buffers,
    initiator::{Controller, InitiatorConfig, RemoteNamespace, blocking::BlockingController},
    pdu::Digests,
    server::{HostAccess, NamespaceConfig, Subsystem, SubsystemConfig, Target},
};
use std::{
    collections::BTreeMap,
    error::Error,
    ops::Range,
    process::ExitCode,
    sync::{Arc, RwLock},
    time::{Duration, Instant},
};

type Failure = Box<dyn Error + Send + Sync>;

const NQN: &str = "nqn.2026-01.org.ciphermill:load";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let verb = arguments.next().unwrap_or_default();
    let outcome = Options::parse(arguments).and_then(|options| match verb.as_str() {
        "serve" => serve(&options),
        "run" => run(&options),
        "idle" => idle(&options),
        _ => Err("the verbs are serve, run and idle; see the head of the source".into()),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nvme-load: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Options(BTreeMap<String, String>);

impl Options {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let pairs = arguments.map(|argument| match argument.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(format!("{argument} is not key=value").into()),
        });
        Ok(Self(pairs.collect::<Result<_, Failure>>()?))
    }

    fn text<'a>(&'a self, key: &str, default: &'a str) -> &'a str {
        self.0.get(key).map_or(default, String::as_str)
    }

    fn number(&self, key: &str, default: u64) -> Result<u64, Failure> {
        self.0.get(key).map_or(Ok(default), |value| value.parse().map_err(|_| format!("{key}={value}").into()))
    }

    fn config(&self) -> Result<InitiatorConfig, Failure> {
        let host = Host { nqn: self.text("host", "nqn.2014-08.org.nvmexpress:load").into(), id: [1; 16] };
        let mut config = InitiatorConfig::new(self.text("address", "127.0.0.1:4420"), self.text("nqn", NQN), host);
        config.io_queues = self.number("queues", 1)?.try_into()?;
        let depth = self.number("depth", 1)?;
        config.queue_depth = u16::try_from(depth.div_ceil(config.io_queues.max(1).into()) + 1)?.clamp(33, 1024);
        config.digests = match self.text("digests", "none") {
            "none" => Digests::default(),
            "header" => Digests { header: true, data: false },
            "data" => Digests { header: false, data: true },
            "both" => Digests { header: true, data: true },
            other => return Err(format!("digests={other}").into()),
        };
        Ok(config)
    }
}

/// A namespace in memory.
#[derive(Debug)]
struct Memory {
    blocks: Vec<RwLock<Box<[u8; BLOCK_BYTES]>>>,
}

impl Memory {
    fn ready<T>(outcome: Option<T>) -> Answer<T> {
        Answer::Ready(outcome.ok_or_else(|| CommandError::from(Status::INTERNAL_ERROR)))
    }

    fn each(&self, range: Range<u64>, mut each: impl FnMut(&mut [u8; BLOCK_BYTES])) -> Option<()> {
        for lock in self.blocks.get(range.start as usize..range.end as usize)? {
            each(&mut *lock.write().ok()?);
        }
        Some(())
    }
}

impl Namespace for Memory {
    fn geometry(&self) -> Geometry {
        let size = self.blocks.len() as u64;
        Geometry { size, capacity: size, used: size }
    }

    fn read(self: Arc<Self>, _: &Arc<Caller>, lba: u64, blocks: u32) -> Answer<Vec<u8>> {
        let mut data = buffers::with_capacity(blocks as usize * BLOCK_BYTES);
        let read = || -> Option<Vec<u8>> {
            for lock in self.blocks.get(lba as usize..lba as usize + blocks as usize)? {
                data.extend_from_slice(&lock.read().ok()?[..]);
            }
            Some(data)
        };
        Self::ready(read())
    }

    fn write(self: Arc<Self>, _: &Arc<Caller>, lba: u64, data: Vec<u8>) -> Answer<()> {
        let mut rest = data.chunks_exact(BLOCK_BYTES);
        let outcome = self.each(lba..lba + (data.len() / BLOCK_BYTES) as u64, |block| {
            block.copy_from_slice(rest.next().unwrap_or(&[0; BLOCK_BYTES]));
        });
        buffers::give_back(data);
        Self::ready(outcome)
    }

    fn write_zeroes(self: Arc<Self>, _: &Arc<Caller>, lba: u64, blocks: u32, _: bool) -> Answer<()> {
        Self::ready(self.each(lba..lba + u64::from(blocks), |block| block.fill(0)))
    }

    fn deallocate(self: Arc<Self>, _: &Arc<Caller>, _: Vec<Range<u64>>) -> Answer<()> {
        Answer::Ready(Ok(()))
    }

    fn flush(self: Arc<Self>, _: &Arc<Caller>) -> Answer<()> {
        Answer::Ready(Ok(()))
    }
}

fn runtime(kind: &str) -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = match kind {
        "multi" => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    Ok(builder.enable_all().build()?)
}

fn serve(options: &Options) -> Result<(), Failure> {
    let blocks = options.number("mib", 256)? * 256;
    let memory = Memory { blocks: (0..blocks).map(|_| RwLock::new(Box::new([0x5a; BLOCK_BYTES]))).collect() };
    runtime(options.text("runtime", "current"))?.block_on(async {
        let config = SubsystemConfig { nqn: NQN.into(), ..SubsystemConfig::default() };
        let namespace = NamespaceConfig { nsid: 1, uuid: [9; 16], hosts: HostAccess::Any, namespace: Arc::new(memory) };
        let subsystem = Subsystem::new(config, HostAccess::Any, vec![namespace])?;
        let target = Target::bind(options.text("listen", "127.0.0.1:4420").parse()?, subsystem).await?;
        eprintln!("{NQN} at {}", target.local_addr());
        target.serve(std::future::pending()).await?;
        Ok(())
    })
}

/// What to send.
#[derive(Clone, Copy)]
struct Pattern {
    write: bool,
    random: bool,
    /// Blocks of a command.
    blocks: u32,
    /// Commands that fit into the range.
    places: u64,
}

impl Pattern {
    fn of(options: &Options, blocks: u64, max: u32) -> Result<Self, Failure> {
        let bytes = options.number("bs", 4096)?;
        let each = u32::try_from(bytes / BLOCK_BYTES as u64)?;
        let range = options.number("blocks", blocks)?.min(blocks);
        let places = range / u64::from(each.max(1));
        if each == 0 || bytes % BLOCK_BYTES as u64 != 0 || each > max || places == 0 {
            return Err(format!(
                "bs={bytes}: a multiple of {BLOCK_BYTES} up to {max} blocks, and no more than there is"
            )
            .into());
        }
        let (random, write) = match options.text("rw", "randread") {
            "randread" => (true, false),
            "randwrite" => (true, true),
            "read" => (false, false),
            "write" => (false, true),
            other => return Err(format!("rw={other}").into()),
        };
        Ok(Self { write, random, blocks: each, places })
    }

    /// The first block of the `index`-th command.
    fn lba(&self, index: u64, random: &mut u64) -> u64 {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        (if self.random { *random } else { index }) % self.places * u64::from(self.blocks)
    }
}

/// One of `depth` workers: sends one command after the other and returns the latencies of commands begun after `from`.
async fn work(
    namespace: RemoteNamespace,
    pattern: Pattern,
    worker: u64,
    depth: u64,
    from: Instant,
    until: Instant,
) -> Result<Vec<u32>, Failure> {
    let data = bytes::Bytes::from(vec![worker as u8; pattern.blocks as usize * BLOCK_BYTES]);
    let (mut latencies, mut random, mut index) = (Vec::new(), (worker + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15), worker);
    loop {
        let begun = Instant::now();
        if begun >= until {
            return Ok(latencies);
        }
        let lba = pattern.lba(index, &mut random);
        if pattern.write {
            namespace.write(lba, data.clone()).await?;
        } else {
            let read = namespace.read(lba, pattern.blocks).await?;
            assert_eq!(read.len(), data.len());
        }
        if begun >= from {
            latencies.push(begun.elapsed().as_nanos().min(u32::MAX.into()) as u32);
        }
        index += depth;
    }
}

fn run(options: &Options) -> Result<(), Failure> {
    let (config, depth, nsid) = (options.config()?, options.number("depth", 1)?, options.number("nsid", 1)? as u32);
    let seconds = options.number("seconds", 5)?;
    let from = Instant::now() + Duration::from_secs(options.number("warmup", 1)?);
    let until = from + Duration::from_secs(seconds);
    let kind = options.text("runtime", "current");
    let mut latencies = if kind == "blocking" {
        let controller = BlockingController::connect(config)?;
        let namespace = controller.namespace(nsid)?;
        let pattern = Pattern::of(options, namespace.blocks(), namespace.max_transfer_blocks())?;
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..depth)
                .map(|worker| {
                    let remote = namespace.namespace().clone();
                    let controller = &controller;
                    scope.spawn(move || controller.block_on(work(remote, pattern, worker, depth, from, until)))
                })
                .collect();
            let mut all = Vec::new();
            for worker in workers {
                all.extend(worker.join().map_err(|_| "a worker panicked")??);
            }
            Ok::<_, Failure>(all)
        })?
    } else {
        runtime(kind)?.block_on(async {
            let controller = Controller::connect(config).await?;
            let namespace = controller.namespace(nsid).await?;
            let pattern = Pattern::of(options, namespace.blocks(), namespace.max_transfer_blocks())?;
            let workers: Vec<_> = (0..depth)
                .map(|worker| tokio::spawn(work(namespace.clone(), pattern, worker, depth, from, until)))
                .collect();
            let mut all = Vec::new();
            for worker in workers {
                all.extend(worker.await??);
            }
            controller.disconnect().await;
            Ok::<_, Failure>(all)
        })?
    };
    latencies.sort_unstable();
    let count = latencies.len();
    let at = |share: f64| {
        let index = ((count as f64 * share) as usize).min(count.saturating_sub(1));
        latencies.get(index).map_or(0.0, |nanos| f64::from(*nanos) / 1000.0)
    };
    let per_second = count as f64 / seconds as f64;
    println!(
        "{{\"rw\":\"{}\",\"bs\":{},\"depth\":{depth},\"queues\":{},\"digests\":\"{}\",\"runtime\":\"{kind}\",\
         \"seconds\":{seconds},\"commands\":{count},\"per_second\":{per_second:.0},\"gb_per_second\":{:.3},\
         \"latency_us\":{{\"min\":{:.1},\"median\":{:.1},\"p90\":{:.1},\"p99\":{:.1},\"p999\":{:.1},\"max\":{:.1}}}}}",
        options.text("rw", "randread"),
        options.number("bs", 4096)?,
        options.number("queues", 1)?,
        options.text("digests", "none"),
        per_second * options.number("bs", 4096)? as f64 / 1e9,
        at(0.0),
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0),
    );
    Ok(())
}

fn idle(options: &Options) -> Result<(), Failure> {
    let (hosts, seconds) = (options.number("hosts", 64)?, options.number("seconds", 10)?);
    runtime("current")?.block_on(async {
        let mut controllers = Vec::new();
        for index in 0..hosts {
            let mut config = options.config()?;
            config.host.nqn = format!("{}-{index}", config.host.nqn);
            config.host.id[0] = index as u8;
            controllers.push(Controller::connect(config).await?);
        }
        let before = processor_ticks()?;
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let ticks = processor_ticks()? - before;
        println!("{{\"hosts\":{hosts},\"seconds\":{seconds},\"processor_ticks\":{ticks}}}");
        for controller in controllers {
            controller.disconnect().await;
        }
        Ok(())
    })
}

/// User and system time of this process, in clock ticks (a hundredth of a second on Linux).
fn processor_ticks() -> Result<u64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<_> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let field = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok()).ok_or("/proc/self/stat");
    Ok(field(11)? + field(12)?)
}
