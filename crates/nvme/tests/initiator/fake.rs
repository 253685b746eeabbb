//! A scripted target on a loopback socket. It writes and reads units by hand, byte by byte, so that the crate's own encoding
//! is checked and not used.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

pub(crate) const SUBSYSTEM: &str = "nqn.2026-01.test:subsystem";
pub(crate) const HOST: &str = "nqn.2026-01.test:host";

/// The identity of the fake.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Digests it agrees to at most: bit 0 header, bit 1 data.
    pub(crate) digests: u8,
    /// CPDA.
    pub(crate) alignment: u8,
    pub max_h2c: u32,
    /// IOCCSZ in bytes.
    pub(crate) capsule: u32,
    /// MDTS.
    pub(crate) mdts: u8,
    pub(crate) serial: &'static str,
    pub(crate) uuid: [u8; 16],
    pub(crate) blocks: u64,
    pub(crate) queues: u16,
    /// MQES.
    pub(crate) max_queue: u16,
    /// The status of every Connect, after which the connection is closed, unless 0.
    pub(crate) refusal: u16,
    /// ICResp, if another than a right one.
    pub(crate) opening: Option<Vec<u8>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            digests: 3,
            alignment: 0,
            max_h2c: 8192,
            capsule: 64 + 8192,
            mdts: 8,
            serial: "S1",
            uuid: [7; 16],
            blocks: 1 << 20,
            queues: 4,
            max_queue: 127,
            refusal: 0,
            opening: None,
        }
    }
}

/// A unit as it came.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    /// The bytes after the common header: 16, 64 or 120 bytes.
    pub(crate) header: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

impl Unit {
    pub(crate) fn id(&self) -> u16 {
        let at = if self.kind == 4 { 2 } else { 0 };
        u16::from_le_bytes([self.header[at], self.header[at + 1]])
    }
    pub(crate) fn opcode(&self) -> u8 {
        self.header[0]
    }
    pub(crate) fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.header[at..at + 4].try_into().unwrap())
    }
    pub(crate) fn lba(&self) -> u64 {
        u64::from(self.u32_at(40)) | u64::from(self.u32_at(44)) << 32
    }
    pub(crate) fn blocks(&self) -> usize {
        (self.u32_at(48) & 0xffff) as usize + 1
    }
}

/// The reaction of a script to a PDU.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Sends a unit: type, flags without those of digests, the header behind the common one, data.
    Unit(u8, u8, Vec<u8>, Vec<u8>),
    /// The same with a wrong digest: of the header, of the data.
    Broken(u8, u8, Vec<u8>, Vec<u8>, bool, bool),
    /// Sends bytes as they are.
    Raw(Vec<u8>),
    Pause(Duration),
    Close,
}

pub(crate) fn response(id: u16, status: u16, result: u64) -> Action {
    let mut header = result.to_le_bytes().to_vec();
    header.extend([0xff, 0xff, 0, 0]);
    header.extend(id.to_le_bytes());
    header.extend((status << 1).to_le_bytes());
    Action::Unit(5, 0, header, Vec::new())
}

pub(crate) fn transfer(id: u16, tag: u16, offset: u32, length: u32) -> Vec<u8> {
    let mut header = id.to_le_bytes().to_vec();
    header.extend(tag.to_le_bytes());
    header.extend(offset.to_le_bytes());
    header.extend(length.to_le_bytes());
    header.extend([0; 4]);
    header
}

pub(crate) const LAST: u8 = 4;
pub(crate) const SUCCESS: u8 = 8;

pub(crate) fn c2h(id: u16, offset: u32, data: &[u8], flags: u8) -> Action {
    Action::Unit(7, flags, transfer(id, 0, offset, data.len() as u32), data.to_vec())
}

pub(crate) fn r2t(id: u16, tag: u16, offset: u32, length: u32) -> Action {
    Action::Unit(9, 0, transfer(id, tag, offset, length), Vec::new())
}

/// Lays out a unit.
pub(crate) fn frame(kind: u8, flags: u8, header: &[u8], data: &[u8], digests: u8, broken: (bool, bool)) -> Vec<u8> {
    let long = 8 + header.len();
    let header_digest = digests & 1 != 0 && kind > 3;
    let data_digest = digests & 2 != 0 && !data.is_empty() && kind > 3;
    let begin = long + if header_digest { 4 } else { 0 };
    let length = begin + data.len() + if data_digest { 4 } else { 0 };
    let mut out = vec![kind, flags | u8::from(header_digest) | u8::from(data_digest) << 1, long as u8];
    out.push(if data.is_empty() || kind <= 3 { 0 } else { begin as u8 });
    out.extend((length as u32).to_le_bytes());
    out.extend(header);
    if header_digest {
        out.extend((crc32c::crc32c(&out) ^ u32::from(broken.0)).to_le_bytes());
    }
    out.extend(data);
    if data_digest {
        out.extend((crc32c::crc32c(data) ^ u32::from(broken.1)).to_le_bytes());
    }
    out
}

