//! Shared parts of the tests: a die, a plain model of a volume, a comparison of the two.

use ciphermill_blockspace::volume::{
    BLOCK_BYTES, BlockState, Change, MAX_BLOCKS, Operation, Quota, Volume, VolumeConfig, VolumeError, VolumeFiles,
};
use ciphermill_storage::SimulatedDisk;
use std::collections::BTreeMap;

/// SplitMix64.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

/// Segments so small that checkpoints and reuse happen all the time.
pub(crate) fn tiny() -> VolumeConfig {
    VolumeConfig {
        segment_blocks: 64,
        group_bytes: 24 * BLOCK_BYTES,
        queue_bytes: 4 << 20,
        headroom_bytes: 256 << 10,
        default_quota: Quota::UNLIMITED,
        fill_ahead: true,
    }
}

pub(crate) fn open_on(disk: &SimulatedDisk) -> Result<Volume, VolumeError> {
    Volume::open(VolumeFiles::on_simulated_disk(disk), tiny())
}

/// A block that differs from every other one by `tag`; the tag 0 gives zeros.
pub(crate) fn block(tag: u64) -> Vec<u8> {
    if tag == 0 {
        return vec![0; BLOCK_BYTES];
    }
    let mut dice = Dice(tag);
    (0..BLOCK_BYTES / 8).flat_map(|_| dice.next().to_le_bytes()).collect()
}

pub(crate) fn blocks(tags: &[u64]) -> Vec<u8> {
    tags.iter().flat_map(|tag| block(*tag)).collect()
}

/// The contents of a volume: the tag of each mapped block, and the labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) blocks: BTreeMap<(u32, u64), u64>,
    pub(crate) labels: BTreeMap<(u32, u64), Vec<u8>>,
}

/// A step of a change, with tags in the place of content.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Write(u64, Vec<u64>),
    Zero(u64, u64),
    Unmap(u64, u64),
    SetLabel(u64, Vec<u8>),
    ClearLabel(u64),
}

pub(crate) fn change(space: u32, steps: &[Step]) -> Change {
    let operation = |step: &Step| match step.clone() {
        Step::Write(lba, tags) => Operation::Write { lba, data: blocks(&tags) },
        Step::Zero(lba, blocks) => Operation::Zero { lba, blocks },
        Step::Unmap(lba, blocks) => Operation::Unmap { lba, blocks },
        Step::SetLabel(lba, label) => Operation::SetLabel { lba, label },
        Step::ClearLabel(lba) => Operation::ClearLabel { lba },
    };
    Change { space, operations: steps.iter().map(operation).collect() }
}

impl Model {
    pub(crate) fn apply(&mut self, space: u32, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Write(lba, tags) => {
                    self.blocks.extend(tags.iter().enumerate().map(|(i, tag)| ((space, lba + i as u64), *tag)));
                }
                Step::Zero(lba, blocks) => self.blocks.extend((0..*blocks).map(|i| ((space, lba + i), 0))),
                Step::Unmap(lba, blocks) => {
                    let range = (space, *lba)..(space, lba.saturating_add(*blocks));
                    let keys: Vec<_> = self.blocks.range(range).map(|(key, _)| *key).collect();
                    keys.iter().for_each(|key| _ = self.blocks.remove(key));
                }
                Step::SetLabel(lba, label) => drop(self.labels.insert((space, *lba), label.clone())),
                Step::ClearLabel(lba) => drop(self.labels.remove(&(space, *lba))),
            }
        }
    }

    pub(crate) fn drop_space(&mut self, space: u32) {
        self.blocks.retain(|key, _| key.0 != space);
        self.labels.retain(|key, _| key.0 != space);
    }

    /// Panics where the volume holds anything else, or where its answers do not agree with each other.
    pub(crate) fn check(&self, volume: &Volume, context: &str) {
        let mut spaces: Vec<u32> = self.blocks.keys().chain(self.labels.keys()).map(|key| key.0).collect();
        spaces.sort_unstable();
        spaces.dedup();
        assert_eq!(volume.spaces(), spaces, "{context}: spaces");
        for space in spaces {
            let labels: Vec<_> = self.labels.range((space, 0)..=(space, u64::MAX)).collect();
            let labels: Vec<_> = labels.into_iter().map(|(key, label)| (key.1, label.clone())).collect();
            assert_eq!(volume.labels(space), labels, "{context}: labels of {space}");
            let mine: Vec<_> =
                self.blocks.range((space, 0)..=(space, u64::MAX)).map(|(key, tag)| (key.1, *tag)).collect();
            let mut seen = Vec::new();
            let mut next = 0;
            for run in volume.states(space, 0, MAX_BLOCKS) {
                assert_eq!(run.lba, next, "{context}: runs cover the space");
                next += run.blocks;
                if run.state == BlockState::Absent {
                    continue;
                }
                let mut bytes = vec![0; run.blocks as usize * BLOCK_BYTES];
                volume.read(space, run.lba, &mut bytes).unwrap_or_else(|error| panic!("{context}: {error}"));
                let checksums = volume.checksums(space, run.lba, run.blocks);
                for (i, content) in bytes.chunks(BLOCK_BYTES).enumerate() {
                    let zero = content.iter().all(|byte| *byte == 0);
                    assert_eq!(zero, run.state == BlockState::Zero, "{context}: state of {}", run.lba + i as u64);
                    assert_eq!(checksums[i], Some(crc32c::crc32c(content)), "{context}");
                    seen.push((run.lba + i as u64, crc32c::crc32c(content)));
                }
            }
            assert_eq!(next, MAX_BLOCKS, "{context}: runs cover the space");
            let wanted: Vec<_> = mine.iter().map(|(lba, tag)| (*lba, crc32c::crc32c(&block(*tag)))).collect();
            assert_eq!(seen, wanted, "{context}: blocks of {space}");
            let usage = volume.space_usage(space);
            let data = mine.iter().filter(|(_, tag)| *tag != 0).count() as u64;
            assert_eq!(
                (usage.mapped, usage.data, usage.labels),
                (mine.len() as u64, data, labels.len() as u64),
                "{context}"
            );
            assert_eq!(volume.mapped(space, 0, MAX_BLOCKS), mine.len() as u64, "{context}");
        }
    }
}

/// A few steps on addresses below `span`; tags come from `tag`, which counts up.
pub(crate) fn some_steps(dice: &mut Dice, span: u64, tag: &mut u64) -> Vec<Step> {
    (0..1 + dice.below(3))
        .map(|_| {
            let lba = dice.below(span);
            let count = (1 + [dice.below(2), dice.below(6)][dice.below(2) as usize]).min(span - lba);
            match dice.below(10) {
                0..=5 => {
                    let mut tags = || {
                        *tag += 1;
                        if dice.below(8) == 0 { 0 } else { *tag }
                    };
                    Step::Write(lba, (0..count).map(|_| tags()).collect())
                }
                6 => Step::Zero(lba, count),
                7 => Step::Unmap(lba, count * 2),
                8 => {
                    *tag += 1;
                    Step::SetLabel(lba, tag.to_le_bytes()[..dice.below(9) as usize].to_vec())
                }
                _ => Step::ClearLabel(lba),
            }
        })
        .collect()
}
