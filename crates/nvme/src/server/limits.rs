//! The limits of a target.

use super::error::TargetError;
use crate::BLOCK_BYTES;
use std::time::Duration;

/// Bytes that a connection reads at once into its own buffer.
pub(crate) const RECEIVE_BYTES: usize = 64 << 10;
/// Bytes that Compare reads at once.
pub(crate) const COMPARE_BYTES: usize = 64 << 10;
/// Bytes of data in a capsule that a queue takes at least: the transport demands this number of the admin queue.
pub(crate) const LEAST_CAPSULE_BYTES: usize = 8192;

/// The limits of a target. Every limit is enforced; `docs/nvme.md` describes the behaviour at each.
///
/// # Example
/// ```
/// use ciphermill_nvme::server::Limits;
///
/// let limits = Limits { max_connections: 8, queue_depth: 64, ..Limits::default() };
/// assert!(limits.check().is_ok());
/// assert!(Limits { queue_depth: 16, ..limits }.check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections past Connect, of all hosts. Each has a share of the memory for itself. One that is gone counts until the
    /// last command that began on it has ended.
    pub max_connections: usize,
    /// Connections past Connect of one [`Account`](crate::Account); counted alike. Of `max_connections`, one half is kept for
    /// the hosts that the configuration names, the same number for each.
    pub max_connections_per_host: usize,
    /// Commands of one account that namespaces work on at a time, at least 1; more wait, and are dropped with
    /// their connection. The default is the number that one controller with the default queues can have in progress.
    pub max_commands_per_host: usize,
    /// Connections before Connect, from all source addresses.
    pub max_handshakes: usize,
    /// Connections before Connect from one source address. A further one takes the place of the oldest of them that has
    /// had 100 ms; else it is refused.
    pub max_handshakes_per_address: usize,
    /// I/O queues of a controller, 1 to 65,534.
    pub max_queues: u16,
    /// Entries of a queue, 32 to 4,096: the number of commands in progress on a connection.
    pub queue_depth: u16,
    /// Bytes that one command moves: 4,096 times a power of two, at most 64 MiB.
    pub max_transfer_bytes: usize,
    /// Bytes of data within a capsule, 0 to 65,536 in steps of 4,096; the admin queue takes 8,192 at least.
    pub in_capsule_bytes: usize,
    /// Bytes of the data buffers of all connections together.
    pub memory_bytes: usize,
    /// From the connection's begin to the end of Connect.
    pub handshake_timeout: Duration,
    /// From the first byte of a PDU to its last.
    pub pdu_timeout: Duration,
    /// How long none of the data that the host was asked for may come. Time in which the target itself takes nothing does
    /// not count.
    pub transfer_timeout: Duration,
    /// How long the host may read no byte of its responses.
    pub response_timeout: Duration,
    /// The longest keep-alive timeout. A host that asks for none is dropped after this time without a command.
    pub max_keep_alive: Duration,
    /// How long a Connect waits for commands of the host's lost queues that may still change blocks.
    pub settle_timeout: Duration,
    /// How long commands in progress may take when the target stops.
    pub stop_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 256,
            max_connections_per_host: 64,
            max_commands_per_host: 2048,
            max_handshakes: 64,
            max_handshakes_per_address: 32,
            max_queues: 16,
            queue_depth: 128,
            max_transfer_bytes: 1 << 20,
            in_capsule_bytes: 8192,
            memory_bytes: 512 << 20,
            handshake_timeout: Duration::from_secs(10),
            pdu_timeout: Duration::from_secs(30),
            transfer_timeout: Duration::from_secs(60),
            response_timeout: Duration::from_secs(30),
            max_keep_alive: Duration::from_secs(600),
            settle_timeout: Duration::from_secs(30),
            stop_timeout: Duration::from_secs(30),
        }
    }
}

impl Limits {
    /// Bytes that belong to each connection alone: one command of the greatest length goes on whatever others hold.
    ///
    /// # Example
    /// ```
    /// use ciphermill_nvme::server::Limits;
    ///
    /// let limits = Limits { max_connections: 8, ..Limits::default() };
    /// let least = 8 * limits.share_bytes();
    /// assert!(Limits { memory_bytes: least, ..limits }.check().is_ok());
    /// assert!(Limits { memory_bytes: least - 1, ..limits }.check().is_err());
    /// ```
    #[must_use]
    pub const fn share_bytes(&self) -> usize {
        self.own_bytes() + self.reserve_bytes() + RECEIVE_BYTES
    }

