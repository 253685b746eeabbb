//! A model of a namespace that is obviously right: everything that can be read is compared after every command. Shared with
//! the fuzz target `blockspace_commands`.
#![allow(dead_code, reason = "the fuzz target and the tests use a part each")]

use crate::support::*;
use ciphermill_blockspace::BlockSpaceConfig;
use ciphermill_program::{Metadata, VrId};
use std::{collections::BTreeMap, ops::Range, sync::Arc};

/// Data blocks that the commands touch.
pub(crate) const BLOCKS: u64 = 14;
/// Two tables, and a value whose result is twice as long.
pub(crate) const IDS: [&str; 3] = ["1:0:1", "1:0:2", "4:0:3"];

#[derive(Clone, Copy, Debug)]
pub(crate) enum Checksum {
    None,
    /// Of the blocks as a write with this seed makes them.
    Seed(u64),
}

#[derive(Clone, Debug)]
pub(crate) enum Command {
    Declare { first: u64, id: usize, size: u64, armed: bool, stored: bool, checksum: Checksum },
    Write { lba: u64, blocks: u64, seed: u64 },
    WriteMeta { first: u64 },
    Zero { lba: u64, blocks: u64, meta: bool },
    Deallocate { lba: u64, blocks: u64, meta: bool },
    Restart,
}

/// Commands from bytes: five each, all of which mean something.
pub(crate) fn commands(bytes: &[u8]) -> Vec<Command> {
    let one = |&[kind, a, b, c, d]: &[u8; 5]| {
        let first = u64::from(a) % BLOCKS;
        let blocks = (1 + u64::from(b) % 5).min(BLOCKS - first);
        match kind % 16 {
            0..4 => Command::Declare {
                first,
                id: usize::from(b) % IDS.len(),
                size: 8 * (1 + (u64::from(c) << 3 | u64::from(d >> 5))),
                armed: d & 1 != 0,
                stored: d & 2 != 0,
                checksum: if d & 4 != 0 { Checksum::Seed(u64::from(d >> 3 & 3)) } else { Checksum::None },
            },
            4..11 => Command::Write { lba: first, blocks, seed: u64::from(c) % 4 },
            11 => Command::WriteMeta { first },
            12 => Command::Zero { lba: first, blocks, meta: c & 1 != 0 },
            13 | 14 => Command::Deallocate { lba: first, blocks, meta: c & 1 != 0 },
            _ => Command::Restart,
        }
    };
    bytes.as_chunks().0.iter().map(one).collect()
}

/// A block as a write with this seed makes it; an object that begins with one of seed 0 is refused.
fn block(seed: u64, lba: u64) -> Vec<u8> {
    let mut bytes = pattern(BLOCK, seed * 1000 + lba);
    if seed == 0 {
        bytes[..3].copy_from_slice(b"BAD");
    }
    bytes
}

#[derive(Clone, Debug, Default)]
struct Place {
    bound: Option<(VrId, u64)>,
    declared: Option<Metadata>,
    /// The declared object was complete and refused.
    failed: bool,
}

#[derive(Clone, Debug, Default)]
struct Model {
    blocks: BTreeMap<u64, Vec<u8>>,
    places: BTreeMap<u64, Place>,
    store: BTreeMap<VrId, (Vec<u8>, bool)>,
}

fn blocks_of(size: u64) -> u64 {
    size.div_ceil(BLOCK as u64)
}

impl Place {
    fn blocks(&self) -> u64 {
        let declared = self.declared.map_or(0, |metadata| blocks_of(metadata.size));
        declared.max(self.bound.map_or(0, |(_, blocks)| blocks))
    }
}

/// Whether the command succeeds.
type Success = bool;

impl Model {
    fn overlapping(&self, range: Range<u64>) -> Vec<u64> {
        let hit = |(first, place): (&u64, &Place)| {
            (*first < range.end && range.start < first + place.blocks()).then_some(*first)
        };
        self.places.iter().filter_map(hit).collect()
    }

    fn unname(&mut self, first: u64) {
        if let Some((id, _)) = self.places.remove(&first).and_then(|place| place.bound) {
            self.store.remove(&id);
        }
    }

