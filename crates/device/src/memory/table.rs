//! The VR table: the stored objects with a register in memory.

use super::Register;
use crate::store::{ObjectKey, SpaceId};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Maps objects to the registers that hold their content, that is to virtual addresses and sizes.
///
/// A register belongs to one version of its object, named by the generation. It never changes, so runs can share it.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_device::memory::VrTable;
/// let memory = Memory::new(1 << 20, StoreFiles::in_memory().swap, 1 << 20)?;
/// let (table, key) = (VrTable::default(), ObjectKey { space: SpaceId::EMBEDDED, id: x });
/// table.insert(key, 7, Arc::new(memory.store(b"version 7")?));
/// // A register belongs to one version of its object.
/// assert!(table.get(key, 7).is_some() && table.get(key, 8).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct VrTable {
    entries: Mutex<HashMap<ObjectKey, (u64, Arc<Register>)>>,
}

impl VrTable {
    fn lock(&self) -> MutexGuard<'_, HashMap<ObjectKey, (u64, Arc<Register>)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The register of this version of an object.
    #[must_use]
    pub fn get(&self, key: ObjectKey, generation: u64) -> Option<Arc<Register>> {
        self.lock().get(&key).filter(|(held, _)| *held == generation).map(|(_, register)| Arc::clone(register))
    }

    /// Enters the register of a version, unless a newer one exists.
    pub fn insert(&self, key: ObjectKey, generation: u64, register: Arc<Register>) {
        let mut entries = self.lock();
        let replaced = match entries.get(&key) {
            Some((held, _)) if *held > generation => Some((generation, register)),
            _ => entries.insert(key, (generation, register)),
        };
        // Dropping a register takes the memory's lock; never while holding this one.
        drop(entries);
        drop(replaced);
    }

    /// Forgets an object.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_device::memory::VrTable;
    /// let memory = Memory::new(1 << 20, StoreFiles::in_memory().swap, 1 << 20)?;
    /// let (table, key) = (VrTable::default(), ObjectKey { space: SpaceId::EMBEDDED, id: x });
    /// table.insert(key, 7, Arc::new(memory.store(b"version 7")?));
    /// table.remove(key);
    /// assert_eq!((table.len(), memory.usage().pages), (0, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&self, key: ObjectKey) {
        let removed = self.lock().remove(&key);
        drop(removed);
    }

    /// Forgets every register that no run is using, to make room: their objects are in the store. Returns how many.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_device::memory::VrTable;
    /// let memory = Memory::new(1 << 20, StoreFiles::in_memory().swap, 1 << 20)?;
    /// let (table, key) = (VrTable::default(), ObjectKey { space: SpaceId::EMBEDDED, id: x });
    /// table.insert(key, 7, Arc::new(memory.store(b"version 7")?));
    /// let used = table.get(key, 7);
    /// assert_eq!(table.release_unused(), 0);
    /// drop(used);
    /// assert_eq!(table.release_unused(), 1);
    /// assert_eq!(memory.usage().pages, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release_unused(&self) -> usize {
        let unused: Vec<_> = self.lock().extract_if(|_, (_, register)| Arc::strong_count(register) == 1).collect();
        unused.len()
    }

    /// The same for the registers of one space.
    pub fn release_unused_of(&self, space: SpaceId) -> usize {
        let unused = |key: &ObjectKey, register: &Arc<Register>| key.space == space && Arc::strong_count(register) == 1;
        let unused: Vec<_> = self.lock().extract_if(|key, (_, register)| unused(key, register)).collect();
        unused.len()
    }

    /// Number of registers in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }
}
