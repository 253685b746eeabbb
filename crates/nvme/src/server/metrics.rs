//! Counters.

use crate::status::Status;
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// The counts of a target since its creation, and its present use.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let subsystem = subsystem()?;
/// # let controller = Controller::connect(served(subsystem.clone()).await?).await?;
/// let disk = controller.namespace(1).await?;
/// disk.write(0, vec![7u8; BLOCK_BYTES]).await?;
/// let metrics = subsystem.metrics();
/// assert_eq!((metrics.hosts, metrics.controllers, metrics.bytes_written), (1, 1, 4096));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TargetMetrics {
    /// Connections that are open, those before Connect included.
    pub connections_open: u64,
    /// Connections ever accepted.
    pub connections_total: u64,
    /// Connections that never came past Connect: refused, too slow, or pushed out by newer ones.
    pub connections_refused: u64,
    /// Connections refused at once, because their source had its share of connections before Connect. They are not in
    /// `connections_total`.
    pub handshakes_refused: u64,
    /// Connects refused, because the host's share of connections was used up or the rest was kept for others.
    pub shares_refused: u64,
    /// Hosts with a connection, or with commands in progress of one that is gone.
    pub hosts: u64,
    /// Controllers.
    pub controllers: u64,
    /// Admin and fabrics commands by opcode.
    pub admin_commands: BTreeMap<u8, u64>,
    /// I/O commands by opcode.
    pub io_commands: BTreeMap<u8, u64>,
    /// Failed commands by status code type: 0 generic, 1 command specific, 2 media, 3 path, 7 vendor.
    pub errors: BTreeMap<u8, u64>,
    /// Bytes of blocks that hosts read.
    pub bytes_read: u64,
    /// Bytes of blocks that hosts wrote.
    pub bytes_written: u64,
    /// Connections ended because the host broke the protocol.
    pub protocol_errors: u64,
    /// Connections ended because the host was too slow: with Connect, a PDU, its data, or taking responses.
    pub timeouts: u64,
    /// Data digests that were wrong.
    pub data_digest_errors: u64,
    /// Controllers whose keep-alive timeout ran out.
    pub keep_alive_expiries: u64,
    /// Bytes of data buffers in use.
    pub buffer_bytes: u64,
    /// The most that ever were.
    pub buffer_bytes_peak: u64,
    /// Commands that a namespace works on.
    pub commands_under_way: u64,
}

#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) connections: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) handshakes_refused: AtomicU64,
    pub(crate) shares_refused: AtomicU64,
    pub(crate) admin: [AtomicU64; 256],
    pub(crate) io: [AtomicU64; 256],
    errors: [AtomicU64; 8],
    pub(crate) bytes_read: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    pub(crate) protocol_errors: AtomicU64,
    pub(crate) timeouts: AtomicU64,
    pub(crate) data_digest_errors: AtomicU64,
    pub(crate) keep_alive_expiries: AtomicU64,
    pub(crate) under_way: AtomicU64,
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self {
            connections: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            handshakes_refused: AtomicU64::new(0),
            shares_refused: AtomicU64::new(0),
            admin: [const { AtomicU64::new(0) }; 256],
            io: [const { AtomicU64::new(0) }; 256],
            errors: [const { AtomicU64::new(0) }; 8],
            bytes_read: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            protocol_errors: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            data_digest_errors: AtomicU64::new(0),
            keep_alive_expiries: AtomicU64::new(0),
            under_way: AtomicU64::new(0),
        }
    }

    pub(crate) fn error(&self, status: Status) {
        self.errors[usize::from(status.bits() >> 8 & 7)].fetch_add(1, Relaxed);
    }

    /// The values of the counters; the other fields are 0.
    pub(crate) fn read(&self) -> TargetMetrics {
        let nonzero = |counters: &[AtomicU64]| {
            let counted = counters.iter().enumerate().map(|(index, counter)| (index as u8, counter.load(Relaxed)));
            counted.filter(|(_, count)| *count > 0).collect()
        };
        TargetMetrics {
            connections_total: self.connections.load(Relaxed),
            connections_refused: self.refused.load(Relaxed),
            handshakes_refused: self.handshakes_refused.load(Relaxed),
            shares_refused: self.shares_refused.load(Relaxed),
            admin_commands: nonzero(&self.admin),
            io_commands: nonzero(&self.io),
            errors: nonzero(&self.errors),
            bytes_read: self.bytes_read.load(Relaxed),
            bytes_written: self.bytes_written.load(Relaxed),
            protocol_errors: self.protocol_errors.load(Relaxed),
            timeouts: self.timeouts.load(Relaxed),
            data_digest_errors: self.data_digest_errors.load(Relaxed),
            keep_alive_expiries: self.keep_alive_expiries.load(Relaxed),
            commands_under_way: self.under_way.load(Relaxed),
            ..TargetMetrics::default()
        }
    }
}
