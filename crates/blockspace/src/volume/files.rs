//! The files of a volume.

use super::VolumeError;
use ciphermill_storage::{FileStorage, MemoryStorage, SimulatedDisk, Storage};
use std::{path::Path, sync::Arc};

/// The two files of a volume.
#[derive(Clone, Debug)]
pub struct VolumeFiles {
    /// Superblock and segments.
    pub blocks: Arc<dyn Storage>,
    /// The `redb` database that keeps the map.
    pub map: Arc<dyn Storage>,
}

impl VolumeFiles {
    /// The files `blocks` and `blocks.redb` of a directory. Takes no lock; [`Volume::open_directory`] does.
    ///
    /// # Errors
    /// [`VolumeError::Storage`] when the operating system refuses one of them.
    ///
    /// [`Volume::open_directory`]: super::Volume::open_directory
    pub fn in_directory(directory: &Path) -> Result<Self, VolumeError> {
        let open = |name: &str| FileStorage::open(&directory.join(name));
        Ok(Self { blocks: Arc::new(open("blocks")?), map: Arc::new(open("blocks.redb")?) })
    }

    /// Files that live as long as the process.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { blocks: Arc::new(MemoryStorage::new()), map: Arc::new(MemoryStorage::new()) }
    }

    /// Files on a simulated disk.
    #[must_use]
    pub fn on_simulated_disk(disk: &SimulatedDisk) -> Self {
        Self { blocks: Arc::new(disk.file("blocks")), map: Arc::new(disk.file("blocks.redb")) }
    }
}
