//! The configuration of a subsystem and of its namespaces.

use super::limits::Limits;
use crate::namespace::Namespace;
use std::{collections::BTreeSet, sync::Arc};

/// The names and limits of a subsystem.
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
