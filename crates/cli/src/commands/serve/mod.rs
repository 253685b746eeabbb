//! `serve`: the device of a store as an NVMe/TCP target.

pub(super) mod admin;
mod audit;
mod config;
mod exposition;
mod file;
mod http;
mod identity;
mod logging;
mod notify;
mod pace;
mod scrubber;
mod source;

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ciphermill_blockspace::adapter::{AuditSink, BlockSpace, BlockSpaceConfig};
use ciphermill_blockspace::volume::{Volume, VolumeConfig};
use ciphermill_client::size::Bytes;
use ciphermill_device::store::{SpaceId, SpaceLimits};
use ciphermill_device::{Device, DeviceError, StoreError};
use ciphermill_nvme::BLOCK_BYTES;
use ciphermill_nvme::server::{HostAccess, NamespaceConfig, Subsystem, Target};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle, Runtime};
use uuid::Uuid;

use self::admin::Admin;
use self::audit::{AuditCounters, AuditLog};
use self::config::{NamespaceSettings, Settings};
use self::exposition::Exposition;
use self::file::{HostRights, Quota};
use self::http::{Endpoint, Page};
use self::identity::Identity;
use self::logging::LogFormat;
use self::scrubber::Scrubber;
use crate::device_args::{self, DeviceArgs, Override, seconds};
use crate::error::CliError;
use crate::output;
use crate::signals::Signals;

/// Serve the device of a store to NVMe/TCP hosts of this machine
///
/// Namespace N is space N of the device. Only hosts named by --allow-host may connect; by default there are none. On
/// SIGTERM or SIGINT, the server finishes the commands in progress and exits with 0. A second signal ends it at once.
/// Acknowledged writes are always durable. docs/server.md is the operator's page.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill serve --store s --allow-host nqn.2026-01.io.github.ciphermill:host
  $ ciphermill serve --config /etc/ciphermill.toml --metrics 127.0.0.1:9420")]
pub(crate) struct Args {
    /// Directory of the store, made if it does not exist; one process at a time may have it open
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Loopback address to listen on; port 0 selects a free port [default: 127.0.0.1:4420]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, help_heading = "Addresses")]
    listen: Option<SocketAddr>,
    /// Name of a host that may connect; may be repeated. `any` allows every host that reaches the address
    #[arg(long = "allow-host", value_name = "NQN", help_heading = "Hosts")]
    allow_hosts: Vec<String>,
    /// Rights of a host that may connect, as NQN=read,write,program,owner-only; may be repeated. A host without rights named
    /// here has all. `owner-only` limits a host to the objects that it created
    #[arg(long = "host-rights", value_name = "NQN=RIGHT,…", help_heading = "Hosts")]
    host_rights: Vec<HostRights>,
    /// Address that discovery reports, where hosts reach the server by another address than its own; may be repeated
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, help_heading = "Addresses")]
    advertise: Vec<SocketAddr>,
    /// Quota of new namespaces, for blocks and separately for objects: bytes, or `unlimited` [default: 64G]
    #[arg(long, value_name = "BYTES", help_heading = "Namespaces")]
    capacity: Option<Quota>,
    /// Quota of new namespaces in objects [default: 65536]
    #[arg(long, value_name = "NUMBER", help_heading = "Namespaces")]
    objects: Option<u64>,
    /// Size limit of the swap area [default: 16G]
    #[arg(long, value_name = "BYTES", help_heading = "Namespaces")]
    swap: Option<Bytes>,
    /// Bytes of one namespace's ciphertexts in main memory and the swap area together [default: half of --swap]
    #[arg(long, value_name = "BYTES", help_heading = "Namespaces")]
    swap_per_namespace: Option<Bytes>,
    /// File of the audit log, a JSON object a line; rotated, private to the server's user [default: none]
    #[arg(long, value_name = "FILE", help_heading = "Hosts")]
    audit: Option<PathBuf>,
    /// Loopback address for /metrics (Prometheus) and /healthz
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, help_heading = "Addresses")]
    metrics: Option<SocketAddr>,
    /// Configuration file (TOML); options on the command line take precedence
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Name of the subsystem [default: nqn.2026-01.io.github.ciphermill:device]
    #[arg(long, value_name = "NQN", help_heading = "Addresses")]
    nqn: Option<String>,
    #[command(flatten, next_help_heading = "Device")]
    options: DeviceArgs,
    /// Time limit for commands in progress after a signal [default: 20]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true, help_heading = "Operation")]
    grace: Option<Duration>,
    /// Hours between verifications of everything stored [default: never]
    #[arg(long, value_name = "HOURS", value_parser = hours, allow_negative_numbers = true, help_heading = "Operation")]
    scrub_hours: Option<f64>,
    /// Log filter: a level, or directives such as info,ciphermill_nvme=debug [default: info]
    #[arg(long, value_name = "FILTER", help_heading = "Operation")]
    log: Option<String>,
    /// Format of the log [default: text]
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Operation")]
    log_format: Option<LogFormat>,
    /// Print addresses, subsystem and namespaces as one line of JSON
    #[arg(long)]
    json: bool,
}

