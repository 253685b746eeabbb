//! A host in bytes: it shares no code with the crate, so that what both would get wrong is seen.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};

use ciphermill_nvme::server::Subsystem;

pub const HOST: &str = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-4333-8444-555555555555";
pub const OTHER_HOST: &str = "nqn.2014-08.org.nvmexpress:uuid:99999999-2222-4333-8444-555555555555";
pub const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";
pub const SUBSYSTEM: &str = "nqn.2026-01.test:subsystem";
pub const LOCAL: &str = "127.0.0.1:4420";

pub const IN_CAPSULE: u8 = 0x01;
pub const TRANSPORT: u8 = 0x5a;

/// A unit as it came: its 8 + n header bytes and its data, digests checked and taken off.
#[derive(Debug, Clone)]
pub struct Unit {
    pub kind: u8,
    pub flags: u8,
    pub header: Vec<u8>,
    pub data: Vec<u8>,
}

/// A completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cqe {
    pub result: u64,
    pub sq_head: u16,
    pub sq_id: u16,
    pub cid: u16,
    /// Type in bits 8 to 10, code in bits 0 to 7, More 13, Do Not Retry 14.
    pub status: u16,
}

impl Cqe {
    pub fn of(bytes: &[u8]) -> Self {
        let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        assert_eq!(bytes[14] & 1, 0, "there is no phase over fabrics");
        Self {
            result: u64::from_le_bytes(bytes[..8].try_into().unwrap()),
            sq_head: word(8),
            sq_id: word(10),
            cid: word(12),
            status: word(14) >> 1,
        }
    }

    /// Type and code.
    pub fn code(&self) -> u16 {
        self.status & 0x7ff
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code(), 0, "status {:x}", self.status);
        self
    }
}

/// A submission queue entry.
pub fn sqe(opcode: u8, cid: u16, nsid: u32, sgl: (u32, u8), dwords: [u32; 6]) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[0] = opcode;
    bytes[1] = 0x40;
    bytes[2..4].copy_from_slice(&cid.to_le_bytes());
    bytes[4..8].copy_from_slice(&nsid.to_le_bytes());
    bytes[32..36].copy_from_slice(&sgl.0.to_le_bytes());
    bytes[39] = sgl.1;
    for (index, dword) in dwords.iter().enumerate() {
        bytes[40 + 4 * index..44 + 4 * index].copy_from_slice(&dword.to_le_bytes());
    }
    bytes
}

pub fn connect_sqe(cid: u16, qid: u16, size: u16, attributes: u8, keep_alive: u32) -> [u8; 64] {
    let mut bytes = sqe(0x7f, cid, 1, (1024, IN_CAPSULE), [0; 6]);
    bytes[42..44].copy_from_slice(&qid.to_le_bytes());
    bytes[44..46].copy_from_slice(&size.to_le_bytes());
    bytes[46] = attributes;
    bytes[48..52].copy_from_slice(&keep_alive.to_le_bytes());
    bytes
}

pub fn connect_data(host_id: [u8; 16], controller: u16, subsystem: &str, host: &str) -> Vec<u8> {
    let mut data = vec![0; 1024];
    data[..16].copy_from_slice(&host_id);
    data[16..18].copy_from_slice(&controller.to_le_bytes());
    data[256..256 + subsystem.len()].copy_from_slice(subsystem.as_bytes());
    data[512..512 + host.len()].copy_from_slice(host.as_bytes());
    data
}

pub const HOST_ID: [u8; 16] = [7; 16];

pub struct Client<S> {
    pub stream: S,
    pub header_digest: bool,
    pub data_digest: bool,
    /// Data to this host begin on multiples of this number of bytes.
    pub alignment: usize,
    pub max_data: usize,
    pub controller: u16,
    next: u16,
}

/// A connection within the process.
pub fn in_memory(subsystem: &Arc<Subsystem>) -> DuplexStream {
    in_memory_from(subsystem, "127.0.0.1")
}

/// The same from another address.
pub fn in_memory_from(subsystem: &Arc<Subsystem>, address: &str) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(256 << 10);
    let local: SocketAddr = LOCAL.parse().unwrap();
    let peer = SocketAddr::new(address.parse().unwrap(), 50_000);
    tokio::spawn(subsystem.clone().serve_connection(theirs, local, peer));
    ours
}

