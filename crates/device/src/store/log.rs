//! The log: a second description of all objects, in a separate file.
//!
//! The object table is one database, and one damaged page of it can hide every object. The log repeats the records of all
//! objects, without the bytes of small ones, and the deletions since it was last rewritten. It is appended after each
//! commit of the table, before the change is acknowledged, and never synced then: the table alone decides which changes are durable.
//! Salvage reads the log where the table is damaged.
//!
//! # Order of writes
//! A commit syncs the bytes of objects, then commits and syncs the table, then appends its frame to the log, then
//! acknowledges its changes. So a frame exists only after the commit that it repeats is durable. Each frame states the
//! bound of its commit: the first unused number that the table holds from then on. Bounds grow with every commit. Opening
//! compares the last bound of the log with that of the table:
//!
//! - **The log lags behind.** A power cut took its unsynced tail, or the log could not be written. The table decides, and the
//!   log is rewritten.
//! - **Both are equal.** Nothing is missing.
//! - **The log is ahead.** The table lost a durable commit. Neither a kill nor a power cut does that: it is damage. After a
//!   crash, `redb` takes a damaged last commit for a torn one and rolls it back without an error. The store is then
//!   corrupt, and the log stays as it is. The log is not replayed: it lacks the bytes of small objects. Salvage has all
//!   three sources.
//!
//! One case remains invisible: the last commit is damaged, and a power cut also took its frame from the log.

use super::{
    ObjectKey, SpaceId, SpaceLimits,
    format::{self, KEY_BYTES, STORE_VERSION},
    index::Index,
    record::{Found, Record, StoreId, positions},
    table::Row,
};
use ciphermill_storage::{Storage, StorageError, seal, unseal};
use ciphermill_wire::{Decoder, Encoder};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

const MAGIC: [u8; 8] = *b"CMSTLOG\x1a";
const FRAME_MAGIC: [u8; 8] = *b"CMLOGFR\x1a";
/// Bytes of the header before the zeros behind it.
const HEADER_BYTES: usize = 44;
/// Offset of the first frame.
const FRAMES: u64 = 64;
/// Bytes of a frame before its items.
const FRAME_HEAD_BYTES: usize = 16;
/// Bytes of items at which a rewritten log begins a new frame.
const FRAME_BYTES: usize = 8 << 10;
/// A log is rewritten when it is twice as long as its last rewriting left it, and this much more.
const SLACK_BYTES: u64 = 1 << 20;
/// Bytes of frames that wait for room on the medium before the log is given up and rewritten.
const WAITING_BYTES: usize = 1 << 20;
/// Commits between two attempts to rewrite a log that cannot be written.
const MIN_PAUSE: u32 = 16;
const MAX_PAUSE: u32 = 4096;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Put(ObjectKey, Record),
    Delete(ObjectKey, u64),
    Space(SpaceId, SpaceLimits),
    /// The first unused number after the commit of the frame. Logs of earlier builds lack it.
    Bound(u64),
}

impl Item {
    fn encode(&self, store: StoreId, out: &mut Encoder) {
        let (kind, bytes) = match self {
            Self::Put(key, record) => (1, record.encode(store, *key, &[])),
            Self::Delete(key, change) => (2, [&format::encode_key(*key)[..], &change.to_le_bytes()].concat()),
            Self::Space(space, limits) => {
                (3, [&space.0.to_le_bytes()[..], &limits.bytes.to_le_bytes(), &limits.objects.to_le_bytes()].concat())
            }
            Self::Bound(next) => (4, next.to_le_bytes().to_vec()),
        };
        out.u8(kind).u32(bytes.len() as u32).bytes(&bytes);
    }

    fn decode(fields: &mut Decoder<'_>) -> Option<Self> {
        let (kind, len) = (fields.u8().ok()?, fields.u32().ok()?);
        let bytes = fields.bytes(len as usize).ok()?;
        let mut fields = Decoder::new(bytes);
        let item = match kind {
            1 => {
                let found = Found::at(bytes).filter(|found| found.len == bytes.len())?;
                return Some(Self::Put(found.key, found.record));
            }
            2 => {
                let key: [u8; KEY_BYTES] = fields.array().ok()?;
                Self::Delete(format::decode_key(&key), fields.u64().ok()?)
            }
            3 => Self::Space(
                SpaceId(fields.u32().ok()?),
                SpaceLimits { bytes: fields.u64().ok()?, objects: fields.u64().ok()? },
            ),
            4 => Self::Bound(fields.u64().ok()?),
            _ => return None,
        };
        fields.finish().ok()?;
        Some(item)
    }
}

