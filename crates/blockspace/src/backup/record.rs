//! The record of a backup, a JSON file.

use super::BackupError;
use crate::volume::VolumeSummary;
use ciphermill_device::store::StoreSummary;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

/// The file name of the record.
pub const RECORD_FILE: &str = "backup.json";
/// Version of the record that this build reads and writes.
const VERSION: u16 = 1;
/// No record is longer.
const MAX_BYTES: u64 = 64 << 20;

/// The content of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackupRecord {
    /// Version of the record.
    pub version: u16,
    /// Whether the backup is whole.
    pub complete: bool,
    /// Identity of the store, in hexadecimal digits.
    pub store: String,
    /// When its snapshot was taken, in seconds since 1970.
    pub taken: u64,
    /// Number of objects.
    pub objects: u64,
    /// Sum of their sizes in bytes.
    pub object_bytes: u64,
    /// Checksum over all objects and spaces.
    pub object_crc32c: u32,
    /// Mapped blocks of namespaces.
    pub blocks: u64,
    /// Labels of namespaces.
    pub labels: u64,
    /// Checksum over all blocks and labels.
    pub block_crc32c: u32,
    /// Whether the store has a volume, which it has from its first `serve` on.
    pub volume: bool,
    /// Damaged objects and blocks, which are not in the backup.
    pub damaged: Vec<String>,
    /// Bytes of objects that this backup wrote; the others were there from an earlier one.
    pub written_bytes: u64,
    /// Blocks that this backup wrote.
    pub written_blocks: u64,
    /// CRC-32C of the record with 0 in this place.
    crc32c: u32,
}

/// The field that the records of all versions have.
#[derive(Deserialize)]
struct Version {
    version: u16,
}

impl BackupRecord {
    /// The record of a backup that has begun.
    pub(super) fn begun(store: [u8; 16], taken: u64) -> Self {
        Self {
            version: VERSION,
            complete: false,
            store: hex(store),
            taken,
            objects: 0,
            object_bytes: 0,
            object_crc32c: 0,
            blocks: 0,
            labels: 0,
            block_crc32c: 0,
            volume: false,
            damaged: Vec::new(),
            written_bytes: 0,
            written_blocks: 0,
            crc32c: 0,
        }
    }

    pub(super) fn describe(&mut self, store: StoreSummary, volume: Option<VolumeSummary>) {
        (self.objects, self.object_bytes, self.object_crc32c) = (store.objects, store.bytes, store.checksum);
        self.volume = volume.is_some();
        let volume = volume.unwrap_or_default();
        (self.blocks, self.labels, self.block_crc32c) = (volume.blocks, volume.labels, volume.checksum);
    }

    /// Whether the record describes this content.
    pub(super) fn fits(&self, store: StoreSummary, volume: Option<VolumeSummary>) -> bool {
        let mut other = self.clone();
        other.describe(store, volume);
        other == *self
    }

    pub(super) fn is_of(&self, store: [u8; 16]) -> bool {
        self.store == hex(store)
    }

    fn checksum(&self) -> u32 {
        let content = Self { crc32c: 0, ..self.clone() };
        crc32c::crc32c(&serde_json::to_vec(&content).unwrap_or_default())
    }

    /// Reads the record of a backup, whole or not.
    ///
    /// # Errors
    /// [`BackupError::NoBackup`], [`BackupError::Newer`], [`BackupError::Record`], [`BackupError::File`].
    pub fn load(directory: &Path) -> Result<Self, BackupError> {
        let path = directory.join(RECORD_FILE);
        let damaged = |what: String| BackupError::Record { path: directory.to_owned(), what };
        let len = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(BackupError::NoBackup { path: directory.to_owned() });
            }
            found => found.map_err(BackupError::file("read", &path))?.len(),
        };
        if len > MAX_BYTES {
            return Err(damaged(format!("{len} bytes, at most {MAX_BYTES}")));
        }
        let bytes = fs::read(&path).map_err(BackupError::file("read", &path))?;
        // First: a later version may have other fields.
        let Version { version } = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if version > VERSION {
            return Err(BackupError::Newer { path: directory.to_owned(), given: version, supported: VERSION });
        }
        let record: Self = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if record.version != VERSION {
            return Err(damaged(format!("version {version} does not exist")));
        }
        match record.crc32c == record.checksum() {
            true => Ok(record),
            false => Err(damaged("its checksum does not fit its content".to_owned())),
        }
    }

    /// Replaces the record of a directory, whole or not at all; durable when this returns.
    pub(super) fn save(&mut self, directory: &Path) -> Result<(), BackupError> {
        self.crc32c = self.checksum();
        let path = directory.join(RECORD_FILE);
        let write = || -> io::Result<()> {
            let mut draft = tempfile::Builder::new().prefix(".backup-").tempfile_in(directory)?;
            serde_json::to_writer_pretty(&mut draft, self)?;
            draft.write_all(b"\n")?;
            draft.as_file().sync_all()?;
            draft.persist(&path).map_err(|error| error.error)?;
            File::open(directory)?.sync_all()
        };
        write().map_err(BackupError::file("write", &path))
    }
}

fn hex(id: [u8; 16]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The identity that the digits spell.
pub(super) fn identity(hex: &str) -> Option<[u8; 16]> {
    let bytes = (0..32).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok());
    bytes.collect::<Option<Vec<_>>>()?.try_into().ok().filter(|_| hex.len() == 32)
}
