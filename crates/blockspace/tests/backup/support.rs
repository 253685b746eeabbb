//! A store with a volume in a directory, and everything in it as text.

use ciphermill_blockspace::{
    backup::{self, BackupError, BackupRecord, Origin, RestoreReport},
    volume::{BLOCK_BYTES, Change, Operation, Volume, VolumeConfig},
};
use ciphermill_device::store::{ObjectFlags, ObjectKey, Owner, SpaceId, SpaceLimits, Store};
use ciphermill_program::{DataId, KeyId, TypeCode, VrId};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

pub(crate) const BUDGET: u64 = 1 << 30;
/// Sizes of the objects: in the table, in extents, of several chunks.
pub(crate) const SIZES: [usize; 6] = [1, 700, 16_000, 16_001, 90_000, 2_200_000];
/// Addresses of the blocks.
pub(crate) const BLOCKS: [u64; 5] = [0, 1, 2, 77, 1 << 40];

pub(crate) fn key(data: u32) -> ObjectKey {
    ObjectKey { space: SpaceId(1), id: VrId::new(TypeCode(7), KeyId(2), DataId(data)) }
}

/// Bytes that begin with the version.
pub(crate) fn content(version: u64, seed: u64, len: usize) -> Vec<u8> {
    let mut state = version.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed;
    let mut bytes: Vec<u8> = (0..len.div_ceil(8))
        .flat_map(|_| {
            state = state.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(0x1234_5678_9abc_def1);
            (state >> 7).to_le_bytes()
        })
        .collect();
    bytes.truncate(len);
    bytes[0] = version as u8;
    bytes
}

pub(crate) fn put(store: &Store, data: u32, bytes: &[u8]) {
    let mut writer = store.write(key(data), bytes.len() as u64).expect("room");
    writer.came_from(u64::from(data) + 1, data.is_multiple_of(2));
    writer.belongs_to(Owner::new(&b"owner".repeat(data as usize)));
    writer.push(bytes).expect("its bytes");
    writer.commit(if data == 1 { ObjectFlags::ARMED } else { ObjectFlags::NONE }).expect("durable");
}

/// An open store with its volume.
pub(crate) struct Stored {
    pub(crate) store: Store,
    pub(crate) volume: Volume,
}

impl Stored {
    pub(crate) fn open(directory: &Path) -> Self {
        let (store, _) = Store::open_directory(directory).expect("a store");
        store.set_space(SpaceId(1), SpaceLimits { bytes: 1 << 30, objects: 100 }).expect("a space");
        let config = VolumeConfig { segment_blocks: 64, ..VolumeConfig::default() };
        Self { store, volume: Volume::open_directory(directory, config).expect("a volume") }
    }

    /// Gives all objects and blocks this version.
    pub(crate) fn write(&self, version: u64) {
        for (data, size) in SIZES.into_iter().enumerate() {
            put(&self.store, data as u32, &content(version, data as u64, size));
        }
        for lba in BLOCKS {
            let write = Operation::Write { lba, data: content(version, lba, BLOCK_BYTES) };
            let label = Operation::SetLabel { lba, label: format!("label {version}").into_bytes() };
            self.volume.commit(Change { space: 1, operations: vec![write, label] }).expect("room");
        }
    }

    pub(crate) fn back_up(&self, directory: &Path, target: &Path) -> Result<BackupRecord, BackupError> {
        backup::create(Origin::Store(&self.store), Some(&self.volume), directory, target, BUDGET, &mut |_| true)
    }

    pub(crate) fn listing(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for object in self.store.spaces().into_iter().flat_map(|space| self.store.list(space)) {
            let bytes = self.store.read(object.clone()).pull_all().expect("whole");
            let (key, generation, origin) = (object.key(), object.generation(), object.origin());
            let sum = crc32c::crc32c(&bytes);
            lines.push(format!(
                "{key} {generation} {origin} {:?} {} {:?} {} {sum:08x}",
                object.flags(),
                object.computed(),
                object.owner(),
                bytes.len()
            ));
        }
        for space in self.store.spaces() {
            lines.push(format!("{space:?} {:?}", self.store.space(space)));
        }
        for space in self.volume.spaces() {
            for run in self.volume.states(space, 0, 1 << 50) {
                if run.state != ciphermill_blockspace::volume::BlockState::Absent {
                    let mut bytes = vec![0; run.blocks as usize * BLOCK_BYTES];
                    self.volume.read(space, run.lba, &mut bytes).expect("whole");
                    lines.push(format!("{space} {run:?} {:08x}", crc32c::crc32c(&bytes)));
                }
            }
            lines.push(format!("{space} {:?}", self.volume.labels(space)));
        }
        lines
    }
}

pub(crate) fn restore(backup: &Path, target: &Path, same_identity: bool) -> Result<RestoreReport, BackupError> {
    backup::restore(backup, target, same_identity, &mut |_| true)
}

/// Checks the rights of everything below a directory, which only its owner may have.
pub(crate) fn assert_private(directory: &Path) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("its mode").permissions().mode() & 0o777;
        if entry.file_type().expect("a type").is_dir() {
            assert_eq!(mode, 0o700, "{}", entry.path().display());
            assert_private(&entry.path());
        } else {
            assert_eq!(mode, 0o600, "{}", entry.path().display());
        }
    }
}