fn encode_header(store_id: [u8; 16], base: u64) -> Vec<u8> {
    let mut out = Encoder::with_capacity(HEADER_BYTES);
    out.bytes(&MAGIC).u16(STORE_VERSION).bytes(&[0; 6]).bytes(&store_id).u64(base);
    let mut bytes = out.into_vec();
    seal(&mut bytes, &[]);
    bytes
}

/// The store and the base of a sound header.
fn decode_header(bytes: &[u8]) -> Option<([u8; 16], u64)> {
    let mut fields = Decoder::new(unseal(bytes.get(..HEADER_BYTES)?, &[])?);
    let (magic, version): ([u8; 8], u16) = (fields.array().ok()?, fields.u16().ok()?);
    fields.bytes(6).ok()?;
    let header = (fields.array().ok()?, fields.u64().ok()?);
    (magic == MAGIC && version == STORE_VERSION).then_some(header)
}

fn encode_frame(store: StoreId, items: &[Item]) -> Vec<u8> {
    let mut body = Encoder::with_capacity(128 * items.len());
    items.iter().for_each(|item| item.encode(store, &mut body));
    let body = body.into_vec();
    let mut out = Encoder::with_capacity(FRAME_HEAD_BYTES + body.len() + 4);
    out.bytes(&FRAME_MAGIC).u32(body.len() as u32).u32(items.len() as u32).bytes(&body);
    let mut bytes = out.into_vec();
    seal(&mut bytes, &[]);
    bytes
}

/// The items of the frame that begins with `bytes`, and its length.
fn decode_frame(bytes: &[u8]) -> Option<(Vec<Item>, usize)> {
    let head = bytes.get(..FRAME_HEAD_BYTES).filter(|head| head.starts_with(&FRAME_MAGIC))?;
    let mut fields = Decoder::new(&head[8..]);
    let (len, count) = (fields.u32().ok()? as usize, fields.u32().ok()?);
    let whole = FRAME_HEAD_BYTES + len + 4;
    let body = unseal(bytes.get(..whole)?, &[])?;
    let mut fields = Decoder::new(&body[FRAME_HEAD_BYTES..]);
    let items = (0..count).map(|_| Item::decode(&mut fields)).collect::<Option<Vec<_>>>()?;
    (fields.remaining() == 0).then_some((items, whole))
}

/// All that a log file holds.
#[derive(Debug, Default)]
pub(super) struct LogContent {
    /// The store, and the last change before the log was rewritten: objects that it left have an item each.
    pub(super) header: Option<([u8; 16], u64)>,
    pub(super) items: Vec<Item>,
    /// The store of the records that were found.
    pub(super) store: Option<StoreId>,
    /// Places where something other than a whole frame was found.
    pub(super) damaged: u64,
    /// Offset behind the last whole frame.
    end: u64,
}

impl LogContent {
    /// Reads a log, past its damaged places; records within those are found by themselves.
    pub(super) fn read(file: &dyn Storage) -> Result<Self, StorageError> {
        let mut bytes = vec![0; usize::try_from(file.len()?).unwrap_or(usize::MAX)];
        file.read_at(0, &mut bytes)?;
        Ok(Self::of(&bytes))
    }

    fn of(bytes: &[u8]) -> Self {
        let store = Found::all(bytes).map(|(_, found)| found.store).next();
        let mut content = Self { header: decode_header(bytes), store, end: FRAMES, ..Self::default() };
        let mut at = FRAMES as usize;
        while at < bytes.len() {
            if let Some((items, len)) = decode_frame(&bytes[at..]) {
                content.items.extend(items);
                at += len;
                content.end = at as u64;
                continue;
            }
            content.damaged += 1;
            let later = positions(&bytes[at..], FRAME_MAGIC).map(|next| at + next).filter(|next| *next > at);
            let next = later.into_iter().find(|next| decode_frame(&bytes[*next..]).is_some()).unwrap_or(bytes.len());
            content.items.extend(Found::all(&bytes[at..next]).map(|(_, found)| Item::Put(found.key, found.record)));
            at = next;
        }
        content
    }