    /// Of the share, what commands that move data through the transport take.
    pub(crate) const fn own_bytes(&self) -> usize {
        self.max_transfer_bytes + COMPARE_BYTES
    }

    /// The part of the share that one capsule with data uses: twice its data, for a Compare.
    pub(crate) const fn reserve_bytes(&self) -> usize {
        2 * self.capsule_bytes()
    }

    /// The most data of a capsule that is read.
    pub(crate) const fn capsule_bytes(&self) -> usize {
        if self.in_capsule_bytes > LEAST_CAPSULE_BYTES { self.in_capsule_bytes } else { LEAST_CAPSULE_BYTES }
    }

    /// The common rest when every connection has its share.
    pub(crate) const fn shared_bytes(&self) -> usize {
        self.memory_bytes.saturating_sub(self.max_connections.saturating_mul(self.share_bytes()))
    }

    /// How often ages are looked at: a quarter of the shortest timeout, 10 ms to 1 s.
    pub(crate) fn tick(&self) -> Duration {
        let shortest =
            self.handshake_timeout.min(self.pdu_timeout).min(self.transfer_timeout).min(self.response_timeout);
        (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(1))
    }

    /// Whether every limit is in its range; `Subsystem::new` asks it as well.
    ///
    /// # Errors
    /// [`TargetError::Limit`], of the first one that is not.
    ///
    /// # Example
    /// ```
    /// use ciphermill_nvme::server::{Limits, TargetError};
    ///
    /// let error = Limits { max_transfer_bytes: 5000, ..Limits::default() }.check();
    /// assert!(matches!(error, Err(TargetError::Limit { limit: "max_transfer_bytes", given: 5000, .. })));
    /// ```
    pub fn check(&self) -> Result<(), TargetError> {
        let bound = |holds: bool, limit: &'static str, rule: &'static str, given: usize| {
            if holds { Ok(()) } else { Err(TargetError::Limit { limit, rule, given }) }
        };
        let blocks = self.max_transfer_bytes / BLOCK_BYTES;
        let whole = blocks.is_power_of_two() && blocks * BLOCK_BYTES == self.max_transfer_bytes;
        let queues = usize::from(self.max_queues);
        let depth = usize::from(self.queue_depth);
        bound(self.max_connections > 0, "max_connections", "at least 1", self.max_connections)?;
        bound(self.max_connections_per_host > 0, "max_connections_per_host", "at least 1", 0)?;
        bound(self.max_commands_per_host > 0, "max_commands_per_host", "at least 1", 0)?;
        bound(self.max_handshakes > 0, "max_handshakes", "at least 1", 0)?;
        bound(self.max_handshakes_per_address > 0, "max_handshakes_per_address", "at least 1", 0)?;
        bound((1..=65_534).contains(&queues), "max_queues", "1 to 65,534", queues)?;
        bound((32..=4096).contains(&depth), "queue_depth", "32 to 4,096", depth)?;
        let rule = "4,096 times a power of two, at most 64 MiB";
        bound(whole && self.max_transfer_bytes <= 64 << 20, "max_transfer_bytes", rule, self.max_transfer_bytes)?;
        let capsule = self.in_capsule_bytes;
        let rule = "0 to 65,536 in steps of 4,096";
        bound(capsule <= 65_536 && capsule.is_multiple_of(4096), "in_capsule_bytes", rule, capsule)?;
        let shares = self.max_connections.saturating_mul(self.share_bytes());
        let rule = "at least max_connections times the share of each (Limits::share_bytes)";
        bound(self.memory_bytes >= shares, "memory_bytes", rule, self.memory_bytes)?;
        let least = Duration::from_secs(1);
        let rule = "at least 1 s";
        bound(self.max_keep_alive >= least, "max_keep_alive", rule, self.max_keep_alive.as_secs() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit that a change breaks; `None` if it holds.
    fn broken(change: impl FnOnce(&mut Limits)) -> Option<&'static str> {
        let mut limits = Limits { memory_bytes: usize::MAX, ..Limits::default() };
        change(&mut limits);
        match limits.check() {
            Ok(()) => None,
            Err(TargetError::Limit { limit, .. }) => Some(limit),
            Err(other) => panic!("{other}"),
        }
    }

    /// The share of a connection with the default limits: what data in transport take (1 MiB and 64 KiB), twice a capsule of
    /// 8,192 bytes, and the receive buffer (64 KiB).
    const SHARE: usize = 1_048_576 + 65_536 + 2 * 8192 + 65_536;

    #[test]
    fn shares_count_two_capsules() {
        assert_eq!(Limits::default().share_bytes(), SHARE);
        for (in_capsule_bytes, expected) in [(0, 8192), (4096, 8192), (8192, 8192), (12_288, 12_288), (65_536, 65_536)]
        {
            let limits = Limits { in_capsule_bytes, ..Limits::default() };
            assert_eq!(limits.capsule_bytes(), expected);
            assert_eq!(limits.reserve_bytes(), 2 * expected);
            assert_eq!(limits.share_bytes(), SHARE + 2 * (expected - 8192));
        }
        let one = Limits { max_connections: 1, ..Limits::default() };
        assert_eq!(one.shared_bytes(), (512 << 20) - SHARE);
    }

    #[test]
    fn ages_are_looked_at_four_times_in_the_shortest_timeout() {
        let tick = |change: fn(&mut Limits)| {
            let mut limits = Limits {
                handshake_timeout: Duration::from_secs(3),
                pdu_timeout: Duration::from_secs(3),
                transfer_timeout: Duration::from_secs(3),
                response_timeout: Duration::from_secs(3),
                ..Limits::default()
            };
            change(&mut limits);
            limits.tick().as_millis()
        };
        assert_eq!(tick(|_| ()), 750);
        assert_eq!(tick(|limits| limits.handshake_timeout = Duration::from_secs(2)), 500);
        assert_eq!(tick(|limits| limits.pdu_timeout = Duration::from_secs(2)), 500);
        assert_eq!(tick(|limits| limits.transfer_timeout = Duration::from_secs(2)), 500);
        assert_eq!(tick(|limits| limits.response_timeout = Duration::from_secs(2)), 500);
        assert_eq!(tick(|limits| limits.pdu_timeout = Duration::from_millis(1)), 10);
        assert_eq!(Limits::default().tick(), Duration::from_secs(1));
    }

    #[test]
    fn each_limit_has_its_bounds() {
        assert_eq!(broken(|_| ()), None);
        assert_eq!(broken(|limits| limits.max_connections = 0), Some("max_connections"));
        assert_eq!(broken(|limits| limits.max_connections = 1), None);
        assert_eq!(broken(|limits| limits.max_connections_per_host = 0), Some("max_connections_per_host"));
        assert_eq!(broken(|limits| limits.max_connections_per_host = 1), None);
        assert_eq!(broken(|limits| limits.max_commands_per_host = 0), Some("max_commands_per_host"));
        assert_eq!(broken(|limits| limits.max_commands_per_host = 1), None);
        assert_eq!(broken(|limits| limits.max_handshakes = 0), Some("max_handshakes"));
        assert_eq!(broken(|limits| limits.max_handshakes = 1), None);
        assert_eq!(broken(|limits| limits.max_handshakes_per_address = 0), Some("max_handshakes_per_address"));
        assert_eq!(broken(|limits| limits.max_handshakes_per_address = 1), None);
        for (queues, expected) in [(0, Some("max_queues")), (1, None), (65_534, None), (65_535, Some("max_queues"))] {
            assert_eq!(broken(|limits| limits.max_queues = queues), expected, "{queues} queues");
        }
        for (depth, expected) in [(31, Some("queue_depth")), (32, None), (4096, None), (4097, Some("queue_depth"))] {
            assert_eq!(broken(|limits| limits.queue_depth = depth), expected, "depth {depth}");
        }
        let transfer = Some("max_transfer_bytes");
        for (bytes, expected) in [
            (0, transfer),
            (4096, None),
            (4097, transfer),
            (3 * 4096, transfer),
            (64 << 20, None),
            (128 << 20, transfer),
        ] {
            assert_eq!(broken(|limits| limits.max_transfer_bytes = bytes), expected, "{bytes} bytes");
        }
        let capsule = Some("in_capsule_bytes");
        for (bytes, expected) in
            [(0, None), (4096, None), (4095, capsule), (6000, capsule), (65_536, None), (65_536 + 4096, capsule)]
        {
            assert_eq!(broken(|limits| limits.in_capsule_bytes = bytes), expected, "{bytes} bytes");
        }
        let keep_alive = |ms| broken(|limits| limits.max_keep_alive = Duration::from_millis(ms));
        assert_eq!((keep_alive(999), keep_alive(1000)), (Some("max_keep_alive"), None));
        let shares = 256 * SHARE;
        let memory = |bytes| broken(|limits| limits.memory_bytes = bytes);
        assert_eq!((memory(shares - 1), memory(shares)), (Some("memory_bytes"), None));
    }
}
