//! The cost of idle hosts, in a separate process.

#[path = "target/blocks.rs"]
mod blocks;
#[path = "target/client.rs"]
mod client;

use blocks::subsystem;
use ciphermill_nvme::server::{Limits, Target};
use client::{Client, HOST, SUBSYSTEM, over_tcp};
use std::time::Duration;

fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // utime and stime, in hundredths of a second.
    Duration::from_millis((fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) * 10)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_idle_hosts_use_no_more_than_a_hundredth_of_a_core() {
    let (subsystem, ..) = subsystem(Limits { max_connections_per_host: 200, ..Limits::default() });
    let target = Target::bind("127.0.0.1:0".parse().unwrap(), subsystem.clone()).await.unwrap();
    let address = target.local_addr();
    tokio::spawn(target.serve(std::future::pending()));
    let mut hosts = Vec::new();
    for _ in 0..64 {
        let mut admin = Client::open(over_tcp(address).await, false, false).await;
        admin.connect(0, SUBSYSTEM, HOST, 31, 4, 120_000).await.ok();
        admin.enable().await;
        let io = Client::io(over_tcp(address).await, HOST, admin.controller, 1).await;
        hosts.push((admin, io));
    }
    assert_eq!(subsystem.metrics().connections_open, 128);
    let before = processor_time();
    tokio::time::sleep(Duration::from_secs(4)).await;
    let used = processor_time() - before;
    println!("64 idle hosts used {used:?} in 4 s");
    // The clock counts steps of 10 ms, so a hundredth of 4 s may read as one step more.
    assert!(used <= Duration::from_millis(50), "{used:?}");
    for (admin, io) in &mut hosts {
        admin.property_get(8, false).await.ok();
        io.read(1, 0, 1).await.0.ok();
    }
}
