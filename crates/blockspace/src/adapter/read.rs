//! Reads of blocks.

use super::{
    BlockSpace, Outcome,
    audit::{Action, Version},
    bindings::Bound,
    blocks_of, count, crowded,
    origin::{Origin, Use},
    sessions::{ResultStat, Session},
    status,
};
use crate::volume::{BLOCK_BYTES, BlockState, VolumeError};
use ciphermill_device::{DeviceError, ObjectFlags, ObjectStat, ReadMode, StoreError, store::Owner};
use ciphermill_nvme::{Answer, CommandError, buffers};
use ciphermill_program::Metadata;
use std::{num::NonZeroU32, ops::Range, sync::Arc};

/// Blocks of an object that require a computation.
struct Armed {
    first: u64,
    bound: Bound,
    pieces: Vec<Range<u64>>,
}

/// The collected blocks of a read, and the remaining computations.
struct Collected {
    bytes: Vec<u8>,
    armed: Vec<Armed>,
}

enum Failure {
    Volume(VolumeError),
    Device(u64, DeviceError),
    Denied(CommandError),
}

impl Failure {
    fn told(self) -> CommandError {
        match self {
            Self::Volume(error) => status::of_volume(&error),
            Self::Device(lba, error) => status::of_device(&error).at(lba),
            Self::Denied(error) => error,
        }
    }
}

impl From<VolumeError> for Failure {
    fn from(error: VolumeError) -> Self {
        Self::Volume(error)
    }
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

/// The place of some blocks in the bytes of a read from `start`.
fn part<'a>(bytes: &'a mut [u8], start: u64, piece: &Range<u64>) -> &'a mut [u8] {
    let at = |lba: u64| (lba - start) as usize * BLOCK_BYTES;
    &mut bytes[at(piece.start)..at(piece.end)]
}

/// The record of a stored object, as its metadata block shows it.
pub(super) fn record(stat: &ObjectStat) -> Metadata {
    Metadata {
        id: stat.id,
        armed: stat.flags.contains(ObjectFlags::ARMED),
        one_shot: stat.flags.contains(ObjectFlags::ONE_SHOT),
        stored: false,
        size: stat.size,
        object_crc32c: NonZeroU32::new(stat.checksum),
    }
}

impl BlockSpace {
    pub(super) fn read_blocks(self: Arc<Self>, origin: &Arc<Origin>, lba: u64, blocks: u32) -> Answer<Vec<u8>> {
        let range = match self.in_range(lba, blocks.into()) {
            Ok(range) => range,
            Err(error) => return Answer::failed(error),
        };
        if !origin.is_bounded(Use::Read)
            && let Some(view) = self.views.try_shared(origin.party(), range.clone())
            && self.shows_no_object(&range)
        {
            let mut bytes = buffers::zeroed(blocks as usize * BLOCK_BYTES);
            match self.volume.try_read(self.id, lba, &mut bytes) {
                Ok(true) => return Answer::Ready(Ok(bytes)),
                Err(error) => return Answer::failed(status::of_volume(&error)),
                Ok(false) => drop(view),
            }
        }
        let (space, by) = (Arc::clone(&self), Arc::clone(origin));
        self.detached(origin, async move { space.read_objects(&by, range).await })
    }

    /// Whether the blocks are all in the volume.
    fn shows_no_object(&self, range: &Range<u64>) -> bool {
        let index = self.index();
        index.named_in(range).next().is_none()
            && index.overlapping(index.data_part(range)).all(|(_, place)| place.bound.is_none())
            && self.sessions.overlapping(range, None).is_empty()
    }

    async fn read_objects(self: Arc<Self>, origin: &Arc<Origin>, range: Range<u64>) -> Outcome<Vec<u8>> {
        let view = crowded(self.views.shared(origin.party(), range.clone()).await)?;
        origin.ranges(Use::Read, &self.device, &self.index(), &range.clone().into())?;
        let collect = {
            let (space, by, range) = (Arc::clone(&self), Arc::clone(origin), range.clone());
            move || {
                let collected = space.collect_blocks(&by, &range);
                drop(view);
                collected
            }
        };
        let Collected { mut bytes, armed } = self.blocking(&self.disk, collect).await?.map_err(Failure::told)?;
        for object in armed {
            let Armed { first, bound, pieces } = object;
            let contents = match self.compute(origin, first, bound, &pieces).await.map_err(|error| error.at(first))? {
                Some(contents) => contents,
                None => {
                    let (space, by, pieces) = (Arc::clone(&self), Arc::clone(origin), pieces.clone());
                    let read = move || space.read_stored(&by, first, bound, &pieces);
                    self.blocking(&self.disk, read).await?.map_err(Failure::told)?
                }
            };
            for (piece, content) in pieces.iter().zip(contents) {
                part(&mut bytes, range.start, piece).copy_from_slice(&content);
            }
        }
        Ok(bytes)
    }

