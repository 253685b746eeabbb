//! The configuration of a subsystem and of its namespaces.

use super::limits::Limits;
use crate::namespace::{Geometry, Namespace, Properties};
use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// The names and limits of a subsystem.
///
/// # Example
/// ```
/// use ciphermill_nvme::server::SubsystemConfig;
///
/// let config = SubsystemConfig { serial: "0042".into(), ..SubsystemConfig::default() };
/// assert_eq!((config.model.as_str(), config.limits.queue_depth), ("Ciphermill", 128));
/// ```
#[derive(Clone, Debug)]
pub struct SubsystemConfig {
    /// Its qualified name.
    pub nqn: String,
    /// Serial number, at most 20 characters of ASCII.
    pub serial: String,
    /// Model, at most 40.
    pub model: String,
    /// Firmware revision, at most 8.
    pub firmware: String,
    /// The addresses that discovery reports. Without any, it reports the address at which the host reached the target: of no
    /// use behind a forwarded port.
    pub advertise: Vec<SocketAddr>,
    /// The generation of the discovery log page; greater after each change of the addresses or the name.
    pub generation: u64,
    /// Its limits.
    pub limits: Limits,
}

impl Default for SubsystemConfig {
    fn default() -> Self {
        Self {
            nqn: "nqn.2026-01.io.github.ciphermill:device".into(),
            serial: "CM0000000001".into(),
            model: "Ciphermill".into(),
            firmware: env!("CARGO_PKG_VERSION").into(),
            advertise: Vec::new(),
            generation: 1,
            limits: Limits::default(),
        }
    }
}

/// The hosts that have access.
///
/// # Example
/// ```
/// use ciphermill_nvme::server::HostAccess;
/// use std::collections::BTreeSet;
///
/// let one = HostAccess::List(BTreeSet::from(["nqn.2026-01.example:one".to_owned()]));
/// assert!(one.allows("nqn.2026-01.example:one") && !one.allows("nqn.2026-01.example:two"));
/// assert!(HostAccess::Any.allows("nqn.2026-01.example:two"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostAccess {
    /// Every host.
    Any,
    /// The hosts with these names.
    List(BTreeSet<String>),
}

impl HostAccess {
    /// Whether this host has access.
    #[must_use]
    pub fn allows(&self, nqn: &str) -> bool {
        match self {
            Self::Any => true,
            Self::List(names) => names.contains(nqn),
        }
    }
}

/// A namespace as hosts see it.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let namespace = Arc::new(Ram(Mutex::new(vec![0; 64 * BLOCK_BYTES])));
/// let config = NamespaceConfig { nsid: 1, uuid: [7; 16], hosts: HostAccess::Any, namespace };
/// // The identifier 1 is in use already.
/// let twice = vec![config.clone(), NamespaceConfig { uuid: [8; 16], ..config }];
/// let refused = Subsystem::new(SubsystemConfig::default(), HostAccess::Any, twice);
/// assert!(matches!(refused, Err(TargetError::Namespace { nsid: 1, .. })));
/// ```
#[derive(Clone, Debug)]
pub struct NamespaceConfig {
    /// Its identifier, 1 to `0xffff_fffe`.
    pub nsid: u32,
    /// Its UUID, also its NGUID; not all zeros, unique within the subsystem.
    pub uuid: [u8; 16],
    /// The hosts that may see it.
    pub hosts: HostAccess,
    /// The storage of its blocks.
    pub namespace: Arc<dyn Namespace>,
}

/// A namespace with what never changes about it.
#[derive(Debug)]
pub(crate) struct Offered {
    pub(crate) config: NamespaceConfig,
    /// Blocks that have an address.
    pub(crate) size: u64,
    pub(crate) properties: Properties,
    /// Whether its capacity was nearly used up when that was last looked at.
    full: AtomicBool,
}

/// Percent of a namespace's capacity from which on it counts as nearly used up, and below which it does not any more.
pub(crate) const FULL_PERCENT: u64 = 90;
const FREE_PERCENT: u64 = 85;

impl Offered {
    pub(crate) fn new(config: NamespaceConfig) -> Self {
        let (size, properties) = (config.namespace.geometry().size, config.namespace.properties());
        Self { config, size, properties, full: AtomicBool::new(false) }
    }

    /// Percent of the capacity in use, rounded down.
    pub(crate) fn used_percent(&self) -> u64 {
        let Geometry { capacity, used, .. } = self.config.namespace.geometry();
        let percent = u128::from(used) * 100 / u128::from(capacity.max(1));
        percent.min(100) as u64
    }

    /// Whether its capacity was nearly used up since the last look.
    pub(crate) fn has_filled_up(&self) -> bool {
        let percent = self.used_percent();
        let full = percent >= FULL_PERCENT || percent >= FREE_PERCENT && self.full.load(Relaxed);
        !self.full.swap(full, Relaxed) && full
    }
}
