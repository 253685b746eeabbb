//! The address of a served device, and the host's identity.

use super::NvmeError;
use ciphermill_nvme::{
    Host,
    initiator::{InitiatorConfig, discover},
    log::SubsystemKind,
    pdu::Digests,
};
use std::time::Duration;

/// The name by which a host calls itself when it is given no other.
pub const DEFAULT_HOST_NQN: &str = "nqn.2026-01.io.github.ciphermill:host";

/// The time that each step of asking for subsystems has.
const DISCOVERY_TIME: Duration = Duration::from_secs(5);

/// How to reach a namespace of a served device.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let config = NvmeConfig { namespace: 2, ..NvmeConfig::new("storage.example:4420") };
/// assert_eq!((config.host.as_str(), config.in_flight), (DEFAULT_HOST_NQN, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmeConfig {
    /// The target, as `host:port`.
    pub address: String,
    /// Name of the subsystem; `None`: the only one that the target offers this host.
    pub subsystem: Option<String>,
    /// The name of this host.
    pub host: String,
    /// Number of the namespace.
    pub namespace: u32,
    /// Digests on the connections.
    pub digests: Digests,
    /// The time that one command has: a write or a read may wait for a program, and for its turn before that.
    pub command_timeout: Duration,
    /// How long to try to establish a lost connection again.
    pub give_up_after: Duration,
    /// Pieces of a blob that are on their way at one time, in each call; it holds one more, which is being filled or put
    /// out.
    pub in_flight: usize,
}

impl NvmeConfig {
    /// Namespace 1 of the only subsystem at `address`, as [`DEFAULT_HOST_NQN`]; 2 minutes for a command, 30 s for a lost
    /// connection, 4 pieces on their way.
    #[must_use]
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            subsystem: None,
            host: DEFAULT_HOST_NQN.to_owned(),
            namespace: 1,
            digests: Digests::default(),
            command_timeout: Duration::from_secs(120),
            give_up_after: Duration::from_secs(30),
            in_flight: 4,
        }
    }

    pub(super) async fn initiator(self) -> Result<InitiatorConfig, NvmeError> {
        // Fresh for each transport: what a host holds open belongs to it alone, and what a lost one left stays its own.
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(NvmeError::Random)?;
        let host = Host { id, nqn: self.host };
        let subsystem = match self.subsystem {
            Some(name) => name,
            None => only_subsystem(&self.address, &host).await?,
        };
        let mut config = InitiatorConfig::new(self.address, subsystem, host);
        config.digests = self.digests;
        config.command_timeout = self.command_timeout;
        config.reconnect.give_up_after = self.give_up_after;
        Ok(config)
    }
}

async fn only_subsystem(address: &str, host: &Host) -> Result<String, NvmeError> {
    let entries = discover(address, host, DISCOVERY_TIME).await?;
    let mut names: Vec<_> =
        entries.into_iter().filter(|entry| entry.kind == SubsystemKind::Nvm).map(|entry| entry.subsystem).collect();
    names.sort();
    names.dedup();
    match names.len() {
        1 => Ok(names.swap_remove(0)),
        _ => Err(NvmeError::Subsystems { address: address.to_owned(), host: host.nqn.clone(), names }),
    }
}