/// A connection of the fake.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    pub(crate) digests: u8,
    /// Alignment of data in units from the host, in bytes.
    pub(crate) alignment: usize,
}

impl Peer {
    pub(crate) async fn read(&mut self) -> io::Result<Unit> {
        let mut raw = vec![0; 8];
        self.stream.read_exact(&mut raw).await?;
        let (kind, flags, long, offset) = (raw[0], raw[1], usize::from(raw[2]), usize::from(raw[3]));
        let length = u32::from_le_bytes(raw[4..8].try_into().unwrap()) as usize;
        raw.resize(length, 0);
        self.stream.read_exact(&mut raw[8..]).await?;
        let header_digest = self.digests & 1 != 0 && kind > 3;
        assert_eq!(flags & 1 != 0, header_digest, "flag of the header digest, unit {kind}");
        let mut end = long;
        if header_digest {
            assert_eq!(raw[long..long + 4], crc32c::crc32c(&raw[..long]).to_le_bytes(), "header digest");
            end += 4;
        }
        let mut data = Vec::new();
        if length > end {
            let begin = if kind <= 3 { long } else { offset };
            let mut data_end = length;
            if kind > 3 {
                assert_eq!(begin, end.next_multiple_of(self.alignment.max(4)), "alignment of the data of unit {kind}");
                assert!(raw[end..begin].iter().all(|byte| *byte == 0), "padding");
                assert_eq!(flags & 2 != 0, self.digests & 2 != 0, "flag of the data digest");
                if self.digests & 2 != 0 {
                    data_end -= 4;
                    let digest = crc32c::crc32c(&raw[begin..data_end]).to_le_bytes();
                    assert_eq!(raw[data_end..], digest, "data digest");
                }
            }
            data = raw[begin..data_end].to_vec();
        }
        let header = raw[8..long].to_vec();
        Ok(Unit { kind, flags, header, data })
    }

