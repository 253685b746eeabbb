//! The server.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use ciphermill_bigint::TrustedEngine;
use ciphermill_paillier::SizePolicy;
use ciphermill_paillier::host::{Host, HostConfig, Limits};
use zeroize::Zeroizing;

use super::{HostError, HostLimits, frame, loopback};

/// The most integers of an operand. On a core of 2020, as many powers of 4096 bits modulo the n² of a key of 2048 bits take
/// about five seconds, and ten times as long for the longest keys.
const ELEMENTS: u32 = 256;
/// Slots of a connection, and no constants beyond them: each has up to 2 MiB of powers.
const SLOTS: u8 = 4;
/// Failures to accept a connection, one after another, after which the server ends.
const FAILURES: u32 = 100;
/// The time in which a peer gets the reason of a refusal.
const FAREWELL: Duration = Duration::from_secs(1);

/// A host that listens on a loopback address. Slots belong to a connection; all share the engine.
///
/// # Example
/// ```
#[doc = include_str!("../example_paillier.txt")]
/// use ciphermill_client::paillier_host::{HostLimits, HostServer, RemoteHost};
/// use ciphermill_paillier::{Blinding, PlaintextVector};
/// let server = HostServer::bind("127.0.0.1:0", HostLimits::default())?;
/// let address = server.address().to_string();
/// let stop = server.stop();
/// let trusted = ciphermill_bigint::TrustedEngine::cpu();
/// let serving = std::thread::spawn(move || server.run(&trusted, policy));
/// let host = RemoteHost::connect(&address)?;
/// let plaintexts = PlaintextVector::from_i64(owner.public_key(), &[3, -5]);
/// let encrypted = host.encrypt(&plaintexts, Blinding::Strict)?;
/// assert_eq!(owner.decrypt(&encrypted)?.to_i64()?, [3, -5]);
/// stop.now();
/// assert!(serving.join().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct HostServer {
    listener: TcpListener,
    address: SocketAddr,
    limits: HostLimits,
    stopped: Arc<AtomicBool>,
}

/// Ends a server from another thread.
#[derive(Clone, Debug)]
pub struct Stop {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
}

impl Stop {
    /// Accepts no more connections. A request in work is finished; an open connection ends after it, or with its next one.
    pub fn now(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        // A connection wakes the server; if none can be made, the next one of a peer does.
        let _ = TcpStream::connect_timeout(&self.address, FAREWELL);
    }
}

/// Counts a connection until it ends.
struct ConnectionGuard(Arc<AtomicUsize>);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HostServer {
    /// Listens on a loopback address; port 0 chooses a free one.
    ///
    /// # Errors
    /// [`HostError::Address`], [`HostError::NotLoopback`] or [`HostError::Listen`].
    pub fn bind(address: &str, limits: HostLimits) -> Result<Self, HostError> {
        let addresses = loopback(address)?;
        let failed = |source| HostError::Listen { address: addresses[0], source };
        let listener = TcpListener::bind(&addresses[..]).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, limits, stopped: Arc::default() })
    }

    /// The address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the server.
    #[must_use]
    pub fn stop(&self) -> Stop {
        Stop { address: self.address, stopped: Arc::clone(&self.stopped) }
    }

    /// Serves until it is stopped.
    ///
    /// # Errors
    /// [`HostError::Io`] if connections cannot be accepted any more.
    pub fn run(self, engine: &TrustedEngine, policy: SizePolicy) -> Result<(), HostError> {
        let open = Arc::new(AtomicUsize::new(0));
        let limits = self.limits;
        let mut failures = 0;
        for connection in self.listener.incoming() {
            if self.stopped.load(Ordering::Relaxed) {
                break;
            }
            let mut stream = match connection {
                Ok(stream) => stream,
                Err(source) if failures == FAILURES => {
                    return Err(HostError::Io { what: "cannot accept connections on", address: self.address, source });
                }
                // The peer has gone again, or this process has too many files open for a moment.
                Err(_) => {
                    failures += 1;
                    thread::sleep(Duration::from_millis(10));
                    continue;
                }
            };
            failures = 0;
            let guard = ConnectionGuard(Arc::clone(&open));
            if open.fetch_add(1, Ordering::Relaxed) >= limits.connections {
                let what =
                    format!("{} connections are open, the most of this host; try again later", limits.connections);
                refuse(&mut stream, &what);
                continue;
            }
            let (engine, stopped) = (engine.clone(), Arc::clone(&self.stopped));
            let serve = move || {
                let _guard = guard;
                serve(&mut stream, engine, policy, &limits, &stopped);
            };
            // Without a thread, the connection is closed.
            let _ = thread::Builder::new().name("paillier-host".to_owned()).spawn(serve);
        }
        Ok(())
    }
}

/// Sends the reason why the peer is not served. The peer may have gone.
fn refuse(stream: &mut TcpStream, what: &str) {
    let _ = frame::write(stream, &frame::response(frame::REFUSED, what.as_bytes()), frame::end_of(FAREWELL));
}

/// Serves one connection until it ends, breaks a limit, or the server stops.
fn serve(stream: &mut TcpStream, engine: TrustedEngine, policy: SizePolicy, limits: &HostLimits, stopped: &AtomicBool) {
    let bytes = u64::from(limits.bytes);
    let stream_limits =
        Limits { body_bytes: bytes, result_bytes: bytes, elements: ELEMENTS, slots: SLOTS, ..Limits::default() };
    let config = HostConfig { limits: stream_limits, policy, time: limits.compute, remembered: 0 };
    let mut host = match Host::new(engine, config) {
        Ok(host) => host,
        Err(error) => return refuse(stream, &error.to_string()),
    };
    while !stopped.load(Ordering::Relaxed) {
        let mut length = [0; 4];
        match frame::read(stream, &mut length, frame::end_of(limits.idle)) {
            Ok(true) => {}
            Ok(false) | Err(_) => return,
        }
        let length = u32::from_le_bytes(length);
        // The envelope of a stream adds some bytes to its body.
        let most = limits.bytes.saturating_add(64);
        if length > most {
            return refuse(stream, &format!("a request of {length} bytes; use at most {most}"));
        }
        let mut request = Zeroizing::new(vec![0; length as usize]);
        match frame::read(stream, &mut request, frame::end_of(limits.transfer)) {
            Ok(true) => {}
            Ok(false) | Err(_) => return,
        }
        if stopped.load(Ordering::Relaxed) {
            return refuse(stream, "the host ends");
        }
        let response = match host.serve(&request) {
            Ok(response) => response,
            Err(error) => return refuse(stream, &error.to_string()),
        };
        let response = frame::response(frame::DONE, &response);
        if frame::write(stream, &response, frame::end_of(limits.transfer)).is_err() {
            return;
        }
    }
}
