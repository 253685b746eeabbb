//! The scrub: reads everything, to find damage before the bytes are needed.

use super::{
    Inner, ObjectKey, ObjectReader, Store, StoreError,
    digest::Digester,
    format::CHUNK_BYTES,
    object::{Placement, StoredObject},
    record::Record,
};
use std::{ops::Bound, sync::Arc, thread, time::Duration};

/// An event of a running scrub.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// space.write_bytes(x, &one, WriteOptions::default())?;
/// let mut events = Vec::new();
/// device.scrub(&mut |event| events.push(event))?;
/// assert!(matches!(events.as_slice(), [ScrubEvent::Progress { objects: 1, of: 1, .. }]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ScrubEvent {
    /// An object was read; also after each 64 MiB of a large one.
    Progress {
        /// Objects done.
        objects: u64,
        /// Objects stored now.
        of: u64,
        /// Bytes read.
        bytes: u64,
    },
    /// Bytes of an object do not match their checksum.
    Damaged {
        /// The object.
        object: ObjectKey,
        /// Index of the chunk of 1 MiB.
        chunk: u64,
    },
    /// Bytes of an object, or its record, could not be read or are invalid.
    Unreadable {
        /// The object.
        object: ObjectKey,
        /// Why.
        error: StoreError,
    },
    /// The object table is damaged.
    Table {
        /// The finding.
        error: StoreError,
    },
}

/// The result of a scrub.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let report: ScrubReport = device.scrub(&mut |_| ())?;
/// assert!(report.is_sound());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Objects read.
    pub objects: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Objects with at least one damaged or unreadable chunk, or such a record, or with the bytes of another object.
    pub damaged_objects: u64,
    /// Damaged and unreadable chunks.
    pub damaged_chunks: u64,
    /// Whether all pages of the object table were checked: `Some(false)` if they are damaged, `None` if writes came so
    /// densely that no check fitted between them. The records of all objects were checked in any case.
    pub table_sound: Option<bool>,
}

impl ScrubReport {
    /// Whether no damage was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damaged_objects == 0 && self.table_sound != Some(false)
    }
}

/// Attempts to check the table's pages between two commits.
const ATTEMPTS: u32 = 20;
/// Pause between them.
const PAUSE: Duration = Duration::from_millis(20);
/// Chunks of an object between two reports of progress.
const REPORT_CHUNKS: u64 = 64;

impl Store {
    /// Reads every object of every space and checks every checksum and digest, and the records and pages of the object table. It runs
    /// during normal operation: no lock is held during a read, and an object that is replaced meanwhile is read in one of
    /// its versions. Nothing is changed. Reads go through the page cache of the operating system.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let store = Store::open(StoreFiles::in_memory())?;
    /// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
    /// let mut writer = store.write(key, 5)?;
    /// writer.push(b"hello")?;
    /// let object = writer.commit(ObjectFlags::NONE)?;
    /// let report = store.scrub(&mut |event| println!("{event:?}"));
    /// assert!(report.is_sound());
    /// assert_eq!(report.objects, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scrub(&self, each: &mut dyn FnMut(ScrubEvent)) -> ScrubReport {
        let mut scrub = Scrub { inner: &self.inner, each, report: ScrubReport::default() };
        let mut last = None;
        while let Some(object) = self.after(last) {
            last = Some(object.key);
            scrub.object(&object);
            scrub.progress();
        }
        scrub.table();
        scrub.report
    }

    fn after(&self, last: Option<ObjectKey>) -> Option<Arc<StoredObject>> {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        self.index().objects.range((from, Bound::Unbounded)).next().map(|(_, object)| Arc::clone(object))
    }
}

struct Scrub<'a> {
    inner: &'a Arc<Inner>,
    each: &'a mut dyn FnMut(ScrubEvent),
    report: ScrubReport,
}

impl Scrub<'_> {
    fn progress(&mut self) {
        let of = self.inner.index().objects.len() as u64;
        (self.each)(ScrubEvent::Progress { objects: self.report.objects, of, bytes: self.report.bytes });
    }

    fn object(&mut self, object: &Arc<StoredObject>) {
        let before = self.report.damaged_chunks;
        let record_is_sound = self.record(object);
        let mut reader = ObjectReader::new(Arc::clone(self.inner), Arc::clone(object));
        let mut digester = Digester::default();
        for chunk in 0..object.size.div_ceil(CHUNK_BYTES) {
            match reader.load(chunk) {
                Ok(bytes) => digester.push(bytes),
                Err(StoreError::DamagedObject { object, chunk }) => {
                    self.report.damaged_chunks += 1;
                    (self.each)(ScrubEvent::Damaged { object, chunk });
                }
                Err(error) => {
                    self.report.damaged_chunks += 1;
                    (self.each)(ScrubEvent::Unreadable { object: object.key, error });
                }
            }
            self.report.bytes += CHUNK_BYTES.min(object.size - chunk * CHUNK_BYTES);
            if (chunk + 1).is_multiple_of(REPORT_CHUNKS) {
                self.progress();
            }
        }
        let is_whole = self.report.damaged_chunks == before;
        let is_its_own = !is_whole || object.digest.is_none_or(|digest| digest == digester.finish());
        if !is_its_own {
            let error = StoreError::OtherContent { object: object.key };
            (self.each)(ScrubEvent::Unreadable { object: object.key, error });
        }
        self.report.objects += 1;
        self.report.damaged_objects += u64::from(!(is_whole && is_its_own && record_is_sound));
    }

    /// Whether the table's record of the object matches the index. Damage of the bytes within it is reported with the bytes.
    fn record(&mut self, object: &StoredObject) -> bool {
        let error = match self.inner.table.record(object.key) {
            Ok(record) if agrees(record.as_ref(), object) => return true,
            // The record may be a later one: then the index must know of it.
            Ok(_) if !self.is_current(object) => return true,
            Ok(_) => StoreError::Corrupt { what: format!("the table's record of {} is not its own", object.key) },
            Err(StoreError::Corrupt { .. }) if matches!(object.placement, Placement::Inline(_)) => return true,
            Err(error) => error,
        };
        (self.each)(ScrubEvent::Unreadable { object: object.key, error });
        false
    }

    fn is_current(&self, object: &StoredObject) -> bool {
        self.inner.queue.quiet().is_some()
            && self.inner.index().objects.get(&object.key).is_some_and(|now| now.generation == object.generation)
    }

    fn table(&mut self) {
        for _ in 0..ATTEMPTS {
            let before = self.inner.queue.quiet();
            if before.is_some() {
                let outcome = self.inner.table.check_now();
                // Beside a commit, pages of before and after it would have been mixed.
                if self.inner.queue.quiet() == before {
                    self.report.table_sound = Some(outcome.is_ok());
                    if let Err(error) = outcome {
                        (self.each)(ScrubEvent::Table { error });
                    }
                    return;
                }
            }
            thread::sleep(PAUSE);
        }
    }
}

fn agrees(record: Option<&Record>, object: &StoredObject) -> bool {
    record.is_some_and(|record| record.generation == object.generation && record.chunks[..] == object.chunks[..])
}