    /// The records and limits that the items leave.
    fn fold(&self) -> (BTreeMap<ObjectKey, &Record>, BTreeMap<SpaceId, SpaceLimits>) {
        let (mut objects, mut spaces) = (BTreeMap::new(), BTreeMap::new());
        for item in &self.items {
            match item {
                Item::Put(key, record) => drop(objects.insert(*key, record)),
                Item::Delete(key, _) => drop(objects.remove(key)),
                Item::Space(space, limits) => drop(spaces.insert(*space, *limits)),
                Item::Bound(_) => {}
            }
        }
        (objects, spaces)
    }

    /// The identity of its store, if the header or a record still has it.
    pub(super) fn store_id(&self) -> Option<StoreId> {
        self.header.map(|(id, _)| id).or(self.store)
    }

    /// The first unused number after its last frame, if it states that.
    fn stated_bound(&self) -> Option<u64> {
        let bound = |item: &Item| if let Item::Bound(next) = item { Some(*next) } else { None };
        self.items.iter().filter_map(bound).max()
    }

    /// A lower bound of the first unused number: every number below was durable in the table.
    pub(super) fn bound(&self) -> u64 {
        let bound = |item: &Item| match item {
            Item::Put(_, record) => record.change.max(record.generation).saturating_add(1),
            Item::Delete(_, change) => change.saturating_add(1),
            Item::Bound(next) => *next,
            Item::Space(..) => 0,
        };
        self.items.iter().map(bound).max().unwrap_or(0)
    }

    /// The bound of a log of this store that repeats commits which the table, with this bound, lacks.
    pub(super) fn ahead_of(&self, store_id: StoreId, table: u64) -> Option<u64> {
        Some(self.bound()).filter(|bound| self.store_id() == Some(store_id) && *bound > table)
    }

    /// Whether it has all changes up to `change`, and the frame of the commit with the bound `next`.
    pub(super) fn reaches(&self, change: u64, next: u64) -> bool {
        let base = self.header.map_or(0, |(_, base)| base);
        change < self.bound().max(base.saturating_add(1)) && self.stated_bound().is_none_or(|bound| next <= bound)
    }

    /// Whether the log is whole, and says the same as the index of a table with the bound `next`.
    fn agrees(&self, store_id: [u8; 16], index: &Index, next: u64) -> bool {
        let (objects, spaces) = self.fold();
        let same = |((key, record), (known, object)): ((&ObjectKey, &&Record), (&ObjectKey, &Arc<_>))| {
            key == known && **record == super::StoredObject::record(object)
        };
        self.header.is_some_and(|(id, _)| id == store_id)
            && self.damaged == 0
            && self.stated_bound().is_none_or(|bound| bound == next)
            && spaces.len() == index.spaces.len()
            && spaces.iter().all(|(space, limits)| index.spaces.get(space).is_some_and(|state| state.limits == *limits))
            && objects.len() == index.objects.len()
            && objects.iter().zip(&index.objects).all(same)
    }
}

/// The log of an open store.
#[derive(Debug)]
pub(super) struct Log {
    file: Arc<dyn Storage>,
    store_id: [u8; 16],
    /// Whether it was whole when it was opened.
    agreed: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Offset of the next frame.
    end: u64,
    /// Length after the last rewriting.
    rewritten: u64,
    /// Frames that the medium had no room for; they belong at `end`.
    waiting: Vec<u8>,
    /// Whether the file and the waiting frames have all changes; if not, nothing is appended, and the log is rewritten.
    whole: bool,
    /// Commits until the next attempt to rewrite, and how many the last failure imposed.
    pause: u32,
    last_pause: u32,
}

impl State {
    fn new(end: u64, whole: bool) -> Self {
        Self { end, rewritten: end, waiting: Vec::new(), whole, pause: 0, last_pause: 0 }
    }

    /// Whether it is time to rewrite.
    fn is_due(&mut self) -> bool {
        let wanted = !self.whole || self.end > 2 * self.rewritten + SLACK_BYTES;
        let paused = self.pause > 0;
        self.pause = self.pause.saturating_sub(1);
        wanted && !paused
    }

