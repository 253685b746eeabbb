//! The configuration of a device.

use super::machine;
use crate::{
    error::DeviceError,
    memory::PAGE_BYTES,
    store::{SpaceId, StoreFiles},
};
use ciphermill_program::{Limits, MAX_INSTRUCTIONS};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// Bytes of a program's body before its instructions, and of each instruction; `docs/program.md` draws them.
const PROGRAM_PREFIX_BYTES: u64 = 8;
const INSTRUCTION_BYTES: u64 = 24;

/// Where a device keeps its store.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let config = DeviceConfig::in_directory("/var/lib/ciphermill");
/// assert!(matches!(config.location, Location::Directory(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum Location {
    /// In a directory, created if it does not exist, and locked while the device is open.
    Directory(PathBuf),
    /// In files that the caller opened; it sees to it that no other device has them.
    Files(StoreFiles),
}

/// Memory for loaded keys and prepared operands (matrices, handles of engines), for all spaces together.
///
/// A key takes memory when the first program needs it, and keeps it until others need it: the least recently used goes
/// first. A program that finds no memory waits, and then fails with [`KeyMemoryError`](crate::KeyMemoryError).
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let tenant = SpaceId(7);
/// let key_memory = KeyMemory { bytes: 1 << 30, floors: [(tenant, 256 << 20)].into(), ..KeyMemory::default() };
/// let device = Device::open(DeviceConfig { key_memory, ..DeviceConfig::in_memory() }, handlers())?;
/// assert_eq!(device.metrics().key_memory.limit, 1 << 30);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMemory {
    /// The budget in bytes, at least 1. A key needs the memory that its loading takes at most.
    pub bytes: u64,
    /// For some spaces, bytes that other spaces never take away; together at most `bytes`. A space keeps its most recently
    /// used objects up to its floor.
    pub floors: BTreeMap<SpaceId, u64>,
    /// The longest time that a program waits for memory that others use. It then fails, and may be tried again.
    pub wait: Duration,
}

impl Default for KeyMemory {
    /// Half of the memory that this process may use, no floors, 5 s.
    fn default() -> Self {
        Self { bytes: (machine::memory_bytes() / 2).max(1), floors: BTreeMap::new(), wait: Duration::from_secs(5) }
    }
}

impl KeyMemory {
    /// Bytes that other spaces never take from `space`.
    pub(super) fn floor(&self, space: SpaceId) -> u64 {
        self.floors.get(&space).copied().unwrap_or(0)
    }
}

/// Configuration of a device. Start from [`in_directory`](Self::in_directory) or [`in_memory`](Self::in_memory) and change
/// fields.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let config = DeviceConfig { max_running_programs: 2, max_object_bytes: 1 << 20, ..DeviceConfig::in_memory() };
/// let device = Device::open(config, handlers())?;
/// assert_eq!(device.config().max_running_programs, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceConfig {
    /// Where the store is.
    pub location: Location,
    /// Main memory for paged registers, in bytes: at least one page of 4,096, and at least the registers of one
    /// instruction (else a program fails with [`MemoryError::TooSmall`](crate::MemoryError::TooSmall)).
    pub main_memory_bytes: u64,
    /// Limit of the swap area in bytes.
    pub swap_bytes: u64,
    /// The most bytes that the registers of one space have in main memory and the swap area together, at least one page.
    pub swap_bytes_of_space: u64,
    /// Memory for test vectors and matrices as they are stored, kept between instructions, in bytes. Those of the
    /// instructions in work come on top.
    pub test_vector_cache_bytes: u64,
    /// Memory for loaded keys and prepared operands.
    pub key_memory: KeyMemory,
    /// The most instructions of a program, at most 65,536.
    pub max_program_instructions: usize,
    /// The most ciphertexts on the stack.
    pub max_stack: usize,
    /// The longest estimated run time; a run that takes longer is stopped before its next instruction.
    pub max_program_duration: Duration,
    /// log2 of the greatest probability that the result of a run is wrong; a program above it is refused with
    /// [`RunError::FailureTooLikely`](crate::RunError::FailureTooLikely). `None`: the limit of the scheme and its parameter
    /// set, [`ObjectHandler::max_log2_p_fail`](crate::ObjectHandler::max_log2_p_fail).
    pub max_log2_p_fail: Option<f64>,
    /// Whether objects that do not state the range of their messages are assumed to have one that fits wherever a program
    /// needs it. Without it, such a program is refused. Its failure probability is then that of the parameter set's own
    /// messages.
    pub assume_range: bool,
    /// The largest object in bytes.
    pub max_object_bytes: u64,
    /// Programs that run at the same time, on their callers' threads; at least 1.
    pub max_running_programs: usize,
    /// Programs that may wait for their turn; one more is refused with [`DeviceError::Busy`].
    pub max_waiting_programs: usize,
    /// Those of one space among them; one more of it is refused with [`DeviceError::Busy`] too. Below
    /// `max_waiting_programs`, one space cannot keep all others from waiting.
    pub max_waiting_programs_of_space: usize,
}

