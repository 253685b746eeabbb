//! Hosts that break the protocol, are too slow, or ask for too much.

use super::{
    blocks::{Behaviour, open_to_all, pattern, subsystem},
    client::{
        Client, HOST, HOST_ID, IN_CAPSULE, OTHER_HOST, SUBSYSTEM, TRANSPORT, connect_data, connect_sqe, icreq,
        in_memory, in_memory_from, sqe,
    },
};
use ciphermill_nvme::server::Limits;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, sleep},
};

const MOMENT: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn broken_units_end_their_connection_with_the_place() {
    let (subsystem, ..) = subsystem(Limits::default());
    let good = {
        let client = Client::open(in_memory(&subsystem), false, false).await;
        client.unit(4, 0, &sqe(0x18, 1, 0, (0, TRANSPORT), [0; 6]), &[])
    };
    let with_data = |length: usize| {
        let mut bytes = vec![4, 0, 72, 72];
        bytes.extend_from_slice(&(72 + length as u32).to_le_bytes());
        bytes.resize(72 + length.min(16), 0);
        bytes
    };
    let changed = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    let cases = [
        (changed(0, 0x08), (1, 0)),
        (changed(0, 0xff), (1, 0)),
        (changed(1, 1), (1, 1)),
        (changed(1, 0x10), (1, 1)),
        (changed(2, 64), (1, 2)),
        (changed(4, 71), (1, 4)),
        (changed(6, 0xff), (1, 3)),
        (with_data(8193), (1, 4)),
        (with_data(u32::MAX as usize - 100), (1, 4)),
        // Units that only controllers send.
        (vec![5, 0, 24, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (1, 0)),
        (vec![9, 0, 24, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (1, 0)),
        (icreq(0, 0, 0).to_vec(), (2, 0)),
        // H2CData for nothing.
        ([&[6, 4, 24, 24, 28, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0][..], &[0; 8]].concat(), (1, 10)),
    ];
    let count = cases.len() as u64;
    for (index, (bytes, expected)) in cases.into_iter().enumerate() {
        let mut client = Client::open(in_memory(&subsystem), false, false).await;
        client.stream.write_all(&bytes).await.unwrap();
        assert_eq!(client.terminated().await, expected, "case {index}");
    }
    // Before the opening: another unit, another version, a wrong alignment, data where none can be.
    let mut version = icreq(0, 0, 0);
    version[8] = 1;
    let mut alignment = icreq(0, 0, 0);
    alignment[10] = 32;
    let mut offset = icreq(0, 0, 0);
    offset[3] = 24;
    let openings =
        [(good.clone(), (2, 0)), (version.to_vec(), (1, 8)), (alignment.to_vec(), (1, 10)), (offset.to_vec(), (1, 3))];
    for (bytes, expected) in openings {
        let mut stream = in_memory(&subsystem);
        stream.write_all(&bytes).await.unwrap();
        let mut answer = [0; 24];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!((answer[0], answer[8], answer[10]), (3, expected.0, expected.1));
    }
    let metrics = subsystem.metrics();
    assert_eq!((metrics.protocol_errors, metrics.buffer_bytes), (count + 4, 0));
    // The host's own termination request just ends it.
    let mut client = Client::open(in_memory(&subsystem), false, false).await;
    client.stream.write_all(&[2, 0, 24, 0, 32, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]).await.unwrap();
    client.stream.write_all(&[0; 16]).await.unwrap();
    assert!(client.ended().await.is_empty());
    assert_eq!(subsystem.metrics().protocol_errors, count + 4);
}

#[tokio::test(start_paused = true)]
async fn data_outside_of_what_was_asked_for_end_the_connection() {
    let (subsystem, blocks, _) = subsystem(Limits::default());
    let admin = Client::admin(in_memory(&subsystem), HOST).await;
    // Command, tag, offset, length of the header, data.
    let cases = [
        (7u16, 9u16, 0u32, 4096u32, 4096, (1, 10)),
        (8, 0, 0, 4096, 4096, (1, 8)),
        (7, 0, 4, 4096, 4096, (4, 0)),
        (7, 0, 0, 20480, 20480, (4, 0)),
        (7, 0, u32::MAX, 4096, 4096, (4, 0)),
        (7, 0, 0, 8192, 4096, (1, 16)),
        (7, 0, 0, 0, 0, (1, 16)),
    ];
    for (cid, tag, offset, length, data, expected) in cases {
        let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
        io.send_command(&sqe(1, 7, 1, (16384, TRANSPORT), [0, 0, 3, 0, 0, 0]), &[]).await;
        assert_eq!(io.r2t(7).await, (0, 0, 16384));
        let mut header = [0; 16];
        header[..2].copy_from_slice(&cid.to_le_bytes());
        header[2..4].copy_from_slice(&tag.to_le_bytes());
        header[4..8].copy_from_slice(&offset.to_le_bytes());
        header[8..12].copy_from_slice(&length.to_le_bytes());
        io.send(6, 4, &header, &vec![0; data]).await;
        assert_eq!(io.terminated().await, expected);
        sleep(MOMENT).await;
    }
    // More than was announced, in a second unit.
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    io.send_command(&sqe(1, 7, 1, (8192, TRANSPORT), [0, 0, 1, 0, 0, 0]), &[]).await;
    let (tag, ..) = io.r2t(7).await;
    io.send_data(7, tag, 0, &[0; 4096], false).await;
    io.send_data(7, tag, 4096, &[0; 8192], true).await;
    assert_eq!(io.terminated().await, (4, 0));
    assert!(blocks.calls.lock().unwrap().is_empty());
    assert_eq!(subsystem.metrics().buffer_bytes, 0);
}

#[tokio::test(start_paused = true)]
async fn more_commands_than_the_queue_has_entries_end_the_connection() {
    let (subsystem, blocks, _) = subsystem(Limits::default());
    let admin = Client::admin(in_memory(&subsystem), HOST).await;
    let mut io = Client::open(in_memory(&subsystem), false, false).await;
    io.controller = admin.controller;
    io.connect(1, SUBSYSTEM, HOST, 3, 4, 0).await.ok();
    blocks.behave(Behaviour { delay: Some(Duration::from_secs(1)), ..Behaviour::default() });
    for cid in 0..4 {
        io.send_command(&sqe(0, cid, 1, (0, TRANSPORT), [0; 6]), &[]).await;
    }
    for _ in 0..4 {
        io.completion().await.0.ok();
    }
    for cid in 0..5 {
        io.send_command(&sqe(0, cid, 1, (0, TRANSPORT), [0; 6]), &[]).await;
    }
    assert_eq!(io.terminated().await, (2, 0));
}

#[tokio::test(start_paused = true)]
async fn slow_hosts_are_dropped_at_each_stage() {
    let limits = Limits {
        handshake_timeout: Duration::from_secs(4),
        pdu_timeout: Duration::from_secs(8),
        transfer_timeout: Duration::from_secs(16),
        response_timeout: Duration::from_secs(32),
        ..Limits::default()
    };
    let (subsystem, ..) = subsystem(limits);
    let admin = Client::admin(in_memory(&subsystem), HOST).await;
    let lasts = async |stream: &mut tokio::io::DuplexStream| {
        let begun = Instant::now();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        begun.elapsed().as_secs_f64()
    };
    // Nothing; one byte a second; no Connect.
    let mut silent = in_memory(&subsystem);
    assert!((4.0..=5.1).contains(&lasts(&mut silent).await));
    let mut slow = in_memory(&subsystem);
    let begun = Instant::now();
    for byte in icreq(0, 0, 0) {
        if slow.write_all(&[byte]).await.is_err() {
            break;
        }
        sleep(Duration::from_secs(1)).await;
    }
    assert!((4.0..=6.1).contains(&begun.elapsed().as_secs_f64()));
    let mut opened = Client::open(in_memory(&subsystem), false, false).await;
    assert!((3.0..=5.1).contains(&lasts(&mut opened.stream).await));
    // Half a unit, half its data.
    for part in [3, 40, 72, 2000] {
        let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
        let unit = io.unit(4, 0, &sqe(1, 1, 1, (4096, IN_CAPSULE), [0; 6]), &[0; 4096]);
        io.stream.write_all(&unit[..part]).await.unwrap();
        assert!((8.0..=10.1).contains(&lasts(&mut io.stream).await));
    }
    // Data asked for that never come.
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    io.send_command(&sqe(1, 7, 1, (1 << 20, TRANSPORT), [0, 0, 255, 0, 0, 0]), &[]).await;
    io.r2t(7).await;
    assert!(subsystem.metrics().buffer_bytes >= 1 << 20);
    assert!((16.0..=18.1).contains(&lasts(&mut io.stream).await));
    // Responses that are not taken.
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    io.send_command(&sqe(2, 7, 1, (1 << 20, TRANSPORT), [0, 0, 255, 0, 0, 0]), &[]).await;
    sleep(Duration::from_secs(31)).await;
    assert_eq!(subsystem.metrics().connections_open, 2);
    sleep(Duration::from_secs(3)).await;
    let metrics = subsystem.metrics();
    assert_eq!((metrics.connections_open, metrics.timeouts, metrics.buffer_bytes), (1, 9, 0));
}

/// An address of a flood, and others.
const FLOOD: &str = "192.0.2.1";
const ELSEWHERE: &str = "192.0.2.2";

#[tokio::test(start_paused = true)]
async fn a_flood_of_connections_before_connect_is_refused_and_pushes_nobody_out() {
    let limits = Limits { max_handshakes: 16, max_handshakes_per_address: 8, ..Limits::default() };
    let (subsystem, ..) = subsystem(limits);
    let mut admin = Client::admin(in_memory(&subsystem), HOST).await;
    // A host in the middle of its handshake.
    let mut honest = Client::open(in_memory_from(&subsystem, ELSEWHERE), false, false).await;
    let mut flood = Vec::new();
    for _ in 0..200 {
        flood.push(in_memory_from(&subsystem, FLOOD));
        tokio::task::yield_now().await;
        assert!(subsystem.metrics().connections_open <= 2 + 8);
    }
    let metrics = subsystem.metrics();
    assert_eq!((metrics.connections_total, metrics.handshakes_refused), (2 + 8, 200 - 8));
    honest.connect(0, SUBSYSTEM, HOST, 31, 0, 0).await.ok();
    // Newcomers of other addresses find a place.
    let mut late = Client::admin(in_memory_from(&subsystem, ELSEWHERE), OTHER_HOST).await;
    late.identify(1, 0).await.0.ok();
    admin.identify(1, 0).await.0.ok();
    sleep(Duration::from_secs(20)).await;
    assert_eq!(subsystem.metrics().connections_open, 3);
}

#[tokio::test(start_paused = true)]
async fn idle_connections_before_connect_make_room_for_a_host_of_their_address() {
    let limits = Limits { max_handshakes: 16, max_handshakes_per_address: 8, ..Limits::default() };
    let (subsystem, ..) = subsystem(limits);
    let idle: Vec<_> = (0..8).map(|_| in_memory_from(&subsystem, FLOOD)).collect();
    sleep(Duration::from_millis(150)).await;
    let mut late = Client::admin(in_memory_from(&subsystem, FLOOD), OTHER_HOST).await;
    late.identify(1, 0).await.0.ok();
    assert_eq!(subsystem.metrics().connections_open, 8, "the oldest went");
    drop(idle);
}

#[tokio::test(start_paused = true)]
async fn floods_from_many_addresses_leave_room_for_others() {
    let limits = Limits { max_handshakes: 16, max_handshakes_per_address: 8, ..Limits::default() };
    let (subsystem, ..) = subsystem(limits);
    let idle: Vec<_> =
        (0..16).map(|number| in_memory_from(&subsystem, if number % 2 == 0 { FLOOD } else { "192.0.2.3" })).collect();
    sleep(Duration::from_millis(150)).await;
    assert_eq!(subsystem.metrics().connections_open, 16);
    Client::admin(in_memory_from(&subsystem, ELSEWHERE), OTHER_HOST).await;
    drop(idle);
}

#[tokio::test(start_paused = true)]
async fn a_connect_that_waits_for_the_target_keeps_its_place() {
    let limits = Limits { max_handshakes: 16, max_handshakes_per_address: 2, ..Limits::default() };
    let (subsystem, blocks, _) = subsystem(limits);
    blocks.behave(Behaviour { delay: Some(Duration::from_secs(10)), ..Behaviour::default() });
    let admin = Client::admin(in_memory_from(&subsystem, FLOOD), HOST).await;
    let mut io = Client::io(in_memory_from(&subsystem, FLOOD), HOST, admin.controller, 1).await;
    io.send_command(&sqe(1, 1, 1, (4096, IN_CAPSULE), [0; 6]), &[1; 4096]).await;
    sleep(MOMENT).await;
    drop((io, admin));
    // The new Connect waits for the write of the lost connection.
    let mut again = Client::open(in_memory_from(&subsystem, FLOOD), false, false).await;
    let data = connect_data(HOST_ID, 0xffff, SUBSYSTEM, HOST);
    again.send_command(&connect_sqe(1, 0, 31, 0, 0), &data).await;
    for _ in 0..10 {
        sleep(Duration::from_millis(200)).await;
        drop(in_memory_from(&subsystem, FLOOD));
    }
    again.completion().await.0.ok();
}

/// Anybody may connect: names cost nothing, addresses do.
#[tokio::test(start_paused = true)]
async fn invented_names_take_the_places_of_one_host() {
    let limits =
        Limits { max_connections: 16, max_connections_per_host: 4, max_commands_per_host: 3, ..Limits::default() };
    let (subsystem, blocks) = open_to_all(limits);
    let mut invented = Vec::new();
    for number in 0..64 {
        let mut client = Client::open(in_memory_from(&subsystem, FLOOD), false, false).await;
        let name = format!("nqn.2026-01.test:invented-{number}");
        if client.connect(0, SUBSYSTEM, &name, 31, 0, 0).await.code() == 0 {
            invented.push((client, name));
        }
    }
    assert_eq!((invented.len(), subsystem.metrics().shares_refused), (4, 60));
    // An established connection is not closed for anybody.
    for (client, _) in &mut invented {
        client.enable().await;
    }
    let honest = Client::admin(in_memory_from(&subsystem, ELSEWHERE), HOST).await;
    let mut io = Client::io(in_memory_from(&subsystem, ELSEWHERE), HOST, honest.controller, 1).await;
    // Commands are shared alike.
    invented.truncate(2);
    sleep(MOMENT).await;
    blocks.behave(Behaviour { delay: Some(Duration::from_secs(1)), ..Behaviour::default() });
    let mut queues = Vec::new();
    for (client, name) in &invented {
        let mut io = Client::io(in_memory_from(&subsystem, FLOOD), name, client.controller, 1).await;
        for cid in 0..4 {
            io.send_command(&sqe(0, cid, 1, (0, TRANSPORT), [0; 6]), &[]).await;
        }
        queues.push(io);
    }
    sleep(MOMENT).await;
    assert_eq!(subsystem.metrics().commands_under_way, 3, "not three for each name");
    io.command(&sqe(0, 1, 1, (0, TRANSPORT), [0; 6])).await.0.ok();
}

#[tokio::test(start_paused = true)]
async fn connections_are_counted_by_host() {
    let limits = Limits { max_connections: 4, max_connections_per_host: 3, ..Limits::default() };
    let (subsystem, ..) = subsystem(limits);
    let mut admins = Vec::new();
    for host in [HOST, HOST, HOST, OTHER_HOST] {
        admins.push(Client::admin(in_memory(&subsystem), host).await);
    }
    let mut more = Client::open(in_memory(&subsystem), false, false).await;
    assert_eq!(more.connect(0, SUBSYSTEM, HOST, 31, 0, 0).await.code(), 0x181);
    assert_eq!(more.connect(0, SUBSYSTEM, OTHER_HOST, 31, 0, 0).await.code(), 0x181);
    admins.pop();
    sleep(MOMENT).await;
    assert_eq!(more.connect(0, SUBSYSTEM, HOST, 31, 0, 0).await.code(), 0x181, "three are enough");
    more.connect(0, SUBSYSTEM, OTHER_HOST, 31, 0, 0).await.ok();
    let data = connect_data(HOST_ID, 0xffff, SUBSYSTEM, "nqn.2026-01.test:unknown");
    let mut unknown = Client::open(in_memory(&subsystem), false, false).await;
    assert_eq!(unknown.command_with(&connect_sqe(1, 0, 31, 0, 0), &data).await.code(), 0x184);
}

/// One host asks for all it can get and takes nothing; memory is bounded, and another host is answered as fast as ever.
#[tokio::test(start_paused = true)]
async fn a_greedy_host_holds_its_share_and_a_quarter_and_hurts_nobody() {
    let limits = Limits { max_connections: 8, ..Limits::default() };
    let limits = Limits { memory_bytes: 8 * limits.share_bytes() + (16 << 20), ..limits };
    let most = limits.memory_bytes as u64;
    let (subsystem, blocks, _) = subsystem(limits);
    let admin = Client::admin(in_memory(&subsystem), OTHER_HOST).await;
    let mut greedy = Vec::new();
    for queue in 1..=5 {
        let mut io = Client::io(in_memory(&subsystem), OTHER_HOST, admin.controller, queue).await;
        // Writes whose data never come, reads that are never taken, and capsules.
        let flood = async {
            for cid in 0..40 {
                io.send_command(&sqe(1, cid, 1, (1 << 20, TRANSPORT), [0, 0, 255, 0, 0, 0]), &[]).await;
                io.send_command(&sqe(2, 100 + cid, 1, (1 << 20, TRANSPORT), [0, 0, 255, 0, 0, 0]), &[]).await;
                io.send_command(&sqe(1, 200 + cid, 1, (8192, IN_CAPSULE), [5, 0, 1, 0, 0, 0]), &[1; 8192]).await;
            }
        };
        // The target stops to read when too much waits for this host.
        tokio::time::timeout(MOMENT, flood).await.expect_err("the flood stalls");
        greedy.push(io);
    }
    sleep(MOMENT).await;
    let held = subsystem.metrics().buffer_bytes;
    assert!(held > 16 << 20 && held < most, "{held} of {most}");

    let good = Client::admin(in_memory(&subsystem), HOST).await;
    let mut io = Client::io(in_memory(&subsystem), HOST, good.controller, 1).await;
    blocks.behave(Behaviour { delay: Some(MOMENT), ..Behaviour::default() });
    let data = pattern(256, 9);
    let begun = Instant::now();
    for round in 0..20u64 {
        io.write(1, 1, round * 256, &data, 128 << 10).await.ok();
        assert!(io.read(1, round * 256, 256).await.1 == data);
        io.write_in_capsule(5, 1, round * 256, &data[..8192]).await.ok();
    }
    assert!(begun.elapsed() < Duration::from_millis(200), "{:?}", begun.elapsed());
    drop(greedy);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(subsystem.metrics().buffer_bytes, 0);
    assert!(subsystem.metrics().buffer_bytes_peak < most);
}

/// Every command is answered in the end when there is memory for one at a time only, whatever the mixture.
#[tokio::test(start_paused = true)]
async fn the_least_memory_suffices_for_full_queues() {
    let limits = Limits { max_connections: 3, ..Limits::default() };
    let limits = Limits { memory_bytes: 3 * limits.share_bytes(), ..limits };
    let (subsystem, blocks, _) = subsystem(limits);
    let admin = Client::admin(in_memory(&subsystem), HOST).await;
    for delay in [None, Some(MOMENT)] {
        blocks.behave(Behaviour { delay, ..Behaviour::default() });
        let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
        let data = pattern(256, 5);
        for cid in 0..40 {
            let length = 1 << 20;
            match cid % 4 {
                0 => io.send_command(&sqe(1, cid, 1, (length, TRANSPORT), [0, 0, 255, 0, 0, 0]), &[]).await,
                1 => io.send_command(&sqe(5, cid, 1, (length, TRANSPORT), [0, 0, 255, 0, 0, 0]), &[]).await,
                2 => io.send_command(&sqe(1, cid, 1, (4096, IN_CAPSULE), [0; 6]), &data[..4096]).await,
                _ => io.send_command(&sqe(2, cid, 1, (8192, TRANSPORT), [9, 0, 1, 0, 0, 0]), &[]).await,
            }
        }
        let mut answered = Vec::new();
        while answered.len() < 40 {
            let unit = io.recv().await.expect("a unit");
            let cid = u16::from_le_bytes([unit.header[0], unit.header[1]]);
            match unit.kind {
                9 => {
                    let tag = u16::from_le_bytes([unit.header[2], unit.header[3]]);
                    io.send_data(cid, tag, 0, &data, true).await;
                }
                7 => answered.push(cid),
                5 => answered.push(u16::from_le_bytes([unit.header[12], unit.header[13]])),
                other => panic!("unit of type {other}"),
            }
        }
        answered.sort_unstable();
        assert_eq!(answered, (0..40).collect::<Vec<u16>>());
        drop(io);
        sleep(MOMENT).await;
    }
    assert_eq!(subsystem.metrics().buffer_bytes, 0);
}

/// Responses without data are bounded too: identifiers used twice are answered at once, however many come.
#[tokio::test(start_paused = true)]
async fn a_flood_of_refused_commands_stalls_its_sender() {
    let (subsystem, blocks, _) = subsystem(Limits::default());
    let mut admin = Client::admin(in_memory(&subsystem), HOST).await;
    blocks.behave(Behaviour { delay: Some(Duration::from_secs(3600)), ..Behaviour::default() });
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    let unit = io.unit(4, 0, &sqe(0, 1, 1, (0, TRANSPORT), [0; 6]), &[]);
    let flood = async {
        let mut sent = 0u64;
        while io.stream.write_all(&unit).await.is_ok() {
            sent += 1;
        }
        sent
    };
    let sent = tokio::time::timeout(Duration::from_secs(60), flood).await.expect("the flood is dropped");
    // What was taken is what fits into the sockets and the bounds: far less than was tried.
    assert!(sent < 40_000, "{sent} commands were taken");
    assert_eq!(subsystem.metrics().timeouts, 1);
    admin.identify(1, 0).await.0.ok();
}

/// Connect, begin something long, vanish, and again: what vanished counts until its commands have ended.
#[tokio::test(start_paused = true)]
async fn connections_that_are_gone_count_as_long_as_their_commands_run() {
    let limits = Limits { max_connections: 16, max_connections_per_host: 6, ..Limits::default() };
    let limits = Limits { memory_bytes: 16 * limits.share_bytes(), ..limits };
    let most = limits.memory_bytes as u64;
    let (subsystem, blocks, _) = subsystem(limits);
    blocks.behave(Behaviour { delay: Some(Duration::from_secs(1000)), ..Behaviour::default() });
    let mut lost = 0;
    let refused = loop {
        let mut admin = Client::open(in_memory(&subsystem), false, false).await;
        let cqe = admin.connect(0, SUBSYSTEM, OTHER_HOST, 31, 0, 0).await;
        if cqe.code() != 0 {
            break cqe;
        }
        admin.enable().await;
        let mut io = Client::open(in_memory(&subsystem), false, false).await;
        io.controller = admin.controller;
        let cqe = io.connect(1, SUBSYSTEM, OTHER_HOST, 127, 4, 0).await;
        if cqe.code() != 0 {
            break cqe;
        }
        io.send_command(&sqe(2, 1, 1, (1 << 20, TRANSPORT), [0, 0, 255, 0, 0, 0]), &[]).await;
        sleep(MOMENT).await;
        lost += 1;
        drop((admin, io));
        sleep(MOMENT).await;
        assert!(lost < 100, "nobody is refused");
    };
    // Controller Busy, which may be tried again.
    assert_eq!((refused.status & 0x7fff, lost), (0x181, 5));
    let metrics = subsystem.metrics();
    assert_eq!((metrics.commands_under_way, metrics.hosts), (5, 1));
    assert!(metrics.buffer_bytes >= 5 << 20 && metrics.buffer_bytes < most, "{}", metrics.buffer_bytes);
    // Another host works.
    blocks.behave(Behaviour::default());
    let admin = Client::admin(in_memory(&subsystem), HOST).await;
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    io.write(1, 1, 0, &pattern(256, 1), 128 << 10).await.ok();
    // When the commands have ended, so does the host that came and went.
    sleep(Duration::from_secs(1000)).await;
    let metrics = subsystem.metrics();
    assert_eq!((metrics.commands_under_way, metrics.buffer_bytes, metrics.hosts), (0, 0, 1));
    Client::admin(in_memory(&subsystem), OTHER_HOST).await;
}

#[tokio::test(start_paused = true)]
async fn a_host_has_a_bounded_number_of_commands_under_way_on_all_its_connections() {
    let limits = Limits { max_commands_per_host: 4, ..Limits::default() };
    let (subsystem, blocks, _) = subsystem(limits);
    let admin = Client::admin(in_memory(&subsystem), OTHER_HOST).await;
    let mut one = Client::io(in_memory(&subsystem), OTHER_HOST, admin.controller, 1).await;
    let mut two = Client::io(in_memory(&subsystem), OTHER_HOST, admin.controller, 2).await;
    let second = Duration::from_secs(1);
    blocks.behave(Behaviour { delay: Some(second), ..Behaviour::default() });
    let called = || blocks.calls.lock().unwrap().len();
    for cid in 0..5 {
        for io in [&mut one, &mut two] {
            io.send_command(&sqe(1, cid, 1, (4096, IN_CAPSULE), [cid.into(), 0, 0, 0, 0, 0]), &[1; 4096]).await;
            sleep(MOMENT).await;
        }
    }
    assert_eq!((called(), subsystem.metrics().commands_under_way), (4, 4));
    // Another host does not wait for them, and neither does the admin queue.
    let good = Client::admin(in_memory(&subsystem), HOST).await;
    let mut other = Client::io(in_memory(&subsystem), HOST, good.controller, 1).await;
    let begun = Instant::now();
    other.command(&sqe(0, 1, 1, (0, TRANSPORT), [0; 6])).await.0.ok();
    assert_eq!(begun.elapsed(), second);
    assert_eq!(called(), 4 + 1 + 4, "the first four, that one, and the next four");
    // What has not begun when its connection ends never does, and holds nothing.
    drop((one, two, admin));
    sleep(10 * second).await;
    assert_eq!(called(), 9);
    let metrics = subsystem.metrics();
    assert_eq!((metrics.commands_under_way, metrics.buffer_bytes, metrics.hosts), (0, 0, 1));
    let admin = Client::admin(in_memory(&subsystem), OTHER_HOST).await;
    let mut io = Client::io(in_memory(&subsystem), OTHER_HOST, admin.controller, 1).await;
    for cid in 0..10 {
        io.send_command(&sqe(0, cid, 1, (0, TRANSPORT), [0; 6]), &[]).await;
    }
    let begun = Instant::now();
    for _ in 0..10 {
        io.completion().await.0.ok();
    }
    assert_eq!(begun.elapsed().as_secs(), 3, "four, four and two");
}

#[tokio::test(start_paused = true)]
async fn refused_connects_are_bounded_in_number() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut stranger = Client::open(in_memory(&subsystem), false, false).await;
    let begun = Instant::now();
    for _ in 0..16 {
        assert_eq!(stranger.connect(0, SUBSYSTEM, "nqn.2026-01.test:unknown", 31, 0, 0).await.code(), 0x184);
    }
    assert!(stranger.ended().await.is_empty());
    assert!(begun.elapsed() < Duration::from_secs(1), "not at the end of the time before Connect");
}

/// Connections that ended before Connect and whose hosts do not close them also push each other out.
#[tokio::test(start_paused = true)]
async fn last_words_count_as_connections() {
    let (subsystem, ..) = subsystem(Limits { max_handshakes: 4, ..Limits::default() });
    let mut ended = Vec::new();
    for _ in 0..20 {
        let mut client = Client::open(in_memory(&subsystem), false, false).await;
        client.stream.write_all(&[0xff; 8]).await.unwrap();
        sleep(MOMENT).await;
        ended.push(client);
        assert!(subsystem.metrics().connections_open <= 4);
    }
    let mut open = 0;
    for client in &mut ended {
        open += usize::from(client.stream.write_all(&[0]).await.is_ok());
    }
    assert_eq!(open, 4);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(subsystem.metrics().connections_open, 0);
}

/// A host may take as long as it likes for its data while some of them come, or while the target itself takes nothing.
#[tokio::test(start_paused = true)]
async fn data_that_come_slowly_are_waited_for() {
    let limits = Limits { transfer_timeout: Duration::from_secs(8), ..Limits::default() };
    let (subsystem, blocks, _) = subsystem(limits);
    let admin = Client::admin(in_memory(&subsystem), HOST).await;
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    let data = pattern(8, 3);
    for cid in [1, 2] {
        io.send_command(&sqe(1, cid, 1, (32768, TRANSPORT), [u32::from(cid) * 8, 0, 7, 0, 0, 0]), &[]).await;
    }
    let tags = [io.r2t(1).await.0, io.r2t(2).await.0];
    // The second command waits for all of the first.
    for (cid, tag) in [1, 2].into_iter().zip(tags) {
        for (index, piece) in data.chunks(4096).enumerate() {
            sleep(Duration::from_secs(5)).await;
            io.send_data(cid, tag, index as u32 * 4096, piece, index == 7).await;
        }
        assert_eq!(io.completion().await.0.ok().cid, cid);
    }
    assert!(blocks.get(8) == data[..4096] && blocks.get(23) == data[7 * 4096..]);
    // The target takes nothing while this host does not take its responses, little by little.
    io.send_command(&sqe(1, 1, 1, (4096, TRANSPORT), [0; 6]), &[]).await;
    let (tag, ..) = io.r2t(1).await;
    for cid in 2..5 {
        io.send_command(&sqe(2, cid, 1, (1 << 20, TRANSPORT), [0, 0, 255, 0, 0, 0]), &[]).await;
    }
    let mut read = vec![0; 128 << 10];
    for _ in 0..10 {
        sleep(Duration::from_secs(5)).await;
        io.stream.read_exact(&mut read).await.unwrap();
    }
    // 3 MiB with three headers, less what was read.
    let mut rest = vec![0; (3 << 20) + 3 * 24 - 10 * read.len()];
    io.stream.read_exact(&mut rest).await.unwrap();
    io.send_data(1, tag, 0, &data[..4096], true).await;
    assert_eq!(io.completion().await.0.ok().cid, 1);
}
