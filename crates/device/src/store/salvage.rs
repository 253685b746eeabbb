//! Salvage: the objects of a damaged store.
//!
//! Where the object table is sound, it says which objects there are. Else the log does, together with the records that are
//! found in the bytes of the table, wherever they begin. Of each object the newest version is taken whose checksums hold.
//!
//! The place of an old version may hold the bytes of another object by now. The digest of the version shows that; its
//! checksums do not ([`digest`](super::digest)). A version without a digest, which format version 1 wrote, counts only if it
//! is the current one, or if the log is whole and names no later object in its place.

use super::{
    ContentDigest, ObjectKey, ObjectReader, Owner, SpaceId, SpaceLimits, Store, StoreError, StoreFiles, checksum,
    copy::StoreCopy,
    format::{BLOCK_BYTES, CHUNK_BYTES, EARLIER_SUPERBLOCK, SUPERBLOCK},
    log::{Item, LogContent},
    object::StoredObject,
    record::{Found, Record, StoreId},
    table::bounds_in,
};
use ciphermill_storage::{FormatError, OverlayStorage, Storage, StorageError, Superblock, unseal};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    sync::Arc,
};

/// Bytes of the table that are searched at once, and how far a record may reach beyond them.
const WINDOW_BYTES: u64 = 8 << 20;
const RECORD_REACH: u64 = 2 << 20;

/// What became of an object, or of one of its versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SalvageState {
    /// Its newest version is recovered.
    Recovered,
    /// Its newest version is damaged; an older one is recovered.
    Older {
        /// The generation that is lost.
        lost: u64,
    },
    /// No version of it is whole.
    Lost,
    /// It was deleted, but its bytes are still whole. It is not recovered.
    Deleted,
    /// A later version exists; this one is still whole. It is not recovered.
    Superseded,
}

/// A version of an object that was found.
#[derive(Clone, Debug)]
pub struct Salvaged {
    /// The object.
    pub object: ObjectKey,
    /// Its size in bytes.
    pub size: u64,
    /// The generation of this version.
    pub generation: u64,
    /// What became of it.
    pub state: SalvageState,
    source: Source,
}

impl Salvaged {
    /// The owner of the object, if it has one.
    #[must_use]
    pub fn owner(&self) -> Option<Owner> {
        self.source.record().owner
    }
}

#[derive(Clone, Debug)]
enum Source {
    /// Of a table that opens.
    Stored(Arc<StoredObject>),
    /// Of a record, and where the object's bytes are in the table if it is a small one.
    Raw { record: Record, content: Option<u64> },
}

/// The findings of a salvage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SalvageReport {
    /// Whether the superblock of the data file is sound.
    pub superblock_sound: bool,
    /// Whether the object table is sound.
    pub table_sound: bool,
    /// Whether the log is whole: of this store, without damage, and without a later commit in the pages of the table. If
    /// neither is sound, deleted objects may be among the recovered ones.
    pub log_sound: bool,
    /// Objects of which the newest version is recovered.
    pub recovered: u64,
    /// Objects of which an older version is recovered.
    pub older: u64,
    /// Objects of which no version is whole.
    pub lost: u64,
    /// Deleted objects that are still whole.
    pub deleted: u64,
    /// Superseded versions that are still whole.
    pub superseded: u64,
}

/// The objects that can be recovered from the files of a store, damaged or not. Nothing is changed.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_device::store::Salvage;
/// let files = StoreFiles::in_memory();
/// let store = Store::open(files.clone())?;
/// let key = ObjectKey { space: SpaceId::EMBEDDED, id: x };
/// let mut writer = store.write(key, 20_000)?;
/// writer.push(&[7; 20_000])?;
/// writer.commit(ObjectFlags::NONE)?;
/// drop(store);
/// // The table is lost.
/// files.objects.set_len(0)?;
/// let salvage = Salvage::scan(files, &mut |_, _| ())?;
/// assert_eq!(salvage.report().recovered, 1);
/// let repaired = salvage.write(Store::open(StoreFiles::in_memory())?)?;
/// assert_eq!(repaired.read(repaired.get(key)?).pull_all()?, [7; 20_000]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Salvage {
    files: StoreFiles,
    /// The store, if it opens.
    opened: Option<Store>,
    id: Option<[u8; 16]>,
    versions: Vec<Salvaged>,
    spaces: BTreeMap<SpaceId, SpaceLimits>,
    next_generation: u64,
    report: SalvageReport,
}

