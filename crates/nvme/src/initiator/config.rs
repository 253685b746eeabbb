//! The configuration of an initiator.

use super::{error::InitiatorError, slots::MAX_SLOTS};
use crate::{fabrics::is_nqn, namespace::Host, pdu::Digests};
use std::time::Duration;

/// How a lost connection is made again.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut config = served(subsystem()?).await?;
/// // A lost connection ends the controller.
/// config.reconnect = Reconnect { give_up_after: Duration::ZERO, ..Reconnect::default() };
/// let controller = Controller::connect(config).await?;
/// assert!(controller.is_connected());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    /// Wait before the first attempt; it doubles from one to the next. Each wait is shortened at random by up to a half, so
    /// that hosts do not come back all at once.
    pub first: Duration,
    /// The longest wait.
    pub most: Duration,
    /// After so long without a connection the controller stays down, and all its commands fail. Zero: no attempt at all.
    pub give_up_after: Duration,
}

impl Default for Reconnect {
    fn default() -> Self {
        Self { first: Duration::from_millis(50), most: Duration::from_secs(5), give_up_after: Duration::from_secs(600) }
    }
}

/// Where to connect, and how.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut config = served(subsystem()?).await?;
/// config.io_queues = 4;
/// config.queue_depth = 1;
/// let refused = Controller::connect(config).await;
/// assert!(matches!(refused, Err(InitiatorError::Config { .. })), "a queue has at least 2 entries");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitiatorConfig {
    /// The target, as `host:port`.
    pub address: String,
    /// Name of the subsystem.
    pub subsystem: String,
    /// Who we are.
    pub host: Host,
    /// I/O queues, each with a connection that is separate, 1 to 64; the controller may grant fewer.
    pub io_queues: u16,
    /// Entries of an I/O queue, 2 to 1,024: one less can be in progress at once. The controller may have less.
    pub queue_depth: u16,
    /// Digests. The connection fails if the target refuses one of them.
    pub digests: Digests,
    /// The time that a command has, from the call to its answer, lost connections included.
    pub command_timeout: Duration,
    /// The time that each step of setting up a connection has.
    pub connect_timeout: Duration,
    /// The target drops us when it hears nothing for so long; half of it is the interval of our signs of life. Zero: none.
    pub keep_alive: Duration,
    /// How a lost connection is made again.
    pub reconnect: Reconnect,
    /// Requests for data (R2T) that the target may have open for one command, 1 to 16.
    pub max_r2t: u32,
    /// The most bytes of one command, whatever more the controller would take; at least one block.
    pub max_transfer_bytes: usize,
}

impl InitiatorConfig {
    /// With one I/O queue of 128 entries, no digests, 30 s for a command, 5 s for a step of connecting, and a keep-alive
    /// timeout of 10 s.
    ///
    /// # Example
    /// ```
    /// use ciphermill_nvme::{Host, initiator::InitiatorConfig};
    ///
    /// let host = Host { nqn: "nqn.2026-01.example:host".into(), id: [1; 16] };
    /// let config = InitiatorConfig::new("192.0.2.1:4420", "nqn.2026-01.example:disk", host);
    /// assert_eq!((config.io_queues, config.queue_depth), (1, 128));
    /// ```
    #[must_use]
    pub fn new(address: impl Into<String>, subsystem: impl Into<String>, host: Host) -> Self {
        Self {
            address: address.into(),
            subsystem: subsystem.into(),
            host,
            io_queues: 1,
            queue_depth: 128,
            digests: Digests::default(),
            command_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            keep_alive: Duration::from_secs(10),
            reconnect: Reconnect::default(),
            max_r2t: 4,
            max_transfer_bytes: 1 << 20,
        }
    }

    pub(super) fn check(&self) -> Result<(), InitiatorError> {
        let bound = |holds: bool, what: &str| {
            if holds { Ok(()) } else { Err(InitiatorError::Config { what: what.into() }) }
        };
        bound(is_nqn(&self.subsystem), "the subsystem's name is not an NVMe qualified name")?;
        bound(is_nqn(&self.host.nqn), "the host's name is not an NVMe qualified name")?;
        bound((1..=64).contains(&self.io_queues), "there are 1 to 64 I/O queues")?;
        bound((2..=MAX_SLOTS as u16).contains(&self.queue_depth), "a queue has 2 to 1,024 entries")?;
        bound(!self.command_timeout.is_zero(), "a command needs some time")?;
        bound(!self.connect_timeout.is_zero(), "connecting needs some time")?;
        bound(self.keep_alive.as_millis() <= u128::from(u32::MAX), "the keep-alive timeout is at most 2^32 - 1 ms")?;
        bound(self.reconnect.first <= self.reconnect.most, "the first wait is at most the longest")?;
        bound((1..=16).contains(&self.max_r2t), "a command may have 1 to 16 requests for data open")?;
        bound(
            (crate::BLOCK_BYTES..=64 << 20).contains(&self.max_transfer_bytes),
            "a command moves at most 4,096 bytes to 64 MiB",
        )
    }
}