    /// Blocks: everything that need not be computed, as it is at one moment. The caller holds the view.
    fn collect_blocks(&self, origin: &Origin, range: &Range<u64>) -> Result<Collected, Failure> {
        let reach = origin.reach();
        let reach = reach.as_ref();
        let (mut shown, named) = {
            let index = self.index();
            let bound = |(first, place): (u64, &super::bindings::Binding)| Some((first, place.bound?));
            let shown: Vec<_> = index.overlapping(index.data_part(range)).filter_map(bound).collect();
            let shown: Vec<_> =
                shown.into_iter().map(|(first, bound)| (first, bound, first..first + bound.blocks)).collect();
            let named: Vec<_> = index.named_in(range).map(|(first, place)| (first, place.clone())).collect();
            (shown, named)
        };
        self.longer_results(range, reach, &mut shown);
        let mut bytes = buffers::zeroed((range.end - range.start) as usize * BLOCK_BYTES);
        let states = match shown.is_empty() {
            true => Vec::new(),
            false => self.volume.states(self.id, range.start, range.end - range.start),
        };
        self.volume.read(self.id, range.start, &mut bytes)?;
        let absent: Vec<_> = states
            .iter()
            .filter(|run| run.state == BlockState::Absent)
            .map(|run| run.lba..run.lba + run.blocks)
            .collect();
        let mut armed: Vec<Armed> = Vec::new();
        for (first, bound, extent) in shown {
            let pieces: Vec<_> = absent
                .iter()
                .map(|run| overlap(&overlap(run, &extent), range))
                .filter(|piece| !piece.is_empty())
                .collect();
            if pieces.is_empty() {
                continue;
            }
            let flags = self.device.stat(bound.id).map_or(ObjectFlags::NONE, |stat| stat.flags);
            if flags.contains(ObjectFlags::ARMED) || self.sessions.stat(first, reach).is_some() {
                match armed.iter_mut().find(|object| object.first == first) {
                    Some(object) => object.pieces.extend(pieces),
                    None => armed.push(Armed { first, bound, pieces }),
                }
                continue;
            }
            let contents = self.read_stored(origin, first, bound, &pieces)?;
            for (piece, content) in pieces.iter().zip(contents) {
                part(&mut bytes, range.start, piece).copy_from_slice(&content);
            }
        }
        for (first, place) in named {
            let metadata = match (place.bound, &place.declared) {
                (Some(bound), _) => self.device.stat(bound.id).ok().map(|stat| self.shown_record(first, reach, &stat)),
                (None, Some(declared)) => Some(declared.metadata),
                (None, None) => None,
            };
            if let Some(metadata) = metadata {
                let lba = self.half + first;
                part(&mut bytes, range.start, &(lba..lba + 1)).copy_from_slice(&metadata.encode());
            }
        }
        Ok(Collected { bytes, armed })
    }

    /// The record of a bound object; while a result is being read, with the size and the checksum of the result.
    fn shown_record(&self, first: u64, reach: Option<&Owner>, stat: &ObjectStat) -> Metadata {
        let stored = record(stat);
        match self.sessions.stat(first, reach) {
            None => stored,
            Some(ResultStat { size, checksum }) => {
                Metadata { size, object_crc32c: NonZeroU32::new(checksum), ..stored }
            }
        }
    }

    /// Adds the blocks that results being read have beyond those of their objects.
    fn longer_results(&self, range: &Range<u64>, reach: Option<&Owner>, shown: &mut Vec<(u64, Bound, Range<u64>)>) {
        let index = self.index();
        for (first, blocks) in self.sessions.overlapping(range, reach) {
            let Some(bound) = index.get(first).and_then(|place| place.bound) else { continue };
            let end = (first + blocks).min(index.limit(first));
            if end > first + bound.blocks {
                shown.push((first, bound, first + bound.blocks..end));
            }
        }
    }