    fn declare(&mut self, first: u64, metadata: Metadata) -> Success {
        let range = first..first + blocks_of(metadata.size);
        if range.end > HALF || self.overlapping(range.clone()).into_iter().any(|other| other != first) {
            return false;
        }
        let refused = self.places.get(&first).filter(|place| place.failed).and_then(|place| place.declared);
        if self.places.get(&first).and_then(|place| place.bound).is_some_and(|(id, _)| id != metadata.id) {
            self.unname(first);
        }
        let place = self.places.entry(first).or_default();
        (place.declared, place.failed) = (Some(metadata), false);
        self.blocks.remove(&(HALF + first));
        let above = self.blocks.range(range).next().is_some();
        if let Some(refused) = refused {
            (first..first + blocks_of(refused.size)).for_each(|lba| drop(self.blocks.remove(&lba)));
        }
        if place.bound.is_some()
            && !above
            && let Some((bytes, armed)) = self.store.get_mut(&metadata.id)
            && bytes.len() as u64 == metadata.size
            && metadata.object_crc32c.is_none_or(|crc| Some(crc) == Metadata::checksum_of(bytes))
        {
            *armed = metadata.armed;
        }
        self.settle(first, None)
    }

    /// Completes the object if it is whole. `true` also when there is nothing to do.
    fn settle(&mut self, first: u64, extra: Option<(u64, &[Vec<u8>])>) -> Success {
        matches!(self.complete(first, extra), None | Some(true))
    }

    /// Each of them, also after one failed.
    fn settle_all(&mut self, places: Vec<u64>) -> Success {
        let failed = places.into_iter().filter(|first| !self.settle(*first, None)).count();
        failed == 0
    }

    /// `None`: not complete, or another one is awaited.
    fn complete(&mut self, first: u64, extra: Option<(u64, &[Vec<u8>])>) -> Option<Success> {
        let outcome = self.try_complete(first, extra);
        if outcome == Some(false)
            && let Some(place) = self.places.get_mut(&first)
        {
            place.failed = true;
        }
        outcome
    }

    fn try_complete(&mut self, first: u64, extra: Option<(u64, &[Vec<u8>])>) -> Option<Success> {
        let metadata = self.places.get(&first)?.declared?;
        let blocks = blocks_of(metadata.size);
        let mut bytes = Vec::new();
        for lba in first..first + blocks {
            let of_extra = extra.and_then(|(start, data)| data.get(lba.checked_sub(start)? as usize));
            bytes.extend_from_slice(of_extra.or_else(|| self.blocks.get(&lba))?);
        }
        bytes.truncate(metadata.size as usize);
        if metadata.object_crc32c.is_some() && metadata.object_crc32c != Metadata::checksum_of(&bytes) {
            return None;
        }
        if bytes.starts_with(b"BAD") {
            return Some(false);
        }
        let computes = metadata.id.type_code.0 == 4;
        if computes && !metadata.stored {
            bytes = bytes.repeat(2);
        }
        let longer = blocks.max(blocks_of(bytes.len() as u64));
        let limit = self.places.range(first + 1..).next().map_or(HALF, |(next, _)| *next);
        if blocks_of(bytes.len() as u64) > limit - first {
            return Some(false);
        }
        for (_, place) in self.places.iter_mut().filter(|(other, _)| **other != first) {
            if place.bound.is_some_and(|(id, _)| id == metadata.id) {
                place.bound = None;
            }
        }
        self.places.retain(|_, place| place.bound.is_some() || place.declared.is_some());
        let bound = Some((metadata.id, blocks_of(bytes.len() as u64)));
        self.places.insert(first, Place { bound, ..Place::default() });
        (first..first + longer).for_each(|lba| drop(self.blocks.remove(&lba)));
        self.store.insert(metadata.id, (bytes, metadata.armed));
        Some(true)
    }

    /// Places where something is declared that has blocks in the range.
    fn declared_in(&self, range: &Range<u64>) -> Vec<u64> {
        let has = |first: &u64| {
            let declared = self.places[first].declared;
            declared.is_some_and(|metadata| range.start < first + blocks_of(metadata.size))
        };
        self.overlapping(range.clone()).into_iter().filter(has).collect()
    }

    fn write(&mut self, lba: u64, data: &[Vec<u8>]) -> Success {
        let range = lba..lba + data.len() as u64;
        let declared = self.declared_in(&range);
        if let [first] = declared[..] {
            let metadata = self.places[&first].declared.expect("declared");
            let inside = first <= lba && range.end <= first + blocks_of(metadata.size);
            if inside && let Some(success) = self.complete(first, Some((lba, data))) {
                return success;
            }
        }
        self.blocks.extend(range.zip(data.iter().cloned()));
        self.settle_all(declared)
    }

    fn erase(&mut self, range: Range<u64>, zero: bool) -> Success {
        let named: Vec<_> = self.places.keys().copied().filter(|first| range.contains(&(HALF + first))).collect();
        let covered = self.overlapping(range.clone());
        let declared = self.declared_in(&range);
        for lba in range.clone() {
            self.blocks.remove(&lba);
            if zero && covered.iter().any(|first| (*first..first + self.places[first].blocks()).contains(&lba)) {
                self.blocks.insert(lba, vec![0; BLOCK]);
            }
        }
        named.into_iter().for_each(|first| self.unname(first));
        self.settle_all(declared)
    }

