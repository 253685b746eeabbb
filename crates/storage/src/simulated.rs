//! A disk that loses power: unsynced writes are kept, lost, reordered or torn.

use crate::{Fill, Storage, StorageError};
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Smallest unit a disk writes whole; a torn write is torn at this granularity.
const SECTOR: usize = 512;

/// A fault to inject into a [`SimulatedDisk`].
///
/// # Example
/// ```
/// use ciphermill_storage::{Fault, SimulatedDisk, Storage, StorageError};
///
/// let disk = SimulatedDisk::new();
/// let file = disk.file("data");
/// disk.inject(Fault::FailAt(1));
/// file.write_at(0, b"operation 0")?;
/// assert!(matches!(file.sync(), Err(StorageError::Sync { .. })));
/// // The fault strikes once.
/// assert!(file.sync().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Writes that grow the files' total beyond this many bytes find no space.
    Capacity(u64),
    /// The operation with this index (counted over all files from 0, syncs and length changes included, reads not)
    /// fails once with an I/O error. A sync that fails so loses the changes it was to make durable.
    FailAt(u64),
    /// From the operation with this index on, everything fails, reads too: the power is gone.
    PowerLossAt(u64),
}

/// Several files on one simulated disk, sharing one count of operations.
///
/// Each file keeps the image of its last sync and the list of changes since. [`crash`](Self::crash) makes the disk that
/// a machine would find after losing power.
///
/// # Example
/// ```
/// use ciphermill_storage::{SimulatedDisk, Storage};
///
/// let disk = SimulatedDisk::new();
/// disk.file("one").write_at(0, b"1")?;
/// disk.file("two").sync()?;
/// // The files share one count.
/// assert_eq!(disk.operations(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct SimulatedDisk {
    state: Arc<Mutex<DiskState>>,
}

#[derive(Debug, Default)]
struct DiskState {
    files: BTreeMap<String, FileState>,
    operations: u64,
    faults: Vec<Fault>,
}

#[derive(Clone, Debug, Default)]
struct FileState {
    durable: Vec<u8>,
    current: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

impl Change {
    fn apply(&self, image: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => write_into(image, *offset, bytes),
            Self::SetLen(len) => image.resize(*len, 0),
        }
    }
}

fn write_into(image: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[offset..end].copy_from_slice(bytes);
}

/// SplitMix64: a crash must be repeatable from its seed alone.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

