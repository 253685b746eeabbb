//! Main memory for paged registers: frames, a page table, and a swap area on storage.
//!
//! As in section 4.3 of the NVMe paper, a register has a range of 38-bit virtual addresses (26-bit page number, 12-bit
//! offset). The page table holds a flag and a physical address for each page: a frame of main memory or a slot of the swap
//! area. When no frame is free, the clock algorithm picks the one to page out.

mod address;
mod pager;
mod table;

use ciphermill_storage::{Storage, StorageError};
use pager::Pager;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

pub use address::{PAGE_BYTES, PageNumber, VIRTUAL_PAGES, VirtualAddress};
pub use table::VrTable;

/// Errors of keeping or reading a register.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// One instruction needs more main memory than there is.
    #[error(
        "one instruction needs {needed} bytes of main memory for its registers, there are {capacity}; enlarge main memory"
    )]
    TooSmall {
        /// Bytes that must be in main memory at once, in whole pages.
        needed: u64,
        /// Bytes of main memory.
        capacity: u64,
    },
    /// No run of virtual pages is long enough.
    #[error(
        "no {needed} consecutive pages of virtual addresses are free ({free} pages are free in all); use fewer or smaller registers"
    )]
    AddressSpaceExhausted {
        /// Pages needed.
        needed: u64,
        /// Pages free, not all in one run.
        free: u64,
    },
    /// The swap area has reached its limit.
    #[error("the swap area is full ({capacity} bytes); enlarge it or main memory")]
    SwapFull {
        /// Its limit in bytes.
        capacity: u64,
    },
    /// The registers of one space have as many bytes as they may have together.
    #[error(
        "the registers of the space's programs and objects would have {needed} bytes in main memory and swap together, they \
         may have {limit}; use fewer or smaller registers, or enlarge the space's part of the swap area"
    )]
    SpaceFull {
        /// Bytes needed, in whole pages.
        needed: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The medium under the swap area failed.
    #[error("swap area: {0}")]
    Swap(#[from] StorageError),
    /// A page came back from the swap area changed.
    #[error("page {page} came back damaged from slot {slot} of the swap area")]
    DamagedPage {
        /// Its number.
        page: u64,
        /// The slot.
        slot: u64,
    },
}

/// Counters of the memory.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_device::memory::MemoryUsage;
/// let memory = Memory::new(4 * 4096, StoreFiles::in_memory().swap, 1 << 20)?;
/// let _register = memory.store(&[1; 5000])?;
/// let MemoryUsage { frames, pages, swap_slots, .. } = memory.usage();
/// assert_eq!((frames, pages, swap_slots), (4, 2, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Frames of main memory.
    pub frames: u64,
    /// Frames in use.
    pub used_frames: u64,
    /// Virtual pages in use.
    pub pages: u64,
    /// Slots of the swap area in use.
    pub swap_slots: u64,
    /// Pages copied from the swap area into a frame, so far.
    pub page_ins: u64,
    /// Pages copied from a frame into the swap area, so far.
    pub page_outs: u64,
}

/// Bounded memory for registers. Cheap to clone; all clones are one memory.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// // One page of main memory; every further register is paged to the swap area.
/// let memory = Memory::new(4096, StoreFiles::in_memory().swap, 1 << 20)?;
/// let registers = [memory.store(b"first")?, memory.store(b"second")?];
/// let mut bytes = Vec::new();
/// registers[0].read_into(&mut bytes)?;
/// assert_eq!(bytes, b"first");
/// assert!(memory.usage().page_ins > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Memory {
    /// One lock for all: a page copy takes about 100 ns, and a page-in has to keep others from the same frame anyway.
    pager: Arc<Mutex<Pager>>,
    frames: u64,
    quotas: Arc<Quotas>,
}

/// The pages of registers by their owners.
#[derive(Debug)]
struct Quotas {
    /// Pages that one owner may have.
    most: u64,
    used: Mutex<HashMap<u32, u64>>,
}

impl Quotas {
    fn used(&self) -> MutexGuard<'_, HashMap<u32, u64>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(self: &Arc<Self>, owner: u32, pages: u64) -> Result<Quota, MemoryError> {
        let mut table = self.used();
        let used = table.entry(owner).or_default();
        let needed = used.saturating_add(pages);
        if needed > self.most {
            return Err(MemoryError::SpaceFull {
                needed: needed.saturating_mul(PAGE_BYTES),
                limit: self.most.saturating_mul(PAGE_BYTES),
            });
        }
        *used = needed;
        Ok(Quota { quotas: Arc::clone(self), owner, pages })
    }
}

/// Pages that count for an owner; dropped, they do not any more.
#[derive(Debug)]
struct Quota {
    quotas: Arc<Quotas>,
    owner: u32,
    pages: u64,
}

impl Drop for Quota {
    fn drop(&mut self) {
        let mut table = self.quotas.used();
        let left = table.get(&self.owner).map_or(0, |used| used.saturating_sub(self.pages));
        match left {
            0 => drop(table.remove(&self.owner)),
            left => drop(table.insert(self.owner, left)),
        }
    }
}

impl Memory {
    /// A memory of `capacity` bytes (whole pages; the rest is unused) that pages to at most `swap_capacity` bytes of
    /// `swap`. The content of `swap` is lost.
    ///
    /// # Errors
    /// [`MemoryError::TooSmall`] when the capacity is not even one page, [`MemoryError::Swap`] when `swap` cannot be
    /// emptied.
    pub fn new(capacity: u64, swap: Arc<dyn Storage>, swap_capacity: u64) -> Result<Self, MemoryError> {
        let frames = capacity / PAGE_BYTES;
        if frames == 0 {
            return Err(MemoryError::TooSmall { needed: PAGE_BYTES, capacity });
        }
        swap.set_len(0)?;
        let pager = Pager::new(frames, swap, swap_capacity / PAGE_BYTES);
        let quotas = Quotas { most: u64::MAX, used: Mutex::default() };
        Ok(Self { pager: Arc::new(Mutex::new(pager)), frames, quotas: Arc::new(quotas) })
    }

