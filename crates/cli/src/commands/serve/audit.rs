//! The audit log: one JSON object a line, in files of bounded size and number.
//!
//! ```text
//! namespace ──► rate limit ──► queue ──► thread ──► FILE, then FILE.1 … FILE.N
//!                  └──────────────┴──► count of entries left out, written with the next entry
//! ```
//! Files have mode 0600 and are never opened through a symbolic link.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ciphermill_blockspace::adapter::{AuditEvent, AuditSink};
use serde::Serialize;

use super::exposition::Exposition;
use crate::error::CliError;

/// Entries that wait for the disk.
const QUEUE: usize = 4096;
/// How often a count of entries left out is written where no entry follows.
const PAUSE: Duration = Duration::from_secs(5);

/// Where the audit log goes, and its bounds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AuditSettings {
    pub(super) file: PathBuf,
    /// Bytes of one file.
    pub(super) bytes: u64,
    /// Files in all, the present one included.
    pub(super) files: u32,
    /// Entries a second in the long run, and at once.
    pub(super) per_second: f64,
}

impl AuditSettings {
    pub(super) const BYTES: u64 = 64 << 20;
    pub(super) const FILES: u32 = 8;
    pub(super) const PER_SECOND: f64 = 1000.0;
    /// The least bytes of a file: room for a few entries.
    pub(super) const LEAST_BYTES: u64 = 4096;
}

/// One line.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Line<'a> {
    /// Seconds since 1970.
    time: f64,
    action: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    writer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crc32c: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// Of the action `left-out`: entries that are missing before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

impl<'a> Line<'a> {
    fn of(event: &AuditEvent<'a>) -> Self {
        Self {
            time: now(),
            action: event.action.name(),
            namespace: Some(event.space),
            host: event.host,
            writer: event.writer,
            object: event.object.map(|id| id.to_string()),
            size: event.version.map(|version| version.size),
            generation: event.version.map(|version| version.generation),
            crc32c: event.version.map(|version| format!("{:08x}", version.checksum)),
            block: event.lba,
            reason: event.reason,
            entries: None,
        }
    }

