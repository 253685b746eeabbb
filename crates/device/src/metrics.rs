//! Counters of a device, and their Prometheus text.

use crate::{
    memory::MemoryUsage,
    store::{SpaceId, SpaceLimits, StoreUsage},
};
use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Count and time of one kind of instruction.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// space.write_bytes(x, &one, WriteOptions::default())?;
/// space.write_bytes(y, &two, WriteOptions::default())?;
/// space.run(&sum)?;
/// let additions: InstructionMetrics = device.metrics().instructions["homadd"];
/// assert_eq!(additions.count, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionMetrics {
    /// How many were done.
    pub count: u64,
    /// Their total time.
    pub time: Duration,
}

/// Quotas and use of one space.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// space.write_bytes(x, &one, WriteOptions::default())?;
/// let SpaceMetrics { used, .. } = device.metrics().spaces[&SpaceId::EMBEDDED];
/// assert_eq!((used.objects, used.bytes), (1, one.len() as u64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceMetrics {
    /// Its quotas.
    pub limits: SpaceLimits,
    /// Its use.
    pub used: SpaceLimits,
}

/// Memory of loaded keys and prepared operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyMemoryUsage {
    /// Bytes that may be in use.
    pub limit: u64,
    /// Bytes in use, or set aside for loading.
    pub used: u64,
    /// Keys ready for computing.
    pub keys: u64,
    /// Operands (matrices) ready for computing.
    pub prepared: u64,
    /// Keys loaded and operands prepared.
    pub loads: u64,
    /// Those dropped because others needed the memory.
    pub evictions: u64,
    /// Requests that waited for memory, or for another request that loaded the same key.
    pub waits: u64,
    /// Their time.
    pub wait_time: Duration,
    /// Requests that waited in vain.
    pub refusals: u64,
}

/// The state of a device's counters at one moment. Counts are since the device was opened.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// space.write_bytes(x, &one, WriteOptions::default())?;
/// space.write_bytes(y, &two, WriteOptions::default())?;
/// space.run(&sum)?;
/// let metrics: MetricsSnapshot = device.metrics();
/// assert_eq!((metrics.writes, metrics.programs_run), (2, 1));
/// assert_eq!(metrics.instructions["homadd"].count, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsSnapshot {
    /// Objects, bytes, and the data file.
    pub store: StoreUsage,
    /// Frames, pages, swap, page-ins and page-outs.
    pub memory: MemoryUsage,
    /// All spaces.
    pub spaces: BTreeMap<SpaceId, SpaceMetrics>,
    /// Whether the store has stopped writing because its medium failed to sync.
    pub store_failed: bool,
    /// Group commits.
    pub commits: u64,
    /// Changes they carried; above `commits` when changes shared one.
    pub committed_changes: u64,
    /// Time of the commits, syncs included.
    pub commit_time: Duration,
    /// Objects written.
    pub writes: u64,
    /// The writes that stored the result of a program.
    pub computed_writes: u64,
    /// Bytes of them, as they came from the host.
    pub bytes_written: u64,
    /// Objects read.
    pub reads: u64,
    /// The reads that returned the result of a program.
    pub computed_reads: u64,
    /// Bytes of them, as they went to the host (counted when the reading begins, and not for objects opened for reads at any
    /// offset).
    pub bytes_read: u64,
    /// Objects deleted.
    pub deletes: u64,
    /// Operands of programs found in main memory or its swap area.
    pub register_hits: u64,
    /// Operands of programs that had to be read from the object store.
    pub register_misses: u64,
    /// The memory of loaded keys.
    pub key_memory: KeyMemoryUsage,
    /// Programs that ran to their end.
    pub programs_run: u64,
    /// Programs that were rejected or failed.
    pub programs_failed: u64,
    /// Programs that were refused because too many waited.
    pub programs_refused: u64,
    /// Time of the programs that ran or failed, without their wait.
    pub program_time: Duration,
    /// Time that they waited for their turn.
    pub program_wait: Duration,
    /// Scrubs that came to their end.
    pub scrubs: u64,
    /// Bytes of objects they read.
    pub scrubbed_bytes: u64,
    /// Damaged chunks they found; one that several found counts for each.
    pub damaged_chunks: u64,
    /// Programs running now.
    pub programs_running: u64,
    /// Programs waiting for their turn now.
    pub queue_depth: u64,
    /// Instructions done, by mnemonic.
    pub instructions: BTreeMap<&'static str, InstructionMetrics>,
}

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) writes: AtomicU64,
    pub(crate) computed_writes: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) computed_reads: AtomicU64,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) deletes: AtomicU64,
    pub(crate) register_hits: AtomicU64,
    pub(crate) register_misses: AtomicU64,
    pub(crate) programs_run: AtomicU64,
    pub(crate) programs_failed: AtomicU64,
    pub(crate) programs_refused: AtomicU64,
    pub(crate) program_ns: AtomicU64,
    pub(crate) program_wait_ns: AtomicU64,
    pub(crate) scrubs: AtomicU64,
    pub(crate) scrubbed_bytes: AtomicU64,
    pub(crate) damaged_chunks: AtomicU64,
    instructions: Mutex<BTreeMap<&'static str, InstructionMetrics>>,
}

