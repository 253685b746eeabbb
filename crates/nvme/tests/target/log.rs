//! The number of log lines that hosts can cause.

use super::{
    blocks::subsystem,
    client::{Client, HOST, SUBSYSTEM, in_memory},
    lines,
};
use ciphermill_nvme::server::{Limits, Subsystem};
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncWriteExt, DuplexStream},
    time::{Instant, sleep},
};

const CONNECTIONS: usize = 200;
/// Lines of one account at once, and the time after which it may cause one more.
const BURST: usize = 32;
const PAUSE: Duration = Duration::from_secs(2);
const MOMENT: Duration = Duration::from_millis(1);
const UNKNOWN: &str = "nqn.2026-01.test:unknown";
/// A PDU of a type that does not exist.
const BROKEN: [u8; 8] = [0xff; 8];
/// The termination request of a host, without a quote.
const TERMINATION: [u8; 24] = [2, 0, 24, 0, 24, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// The connection of a host past Connect.
async fn connected(subsystem: &Arc<Subsystem>) -> Client<DuplexStream> {
    let mut client = Client::open(in_memory(subsystem), false, false).await;
    client.connect(0, SUBSYSTEM, HOST, 31, 0, 0).await.ok();
    client
}

/// Repeats `connection`. The host's account may cause [`BURST`] lines in this time, and every message occurs among them.
async fn check_bounded(messages: &[&str], connection: impl AsyncFn(&Arc<Subsystem>)) {
    let (subsystem, ..) = subsystem(Limits::default());
    let begun = Instant::now();
    lines::record();
    for _ in 0..CONNECTIONS {
        connection(&subsystem).await;
        sleep(MOMENT).await;
    }
    assert!(begun.elapsed() < PAUSE, "{:?}", begun.elapsed());
    let lines = lines::take();
    assert_eq!(lines.len(), BURST, "{lines:#?}");
    for message in messages {
        assert!(lines.iter().any(|line| line.starts_with(message)), "{message}: {lines:#?}");
    }
    subsystem.look_around();
    let left_out = CONNECTIONS * messages.len() - BURST;
    let expected = format!("lines of the log were left out account={HOST} left_out={left_out}");
    assert_eq!(lines::take(), [expected]);
    // A later line is written again.
    sleep(PAUSE).await;
    connection(&subsystem).await;
    assert!(lines::take()[0].starts_with(messages[0]));
}

#[tokio::test(start_paused = true)]
async fn connects_write_a_bounded_number_of_lines() {
    check_bounded(&["queue connected"], async |subsystem| drop(connected(subsystem).await)).await;
}

#[tokio::test(start_paused = true)]
async fn protocol_errors_write_a_bounded_number_of_lines() {
    check_bounded(&["queue connected", "protocol error"], async |subsystem| {
        let mut client = connected(subsystem).await;
        client.stream.write_all(&BROKEN).await.unwrap();
        client.terminated().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn terminations_of_hosts_write_a_bounded_number_of_lines() {
    check_bounded(&["queue connected", "the host ended the connection on an error"], async |subsystem| {
        let mut client = connected(subsystem).await;
        client.stream.write_all(&TERMINATION).await.unwrap();
        client.ended().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn controller_resets_write_a_bounded_number_of_lines() {
    check_bounded(&["queue connected", "controller reset"], async |subsystem| {
        let mut client = connected(subsystem).await;
        client.enable().await;
        client.property_set(0x14, 0).await.ok();
    })
    .await;
}

/// Anybody can send these.
#[tokio::test(start_paused = true)]
async fn errors_before_connect_write_no_line() {
    let (subsystem, ..) = subsystem(Limits::default());
    lines::record();
    for _ in 0..CONNECTIONS {
        let mut client = Client::open(in_memory(&subsystem), false, false).await;
        client.stream.write_all(&BROKEN).await.unwrap();
        client.terminated().await;
        let mut client = Client::open(in_memory(&subsystem), false, false).await;
        client.stream.write_all(&TERMINATION).await.unwrap();
        client.ended().await;
    }
    assert_eq!(subsystem.metrics().protocol_errors, CONNECTIONS as u64);
    assert!(lines::take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn refused_hosts_write_one_line_a_second() {
    let (subsystem, ..) = subsystem(Limits::default());
    let refused = async || {
        let mut stranger = Client::open(in_memory(&subsystem), false, false).await;
        assert_eq!(stranger.connect(0, SUBSYSTEM, UNKNOWN, 31, 0, 0).await.code(), 0x184);
        drop(stranger);
        sleep(MOMENT).await;
    };
    let line = |held_back: usize| {
        vec![format!("a host that may not connect was refused host={UNKNOWN:?} held_back={held_back}")]
    };
    lines::record();
    for _ in 0..CONNECTIONS {
        refused().await;
    }
    assert_eq!(lines::take(), line(0));
    sleep(Duration::from_secs(1)).await;
    refused().await;
    assert_eq!(lines::take(), line(CONNECTIONS - 1));
}