fn hours(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(hours) if hours > 0.0 && hours <= 1e6 => Ok(hours),
        _ => Err("not a number of hours; use a number above 0 and up to 10^6".to_owned()),
    }
}

/// Where to listen: no name is looked up.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!("`{text}` is not a socket address: write a number and a port, as 127.0.0.1:4420 or [::1]:4420")
    })
}

/// The report on standard output once hosts can connect.
#[derive(Serialize)]
struct Started<'a> {
    listening: SocketAddr,
    metrics: Option<SocketAddr>,
    subsystem: &'a str,
    namespaces: Vec<StartedNamespace>,
}

#[derive(Clone, Serialize)]
struct StartedNamespace {
    id: u32,
    uuid: String,
    blocks: u64,
    /// The name of its block device on a Linux host, which does not depend on the order of namespaces.
    device: String,
}

impl StartedNamespace {
    fn new(id: u32, uuid: Uuid, blocks: u64) -> Self {
        Self { id, uuid: uuid.to_string(), blocks, device: format!("/dev/disk/by-id/nvme-uuid.{uuid}") }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let settings = Settings::new(args)?;
    logging::start(&settings.log_filter, settings.log_format)?;
    let runtime = Builder::new_multi_thread().thread_name("ciphermill-serve").enable_all().build();
    let runtime = runtime.map_err(|error| CliError::Server(format!("cannot start the server's threads: {error}")))?;
    let served = serve(args, &settings, &runtime);
    // Jobs that outlast the grace period must not keep the process: what they were to store was not acknowledged.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served?;
    tracing::info!("stopped");
    Ok(())
}

fn serve(args: &Args, settings: &Settings, runtime: &Runtime) -> Result<(), CliError> {
    // Caught from the start, so that a signal while keys are loaded is no kill.
    let mut signals = runtime.block_on(async { Signals::new() })?;
    // Before the store is made or changed: an address in use is the most likely mistake.
    let (listener, endpoint) = runtime.block_on(async {
        let listener = TcpListener::bind(settings.listen).await.map_err(|error| {
            let in_use = error.kind() == io::ErrorKind::AddrInUse;
            let hint = if in_use { "; another server has it: give another port by --listen" } else { "" };
            CliError::Server(format!("cannot listen on {}: {error}{hint}", settings.listen))
        })?;
        let endpoint = match settings.metrics {
            Some(address) => Some(Endpoint::bind(address).await?),
            None => None,
        };
        Ok::<_, CliError>((listener, endpoint))
    })?;
    let server = Server::open(settings, runtime.handle())?;
    let stopped = runtime.block_on(async {
        let target = Target::on(listener, Arc::clone(&server.subsystem));
        let target = target.map_err(|error| CliError::Server(error.to_string()))?;
        server.announce(args.json, target.local_addr(), endpoint.as_ref().map(|endpoint| endpoint.address))?;
        let page: Arc<dyn Page> = Arc::new(server.board.clone());
        let metrics = async move {
            match endpoint {
                Some(endpoint) => endpoint.serve(page).await,
                None => pending().await,
            }
        };
        let metrics = tokio::spawn(async move {
            metrics.await;
        });
        let shutdown = async {
            let name = signals.next().await.name();
            tracing::info!(signal = name, "stopping; commands in progress may finish");
            notify::tell("STOPPING=1");
            tokio::spawn(async move {
                let name = signals.next().await.name();
                tracing::warn!(signal = name, "second signal: ending at once");
                process::exit(1);
            });
        };
        let served = target.serve(shutdown).await;
        metrics.abort();
        served.map_err(|error| CliError::Server(error.to_string()))
    });
    // Stops the scrubbing thread and lets go of device and volume, which make durable what they were given.
    drop(server);
    stopped
}

/// The sources of the metrics.
#[derive(Clone)]
struct Board {
    device: Device,
    volume: Volume,
    subsystem: Arc<Subsystem>,
    namespaces: Vec<Arc<BlockSpace>>,
    scrub: Arc<scrubber::State>,
    audit: Option<AuditCounters>,
    started: f64,
}

/// A device, its blocks, and the subsystem that shows them.
struct Server {
    // Dropped first: they use the others.
    _admin: Option<Admin>,
    _scrubber: Option<Scrubber>,
    board: Board,
    subsystem: Arc<Subsystem>,
    namespaces: Vec<StartedNamespace>,
    // Dropped last, so that it has the entries of all namespaces.
    _audit: Option<AuditLog>,
}

impl Server {
    fn open(settings: &Settings, runtime: &Handle) -> Result<Self, CliError> {
        if let Some(found) = Override::of(&settings.device) {
            tracing::warn!("override: {found}");
        }
        let is_new = ciphermill_blockspace::backup::require_store(&settings.store).is_err();
        let device = device_args::open(&settings.store, &settings.device)?;
        let place = std::path::absolute(&settings.store).unwrap_or_else(|_| settings.store.clone());
        let what = if is_new { "a new store was made" } else { "the store is open" };
        tracing::info!(store = %place.display(), "{what}");
        let volume = Volume::open_directory(&settings.store, VolumeConfig::default())?;
        let mut identity = Identity::load(&settings.store)?;
        let audit = settings.audit.clone().map(AuditLog::start).transpose()?;
        let sink = audit.as_ref().and_then(AuditLog::sink);
        let (mut spaces, mut configs, mut started) = (Vec::new(), Vec::new(), Vec::new());
        for namespace in &settings.namespaces {
            let space = namespace_of(settings, namespace, &device, &volume, (runtime, sink.clone()))?;
            let uuid = identity.uuid(namespace.nsid, namespace.uuid);
            configs.push(NamespaceConfig {
                nsid: namespace.nsid,
                uuid: uuid.into_bytes(),
                hosts: namespace.hosts.clone(),
                namespace: Arc::clone(&space) as _,
            });
            started.push(StartedNamespace::new(namespace.nsid, uuid, namespace.blocks));
            spaces.push(space);
        }
        identity.save(&settings.store)?;
        let mut subsystem = settings.subsystem.clone();
        subsystem.serial.clone_from(&identity.serial);
        // The addresses change between two starts only. docs/server.md has the limits of the clock.
        subsystem.generation = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs());
        let subsystem = Subsystem::new(subsystem, settings.hosts.clone(), configs);
        let subsystem = subsystem.map_err(|error| CliError::Usage(error.to_string()))?;
        let scrub = Arc::new(scrubber::State::default());
        let scrubber = settings
            .scrub_every
            .map(|every| Scrubber::start(Arc::clone(&scrub), every, device.clone(), volume.clone()));
        let admin = Admin::start(&settings.store, device.clone(), volume.clone(), runtime);
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        let board = Board {
            device,
            volume,
            subsystem: Arc::clone(&subsystem),
            namespaces: spaces,
            scrub,
            audit: audit.as_ref().map(AuditLog::counters),
            started: begun,
        };
        if settings.hosts == HostAccess::List(std::collections::BTreeSet::new()) {
            tracing::warn!("no host is allowed to connect; name them with --allow-host");
        }
        if settings.hosts == HostAccess::Any {
            tracing::warn!(
                "`--allow-host any`: all hosts of this machine have one share of every resource, and one of them can use \
                 it up; name the hosts to give each its own"
            );
        }
        Ok(Self {
            _admin: admin,
            _scrubber: scrubber.transpose()?,
            board,
            subsystem,
            namespaces: started,
            _audit: audit,
        })
    }