impl Salvage {
    /// Reads the files and checks every version of every object; `progress` gets the objects done and all objects. The
    /// caller ensures that no device has the files open.
    ///
    /// # Errors
    /// [`StoreError::Version`] for a store of a later version, [`StoreError::NotAStore`] when the files hold nothing of a
    /// store, and errors of the medium.
    pub fn scan(files: StoreFiles, progress: &mut dyn FnMut(u64, u64)) -> Result<Self, StoreError> {
        let superblock = superblock(&*files.data)?;
        let log = log_of(&*files.log, superblock)?;
        // The log holds no bytes of hosts, so a record in it is of the store for sure.
        let id = superblock.or(log.store_id());
        let opened = id.and_then(|id| open(&files, id).ok());
        let mut facts = Facts::default();
        facts.read_log(&log);
        if let Some(id) = id {
            facts.read_table(&*files.objects, id)?;
        }
        if let Some(store) = &opened {
            facts.believe(store);
        }
        if facts.objects.is_empty() && opened.is_none() && id.is_none() {
            return Err(StoreError::NotAStore);
        }
        let report = SalvageReport {
            superblock_sound: superblock.is_some(),
            table_sound: opened.is_some(),
            log_sound: log.header.is_some() && log.damaged == 0 && log.reaches(facts.in_table, facts.table_bound),
            ..SalvageReport::default()
        };
        let next_generation = facts.newest.saturating_add(1);
        let (spaces, places) = (facts.spaces(), facts.places());
        let mut salvage = Self { files, opened, id, versions: Vec::new(), spaces, next_generation, report };
        let all = facts.objects.len() as u64;
        for (done, (key, versions)) in facts.objects.into_iter().enumerate() {
            salvage.judge(key, versions, facts.base, &places);
            progress(done as u64 + 1, all);
        }
        salvage.count();
        Ok(salvage)
    }

    /// The findings.
    #[must_use]
    pub fn report(&self) -> &SalvageReport {
        &self.report
    }

    /// The identity of the store, if its superblock or its log still has it.
    #[must_use]
    pub fn id(&self) -> Option<[u8; 16]> {
        self.id
    }

    /// All versions that were found, by object; the recovered one of each comes first.
    #[must_use]
    pub fn versions(&self) -> &[Salvaged] {
        &self.versions
    }

    /// Writes the bytes of a version.
    ///
    /// # Errors
    /// [`StoreError::DamagedObject`] and [`StoreError::OtherContent`] if it is not whole, and the errors of `out`.
    pub fn read(&self, version: &Salvaged, out: &mut dyn Write) -> Result<(), StoreError> {
        self.visit(version.object, &version.source, &mut |chunk| {
            let written = out.write_all(chunk);
            Ok(written.map_err(|source| StorageError::Io { operation: "export", source: Arc::new(source) })?)
        })
    }

    /// Copies the recovered objects into a new store.
    ///
    /// # Errors
    /// Those of writing; [`StoreError::DamagedObject`] or [`StoreError::OtherContent`] if an object changed since the scan.
    pub fn write(&self, target: Store) -> Result<Store, StoreError> {
        let mut copy = StoreCopy::new(target)?;
        let wanted = |state| matches!(state, SalvageState::Recovered | SalvageState::Older { .. });
        for version in self.versions.iter().filter(|version| wanted(version.state)) {
            let (key, record) = (version.object, version.source.record());
            let checksum = checksum::of_chunks(&record.chunks, CHUNK_BYTES, record.size);
            let mut reader = self.reader(key, &version.source);
            copy.put(key, &record, checksum, &mut |chunk| reader(chunk))?;
        }
        copy.finish(&self.spaces, self.next_generation)
    }