impl SimulatedDisk {
    /// An empty disk without faults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The file called `name`, created empty if it does not exist.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{SimulatedDisk, Storage};
    ///
    /// let disk = SimulatedDisk::new();
    /// disk.file("data").write_at(0, b"content")?;
    /// assert_eq!((disk.file("data").len()?, disk.file("other").len()?), (7, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn file(&self, name: &str) -> SimulatedStorage {
        self.lock().files.entry(name.to_owned()).or_default();
        SimulatedStorage { name: name.to_owned(), state: Arc::clone(&self.state) }
    }

    /// Adds a fault; faults stay until [`clear_faults`](Self::clear_faults).
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{Fault, SimulatedDisk, Storage, StorageError};
    ///
    /// let disk = SimulatedDisk::new();
    /// let file = disk.file("data");
    /// disk.inject(Fault::Capacity(4));
    /// assert!(matches!(file.write_at(0, b"12345"), Err(StorageError::NoSpace { .. })));
    /// assert_eq!(file.free_space()?, Some(4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn inject(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    /// Removes all faults.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{Fault, SimulatedDisk, Storage};
    ///
    /// let disk = SimulatedDisk::new();
    /// let file = disk.file("data");
    /// disk.inject(Fault::PowerLossAt(0));
    /// assert!(file.sync().is_err());
    /// disk.clear_faults();
    /// assert!(file.sync().is_ok());
    /// ```
    pub fn clear_faults(&self) {
        self.lock().faults.clear();
    }

    /// Number of changing operations so far: writes, length changes and syncs, over all files.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{SimulatedDisk, Storage};
    ///
    /// let disk = SimulatedDisk::new();
    /// let file = disk.file("data");
    /// file.write_at(0, b"content")?;
    /// file.sync()?;
    /// // Reads do not count.
    /// file.read_at(0, &mut [0; 7])?;
    /// assert_eq!(disk.operations(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// The disk after a power loss now: each change since its file's last sync is, by a die thrown from `seed`, kept,
    /// lost, or torn into sectors of which each is kept or lost; changes that survive may be reordered.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{SimulatedDisk, Storage};
    ///
    /// let disk = SimulatedDisk::new();
    /// disk.file("data").write_at(0, b"unsynced")?;
    /// // Some crashes lose the write, and some keep it.
    /// let lengths: Vec<_> = (0..200).filter_map(|seed| disk.crash(seed).file("data").len().ok()).collect();
    /// assert!(lengths.contains(&0) && lengths.contains(&8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn crash(&self, seed: u64) -> Self {
        let mut dice = Dice(seed);
        let state = self.lock();
        let files = state
            .files
            .iter()
            .map(|(name, file)| {
                let image = file.after_crash(&mut dice);
                (name.clone(), FileState { durable: image.clone(), current: image, pending: Vec::new() })
            })
            .collect();
        Self { state: Arc::new(Mutex::new(DiskState { files, operations: 0, faults: Vec::new() })) }
    }

    fn lock(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileState {
    fn after_crash(&self, dice: &mut Dice) -> Vec<u8> {
        let mut image = self.durable.clone();
        let mut order: Vec<usize> = (0..self.pending.len()).collect();
        if dice.below(2) == 0 {
            for i in (1..order.len()).rev() {
                order.swap(i, dice.below(i + 1));
            }
        }
        // A whole crash may be lucky (most kept) or unlucky (most lost); one fixed rate would hide either extreme.
        let (kept, torn) = (dice.below(101), dice.below(101));
        for index in order {
            let change = &self.pending[index];
            if dice.below(100) >= kept {
                continue;
            }
            match change {
                Change::Write { offset, bytes } if dice.below(100) < torn => tear(&mut image, *offset, bytes, dice),
                change => change.apply(&mut image),
            }
        }
        image
    }
}

fn tear(image: &mut Vec<u8>, offset: usize, bytes: &[u8], dice: &mut Dice) {
    let mut done = 0;
    while done < bytes.len() {
        let count = (SECTOR - (offset + done) % SECTOR).min(bytes.len() - done);
        if dice.below(2) == 0 {
            write_into(image, offset + done, &bytes[done..done + count]);
        }
        done += count;
    }
}

/// One file of a [`SimulatedDisk`].
///
/// # Example
/// ```
/// use ciphermill_storage::{SimulatedDisk, SimulatedStorage, Storage};
///
/// let disk = SimulatedDisk::new();
/// let file: SimulatedStorage = disk.file("data");
/// file.write_at(0, b"content")?;
/// assert_eq!(disk.file("data").len()?, file.len()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SimulatedStorage {
    name: String,
    state: Arc<Mutex<DiskState>>,
}

impl SimulatedStorage {
    fn lock(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Flips bit `bit` (counted from the lowest bit of byte 0), durably.
    ///
    /// # Example
    /// ```
    /// use ciphermill_storage::{SimulatedDisk, Storage};
    ///
    /// let file = SimulatedDisk::new().file("data");
    /// file.write_at(0, &[0, 0])?;
    /// file.flip_bit(9);
    /// let mut bytes = [0; 2];
    /// file.read_at(0, &mut bytes)?;
    /// assert_eq!(bytes, [0, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flip_bit(&self, bit: u64) {
        let mut state = self.lock();
        if let Some(file) = state.files.get_mut(&self.name) {
            let (byte, mask) = ((bit / 8) as usize, 1 << (bit % 8));
            for image in [&mut file.durable, &mut file.current] {
                if let Some(byte) = image.get_mut(byte) {
                    *byte ^= mask;
                }
            }
        }
    }
}

