//! kill -9 of a backup, a restore and a repair at random moments: what is left is whole, or says that it is not.

use crate::support::*;
use ciphermill_blockspace::backup::{self, BackupError, BackupRecord};
use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

const DIRECTORY: &str = "CIPHERMILL_BACKUP_KILL_DIRECTORY";
const WORK: &str = "CIPHERMILL_BACKUP_KILL_WORK";

/// Not a separate test: the work of the killed process.
#[test]
fn child() {
    let (Ok(directory), Ok(work)) = (env::var(DIRECTORY), env::var(WORK)) else { return };
    let directory = Path::new(&directory);
    let [store, target] = ["s", "b"].map(|name| directory.join(name));
    match work.as_str() {
        "backup" => {
            let stored = Stored::open(&store);
            for version in 2.. {
                stored.write(version);
                stored.back_up(&store, &target).expect("a backup");
                say_done();
            }
        }
        "restore" => {
            for n in 0.. {
                restore(&target, &directory.join(format!("r{n}")), true).expect("restored");
                say_done();
            }
        }
        _ => {
            for n in 0.. {
                backup::repair(&store, &directory.join(format!("r{n}")), &mut |_| true).expect("repaired");
                say_done();
            }
        }
    }
}

/// Runs the work until it has been done `times` times, and kills it a moment later; with `in_the_middle`, a moment after
/// there is an unfinished directory.
fn run_and_kill(directory: &Path, work: &str, times: usize, in_the_middle: bool, after: Duration) {
    let mut child = Command::new(env::current_exe().expect("this program"))
        .args(["--exact", "kill::child", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(WORK, work)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start");
    // Read to the end: the work must not end because nobody listens.
    let said = child.stderr.take().expect("piped");
    let (sender, done) = mpsc::channel();
    let reader = thread::spawn(move || {
        let lines = BufReader::new(said).lines().map_while(Result::ok);
        lines.filter(|line| line == "done").for_each(|_| {
            let _ = sender.send(());
        });
    });
    (0..times).for_each(|_| done.recv().expect("the work ended by itself"));
    while in_the_middle && unfinished(directory) == 0 {
        assert!(child.try_wait().expect("a child").is_none(), "the work ended by itself");
        thread::yield_now();
    }
    thread::sleep(after);
    child.kill().expect("kill");
    child.wait().expect("wait");
    reader.join().expect("reader");
}

/// Number of directories that do not have their final name.
fn unfinished(directory: &Path) -> usize {
    let names = fs::read_dir(directory).expect("a directory").filter_map(Result::ok).map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".incomplete")).count()
}

fn say_done() {
    writeln!(std::io::stderr(), "done").expect("say");
}

/// The version of all objects and blocks, which must be one.
fn version(stored: &Stored) -> u8 {
    let first = stored.store.read(stored.store.get(key(0)).expect("stored")).pull_all().expect("whole")[0];
    for (data, size) in SIZES.into_iter().enumerate() {
        let object = stored.store.get(key(data as u32)).expect("stored");
        let bytes = stored.store.read(object).pull_all().expect("whole");
        assert!(bytes == content(u64::from(first), data as u64, size), "object {data} of version {first}");
    }
    for lba in BLOCKS {
        let mut bytes = vec![0; 4096];
        stored.volume.read(1, lba, &mut bytes).expect("whole");
        assert!(bytes == content(u64::from(first), lba, 4096), "block {lba} of version {first}");
    }
    first
}

#[test]
fn a_killed_backup_is_whole_or_says_that_it_is_incomplete() {
    let directory = tempfile::tempdir().expect("a directory");
    let [store, target, out] = ["s", "b", "r"].map(|name| directory.path().join(name));
    Stored::open(&store).write(1);
    let (mut whole, mut incomplete) = (0, 0);
    for round in 0..24u64 {
        let times = usize::from(round > 3);
        run_and_kill(directory.path(), "backup", times, false, Duration::from_millis(17 * round));
        match BackupRecord::load(&target) {
            Ok(record) if record.complete => {
                restore(&target, &out, true).expect("restored");
                let restored = Stored::open(&out);
                version(&restored);
                drop(restored);
                fs::remove_dir_all(&out).expect("removed");
                whole += 1;
            }
            Ok(_) => {
                assert!(matches!(restore(&target, &out, true), Err(BackupError::Incomplete { .. })));
                incomplete += 1;
            }
            Err(BackupError::NoBackup { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    // What is left serves the next backup.
    let stored = Stored::open(&store);
    stored.back_up(&store, &target).expect("a backup");
    restore(&target, &out, true).expect("restored");
    assert_eq!(Stored::open(&out).listing(), stored.listing());
    println!("{whole} whole, {incomplete} incomplete");
    assert!(incomplete > 0, "no kill hit a backup");
}

#[test]
fn a_killed_restore_or_repair_leaves_a_whole_store_or_none() {
    for work in ["restore", "repair"] {
        let directory = tempfile::tempdir().expect("a directory");
        let [store, target] = ["s", "b"].map(|name| directory.path().join(name));
        let stored = Stored::open(&store);
        stored.write(1);
        stored.back_up(&store, &target).expect("a backup");
        drop(stored);
        let (mut made, mut interrupted) = (0, 0);
        for round in 0..12u64 {
            // Half of the rounds begin with the remains of the one before.
            let in_the_middle = unfinished(directory.path()) == 0;
            run_and_kill(directory.path(), work, 1, in_the_middle, Duration::from_millis(3 * round));
            for entry in fs::read_dir(directory.path()).expect("a directory") {
                let path = entry.expect("an entry").path();
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                if name.ends_with(".incomplete") {
                    interrupted += u64::from(in_the_middle);
                    if round % 2 == 1 {
                        fs::remove_dir_all(&path).expect("removed");
                    }
                } else if name.starts_with('r') {
                    assert_eq!(version(&Stored::open(&path)), 1, "{work}");
                    made += 1;
                    fs::remove_dir_all(&path).expect("removed");
                }
            }
        }
        println!("{work}: {made} whole, {interrupted} interrupted");
        assert!(made > 0 && interrupted > 0, "{work}: {made}, {interrupted}");
    }
}