    /// Reads chunks of a version, each only if its checksum holds.
    fn reader<'a>(
        &'a self,
        key: ObjectKey,
        source: &'a Source,
    ) -> Box<dyn FnMut(u64) -> Result<Vec<u8>, StoreError> + 'a> {
        match (source, &self.opened) {
            (Source::Stored(object), Some(store)) => {
                let mut reader = ObjectReader::new(Arc::clone(&store.inner), Arc::clone(object));
                Box::new(move |chunk| reader.chunk(chunk))
            }
            (Source::Stored(_), None) => Box::new(move |chunk| Err(StoreError::DamagedObject { object: key, chunk })),
            (Source::Raw { record, content }, _) => Box::new(move |chunk| self.raw_chunk(key, record, *content, chunk)),
        }
    }

    fn raw_chunk(
        &self,
        key: ObjectKey,
        record: &Record,
        content: Option<u64>,
        chunk: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let damaged = StoreError::DamagedObject { object: key, chunk };
        let begin = chunk * CHUNK_BYTES;
        let mut bytes = vec![0; CHUNK_BYTES.min(record.size - begin) as usize];
        let read = match (record.is_inline(), content) {
            (true, Some(at)) => self.files.objects.read_at(at, &mut bytes),
            (true, None) => return Err(damaged),
            (false, _) => self.read_extents(record, begin, &mut bytes),
        };
        match read {
            Err(StorageError::OutOfRange { .. }) => return Err(damaged),
            outcome => outcome?,
        }
        match record.chunks.get(chunk as usize) == Some(&crc32c::crc32c(&bytes)) {
            true => Ok(bytes),
            false => Err(damaged),
        }
    }

    fn read_extents(&self, record: &Record, begin: u64, out: &mut [u8]) -> Result<(), StorageError> {
        let (mut skip, mut rest) = (begin, out);
        for extent in &record.extents {
            let bytes = extent.blocks.saturating_mul(BLOCK_BYTES);
            if skip >= bytes {
                skip -= bytes;
                continue;
            }
            let (now, later) = rest.split_at_mut(rest.len().min((bytes - skip) as usize));
            let at = extent.start.checked_mul(BLOCK_BYTES).and_then(|start| start.checked_add(skip));
            let size = self.files.data.len()?;
            let at = at.ok_or(StorageError::OutOfRange { offset: u64::MAX, len: bytes, size })?;
            self.files.data.read_at(at, now)?;
            (skip, rest) = (0, later);
            if rest.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Gives `each` the chunks of a version. That its bytes are its own is known at the end only.
    fn visit(
        &self,
        key: ObjectKey,
        source: &Source,
        each: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (record, mut reader) = (source.record(), self.reader(key, source));
        let digest = ContentDigest::of_chunks(record.size, |chunk| {
            let bytes = reader(chunk)?;
            each(&bytes)?;
            Ok(bytes)
        })?;
        match record.digest.is_none_or(|wanted| wanted == digest) {
            true => Ok(()),
            false => Err(StoreError::OtherContent { object: key }),
        }
    }

    fn is_whole(&self, key: ObjectKey, source: &Source) -> bool {
        self.visit(key, source, &mut |_| Ok(())).is_ok()
    }

    /// Decides about one object. `base` is the change up to which all versions that count are known.
    fn judge(&mut self, key: ObjectKey, mut facts: Vec<Fact>, base: u64, places: &Places) {
        let counts = |fact: &&Fact| fact.known || fact.change > base;
        let newest = facts.iter().filter(counts).max_by_key(|fact| fact.change);
        let deleted = newest.is_none_or(|fact| fact.source.is_none());
        let newest = newest.map_or(0, |fact| fact.change);
        // The versions that count come first, the latest before the earlier ones.
        facts.sort_by_key(|fact| std::cmp::Reverse((fact.known || fact.change > base, fact.change)));
        let mut seen = BTreeSet::new();
        let (mut lost, mut recovered) = (None, false);
        let from = self.versions.len();
        for fact in facts.iter().filter(|fact| fact.source.is_some()) {
            let Some(source) = &fact.source else { continue };
            let source = with_content(source, &facts);
            let record = source.record();
            // A change of flags makes a record of the same version.
            if !seen.insert(record.generation) {
                continue;
            }
            let current = !deleted && fact.change == newest;
            let (table, log) = (self.report.table_sound, self.report.log_sound);
            let in_place = record.digest.is_some()
                || record.is_inline()
                || (current && fact.known && (table || log))
                || ((current || (fact.logged && log)) && !places.are_reused(key, &record));
            let whole = in_place && self.is_whole(key, &source);
            let state = match (whole, deleted, recovered) {
                (true, true, _) => SalvageState::Deleted,
                (true, false, true) => SalvageState::Superseded,
                (true, false, false) if fact.change == newest => SalvageState::Recovered,
                (true, false, false) => SalvageState::Older { lost: lost.unwrap_or(0) },
                (false, ..) => {
                    lost = lost.or(Some(record.generation));
                    continue;
                }
            };
            recovered |= matches!(state, SalvageState::Recovered | SalvageState::Older { .. });
            let (size, generation) = (record.size, record.generation);
            self.versions.push(Salvaged { object: key, size, generation, state, source });
        }
        let lost_source = facts.iter().find_map(|fact| fact.source.clone()).filter(|_| !deleted && !recovered);
        if let Some(source) = lost_source {
            let record = source.record();
            let (size, generation) = (record.size, record.generation);
            let lost = Salvaged { object: key, size, generation, state: SalvageState::Lost, source };
            self.versions.insert(from, lost);
        }
    }

    fn count(&mut self) {
        for version in &self.versions {
            *match version.state {
                SalvageState::Recovered => &mut self.report.recovered,
                SalvageState::Older { .. } => &mut self.report.older,
                SalvageState::Lost => &mut self.report.lost,
                SalvageState::Deleted => &mut self.report.deleted,
                SalvageState::Superseded => &mut self.report.superseded,
            } += 1;
        }
    }
}

impl Source {
    fn record(&self) -> Record {
        match self {
            Self::Stored(object) => object.record(),
            Self::Raw { record, .. } => record.clone(),
        }
    }
}

/// The same source with the bytes of a small object that another record of the same version has.
fn with_content(source: &Source, facts: &[Fact]) -> Source {
    let Source::Raw { record, content: None } = source else { return source.clone() };
    let of_the_same = |fact: &Fact| match &fact.source {
        Some(Source::Raw { record: other, content: Some(at) })
            if (other.generation, &other.chunks) == (record.generation, &record.chunks) =>
        {
            Some(*at)
        }
        _ => None,
    };
    Source::Raw { record: record.clone(), content: facts.iter().find_map(of_the_same) }
}

/// One change of an object that was found somewhere.
#[derive(Debug)]
struct Fact {
    change: u64,
    /// Whether it comes from where everything that counts is; else it may be stale.
    known: bool,
    /// Whether it comes from the log.
    logged: bool,
    /// `None` for a deletion.
    source: Option<Source>,
}

#[derive(Debug, Default)]
struct Facts {
    objects: BTreeMap<ObjectKey, Vec<Fact>>,
    limits: BTreeMap<SpaceId, SpaceLimits>,
    /// All changes up to this one that count are known.
    base: u64,
    /// The highest number of a change or generation.
    newest: u64,
    /// The highest change of a record in the bytes of the table.
    in_table: u64,
    /// The highest bound in the bytes of the table.
    table_bound: u64,
}

impl Facts {
    fn add(&mut self, key: ObjectKey, fact: Fact) {
        let generation = fact.source.as_ref().map_or(0, |source| source.record().generation);
        self.newest = self.newest.max(fact.change).max(generation);
        self.objects.entry(key).or_default().push(fact);
    }

    fn read_log(&mut self, log: &LogContent) {
        // A log with a hole may lack a deletion or a later version: then nothing found elsewhere is stale for sure.
        if let Some((_, base)) = log.header.filter(|_| log.damaged == 0) {
            self.base = base;
            self.newest = base;
        }
        for item in &log.items {
            match item {
                Item::Put(key, record) => {
                    let source = Source::Raw { record: record.clone(), content: None };
                    self.add(*key, Fact { change: record.change, known: true, logged: true, source: Some(source) });
                }
                Item::Delete(key, change) => {
                    self.add(*key, Fact { change: *change, known: true, logged: true, source: None });
                }
                Item::Space(space, limits) => drop(self.limits.insert(*space, *limits)),
                Item::Bound(next) => self.newest = self.newest.max(next.saturating_sub(1)),
            }
        }
    }

    /// Finds the records of a store in the bytes of its table.
    fn read_table(&mut self, table: &dyn Storage, id: StoreId) -> Result<(), StoreError> {
        let len = table.len()?;
        for start in (0..len).step_by(WINDOW_BYTES as usize) {
            let mut bytes = vec![0; (len - start).min(WINDOW_BYTES + RECORD_REACH) as usize];
            table.read_at(start, &mut bytes)?;
            let found = Found::all(&bytes).take_while(|(at, _)| (*at as u64) < WINDOW_BYTES);
            // An object may contain the record of another store, put there by a host.
            for (at, Found { key, record, content, .. }) in found.filter(|(_, found)| found.store == id) {
                let content = content.map(|range| start + (at + range.start) as u64);
                let change = record.change;
                self.in_table = self.in_table.max(change);
                let source = Some(Source::Raw { record, content });
                self.add(key, Fact { change, known: false, logged: false, source });
            }
            self.table_bound = bounds_in(&bytes, id).max().unwrap_or(0).max(self.table_bound);
        }
        self.newest = self.newest.max(self.table_bound.saturating_sub(1));
        Ok(())
    }

    /// Takes a store that opens as the only place that counts.
    fn believe(&mut self, store: &Store) {
        self.objects.values_mut().flatten().for_each(|fact| fact.known = false);
        let index = store.inner.index();
        for (key, object) in &index.objects {
            let source = Some(Source::Stored(Arc::clone(object)));
            self.add(*key, Fact { change: object.change, known: true, logged: false, source });
        }
        self.limits = index.spaces.iter().map(|(space, state)| (*space, state.limits)).collect();
        self.base = u64::MAX;
        let next = store.inner.next_generation.load(std::sync::atomic::Ordering::Relaxed);
        self.newest = self.newest.max(next.saturating_sub(1));
    }

    /// The places of all versions of all objects.
    fn places(&self) -> Places {
        let mut places = Vec::new();
        for (key, fact) in self.objects.iter().flat_map(|(key, facts)| facts.iter().map(move |fact| (*key, fact))) {
            let Some(record) = fact.source.as_ref().map(Source::record) else { continue };
            let version = (key, record.generation);
            places.extend(record.extents.iter().map(|extent| Place {
                start: extent.start,
                end: extent.start.saturating_add(extent.blocks),
                change: record.change,
                version,
            }));
        }
        Places::new(places)
    }

    /// The limits that are known, and all spaces of objects.
    fn spaces(&self) -> BTreeMap<SpaceId, SpaceLimits> {
        let unlimited = self.objects.keys().map(|key| (key.space, SpaceLimits::UNLIMITED));
        unlimited.chain(self.limits.iter().map(|(space, limits)| (*space, *limits))).collect()
    }
}

/// Blocks of the data file that a version of an object had.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u64,
    end: u64,
    change: u64,
    version: (ObjectKey, u64),
}

