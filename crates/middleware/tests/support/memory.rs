//! A large blob passes through little memory: for binaries with this only test, because it watches the process's peak.

use super::{metadata, pattern};
use ciphermill_middleware::{Middleware, ReadMode, WriteMode};
use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::FileExt,
};
use tempfile::TempDir;

const SIZE: u64 = 256 << 20;
const CHUNK: usize = 1 << 20;

/// Makes the resident set of now the peak (proc(5), clear_refs).
fn reset_peak() {
    fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// The largest resident set the process had since.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// 256 MiB from a file to the device and to another file; the peak may grow by so much.
pub(crate) fn from_file_to_file(middleware: &Middleware, allowed_kib: u64) {
    let files = TempDir::new().unwrap();
    let (source, target) = (files.path().join("source"), files.path().join("target"));
    {
        // Sparse but for a marked chunk in every 16, so that the test writes no more than it must.
        let file = File::create(&source).unwrap();
        file.set_len(SIZE).unwrap();
        for index in (0..SIZE).step_by(16 * CHUNK) {
            file.write_all_at(&pattern(CHUNK, (index >> 24) as u8), index + 12_345).unwrap();
        }
    }
    // One small round first, so that threads, files and caches are there before the peak is taken.
    let small = middleware.create(metadata("1:0:2")).wait().unwrap();
    middleware.write(small, WriteMode::Compute, pattern(2 * CHUNK, 1)).wait().unwrap();
    middleware.read(small, ReadMode::Stored).wait().unwrap();

    reset_peak();
    let before = peak_kib();
    let id = middleware.create(metadata("1:0:1")).wait().unwrap();
    let written = middleware.write_file(id, WriteMode::Compute, &source).wait().unwrap();
    assert_eq!(written.stat.size, SIZE);
    let transferred = middleware.read_file(id, ReadMode::Stored, &target).wait().unwrap();
    assert_eq!(transferred.size, SIZE);
    // The kernel adds up counters of each CPU that are not always settled: a peak can be read a little smaller than before.
    let grown = peak_kib().saturating_sub(before);
    println!("the peak grew by {grown} KiB");
    assert!(grown < allowed_kib, "the peak grew by {grown} KiB, {allowed_kib} are allowed");

    let (mut source, mut target) = (File::open(source).unwrap(), File::open(target).unwrap());
    let (mut given, mut got) = (vec![0; CHUNK], vec![0; CHUNK]);
    for chunk in 0..SIZE / CHUNK as u64 {
        source.read_exact(&mut given).unwrap();
        target.read_exact(&mut got).unwrap();
        assert!(given == got, "chunk {chunk}");
    }
    assert_eq!(target.read(&mut got).unwrap(), 0);
}
