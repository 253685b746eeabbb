//! State kept between commands: results being read block by block, objects opened by vendor commands, and recently read
//! stored objects.

use super::{config::BlockSpaceConfig, locks::locked};
use crate::volume::BLOCK_BYTES;
use ciphermill_device::{DeviceError, ObjectPages, Space, StoreError, store::Owner};
use ciphermill_nvme::{Account, Caller};
use ciphermill_program::VrId;
use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    ops::Range,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::sync::Mutex as AsyncMutex;

/// Blocks that hold `bytes` bytes.
pub(super) fn blocks_of(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK_BYTES as u64)
}

/// A result of a compute-on-read object, until each of its blocks was read once.
#[derive(Debug)]
pub(super) struct Session {
    id: VrId,
    /// Of the stored object that it was computed from.
    generation: u64,
    /// Of the host that had it computed.
    reach: Option<Owner>,
    first: u64,
    result: Vec<u8>,
    unread: Vec<bool>,
    left: usize,
}

impl Session {
    pub(super) fn new((id, generation): (VrId, u64), reach: Option<Owner>, first: u64, result: Vec<u8>) -> Self {
        let left = blocks_of(result.len() as u64) as usize;
        Self { id, generation, reach, first, result, unread: vec![true; left], left }
    }

    /// Whether it is of this version, a host of this reach may read it, and none of the blocks was read yet.
    pub(super) fn has(&self, version: (VrId, u64), reach: Option<&Owner>, pieces: &[Range<u64>]) -> bool {
        let unread = |lba: u64| self.unread.get((lba - self.first) as usize).is_none_or(|unread| *unread);
        let of_it = (self.id, self.generation) == version && is_within(self.reach.as_ref(), reach);
        of_it && pieces.iter().cloned().flatten().all(unread)
    }

    /// The content of the blocks, which now were read; those after the result are zeros.
    pub(super) fn take(&mut self, pieces: &[Range<u64>]) -> Vec<Vec<u8>> {
        pieces.iter().map(|piece| self.take_piece(piece)).collect()
    }

    fn take_piece(&mut self, piece: &Range<u64>) -> Vec<u8> {
        let (start, end) = ((piece.start - self.first) as usize, (piece.end - self.first) as usize);
        for unread in self.unread.iter_mut().take(end).skip(start) {
            self.left -= usize::from(std::mem::take(unread));
        }
        let length = self.result.len();
        let (from, to) = ((start * BLOCK_BYTES).min(length), (end * BLOCK_BYTES).min(length));
        let mut bytes = self.result[from..to].to_vec();
        bytes.resize((end - start) * BLOCK_BYTES, 0);
        bytes
    }

    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }
}

/// Whether a host of this reach may read a result that was computed with another one.
fn is_within(computed: Option<&Owner>, reach: Option<&Owner>) -> bool {
    reach.is_none() || computed == reach
}

type Cell = Arc<AsyncMutex<Option<Session>>>;

/// The size and the checksum of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResultStat {
    pub(super) size: u64,
    pub(super) checksum: u32,
}

#[derive(Debug)]
struct Entry {
    cell: Cell,
    stat: Option<ResultStat>,
    /// The account of the host that had it computed.
    account: Option<Account>,
    /// The reach of that host.
    reach: Option<Owner>,
    used: Instant,
}

/// The share of one account in so much.
const fn share_of(all: u64) -> u64 {
    all - all / 4
}

/// Sessions by the first block of their object; bounded in number and in bytes, the least recently used go first.
#[derive(Debug)]
pub(super) struct Sessions {
    entries: Mutex<HashMap<u64, Entry>>,
    most: usize,
    most_bytes: u64,
    idle: Duration,
}

impl Sessions {
    pub(super) fn new(config: &BlockSpaceConfig) -> Self {
        let BlockSpaceConfig { max_sessions, session_bytes, session_idle, .. } = *config;
        Self { entries: Mutex::default(), most: max_sessions, most_bytes: session_bytes, idle: session_idle }
    }

    pub(super) fn len(&self) -> u64 {
        locked(&self.entries).values().filter(|entry| entry.stat.is_some()).count() as u64
    }

    /// The sessions that a host of this reach may read and whose result reaches into the range: first block and number of
    /// blocks.
    pub(super) fn overlapping(&self, range: &Range<u64>, reach: Option<&Owner>) -> Vec<(u64, u64)> {
        let mut entries = locked(&self.entries);
        if entries.is_empty() {
            return Vec::new();
        }
        entries.retain(|_, entry| entry.used.elapsed() < self.idle || Arc::strong_count(&entry.cell) > 1);
        let readable = entries.iter().filter(|(_, entry)| is_within(entry.reach.as_ref(), reach));
        let blocks = readable.filter_map(|(first, entry)| Some((*first, blocks_of(entry.stat?.size))));
        blocks.filter(|(first, blocks)| *first < range.end && range.start < first + blocks).collect()
    }