/// All places, by their start.
#[derive(Debug)]
struct Places {
    list: Vec<Place>,
    /// The blocks of the longest one.
    longest: u64,
}

impl Places {
    fn new(mut list: Vec<Place>) -> Self {
        list.sort_unstable_by_key(|place| place.start);
        let longest = list.iter().map(|place| place.end - place.start).max().unwrap_or(0);
        Self { list, longest }
    }

    /// Whether another version had a block of this one later.
    fn are_reused(&self, key: ObjectKey, record: &Record) -> bool {
        record.extents.iter().any(|extent| {
            let end = extent.start.saturating_add(extent.blocks);
            let first = self.list.partition_point(|place| place.start.saturating_add(self.longest) <= extent.start);
            let near = self.list.iter().skip(first).take_while(|place| place.start < end);
            let later = |place: &Place| place.change > record.change && place.version != (key, record.generation);
            near.into_iter().any(|place| place.end > extent.start && later(place))
        })
    }
}

/// The log of the store with this identity, or of any store if the identity is unknown; else an empty one.
fn log_of(file: &dyn Storage, id: Option<StoreId>) -> Result<LogContent, StoreError> {
    let log = LogContent::read(file)?;
    let foreign = id.is_some() && log.store_id().is_some() && log.store_id() != id;
    Ok(if foreign { LogContent::default() } else { log })
}

