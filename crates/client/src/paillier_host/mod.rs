//! Paillier's host over TCP: a server that executes streams of instructions, and an engine that sends them to one.
//!
//! The paper's system takes its instructions from a network and states no protocol. Here a connection carries frames, one
//! request at a time. Lengths have their least significant byte first:
//!
//! | direction | frame |
//! | --- | --- |
//! | to the host | u32 length, a stream of instructions ([`Request`](ciphermill_paillier::host::Request)) |
//! | from the host | u8 0, u32 length, the stream of results ([`Response`](ciphermill_paillier::host::Response)) |
//! | from the host | u8 1, u32 length, the reason of a refusal in UTF-8; the host then closes the connection |
//!
//! Slots belong to a connection. The host sees plaintexts and scalars, and a connection is not encrypted. So both ends accept
//! loopback addresses only; between machines, a TLS or SSH tunnel ends on the loopback address of each.

mod frame;
mod remote;
mod server;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

pub use remote::RemoteHost;
pub use server::{HostServer, Stop};

/// Bounds on what peers can make a host hold, and for how long.
///
/// # Example
/// ```
/// use ciphermill_client::paillier_host::HostLimits;
///
/// // In addition to a few copies of a request and of its results, a peer can make the host hold four slots of 2 MiB.
/// assert_eq!(HostLimits::default().bytes, 4 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLimits {
    /// Connections at a time; another one is refused.
    pub connections: usize,
    /// Bytes of a request, and of the integers of its response.
    pub bytes: u32,
    /// From one request to the next one of a connection.
    pub idle: Duration,
    /// For a request to arrive, and for a response to leave.
    pub transfer: Duration,
    /// For the instructions of a request. The later ones are refused.
    pub compute: Duration,
}

impl Default for HostLimits {
    /// 8 connections, 4 MiB, a minute for each of the times.
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self { connections: 8, bytes: 4 << 20, idle: minute, transfer: minute, compute: minute }
    }
}

/// Why a host cannot be served or reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The address is not on this machine.
    #[error(
        "{address} is not a loopback address, and connections to a Paillier host are not encrypted; use 127.0.0.1 or ::1, and \
         a TLS or SSH tunnel between machines"
    )]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The text is not an address.
    #[error("`{given}` is not an address; use one as 127.0.0.1:7700")]
    Address {
        /// The text.
        given: String,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; use another port, or port 0 for a free one")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No host answers at the address.
    #[error("cannot connect to {address}: {source}; start a host there: ciphermill paillier host --listen {address}")]
    Connect {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A transfer failed.
    #[error("{what} {address}: {source}")]
    Io {
        /// The step that failed.
        what: &'static str,
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The host refused a request.
    #[error("the host refused the request: {what}")]
    Refused {
        /// Its reason.
        what: String,
    },
}

/// The loopback addresses that a text names, at least one.
fn loopback(given: &str) -> Result<Vec<SocketAddr>, HostError> {
    let wrong = |_| HostError::Address { given: given.to_owned() };
    let addresses: Vec<_> = given.to_socket_addrs().map_err(wrong)?.collect();
    match addresses.iter().find(|address| !address.ip().is_loopback()) {
        Some(&address) => Err(HostError::NotLoopback { address }),
        None if addresses.is_empty() => Err(HostError::Address { given: given.to_owned() }),
        None => Ok(addresses),
    }
}