impl DeviceConfig {
    /// The least [`main_memory_bytes`](Self::main_memory_bytes): one page.
    pub const LEAST_MAIN_MEMORY_BYTES: u64 = PAGE_BYTES;

    /// A device in a directory. It has 256 MiB of main memory and 16 GiB of swap; the registers of one space take 8 GiB of
    /// both at most. Half of the process's memory is for keys. Programs have at most 65,536 instructions, 256 stack entries
    /// and 20 s, objects at most 16 GiB. As many programs run as the machine has threads, and 1,024 wait, 256 of them of one
    /// space.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let directory = tempfile::tempdir()?;
    /// let config = DeviceConfig::in_directory(directory.path());
    /// // An object outlives the device that stored it.
    /// let device = Device::open(config.clone(), handlers())?;
    /// device.space(SpaceId::EMBEDDED)?.write_bytes(x, &one, WriteOptions::default())?;
    /// drop(device);
    /// let device = Device::open(config, handlers())?;
    /// assert_eq!(device.space(SpaceId::EMBEDDED)?.read_bytes(x, ReadMode::Stored)?, one);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn in_directory(path: impl Into<PathBuf>) -> Self {
        Self::new(Location::Directory(path.into()))
    }

    /// The same, in memory: everything is gone when the last handle is.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let device = Device::open(DeviceConfig::in_memory(), handlers())?;
    /// assert_eq!(device.metrics().store.objects, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn in_memory() -> Self {
        Self::new(Location::Files(StoreFiles::in_memory()))
    }

    /// The same, in files of the caller.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let files = StoreFiles::in_memory();
    /// let config = DeviceConfig::in_files(files.clone());
    /// let device = Device::open(config.clone(), handlers())?;
    /// device.space(SpaceId::EMBEDDED)?.write_bytes(x, &one, WriteOptions::default())?;
    /// drop(device);
    /// // A device that opens the same files later finds the object.
    /// let device = Device::open(config, handlers())?;
    /// assert_eq!(device.space(SpaceId::EMBEDDED)?.read_bytes(x, ReadMode::Stored)?, one);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn in_files(files: StoreFiles) -> Self {
        Self::new(Location::Files(files))
    }

    fn new(location: Location) -> Self {
        let Limits { max_instructions, max_stack, max_duration } = Limits::default();
        Self {
            location,
            main_memory_bytes: 256 << 20,
            swap_bytes: 16 << 30,
            swap_bytes_of_space: 8 << 30,
            test_vector_cache_bytes: 256 << 20,
            key_memory: KeyMemory::default(),
            max_program_instructions: max_instructions,
            max_stack,
            max_program_duration: max_duration,
            max_log2_p_fail: None,
            assume_range: false,
            max_object_bytes: 16 << 30,
            max_running_programs: std::thread::available_parallelism().map_or(1, usize::from),
            max_waiting_programs: 1024,
            max_waiting_programs_of_space: 256,
        }
    }

    pub(super) fn check(&self) -> Result<(), DeviceError> {
        let refuse = |what: String| Err(DeviceError::Configuration { what });
        if self.main_memory_bytes < Self::LEAST_MAIN_MEMORY_BYTES {
            return refuse(format!(
                "main_memory_bytes is {}, it must be at least one page of {PAGE_BYTES}",
                self.main_memory_bytes
            ));
        }
        if self.swap_bytes_of_space < PAGE_BYTES {
            return refuse(format!(
                "swap_bytes_of_space is {}, it must be at least one page of {PAGE_BYTES}",
                self.swap_bytes_of_space
            ));
        }
        if !(1..=MAX_INSTRUCTIONS).contains(&self.max_program_instructions) {
            return refuse(format!(
                "max_program_instructions is {}, it must be 1 to {MAX_INSTRUCTIONS}",
                self.max_program_instructions
            ));
        }
        if let Some(given) = self.max_log2_p_fail
            && (given.is_nan() || given > 0.0)
        {
            return refuse(format!("max_log2_p_fail is {given}, it must be at most 0"));
        }
        let KeyMemory { bytes, floors, .. } = &self.key_memory;
        if *bytes == 0 {
            return refuse("key_memory.bytes is 0, it must be at least 1".to_owned());
        }
        let sum = floors.values().fold(0u64, |sum, &floor| sum.saturating_add(floor));
        if sum > *bytes {
            return refuse(format!("the floors of key_memory are {sum} bytes together, they may be at most {bytes}"));
        }
        if self.max_running_programs == 0 {
            return refuse("max_running_programs is 0, it must be at least 1".to_owned());
        }
        Ok(())
    }

    /// Bytes of the longest program that may be stored.
    pub(super) fn max_program_bytes(&self) -> u64 {
        ciphermill_wire::sealed_len(PROGRAM_PREFIX_BYTES + INSTRUCTION_BYTES * self.max_program_instructions as u64)
    }

    pub(super) fn program_limits(&self) -> Limits {
        Limits {
            max_instructions: self.max_program_instructions,
            max_stack: self.max_stack,
            max_duration: self.max_program_duration,
        }
    }
}
