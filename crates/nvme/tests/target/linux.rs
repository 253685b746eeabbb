//! The bytes that Linux 6.1 and SPDK send when they connect, use a namespace and leave.

use super::{
    blocks::{pattern, subsystem},
    client::{Client, DISCOVERY, HOST, IN_CAPSULE, SUBSYSTEM, TRANSPORT, connect_data, in_memory, sqe},
};
use ciphermill_nvme::server::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A command capsule of Linux on a queue without digests, in hexadecimal with spaces, its SQE only.
fn capsule(sqe: &str, data: &[u8]) -> Vec<u8> {
    let sqe: Vec<u8> = sqe.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    assert_eq!(sqe.len(), 64);
    let mut bytes = vec![4, 0, 72, if data.is_empty() { 0 } else { 72 }];
    bytes.extend_from_slice(&(72 + data.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&sqe);
    bytes.extend_from_slice(data);
    bytes
}

const CONNECT_ADMIN: &str = "7f 40 00 00 01 00 00 00  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 \
     00 00 00 00 00 00 00 00  00 04 00 00 00 00 00 01  00 00 00 00 1f 00 04 00 \
     88 13 00 00 00 00 00 00  00 00 00 00 00 00 00 00";
const GET_CAPABILITIES: &str = "7f 40 01 00 04 00 00 00  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 \
     00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 5a  01 00 00 00 00 00 00 00 \
     00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00";
const SET_CONFIGURATION: &str = "7f 40 02 00 00 00 00 00  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 \
     00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 5a  00 00 00 00 14 00 00 00 \
     01 00 46 00 00 00 00 00  00 00 00 00 00 00 00 00";
const GET_STATUS: &str = "7f 40 03 00 04 00 00 00  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 \
     00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 5a  00 00 00 00 1c 00 00 00 \
     00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00";

async fn response<S: tokio::io::AsyncRead + Unpin>(stream: &mut S) -> [u8; 24] {
    let mut bytes = [0; 24];
    stream.read_exact(&mut bytes).await.unwrap();
    bytes
}

#[tokio::test(start_paused = true)]
async fn linux_opens_an_admin_queue_byte_for_byte() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut stream = in_memory(&subsystem);
    let mut icreq = [0; 128];
    icreq[..8].copy_from_slice(&[0, 0, 128, 0, 128, 0, 0, 0]);
    stream.write_all(&icreq).await.unwrap();
    let mut icresp = [0; 128];
    stream.read_exact(&mut icresp).await.unwrap();
    // Type 1, no flags, 128 bytes; version 0, CPDA 0, no digests, MAXH2CDATA 1 MiB.
    assert_eq!(icresp[..16], [1, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0]);
    assert!(icresp[16..].iter().all(|byte| *byte == 0));

    let data = connect_data([9; 16], 0xffff, SUBSYSTEM, HOST);
    stream.write_all(&capsule(CONNECT_ADMIN, &data)).await.unwrap();
    // Controller 1, no authentication; the head is ffffh as flow control is disabled; status 0.
    let expected = [5, 0, 24, 0, 24, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0];
    assert_eq!(response(&mut stream).await, expected);

    stream.write_all(&capsule(GET_CAPABILITIES, &[])).await.unwrap();
    // MQES 127, CQR, TO 1, the NVM command set.
    let expected = [5, 0, 24, 0, 24, 0, 0, 0, 0x7f, 0, 1, 1, 0x20, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0];
    assert_eq!(response(&mut stream).await, expected);

    stream.write_all(&capsule(SET_CONFIGURATION, &[])).await.unwrap();
    let expected = [5, 0, 24, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 2, 0, 0, 0];
    assert_eq!(response(&mut stream).await, expected);

    stream.write_all(&capsule(GET_STATUS, &[])).await.unwrap();
    let expected = [5, 0, 24, 0, 24, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 3, 0, 0, 0];
    assert_eq!(response(&mut stream).await, expected);
    assert_eq!(subsystem.metrics().controllers, 1);
    drop(stream);
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    assert_eq!(subsystem.metrics().controllers, 0, "the controller goes with its admin connection");
}