    /// The result at a block, if a host of this reach may read it.
    pub(super) fn stat(&self, first: u64, reach: Option<&Owner>) -> Option<ResultStat> {
        let readable = |entry: &&Entry| entry.used.elapsed() < self.idle && is_within(entry.reach.as_ref(), reach);
        locked(&self.entries).get(&first).filter(readable)?.stat
    }

    /// The cell of the present or future session of an object. The holder of its lock runs the program.
    pub(super) fn cell(&self, first: u64) -> Arc<AsyncMutex<Option<Session>>> {
        let mut entries = locked(&self.entries);
        let entry = entries.entry(first).or_insert_with(|| Entry {
            cell: Cell::default(),
            stat: None,
            account: None,
            reach: None,
            used: Instant::now(),
        });
        entry.used = Instant::now();
        Arc::clone(&entry.cell)
    }

    /// Records a result, and drops others as the bounds ask: first those of its account, if that has more than its share.
    /// `false`: it is larger than all of them together may be.
    pub(super) fn admit(
        &self,
        first: u64,
        cell: &Cell,
        stat: ResultStat,
        account: Option<&Account>,
        reach: Option<&Owner>,
    ) -> bool {
        if stat.size > self.most_bytes || self.most == 0 {
            return false;
        }
        let mut entries = locked(&self.entries);
        // The object was given up meanwhile: its session will be used by those who hold it and by nobody else.
        if entries.get(&first).is_none_or(|entry| !Arc::ptr_eq(&entry.cell, cell)) {
            return true;
        }
        if let Some(entry) = entries.get_mut(&first) {
            entry.stat = Some(stat);
            entry.account = account.cloned();
            entry.reach = reach.cloned();
            entry.used = Instant::now();
        }
        let of_account = |entry: &Entry| account.is_some() && entry.account.as_ref() == account;
        let (most, most_bytes) = (share_of(self.most as u64), share_of(self.most_bytes));
        drop_oldest(&mut entries, first, of_account, most, most_bytes);
        drop_oldest(&mut entries, first, |_| true, self.most as u64, self.most_bytes);
        true
    }
    /// Drops this session, of which every block was read.
    pub(super) fn end(&self, first: u64, cell: &Cell) {
        let mut entries = locked(&self.entries);
        if let Some(entry) = entries.get_mut(&first).filter(|entry| Arc::ptr_eq(&entry.cell, cell)) {
            // Whoever waits for the cell goes on with it, and nobody else is to begin another beside it.
            match Arc::strong_count(&entry.cell) {
                ..=2 => drop(entries.remove(&first)),
                _ => entry.stat = None,
            }
        }
    }

    /// Drops the session of an object, if there is one.
    pub(super) fn forget(&self, first: u64) {
        locked(&self.entries).remove(&first);
    }
}

/// Drops matching results, the least recently used first, until their number and their bytes are within the bounds. The
/// result at `first` stays.
fn drop_oldest(
    entries: &mut HashMap<u64, Entry>,
    first: u64,
    matches: impl Fn(&Entry) -> bool,
    most: u64,
    most_bytes: u64,
) {
    loop {
        let held = entries.values().filter(|entry| matches(entry)).filter_map(|entry| entry.stat);
        let (count, bytes) = held.fold((0, 0), |(count, bytes), stat| (count + 1, bytes + stat.size));
        let others = entries.iter().filter(|(other, entry)| **other != first && entry.stat.is_some() && matches(entry));
        let oldest = others.min_by_key(|(_, entry)| entry.used).map(|(other, _)| *other);
        match oldest {
            Some(oldest) if count > most || bytes > most_bytes => entries.remove(&oldest),
            _ => return,
        };
    }
}

/// The source of the bytes of an open object.
#[derive(Debug)]
pub(super) enum Content {
    Stored(ObjectPages),
    Computed(Vec<u8>),
}

impl Content {
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Stored(pages) => pages.stat().size,
            Self::Computed(bytes) => bytes.len() as u64,
        }
    }

    fn memory(&self) -> u64 {
        match self {
            // Checksums of blocks, and the last chunk.
            Self::Stored(pages) => (pages.stat().size >> 10) + (1 << 20),
            Self::Computed(bytes) => bytes.len() as u64,
        }
    }

    /// At most `length` bytes from `offset`.
    pub(super) fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, StoreError> {
        let length = (length as u64).min(self.size().saturating_sub(offset)) as usize;
        let mut bytes = vec![0; length];
        match self {
            Self::Stored(pages) => {
                let count = pages.read_at(offset, &mut bytes)?;
                bytes.truncate(count);
            }
            Self::Computed(result) => {
                let start = (offset as usize).min(result.len());
                let part = result.get(start..start + length).unwrap_or_default();
                bytes.copy_from_slice(part);
            }
        }
        Ok(bytes)
    }
}

#[derive(Debug)]
struct Open {
    content: Arc<Content>,
    caller: Arc<Caller>,
    used: Instant,
}

