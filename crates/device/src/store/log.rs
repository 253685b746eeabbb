//! The log: a second description of all objects, in a separate file.
//!
//! The object table is one database, and one damaged page of it can hide every object. The log repeats the records of all
//! objects, without the bytes of small ones, and the deletions since it was last rewritten. It is appended after each
//! commit of the table, before the change is acknowledged, and never synced then: the table alone decides which changes are durable.
//! Opening compares the two, and rewrites a log that lags behind. Salvage reads it where the table is damaged.

use super::{
    ObjectKey, SpaceId, SpaceLimits, StoreError,
    format::{self, KEY_BYTES, STORE_VERSION},
    index::Index,
    record::{Found, Record, StoreId, positions},
    table::Row,
};
use ciphermill_storage::{Storage, StorageError, seal, unseal};
use ciphermill_wire::{Decoder, Encoder};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
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

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Put(ObjectKey, Record),
    Delete(ObjectKey, u64),
    Space(SpaceId, SpaceLimits),
}

impl Item {
    fn encode(&self, store: StoreId, out: &mut Encoder) {
        let (kind, bytes) = match self {
            Self::Put(key, record) => (1, record.encode(store, *key, &[])),
            Self::Delete(key, change) => (2, [&format::encode_key(*key)[..], &change.to_le_bytes()].concat()),
            Self::Space(space, limits) => {
                (3, [&space.0.to_le_bytes()[..], &limits.bytes.to_le_bytes(), &limits.objects.to_le_bytes()].concat())
            }
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
            }
        }
        (objects, spaces)
    }

    /// Whether the log is whole, and says the same as the index.
    fn agrees(&self, store_id: [u8; 16], index: &Index) -> bool {
        let (objects, spaces) = self.fold();
        let same = |((key, record), (known, object)): ((&ObjectKey, &&Record), (&ObjectKey, &Arc<_>))| {
            key == known && **record == super::StoredObject::record(object)
        };
        self.header.is_some_and(|(id, _)| id == store_id)
            && self.damaged == 0
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
    /// Whether the log has all changes; if not, it is rewritten after the next commit.
    whole: bool,
}

impl Log {
    /// Opens the log of a store with this index, and rewrites it where it differs. A store opens
    /// without a writable log: the table has all.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn open(
        file: Arc<dyn Storage>,
        store_id: [u8; 16],
        index: &Index,
        base: u64,
    ) -> Result<Self, StoreError> {
        let content = LogContent::read(&*file)?;
        let whole = content.agrees(store_id, index);
        let state = State { end: content.end, rewritten: content.end, whole };
        let log = Self { file, store_id, agreed: whole, state: Mutex::new(state) };
        log.keep_up(index, base);
        Ok(log)
    }

    /// The medium.
    pub(super) fn file(&self) -> &dyn Storage {
        &*self.file
    }

    /// Whether it agreed with the table when it was opened.
    pub(super) fn agreed(&self) -> bool {
        self.agreed
    }

    /// Adds the changes of a commit.
    pub(super) fn append(&self, rows: &[Row]) {
        let items: Vec<Item> = rows.iter().map(Row::item).collect();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.whole || items.is_empty() {
            return;
        }
        let frame = encode_frame(self.store_id, &items);
        match self.file.write_at(state.end, &frame) {
            Ok(()) => state.end += frame.len() as u64,
            Err(error) => {
                tracing::warn!(%error, "the log of the store was not written; it is rewritten after the next commit");
                state.whole = false;
            }
        }
    }

    /// Rewrites the log from the index, if it lacks something or is much longer than it needs to be. No commit may be in
    /// progress; all changes up to `base` are in the index.
    pub(super) fn keep_up(&self, index: &Index, base: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.whole && state.end <= 2 * state.rewritten + SLACK_BYTES {
            return;
        }
        match self.rewrite(index, base) {
            Ok(end) => *state = State { end, rewritten: end, whole: true },
            Err(error) => {
                tracing::warn!(%error, "the log of the store could not be rewritten");
                state.whole = false;
            }
        }
    }

    /// The header comes last: without it, the log counts as incomplete.
    fn rewrite(&self, index: &Index, base: u64) -> Result<u64, StorageError> {
        self.file.set_len(0)?;
        let spaces = index.spaces.iter().map(|(space, state)| Item::Space(*space, state.limits));
        let objects = index.objects.iter().map(|(key, object)| Item::Put(*key, object.record()));
        let (mut end, mut items, mut bytes) = (FRAMES, Vec::new(), 0);
        for item in spaces.chain(objects) {
            bytes += item.weight();
            items.push(item);
            if bytes >= FRAME_BYTES {
                end = self.write_frame(end, &items)?;
                items.clear();
                bytes = 0;
            }
        }
        if !items.is_empty() {
            end = self.write_frame(end, &items)?;
        }
        self.file.sync()?;
        self.file.write_at(0, &encode_header(self.store_id, base))?;
        self.file.sync()?;
        Ok(end)
    }

    fn write_frame(&self, at: u64, items: &[Item]) -> Result<u64, StorageError> {
        let frame = encode_frame(self.store_id, items);
        self.file.write_at(at, &frame)?;
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
            Self::Delete(..) | Self::Space(..) => 32,
        }
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