/// Adds to a counter of nanoseconds.
pub(crate) fn count_time(counter: &AtomicU64, time: Duration) {
    count(counter, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
}

/// Adds to a counter.
pub(crate) fn count(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

impl Metrics {
    /// Adds the instructions of one run; once per run, so that an instruction of a microsecond takes no lock.
    pub(crate) fn add_instructions(&self, done: &BTreeMap<&'static str, InstructionMetrics>) {
        let mut all = self.instructions.lock().unwrap_or_else(PoisonError::into_inner);
        for (mnemonic, metrics) in done {
            let sum = all.entry(mnemonic).or_default();
            sum.count += metrics.count;
            sum.time += metrics.time;
        }
    }

    pub(crate) fn snapshot(&self) -> MetricsSnapshot {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        MetricsSnapshot {
            writes: get(&self.writes),
            computed_writes: get(&self.computed_writes),
            bytes_written: get(&self.bytes_written),
            reads: get(&self.reads),
            computed_reads: get(&self.computed_reads),
            bytes_read: get(&self.bytes_read),
            deletes: get(&self.deletes),
            register_hits: get(&self.register_hits),
            register_misses: get(&self.register_misses),
            programs_run: get(&self.programs_run),
            programs_failed: get(&self.programs_failed),
            programs_refused: get(&self.programs_refused),
            program_time: Duration::from_nanos(get(&self.program_ns)),
            program_wait: Duration::from_nanos(get(&self.program_wait_ns)),
            scrubs: get(&self.scrubs),
            scrubbed_bytes: get(&self.scrubbed_bytes),
            damaged_chunks: get(&self.damaged_chunks),
            instructions: self.instructions.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            ..MetricsSnapshot::default()
        }
    }
}

impl MetricsSnapshot {
    /// The metrics in Prometheus' text exposition format, version 0.0.4; every name begins with `ciphermill_device_`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let text = device.metrics().to_prometheus();
    /// assert!(text.contains("\nciphermill_device_objects 0\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_prometheus(&self) -> String {
        let (store, memory, keys) = (&self.store, &self.memory, &self.key_memory);
        let failed = u64::from(self.store_failed);
        let gauges = [
            ("objects", "Objects stored", store.objects),
            ("object_bytes", "Sum of the sizes of the stored objects", store.object_bytes),
            ("store_failed", "1 once the store has stopped writing because its medium failed to sync", failed),
            ("data_file_bytes", "Used length of the data file", store.data_bytes),
            ("data_file_free_bytes", "Free extents within the data file", store.free_bytes),
            ("object_table_bytes", "Length of the object table", store.table_bytes),
            ("memory_frames", "Frames of main memory", memory.frames),
            ("memory_frames_used", "Frames in use", memory.used_frames),
            ("memory_pages", "Virtual pages in use", memory.pages),
            ("swap_slots", "Slots of the swap area in use", memory.swap_slots),
            ("keys_loaded", "Keys ready for computing", keys.keys),
            ("operands_prepared", "Operands ready for computing", keys.prepared),
            ("key_memory_bytes", "Memory of loaded keys and prepared operands", keys.used),
            ("key_memory_limit_bytes", "Bytes that it may have", keys.limit),
            ("programs_running", "Programs running now", self.programs_running),
            ("queue_depth", "Programs waiting for their turn now", self.queue_depth),
        ];
        let counters = [
            ("page_ins_total", "Pages copied from the swap area to main memory", memory.page_ins),
            ("page_outs_total", "Pages copied from main memory to the swap area", memory.page_outs),
            ("commits_total", "Group commits", self.commits),
            ("committed_changes_total", "Changes carried by group commits", self.committed_changes),
            ("writes_total", "Objects written", self.writes),
            ("computed_writes_total", "Writes that stored the result of a program", self.computed_writes),
            ("written_bytes_total", "Bytes of objects written", self.bytes_written),
            ("reads_total", "Objects read", self.reads),
            ("computed_reads_total", "Reads that gave the result of a program", self.computed_reads),
            ("read_bytes_total", "Bytes of objects read", self.bytes_read),
            ("deletes_total", "Objects deleted", self.deletes),
            ("register_hits_total", "Operands found in memory", self.register_hits),
            ("register_misses_total", "Operands read from the object store", self.register_misses),
            ("programs_run_total", "Programs that ran to their end", self.programs_run),
            ("programs_failed_total", "Programs that were rejected or failed", self.programs_failed),
            ("programs_refused_total", "Programs refused because too many waited", self.programs_refused),
            ("key_loads_total", "Keys loaded and operands prepared", keys.loads),
            ("key_evictions_total", "Those dropped because others needed the memory", keys.evictions),
            ("key_memory_waits_total", "Requests that waited for key memory or for the same key", keys.waits),
            ("key_memory_refusals_total", "Requests that waited for key memory in vain", keys.refusals),
            ("scrubs_total", "Scrubs that came to their end", self.scrubs),
            ("scrubbed_bytes_total", "Bytes of objects that scrubs read", self.scrubbed_bytes),
            ("damaged_chunks_total", "Damaged chunks that scrubs found", self.damaged_chunks),
        ];
        let mut text = String::new();
        // Writing to a string cannot fail.
        for (kind, metrics) in [("gauge", gauges.as_slice()), ("counter", counters.as_slice())] {
            for (name, help, value) in metrics {
                let name = format!("ciphermill_device_{name}");
                let _ = writeln!(text, "# HELP {name} {help}.\n# TYPE {name} {kind}\n{name} {value}");
            }
        }
        let times = [
            ("commit_seconds_total", "Time of group commits, syncs included", self.commit_time),
            ("program_seconds_total", "Time of programs, without their wait", self.program_time),
            ("program_wait_seconds_total", "Time that programs waited for their turn", self.program_wait),
            ("key_memory_wait_seconds_total", "Time of the waits for key memory", keys.wait_time),
        ];
        for (name, help, time) in times {
            let name = format!("ciphermill_device_{name}");
            let _ = writeln!(text, "# HELP {name} {help}.\n# TYPE {name} counter\n{name} {}", time.as_secs_f64());
        }
        self.write_spaces(&mut text);
        let name = "ciphermill_device_instructions_total";
        let _ = writeln!(text, "# HELP {name} Instructions done.\n# TYPE {name} counter");
        for (mnemonic, metrics) in &self.instructions {
            let _ = writeln!(text, "{name}{{instruction=\"{mnemonic}\"}} {}", metrics.count);
        }
        let name = "ciphermill_device_instruction_seconds_total";
        let _ = writeln!(text, "# HELP {name} Time of the instructions done.\n# TYPE {name} counter");
        for (mnemonic, metrics) in &self.instructions {
            let _ = writeln!(text, "{name}{{instruction=\"{mnemonic}\"}} {}", metrics.time.as_secs_f64());
        }
        text
    }

    fn write_spaces(&self, text: &mut String) {
        type Value = fn(&SpaceMetrics) -> u64;
        let gauges: [(&str, &str, Value); 4] = [
            ("space_objects", "Objects of the space", |space| space.used.objects),
            ("space_bytes", "Sum of the sizes of its objects", |space| space.used.bytes),
            ("space_limit_objects", "Objects that it may have", |space| space.limits.objects),
            ("space_limit_bytes", "Bytes that its objects may have", |space| space.limits.bytes),
        ];
        for (name, help, value) in gauges {
            let name = format!("ciphermill_device_{name}");
            let _ = writeln!(text, "# HELP {name} {help}.\n# TYPE {name} gauge");
            for (id, space) in &self.spaces {
                let _ = writeln!(text, "{name}{{space=\"{id}\"}} {}", value(space));
            }
        }
    }
}
