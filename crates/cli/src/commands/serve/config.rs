//! The configuration of a server: the file, the command line over it, and the checks of both.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ciphermill_blockspace::adapter::{Access, BlockSpaceConfig, Rights};
use ciphermill_client::size::Bytes;
use ciphermill_client::store::DeviceSettings;
use ciphermill_device::{DeviceConfig, KeyMemory, SpaceId, SpaceLimits};
use ciphermill_nvme::BLOCK_BYTES;
use ciphermill_nvme::fabrics::DISCOVERY_NQN;
use ciphermill_nvme::server::{HostAccess, Limits, SubsystemConfig, TargetError};
use uuid::Uuid;

use super::Args;
use super::audit::AuditSettings;
use super::file::Subsystem;
use super::file::{self, BlocksSize, File, FileLimits, HostRights, Hosts, Namespace, NamespaceId, Nqn, Quota, Seconds};
use super::logging::{self, LogFormat};
use super::source::{Fault, Source, Whose};
use crate::error::CliError;
use crate::inputs::BackendArg;

/// The default address.
const DEFAULT_LISTEN: &str = "127.0.0.1:4420";
/// The default size of a namespace: 2^28 blocks, 1 TiB. Only written blocks occupy space.
const DEFAULT_SIZE: Bytes = Bytes(1 << 40);
const DEFAULT_GRACE: Duration = Duration::from_secs(20);

/// A namespace as it will be served.
#[derive(Clone, Debug)]
pub(super) struct NamespaceSettings {
    pub(super) nsid: u32,
    pub(super) uuid: Option<Uuid>,
    pub(super) blocks: u64,
    /// The limit for blocks and, separately, for objects, in bytes; the namespace's own, or else the default of new ones.
    pub(super) capacity: Limit,
    /// The limit for the number of objects.
    pub(super) objects: Limit,
    /// Bytes of key memory that other namespaces never take.
    pub(super) key_memory_bytes: Option<u64>,
    pub(super) hosts: HostAccess,
}

/// A limit of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// Its own.
    Own(u64),
    /// That of new namespaces: one that exists keeps its own.
    New(u64),
}

impl Limit {
    fn of(own: Option<u64>, new: u64) -> Self {
        own.map_or(Self::New(new), Self::Own)
    }

    /// The limit of a namespace that has `kept` so far, if it exists.
    pub(super) fn apply(self, kept: Option<u64>) -> u64 {
        match (self, kept) {
            (Self::Own(limit), _) | (Self::New(limit), None) => limit,
            (Self::New(_), Some(kept)) => kept,
        }
    }
}

/// Shares of each host in a namespace; what is not set has the default of the namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HostShares {
    pending_bytes: Option<u64>,
    pending_objects: Option<usize>,
    jobs: Option<usize>,
}

impl HostShares {
    pub(super) fn apply(self, config: &mut BlockSpaceConfig) {
        config.pending_blocks_of_host =
            self.pending_bytes.map_or(config.pending_blocks_of_host, |bytes| bytes / BLOCK_BYTES as u64);
        config.pending_objects_of_host = self.pending_objects.unwrap_or(config.pending_objects_of_host);
        config.device_jobs_of_host = self.jobs.unwrap_or(config.device_jobs_of_host);
    }
}

/// Everything a server needs to know.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) store: PathBuf,
    pub(super) listen: SocketAddr,
    pub(super) metrics: Option<SocketAddr>,
    pub(super) hosts: HostAccess,
    pub(super) access: Access,
    pub(super) shares: HostShares,
    pub(super) audit: Option<AuditSettings>,
    pub(super) device: DeviceSettings,
    pub(super) subsystem: SubsystemConfig,
    pub(super) scrub_every: Option<Duration>,
    pub(super) log_filter: String,
    pub(super) log_format: LogFormat,
    pub(super) namespaces: Vec<NamespaceSettings>,
}

impl Settings {
    /// The file's word, with the command line's over it; refuses what cannot be served safely.
    pub(super) fn new(args: &Args) -> Result<Self, CliError> {
        let source = args.config.as_deref().map(Source::read).transpose()?;
        Self::of(args, source.as_ref()).map_err(CliError::Usage)
    }

