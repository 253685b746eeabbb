//! The swap file: a superblock that says to which store it belongs, then the pages of the swap area.
//!
//! The pages are worthless after a restart, so opening cuts them off. It first makes sure that they are pages: a file of
//! another store, or of anything else, is refused and stays as it is.

use super::{
    StoreError,
    format::{BLOCK_BYTES, SWAP_SUPERBLOCK},
};
use ciphermill_storage::{Storage, StorageError, Superblock};
use std::sync::Arc;

/// Opens the swap area of a store. A store of format version 1 has pages without a superblock; with `earlier`, they are
/// replaced.
///
/// # Errors
/// [`StoreError::ForeignSwap`] and those of the medium.
pub(super) fn open(file: Arc<dyn Storage>, store_id: [u8; 16], earlier: bool) -> Result<Arc<dyn Storage>, StoreError> {
    match begins(&*file)? {
        Some(block) => {
            let owner = SWAP_SUPERBLOCK.decode(&block).ok().map(|superblock| superblock.id);
            match (owner, earlier) {
                (Some(id), _) if id == store_id => file.set_len(BLOCK_BYTES)?,
                // Pages of version 1 may be any bytes, but they do not name another store.
                (None, true) => mark(&*file, store_id)?,
                _ => return Err(StoreError::ForeignSwap),
            }
        }
        None => mark(&*file, store_id)?,
    }
    Ok(Arc::new(SwapArea { file }))
}

/// The first block; `None` where nothing was written, or a crash interrupted the first write.
fn begins(file: &dyn Storage) -> Result<Option<Vec<u8>>, StorageError> {
    let len = file.len()?;
    let mut block = vec![0; len.min(BLOCK_BYTES) as usize];
    file.read_at(0, &mut block)?;
    let unwritten = len <= BLOCK_BYTES && block.iter().all(|byte| *byte == 0);
    Ok((!unwritten).then_some(block))
}

/// Durable before any page is written: the file would be refused otherwise after a crash.
fn mark(file: &dyn Storage, store_id: [u8; 16]) -> Result<(), StorageError> {
    file.set_len(0)?;
    file.write_at(0, &SWAP_SUPERBLOCK.encode(Superblock { ready: true, id: store_id }))?;
    file.sync()
}

/// The file behind its superblock.
#[derive(Debug)]
struct SwapArea {
    file: Arc<dyn Storage>,
}

impl Storage for SwapArea {
    fn len(&self) -> Result<u64, StorageError> {
        Ok(self.file.len()?.saturating_sub(BLOCK_BYTES))
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), StorageError> {
        self.file.read_at(offset.saturating_add(BLOCK_BYTES), out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        self.file.write_at(offset.saturating_add(BLOCK_BYTES), bytes)
    }

    fn set_len(&self, len: u64) -> Result<(), StorageError> {
        self.file.set_len(len.saturating_add(BLOCK_BYTES))
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.file.sync()
    }

    fn free_space(&self) -> Result<Option<u64>, StorageError> {
        self.file.free_space()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphermill_storage::{Fault, MemoryStorage, SimulatedDisk};

    const ID: [u8; 16] = [7; 16];

    #[test]
    fn pages_of_this_store_go_and_others_are_refused_unchanged() {
        let file = Arc::new(MemoryStorage::new());
        let area = open(file.clone(), ID, false).expect("a new one");
        area.write_at(4096, b"page").expect("room");
        assert_eq!((area.len().expect("len"), file.len().expect("len")), (4100, 8196));
        let again = open(file.clone(), ID, false).expect("its own");
        assert_eq!((again.len().expect("len"), file.len().expect("len")), (0, 4096));
        let before = file.to_bytes();
        assert!(matches!(open(file.clone(), [8; 16], false), Err(StoreError::ForeignSwap)));
        assert!(matches!(open(file.clone(), [8; 16], true), Err(StoreError::ForeignSwap)), "it names another store");
        assert_eq!(file.to_bytes(), before);
        for bytes in [b"a letter".to_vec(), vec![0; 5000], vec![1; 4096]] {
            let foreign = Arc::new(MemoryStorage::from_bytes(bytes.clone()));
            assert!(matches!(open(foreign.clone(), ID, false), Err(StoreError::ForeignSwap)));
            assert_eq!(foreign.to_bytes(), bytes);
            open(foreign.clone(), ID, true).expect("of a store of version 1");
            assert_eq!(foreign.to_bytes(), before);
        }
    }

    #[test]
    fn a_power_cut_leaves_a_swap_file_that_opens() {
        for cut in 0..12 {
            for seed in 0..8 {
                let disk = SimulatedDisk::new();
                disk.inject(Fault::PowerLossAt(cut));
                let work = || -> Result<(), StoreError> {
                    let area = open(Arc::new(disk.file("swap")), ID, false)?;
                    for page in [3, 0, 1] {
                        area.write_at(page * BLOCK_BYTES, &[9; BLOCK_BYTES as usize])?;
                    }
                    Ok(())
                };
                let _ = work();
                let after = disk.crash(seed);
                open(Arc::new(after.file("swap")), ID, false).unwrap_or_else(|error| panic!("{cut}, {seed}: {error}"));
            }
        }
    }
}
