//! Backups of the served store, into two directories in turn, and their checks.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

/// Time between two backups.
const INTERVAL: Duration = Duration::from_secs(2);

/// All backups of a soak.
pub(crate) struct Backups {
    binary: PathBuf,
    store: PathBuf,
    directory: PathBuf,
    complete: u64,
    interrupted: u64,
    restored: u64,
    next: u64,
}

/// The backups of one server's life.
pub(crate) struct Job {
    binary: PathBuf,
    store: PathBuf,
    directory: PathBuf,
    next: u64,
}

/// Their results.
pub(crate) struct Outcome {
    complete: u64,
    interrupted: u64,
    next: u64,
}

fn target(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("b{}", number % 2))
}

fn ciphermill(binary: &Path, arguments: &[&str]) -> Result<bool, Box<dyn Error>> {
    let mut command = Command::new(binary);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status()?.success())
}

impl Backups {
    pub(crate) fn new(binary: &Path, store: &Path, directory: &Path) -> Self {
        Self {
            binary: binary.to_owned(),
            store: store.to_owned(),
            directory: directory.to_owned(),
            complete: 0,
            interrupted: 0,
            restored: 0,
            next: 0,
        }
    }

    pub(crate) fn job(&self) -> Job {
        Job {
            binary: self.binary.clone(),
            store: self.store.clone(),
            directory: self.directory.clone(),
            next: self.next,
        }
    }

    pub(crate) fn add(&mut self, outcome: Result<Outcome, String>) -> Result<(), Box<dyn Error>> {
        let Outcome { complete, interrupted, next } = outcome?;
        self.complete += complete;
        self.interrupted += interrupted;
        self.next = next;
        Ok(())
    }

    /// Each directory whose record says complete restores to a store without damage.
    pub(crate) fn verify(&mut self) -> Result<(), Box<dyn Error>> {
        for number in 0..2 {
            let (backup, out) = (target(&self.directory, number), self.directory.join("restored"));
            let record = std::fs::read(backup.join("backup.json")).unwrap_or_default();
            let complete =
                serde_json::from_slice::<Value>(&record).is_ok_and(|record| record["complete"] == json!(true));
            if !complete {
                continue;
            }
            let (from, to) = (backup.to_string_lossy(), out.to_string_lossy());
            if !ciphermill(&self.binary, &["store", "restore", "--backup", &from, "--out", &to])?
                || !ciphermill(&self.binary, &["store", "check", "--store", &to])?
            {
                return Err(format!("the complete backup {from} does not restore to a sound store").into());
            }
            std::fs::remove_dir_all(&out)?;
            self.restored += 1;
        }
        Ok(())
    }

    /// A complete backup stays one, except while the next one replaces it, and there are two.
    pub(crate) fn judge(&self) -> Result<(), String> {
        let lost = self.complete > 0 && self.restored == 0;
        if lost { Err(format!("{} backups were complete, and none was restored", self.complete)) } else { Ok(()) }
    }

    pub(crate) fn record(&self) -> Value {
        json!({ "complete": self.complete, "interrupted_by_kills": self.interrupted, "restored_and_checked": self.restored })
    }
}

impl Job {
    /// Backs up until the round is over. Only the kill may interrupt a backup.
    pub(crate) fn run(mut self, over: &AtomicBool) -> Result<Outcome, String> {
        let (mut complete, mut interrupted) = (0, 0);
        while !over.load(Ordering::SeqCst) {
            let backup = target(&self.directory, self.next);
            let (store, backup) = (self.store.to_string_lossy(), backup.to_string_lossy());
            let done = ciphermill(&self.binary, &["store", "backup", "--store", &store, "--backup", &backup]);
            if done.map_err(|error| error.to_string())? {
                complete += 1;
                self.next += 1;
            } else {
                interrupted += 1;
            }
            // After a kill the round is over within this time; a failure without one shows in the next turn.
            std::thread::sleep(INTERVAL);
            if interrupted > 0 && !over.load(Ordering::SeqCst) {
                return Err("a backup of a living server failed".to_owned());
            }
        }
        Ok(Outcome { complete, interrupted, next: self.next })
    }
}