    fn of(args: &Args, source: Option<&Source>) -> Result<Self, String> {
        let file = source.map(Source::parse::<File>).transpose()?.unwrap_or_default();
        Self::merge(args, file).map_err(|fault| fault.tell(source))
    }

    fn merge(args: &Args, file: File) -> Result<Self, Fault> {
        let store = args.store.clone().or(file.store);
        let store = store
            .ok_or_else(|| Whose::Nobody.fault("no store: give --store DIR, or `store` in the file of --config"))?;
        let default = SocketAddr::from(([127, 0, 0, 1], 4420));
        debug_assert_eq!(DEFAULT_LISTEN, default.to_string());
        let listen = args.listen.or(file.listen).unwrap_or(default);
        loopback(Whose::of(args.listen.as_ref(), "--listen", "listen"), listen)?;
        let metrics = args.metrics.or(file.metrics);
        if let Some(address) = metrics {
            loopback(Whose::of(args.metrics.as_ref(), "--metrics", "metrics"), address)?;
        }
        let given = match &args.allow_hosts[..] {
            [] => None,
            words => Some(Hosts::from_words(words).map_err(|what| Whose::Line("--allow-host").fault(what))?),
        };
        let Hosts(hosts) = given.or(file.allow_hosts).unwrap_or(Hosts(HostAccess::List(BTreeSet::new())));
        let rights = if args.host_rights.is_empty() { &file.hosts } else { &args.host_rights };
        let (hosts, access) = with_rights(hosts, rights);
        let grace = args.grace.or(file.grace_seconds.map(Seconds::duration)).unwrap_or(DEFAULT_GRACE);
        let hours = args.scrub_hours.or(file.scrub_hours.map(|Seconds(hours)| hours));
        let mut subsystem = subsystem(args, &file.subsystem, &file.limits, grace)?;
        subsystem.advertise = if args.advertise.is_empty() { file.advertise } else { args.advertise.clone() };
        let capacity = args.capacity.or(file.capacity).map_or(SpaceLimits::NEW.bytes, |Quota(bytes)| bytes);
        let objects = args.objects.or(file.objects).unwrap_or(SpaceLimits::NEW.objects);
        let namespaces = namespaces(file.namespaces, &hosts, (capacity, objects))?;
        let audit = audit(args, file.audit)?;
        let shares = HostShares {
            pending_bytes: file.limits.pending_bytes_per_host.map(|Bytes(bytes)| bytes),
            pending_objects: file.limits.pending_objects_per_host,
            jobs: file.limits.jobs_per_host,
        };
        let floors = namespaces.iter().filter_map(|n| Some((SpaceId(n.nsid), n.key_memory_bytes?)));
        let device = DeviceSettings {
            memory: args.options.memory.or(file.memory).map(|Bytes(bytes)| bytes),
            backend: args.options.backend.or(file.backend).unwrap_or(BackendArg::Fft).into(),
            engine: args.options.engine.or(file.engine).unwrap_or_default(),
            max_program_duration: args.options.max_program_seconds.or(file.max_program_seconds.map(Seconds::duration)),
            swap: args.swap.or(file.swap).map(|Bytes(bytes)| bytes),
            swap_of_space: args.swap_per_namespace.or(file.swap_per_namespace).map(|Bytes(bytes)| bytes),
            max_log2_p_fail: args.options.results.max_log2_p_fail.or(file.max_log2_p_fail),
            assume_range: args.options.results.assume_range || file.assume_range.unwrap_or(false),
            max_object_bytes: file.limits.object_bytes.map(|Bytes(bytes)| bytes),
            key_memory: args.options.key_memory.or(file.key_memory).map(|Bytes(bytes)| bytes),
            key_memory_floors: floors.collect(),
            security: args.options.security.or(file.insecure_params.unwrap_or(false)).security(),
        };
        if let Some(bytes) = device.memory.filter(|bytes| *bytes < DeviceConfig::LEAST_MAIN_MEMORY_BYTES) {
            let least = DeviceConfig::LEAST_MAIN_MEMORY_BYTES;
            return Err(Whose::of(args.options.memory.as_ref(), "--memory", "memory")
                .fault(format!("{bytes} bytes, it must be at least one page of {least}")));
        }
        key_memory(&device, Whose::of(args.options.key_memory.as_ref(), "--key-memory", "key-memory"))?;
        let log_filter = args.log.clone().or(file.log.filter).unwrap_or_else(|| "info".to_owned());
        logging::filter(&log_filter).map_err(|what| Whose::of(args.log.as_ref(), "--log", "log.filter").fault(what))?;
        Ok(Self {
            store,
            listen,
            metrics,
            namespaces,
            hosts,
            access,
            shares,
            audit,
            device,
            subsystem,
            scrub_every: hours.map(|hours| Duration::from_secs_f64(hours * 3600.0)),
            log_filter,
            log_format: args.log_format.or(file.log.format).unwrap_or_default(),
        })
    }
}