#[tokio::test(start_paused = true)]
async fn flow_control_counts_the_head_of_the_queue() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut client = Client::open(in_memory(&subsystem), false, false).await;
    assert_eq!(client.connect(0, SUBSYSTEM, HOST, 2, 0, 0).await.ok().sq_head, 1);
    let mut heads = Vec::new();
    for _ in 0..5 {
        heads.push(client.property_get(8, false).await.ok().sq_head);
    }
    assert_eq!(heads, [2, 0, 1, 2, 0], "a queue of 3 entries");
}

#[tokio::test(start_paused = true)]
async fn linux_uses_a_namespace_from_discovery_to_shutdown() {
    let (subsystem, blocks, _) = subsystem(Limits::default());

    // nvme discover: header first, then all, then Disconnect by closing.
    let mut discovery = Client::open(in_memory(&subsystem), false, false).await;
    discovery.connect(0, DISCOVERY, HOST, 31, 0, 0).await.ok();
    discovery.enable().await;
    let (_, identity) = discovery.identify(1, 0).await;
    assert_eq!(identity[111], 2, "a discovery controller");
    let (cqe, header) = discovery.log_page(0x70, 1024, 0).await;
    cqe.ok();
    assert_eq!(header[8..18], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0], "one record of format 0");
    let (_, log) = discovery.log_page(0x70, 2048, 0).await;
    let entry = &log[1024..];
    assert_eq!(entry[..10], [3, 1, 2, 6, 1, 0, 0xff, 0xff, 128, 0]);
    assert_eq!(&entry[32..37], b"4420 ");
    assert_eq!(&entry[256..256 + SUBSYSTEM.len() + 1], format!("{SUBSYSTEM}\0").as_bytes());
    assert_eq!(&entry[512..522], b"127.0.0.1 ");
    drop(discovery);

    let mut admin = Client::open(in_memory(&subsystem), false, false).await;
    admin.connect(0, SUBSYSTEM, HOST, 31, 0, 5000).await.ok();
    assert_eq!(admin.property_get(0, true).await.ok().result & 0xffff, 127);
    admin.enable().await;
    assert_eq!(admin.property_get(8, false).await.ok().result, 0x0001_0400);
    let (cqe, identity) = admin.identify(1, 0).await;
    cqe.ok();
    assert_eq!(identity[77], 8, "MDTS: 1 MiB");
    assert_eq!(u32::from_le_bytes(identity[1792..1796].try_into().unwrap()), 4 + 512, "IOCCSZ: 8 KiB in a capsule");
    assert_eq!((identity[1796], identity[1800], identity[525]), (1, 0, 0));
    assert_eq!(u32::from_le_bytes(identity[536..540].try_into().unwrap()), 1 | 1 << 20 | 1 << 21);
    admin.identify(6, 0).await.0.ok();
    assert_eq!(admin.set_feature(7, 0x0001_0001).await.ok().result, 0x0001_0001);
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    let mut io2 = Client::io(in_memory(&subsystem), HOST, admin.controller, 2).await;
    let cid = admin.cid();
    admin.command(&sqe(0x18, cid, 0, (0, TRANSPORT), [0; 6])).await.0.ok();
    let (_, list) = admin.identify(2, 0).await;
    assert_eq!(list[..12], [1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
    let (_, descriptors) = admin.identify(3, 1).await;
    assert_eq!(descriptors[..8], [2, 16, 0, 0, 1, 1, 1, 1]);
    assert_eq!(descriptors[20..24], [3, 16, 0, 0]);
    assert_eq!(descriptors[40..46], [4, 1, 0, 0, 0, 0]);
    let (_, namespace) = admin.identify(0, 1).await;
    assert_eq!(namespace[..8], (1u64 << 20).to_le_bytes());
    assert_eq!(namespace[128..132], [0, 0, 12, 0]);
    assert_eq!((namespace[25], namespace[26], namespace[24]), (0, 0, 0b11));

    // What Linux reads unasked, then 1 MiB in eight pieces, read back by the other queue.
    for lba in [0, (1 << 20) - 1, 8] {
        let (cqe, data) = io.read(1, lba, 1).await;
        assert_eq!((cqe.ok().sq_head, data), (0xffff, vec![0; 4096]));
    }
    let data = pattern(256, 3);
    io.write(0x01, 1, 16, &data, 128 << 10).await.ok();
    let (cqe, read) = io2.read(1, 16, 256).await;
    cqe.ok();
    assert!(read == data);
    let flush = sqe(0, 77, 1, (0, TRANSPORT), [0; 6]);
    io.command(&flush).await.0.ok();
    io.command(&sqe(8, 78, 1, (0, TRANSPORT), [16, 0, 3 | 1 << 25, 0, 0, 0])).await.0.ok();
    // Linux sends room for 256 ranges with the one that it means.
    let mut ranges = vec![0; 4096];
    ranges[4..8].copy_from_slice(&2u32.to_le_bytes());
    ranges[8..16].copy_from_slice(&20u64.to_le_bytes());
    io.command_with(&sqe(9, 79, 1, (4096, IN_CAPSULE), [0, 4, 0, 0, 0, 0]), &ranges).await.ok();
    let calls = blocks.calls.lock().unwrap().clone();
    assert_eq!(calls[3..], ["write 16 256", "read 16 256", "flush", "zero 16 4 true", "deallocate [20..22]"]);
    assert_eq!(io.read(1, 16, 8).await.1, [vec![0; 6 * 4096], data[6 * 4096..8 * 4096].to_vec()].concat());

    // Shutdown, then the controller is disabled.
    admin.property_set(0x14, 0x0046_4001).await.ok();
    assert_eq!(admin.property_get(0x1c, false).await.ok().result, 1 | 2 << 2);
    assert_eq!(io.read(1, 0, 1).await.0.code(), 0x0c, "no I/O after a shutdown");
    let disconnect = sqe(0x7f, 80, 8, (0, TRANSPORT), [0; 6]);
    io.command(&disconnect).await.0.ok();
    assert!(io.ended().await.is_empty());
    admin.property_set(0x14, 0).await.ok();
    assert_eq!(admin.property_get(0x1c, false).await.ok().result, 0);
    assert!(io2.ended().await.is_empty(), "a reset ends the I/O queues");
    drop((admin, io, io2));
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let metrics = subsystem.metrics();
    assert_eq!((metrics.connections_open, metrics.hosts, metrics.buffer_bytes), (0, 0, 0));
    assert_eq!((metrics.bytes_written, metrics.protocol_errors, metrics.connections_refused), (1 << 20, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn spdk_asks_for_events_and_keep_alive() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut admin = Client::open(in_memory(&subsystem), true, true).await;
    admin.connect(0, SUBSYSTEM, HOST, 31, 4, 10_000).await.ok();
    // SPDK reads CC and CSTS, enables, waits for CSTS, identifies.
    assert_eq!(admin.property_get(0x14, false).await.ok().result, 0);
    admin.property_set(0x14, 0x0046_0001).await.ok();
    assert_eq!(admin.property_get(0x1c, false).await.ok().result, 1);
    admin.identify(1, 0).await.0.ok();
    // Get then Set the event configuration: it adds SMART warnings and namespace notices.
    assert_eq!(admin.get_feature(0x0b, 0).await.ok().result, 0);
    admin.set_feature(0x0b, 0x11e).await.ok();
    assert_eq!(admin.get_feature(0x0b, 0).await.ok().result, 0x11e);
    assert_eq!(admin.get_feature(0x0f, 0).await.ok().result, 10_000);
    for request in 0..4 {
        admin.send_command(&sqe(0x0c, 0x100 + request, 0, (0, TRANSPORT), [0; 6]), &[]).await;
    }
    let (cqe, _) = admin.command(&sqe(0x0c, 0x104, 0, (0, TRANSPORT), [0; 6])).await;
    assert_eq!(cqe.code(), 0x105, "four requests are the limit");
    assert_eq!(admin.set_feature(7, 0x007e_007e).await.ok().result, 0x000f_000f);
    // Logs that it looks at: supported effects, health, error.
    for (page, length) in [(5, 4096), (2, 512), (1, 4096)] {
        admin.log_page(page, length, 0).await.0.ok();
    }
}
