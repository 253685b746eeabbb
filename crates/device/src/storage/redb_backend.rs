//! `redb`'s pages over a [`Storage`].

use super::{Storage, StorageError};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Lets `redb` keep its pages in a [`Storage`].
///
/// It takes no lock of its own: the store's lock file already keeps a second process out.
#[derive(Debug)]
pub struct RedbBackend {
    storage: Arc<dyn Storage>,
    sync_failed: Arc<AtomicBool>,
}

impl RedbBackend {
    /// Wraps `storage`; `sync_failed` is set when a sync fails, after which nobody knows what is durable.
    #[must_use]
    pub fn new(storage: Arc<dyn Storage>, sync_failed: Arc<AtomicBool>) -> Self {
        Self { storage, sync_failed }
    }
}

impl redb::StorageBackend for RedbBackend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.storage.len()?)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        Ok(self.storage.read_at(offset, out)?)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Ok(self.storage.set_len(len)?)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.storage.sync().inspect_err(|_: &StorageError| self.sync_failed.store(true, Ordering::SeqCst))?;
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        Ok(self.storage.write_at(offset, data)?)
    }
}