/// Refuses addresses that other machines can reach, because hosts are not authenticated yet.
fn loopback(whose: Whose, address: SocketAddr) -> Result<(), Fault> {
    if address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    Err(whose.fault(format!(
        "{address} is not a loopback address; hosts are not authenticated yet, so only this machine may reach the \
         server: use 127.0.0.1 or [::1] (and a tunnel with its own authentication from elsewhere)"
    )))
}

/// The hosts that may connect, those with rights among them, and the rights.
fn with_rights(hosts: HostAccess, rights: &[HostRights]) -> (HostAccess, Access) {
    let named = rights.iter().map(|HostRights { nqn: Nqn(nqn), rights }| (nqn.clone(), *rights));
    let access = Access { hosts: named.collect(), others: Rights::default() };
    let hosts = match hosts {
        HostAccess::List(names) => HostAccess::List(names.into_iter().chain(access.hosts.keys().cloned()).collect()),
        HostAccess::Any => HostAccess::Any,
    };
    (hosts, access)
}

/// Where the audit log goes, if anywhere.
fn audit(args: &Args, file: file::Audit) -> Result<Option<AuditSettings>, Fault> {
    let Some(path) = args.audit.clone().or(file.file) else { return Ok(None) };
    let settings = AuditSettings {
        file: path,
        bytes: file.bytes.map_or(AuditSettings::BYTES, |Bytes(bytes)| bytes),
        files: file.files.unwrap_or(AuditSettings::FILES),
        per_second: file.entries_per_second.map_or(AuditSettings::PER_SECOND, |Seconds(number)| number),
    };
    let refuse = |key: &str, what: String| Err(Whose::File(format!("audit.{key}")).fault(what));
    if settings.bytes < AuditSettings::LEAST_BYTES {
        return refuse(
            "bytes",
            format!("{} bytes, it must be at least {}", settings.bytes, AuditSettings::LEAST_BYTES),
        );
    }
    if !(1..=1000).contains(&settings.files) {
        return refuse("files", format!("{} files, it must be 1 to 1000", settings.files));
    }
    Ok(Some(settings))
}

/// Refuses a key memory of nothing, and floors that do not fit into it.
fn key_memory(device: &DeviceSettings, whose: Whose) -> Result<(), Fault> {
    let bytes = device.key_memory.unwrap_or_else(|| KeyMemory::default().bytes);
    let floors = device.key_memory_floors.values().fold(0u64, |sum, &floor| sum.saturating_add(floor));
    match bytes {
        0 => Err(whose.fault("0 bytes, it must be at least 1".to_owned())),
        _ if floors > bytes => {
            let what = "it must be at least the `key-memory` of all namespaces together";
            Err(whose.fault(format!("{bytes} bytes, {what}, {floors}")))
        }
        _ => Ok(()),
    }
}