    pub(crate) async fn act(&mut self, action: Action) -> io::Result<()> {
        match action {
            Action::Unit(kind, flags, header, data) => {
                self.stream.write_all(&frame(kind, flags, &header, &data, self.digests, (false, false))).await
            }
            Action::Broken(kind, flags, header, data, first, second) => {
                self.stream.write_all(&frame(kind, flags, &header, &data, self.digests, (first, second))).await
            }
            Action::Raw(bytes) => self.stream.write_all(&bytes).await,
            Action::Pause(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Action::Close => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// The opening units; gives the request as it came.
    pub(crate) async fn open(&mut self, options: &Options) -> io::Result<Vec<u8>> {
        let mut request = vec![0; 128];
        self.stream.read_exact(&mut request).await?;
        let digests = request[11] & options.digests;
        let response = options.opening.clone().unwrap_or_else(|| {
            let mut bytes = vec![0; 128];
            bytes[..8].copy_from_slice(&[1, 0, 128, 0, 128, 0, 0, 0]);
            (bytes[10], bytes[11]) = (options.alignment, digests);
            bytes[12..16].copy_from_slice(&options.max_h2c.to_le_bytes());
            bytes
        });
        self.stream.write_all(&response).await?;
        (self.digests, self.alignment) = (digests, (usize::from(options.alignment) + 1) * 4);
        Ok(request)
    }
}

/// The reaction of an I/O queue to received PDUs: commands and data. The first argument counts I/O connections from 0.
pub(crate) type Script = Arc<dyn Fn(usize, &Unit) -> Vec<Action> + Send + Sync>;

/// A running fake.
pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    pub(crate) options: Arc<Mutex<Options>>,
    /// I/O connections so far.
    pub(crate) connections: Arc<AtomicUsize>,
    /// All units of I/O queues and what ends them (termination requests), in order.
    pub(crate) seen: Arc<Mutex<Vec<Unit>>>,
    /// Admin commands other than Keep Alive: opcodes.
    pub(crate) admin: Arc<Mutex<Vec<Unit>>>,
    pub(crate) keep_alives: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Fake {
    pub(crate) async fn start(options: Options, script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let options = Arc::new(Mutex::new(options));
        let (connections, keep_alives) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (seen, admin) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let shared = (Arc::clone(&options), Arc::clone(&connections), Arc::clone(&seen));
        let more = (Arc::clone(&admin), Arc::clone(&keep_alives));
        let task = tokio::spawn(async move {
            let (options, connections, seen) = shared;
            let (admin, keep_alives) = more;
            while let Ok((stream, _)) = listener.accept().await {
                let options = options.lock().unwrap().clone();
                let (connections, seen, script) = (Arc::clone(&connections), Arc::clone(&seen), Arc::clone(&script));
                let (admin, keep_alives) = (Arc::clone(&admin), Arc::clone(&keep_alives));
                tokio::spawn(async move {
                    stream.set_nodelay(true).unwrap();
                    let mut peer = Peer { stream, digests: 0, alignment: 4 };
                    if peer.open(&options).await.is_err() {
                        return;
                    }
                    let Ok(connect) = peer.read().await else { return };
                    assert_eq!((connect.kind, connect.opcode(), connect.header[4]), (4, 0x7f, 1), "Connect is first");
                    let queue = u16::from_le_bytes([connect.header[42], connect.header[43]]);
                    let answered = peer.act(response(connect.id(), options.refusal, 5)).await;
                    if answered.is_err() || options.refusal != 0 {
                        return;
                    }
                    if queue == 0 {
                        admin.lock().unwrap().push(connect);
                        let _ = serve_admin(&mut peer, &options, &admin, &keep_alives).await;
                    } else {
                        let number = connections.fetch_add(1, Ordering::SeqCst);
                        let _ = serve_io(&mut peer, number, &seen, &script).await;
                    }
                });
            }
        });
        Self { address, options, connections, seen, admin, keep_alives, task }
    }

    pub(crate) fn io_connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve_io(peer: &mut Peer, number: usize, seen: &Mutex<Vec<Unit>>, script: &Script) -> io::Result<()> {
    loop {
        let unit = peer.read().await?;
        seen.lock().unwrap().push(unit.clone());
        if unit.kind == 2 {
            return Ok(());
        }
        for action in script(number, &unit) {
            peer.act(action).await?;
        }
    }
}

async fn serve_admin(
    peer: &mut Peer,
    options: &Options,
    admin: &Mutex<Vec<Unit>>,
    keep_alives: &AtomicUsize,
) -> io::Result<()> {
    loop {
        let unit = peer.read().await?;
        if unit.kind == 2 {
            return Ok(());
        }
        let id = unit.id();
        if unit.opcode() == 0x18 {
            keep_alives.fetch_add(1, Ordering::SeqCst);
            peer.act(response(id, 0, 0)).await?;
            continue;
        }
        admin.lock().unwrap().push(unit.clone());
        let data = match (unit.opcode(), unit.header[4]) {
            // Property Get: CAP with MQES and a timeout of 1 s, else CSTS ready and shut down.
            (0x7f, 4) if unit.u32_at(44) == 0 => {
                peer.act(response(id, 0, u64::from(options.max_queue) | 1 << 16 | 2 << 24 | 1 << 37)).await?;
                continue;
            }
            (0x7f, 4) => {
                peer.act(response(id, 0, 1 | 2 << 2)).await?;
                continue;
            }
            (0x06, _) => identify(options, unit.header[40]),
            (0x02, _) => {
                let dwords = (unit.u32_at(40) >> 16 | unit.u32_at(44) << 16) + 1;
                vec![0; dwords as usize * 4]
            }
            (0x09, _) if unit.header[40] == 7 => {
                let granted = u64::from(options.queues) - 1;
                peer.act(response(id, 0, granted | granted << 16)).await?;
                continue;
            }
            // Asynchronous Event Request: no event ever.
            (0x0c, _) => continue,
            _ => {
                peer.act(response(id, 0, 0)).await?;
                continue;
            }
        };
        peer.act(c2h(id, 0, &data, LAST | SUCCESS)).await?;
    }
}

fn identify(options: &Options, structure: u8) -> Vec<u8> {
    let mut data = vec![0; 4096];
    let mut put = |at: usize, bytes: &[u8]| data[at..at + bytes.len()].copy_from_slice(bytes);
    match structure {
        0 => {
            put(0, &options.blocks.to_le_bytes());
            put(8, &options.blocks.to_le_bytes());
            put(130, &[12]);
        }
        1 => {
            put(4, format!("{:<20}", options.serial).as_bytes());
            put(24, format!("{:<40}", "a fake").as_bytes());
            put(77, &[options.mdts]);
            put(78, &[5, 0]);
            put(111, &[1]);
            put(512, &[0x66, 0x44]);
            put(516, &[1, 0, 0, 0]);
            put(536, &[1, 0, 0x10, 0]);
            put(768, SUBSYSTEM.as_bytes());
            put(1792, &(options.capsule / 16).to_le_bytes());
            put(1796, &[1, 0, 0, 0]);
        }
        2 => put(0, &[1]),
        3 => {
            put(0, &[3, 16, 0, 0]);
            put(4, &options.uuid);
        }
        _ => {}
    }
    data
}
