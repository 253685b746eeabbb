//! A listening target over TCP: stopping, and floods.

use super::{
    blocks::{Behaviour, pattern, subsystem},
    client::{Client, HOST, OTHER_HOST, TRANSPORT, over_tcp, sqe},
};
use ciphermill_nvme::server::{Limits, Subsystem, Target};
use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::oneshot,
    task::JoinHandle,
};

async fn serve(subsystem: &Arc<Subsystem>) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<()>) {
    let target = Target::bind("127.0.0.1:0".parse().unwrap(), subsystem.clone()).await.unwrap();
    let address = target.local_addr();
    let (stop, stopped) = oneshot::channel();
    let served = tokio::spawn(async move {
        target.serve(async { drop(stopped.await) }).await.unwrap();
    });
    (address, stop, served)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_answers_what_is_under_way_and_closes() {
    let (subsystem, blocks, _) = subsystem(Limits::default());
    let (address, stop, served) = serve(&subsystem).await;
    let mut admin = Client::admin(over_tcp(address).await, HOST).await;
    let mut io = Client::io(over_tcp(address).await, HOST, admin.controller, 1).await;
    let mut idle = Client::io(over_tcp(address).await, HOST, admin.controller, 2).await;
    let mut other = Client::admin(over_tcp(address).await, OTHER_HOST).await;
    let data = pattern(64, 7);
    io.write(1, 1, 0, &data, 30_000).await.ok();
    assert!(io.read(1, 0, 64).await.1 == data);
    let delay = Duration::from_secs(2);
    blocks.behave(Behaviour { delay: Some(delay), ..Behaviour::default() });
    io.send_command(&sqe(1, 77, 1, (4096, 1), [100, 0, 0, 0, 0, 0]), &[0x55; 4096]).await;
    admin.property_get(8, false).await.ok();
    while subsystem.metrics().commands_under_way == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stop.send(()).unwrap();
    // A host that lost one of its connections would give up the others: all stay, and signs of life are answered.
    tokio::time::sleep(delay / 20).await;
    admin.property_get(8, false).await.ok();
    other.property_get(8, false).await.ok();
    assert!(tokio::time::timeout(delay / 20, idle.ended()).await.is_err(), "closed before the answer of another queue");
    assert_eq!(io.completion().await.0.ok().cid, 77);
    assert!(io.ended().await.is_empty() && admin.ended().await.is_empty() && other.ended().await.is_empty());
    drop((io, admin, idle, other));
    served.await.unwrap();
    assert_eq!(blocks.get(100), [0x55; 4096]);
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_does_not_wait_for_ever() {
    let limits = Limits { stop_timeout: Duration::from_millis(200), ..Limits::default() };
    let (subsystem, blocks, _) = subsystem(limits);
    let (address, stop, served) = serve(&subsystem).await;
    let admin = Client::admin(over_tcp(address).await, HOST).await;
    let mut io = Client::io(over_tcp(address).await, HOST, admin.controller, 1).await;
    blocks.behave(Behaviour { delay: Some(Duration::from_secs(3600)), ..Behaviour::default() });
    io.send_command(&sqe(0, 1, 1, (0, TRANSPORT), [0; 6]), &[]).await;
    while subsystem.metrics().commands_under_way == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let begun = Instant::now();
    stop.send(()).unwrap();
    served.await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60), "not at the end of the command");
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Hostile hosts of many kinds at once, over TCP, while another host works.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_hosts_do_not_disturb_another() {
    let limits = Limits { max_connections: 32, max_handshakes: 16, ..Limits::default() };
    let limits = Limits { memory_bytes: 32 * limits.share_bytes() + (32 << 20), ..limits };
    let most = limits.memory_bytes as u64;
    let (subsystem, ..) = subsystem(limits);
    let (address, _stop, _served) = serve(&subsystem).await;
    let before = resident_bytes();
    let admin = Client::admin(over_tcp(address).await, HOST).await;
    let mut io = Client::io(over_tcp(address).await, HOST, admin.controller, 1).await;
    let greedy = Client::admin(over_tcp(address).await, OTHER_HOST).await;
    let mut tasks = tokio::task::JoinSet::new();
    // Hosts that ask for much and take nothing.
    for queue in 1..=8 {
        let controller = greedy.controller;
        tasks.spawn(async move {
            let mut io = Client::io(over_tcp(address).await, OTHER_HOST, controller, queue).await;
            for cid in 0..120 {
                let opcode = 1 + (cid & 1) as u8;
                let command = sqe(opcode, cid, 1, (1 << 20, TRANSPORT), [0, 0, 255, 0, 0, 0]);
                io.send_command(&command, &[]).await;
            }
            tokio::time::sleep(Duration::from_secs(60)).await;
        });
    }
    // Connections that say nothing, half a unit, or nonsense, and vanish.
    for kind in 0..4u8 {
        tasks.spawn(async move {
            loop {
                let Ok(mut stream) = tokio::net::TcpStream::connect(address).await else { continue };
                let bytes: Vec<u8> = (0..200u8).map(|byte| byte.wrapping_mul(kind).wrapping_add(kind)).collect();
                let _ = stream.write_all(&bytes[..usize::from(kind) * 60]).await;
                let mut rest = [0; 256];
                let _ = tokio::time::timeout(Duration::from_millis(5), stream.read(&mut rest)).await;
            }
        });
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    // A host that is kept out altogether would wait for ever: the time is a guard, no measure.
    let work = async {
        for round in 0..200u64 {
            let data = pattern(1 + (round % 64) as usize, round as u8);
            io.write(1, 1, round, &data, 50_000).await.ok();
            let (cqe, read) = io.read(1, round, (data.len() / 4096) as u32).await;
            cqe.ok();
            assert!(read == data);
        }
    };
    tokio::time::timeout(Duration::from_secs(120), work).await.expect("the honest host is served");
    let metrics = subsystem.metrics();
    println!("{} connections", metrics.connections_total);
    assert!(metrics.buffer_bytes_peak < most);
    assert!(metrics.connections_open <= 32 + 16 + 4, "{}", metrics.connections_open);
    let grown = resident_bytes().saturating_sub(before);
    // Sockets and the test's own memory add to the buffers.
    assert!(grown < most + (64 << 20), "{grown}");
    tasks.shutdown().await;
}