fn subsystem(args: &Args, file: &Subsystem, limits: &FileLimits, grace: Duration) -> Result<SubsystemConfig, Fault> {
    let mut config = SubsystemConfig::default();
    if let Some(nqn) = &args.nqn {
        config.nqn = Nqn::new(nqn).map_err(|what| Whose::Line("--nqn").fault(what))?.0;
    } else if let Some(Nqn(nqn)) = &file.nqn {
        config.nqn.clone_from(nqn);
    }
    if config.nqn == DISCOVERY_NQN {
        let what = format!("`{DISCOVERY_NQN}` is the name of the discovery subsystem; use another name");
        return Err(Whose::of(args.nqn.as_ref(), "--nqn", "subsystem.nqn").fault(what));
    }
    let bytes = |given: Option<Bytes>, default: usize| {
        // Beyond what memory is addressed by, it is beyond the bound, too.
        given.map_or(default, |Bytes(bytes)| usize::try_from(bytes).unwrap_or(usize::MAX))
    };
    let default = Limits::default();
    config.limits = Limits {
        max_connections: limits.connections.unwrap_or(default.max_connections),
        max_connections_per_host: limits.connections_per_host.unwrap_or(default.max_connections_per_host),
        max_commands_per_host: limits.commands_per_host.unwrap_or(default.max_commands_per_host),
        max_handshakes: limits.handshakes.unwrap_or(default.max_handshakes),
        max_handshakes_per_address: limits.handshakes_per_address.unwrap_or(default.max_handshakes_per_address),
        max_queues: limits.queues.unwrap_or(default.max_queues),
        queue_depth: limits.queue_depth.unwrap_or(default.queue_depth),
        max_transfer_bytes: bytes(limits.transfer_bytes, default.max_transfer_bytes),
        memory_bytes: bytes(limits.buffer_bytes, default.memory_bytes),
        handshake_timeout: limits.handshake_seconds.map_or(default.handshake_timeout, Seconds::duration),
        max_keep_alive: limits.keep_alive_seconds.map_or(default.max_keep_alive, Seconds::duration),
        stop_timeout: grace,
        ..default
    };
    config.limits.check().map_err(|error| limit(&config.limits, &error))?;
    Ok(config)
}

/// A limit of the target in the words of the file.
fn limit(limits: &Limits, error: &TargetError) -> Fault {
    let TargetError::Limit { limit, rule, given } = error else { return Whose::Nobody.fault(error.to_string()) };
    let key = match *limit {
        "max_connections" => "connections",
        "max_connections_per_host" => "connections-per-host",
        "max_commands_per_host" => "commands-per-host",
        "max_handshakes" => "handshakes",
        "max_handshakes_per_address" => "handshakes-per-address",
        "max_queues" => "queues",
        "queue_depth" => "queue-depth",
        "max_transfer_bytes" => "transfer-bytes",
        "memory_bytes" => "buffer-bytes",
        "max_keep_alive" => "keep-alive-seconds",
        // No key sets it.
        _ => return Whose::Nobody.fault(error.to_string()),
    };
    let rule = match key {
        "buffer-bytes" => format!(
            "at least `connections` times the share of a connection with these `transfer-bytes`: {} times {} bytes",
            limits.max_connections,
            limits.share_bytes()
        ),
        _ => (*rule).to_owned(),
    };
    Whose::File(format!("limits.{key}")).fault(format!("it is {given}, it must be {rule}"))
}

