//! How fast a target answers over loopback: reads at several depths and sizes from a namespace in memory, with one thread for
//! the target and one for the host, which speaks plain bytes. `cargo run --release -p ciphermill-evidence --example nvme-target-rate`.

use ciphermill_nvme::{
    Answer, Caller, Geometry, Namespace, buffers,
    server::{HostAccess, NamespaceConfig, Subsystem, SubsystemConfig, Target},
};
use std::{
    error::Error,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    ops::Range,
    sync::Arc,
    time::{Duration, Instant},
};

/// Every block is made of its number.
#[derive(Debug)]
struct Pattern;

impl Namespace for Pattern {
    fn geometry(&self) -> Geometry {
        Geometry { size: 1 << 20, capacity: 1 << 20, used: 0 }
    }
    fn read(self: Arc<Self>, _: &Arc<Caller>, lba: u64, blocks: u32) -> Answer<Vec<u8>> {
        let bytes = blocks as usize * 4096;
        let mut data = buffers::with_capacity(bytes);
        data.resize(bytes, lba as u8);
        Answer::Ready(Ok(data))
    }
    fn write(self: Arc<Self>, _: &Arc<Caller>, _: u64, _: Vec<u8>) -> Answer<()> {
        Answer::Ready(Ok(()))
    }
    fn write_zeroes(self: Arc<Self>, _: &Arc<Caller>, _: u64, _: u32, _: bool) -> Answer<()> {
        Answer::Ready(Ok(()))
    }
    fn deallocate(self: Arc<Self>, _: &Arc<Caller>, _: Vec<Range<u64>>) -> Answer<()> {
        Answer::Ready(Ok(()))
    }
    fn flush(self: Arc<Self>, _: &Arc<Caller>) -> Answer<()> {
        Answer::Ready(Ok(()))
    }
}

const HOST: &str = "nqn.2026-01.test:host";

fn sqe(opcode: u8, cid: u16, nsid: u32, length: u32, identifier: u8, dwords: [u32; 6]) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[..2].copy_from_slice(&[opcode, 0x40]);
    bytes[2..4].copy_from_slice(&cid.to_le_bytes());
    bytes[4..8].copy_from_slice(&nsid.to_le_bytes());
    bytes[32..36].copy_from_slice(&length.to_le_bytes());
    bytes[39] = identifier;
    for (to, dword) in bytes[40..].chunks_exact_mut(4).zip(dwords) {
        to.copy_from_slice(&dword.to_le_bytes());
    }
    bytes
}

/// A command capsule, appended.
fn capsule(out: &mut Vec<u8>, sqe: &[u8; 64], data: &[u8]) {
    let offset = if data.is_empty() { 0 } else { 72 };
    out.extend_from_slice(&[4, 0, 72, offset]);
    out.extend_from_slice(&(72 + data.len() as u32).to_le_bytes());
    out.extend_from_slice(sqe);
    out.extend_from_slice(data);
}

/// A queue: 0 is the admin queue, which returns its controller.
fn connect(address: SocketAddr, nqn: &str, queue: u16, controller: u16) -> Result<(TcpStream, u16), Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut out = vec![0; 128];
    out[2] = 128;
    out[4] = 128;
    let mut data = [0; 1024];
    data[0] = 1;
    data[16..18].copy_from_slice(&controller.to_le_bytes());
    data[256..256 + nqn.len()].copy_from_slice(nqn.as_bytes());
    data[512..512 + HOST.len()].copy_from_slice(HOST.as_bytes());
    let dwords = [u32::from(queue) << 16, 127 | 4 << 16, 0, 0, 0, 0];
    capsule(&mut out, &sqe(0x7f, 0, 1, 1024, 1, dwords), &data);
    stream.write_all(&out)?;
    let mut answer = [0; 128 + 24];
    stream.read_exact(&mut answer)?;
    if answer[150..] != [0, 0] {
        return Err(format!("Connect failed: {:x?}", &answer[128..]).into());
    }
    Ok((stream, u16::from_le_bytes([answer[136], answer[137]])))
}

/// Reads of `blocks` blocks at a depth for a while: reads in a second.
fn rate(stream: &mut TcpStream, depth: usize, blocks: u32, time: Duration) -> Result<f64, Box<dyn Error>> {
    let unit = 24 + blocks as usize * 4096;
    let command = |out: &mut Vec<u8>, cid: usize| {
        let dwords = [cid as u32, 0, blocks - 1, 0, 0, 0];
        capsule(out, &sqe(2, cid as u16, 1, blocks * 4096, 0x5a, dwords), &[]);
    };
    let mut out = Vec::new();
    (0..depth).for_each(|cid| command(&mut out, cid));
    stream.write_all(&out)?;
    let mut buffer = vec![0; (unit * depth).max(1 << 20)];
    let (mut filled, mut done, mut issued) = (0, 0usize, depth);
    let begun = Instant::now();
    while done < issued {
        let read = stream.read(&mut buffer[filled..])?;
        if read == 0 {
            return Err("the target closed the connection".into());
        }
        filled += read;
        out.clear();
        let mut start = 0;
        let running = begun.elapsed() < time;
        while filled - start >= unit {
            let header = &buffer[start..start + 24];
            if header[..2] != [7, 0xc] {
                return Err(format!("not data with success: {header:x?}").into());
            }
            let cid = usize::from(u16::from_le_bytes([header[8], header[9]]));
            if buffer[start + 24] != cid as u8 || buffer[start + unit - 1] != cid as u8 {
                return Err("wrong data".into());
            }
            if running {
                command(&mut out, cid);
                issued += 1;
            }
            done += 1;
            start += unit;
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
        stream.write_all(&out)?;
    }
    Ok(done as f64 / begun.elapsed().as_secs_f64())
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = SubsystemConfig::default();
    let nqn = config.nqn.clone();
    let namespace = NamespaceConfig { nsid: 1, uuid: [1; 16], hosts: HostAccess::Any, namespace: Arc::new(Pattern) };
    let subsystem = Subsystem::new(config, HostAccess::Any, vec![namespace])?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let target = runtime.block_on(Target::bind("127.0.0.1:0".parse()?, subsystem))?;
    let address = target.local_addr();
    runtime.spawn(target.serve(std::future::pending()));
    let (mut admin, controller) = connect(address, &nqn, 0, 0xffff)?;
    let mut enable = Vec::new();
    capsule(&mut enable, &sqe(0x7f, 1, 0, 0, 0x5a, [0, 0x14, 0x0046_0001, 0, 0, 0]), &[]);
    admin.write_all(&enable)?;
    admin.read_exact(&mut [0; 24])?;
    let (mut stream, _) = connect(address, &nqn, 1, controller)?;
    for (depth, blocks) in [(1, 1), (32, 1), (1, 32), (32, 32)] {
        let mut rates: Vec<f64> = Vec::new();
        for _ in 0..5 {
            rates.push(rate(&mut stream, depth, blocks, Duration::from_secs(1))?);
        }
        rates.sort_by(f64::total_cmp);
        let (rate, bytes) = (rates[2], rates[2] * f64::from(blocks) * 4096.0 / 1e9);
        println!("{:>4} KiB reads, depth {depth:>2}: {rate:>9.0}/s, {bytes:.2} GB/s (median of 5)", 4 * blocks);
    }
    Ok(())
}
