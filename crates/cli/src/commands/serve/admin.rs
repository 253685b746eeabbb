//! The socket for the operator of a served store: `store backup` asks the server through it, since one process at a time has
//! the store open.
//!
//! It is a Unix-domain socket in the directory of the store, for the user of the server alone: no host reaches it, and the
//! rights of the directory protect it. A connection carries one request, a line of JSON, and gets lines of JSON until the
//! work is done. When the connection closes, the work stops.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ciphermill_blockspace::backup::{self, BackupRecord, Origin, Progress};
use ciphermill_blockspace::volume::Volume;
use ciphermill_device::Device;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::pace::Pace;

/// The name of the socket within the store.
const FILE: &str = "admin.sock";
/// Bytes of a request.
const MAX_REQUEST: u64 = 64 << 10;
/// From the connection to the end of the request.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Connections at one time.
const MAX_CONNECTIONS: usize = 4;
/// Between two lines about progress.
const REPORT_EVERY: Duration = Duration::from_millis(200);

/// What an operator asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::commands) enum Request {
    /// A backup of all spaces and blocks into a directory.
    Backup {
        /// Absolute path of the directory.
        target: PathBuf,
        /// Bytes that may stay on the disk for the backup alone.
        budget: u64,
        /// Percent of the time that the backup may take.
        share: u32,
    },
}

/// A line of the answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::commands) enum Report {
    /// Objects done, and all.
    Objects(u64, u64),
    /// Stripes of blocks done, and all.
    Blocks(u64, u64),
    /// The end: the record of the backup.
    Done(Box<BackupRecord>),
    /// The end: it failed.
    Failed(String),
}

/// The path of a store's socket that has any length; the open directory must be kept while it is used.
pub(in crate::commands) fn socket_path(store: &Path) -> io::Result<(fs::File, PathBuf)> {
    use std::os::fd::AsRawFd;
    let directory = fs::File::open(store)?;
    // The address of a socket has at most 108 bytes, a path may have more.
    let path = PathBuf::from(format!("/proc/self/fd/{}/{FILE}", directory.as_raw_fd()));
    Ok((directory, path))
}

/// The listening socket; it and all work for it end when this is dropped.
pub(super) struct Admin {
    store: PathBuf,
    stop: Arc<AtomicBool>,
    listening: JoinHandle<()>,
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.listening.abort();
        // The next server removes a remaining socket.
        let _ = fs::remove_file(self.store.join(FILE));
    }
}

/// What requests work on.
#[derive(Clone)]
struct Work {
    store: PathBuf,
    device: Device,
    volume: Volume,
    stop: Arc<AtomicBool>,
    /// One backup at a time.
    backups: Arc<Semaphore>,
}

impl Admin {
    /// Listens; without the socket, if the file system has none, the server runs all the same.
    pub(super) fn start(store: &Path, device: Device, volume: Volume, runtime: &Handle) -> Option<Self> {
        let _entered = runtime.enter();
        let listener = bind(store)
            .inspect_err(|error| tracing::warn!(%error, "no socket for `store backup`: stop the server to back it up"))
            .ok()?;
        let stop = Arc::new(AtomicBool::new(false));
        let backups = Arc::new(Semaphore::new(1));
        let work = Work { store: store.to_owned(), device, volume, stop: Arc::clone(&stop), backups };
        Some(Self { store: store.to_owned(), stop, listening: runtime.spawn(listen(listener, work)) })
    }
}

/// The lock on the store says that no other server uses an existing socket.
fn bind(store: &Path) -> io::Result<UnixListener> {
    let (_directory, path) = socket_path(store)?;
    match fs::symlink_metadata(&path) {
        Ok(found) if found.file_type().is_socket() => fs::remove_file(&path)?,
        Ok(_) => return Err(io::Error::other(format!("{} is not a socket; remove it", store.join(FILE).display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

async fn listen(listener: UnixListener, work: Work) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "accepting an operator failed");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let work = work.clone();
        tokio::spawn(async move {
            if let Err(error) = answer(stream, work).await {
                tracing::debug!(%error, "an operator went away");
            }
            drop(place);
        });
    }
}

/// Serves one connection.
async fn answer(stream: UnixStream, work: Work) -> io::Result<()> {
    let peer = stream.peer_cred()?.uid();
    let (reading, mut writing) = stream.into_split();
    if peer != 0 && peer != rustix::process::geteuid().as_raw() {
        let why = format!("user {peer} may not do this; use the account of the server, or root");
        return say(&mut writing, &Report::Failed(why)).await;
    }
    let mut reading = BufReader::new(reading.take(MAX_REQUEST));
    let mut line = String::new();
    timeout(REQUEST_TIME, reading.read_line(&mut line)).await.map_err(io::Error::other)??;
    let Request::Backup { target, budget, share } = match serde_json::from_str(&line) {
        Ok(request) => request,
        Err(error) => return say(&mut writing, &Report::Failed(format!("not a request: {error}"))).await,
    };
    let Ok(turn) = Arc::clone(&work.backups).try_acquire_owned() else {
        let why = "another backup of this store is in progress; wait for its end".to_owned();
        return say(&mut writing, &Report::Failed(why)).await;
    };
    let gone = Arc::new(AtomicBool::new(false));
    let (sender, mut reports) = mpsc::channel(16);
    let stop = Arc::clone(&gone);
    let job = tokio::task::spawn_blocking(move || {
        let end = back_up(&work, (&target, budget, share), &stop, &sender);
        drop((work, turn));
        end
    });
    let mut closed = String::new();
    loop {
        tokio::select! {
            report = reports.recv() => match report {
                Some(report) => say(&mut writing, &report).await.inspect_err(|_| gone.store(true, Ordering::SeqCst))?,
                None => break,
            },
            // The operator says nothing more: it can only close.
            _ = reading.read_line(&mut closed), if !gone.load(Ordering::SeqCst) => gone.store(true, Ordering::SeqCst),
        }
    }
    say(&mut writing, &job.await.map_err(io::Error::other)?).await
}

/// Makes the backup, on a thread that may block.
fn back_up(
    work: &Work,
    (target, budget, share): (&Path, u64, u32),
    gone: &AtomicBool,
    reports: &mpsc::Sender<Report>,
) -> Report {
    tracing::info!(target = %target.display(), "backup begins");
    if !target.is_absolute() {
        return Report::Failed(format!("{} is not an absolute path", target.display()));
    }
    let (mut last, mut pace) = (Instant::now(), Pace::new(share));
    let goes_on = || !gone.load(Ordering::SeqCst) && !work.stop.load(Ordering::SeqCst);
    let origin = Origin::Device(&work.device);
    let outcome = backup::create(origin, Some(&work.volume), &work.store, target, budget, &mut |progress| {
        if last.elapsed() >= REPORT_EVERY {
            last = Instant::now();
            let report = match progress {
                Progress::Objects(done, of) => Report::Objects(done, of),
                Progress::Blocks(done, of) => Report::Blocks(done, of),
            };
            // A reader that lags behind misses some.
            let _ = reports.try_send(report);
        }
        pace.pause(goes_on);
        goes_on()
    });
    match outcome {
        Ok(record) => {
            tracing::info!(objects = record.objects, blocks = record.blocks, "backup is complete");
            Report::Done(Box::new(record))
        }
        Err(error) => {
            tracing::error!(%error, "backup failed");
            Report::Failed(error.to_string())
        }
    }
}

async fn say(writing: &mut OwnedWriteHalf, report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    writing.write_all(&line).await
}