    fn left_out(entries: u64) -> Self {
        Self {
            time: now(),
            action: "left-out",
            namespace: None,
            host: None,
            writer: None,
            object: None,
            size: None,
            generation: None,
            crc32c: None,
            block: None,
            reason: None,
            entries: Some(entries),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

/// Tokens of a bucket that holds those of a second.
#[derive(Debug)]
struct Rate {
    per_second: f64,
    tokens: f64,
    since: Instant,
}

impl Rate {
    fn new(per_second: f64) -> Self {
        Self { per_second, tokens: per_second.max(1.0), since: Instant::now() }
    }

    fn pass(&mut self, now: Instant) -> bool {
        let grown = now.saturating_duration_since(self.since).as_secs_f64() * self.per_second;
        (self.tokens, self.since) = ((self.tokens + grown).min(self.per_second.max(1.0)), now);
        let passes = self.tokens >= 1.0;
        if passes {
            self.tokens -= 1.0;
        }
        passes
    }
}

/// What namespaces and the writing thread share.
#[derive(Debug)]
struct Shared {
    rate: Mutex<Rate>,
    /// Entries left out that no line has reported.
    left_out: AtomicU64,
    written: AtomicU64,
    lost: AtomicU64,
    failures: AtomicU64,
}

/// A line, and the number of entries left out before it.
struct Entry {
    before: u64,
    line: Vec<u8>,
}

/// The sink of the namespaces.
#[derive(Debug)]
struct Sink {
    shared: Arc<Shared>,
    entries: SyncSender<Entry>,
}

impl AuditSink for Sink {
    fn record(&self, event: &AuditEvent<'_>) {
        let passes = self.shared.rate.lock().unwrap_or_else(PoisonError::into_inner).pass(Instant::now());
        let before = if passes { self.shared.left_out.swap(0, Ordering::Relaxed) } else { 0 };
        let send = || self.entries.try_send(Entry { before, line: Line::of(event).bytes() });
        if !passes || send().is_err() {
            self.shared.left_out.fetch_add(before + 1, Ordering::Relaxed);
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The audit log of a server: a thread that writes. It ends, and has written everything, when all namespaces are gone and
/// this is dropped.
#[derive(Debug)]
pub(super) struct AuditLog {
    shared: Arc<Shared>,
    sink: Option<Arc<Sink>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// Counters of an audit log.
#[derive(Clone, Debug)]
pub(super) struct AuditCounters(Arc<Shared>);

impl AuditCounters {
    pub(super) fn metrics(&self, out: &mut Exposition) {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        for (name, help, value) in [
            ("entries_total", "Entries written to the audit log.", get(&self.0.written)),
            ("left_out_total", "Entries left out, because of the rate limit or a full queue.", get(&self.0.lost)),
            (
                "failures_total",
                "Entries that could not be written, or files that could not be rotated.",
                get(&self.0.failures),
            ),
        ] {
            out.counter(&format!("ciphermill_audit_{name}"), help, value);
        }
    }
}

impl AuditLog {
    pub(super) fn start(settings: AuditSettings) -> Result<Self, CliError> {
        let files = Files::open(settings.clone()).map_err(CliError::file("open", &settings.file))?;
        let shared = Arc::new(Shared {
            rate: Mutex::new(Rate::new(settings.per_second)),
            left_out: AtomicU64::new(0),
            written: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        });
        let (entries, queue) = mpsc::sync_channel(QUEUE);
        let sink = Some(Arc::new(Sink { shared: Arc::clone(&shared), entries }));
        let writer = Writer { shared: Arc::clone(&shared), files };
        let thread = thread::Builder::new().name("audit".to_owned()).spawn(move || writer.run(&queue));
        let thread = thread.map_err(|error| CliError::Server(format!("cannot start the audit thread: {error}")))?;
        Ok(Self { shared, sink, thread: Some(thread) })
    }

    pub(super) fn sink(&self) -> Option<Arc<dyn AuditSink>> {
        self.sink.clone().map(|sink| sink as Arc<dyn AuditSink>)
    }

    pub(super) fn counters(&self) -> AuditCounters {
        AuditCounters(Arc::clone(&self.shared))
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        // The thread ends when the last sink has gone, so it is awaited only if that was this one.
        let last = self.sink.take().is_some_and(|sink| Arc::into_inner(sink).is_some());
        if let Some(thread) = self.thread.take().filter(|_| last) {
            let _ = thread.join();
        }
    }
}

/// The thread's part.
struct Writer {
    shared: Arc<Shared>,
    files: Files,
}

impl Writer {
    fn run(mut self, queue: &Receiver<Entry>) {
        loop {
            match queue.recv_timeout(PAUSE) {
                Ok(Entry { before, line }) => {
                    self.report_left_out(before);
                    self.write(&line);
                }
                Err(RecvTimeoutError::Timeout) => self.report_rest(),
                Err(RecvTimeoutError::Disconnected) => return self.report_rest(),
            }
        }
    }

    /// Reports entries left out that no entry has followed.
    fn report_rest(&mut self) {
        let entries = self.shared.left_out.swap(0, Ordering::Relaxed);
        self.report_left_out(entries);
    }

    fn report_left_out(&mut self, entries: u64) {
        if entries > 0 {
            self.write(&Line::left_out(entries).bytes());
        }
    }

    fn write(&mut self, line: &[u8]) {
        match self.files.append(line) {
            Ok(()) => drop(self.shared.written.fetch_add(1, Ordering::Relaxed)),
            Err(error) => {
                // The first failure of a row is told; a full disk would fill the other log as well.
                if self.shared.failures.fetch_add(1, Ordering::Relaxed) == 0 {
                    tracing::error!(%error, file = %self.files.settings.file.display(), "the audit log cannot be written");
                }
            }
        }
    }
}

/// The files.
struct Files {
    settings: AuditSettings,
    file: File,
    bytes: u64,
}

/// Opens a file to append to, private to its owner, not through a symbolic link.
fn open(path: &Path) -> io::Result<File> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(no_follow).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if found.mode() & 0o077 != 0 {
        return Err(io::Error::other(format!(
            "other users may access it (mode {:03o}); use chmod 600",
            found.mode() & 0o777
        )));
    }
    Ok(file)
}

impl Files {
    fn open(settings: AuditSettings) -> io::Result<Self> {
        let file = open(&settings.file)?;
        let bytes = file.metadata()?.len();
        Ok(Self { settings, file, bytes })
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + line.len() as u64 > self.settings.bytes {
            self.rotate()?;
        }
        self.file.write_all(line)?;
        self.bytes += line.len() as u64;
        Ok(())
    }

    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = self.settings.file.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    /// The present file becomes number 1, number 1 number 2, and so on; the last goes.
    fn rotate(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        let last = self.settings.files.saturating_sub(1);
        for number in (1..last).rev() {
            rename(&self.numbered(number), &self.numbered(number + 1))?;
        }
        match last {
            0 => fs::remove_file(&self.settings.file)?,
            _ => rename(&self.settings.file, &self.numbered(1))?,
        }
        self.file = open(&self.settings.file)?;
        self.bytes = 0;
        Ok(())
    }
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphermill_blockspace::adapter::{Action, Version};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn settings(directory: &Path) -> AuditSettings {
        AuditSettings { file: directory.join("audit.jsonl"), bytes: 1000, files: 3, per_second: 1e6 }
    }

    fn event(generation: u64) -> AuditEvent<'static> {
        AuditEvent {
            action: Action::Put,
            space: 1,
            host: Some("nqn.2026-01.example:host"),
            account: None,
            recovery: false,
            writer: None,
            object: Some("4:1:2".parse().expect("a register")),
            version: Some(Version { size: 432, generation, checksum: 0xabc }),
            lba: Some(7),
            reason: None,
        }
    }

    fn lines(path: &Path) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(path).expect("a file");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn log(settings: AuditSettings, events: u64) {
        let log = AuditLog::start(settings).expect("a log");
        let sink = log.sink().expect("a sink");
        for generation in 0..events {
            sink.record(&event(generation));
        }
        drop(sink);
        drop(log);
    }

    #[test]
    fn entries_are_json_lines_in_files_of_bounded_size_and_number() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = settings(directory.path());
        log(settings.clone(), 100);
        let mut names: Vec<_> = fs::read_dir(directory.path()).expect("a directory").flatten().collect();
        names.sort_by_key(fs::DirEntry::file_name);
        let names: Vec<_> = names.iter().map(|entry| entry.file_name().into_string().expect("UTF-8")).collect();
        assert_eq!(names, ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]);
        let mut generations = Vec::new();
        for name in names.iter().rev() {
            let path = directory.path().join(name);
            let found = fs::metadata(&path).expect("a file");
            assert!(found.len() <= 1000 && found.permissions().mode() & 0o777 == 0o600, "{name}");
            generations.extend(lines(&path).iter().map(|line| line["generation"].as_u64().expect("a number")));
        }
        let first = generations[0];
        assert!(generations.iter().copied().eq(first..100) && first > 50, "the last ones, in order: {generations:?}");
        let line = &lines(&settings.file)[0];
        assert_eq!(
            (&line["action"], &line["object"], &line["crc32c"]),
            (&"put".into(), &"4:1:2".into(), &"00000abc".into())
        );
        assert_eq!((&line["host"], &line["namespace"]), (&"nqn.2026-01.example:host".into(), &1.into()));
        // It goes on after a restart.
        log(settings.clone(), 1);
        assert_eq!(lines(&settings.file).last().expect("a line")["generation"], 0);
    }

    #[test]
    fn entries_over_the_rate_are_counted_in_the_log() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = AuditSettings { per_second: 1e-6, bytes: 1 << 20, ..settings(directory.path()) };
        log(settings.clone(), 50);
        let lines = lines(&settings.file);
        let left_out = lines.iter().filter_map(|line| line["entries"].as_u64()).sum::<u64>();
        assert_eq!((lines.iter().filter(|line| line["action"] == "put").count() as u64, left_out), (1, 49));
    }

    #[test]
    fn a_rate_has_no_more_than_a_second_saved_up() {
        let mut rate = Rate::new(10.0);
        let begun = rate.since;
        assert_eq!((0..100).filter(|_| rate.pass(begun)).count(), 10);
        assert_eq!((0..100).filter(|_| rate.pass(begun + Duration::from_millis(500))).count(), 5);
        assert_eq!((0..100).filter(|_| rate.pass(begun + Duration::from_secs(100))).count(), 10);
    }

    #[test]
    fn links_and_files_that_others_may_read_are_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = settings(directory.path());
        let target = directory.path().join("target");
        symlink(&target, &settings.file).expect("a link");
        assert!(AuditLog::start(settings.clone()).is_err());
        assert!(!target.exists());
        fs::remove_file(&settings.file).expect("removed");
        fs::write(&settings.file, "").expect("a file");
        fs::set_permissions(&settings.file, fs::Permissions::from_mode(0o644)).expect("a mode");
        let error = AuditLog::start(settings).expect_err("others may read it").to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }
}
