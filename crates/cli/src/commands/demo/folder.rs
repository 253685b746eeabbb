//! The folder in which the demo works.

use std::fs;
use std::io;
use std::path::Path;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use tokio::runtime::Builder;

use crate::error::CliError;
use crate::signals::Signals;

/// Attempts to remove the folder while the demo may still write into it.
const ATTEMPTS: usize = 100;

/// A folder for keys and store. It is removed when it is dropped, and when SIGINT or SIGTERM ends the process.
pub(super) struct WorkFolder {
    folder: TempDir,
    /// Held from a signal to the end of the process.
    ending: Arc<Mutex<()>>,
}

impl WorkFolder {
    /// A new folder in `parent`.
    pub(super) fn new(parent: &Path) -> Result<Self, CliError> {
        // The errors of `tempfile` repeat the path; that of a missing directory is named here.
        fs::metadata(parent).map_err(CliError::file("make a folder in", parent))?;
        let unwatched = |error| CliError::Threads(format!("signals cannot be watched: {error}"));
        let runtime = Builder::new_current_thread().enable_io().build().map_err(unwatched)?;
        // Caught before the folder exists, so that no signal leaves it behind.
        let mut signals = runtime.block_on(async { Signals::new() })?;
        let folder = tempfile::Builder::new().prefix("ciphermill-demo-").tempdir_in(parent);
        let folder = folder.map_err(|error| CliError::file("make a folder in", parent)(error.kind().into()))?;
        let (path, ending) = (folder.path().to_owned(), Arc::new(Mutex::new(())));
        let ended = Arc::clone(&ending);
        let watch = move || {
            let ending = runtime.block_on(signals.next());
            let _held = ended.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = remove(&path).err().map(|error| format!("; {} is not removed: {error}", path.display()));
            eprintln!("ciphermill: ended by {}{}", ending.name(), kept.unwrap_or_default());
            process::exit(ending.exit_code());
        };
        thread::Builder::new().name("signals".to_owned()).spawn(watch).map_err(unwatched)?;
        Ok(Self { folder, ending })
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // After a signal the demo fails for want of its files. The process then ends by the signal, not by that error.
        drop(self.ending.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Removes a folder into which other threads may write.
fn remove(path: &Path) -> io::Result<()> {
    for _ in 1..ATTEMPTS {
        match fs::remove_dir_all(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.exists() => return Ok(()),
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
    fs::remove_dir_all(path)
}