/// The identity in the superblock of the data file, of either version; `None` when it is damaged.
pub(super) fn superblock(data: &dyn Storage) -> Result<Option<[u8; 16]>, StoreError> {
    let mut block = vec![0; data.len()?.min(BLOCK_BYTES) as usize];
    data.read_at(0, &mut block)?;
    let decoded = SUPERBLOCK.decode(&block).or_else(|error| match EARLIER_SUPERBLOCK.decode(&block) {
        Ok(found) => Ok(found),
        Err(_) => Err(error),
    });
    match decoded {
        Ok(superblock) => Ok(Some(superblock.id)),
        // A damaged version number looks like another version, but the checksum does not hold then.
        Err(FormatError::Version { given, supported })
            if given > supported && block.get(..SUPERBLOCK.bytes()).is_some_and(|head| unseal(head, &[]).is_some()) =>
        {
            Err(StoreError::Version { given, supported })
        }
        Err(_) => Ok(None),
    }
}

/// Opens the store over the files, with its superblock put right and a data file that is long enough for every extent.
fn open(files: &StoreFiles, id: [u8; 16]) -> Result<Store, StoreError> {
    let over = |base: &Arc<dyn Storage>| -> Result<Arc<dyn Storage>, StoreError> {
        Ok(Arc::new(OverlayStorage::new(Arc::clone(base))?))
    };
    let (data, objects, log) = (over(&files.data)?, over(&files.objects)?, over(&files.log)?);
    data.set_len(data.len()?.max(1 << 60))?;
    data.write_at(0, &SUPERBLOCK.encode(Superblock { ready: true, id }))?;
    Store::open(StoreFiles { data, objects, log, swap: StoreFiles::in_memory().swap })
}

#[cfg(test)]
#[path = "salvage_tests.rs"]
mod tests;
