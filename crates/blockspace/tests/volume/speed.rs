//! Speed compared with that of the raw file. Small in a normal test, where it checks that many changes share a sync and
//! that all written data is present; `VOLUME_SPEED_MIB` (and `--release --nocapture`) makes a measurement of it, in
//! `VOLUME_SPEED_DIR` if set.

use crate::support::*;
use ciphermill_blockspace::volume::{BLOCK_BYTES, Change, Operation, Volume, VolumeConfig, VolumeError};
use ciphermill_storage::{FileStorage, Storage};
use std::{
    env,
    path::Path,
    sync::mpsc::{channel, sync_channel},
    time::{Duration, Instant},
};

const WRITE: usize = 128 << 10;
const DEPTH: usize = 32;

fn rate(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e6
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn raw_sequential(path: &Path, mib: usize, data: &[u8]) -> f64 {
    let file = FileStorage::open(path).expect("open");
    let group: Vec<u8> = data.iter().copied().cycle().take(DEPTH * WRITE).collect();
    let begun = Instant::now();
    for offset in (0..mib << 20).step_by(group.len()) {
        file.reserve_len((offset as u64 | 0xFF_FFFF) + 1).expect("reserve");
        file.write_at(offset as u64, &group).expect("write");
        file.sync().expect("sync");
    }
    rate(mib << 20, begun.elapsed())
}

fn volume_sequential(volume: &Volume, space: u32, mib: usize, data: &[u8]) -> f64 {
    let (sender, receiver) = channel::<Result<(), VolumeError>>();
    let begun = Instant::now();
    let total = (mib << 20) / WRITE;
    let mut sent = 0;
    for done in 0..total {
        while sent < total && sent < done + DEPTH {
            let sender = sender.clone();
            let lba = (sent * WRITE / BLOCK_BYTES) as u64;
            let operations = vec![Operation::Write { lba, data: data.to_vec() }];
            let answer = Box::new(move |outcome| _ = sender.send(outcome));
            volume.submit(Change { space, operations }, answer);
            sent += 1;
        }
        receiver.recv().expect("answer").expect("durable");
    }
    rate(mib << 20, begun.elapsed())
}

#[test]
fn speed_beside_the_raw_file() {
    let mib: usize = env::var("VOLUME_SPEED_MIB").map_or(8, |text| text.parse().expect("a number"));
    let directory = match env::var("VOLUME_SPEED_DIR") {
        Ok(path) => tempfile::tempdir_in(path),
        Err(_) => tempfile::tempdir(),
    }
    .expect("directory");
    let volume = Volume::open_directory(
        &directory.path().join("volume"),
        VolumeConfig { headroom_bytes: 0, ..VolumeConfig::default() },
    )
    .expect("open");
    let data = blocks(&(1..=32).collect::<Vec<_>>());
    for round in 0..3 {
        let raw = raw_sequential(&directory.path().join(format!("raw{round}")), mib, &data);
        let ours = volume_sequential(&volume, round, mib, &data);
        println!("sequential 128 KiB, depth 32: raw file {raw:.0} MB/s, volume {ours:.0} MB/s");
    }
    let metrics = volume.metrics();
    println!("{metrics:?}");
    assert_eq!(metrics.data_bytes, 3 * (mib << 20) as u64);
    assert!(metrics.groups < metrics.changes, "changes that wait together share a sync: {metrics:?}");

    let count = (mib * 4).min(2000);
    let file = FileStorage::open(&directory.path().join("raw0")).expect("open");
    let (mut raw, mut raw_two, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..count {
        let begun = Instant::now();
        file.write_at((i * BLOCK_BYTES) as u64, &data[..BLOCK_BYTES]).expect("write");
        file.sync().expect("sync");
        raw.push(begun.elapsed());
        let begun = Instant::now();
        file.write_at((i * 2 * BLOCK_BYTES) as u64, &data[..2 * BLOCK_BYTES]).expect("write");
        file.sync().expect("sync");
        raw_two.push(begun.elapsed());
        let begun = Instant::now();
        let (sender, receiver) = sync_channel(1);
        let operations = vec![Operation::Write { lba: i as u64, data: data[..BLOCK_BYTES].to_vec() }];
        volume.submit(Change { space: 9, operations }, Box::new(move |outcome| _ = sender.send(outcome)));
        receiver.recv().expect("answer").expect("durable");
        ours.push(begun.elapsed());
    }
    println!(
        "one 4 KiB change: raw file {:.0} µs for 4 KiB, {:.0} µs for 8 KiB; volume {:.0} µs (medians of {count})",
        median(raw),
        median(raw_two),
        median(ours)
    );

    let (mut hits, mut out) = (0, vec![0; BLOCK_BYTES]);
    let last = (mib << 20) / BLOCK_BYTES;
    let begun = Instant::now();
    for i in 0..count * 100 {
        let lba = (i * 7919 % last) as u64;
        hits += u64::from(volume.try_read(0, lba, &mut out).expect("read"));
    }
    let each = begun.elapsed().as_nanos() as usize / (count * 100);
    println!("try_read of 4 KiB: {each} ns, {hits} of {} answered without the disk", count * 100);
    let mut out = vec![0; WRITE];
    for lba in (0..last).step_by(WRITE / BLOCK_BYTES) {
        volume.read(2, lba as u64, &mut out).expect("read");
        assert_eq!(out, data);
    }
}
