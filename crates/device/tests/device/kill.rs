//! kill -9 in the middle of writing, on real files.

use crate::support::*;
use ciphermill_device::{DeviceConfig, ReadMode, WriteOptions};
use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

const DIRECTORY: &str = "CIPHERMILL_KILL_TEST_DIRECTORY";
const OBJECTS: u64 = 5;

/// Version `n` of object `n % OBJECTS`; its first word is `n`.
fn version(n: u64) -> Vec<u8> {
    let mut words = to_words(&value(n, 1 + n * 37 % 3000));
    words[0] = n;
    bytes(&words)
}

/// Not a separate test: the work of the killed process. Says "n" after version n is acknowledged.
#[test]
fn child() {
    let Ok(directory) = env::var(DIRECTORY) else { return };
    let (_, space) = open(DeviceConfig::in_directory(directory));
    let last =
        space.list().into_iter().map(|stat| to_words(&space.read_bytes(stat.id, ReadMode::Stored).expect("intact"))[0]);
    let mut n = last.max().unwrap_or(0);
    loop {
        n += 1;
        space.write_bytes(vr(1, 0, (n % OBJECTS) as u32), &version(n), WriteOptions::default()).expect("write");
        writeln!(std::io::stderr(), "acknowledged {n}").expect("say");
    }
}

fn run_and_kill(directory: &Path, after: Duration) -> u64 {
    let mut child = Command::new(env::current_exe().expect("this program"))
        .args(["--exact", "kill::child", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start");
    let said = child.stderr.take().expect("piped");
    let reader = thread::spawn(move || {
        let lines = BufReader::new(said).lines().map_while(Result::ok);
        lines.filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok()).max().unwrap_or(0)
    });
    thread::sleep(after);
    child.kill().expect("kill");
    child.wait().expect("wait");
    reader.join().expect("reader")
}

#[test]
fn a_killed_process_loses_nothing_it_acknowledged() {
    let directory = tempfile::tempdir().expect("directory");
    let mut acknowledged = 0;
    for round in 0..6u64 {
        acknowledged = run_and_kill(directory.path(), Duration::from_millis(150 + 61 * round)).max(acknowledged);
        let (_, space) = open(DeviceConfig::in_directory(directory.path()));
        for object in 0..OBJECTS {
            let newest = (0..=acknowledged).rev().find(|n| n % OBJECTS == object && *n > 0);
            let Some(newest) = newest else { continue };
            let found = space.read_bytes(vr(1, 0, object as u32), ReadMode::Stored).expect("acknowledged, so there");
            let n = to_words(&found)[0];
            assert!(n == newest || n == acknowledged + 1, "round {round}: version {n}, acknowledged {newest}");
            assert!(found == version(n), "round {round}: version {n} is torn");
        }
    }
    assert!(acknowledged > OBJECTS, "the child must have got somewhere: {acknowledged}");
}
