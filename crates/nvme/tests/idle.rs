//! The cost of idle hosts: they set no timer that fires, in simulated time.

#[path = "target/blocks.rs"]
mod blocks;
#[path = "target/client.rs"]
mod client;

use blocks::subsystem;
use ciphermill_nvme::server::Limits;
use client::{Client, HOST, SUBSYSTEM, in_memory};
use std::time::Duration;
use tokio::runtime::Handle;

/// How often the runtime has gone to sleep: in paused time, once for each timer that fires.
fn sleeps() -> u64 {
    Handle::current().metrics().worker_park_count(0)
}

#[tokio::test(start_paused = true)]
async fn sixty_four_idle_hosts_wake_nothing() {
    let (subsystem, ..) = subsystem(Limits { max_connections_per_host: 200, ..Limits::default() });
    let mut hosts = Vec::new();
    for _ in 0..64 {
        let mut admin = Client::open(in_memory(&subsystem), false, false).await;
        admin.connect(0, SUBSYSTEM, HOST, 31, 4, 120_000).await.ok();
        admin.enable().await;
        let io = Client::io(in_memory(&subsystem), HOST, admin.controller, 1).await;
        hosts.push((admin, io));
    }
    assert_eq!(subsystem.metrics().connections_open, 128);
    let before = sleeps();
    // Within the keep-alive timeout.
    tokio::time::sleep(Duration::from_secs(100)).await;
    let woken = sleeps() - before;
    // The test's own timer, and the last ticks of timers that were set while the hosts connected (5 in all when this was
    // written). A timer of 1 s on a single connection would be 100 of them.
    assert!(woken <= 10, "{woken} timers fired in 100 s");
    for (admin, io) in &mut hosts {
        admin.property_get(8, false).await.ok();
        io.read(1, 0, 1).await.0.ok();
    }
}