/// Objects opened by hosts. Open versions that were replaced or deleted use disk space outside of every quota, so at most
/// the bytes of the largest allowed object are kept of them; the least recently used ones are dropped first.
#[derive(Debug)]
pub(super) struct Opens {
    table: Mutex<(u64, HashMap<u64, Open>)>,
    most: usize,
    most_bytes: u64,
    most_replaced: u64,
    idle: Duration,
}

/// Where numbers begin that must not come again after a restart: a hash of nothing is random.
pub(super) fn anywhere() -> u64 {
    RandomState::new().hash_one(())
}

impl Opens {
    pub(super) fn new(config: &BlockSpaceConfig, max_object_bytes: u64) -> Self {
        let BlockSpaceConfig { max_sessions, session_bytes, session_idle, .. } = *config;
        Self {
            // A number from before a restart is then not another object's.
            table: Mutex::new((anywhere() >> 1, HashMap::new())),
            most: max_sessions,
            most_bytes: session_bytes,
            most_replaced: max_object_bytes,
            idle: session_idle,
        }
    }

    pub(super) fn len(&self) -> u64 {
        locked(&self.table).1.len() as u64
    }

    /// Drops idle objects, and replaced versions beyond the limit.
    fn prune(&self, opens: &mut HashMap<u64, Open>) {
        opens.retain(|_, open| open.used.elapsed() < self.idle);
        let replaced = opens.iter().filter_map(|(number, open)| match &*open.content {
            Content::Stored(pages) if !pages.is_current() => Some((open.used, *number, pages.stat().size)),
            _ => None,
        });
        let mut replaced: Vec<_> = replaced.collect();
        replaced.sort_unstable();
        let mut bytes = 0u64;
        for (_, number, size) in replaced.into_iter().rev() {
            bytes = bytes.saturating_add(size);
            if bytes > self.most_replaced {
                opens.remove(&number);
            }
        }
    }

    /// Keeps an object for a host; gives its number, at least 1, or `None` when there is no room. The hosts of one account
    /// leave some to others, unless it is their only one.
    pub(super) fn insert(&self, content: Arc<Content>, caller: &Arc<Caller>) -> Option<u64> {
        let mut table = locked(&self.table);
        let (last, opens) = &mut *table;
        self.prune(opens);
        let held = |of: &dyn Fn(&Open) -> bool| {
            let memory = opens.values().filter(|open| of(open)).map(|open| open.content.memory());
            memory.fold((0, 0u64), |(count, bytes), more| (count + 1, bytes.saturating_add(more)))
        };
        let fits = |(count, bytes): (u64, u64), most: u64, most_bytes: u64| {
            count < most && bytes.saturating_add(content.memory()) <= most_bytes
        };
        let (most, most_bytes) = (self.most as u64, self.most_bytes);
        let own = held(&|open| open.caller.account == caller.account);
        // One object may have all that there is.
        let own_fits = own.0 == 0 || fits(own, share_of(most), share_of(most_bytes));
        if !own_fits || !fits(held(&|_| true), most, most_bytes) {
            return None;
        }
        *last += 1;
        opens.insert(*last, Open { content, caller: Arc::clone(caller), used: Instant::now() });
        Some(*last)
    }

    /// The object that a host opened under this number.
    pub(super) fn get(&self, number: u64, caller: &Caller) -> Option<Arc<Content>> {
        let mut table = locked(&self.table);
        self.prune(&mut table.1);
        let open = table.1.get_mut(&number).filter(|open| open.caller.host == caller.host)?;
        open.used = Instant::now();
        Some(Arc::clone(&open.content))
    }

    pub(super) fn close(&self, number: u64, caller: &Caller) {
        let mut table = locked(&self.table);
        if table.1.get(&number).is_some_and(|open| open.caller.host == caller.host) {
            table.1.remove(&number);
        }
    }
}

/// Most stored objects held open for reads of their blocks.
const PAGES: usize = 64;

/// Stored objects that were read lately, so that not every read checks a whole chunk.
#[derive(Debug, Default)]
pub(super) struct PageCache {
    entries: Mutex<HashMap<VrId, (Arc<ObjectPages>, Instant)>>,
}

impl PageCache {
    /// The object as it is stored now.
    pub(super) fn open(&self, space: &Space, id: VrId) -> Result<Arc<ObjectPages>, DeviceError> {
        if let Some((pages, used)) = locked(&self.entries).get_mut(&id)
            && pages.is_current()
        {
            *used = Instant::now();
            return Ok(Arc::clone(pages));
        }
        let pages = Arc::new(space.open_object(id)?);
        let mut entries = locked(&self.entries);
        entries.insert(id, (Arc::clone(&pages), Instant::now()));
        if entries.len() > PAGES {
            let oldest = entries.iter().min_by_key(|(_, (_, used))| *used).map(|(id, _)| *id);
            oldest.and_then(|id| entries.remove(&id));
        }
        Ok(pages)
    }

    /// Drops a version, so that its room on the disk is free.
    pub(super) fn forget(&self, id: VrId) {
        locked(&self.entries).remove(&id);
    }
}