    /// Blocks the thread: the content of blocks of a stored object. Bytes behind its end are zeros, and so are all bytes of
    /// a deleted object.
    fn read_stored(
        &self,
        origin: &Origin,
        first: u64,
        bound: Bound,
        pieces: &[Range<u64>],
    ) -> Result<Vec<Vec<u8>>, Failure> {
        let zeros = |piece: &Range<u64>| vec![0; (piece.end - piece.start) as usize * BLOCK_BYTES];
        let fail = |error| Failure::Device(first, error);
        let pages = match self.pages.open(&self.device, bound.id) {
            Ok(pages) => pages,
            Err(DeviceError::Store(StoreError::NotFound { .. })) => return Ok(pieces.iter().map(zeros).collect()),
            Err(error) => return Err(fail(error)),
        };
        // Of this version: the register may have another object than when the read began.
        let owner = pages.stat().owner;
        origin.object(Use::Read, bound.id, owner.as_ref()).map_err(|error| Failure::Denied(error.at(first)))?;
        let read = |piece: &Range<u64>| {
            let mut bytes = zeros(piece);
            pages
                .read_at((piece.start - first) * BLOCK_BYTES as u64, &mut bytes)
                .map_err(|error| fail(error.into()))?;
            Ok(bytes)
        };
        pieces.iter().map(read).collect()
    }

    /// Blocks of a result: of the one being read, if none of these blocks was read yet, else of a new run if the object is
    /// armed. `None` if neither applies and the stored object is read.
    async fn compute(
        self: &Arc<Self>,
        origin: &Origin,
        first: u64,
        bound: Bound,
        pieces: &[Range<u64>],
    ) -> Outcome<Option<Vec<Vec<u8>>>> {
        let cell = self.sessions.cell(first);
        let mut session = match cell.try_lock() {
            Ok(session) => session,
            Err(_) => {
                // All but this command, the table of sessions, and who is before it.
                let _waiting = crowded(self.waits.enter(Arc::strong_count(&cell).saturating_sub(3)))?;
                cell.lock().await
            }
        };
        let Ok(stat) = self.device.stat(bound.id) else { return Ok(None) };
        let reach = origin.reach();
        if session.as_ref().is_none_or(|session| !session.has((bound.id, stat.generation), reach.as_ref(), pieces)) {
            if !stat.flags.contains(ObjectFlags::ARMED) {
                return Ok(None);
            }
            let device = self.device.clone();
            let room = self.index().limit(first).saturating_sub(first);
            let limit = room.saturating_mul(BLOCK_BYTES as u64).min(self.config.session_bytes);
            let options = origin.read_options(ReadMode::Armed, limit);
            let run = move || {
                let source = device.read_with(bound.id, options)?;
                let (computed, generation, disarmed) = (source.computed(), source.stat().generation, source.disarmed());
                Ok::<_, DeviceError>(if computed { Some((generation, disarmed, source.into_bytes()?)) } else { None })
            };
            let waiting = self.queued(origin)?;
            let outcome = self.device_job(origin, run).await?;
            drop(waiting);
            let Some((generation, disarmed, result)) = outcome.map_err(|error| status::of_device(&error))? else {
                return Ok(None);
            };
            count(&self.counters.computed_reads);
            let version = Some(Version::from(&stat));
            self.audit.object(Action::ComputedRead, origin.by(), bound.id, version, Some(first));
            if disarmed {
                self.audit.object(Action::Flags, origin.by(), bound.id, None, Some(first));
            }
            let (bytes, room) = (result.len() as u64, self.index().limit(first).saturating_sub(first));
            if blocks_of(bytes) > room {
                let text =
                    format!("the result has {bytes} bytes, there are {room} blocks for it before the next object");
                return Err(CommandError::new(status::RESULT_TOO_LARGE, text));
            }
            let stat = ResultStat { size: bytes, checksum: crc32c::crc32c(&result) };
            if !self.sessions.admit(first, &cell, stat, origin.account(), reach.as_ref()) {
                let text = format!(
                    "the result has {bytes} bytes, a result that is read by blocks may have {}",
                    self.config.session_bytes
                );
                return Err(CommandError::new(status::RESULT_TOO_LARGE, text));
            }
            *session = Some(Session::new((bound.id, generation), reach, first, result));
        }
        let Some(open) = session.as_mut() else { return Ok(None) };
        let contents = open.take(pieces);
        if open.is_done() {
            *session = None;
            self.sessions.end(first, &cell);
        }
        Ok(Some(contents))
    }
}