    /// Reports that hosts can connect.
    fn announce(&self, json: bool, listening: SocketAddr, metrics: Option<SocketAddr>) -> Result<(), CliError> {
        let subsystem = self.subsystem.nqn();
        tracing::info!(%listening, metrics = metrics.map(|address| address.to_string()), subsystem, "ready");
        for StartedNamespace { id, uuid, blocks, .. } in &self.namespaces {
            tracing::info!(id, uuid, blocks, "namespace");
        }
        if json {
            let started = Started { listening, metrics, subsystem, namespaces: self.namespaces.clone() };
            let line = serde_json::to_string(&started).map_err(|error| CliError::Output(error.into()))?;
            output::line(&line)?;
        } else {
            let mut lines = vec![format!("listening on {listening}")];
            lines.extend(metrics.map(|address| format!("metrics on {address}")));
            let namespaces = self.namespaces.iter();
            lines.extend(namespaces.map(|n| format!("namespace {} is {} on Linux hosts", n.id, n.device)));
            // At once: a reader of the first line alone may have gone before a second write.
            output::line(&lines.join("\n"))?;
        }
        notify::tell("READY=1");
        Ok(())
    }
}

/// Opens a namespace: its space of the device, made if it does not exist, and the space of the same number in the volume. A
/// new space has quotas; one that exists keeps those that it has, unless they are configured.
fn namespace_of(
    settings: &Settings,
    namespace: &NamespaceSettings,
    device: &Device,
    volume: &Volume,
    (runtime, sink): (&Handle, Option<Arc<dyn AuditSink>>),
) -> Result<Arc<BlockSpace>, CliError> {
    let space = SpaceId(namespace.nsid);
    let kept = match device.space(space) {
        Ok(found) => Some(found.usage().0),
        Err(DeviceError::Store(StoreError::NoSuchSpace { .. })) => None,
        Err(error) => return Err(error.into()),
    };
    let wanted = SpaceLimits {
        bytes: namespace.capacity.apply(kept.map(|kept| kept.bytes)),
        objects: namespace.objects.apply(kept.map(|kept| kept.objects)),
    };
    if kept != Some(wanted) {
        drop(device.create_space(space, wanted)?);
    }
    if wanted.bytes == u64::MAX || wanted.objects == u64::MAX {
        let what = "the namespace has no quota in bytes or objects; set `capacity` and `objects`";
        tracing::warn!(namespace = namespace.nsid, what);
    }
    let mut config = BlockSpaceConfig::new(namespace.blocks.ilog2());
    if wanted.bytes < u64::MAX {
        config.capacity = config.capacity.min(wanted.bytes / BLOCK_BYTES as u64);
    }
    settings.shares.apply(&mut config);
    config.access = settings.access.clone();
    BlockSpace::open_with(device, space, volume.clone(), config, runtime.clone(), sink)
        .map_err(|error| CliError::Server(format!("namespace {}: {error}", namespace.nsid)))
}

impl Page for Board {
    fn metrics(&self) -> String {
        let mut out = Exposition::default();
        let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
        out.labelled("gauge", "ciphermill_build_info", "The version that runs.", [(version, 1)]);
        let help = "When the server started, in seconds since 1970.";
        out.gauge("ciphermill_start_time_seconds", help, self.started);
        if let Some(bytes) = exposition::resident_bytes() {
            out.gauge("ciphermill_resident_memory_bytes", "Memory of the process that is resident.", bytes);
        }
        exposition::target(&mut out, &self.subsystem.metrics());
        exposition::namespaces(&mut out, &self.namespaces);
        let spaces: Vec<_> = self.namespaces.iter().map(|space| space.space().0).collect();
        exposition::volume(&mut out, &self.volume, &spaces);
        self.scrub.metrics(&mut out);
        if let Some(audit) = &self.audit {
            audit.metrics(&mut out);
        }
        out.append(&self.device.metrics().to_prometheus());
        out.into_text()
    }

    fn trouble(&self) -> Option<String> {
        let failed = self.volume.is_failed() || self.device.metrics().store_failed;
        failed.then(|| "the store cannot make writes durable: reads go on, writes fail until a restart".to_owned())
    }
}