pub async fn over_tcp(address: SocketAddr) -> tokio::net::TcpStream {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

pub fn icreq(alignment: u8, digests: u8, max_r2t: u32) -> [u8; 128] {
    let mut bytes = [0; 128];
    bytes[2] = 128;
    bytes[4] = 128;
    bytes[10] = alignment;
    bytes[11] = digests;
    bytes[12..16].copy_from_slice(&max_r2t.to_le_bytes());
    bytes
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    /// Opens with ICReq and ICResp.
    pub async fn open(stream: S, header_digest: bool, data_digest: bool) -> Self {
        Self::open_aligned(stream, header_digest, data_digest, 0).await
    }

    pub async fn open_aligned(mut stream: S, header_digest: bool, data_digest: bool, hpda: u8) -> Self {
        let digests = u8::from(header_digest) | u8::from(data_digest) << 1;
        stream.write_all(&icreq(hpda, digests, 0)).await.unwrap();
        let mut response = [0; 128];
        stream.read_exact(&mut response).await.unwrap();
        assert_eq!(response[..8], [1, 0, 128, 0, 128, 0, 0, 0]);
        assert_eq!(response[8..12], [0, 0, 0, digests]);
        let max_data = u32::from_le_bytes(response[12..16].try_into().unwrap()) as usize;
        assert!(max_data >= 4096 && max_data.is_multiple_of(4));
        assert!(response[16..].iter().all(|byte| *byte == 0));
        let alignment = (usize::from(hpda) + 1) * 4;
        Self { stream, header_digest, data_digest, alignment, max_data, controller: 0xffff, next: 0 }
    }

    /// An enabled controller's admin queue.
    pub async fn admin(stream: S, host: &str) -> Self {
        let mut client = Self::open(stream, false, false).await;
        client.connect(0, SUBSYSTEM, host, 31, 0, 0).await.ok();
        client.enable().await;
        client
    }

    /// An I/O queue of a controller; without flow control.
    pub async fn io(stream: S, host: &str, controller: u16, qid: u16) -> Self {
        let mut client = Self::open(stream, false, false).await;
        client.controller = controller;
        client.connect(qid, SUBSYSTEM, host, 127, 4, 0).await.ok();
        client
    }

    pub fn cid(&mut self) -> u16 {
        self.next = self.next.wrapping_add(1);
        self.next
    }

    /// The bytes of a unit with its digests.
    pub fn unit(&self, kind: u8, flags: u8, header: &[u8], data: &[u8]) -> Vec<u8> {
        let hlen = 8 + header.len();
        let digest = if self.header_digest { 4 } else { 0 };
        let begin = if data.is_empty() { hlen + digest } else { (hlen + digest).next_multiple_of(4) };
        let ddigest = if self.data_digest && !data.is_empty() { 4 } else { 0 };
        let total = begin + data.len() + ddigest;
        let flags = flags | u8::from(self.header_digest) | u8::from(ddigest > 0) << 1;
        let mut bytes = vec![kind, flags, hlen as u8, if data.is_empty() { 0 } else { begin as u8 }];
        bytes.extend_from_slice(&(total as u32).to_le_bytes());
        bytes.extend_from_slice(header);
        if self.header_digest {
            let crc = crc32c::crc32c(&bytes);
            bytes.extend_from_slice(&crc.to_le_bytes());
        }
        bytes.resize(begin, 0);
        bytes.extend_from_slice(data);
        if ddigest > 0 {
            bytes.extend_from_slice(&crc32c::crc32c(data).to_le_bytes());
        }
        bytes
    }

    pub async fn send(&mut self, kind: u8, flags: u8, header: &[u8], data: &[u8]) {
        let unit = self.unit(kind, flags, header, data);
        self.stream.write_all(&unit).await.unwrap();
    }

    pub async fn send_command(&mut self, sqe: &[u8; 64], data: &[u8]) {
        self.send(4, 0, sqe, data).await;
    }

    /// Sends part of a transfer.
    pub async fn send_data(&mut self, cid: u16, tag: u16, offset: u32, data: &[u8], last: bool) {
        let mut header = [0; 16];
        header[..2].copy_from_slice(&cid.to_le_bytes());
        header[2..4].copy_from_slice(&tag.to_le_bytes());
        header[4..8].copy_from_slice(&offset.to_le_bytes());
        header[8..12].copy_from_slice(&(data.len() as u32).to_le_bytes());
        self.send(6, if last { 4 } else { 0 }, &header, data).await;
    }

    /// The next unit; `None` at the end of the connection.
    pub async fn recv(&mut self) -> Option<Unit> {
        let mut common = [0; 8];
        self.stream.read_exact(&mut common).await.ok()?;
        let [kind, flags, hlen, pdo, ..] = common;
        let total = u32::from_le_bytes(common[4..].try_into().unwrap()) as usize;
        let mut bytes = common.to_vec();
        bytes.resize(total, 0);
        self.stream.read_exact(&mut bytes[8..]).await.ok()?;
        let hlen = usize::from(hlen);
        let digest = if self.header_digest && kind != 3 { 4 } else { 0 };
        assert_eq!(flags & 1 != 0, digest > 0);
        if digest > 0 {
            let stored = u32::from_le_bytes(bytes[hlen..hlen + 4].try_into().unwrap());
            assert_eq!(stored, crc32c::crc32c(&bytes[..hlen]), "header digest");
        }
        let mut data = Vec::new();
        if kind == 3 {
            data = bytes[hlen..].to_vec();
        } else if total > hlen + digest {
            let begin = usize::from(pdo);
            assert_eq!(begin, (hlen + digest).next_multiple_of(self.alignment));
            let end = if self.data_digest { total - 4 } else { total };
            assert_eq!(flags & 2 != 0, self.data_digest);
            data = bytes[begin..end].to_vec();
            if self.data_digest {
                let stored = u32::from_le_bytes(bytes[end..].try_into().unwrap());
                assert_eq!(stored, crc32c::crc32c(&data), "data digest");
            }
        }
        Some(Unit { kind, flags, header: bytes[8..hlen].to_vec(), data })
    }

    /// Collects the data of a command and its completion, which its last data may stand for.
    pub async fn completion(&mut self) -> (Cqe, Vec<u8>) {
        let mut data = Vec::new();
        loop {
            let unit = self.recv().await.expect("a response");
            match unit.kind {
                5 => return (Cqe::of(&unit.header), data),
                7 => {
                    let offset = u32::from_le_bytes(unit.header[4..8].try_into().unwrap()) as usize;
                    assert_eq!(offset, data.len());
                    let length = u32::from_le_bytes(unit.header[8..12].try_into().unwrap()) as usize;
                    assert_eq!(length, unit.data.len());
                    data.extend_from_slice(&unit.data);
                    if unit.flags & 8 != 0 {
                        assert_eq!(unit.flags & 4, 4, "SUCCESS comes with LAST");
                        let cid = u16::from_le_bytes(unit.header[..2].try_into().unwrap());
                        return (Cqe { result: 0, sq_head: 0xffff, sq_id: 0, cid, status: 0 }, data);
                    }
                }
                other => panic!("unit of type {other}: {unit:?}"),
            }
        }
    }

    /// One command without data from the host.
    pub async fn command(&mut self, sqe: &[u8; 64]) -> (Cqe, Vec<u8>) {
        self.send_command(sqe, &[]).await;
        let (cqe, data) = self.completion().await;
        assert_eq!(cqe.cid, u16::from_le_bytes([sqe[2], sqe[3]]));
        (cqe, data)
    }

    /// One command with its data in the capsule.
    pub async fn command_with(&mut self, sqe: &[u8; 64], data: &[u8]) -> Cqe {
        self.send_command(sqe, data).await;
        self.completion().await.0
    }

    pub async fn connect(
        &mut self,
        qid: u16,
        subsystem: &str,
        host: &str,
        size: u16,
        attributes: u8,
        keep_alive: u32,
    ) -> Cqe {
        let cid = self.cid();
        let data = connect_data(HOST_ID, self.controller, subsystem, host);
        let cqe = self.command_with(&connect_sqe(cid, qid, size, attributes, keep_alive), &data).await;
        if cqe.code() == 0 {
            self.controller = cqe.result as u16;
        }
        cqe
    }

    pub async fn property_get(&mut self, offset: u32, wide: bool) -> Cqe {
        let cid = self.cid();
        self.command(&sqe(0x7f, cid, 4, (0, TRANSPORT), [u32::from(wide), offset, 0, 0, 0, 0])).await.0
    }

    pub async fn property_set(&mut self, offset: u32, value: u32) -> Cqe {
        let cid = self.cid();
        self.command(&sqe(0x7f, cid, 0, (0, TRANSPORT), [0, offset, value, 0, 0, 0])).await.0
    }

    pub async fn enable(&mut self) {
        self.property_set(0x14, 0x0046_0001).await.ok();
        assert_eq!(self.property_get(0x1c, false).await.ok().result, 1, "ready");
    }

    pub async fn identify(&mut self, cns: u8, nsid: u32) -> (Cqe, Vec<u8>) {
        let cid = self.cid();
        self.command(&sqe(0x06, cid, nsid, (4096, TRANSPORT), [cns.into(), 0, 0, 0, 0, 0])).await
    }

    pub async fn log_page(&mut self, page: u8, length: u32, offset: u64) -> (Cqe, Vec<u8>) {
        let cid = self.cid();
        let dwords = length / 4 - 1;
        let dwords = [u32::from(page) | dwords << 16, dwords >> 16, offset as u32, (offset >> 32) as u32, 0, 0];
        self.command(&sqe(0x02, cid, 0xffff_ffff, (length, TRANSPORT), dwords)).await
    }

    pub async fn set_feature(&mut self, feature: u8, value: u32) -> Cqe {
        let cid = self.cid();
        self.command(&sqe(0x09, cid, 0, (0, TRANSPORT), [feature.into(), value, 0, 0, 0, 0])).await.0
    }

    pub async fn get_feature(&mut self, feature: u8, value: u32) -> Cqe {
        let cid = self.cid();
        self.command(&sqe(0x0a, cid, 0, (0, TRANSPORT), [feature.into(), value, 0, 0, 0, 0])).await.0
    }

    pub async fn read(&mut self, nsid: u32, lba: u64, blocks: u32) -> (Cqe, Vec<u8>) {
        let cid = self.cid();
        let dwords = [lba as u32, (lba >> 32) as u32, blocks - 1, 0, 0, 0];
        self.command(&sqe(0x02, cid, nsid, (blocks * 4096, TRANSPORT), dwords)).await
    }

    /// A Write or Compare with its data in the capsule.
    pub async fn write_in_capsule(&mut self, opcode: u8, nsid: u32, lba: u64, data: &[u8]) -> Cqe {
        let cid = self.cid();
        let dwords = [lba as u32, (lba >> 32) as u32, (data.len() / 4096) as u32 - 1, 0, 0, 0];
        self.command_with(&sqe(opcode, cid, nsid, (data.len() as u32, IN_CAPSULE), dwords), data).await
    }

    /// A Write or Compare whose data are asked for; they go in units of `piece` bytes.
    pub async fn write(&mut self, opcode: u8, nsid: u32, lba: u64, data: &[u8], piece: usize) -> Cqe {
        let cid = self.cid();
        let dwords = [lba as u32, (lba >> 32) as u32, (data.len() / 4096) as u32 - 1, 0, 0, 0];
        self.send_command(&sqe(opcode, cid, nsid, (data.len() as u32, TRANSPORT), dwords), &[]).await;
        self.transfer(cid, data, piece).await;
        self.completion().await.0
    }

    /// Awaits the R2T of a command and sends the requested data.
    pub async fn transfer(&mut self, cid: u16, data: &[u8], piece: usize) {
        let (tag, offset, length) = self.r2t(cid).await;
        assert_eq!((offset, length as usize), (0, data.len()));
        let pieces = data.chunks(piece).count();
        for (index, part) in data.chunks(piece).enumerate() {
            self.send_data(cid, tag, (index * piece) as u32, part, index + 1 == pieces).await;
        }
    }

    /// Awaits an R2T: tag, offset, length.
    pub async fn r2t(&mut self, cid: u16) -> (u16, u32, u32) {
        let unit = self.recv().await.expect("R2T");
        assert_eq!((unit.kind, unit.header.len()), (9, 16), "{unit:?}");
        assert_eq!(u16::from_le_bytes([unit.header[0], unit.header[1]]), cid);
        let number = |at: usize| u32::from_le_bytes(unit.header[at..at + 4].try_into().unwrap());
        (u16::from_le_bytes([unit.header[2], unit.header[3]]), number(4), number(8))
    }

    /// Awaits a termination request and then the end: fatal error status and information.
    pub async fn terminated(&mut self) -> (u16, u32) {
        let unit = loop {
            let unit = self.recv().await.expect("a termination request");
            if unit.kind == 3 {
                break unit;
            }
        };
        assert_eq!(unit.header.len(), 16);
        assert!(unit.data.len() <= 128);
        assert!(self.recv().await.is_none(), "nothing comes after it");
        let number = u32::from_le_bytes(unit.header[2..6].try_into().unwrap());
        (u16::from_le_bytes([unit.header[0], unit.header[1]]), number)
    }

    /// Awaits the end of the connection. Returns the earlier PDUs.
    pub async fn ended(&mut self) -> Vec<Unit> {
        let mut units = Vec::new();
        let all = async {
            while let Some(unit) = self.recv().await {
                units.push(unit);
            }
        };
        tokio::time::timeout(Duration::from_secs(3600), all).await.expect("the connection ends");
        units
    }
}