    /// The same with a limit for the registers of each owner, in bytes of main memory and the swap area together.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let memory = Memory::new(4 * 4096, StoreFiles::in_memory().swap, 1 << 20)?.with_limit_of_owners(8 * 4096);
    /// let register = memory.store_for(1, &[0; 6 * 4096])?;
    /// assert!(matches!(memory.store_for(1, &[0; 3 * 4096]), Err(MemoryError::SpaceFull { .. })));
    /// assert!(memory.store_for(2, &[0; 3 * 4096]).is_ok());
    /// drop(register);
    /// assert!(memory.store_for(1, &[0; 3 * 4096]).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_limit_of_owners(self, bytes: u64) -> Self {
        Self { quotas: Arc::new(Quotas { most: bytes / PAGE_BYTES, used: Mutex::default() }), ..self }
    }

    fn lock(&self) -> MutexGuard<'_, Pager> {
        self.pager.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps `bytes` in a new register.
    ///
    /// # Errors
    /// Any [`MemoryError`]; then nothing is kept.
    pub fn store(&self, bytes: &[u8]) -> Result<Register, MemoryError> {
        self.keep(bytes, None)
    }

    /// Keeps `bytes` in a new register of an owner, within its limit.
    ///
    /// # Errors
    /// [`MemoryError::SpaceFull`], or as [`store`](Self::store).
    pub fn store_for(&self, owner: u32, bytes: &[u8]) -> Result<Register, MemoryError> {
        let quota = self.quotas.take(owner, (bytes.len() as u64).div_ceil(PAGE_BYTES))?;
        self.keep(bytes, Some(quota))
    }

    fn keep(&self, bytes: &[u8], quota: Option<Quota>) -> Result<Register, MemoryError> {
        let pages = (bytes.len() as u64).div_ceil(PAGE_BYTES);
        let start = self.lock().reserve(pages)?;
        let mut register = Register { memory: self.clone(), start, pages, size: bytes.len(), _quota: quota };
        register.overwrite(bytes)?;
        Ok(register)
    }

    /// Checks that registers of these sizes (in bytes) fit into main memory together.
    ///
    /// # Errors
    /// [`MemoryError::TooSmall`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// // Four pages of main memory. Each register takes whole pages.
    /// let memory = Memory::new(4 * 4096, StoreFiles::in_memory().swap, 1 << 20)?;
    /// assert!(memory.check_working_set([5000, 4096]).is_ok());
    /// assert!(matches!(memory.check_working_set([5000, 5000, 1]), Err(MemoryError::TooSmall { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_working_set(&self, sizes: impl IntoIterator<Item = u64>) -> Result<(), MemoryError> {
        let pages = sizes.into_iter().fold(0u64, |sum, size| sum.saturating_add(size.div_ceil(PAGE_BYTES)));
        if pages > self.frames {
            let (needed, capacity) = (pages.saturating_mul(PAGE_BYTES), self.frames * PAGE_BYTES);
            return Err(MemoryError::TooSmall { needed, capacity });
        }
        Ok(())
    }

    /// The counters.
    #[must_use]
    pub fn usage(&self) -> MemoryUsage {
        self.lock().usage()
    }
}

/// A register in paged memory: a range of virtual addresses. Its pages are free again when it is dropped.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let memory = Memory::new(1 << 20, StoreFiles::in_memory().swap, 1 << 20)?;
/// let mut register = memory.store(&[1; 5000])?;
/// register.overwrite(&[2; 5000])?;
/// let mut bytes = Vec::new();
/// register.read_into(&mut bytes)?;
/// assert_eq!(bytes, [2; 5000]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Register {
    memory: Memory,
    start: PageNumber,
    pages: u64,
    size: usize,
    _quota: Option<Quota>,
}

impl Register {
    /// Its first virtual address.
    #[must_use]
    pub fn address(&self) -> VirtualAddress {
        self.start.address()
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Replaces `out` by the content; pages that are in the swap area are paged in.
    ///
    /// # Errors
    /// [`MemoryError::SwapFull`], [`MemoryError::Swap`], [`MemoryError::DamagedPage`].
    pub fn read_into(&self, out: &mut Vec<u8>) -> Result<(), MemoryError> {
        out.clear();
        let mut pager = self.memory.lock();
        for page in self.start.run(self.pages) {
            let missing = self.size - out.len();
            let frame = pager.resident(page)?;
            out.extend_from_slice(&frame[..missing.min(PAGE_BYTES as usize)]);
        }
        Ok(())
    }

    /// Replaces the content by as many bytes.
    ///
    /// # Errors
    /// As [`read_into`](Self::read_into); then the content is neither old nor new, and the register must be dropped.
    ///
    /// # Panics
    /// If `bytes` has another length than the register.
    pub fn overwrite(&mut self, bytes: &[u8]) -> Result<(), MemoryError> {
        assert_eq!(bytes.len(), self.size, "a register keeps its size");
        let mut pager = self.memory.lock();
        for (page, content) in self.start.run(self.pages).zip(bytes.chunks(PAGE_BYTES as usize)) {
            let frame = pager.fresh(page)?;
            frame[..content.len()].copy_from_slice(content);
        }
        Ok(())
    }
}

impl Drop for Register {
    fn drop(&mut self) {
        self.memory.lock().release(self.start, self.pages);
    }
}
