//! A scratch copy of a storage: reads fall through, writes stay in memory.

use crate::{Storage, StorageError};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

const PAGE: u64 = 4096;

/// Shows a [`Storage`] as it is and keeps every change to itself.
///
/// Opening a database may repair it, which writes. A store first opens its table over an overlay, so that a damaged store
/// is detected before a byte of it has changed.
///
/// # Example
/// ```
/// use ciphermill_storage::{MemoryStorage, OverlayStorage, Storage};
/// use std::sync::Arc;
///
/// let base = Arc::new(MemoryStorage::from_bytes(b"content".to_vec()));
/// let overlay = OverlayStorage::new(base.clone())?;
/// overlay.write_at(0, b"CON")?;
/// let mut seen = [0; 7];
/// overlay.read_at(0, &mut seen)?;
/// assert_eq!((&seen, base.to_bytes()), (b"CONtent", b"content".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OverlayStorage {
    base: Arc<dyn Storage>,
    state: Mutex<Overlay>,
}

#[derive(Debug)]
struct Overlay {
    len: u64,
    /// Bytes of the base below this offset show through where no page covers them; a cut hides the bytes behind it.
    visible: u64,
    pages: HashMap<u64, Vec<u8>>,
}

impl OverlayStorage {
    /// Lays an empty overlay over `base`, which must not change meanwhile.
    ///
    /// # Errors
    /// As [`Storage::len`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{MemoryStorage, OverlayStorage, Storage};
    /// use std::sync::Arc;
    ///
    /// let base = Arc::new(MemoryStorage::from_bytes(b"content".to_vec()));
    /// let overlay = OverlayStorage::new(base.clone())?;
    /// overlay.set_len(0)?;
    /// assert_eq!((overlay.len()?, base.len()?), (0, 7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(base: Arc<dyn Storage>) -> Result<Self, StorageError> {
        let len = base.len()?;
        Ok(Self { base, state: Mutex::new(Overlay { len, visible: len, pages: HashMap::new() }) })
    }

    fn lock(&self) -> MutexGuard<'_, Overlay> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn base_page(&self, page: u64, visible: u64) -> Result<Vec<u8>, StorageError> {
        let mut bytes = vec![0; PAGE as usize];
        let start = page * PAGE;
        let shown = visible.saturating_sub(start).min(PAGE) as usize;
        if shown > 0 {
            self.base.read_at(start, &mut bytes[..shown])?;
        }
        Ok(bytes)
    }
}

/// Splits a byte range into (page, offset in page, offset in range, length) pieces.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        (done < len).then(|| {
            let at = offset + done as u64;
            let within = (at % PAGE) as usize;
            let count = (PAGE as usize - within).min(len - done);
            let piece = (at / PAGE, within, done, count);
            done += count;
            piece
        })
    })
}

impl Storage for OverlayStorage {
    fn len(&self) -> Result<u64, StorageError> {
        Ok(self.lock().len)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), StorageError> {
        let state = self.lock();
        StorageError::check_range(offset, out.len(), state.len)?;
        for (page, within, done, count) in pieces(offset, out.len()) {
            let target = &mut out[done..done + count];
            match state.pages.get(&page) {
                Some(bytes) => target.copy_from_slice(&bytes[within..within + count]),
                None => target.copy_from_slice(&self.base_page(page, state.visible)?[within..within + count]),
            }
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        let len = bytes.len() as u64;
        let end = offset.checked_add(len).ok_or(StorageError::NoSpace { offset, len })?;
        let mut state = self.lock();
        for (page, within, done, count) in pieces(offset, bytes.len()) {
            if !state.pages.contains_key(&page) {
                let fresh = self.base_page(page, state.visible)?;
                state.pages.insert(page, fresh);
            }
            if let Some(target) = state.pages.get_mut(&page) {
                target[within..within + count].copy_from_slice(&bytes[done..done + count]);
            }
        }
        state.len = state.len.max(end);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), StorageError> {
        let mut state = self.lock();
        if len < state.len {
            state.visible = state.visible.min(len);
            state.pages.retain(|page, _| page * PAGE < len);
            if let Some(last) = state.pages.get_mut(&(len / PAGE)) {
                last[(len % PAGE) as usize..].fill(0);
            }
        }
        state.len = len;
        Ok(())
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn free_space(&self) -> Result<Option<u64>, StorageError> {
        self.base.free_space()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStorage;

    #[test]
    fn changes_stay_in_the_overlay() {
        let base = Arc::new(MemoryStorage::from_bytes((0..10_000).map(|i| (i % 251) as u8).collect()));
        let before = base.to_bytes();
        let overlay = OverlayStorage::new(base.clone()).expect("overlay");
        overlay.write_at(4090, &[255; 20]).expect("write");
        overlay.set_len(5000).expect("cut");
        overlay.set_len(9000).expect("grow");
        overlay.write_at(8995, &[7; 10]).expect("extend");
        let mut seen = vec![0; 9005];
        overlay.read_at(0, &mut seen).expect("read");
        assert_eq!(base.to_bytes(), before);
        assert_eq!(seen[..4090], before[..4090]);
        assert_eq!(seen[4090..4110], [255; 20]);
        assert_eq!(seen[4110..5000], before[4110..5000]);
        assert!(seen[5000..8995].iter().all(|byte| *byte == 0), "what a cut removed must not come back");
        assert_eq!(seen[8995..], [7; 10]);
        assert!(matches!(overlay.read_at(9000, &mut [0; 6]), Err(StorageError::OutOfRange { size: 9005, .. })));
    }
}