impl DiskState {
    /// Counts an operation and says how it fails, if it does. `grown` is the total size after it.
    fn step(&mut self, operation: &'static str, grown: u64) -> Result<(), StorageError> {
        let index = self.operations;
        self.operations += 1;
        let used: u64 = self.total();
        for fault in &self.faults {
            match *fault {
                Fault::FailAt(at) if at == index => return Err(failure(operation, "injected I/O error")),
                Fault::PowerLossAt(at) if index >= at => return Err(failure(operation, "the power is gone")),
                Fault::Capacity(limit) if grown > limit && grown > used => {
                    return Err(StorageError::NoSpace { offset: used, len: grown - used });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn total(&self) -> u64 {
        self.files.values().map(|file| file.current.len() as u64).sum()
    }

    fn power_fails_now(&self) -> bool {
        self.faults.contains(&Fault::PowerLossAt(self.operations))
    }

    fn powered(&self) -> Result<(), StorageError> {
        match self.faults.iter().any(|fault| matches!(fault, Fault::PowerLossAt(at) if self.operations > *at)) {
            true => Err(failure("read", "the power is gone")),
            false => Ok(()),
        }
    }
}

fn failure(operation: &'static str, text: &'static str) -> StorageError {
    let source = io::Error::other(text);
    match operation {
        "sync" => StorageError::Sync { source: Arc::new(source) },
        _ => StorageError::io(operation, source),
    }
}

impl Storage for SimulatedStorage {
    fn len(&self) -> Result<u64, StorageError> {
        Ok(self.lock().files.get(&self.name).map_or(0, |file| file.current.len() as u64))
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), StorageError> {
        let state = self.lock();
        state.powered()?;
        let current = state.files.get(&self.name).map_or(&[][..], |file| &file.current);
        StorageError::check_range(offset, out.len(), current.len() as u64)?;
        let start = offset as usize;
        out.copy_from_slice(&current[start..start + out.len()]);
        Ok(())
    }

    fn try_read_at(&self, offset: u64, out: &mut [u8]) -> Result<bool, StorageError> {
        self.read_at(offset, out).map(|()| true)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        let mut state = self.lock();
        let len = bytes.len() as u64;
        let end = offset.checked_add(len).ok_or(StorageError::NoSpace { offset, len })?;
        let size = state.files.get(&self.name).map_or(0, |file| file.current.len() as u64);
        let grown = state.total() + end.saturating_sub(size);
        let striking = state.power_fails_now();
        let outcome = state.step("write", grown);
        if outcome.is_ok() || striking {
            // The write during which the power goes may reach the disk, whole or torn.
            if let Some(file) = state.files.get_mut(&self.name) {
                write_into(&mut file.current, offset as usize, bytes);
                file.pending.push(Change::Write { offset: offset as usize, bytes: bytes.to_vec() });
            }
        }
        outcome
    }

    fn set_len(&self, len: u64) -> Result<(), StorageError> {
        let mut state = self.lock();
        let size = state.files.get(&self.name).map_or(0, |file| file.current.len() as u64);
        let grown = state.total() + len.saturating_sub(size);
        state.step("length change", grown)?;
        if let Some(file) = state.files.get_mut(&self.name) {
            file.current.resize(len as usize, 0);
            file.pending.push(Change::SetLen(len as usize));
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), StorageError> {
        let mut state = self.lock();
        let total = state.total();
        let power_fails = state.power_fails_now();
        let outcome = state.step("sync", total);
        if let Some(file) = state.files.get_mut(&self.name)
            && outcome.is_err()
            && !power_fails
        {
            // As systems do: what could not be written is dropped and not tried again, though reads still show it.
            file.pending.clear();
        }
        outcome?;
        if let Some(file) = state.files.get_mut(&self.name) {
            for change in std::mem::take(&mut file.pending) {
                change.apply(&mut file.durable);
            }
        }
        Ok(())
    }

    /// By a second file and a rename. The rename is one operation, durable when it returns.
    fn replace(&self, fill: Fill<'_>) -> Result<(), StorageError> {
        let name = format!("{}.new", self.name);
        let new = SimulatedDisk { state: Arc::clone(&self.state) }.file(&name);
        new.set_len(0)?;
        fill(&new)?;
        new.sync()?;
        let mut state = self.lock();
        let total = state.total();
        state.step("rename", total)?;
        if let Some(file) = state.files.remove(&name) {
            state.files.insert(self.name.clone(), file);
        }
        Ok(())
    }

    fn free_space(&self) -> Result<Option<u64>, StorageError> {
        let state = self.lock();
        let total = state.total();
        Ok(state
            .faults
            .iter()
            .filter_map(|fault| match fault {
                Fault::Capacity(limit) => Some(limit.saturating_sub(total)),
                _ => None,
            })
            .min())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_keeps_what_was_synced_and_may_lose_or_tear_the_rest() {
        let disk = SimulatedDisk::new();
        let file = disk.file("a");
        file.write_at(0, &[1; 2048]).expect("write");
        file.sync().expect("sync");
        file.write_at(2048, &[2; 2048]).expect("write");
        let (mut lost, mut whole, mut torn) = (0, 0, 0);
        for seed in 0..200 {
            let after = disk.crash(seed).file("a");
            let mut bytes = vec![0; after.len().expect("len") as usize];
            after.read_at(0, &mut bytes).expect("read");
            assert_eq!(bytes[..2048], [1; 2048], "synced bytes survive");
            match bytes[2048..].iter().filter(|byte| **byte == 2).count() {
                0 => lost += 1,
                2048 => whole += 1,
                count => {
                    assert_eq!(count % SECTOR, 0, "torn at sectors only");
                    torn += 1;
                }
            }
        }
        assert!(lost > 0 && whole > 0 && torn > 0, "lost {lost}, whole {whole}, torn {torn}");
    }

    #[test]
    fn a_replaced_file_has_the_former_content_or_the_new_one_wherever_the_power_goes() {
        let (mut former, mut new) = (0, 0);
        for cut in 1..8 {
            for seed in 0..20 {
                let disk = SimulatedDisk::new();
                disk.file("a").write_at(0, &[1; 1500]).expect("write");
                disk.file("a").sync().expect("sync");
                disk.inject(Fault::PowerLossAt(1 + cut));
                let outcome = disk.file("a").replace(&mut |file| {
                    file.write_at(0, &[2; 1000])?;
                    file.write_at(1000, &[3; 2000])
                });
                let after = disk.crash(seed).file("a");
                let mut bytes = vec![0; after.len().expect("len") as usize];
                after.read_at(0, &mut bytes).expect("read");
                let replaced = bytes == [vec![2; 1000], vec![3; 2000]].concat();
                assert!(replaced || bytes == [1; 1500], "cut {cut}, seed {seed}");
                assert_eq!(replaced, outcome.is_ok(), "cut {cut}, seed {seed}");
                *if replaced { &mut new } else { &mut former } += 1;
            }
        }
        assert!(former > 0 && new > 0, "{former} former, {new} new");
    }

    #[test]
    fn faults_strike_where_they_were_put() {
        let disk = SimulatedDisk::new();
        let file = disk.file("a");
        disk.inject(Fault::FailAt(1));
        disk.inject(Fault::Capacity(1000));
        file.write_at(0, &[1; 10]).expect("operation 0");
        assert!(matches!(file.sync(), Err(StorageError::Sync { .. })), "operation 1");
        file.sync().expect("operation 2");
        assert!(matches!(file.write_at(999, &[1; 2]), Err(StorageError::NoSpace { .. })));
        assert_eq!(file.free_space().expect("free"), Some(990));
        disk.inject(Fault::PowerLossAt(4));
        assert!(file.set_len(5).is_err() && file.read_at(0, &mut [0]).is_err());
    }
}