    /// Each failure in a row doubles the commits until the next attempt, which costs the whole log.
    fn postpone(&mut self) {
        self.last_pause = (2 * self.last_pause).clamp(MIN_PAUSE, MAX_PAUSE);
        self.pause = self.last_pause;
    }
}

impl Log {
    /// Opens the log of a store with this index, whose table has the bound `next`, and rewrites it where it differs.
    /// `content` is what the file holds. A store opens without a writable log: the table has all.
    pub(super) fn open(
        file: Arc<dyn Storage>,
        content: &LogContent,
        store_id: [u8; 16],
        index: &Index,
        next: u64,
    ) -> Self {
        let whole = content.agrees(store_id, index, next);
        let log = Self { file, store_id, agreed: whole, state: Mutex::new(State::new(content.end, whole)) };
        log.keep_up(index, next);
        log
    }

    /// The medium.
    pub(super) fn file(&self) -> &dyn Storage {
        &*self.file
    }

    /// Whether it agreed with the table when it was opened.
    pub(super) fn agreed(&self) -> bool {
        self.agreed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the changes of a durable commit, after which `next` is the first unused number.
    pub(super) fn append(&self, rows: &[Row], next: u64) {
        let mut state = self.lock();
        if !state.whole || rows.is_empty() {
            return;
        }
        let items: Vec<Item> = rows.iter().map(Row::item).chain([Item::Bound(next)]).collect();
        let first = state.waiting.is_empty();
        state.waiting.extend(encode_frame(self.store_id, &items));
        match self.file.write_at(state.end, &state.waiting) {
            Ok(()) => {
                state.end += state.waiting.len() as u64;
                state.waiting.clear();
            }
            Err(error) if state.waiting.len() <= WAITING_BYTES => {
                if first {
                    tracing::warn!(%error, "the log of the store was not written; each commit tries again");
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the log of the store was not written; it is rewritten later");
                state.waiting = Vec::new();
                state.whole = false;
            }
        }
    }

    /// Rewrites the log from the index, if it lacks something or is much longer than it needs to be. No commit may be in
    /// progress; the index has all changes below `next`, the bound of the table.
    pub(super) fn keep_up(&self, index: &Index, next: u64) {
        let mut state = self.lock();
        if !state.is_due() {
            return;
        }
        match self.rewrite(index, next) {
            Ok(end) => *state = State::new(end, true),
            Err(error) => {
                tracing::warn!(%error, "the log of the store could not be rewritten");
                // Without room the file is as it was. After another failure it may be the new one.
                state.whole &= matches!(error, StorageError::NoSpace { .. });
                state.postpone();
            }
        }
    }

    fn rewrite(&self, index: &Index, next: u64) -> Result<u64, StorageError> {
        let mut end = FRAMES;
        self.file.replace(&mut |file| {
            end = self.write_all(file, index, next)?;
            Ok(())
        })?;
        Ok(end)
    }

    fn write_all(&self, file: &dyn Storage, index: &Index, next: u64) -> Result<u64, StorageError> {
        file.write_at(0, &encode_header(self.store_id, next - 1))?;
        let spaces = index.spaces.iter().map(|(space, state)| Item::Space(*space, state.limits));
        let objects = index.objects.iter().map(|(key, object)| Item::Put(*key, object.record()));
        let (mut end, mut items, mut bytes) = (FRAMES, Vec::new(), 0);
        for item in spaces.chain(objects).chain([Item::Bound(next)]) {
            bytes += item.weight();
            items.push(item);
            if bytes >= FRAME_BYTES {
                end = self.write_frame(file, end, &items)?;
                items.clear();
                bytes = 0;
            }
        }
        if items.is_empty() { Ok(end) } else { self.write_frame(file, end, &items) }
    }

    fn write_frame(&self, file: &dyn Storage, at: u64, items: &[Item]) -> Result<u64, StorageError> {
        let frame = encode_frame(self.store_id, items);
        file.write_at(at, &frame)?;
        Ok(at + frame.len() as u64)
    }
}

impl Item {
    /// About as many bytes as it takes.
    fn weight(&self) -> usize {
        match self {
            Self::Put(_, record) => {
                let owner = record.owner.as_ref().map_or(0, |owner| owner.as_bytes().len());
                80 + 16 * record.extents.len() + 4 * record.chunks.len() + owner
            }
            Self::Delete(..) | Self::Space(..) | Self::Bound(_) => 32,
        }
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
