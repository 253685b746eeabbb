//! The configuration of a subsystem and of its namespaces.

use super::limits::Limits;
use crate::namespace::Namespace;
use std::{collections::BTreeSet, sync::Arc};

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
}