    fn data(&self, lba: u64) -> Vec<u8> {
        if let Some(block) = self.blocks.get(&lba) {
            return block.clone();
        }
        let mut content = vec![0; BLOCK];
        for (first, place) in &self.places {
            if let Some((id, blocks)) = place.bound
                && (*first..first + blocks).contains(&lba)
            {
                let bytes = padded(&self.store[&id].0);
                let at = (lba - first) as usize * BLOCK;
                if let Some(block) = bytes.get(at..at + BLOCK) {
                    content.copy_from_slice(block);
                }
            }
        }
        content
    }

    fn meta(&self, first: u64) -> Vec<u8> {
        match self.places.get(&first) {
            None => self.blocks.get(&(HALF + first)).cloned().unwrap_or(vec![0; BLOCK]),
            Some(Place { bound: Some((id, _)), .. }) => {
                let (bytes, armed) = &self.store[id];
                let checked = checked(&id.to_string(), bytes);
                Metadata { armed: *armed, ..checked }.encode().to_vec()
            }
            Some(place) => place.declared.expect("one of the two").encode().to_vec(),
        }
    }
}

fn carry_out(bench: &mut Option<Bench>, model: &mut Model, command: &Command) -> (Success, Success) {
    let now = bench.as_ref().expect("open");
    match *command {
        Command::Declare { first, id, size, armed, stored, checksum } => {
            let mut metadata = Metadata { armed, stored, ..metadata(IDS[id], size as usize) };
            if let Checksum::Seed(seed) = checksum {
                let blocks = first..first + blocks_of(size);
                let bytes: Vec<u8> = blocks.flat_map(|lba| block(seed, lba)).collect();
                metadata.object_crc32c = Metadata::checksum_of(&bytes[..size as usize]);
            }
            (now.try_declare(first, metadata).is_ok(), model.declare(first, metadata))
        }
        Command::Write { lba, blocks, seed } => {
            let data: Vec<_> = (lba..lba + blocks).map(|lba| block(seed, lba)).collect();
            (now.try_write(lba, data.concat()).is_ok(), model.write(lba, &data))
        }
        Command::WriteMeta { first } => {
            let data = block(3, first);
            let done = now.try_write(HALF + first, data.clone()).is_ok();
            model.unname(first);
            model.blocks.insert(HALF + first, data);
            (done, true)
        }
        Command::Zero { lba, blocks, meta } => {
            let lba = lba + if meta { HALF } else { 0 };
            (now.zero(lba, blocks as u32).is_ok(), model.erase(lba..lba + blocks, true))
        }
        Command::Deallocate { lba, blocks, meta } => {
            let lba = lba + if meta { HALF } else { 0 };
            (now.deallocate(lba..lba + blocks).is_ok(), model.erase(lba..lba + blocks, false))
        }
        Command::Restart => {
            *bench = bench.take().map(|bench| bench.reopened(BlockSpaceConfig::new(LOG2)));
            (true, true)
        }
    }
}

fn compare(bench: &Bench, model: &Model, context: &str) {
    // A block more than the commands touch, and results reach further.
    let last = BLOCKS + 12;
    let data = bench.read(0, last as u32);
    for (lba, block) in (0..last).zip(data.chunks(BLOCK)) {
        assert!(block == model.data(lba), "{context}: block {lba}");
    }
    let meta = bench.read(HALF, last as u32);
    for (first, block) in (0..last).zip(meta.chunks(BLOCK)) {
        assert!(block == model.meta(first), "{context}: metadata block of {first}");
    }
    for id in IDS {
        let expected = model.store.get(&register(id)).map(|(bytes, _)| bytes.clone());
        assert!(bench.stored(id) == expected, "{context}: object {id}");
    }
}

pub(crate) fn run(commands: &[Command], runtime: &Arc<tokio::runtime::Runtime>) {
    let files = (ciphermill_device::StoreFiles::in_memory(), ciphermill_blockspace::volume::VolumeFiles::in_memory());
    let bench = Bench::open(files.0, files.1, BlockSpaceConfig::new(LOG2), Arc::clone(runtime)).expect("a namespace");
    let code = program("homintmult 4:0:3, -2\nreturn 4:0:3");
    bench.put(1000, metadata("0:0:0", code.len()), &code);
    let mut model = Model::default();
    // The program's place is the model's as well: it bounds results that would reach so far, which none does.
    let mut bench = Some(bench);
    for (step, command) in commands.iter().enumerate() {
        let (done, expected) = carry_out(&mut bench, &mut model, command);
        let context = format!("step {step}, {command:?} of {commands:?}");
        assert_eq!(done, expected, "{context}");
        compare(bench.as_ref().expect("open"), &model, &context);
    }
}
