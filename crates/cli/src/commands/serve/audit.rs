//! The audit log: one JSON object a line, in files of bounded size and number.
//!
//! ```text
//! namespace ──► rate of the account ──► queue ──► thread ──► FILE, then FILE.1 … FILE.N
//!                  └───────────────────────┴──► numbers of entries left out, written every second
//! ```
//! Files have mode 0600 and are never opened through a symbolic link.

mod files;
mod limits;
mod line;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ciphermill_blockspace::adapter::{AuditEvent, AuditSink};

use self::files::Files;
use self::limits::{Limits, Place, Verdict};
use self::line::Line;
use super::exposition::Exposition;
use crate::error::CliError;

/// Entries that wait for the disk, and those of one account among them.
const QUEUE: usize = 4096;
const QUEUE_OF_ACCOUNT: u64 = QUEUE as u64 / 4;
/// How often the numbers of entries without a line are written.
const PAUSE: Duration = Duration::from_secs(1);

/// Where the audit log goes, and its bounds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AuditSettings {
    pub(super) file: PathBuf,
    /// Bytes of one file.
    pub(super) bytes: u64,
    /// Files in all, the present one included.
    pub(super) files: u32,
    /// Entries a second of each account in the long run, and at once.
    pub(super) per_second: f64,
}

impl AuditSettings {
    pub(super) const BYTES: u64 = 64 << 20;
    pub(super) const FILES: u32 = 8;
    pub(super) const PER_SECOND: f64 = 1000.0;
    /// The least bytes of a file: room for a few entries.
    pub(super) const LEAST_BYTES: u64 = 4096;
}

/// What namespaces and the writing thread share.
#[derive(Debug)]
struct Shared {
    limits: Mutex<Limits>,
    written: AtomicU64,
    repeated: AtomicU64,
    lost: AtomicU64,
    failures: AtomicU64,
}

impl Shared {
    fn limits(&self) -> MutexGuard<'_, Limits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(counter: &AtomicU64, entries: u64) {
        counter.fetch_add(entries, Ordering::Relaxed);
    }
}

/// A line, and its place in the queue.
struct Entry {
    line: Vec<u8>,
    _place: Place,
}

/// The sink of the namespaces.
#[derive(Debug)]
struct Sink {
    shared: Arc<Shared>,
    entries: SyncSender<Option<Entry>>,
}

impl AuditSink for Sink {
    fn record(&self, event: &AuditEvent<'_>) {
        let now = Instant::now();
        let verdict = self.shared.limits().judge(event, now);
        match verdict {
            Verdict::Line(place, repeated) => {
                let line = Line::of(event, repeated).bytes();
                if self.entries.try_send(Some(Entry { line, _place: place })).is_err() {
                    self.shared.limits().leave_out(event.account, 1 + repeated, now);
                    Shared::count(&self.shared.lost, 1);
                }
            }
            Verdict::Repeated => Shared::count(&self.shared.repeated, 1),
            Verdict::LeftOut => Shared::count(&self.shared.lost, 1),
        }
    }
}

/// The audit log of a server: a thread that writes. When this is dropped, it has written all entries until then.
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
            ("repeated_total", "Denials of a host that one line with their number stands for.", get(&self.0.repeated)),
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
            limits: Mutex::new(Limits::new(settings.per_second, QUEUE_OF_ACCOUNT)),
            written: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
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
        // A namespace may outlive the server for a moment, with a sink; the thread does not wait for it.
        let told = self.sink.take().is_none_or(|sink| sink.entries.send(None).is_ok());
        if let Some(thread) = self.thread.take().filter(|_| told) {
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
    fn run(mut self, queue: &Receiver<Option<Entry>>) {
        let mut reported = Instant::now();
        loop {
            match queue.recv_timeout(PAUSE) {
                Ok(Some(Entry { line, _place })) => self.write(&line),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(None) | Err(RecvTimeoutError::Disconnected) => return self.report(true),
            }
            if reported.elapsed() >= PAUSE {
                self.report(false);
                reported = Instant::now();
            }
        }
    }

    /// Writes the numbers of entries that have no line.
    fn report(&mut self, end: bool) {
        let (repeated, left_out) = self.shared.limits().take_unreported(Instant::now(), end);
        repeated.iter().for_each(|denials| self.write(&Line::repeated(denials).bytes()));
        left_out.iter().for_each(|missing| self.write(&Line::left_out(missing).bytes()));
    }

    fn write(&mut self, line: &[u8]) {
        match self.files.append(line) {
            Ok(()) => Shared::count(&self.shared.written, 1),
            Err(error) => {
                // The first failure of a row is told; a full disk would fill the other log as well.
                if self.shared.failures.fetch_add(1, Ordering::Relaxed) == 0 {
                    tracing::error!(%error, file = %self.files.settings.file.display(), "the audit log cannot be written");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphermill_blockspace::adapter::{Action, Version};
    use ciphermill_device::ContentDigest;
    use ciphermill_nvme::Account;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

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
            version: Some(Version { size: 432, generation, digest: Some(ContentDigest([0xab; 16])) }),
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
            (&line["action"], &line["object"], &line["blake3"]),
            (&"put".into(), &"4:1:2".into(), &"ab".repeat(16).into())
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
    fn a_flood_of_denials_hides_no_entry() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = AuditSettings { per_second: 1000.0, bytes: 1 << 20, ..settings(directory.path()) };
        let log = AuditLog::start(settings.clone()).expect("a log");
        let (sink, counters) = (log.sink().expect("a sink"), log.counters());
        let mallory = Account::Host("mallory".into());
        let of_mallory = |action| AuditEvent { action, host: Some("mallory"), account: Some(&mallory), ..event(7) };
        (0..50_000).for_each(|_| sink.record(&of_mallory(Action::Denied)));
        sink.record(&of_mallory(Action::Deleted));
        sink.record(&event(8));
        drop(sink);
        drop(log);
        let lines = lines(&settings.file);
        let of = |action: &str| lines.iter().filter(|line| line["action"] == action).count();
        assert_eq!((of("deleted"), of("put"), of("left-out")), (1, 1, 0));
        let denied: Vec<_> = lines.iter().filter(|line| line["action"] == "denied").collect();
        let repeated: u64 = denied.iter().filter_map(|line| line["repeated"].as_u64()).sum();
        // The first denial of a second has a separate line.
        let own = denied.iter().filter(|line| line.get("object").is_some()).count() as u64;
        assert_eq!(own + repeated, 50_000);
        assert_eq!(counters.0.repeated.load(Ordering::Relaxed), repeated);
    }

    #[test]
    fn a_line_that_a_crash_cut_is_not_continued() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = settings(directory.path());
        log(settings.clone(), 1);
        let whole = fs::read_to_string(&settings.file).expect("a file");
        fs::write(&settings.file, format!("{whole}{}", &whole[..20])).expect("a file");
        log(settings.clone(), 1);
        let text = fs::read_to_string(&settings.file).expect("a file");
        let read: Vec<_> = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()).collect();
        assert_eq!(read, [true, false, true], "{text}");
    }

    #[test]
    fn an_entry_of_a_recovery_says_so() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = settings(directory.path());
        let log = AuditLog::start(settings.clone()).expect("a log");
        log.sink().expect("a sink").record(&AuditEvent { recovery: true, account: None, ..event(1) });
        drop(log);
        assert_eq!(lines(&settings.file)[0]["recovery"], true);
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
