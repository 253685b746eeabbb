//! The writer: one thread that makes changes durable, a group at a time.

use super::{
    BLOCK_BYTES, MAX_BLOCKS, Shared, VolumeError,
    checkpoint::{Checkpoints, Job, RELIEF_BLOCKS, growable},
    format::{self, Entry, RecordName},
    map::Effects,
    plan::Plan,
    queue::Pending,
    segment::Active,
};
use ciphermill_storage::StorageError;
use std::{
    collections::VecDeque,
    sync::{Arc, PoisonError, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

/// Stripes that a large unmap takes from the map before it lets readers in.
const UNMAP_STEP: usize = 2048;

pub(super) struct Writer {
    shared: Arc<Shared>,
    checkpoints: Arc<Checkpoints>,
    /// `None` between a segment and the next when there is no room for one.
    active: Option<Active>,
    /// Number of the next record.
    sequence: u64,
    /// The changes that the next checkpoint has to store.
    effects: Effects,
    /// Blocks outside the active segment that nothing points at since the last checkpoint was begun.
    dead: Vec<u32>,
    backlog: VecDeque<Pending>,
    buffer: Vec<u8>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, checkpoints: Arc<Checkpoints>, sequence: u64) -> Self {
        let active = checkpoints.next().map(Active::new);
        let (effects, dead, backlog) = (Effects::default(), Vec::new(), VecDeque::new());
        Self { shared, checkpoints, active, sequence, effects, dead, backlog, buffer: Vec::new() }
    }

    /// Works until the queue is closed and empty.
    pub(super) fn run(&mut self) {
        while self.shared.queue.take(&mut self.backlog) {
            let group = self.gather();
            if !group.is_empty() {
                self.commit(group);
            }
        }
        self.conclude();
    }

    /// Appends an empty record: the record before it is then known to be durable, so damage in it is not a torn write.
    fn conclude(&mut self) {
        let room = self.active.as_ref().is_some_and(|active| active.cursor > 0 && active.room() > 0);
        if room
            && !self.shared.failed.load(Ordering::SeqCst)
            && let Err(error) = self.write(&[])
        {
            tracing::warn!(%error, "the volume was closed without a last record; nothing is lost");
        }
    }

    fn refuse(&self, pending: Pending, error: VolumeError) {
        self.shared.metrics.refused.fetch_add(1, Ordering::Relaxed);
        self.shared.queue.answer(pending, Err(error));
    }

    /// Takes the next group from the backlog: the changes that fit into one record and into the segment.
    fn gather(&mut self) -> Vec<Pending> {
        let (mut group, mut plan) = (Vec::new(), Plan::default());
        let (mut entry_bytes, mut data_blocks, mut relief, mut switches) = (0, 0u32, true, 0);
        let mut counted = true;
        while let Some(pending) = self.backlog.pop_front() {
            if self.shared.failed.load(Ordering::SeqCst) {
                self.refuse(pending, VolumeError::Failed);
                continue;
            }
            let change = &pending.change;
            let entries = entry_bytes + change.entry_bytes;
            let data = data_blocks + change.data_blocks;
            let limits = self.shared.limits;
            let uncounted = !counted && !change.relief;
            if !group.is_empty() && (entries > limits.entry_bytes || data > limits.data_blocks || uncounted) {
                self.backlog.push_front(pending);
                break;
            }
            if format::header_blocks(entries) + data > self.usable(relief && change.relief) {
                if !group.is_empty() {
                    self.backlog.push_front(pending);
                    break;
                }
                // A medium that is nearly full gives segments too small for this change, each with a checkpoint.
                let room = if switches < 4 { self.make_room(&pending) } else { Err(self.no_space(&pending)) };
                switches += 1;
                match room {
                    Ok(()) => self.backlog.push_front(pending),
                    Err(error) => self.refuse(pending, error),
                }
                continue;
            }
            let admitted = {
                let map = self.shared.map.read().unwrap_or_else(PoisonError::into_inner);
                let quota = self.shared.quota(change.space);
                plan.admit(&map, (change.space, &change.entries), quota, counted && !change.wide)
            };
            match admitted {
                Ok(()) => {
                    (entry_bytes, data_blocks, relief) = (entries, data, relief && change.relief);
                    counted = counted && !change.wide;
                    group.push(pending);
                }
                Err(error) => self.refuse(pending, error),
            }
            switches = 0;
        }
        group
    }

    /// Blocks of the active segment that a group may take.
    fn usable(&self, relief: bool) -> u32 {
        let room = self.active.as_ref().map_or(0, Active::room);
        // While nobody knows of a next segment, the last blocks of this one are for changes that make room.
        if relief || self.checkpoints.has_next() { room } else { room.saturating_sub(RELIEF_BLOCKS) }
    }

    fn no_space(&self, pending: &Pending) -> VolumeError {
        let needed = u64::from(format::header_blocks(pending.change.entry_bytes) + pending.change.data_blocks);
        let dead = self.dead.len() as u64 + self.shared.metrics.free_blocks.load(Ordering::Relaxed);
        let bytes = BLOCK_BYTES as u64;
        VolumeError::NoSpace { needed: needed * bytes, free: dead * bytes }
    }

    /// Goes on in another segment, or says why that cannot be.
    fn make_room(&mut self, pending: &Pending) -> Result<(), VolumeError> {
        if self.active.is_some() && self.checkpoints.has_next() {
            self.close_segment(1);
            return Ok(());
        }
        let begun = Instant::now();
        let settled = self.checkpoints.settle();
        self.shared.metrics.stall_ns.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        settled?;
        if self.active.is_none() {
            self.active = self.checkpoints.next().map(Active::new);
            if self.active.is_some() {
                return Ok(());
            }
        } else if self.checkpoints.has_next() {
            return Ok(());
        }
        // The last checkpoint found no room for another segment. One made now finds what was lost since.
        if !pending.change.relief && !self.could_gain(pending)? {
            return Err(self.no_space(pending));
        }
        self.close_segment(2);
        self.checkpoints.settle()?;
        self.active = self.checkpoints.next().map(Active::new);
        if self.active.is_some() { Ok(()) } else { Err(self.no_space(pending)) }
    }

    /// Whether a checkpoint would make enough room for a change.
    fn could_gain(&self, pending: &Pending) -> Result<bool, VolumeError> {
        let metrics = &self.shared.metrics;
        let end = metrics.end_block.load(Ordering::Relaxed).min(u64::from(u32::MAX)) as u32;
        let (growable, low) = growable(&*self.shared.blocks, end, &self.shared.config)?;
        let gain = self.dead.len() as u64
            + u64::from(self.active.as_ref().map_or(0, Active::dead))
            + metrics.free_blocks.load(Ordering::Relaxed)
            + self.shared.pins.released()
            + u64::from(growable);
        let needed = format::header_blocks(pending.change.entry_bytes) + pending.change.data_blocks;
        Ok(!low && gain >= u64::from(needed + 2 * RELIEF_BLOCKS))
    }

    /// Begins a checkpoint without the active segment, and goes on in the next one if there is one.
    fn close_segment(&mut self, wanted: usize) {
        let closing = self.active.take();
        let effects = std::mem::take(&mut self.effects);
        let mut freed = std::mem::take(&mut self.dead);
        freed.extend(closing.iter().flat_map(Active::dead_blocks));
        let epoch = Arc::new(());
        let mut map = self.shared.map.write().unwrap_or_else(PoisonError::into_inner);
        let epoch = std::mem::replace(&mut map.epoch, epoch);
        drop(map);
        // Only this thread changes the map, so what is read now is what it was a moment ago.
        let map = self.shared.map.read().unwrap_or_else(PoisonError::into_inner);
        let job = Job {
            sequence: self.sequence,
            stripes: effects.stripes.into_iter().map(|key| (key, map.stripes.get(&key).cloned())).collect(),
            labels: effects.labels.into_iter().map(|key| (key, map.labels.get(&key).cloned())).collect(),
            closed: closing.iter().map(|active| active.segment.generation).collect(),
            freed,
            wanted,
            epoch,
        };
        drop(map);
        self.active = self.checkpoints.next().map(Active::new);
        self.checkpoints.submit(job);
    }

    /// Makes a group durable and calls its callbacks.
    fn commit(&mut self, group: Vec<Pending>) {
        self.shared.writing.store(true, Ordering::Release);
        let written = self.write(&group);
        self.shared.writing.store(false, Ordering::Release);
        match written {
            Ok((blocks, data_blocks)) => {
                self.apply(&group, blocks, data_blocks);
                group.into_iter().for_each(|pending| self.shared.queue.answer(pending, Ok(())));
            }
            Err(error) => {
                tracing::error!(%error, changes = group.len(), "group commit failed");
                group.into_iter().for_each(|pending| self.refuse(pending, error.clone()));
            }
        }
    }

    /// Writes the group's record and syncs it; returns its blocks, and how many of them are data.
    fn write(&mut self, group: &[Pending]) -> Result<(u32, u32), VolumeError> {
        let active = self.active.as_ref().ok_or(VolumeError::Failed)?;
        let data_blocks = group.iter().map(|pending| pending.change.data_blocks).sum();
        let name = RecordName {
            volume_id: self.shared.volume_id,
            generation: active.segment.generation,
            sequence: self.sequence,
        };
        self.buffer.clear();
        let entries = group.iter().flat_map(|pending| &pending.change.entries);
        format::encode_record(&mut self.buffer, name, data_blocks, entries);
        group
            .iter()
            .flat_map(|pending| pending.change.content())
            .for_each(|bytes| self.buffer.extend_from_slice(bytes));
        let blocks = (self.buffer.len() / BLOCK_BYTES) as u32;
        let storage = &self.shared.blocks;
        for file in [storage, &self.shared.map_file] {
            file.check_place().inspect_err(|error| {
                if matches!(error, StorageError::Gone { .. }) {
                    self.shared.failed.store(true, Ordering::SeqCst);
                }
            })?;
        }
        let _syncing = self.shared.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rest = self.buffer.as_slice();
        for piece in active.segment.pieces(active.cursor, blocks) {
            let (now, later) = rest.split_at(piece.blocks as usize * BLOCK_BYTES);
            if let Err(error) = storage.write_at(u64::from(piece.start) * BLOCK_BYTES as u64, now) {
                self.void();
                return Err(error.into());
            }
            rest = later;
        }
        let begun = Instant::now();
        storage.sync().inspect_err(|_| self.shared.failed.store(true, Ordering::SeqCst))?;
        let metrics = &self.shared.metrics;
        metrics.sync_ns.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        metrics.groups.fetch_add(1, Ordering::Relaxed);
        metrics.changes.fetch_add(group.len() as u64, Ordering::Relaxed);
        metrics.written_bytes.fetch_add(self.buffer.len() as u64, Ordering::Relaxed);
        metrics.data_bytes.fetch_add(u64::from(data_blocks) * BLOCK_BYTES as u64, Ordering::Relaxed);
        Ok((blocks, data_blocks))
    }

    /// Makes sure that a record whose writing failed, but which may be on the medium nevertheless, never counts.
    fn void(&self) {
        let Some(active) = &self.active else { return };
        let first = active.segment.physical(active.cursor, 1).next().unwrap_or(0);
        let storage = &self.shared.blocks;
        let voided = match first {
            0 => Ok(()),
            first => {
                storage.write_at(u64::from(first) * BLOCK_BYTES as u64, &[0; BLOCK_BYTES]).and_then(|()| storage.sync())
            }
        };
        if let Err(error) = voided {
            tracing::error!(%error, "a record that failed could not be voided");
            self.shared.failed.store(true, Ordering::SeqCst);
        }
    }

    /// Lets readers see a durable group.
    fn apply(&mut self, group: &[Pending], blocks: u32, data_blocks: u32) {
        let Some(active) = &mut self.active else { return };
        let header = blocks - data_blocks;
        let mut physical = active.segment.physical(active.cursor + header, data_blocks);
        let take = || self.shared.map.write().unwrap_or_else(PoisonError::into_inner);
        let mut map = take();
        for Pending { change, .. } in group {
            let only_unmaps = |entry: &Entry| matches!(entry, Entry::Unmap { .. } | Entry::Drop { .. });
            let stepwise = change.wide && change.entries.iter().all(only_unmaps);
            for entry in &change.entries {
                let (space, mut lba, end) = match entry {
                    Entry::Unmap { space, lba, blocks } => (*space, *lba, *lba + *blocks),
                    Entry::Drop { space } => (*space, 0, MAX_BLOCKS),
                    _ => (0, 0, 0),
                };
                // Readers come in between; they may see some blocks unmapped before others.
                while stepwise
                    && lba < end
                    && let Some(rest) = map.unmap_some(space, lba, end - lba, UNMAP_STEP, &mut self.effects)
                {
                    lba = rest;
                    drop(map);
                    thread::sleep(Duration::from_micros(50));
                    map = take();
                }
                map.apply(entry, &mut physical, &mut self.effects);
            }
        }
        drop(map);
        drop(physical);
        active.fill(blocks, data_blocks);
        for lost in self.effects.lost.drain(..) {
            if !active.lose(lost) {
                self.dead.push(lost);
            }
        }
        self.sequence += 1;
    }
}
