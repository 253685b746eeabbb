//! A connection that can be cut: passes NVMe/TCP on, PDU by PDU, until a test says otherwise.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

/// Where a PDU goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ToTarget,
    ToHost,
}

/// What becomes of a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    /// It is lost, and so are all connections.
    Cut,
}

/// Bytes of the header that all PDUs have; a capsule's entry follows it.
const HEADER: usize = 8;
/// PDU types.
const COMMAND: u8 = 0x04;
const RESPONSE: u8 = 0x05;
/// An I/O command. Queues of the administrator have no command of this opcode over fabrics.
const WRITE: u8 = 0x01;

/// The identifier of a write command.
pub(crate) fn write_command(pdu: &[u8]) -> Option<[u8; 2]> {
    (pdu[0] == COMMAND && pdu[HEADER] == WRITE).then(|| [pdu[HEADER + 2], pdu[HEADER + 3]])
}

/// The identifier of the command that a capsule answers.
pub(crate) fn answered(pdu: &[u8]) -> Option<[u8; 2]> {
    (pdu[0] == RESPONSE).then(|| [pdu[HEADER + 12], pdu[HEADER + 13]])
}

/// Judges a PDU of a connection, which has a number.
type Rule = Box<dyn FnMut(usize, Way, &[u8]) -> Verdict + Send>;

struct Shared {
    target: Mutex<SocketAddr>,
    streams: Mutex<Vec<TcpStream>>,
    rule: Mutex<Rule>,
    stopped: AtomicBool,
}

fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn cut(&self) {
        for stream in locked(&self.streams).drain(..) {
            // One that is closed already is as good.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Passes PDUs on until either side ends.
    fn pump(&self, connection: usize, way: Way, mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
        loop {
            let mut pdu = vec![0; HEADER];
            from.read_exact(&mut pdu)?;
            let length = u32::from_le_bytes([pdu[4], pdu[5], pdu[6], pdu[7]]) as usize;
            pdu.resize(length.max(HEADER), 0);
            from.read_exact(&mut pdu[HEADER..])?;
            let verdict = locked(&self.rule)(connection, way, &pdu);
            match verdict {
                Verdict::Pass => to.write_all(&pdu)?,
                Verdict::Cut => {
                    self.cut();
                    return Ok(());
                }
            }
        }
    }

    fn connect(self: &Arc<Self>, connection: usize, host: TcpStream) -> io::Result<()> {
        let target = TcpStream::connect(*locked(&self.target))?;
        for stream in [&host, &target] {
            stream.set_nodelay(true)?;
            locked(&self.streams).push(stream.try_clone()?);
        }
        let ways = [(Way::ToTarget, host.try_clone()?, target.try_clone()?), (Way::ToHost, target, host)];
        for (way, from, to) in ways {
            let shared = Arc::clone(self);
            thread::spawn(move || {
                let (from_end, to_end) = (from.try_clone(), to.try_clone());
                // How it ended does not matter: the other side is to see that it did.
                let _ = shared.pump(connection, way, from, to);
                for end in [from_end, to_end].into_iter().flatten() {
                    let _ = end.shutdown(Shutdown::Both);
                }
            });
        }
        Ok(())
    }
}

/// Listens on loopback until it is dropped.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

impl Proxy {
    pub(crate) fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            target: Mutex::new(target),
            streams: Mutex::default(),
            rule: Mutex::new(Box::new(|_, _, _| Verdict::Pass)),
            stopped: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        let accept = move || {
            for (connection, stream) in listener.incoming().enumerate() {
                if accepting.stopped.load(Ordering::SeqCst) {
                    return;
                }
                // Without a target the host finds its connection closed.
                let _ = stream.and_then(|stream| accepting.connect(connection, stream));
            }
        };
        Self { address, shared, listener: Some(thread::spawn(accept)) }
    }

    /// From now on PDUs are judged so.
    pub(crate) fn judge(&self, rule: impl FnMut(usize, Way, &[u8]) -> Verdict + Send + 'static) {
        *locked(&self.shared.rule) = Box::new(rule);
    }

    pub(crate) fn cut(&self) {
        self.shared.cut();
    }

    /// New connections go there.
    pub(crate) fn lead_to(&self, target: SocketAddr) {
        *locked(&self.shared.target) = target;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.shared.cut();
        // Wakes the listener.
        drop(TcpStream::connect(self.address));
        let ended = self.listener.take().map(JoinHandle::join);
        if !thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}