/// The namespaces of the file, or the default namespace if it has none.
fn namespaces(
    file: Vec<Namespace>,
    hosts: &HostAccess,
    (new_capacity, new_objects): (u64, u64),
) -> Result<Vec<NamespaceSettings>, Fault> {
    let mut all: Vec<NamespaceSettings> = Vec::new();
    for Namespace { id: NamespaceId(nsid), uuid, size, capacity, objects, key_memory, hosts: own } in file {
        let at = |key: &str| Whose::File(format!("namespace.{}.{key}", all.len()));
        if all.iter().any(|other| other.nsid == nsid) {
            return Err(at("id").fault(format!("there are two namespaces with `id = {nsid}`")));
        }
        if let Some(uuid) = uuid.filter(|uuid| uuid.is_nil() || all.iter().any(|other| other.uuid == Some(*uuid))) {
            return Err(
                at("uuid").fault(format!("{uuid} is nil or another namespace's; give namespace {nsid} a unique UUID"))
            );
        }
        let Bytes(bytes) = size.map_or(DEFAULT_SIZE, |BlocksSize(bytes)| bytes);
        all.push(NamespaceSettings {
            nsid,
            uuid,
            blocks: bytes / BLOCK_BYTES as u64,
            capacity: Limit::of(capacity.map(|Quota(bytes)| bytes), new_capacity),
            objects: Limit::of(objects, new_objects),
            key_memory_bytes: key_memory.map(|Bytes(bytes)| bytes),
            hosts: own.map_or_else(|| hosts.clone(), |Hosts(own)| own),
        });
    }
    if all.is_empty() {
        let blocks = DEFAULT_SIZE.0 / BLOCK_BYTES as u64;
        all.push(NamespaceSettings {
            nsid: 1,
            uuid: None,
            blocks,
            capacity: Limit::New(new_capacity),
            objects: Limit::New(new_objects),
            key_memory_bytes: None,
            hosts: hosts.clone(),
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::path::Path;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn merged(line: &[&str], text: &str) -> Result<Settings, String> {
        let line = Line::try_parse_from(std::iter::once(&"serve").chain(line)).expect("a command line");
        let source = Source { path: "c.toml".into(), text: text.to_owned() };
        Settings::of(&line.args, Some(&source))
    }

    const HOST: &str = "nqn.2026-01.org.example:host";
    const OTHER: &str = "nqn.2026-01.org.example:other";

    #[test]
    fn a_namespace_that_exists_keeps_its_quota_unless_it_is_configured() {
        assert_eq!((Limit::New(7).apply(None), Limit::New(7).apply(Some(u64::MAX))), (7, u64::MAX));
        assert_eq!((Limit::Own(9).apply(None), Limit::Own(9).apply(Some(7))), (9, 9));
    }

    #[test]
    fn a_file_says_everything_that_a_command_line_says() {
        let line =
            ["--store=d", "--listen=[::1]:5", "--metrics=127.0.0.2:6", "--memory=1M", "--key-memory=2M", "--log=debug"];
        let rights = format!("{OTHER}=read,write,owner-only");
        let line = [&line[..], &["--allow-host", HOST, "--grace=2.5", "--nqn", HOST, "--scrub-hours=2"]].concat();
        let more = ["--swap=1G", "--swap-per-namespace=3M", "--capacity=unlimited", "--objects=7", "--audit=a.jsonl"];
        let line = [&line[..], &more, &["--advertise=192.0.2.1:4420", "--host-rights", &rights]].concat();
        let line = [&line[..], &["--max-log2-p-fail=-80", "--assume-range"]].concat();
        let text = format!(
            "store='d'\nlisten='[::1]:5'\nmetrics='127.0.0.2:6'\nmemory='1M'\nkey-memory='2M'\nlog.filter='debug'\nallow-hosts=['{HOST}']\n\
             grace-seconds=2.5\nsubsystem.nqn='{HOST}'\nscrub-hours=2\nmax-log2-p-fail=-80\nassume-range=true\nswap='1G'\nswap-per-namespace='3M'\n\
             capacity='unlimited'\nobjects=7\naudit.file='a.jsonl'\nadvertise=['192.0.2.1:4420']\n\
             [[host]]\nnqn='{OTHER}'\nrights=['read', 'write', 'owner-only']"
        );
        let (by_line, by_file) = (merged(&line, "").expect("good"), merged(&[], &text).expect("good"));
        assert_eq!(format!("{by_line:?}"), format!("{by_file:?}"));
        assert_eq!(by_file.hosts, HostAccess::List(BTreeSet::from([HOST.to_owned(), OTHER.to_owned()])));
        assert_eq!(by_file.access.of(OTHER), Rights { program: false, owner_only: true, ..Rights::default() });
        assert_eq!(by_file.access.of(HOST), Rights::default());
        assert_eq!(by_file.namespaces[0].capacity, Limit::New(u64::MAX));
        assert_eq!(by_file.subsystem.limits.stop_timeout, Duration::from_millis(2500));
        assert_eq!((by_file.device.max_log2_p_fail, by_file.device.assume_range), (Some(-80.0), true));
        let refused = merged(&["--store=d"], "max-log2-p-fail=0.5").expect_err("above 1");
        assert!(refused.contains("max-log2-p-fail") && refused.contains("use -1000 to 0"), "{refused}");
    }

    #[test]
    fn the_command_line_wins() {
        let text = "store='file'\nlisten='127.0.0.1:1'\nmemory=1048576\nallow-hosts='any'\nlog.format='json'";
        let settings = merged(&["--store=line", "--memory=2M", "--allow-host", HOST, "--log-format=text"], text);
        let settings = settings.expect("good");
        assert_eq!(settings.store, Path::new("line"));
        assert_eq!(settings.listen.port(), 1);
        assert_eq!(settings.device.memory, Some(2 << 20));
        assert_eq!(settings.hosts, HostAccess::List(BTreeSet::from([HOST.to_owned()])));
        assert_eq!(settings.log_format, LogFormat::Text);
    }

    #[test]
    fn nobody_is_let_in_by_default() {
        let settings = merged(&["--store=d"], "").expect("good");
        assert_eq!(settings.hosts, HostAccess::List(BTreeSet::new()));
        assert_eq!(settings.listen.to_string(), DEFAULT_LISTEN);
        assert_eq!(settings.metrics, None);
        let [namespace] = &settings.namespaces[..] else { panic!("{:?}", settings.namespaces) };
        assert_eq!((namespace.nsid, namespace.blocks), (1, 1 << 28));
        assert_eq!(namespace.hosts, settings.hosts);
    }

    #[test]
    fn namespaces_are_read() {
        let text = format!(
            "store='d'\nallow-hosts='any'\n[[namespace]]\nid=3\nuuid='00000000-0000-0000-0000-000000000007'\nsize='1G'\n\
             capacity='10M'\nobjects=5\nkey-memory='1K'\nhosts=['{HOST}']\n[[namespace]]\nid=4"
        );
        let settings = merged(&[], &text).expect("good");
        let [first, second] = &settings.namespaces[..] else { panic!("two") };
        assert_eq!((first.nsid, first.uuid, first.blocks), (3, Some(Uuid::from_u128(7)), 1 << 18));
        assert_eq!((first.capacity, first.objects), (Limit::Own(10 << 20), Limit::Own(5)));
        assert_eq!((second.capacity, second.objects), (Limit::New(64 << 30), Limit::New(1 << 16)));
        assert_eq!(first.hosts, HostAccess::List(BTreeSet::from([HOST.to_owned()])));
        assert_eq!((second.nsid, &second.hosts), (4, &HostAccess::Any));
        assert_eq!(settings.device.key_memory_floors, [(SpaceId(3), 1024)].into());
    }

    #[test]
    fn an_error_names_line_and_key() {
        let two = "[[namespace]]\nid=1\n[[namespace]]\nid=1";
        for (text, words) in [
            ("store='d'\nlisten='here'", &["line 2, `listen`", "`here` is not a socket address", "127.0.0.1:4420"][..]),
            ("store='d'\nlisten='0.0.0.0:4420'", &["line 2, `listen`: 0.0.0.0:4420", "not authenticated", "127.0.0.1"]),
            ("store='d'\nmetrics='192.0.2.1:9420'", &["line 2, `metrics`: 192.0.2.1:9420"]),
            ("store='d'\nmemory=1", &["line 2, `memory`: 1 bytes", "4096"]),
            ("store='d'\nkey-memory=0", &["line 2, `key-memory`: 0 bytes", "at least 1"]),
            (
                "store='d'\nkey-memory='1K'\n[[namespace]]\nid=1\nkey-memory='2K'",
                &["line 2, `key-memory`: 1024 bytes", "all namespaces together, 2048"],
            ),
            ("store='d'\n[log]\nfilter='a=b=c'", &["line 3, `log.filter`", "`a=b=c`"]),
            ("store='d'\nlog.filter='a=b=c'", &["line 2, `log.filter`"]),
            ("store='d'\n[limits]\nconnections=0", &["line 3, `limits.connections`: it is 0", "at least 1"]),
            ("store='d'\n[limits]\ntransfer-bytes='3M'", &["line 3, `limits.transfer-bytes`: it is 3145728", "power"]),
            ("store='d'\nlimits = { queue-depth = 8 }", &["line 2, `limits.queue-depth`: it is 8", "32 to"]),
            (
                "store='d'\n[limits]\nconnections=100000",
                &["`limits.buffer-bytes`, which is not set: it is 536870912", "100000 times"],
            ),
            (
                "store='d'\nsubsystem.nqn='nqn.2014-08.org.nvmexpress.discovery'",
                &["line 2, `subsystem.nqn`", "discovery subsystem"],
            ),
            (
                "store='d'\n[[namespace]]\nid=1\nuuid='00000000-0000-0000-0000-000000000000'",
                &["line 4, `namespace.uuid`", "nil"],
            ),
            ("stor='d'", &["line 1, `stor`", "unknown field", "store"]),
            ("store='d'\nmemory='256MB'", &["line 2, `memory`", "256MB", "powers of 1024"]),
            ("store='d'\nallow-hosts='nqn'", &["line 2, `allow-hosts`", "list"]),
            ("store='d'\nallow-hosts=['any','x']", &["line 2, `allow-hosts`", "alone"]),
            ("store='d'\nallow-hosts=['host']", &["line 2, `allow-hosts`", "`host` is not an NVMe qualified name"]),
            ("store='d'\ngrace-seconds=-1", &["line 2, `grace-seconds`", "above 0"]),
            ("store='d'\n[log]\nformat='xml'", &["line 3, `format`", "text", "json"]),
            ("store='d'\n[[namespace]]\nid=0", &["line 3, `id`", "1 to 4294967294"]),
            ("store='d'\n[[namespace]]\nid=1\nsize='3G'", &["line 4, `size`", "power of two"]),
            ("store='d'\n[[namespace]]\nsize='1G'", &["line 2", "missing field `id`"]),
            ("store='d'\n[limits]\nqueue-depth=70000", &["line 3, `queue-depth`", "70000"]),
            ("store='d'\n= 1", &["line 2"]),
            (&format!("store='d'\n{two}"), &["line 5, `namespace.id`: there are two namespaces with `id = 1`"]),
            ("store='d'\n[audit]\nfile='a'\nfiles=0", &["line 4, `audit.files`: 0 files", "1 to 1000"]),
            ("store='d'\n[audit]\nfile='a'\nbytes=1", &["line 4, `audit.bytes`: 1 bytes", "4096"]),
            ("store='d'\ncapacity='x'", &["line 2, `capacity`", "unlimited"]),
            ("store='d'\nadvertise=['x']", &["line 2, `advertise`", "`x` is not a socket address"]),
            ("store='d'\n[[host]]\nnqn='nqn.2026-01.a:b'\nrights=['rad']", &["`rad` is not a right", "owner-only"]),
            ("store='d'\n[[host]]\nnqn='nqn.2026-01.a:b'\nrights=['read','program']", &["`program` needs `write`"]),
            ("store='d'\n[[host]]\nnqn='nqn.2026-01.a:b'\nrights=[]", &["the list of rights is empty"]),
            (
                "store='d'\n[limits]\nhandshakes-per-address=0",
                &["line 3, `limits.handshakes-per-address`", "at least 1"],
            ),
            ("", &["no store", "--store"]),
        ] {
            let error = merged(&[], text).expect_err(text);
            for word in words {
                assert!(error.contains(word), "`{word}` is not in: {error}");
            }
            assert!(text.is_empty() || error.starts_with("c.toml: "), "{error}");
        }
    }

    #[test]
    fn what_the_command_line_says_is_not_said_of_the_file() {
        let text = "store='d'\nlisten='127.0.0.1:1'\nmemory='1M'\nlog.filter='info'";
        for (option, words) in [
            ("--listen=0.0.0.0:1", "--listen: 0.0.0.0:1 is not"),
            ("--metrics=0.0.0.0:1", "--metrics: "),
            ("--memory=1", "--memory: 1 bytes"),
            ("--key-memory=0", "--key-memory: 0 bytes"),
            ("--log=a=b=c", "--log: "),
            ("--nqn=a", "--nqn: `a`"),
            ("--allow-host=a", "--allow-host: `a`"),
        ] {
            let error = merged(&[option], text).expect_err(option);
            assert!(error.starts_with(words), "{error}");
        }
    }
}
