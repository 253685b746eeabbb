//! How controllers live and end: keep-alive, events, reset, shutdown, lost connections.

use super::{
    blocks::{Behaviour, subsystem},
    client::{
        Client, Cqe, DISCOVERY, HOST, HOST_ID, OTHER_HOST, SUBSYSTEM, TRANSPORT, connect_data, connect_sqe, in_memory,
        sqe,
    },
};
use ciphermill_nvme::server::{Limits, Subsystem};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, advance, sleep};

const MOMENT: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn a_silent_host_loses_its_controller_and_its_queues() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut admin = Client::open(in_memory(&subsystem), false, false).await;
    admin.connect(0, SUBSYSTEM, HOST, 31, 0, 2500).await.ok();
    admin.enable().await;
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    for _ in 0..10 {
        sleep(Duration::from_millis(2900)).await;
        let cid = admin.cid();
        admin.command(&sqe(0x18, cid, 0, (0, TRANSPORT), [0; 6])).await.0.ok();
    }
    assert_eq!(subsystem.metrics().keep_alive_expiries, 0);
    // Other commands are not a sign of life when a timeout is set.
    sleep(Duration::from_millis(2000)).await;
    io.read(1, 0, 1).await.0.ok();
    admin.property_get(8, false).await.ok();
    sleep(Duration::from_millis(1001)).await;
    assert!(admin.ended().await.is_empty() && io.ended().await.is_empty());
    let metrics = subsystem.metrics();
    assert_eq!((metrics.keep_alive_expiries, metrics.controllers, metrics.connections_open), (1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_keep_alive_timeout_can_be_changed_and_left_out() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut admin = Client::open(in_memory(&subsystem), false, false).await;
    admin.connect(0, SUBSYSTEM, HOST, 31, 0, 1000).await.ok();
    admin.enable().await;
    admin.set_feature(0x0f, 100_000).await.ok();
    sleep(Duration::from_secs(99)).await;
    admin.set_feature(0x0f, 0).await.ok();
    // Without one, any command within ten minutes will do.
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    for _ in 0..4 {
        sleep(Duration::from_secs(550)).await;
        io.read(1, 0, 1).await.0.ok();
    }
    sleep(Duration::from_secs(1201)).await;
    assert!(io.ended().await.is_empty());
    assert_eq!(subsystem.metrics().keep_alive_expiries, 1);
    let mut discovery = Client::open(in_memory(&subsystem), false, false).await;
    discovery.connect(0, DISCOVERY, HOST, 31, 0, 0).await.ok();
    sleep(Duration::from_secs(119)).await;
    assert_eq!(subsystem.metrics().controllers, 1);
    sleep(Duration::from_secs(122)).await;
    assert_eq!(subsystem.metrics().controllers, 0, "who discovers is dropped sooner");
}

#[tokio::test(start_paused = true)]
async fn changes_of_namespaces_are_told_to_hosts_that_see_them() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut admin = Client::admin(in_memory(&subsystem), HOST).await;
    let mut other = Client::admin(in_memory(&subsystem), OTHER_HOST).await;
    for client in [&mut admin, &mut other] {
        client.set_feature(0x0b, 0x100).await.ok();
        client.send_command(&sqe(0x0c, 900, 0, (0, TRANSPORT), [0; 6]), &[]).await;
        client.send_command(&sqe(0x0c, 901, 0, (0, TRANSPORT), [0; 6]), &[]).await;
    }
    subsystem.namespaces_changed(5);
    subsystem.namespaces_changed(6);
    let (cqe, _) = admin.completion().await;
    assert_eq!((cqe.cid, cqe.ok().result), (900, 0x04_00_02), "a notice, log page 04h");
    subsystem.namespaces_changed(1);
    let (cqe, _) = other.completion().await;
    assert_eq!((cqe.cid, cqe.result), (900, 0x04_00_02));
    sleep(MOMENT).await;
    // The first host is not notified a second time before it reads the page.
    let (_, changed) = admin.log_page(4, 4096, 0).await;
    assert_eq!(changed[..12], [1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(admin.log_page(4, 4096, 0).await.1[..4], [0; 4], "reading clears it");
    assert_eq!(other.log_page(4, 4096, 0).await.1[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
    subsystem.namespaces_changed(1);
    assert_eq!(admin.completion().await.0.cid, 901);
}

#[tokio::test(start_paused = true)]
async fn a_reset_ends_queues_and_waiting_requests_and_forgets_settings() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut admin = Client::admin(in_memory(&subsystem), HOST).await;
    admin.set_feature(0x01, 3).await.ok();
    admin.set_feature(0x0b, 0x100).await.ok();
    admin.set_feature(7, 0).await.ok();
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    admin.send_command(&sqe(0x0c, 900, 0, (0, TRANSPORT), [0; 6]), &[]).await;
    admin.send_command(&sqe(0x7f, 901, 0, (0, TRANSPORT), [0, 0x14, 0, 0, 0, 0]), &[]).await;
    let (aborted, _) = admin.completion().await;
    assert_eq!((aborted.cid, aborted.code()), (900, 0x08));
    assert_eq!(admin.completion().await.0.ok().cid, 901);
    assert!(io.ended().await.is_empty());
    assert_eq!(admin.get_feature(1, 0).await.code(), 0x0c, "not enabled");
    admin.enable().await;
    assert_eq!(admin.get_feature(1, 0).await.ok().result, 7);
    assert_eq!(admin.get_feature(7, 0).await.ok().result, 0x000f_000f);
    assert_eq!(admin.get_feature(0x0b, 0).await.ok().result, 0);
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    io.read(1, 0, 1).await.0.ok();
}

#[tokio::test(start_paused = true)]
async fn shutdown_is_complete_when_commands_have_ended() {
    let (subsystem, blocks, _) = subsystem(Limits::default());
    let mut admin = Client::admin(in_memory(&subsystem), HOST).await;
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    blocks.behave(Behaviour { delay: Some(Duration::from_secs(5)), ..Behaviour::default() });
    io.send_command(&sqe(8, 1, 1, (0, TRANSPORT), [0; 6]), &[]).await;
    sleep(MOMENT).await;
    admin.property_set(0x14, 0x0046_4001).await.ok();
    assert_eq!(admin.property_get(0x1c, false).await.ok().result, 1 | 1 << 2, "shutdown occurs");
    assert_eq!(io.completion().await.0.ok().cid, 1);
    assert_eq!(admin.property_get(0x1c, false).await.ok().result, 1 | 2 << 2);
    assert_eq!(admin.identify(1, 0).await.0.code(), 0x0c);
    let mut late = Client::open(in_memory(&subsystem), false, false).await;
    late.controller = admin.controller;
    assert_eq!(late.connect(2, SUBSYSTEM, HOST, 31, 0, 0).await.code(), 0x0c);
    admin.property_set(0x14, 0).await.ok();
    admin.enable().await;
    admin.identify(1, 0).await.0.ok();
}

#[tokio::test(start_paused = true)]
async fn commands_run_to_their_end_when_their_host_vanishes() {
    let (subsystem, blocks, _) = subsystem(Limits::default());
    let admin = Client::admin(in_memory(&subsystem), HOST).await;
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    blocks.behave(Behaviour { delay: Some(Duration::from_secs(3)), ..Behaviour::default() });
    io.send_command(&sqe(1, 1, 1, (4096, 1), [77, 0, 0, 0, 0, 0]), &[0xaa; 4096]).await;
    sleep(MOMENT).await;
    assert_eq!(subsystem.metrics().commands_under_way, 1);
    drop(admin);
    drop(io);
    sleep(MOMENT).await;
    let metrics = subsystem.metrics();
    assert_eq!((metrics.controllers, metrics.connections_open, metrics.commands_under_way), (0, 0, 1));
    assert!(metrics.buffer_bytes > 0, "what the command holds is held");
    advance(Duration::from_secs(3)).await;
    sleep(MOMENT).await;
    assert_eq!(blocks.get(77), [0xaa; 4096]);
    let metrics = subsystem.metrics();
    assert_eq!((metrics.commands_under_way, metrics.buffer_bytes), (0, 0));
}

/// Sends a Connect and gives its answer with the time that it took.
async fn timed_connect(subsystem: &Arc<Subsystem>, host: &str, controller: u16, qid: u16) -> (Cqe, Duration) {
    let begun = Instant::now();
    let mut client = Client::open(in_memory(subsystem), false, false).await;
    client.controller = controller;
    let cqe = client.connect(qid, SUBSYSTEM, host, 31, 0, 0).await;
    (cqe, begun.elapsed())
}

fn slow(seconds: u64) -> Behaviour {
    Behaviour { delay: Some(Duration::from_secs(seconds)), ..Behaviour::default() }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_comes_back_waits_for_the_writes_it_lost() {
    let (subsystem, blocks, _) = subsystem(Limits::default());
    let admin = Client::admin(in_memory(&subsystem), HOST).await;
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    // A lost read changes nothing: no host waits for it.
    blocks.behave(slow(1000));
    io.send_command(&sqe(2, 1, 1, (4096, TRANSPORT), [77, 0, 0, 0, 0, 0]), &[]).await;
    blocks.behave(slow(0));
    drop((admin, io));
    sleep(MOMENT).await;
    let mut admin = Client::admin(in_memory(&subsystem), HOST).await;
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;

    // A lost write is waited for, longer than a handshake may take otherwise; by its host only.
    blocks.behave(slow(20));
    io.send_command(&sqe(1, 1, 1, (4096, 1), [77, 0, 0, 0, 0, 0]), &[0xaa; 4096]).await;
    sleep(MOMENT).await;
    blocks.behave(Behaviour::default());
    drop(io);
    sleep(MOMENT).await;
    let (other, queue, again) = tokio::join!(
        timed_connect(&subsystem, OTHER_HOST, 0xffff, 0),
        timed_connect(&subsystem, HOST, admin.controller, 1),
        timed_connect(&subsystem, HOST, 0xffff, 0),
    );
    assert_eq!((other.0.code(), queue.0.code(), again.0.code()), (0, 0, 0));
    assert!(other.1 < MOMENT, "{other:?}");
    for waited in [queue.1, again.1] {
        assert!((Duration::from_secs(19)..Duration::from_secs(21)).contains(&waited), "{waited:?}");
    }
    assert_eq!(blocks.get(77), [0xaa; 4096]);
    // What is written from now on stays.
    sleep(MOMENT).await;
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    io.command_with(&sqe(1, 1, 1, (4096, 1), [77, 0, 0, 0, 0, 0]), &[0xbb; 4096]).await.ok();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(blocks.get(77), [0xbb; 4096]);
    admin.property_get(8, false).await.ok();
}

#[tokio::test(start_paused = true)]
async fn what_a_host_lost_holds_it_up_for_a_bounded_time() {
    let (subsystem, blocks, _) = subsystem(Limits::default());
    for (opcode, dwords, length) in [(8, [5, 0, 0, 0, 0, 0], 0), (0xc2, [0; 6], 4096)] {
        let admin = Client::admin(in_memory(&subsystem), HOST).await;
        let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
        blocks.behave(slow(100));
        io.send_command(&sqe(opcode, 1, 1, (length, TRANSPORT), dwords), &[]).await;
        sleep(MOMENT).await;
        drop((admin, io));
        sleep(MOMENT).await;
        // Discovery changes nothing and does not wait.
        let mut discovery = Client::open(in_memory(&subsystem), false, false).await;
        discovery.connect(0, DISCOVERY, HOST, 31, 0, 0).await.ok();
        let (cqe, waited) = timed_connect(&subsystem, HOST, 0xffff, 0).await;
        assert_eq!((cqe.code(), waited.as_secs()), (0x181, 30), "Controller Busy");
        assert_eq!(cqe.status & 1 << 14, 0, "it may be tried again");
        // One that does not wait for its answer leaves nothing behind.
        let mut leaves = Client::open(in_memory(&subsystem), false, false).await;
        leaves.send_command(&connect_sqe(1, 0, 31, 0, 0), &connect_data(HOST_ID, 0xffff, SUBSYSTEM, HOST)).await;
        sleep(MOMENT).await;
        drop((leaves, discovery));
        sleep(MOMENT).await;
        assert_eq!(subsystem.metrics().connections_open, 0);
        sleep(Duration::from_secs(69)).await;
        let (cqe, waited) = timed_connect(&subsystem, HOST, 0xffff, 0).await;
        assert_eq!((cqe.code(), waited.as_secs()), (0, 0), "{waited:?}");
        sleep(MOMENT).await;
        assert_eq!(subsystem.metrics().commands_under_way, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn queues_of_a_reset_controller_are_waited_for() {
    let (subsystem, blocks, _) = subsystem(Limits::default());
    let mut admin = Client::admin(in_memory(&subsystem), HOST).await;
    let mut io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
    blocks.behave(slow(5));
    io.send_command(&sqe(1, 1, 1, (4096, 1), [9, 0, 0, 0, 0, 0]), &[0xaa; 4096]).await;
    sleep(MOMENT).await;
    admin.property_set(0x14, 0).await.ok();
    admin.enable().await;
    let (cqe, waited) = timed_connect(&subsystem, HOST, admin.controller, 1).await;
    assert_eq!((cqe.code(), blocks.get(9)), (0, vec![0xaa; 4096]));
    assert!(waited > Duration::from_secs(4), "{waited:?}");
}
