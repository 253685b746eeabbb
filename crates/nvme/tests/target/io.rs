//! I/O commands: their effects and refusals.

use super::{
    blocks::{Behaviour, Blocks, pattern, subsystem},
    client::{Client, HOST, IN_CAPSULE, OTHER_HOST, TRANSPORT, in_memory, sqe},
};
use ciphermill_nvme::{
    CommandError, Status,
    server::{Limits, Subsystem},
};
use std::{sync::Arc, time::Duration};
use tokio::io::DuplexStream;

struct Bench {
    subsystem: Arc<Subsystem>,
    one: Arc<Blocks>,
    two: Arc<Blocks>,
    admin: Client<DuplexStream>,
    io: Client<DuplexStream>,
}

async fn bench(host: &str) -> Bench {
    let (subsystem, one, two) = subsystem(Limits::default());
    let admin = Client::admin(in_memory(&subsystem), host).await;
    let io = Client::io(in_memory(&subsystem), host, admin.controller, 1).await;
    Bench { subsystem, one, two, admin, io }
}

/// A command and its status; no command moves data.
async fn status(io: &mut Client<DuplexStream>, sqe: [u8; 64]) -> u16 {
    io.command(&sqe).await.0.code()
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_a_command_is_told() {
    let Bench { mut io, one, admin: _admin, .. } = bench(HOST).await;
    let read = |nsid, length, kind, dwords| sqe(2, 9, nsid, (length, kind), dwords);
    let last = (1 << 20) - 1;
    let cases = [
        (read(1, 4096, TRANSPORT, [1 << 20, 0, 0, 0, 0, 0]), 0x80),
        (read(1, 8192, TRANSPORT, [last, 0, 1, 0, 0, 0]), 0x80),
        (read(1, 4096, TRANSPORT, [u32::MAX, u32::MAX, 0, 0, 0, 0]), 0x80),
        (read(1, 257 * 4096, TRANSPORT, [0, 0, 256, 0, 0, 0]), 0x02),
        (read(2, 4096, TRANSPORT, [0; 6]), 0x0b),
        (read(0, 4096, TRANSPORT, [0; 6]), 0x0b),
        (read(u32::MAX, 4096, TRANSPORT, [0; 6]), 0x0b),
        (read(1, 8192, TRANSPORT, [0; 6]), 0x0f),
        (read(1, 0, TRANSPORT, [0; 6]), 0x0f),
        (read(1, 4096, 0x00, [0; 6]), 0x11),
        (read(1, 4096, IN_CAPSULE, [0; 6]), 0x11),
        (sqe(1, 9, 1, (8192, IN_CAPSULE), [0, 0, 1, 0, 0, 0]), 0x0f),
        (sqe(0x0d, 9, 1, (0, TRANSPORT), [0; 6]), 0x01),
        (sqe(0x81, 9, 1, (4096, TRANSPORT), [0; 6]), 0x01),
        (sqe(0x84, 9, 1, (0, TRANSPORT), [0; 6]), 0x01),
        (sqe(0xc2, 9, 1, (2 << 20, TRANSPORT), [0; 6]), 0x02),
        (sqe(8, 9, 1, (0, TRANSPORT), [last, 0, 1, 0, 0, 0]), 0x80),
        (sqe(0x7f, 9, 4, (0, TRANSPORT), [0; 6]), 0x01),
    ];
    for (index, (sqe, expected)) in cases.into_iter().enumerate() {
        assert_eq!(status(&mut io, sqe).await, expected, "case {index}");
    }
    let mut fused = read(1, 4096, TRANSPORT, [0; 6]);
    fused[1] |= 1;
    assert_eq!(status(&mut io, fused).await, 0x02);
    // Data where none belong, at another offset, under another descriptor.
    let data = [0; 4096];
    assert_eq!(io.command_with(&sqe(0, 9, 1, (4096, IN_CAPSULE), [0; 6]), &data).await.code(), 0x02);
    assert_eq!(io.command_with(&sqe(1, 9, 1, (4096, TRANSPORT), [0; 6]), &data).await.code(), 0x0d);
    assert_eq!(io.command_with(&sqe(1, 9, 1, (8192, IN_CAPSULE), [0, 0, 1, 0, 0, 0]), &data).await.code(), 0x0f);
    let mut shifted = sqe(1, 9, 1, (4096, IN_CAPSULE), [0; 6]);
    shifted[24] = 4;
    assert_eq!(io.command_with(&shifted, &data).await.code(), 0x16);
    assert!(one.calls.lock().unwrap().is_empty(), "none came to the namespace");
    assert_eq!(io.read(1, last.into(), 1).await.0.code(), 0, "the connection goes on");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_is_there_for_its_hosts_only() {
    let Bench { mut io, mut admin, two, .. } = bench(OTHER_HOST).await;
    assert_eq!(io.read(5, 0, 1).await.0.code(), 0x0b);
    assert_eq!(io.write_in_capsule(1, 5, 0, &[1; 4096]).await.code(), 0x0b);
    assert_eq!(admin.identify(2, 0).await.1[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(admin.identify(2, 1).await.1[..4], [0; 4]);
    for cns in [0, 3, 5, 8] {
        assert_eq!(admin.identify(cns, 5).await.0.code(), 0x0b);
        admin.identify(cns, 1).await.0.ok();
    }
    // Not even their greatest number is reported.
    let (_, controller) = admin.identify(1, 0).await;
    assert_eq!(controller[516..520], [1, 0, 0, 0]);
    // Flush of all namespaces is one of those that the host sees.
    assert_eq!(status(&mut io, sqe(0, 9, u32::MAX, (0, TRANSPORT), [0; 6])).await, 0);
    assert!(two.calls.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn compare_reads_in_pieces_and_names_the_block() {
    let Bench { mut io, mut admin, one, .. } = bench(HOST).await;
    let mut data = pattern(40, 8);
    one.put(7, &data);
    io.write(5, 1, 7, &data, 1 << 20).await.ok();
    io.write_in_capsule(5, 1, 8, &data[4096..8192]).await.ok();
    assert_eq!(*one.calls.lock().unwrap(), ["read 7 16", "read 23 16", "read 39 8", "read 8 1"]);
    data[33 * 4096 + 5] ^= 1;
    let cqe = io.write(5, 1, 7, &data, 1 << 20).await;
    assert_eq!(cqe.code(), 0x285);
    let (_, log) = admin.log_page(1, 64, 0).await;
    assert_eq!(u64::from_le_bytes(log[16..24].try_into().unwrap()), 40);
}

#[tokio::test(start_paused = true)]
async fn dataset_management_judges_every_range() {
    let Bench { mut io, one, admin: _admin, .. } = bench(HOST).await;
    let range = |lba: u64, blocks: u32| {
        let mut bytes = [0; 16];
        bytes[4..8].copy_from_slice(&blocks.to_le_bytes());
        bytes[8..].copy_from_slice(&lba.to_le_bytes());
        bytes
    };
    let ranges = [range(5, 3), range(9, 0), range(1 << 19, 1 << 19)].concat();
    let dsm = |length, kind, count: u32, attributes| sqe(9, 3, 1, (length, kind), [count - 1, attributes, 0, 0, 0, 0]);
    io.command_with(&dsm(48, IN_CAPSULE, 3, 4), &ranges).await.ok();
    // The same by transfer; and without the attribute, which is a hint.
    io.send_command(&dsm(48, TRANSPORT, 3, 4), &[]).await;
    io.transfer(3, &ranges, 16).await;
    io.completion().await.0.ok();
    io.command_with(&dsm(48, IN_CAPSULE, 3, 1), &ranges).await.ok();
    assert_eq!(*one.calls.lock().unwrap(), ["deallocate [5..8, 524288..1048576]"; 2]);
    let wrong = [range(0, 1), range(1 << 20, 1)].concat();
    assert_eq!(io.command_with(&dsm(32, IN_CAPSULE, 2, 4), &wrong).await.code(), 0x80);
    let wrong = range(u64::MAX, 1);
    assert_eq!(io.command_with(&dsm(16, IN_CAPSULE, 1, 4), &wrong).await.code(), 0x80);
    assert_eq!(io.command_with(&dsm(16, IN_CAPSULE, 2, 4), &wrong).await.code(), 0x0f, "fewer bytes than ranges");
    assert_eq!(one.calls.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn vendor_commands_give_what_was_asked_for() {
    let Bench { mut io, one, admin: _admin, .. } = bench(HOST).await;
    let (cqe, data) = io.command(&sqe(0xc2, 4, 1, (64, TRANSPORT), [1, 2, 3, 4, 5, 6])).await;
    cqe.ok();
    assert_eq!(&data[..9], b"directory");
    assert!(data.len() == 64 && data[9..].iter().all(|byte| *byte == 0));
    assert_eq!(*one.calls.lock().unwrap(), ["vendor [1, 2, 3, 4, 5, 6] 64"]);
    // More than was asked for is the namespace's fault.
    assert_eq!(status(&mut io, sqe(0xc2, 4, 1, (4, TRANSPORT), [0; 6])).await, 0x06);
}

#[tokio::test(start_paused = true)]
async fn what_a_namespace_gets_wrong_is_told_with_its_cause() {
    let Bench { mut io, mut admin, one, subsystem, .. } = bench(HOST).await;
    for delay in [None, Some(Duration::from_millis(5))] {
        let error = CommandError::new(Status::vendor(0x21), "operand r2 is no ciphertext").at(1234);
        one.behave(Behaviour { failure: Some(error), delay, ..Behaviour::default() });
        let cqe = io.write_in_capsule(1, 1, 1234, &[0; 4096]).await;
        assert_eq!(cqe.status, 0x721 | 1 << 13, "the log says more");
        let (_, entry) = admin.log_page(1, 64, 0).await;
        assert_eq!(entry[8..12], [1, 0, cqe.cid as u8, 0]);
        assert_eq!(u16::from_le_bytes([entry[12], entry[13]]) >> 1, cqe.status);
        assert_eq!(entry[16..24], 1234u64.to_le_bytes());
        assert_eq!((entry[24], entry[28], entry[29]), (1, 0xc1, 3));
        let (_, text) = admin.log_page(0xc1, 256, 0).await;
        assert_eq!(text[..8], entry[..8], "the same count");
        assert_eq!((text[14], &text[16..43]), (27, &b"operand r2 is no ciphertext"[..]));
        one.behave(Behaviour { short: true, delay, ..Behaviour::default() });
        assert_eq!(io.read(1, 0, 2).await.0.code(), 0x06);
    }
    // A namespace that panics takes no other one with it.
    one.behave(Behaviour { panics: true, delay: Some(Duration::from_millis(1)), ..Behaviour::default() });
    assert_eq!(io.read(1, 0, 1).await.0.code(), 0x06);
    one.behave(Behaviour { failure: Some(Status::UNRECOVERED_READ_ERROR.into()), ..Behaviour::default() });
    assert_eq!(io.read(1, 0, 1).await.0.status, 0x281, "no text, no More");
    let metrics = subsystem.metrics();
    assert_eq!((metrics.buffer_bytes, metrics.commands_under_way), (0, 0));
    assert_eq!(metrics.errors, [(0, 3), (2, 1), (7, 2)].into());
    let (_, smart) = admin.log_page(2, 512, 0).await;
    assert_eq!((smart[160], smart[176]), (1, 6), "media errors, error log entries");
}

#[tokio::test(start_paused = true)]
async fn smart_counts_what_was_moved() {
    let Bench { mut io, mut admin, subsystem, .. } = bench(HOST).await;
    for _ in 0..3 {
        io.write(1, 1, 0, &pattern(250, 0), 1 << 20).await.ok();
    }
    io.read(1, 0, 1).await.0.ok();
    io.write(5, 1, 0, &pattern(250, 0), 1 << 20).await.ok();
    // Hours pass; a host that says nothing at all would be dropped after ten minutes.
    for _ in 0..25 {
        tokio::time::advance(Duration::from_secs(299)).await;
        io.read(1, 0, 1).await.0.ok();
    }
    let (_, smart) = admin.log_page(2, 512, 0).await;
    let counter = |at: usize| u128::from_le_bytes(smart[at..at + 16].try_into().unwrap());
    // Thousands of 512 bytes, rounded up: 3 * 250 blocks written; 250 compared and 26 read.
    assert_eq!((counter(48), counter(32)), (6, 3));
    assert_eq!((counter(80), counter(64), counter(128)), (3, 27, 2));
    assert_eq!(subsystem.metrics().bytes_written, 750 * 4096);
}

#[tokio::test(start_paused = true)]
async fn commands_end_in_any_order_and_identifiers_are_used_once_at_a_time() {
    let Bench { mut io, one, subsystem, admin: _admin, .. } = bench(HOST).await;
    one.behave(Behaviour { delay: Some(Duration::from_millis(50)), ..Behaviour::default() });
    let read = |cid, lba| sqe(2, cid, 1, (4096, TRANSPORT), [lba, 0, 0, 0, 0, 0]);
    io.send_command(&read(1, 0), &[]).await;
    io.send_command(&read(1, 1), &[]).await;
    let (cqe, _) = io.completion().await;
    assert_eq!((cqe.cid, cqe.code()), (1, 0x03), "Command ID Conflict at once");
    one.behave(Behaviour::default());
    io.send_command(&read(2, 2), &[]).await;
    assert_eq!(io.completion().await.0.cid, 2, "a later command is not held up");
    assert_eq!(io.completion().await.0.ok().cid, 1);
    io.send_command(&read(1, 3), &[]).await;
    assert_eq!(io.completion().await.0.ok().cid, 1, "free again");
    assert_eq!(subsystem.metrics().io_commands, [(2, 4)].into());
}

/// Health counts the host's own commands, also over several controllers; of others it learns nothing.
#[tokio::test(start_paused = true)]
async fn smart_says_nothing_of_other_hosts() {
    let Bench { mut io, mut admin, one, subsystem, .. } = bench(OTHER_HOST).await;
    io.read(1, 0, 250).await.0.ok();
    {
        let admin = Client::admin(in_memory(&subsystem), HOST).await;
        let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
        io.write(1, 5, 0, &pattern(250, 0), 1 << 20).await.ok();
        io.read(5, 0, 250).await.0.ok();
        one.behave(Behaviour { failure: Some(Status::UNRECOVERED_READ_ERROR.into()), ..Behaviour::default() });
        assert_eq!(io.read(1, 0, 1).await.0.code(), 0x281);
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    let counters = async |admin: &mut Client<DuplexStream>| {
        let (_, smart) = admin.log_page(2, 512, 0).await;
        // Units read and written, reads, writes, unsafe shutdowns, media errors.
        [32, 48, 64, 80, 144, 160].map(|at| smart[at])
    };
    assert_eq!(counters(&mut admin).await, [2, 0, 1, 0, 0, 0]);
    let mut again = Client::admin(in_memory(&subsystem), HOST).await;
    assert_eq!(counters(&mut again).await, [3, 2, 2, 1, 1, 1]);
}
