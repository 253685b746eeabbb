//! Storage that lives as long as the process.

use crate::{Storage, StorageError};
use std::sync::{PoisonError, RwLock};

/// A [`Storage`] in memory, for devices that need not outlive their process, and for tests. It may have a capacity, so
/// that a full disk can be tried.
///
/// # Example
/// ```
/// use ciphermill_storage::{MemoryStorage, Storage};
///
/// let storage = MemoryStorage::new();
/// storage.write_at(0, b"content")?;
/// assert_eq!(storage.to_bytes(), b"content");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MemoryStorage {
    bytes: RwLock<Vec<u8>>,
    capacity: Option<u64>,
}

impl MemoryStorage {
    /// An empty storage bounded by the process's memory only.
    #[must_use]
    pub fn new() -> Self {
        Self { bytes: RwLock::new(Vec::new()), capacity: None }
    }

    /// An empty storage that can grow to `capacity` bytes.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{MemoryStorage, Storage, StorageError};
    ///
    /// let storage = MemoryStorage::with_capacity_limit(4);
    /// storage.write_at(0, b"full")?;
    /// assert!(matches!(storage.write_at(4, b"!"), Err(StorageError::NoSpace { offset: 4, len: 1 })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_capacity_limit(capacity: u64) -> Self {
        Self { bytes: RwLock::new(Vec::new()), capacity: Some(capacity) }
    }

    /// A storage that holds `bytes`.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{MemoryStorage, Storage};
    ///
    /// let storage = MemoryStorage::from_bytes(b"content".to_vec());
    /// assert_eq!(storage.len()?, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes: RwLock::new(bytes), capacity: None }
    }

    /// A copy of the content.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{MemoryStorage, Storage};
    ///
    /// let storage = MemoryStorage::from_bytes(b"content".to_vec());
    /// let before = storage.to_bytes();
    /// storage.write_at(0, b"CON")?;
    /// // The copy does not change with the storage.
    /// assert_eq!((before, storage.to_bytes()), (b"content".to_vec(), b"CONtent".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bytes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn grown(&self, offset: u64, len: u64) -> Result<usize, StorageError> {
        let no_space = StorageError::NoSpace { offset, len };
        let end = offset.checked_add(len).ok_or(no_space.clone())?;
        if self.capacity.is_some_and(|capacity| end > capacity) {
            return Err(no_space);
        }
        usize::try_from(end).ok().filter(|end| *end <= isize::MAX as usize).ok_or(no_space)
    }
}

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

impl Storage for MemoryStorage {
    fn len(&self) -> Result<u64, StorageError> {
        Ok(self.bytes.read().unwrap_or_else(PoisonError::into_inner).len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), StorageError> {
        let bytes = self.bytes.read().unwrap_or_else(PoisonError::into_inner);
        StorageError::check_range(offset, out.len(), bytes.len() as u64)?;
        let start = offset as usize;
        out.copy_from_slice(&bytes[start..start + out.len()]);
        Ok(())
    }

    fn try_read_at(&self, offset: u64, out: &mut [u8]) -> Result<bool, StorageError> {
        self.read_at(offset, out).map(|()| true)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        let end = self.grown(offset, bytes.len() as u64)?;
        let mut content = self.bytes.write().unwrap_or_else(PoisonError::into_inner);
        if content.len() < end {
            content.resize(end, 0);
        }
        content[end - bytes.len()..end].copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), StorageError> {
        let len = self.grown(len, 0)?;
        self.bytes.write().unwrap_or_else(PoisonError::into_inner).resize(len, 0);
        Ok(())
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn free_space(&self) -> Result<Option<u64>, StorageError> {
        let len = self.len()?;
        Ok(self.capacity.map(|capacity| capacity.saturating_sub(len)))
    }
}
