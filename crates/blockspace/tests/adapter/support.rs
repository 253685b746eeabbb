//! A namespace over a device and a volume that have a toy scheme.
#![allow(dead_code, reason = "the fuzz target and the tests use a part each")]

#[path = "toy.rs"]
mod toy;

use ciphermill_blockspace::{
    BlockSpace, BlockSpaceConfig, BlockSpaceError,
    volume::{Volume, VolumeConfig, VolumeFiles},
};
use ciphermill_device::handlers;
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, ReadMode, Space, SpaceId, SpaceLimits, StoreFiles, storage::SimulatedDisk,
};
use ciphermill_nvme::{Answer, Caller, CommandError, Host, Namespace, VendorCommand};
use ciphermill_program::{Bindings, Metadata, VrId, assemble};
use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;
pub(crate) use toy::Toy;

pub(crate) const BLOCK: usize = 4096;
/// 2^16 blocks, so that the metadata blocks begin at 32,768.
pub(crate) const LOG2: u32 = 16;
pub(crate) const HALF: u64 = 1 << (LOG2 - 1);

/// Far longer than any command here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether the tests must do the full counts that other pages state; they print the counts that they reached.
pub(crate) fn evidence() -> bool {
    std::env::var("CIPHERMILL_EVIDENCE_NVME").is_ok_and(|value| value == "1")
}

/// A namespace as its target has it, with calls that wait.
pub(crate) struct Bench {
    /// First block of the half with metadata blocks.
    pub(crate) half: u64,
    pub(crate) space: Arc<BlockSpace>,
    pub(crate) device: Device,
    pub(crate) volume: Volume,
    pub(crate) toy: Arc<Toy>,
    pub(crate) host: Arc<Caller>,
    // Last, so that it outlives what runs on it.
    pub(crate) runtime: Arc<Runtime>,
}

pub(crate) const NAMESPACE: SpaceId = SpaceId(1);

pub(crate) fn runtime() -> Arc<Runtime> {
    Arc::new(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime"))
}

pub(crate) fn host(name: &str) -> Arc<Caller> {
    Arc::new(Caller::named(Host { nqn: format!("nqn.2026-01.example:{name}"), id: [7; 16] }))
}

/// A namespace that cannot be opened, and why; for tests where the power goes meanwhile.
#[derive(Debug)]
pub(crate) enum OpenError {
    Device(DeviceError),
    Space(BlockSpaceError),
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(BlockSpaceConfig::new(LOG2))
    }

    pub(crate) fn with(config: BlockSpaceConfig) -> Self {
        Self::open(StoreFiles::in_memory(), VolumeFiles::in_memory(), config, runtime()).expect("a namespace")
    }

    pub(crate) fn on(disk: &SimulatedDisk, runtime: &Arc<Runtime>) -> Result<Self, OpenError> {
        let files = StoreFiles::on_simulated_disk(disk);
        Self::open(files, VolumeFiles::on_simulated_disk(disk), BlockSpaceConfig::new(LOG2), Arc::clone(runtime))
    }

    pub(crate) fn open(
        store: StoreFiles,
        volume: VolumeFiles,
        config: BlockSpaceConfig,
        runtime: Arc<Runtime>,
    ) -> Result<Self, OpenError> {
        let toy = Arc::new(Toy::default());
        let device =
            Device::open(DeviceConfig::in_files(store), vec![Arc::clone(&toy) as _]).map_err(OpenError::Device)?;
        device.create_space(NAMESPACE, SpaceLimits::UNLIMITED).map_err(OpenError::Device)?;
        let segment = VolumeConfig { segment_blocks: 512, ..VolumeConfig::default() };
        let volume = Volume::open(volume, segment).map_err(|error| OpenError::Space(error.into()))?;
        let handle = runtime.handle().clone();
        let space = BlockSpace::open(&device, NAMESPACE, volume.clone(), config, handle).map_err(OpenError::Space)?;
        Ok(Self { half: HALF, space, device, volume, toy, host: host("one"), runtime })
    }

    /// The same namespace opened again, as after a restart of the server.
    pub(crate) fn reopened(self, config: BlockSpaceConfig) -> Self {
        let Self { half, space, device, volume, toy, host, runtime } = self;
        drop(space);
        let space = BlockSpace::open(&device, NAMESPACE, volume.clone(), config, runtime.handle().clone());
        Self { half, space: space.expect("a namespace"), device, volume, toy, host, runtime }
    }

    pub(crate) fn wait<T: Send + 'static>(&self, answer: Answer<T>) -> Result<T, CommandError> {
        self.runtime.block_on(answer.wait())
    }

    /// The outcome of a command that nothing may keep from finishing now.
    pub(crate) fn at_once<T: Send + 'static>(&self, answer: Answer<T>) -> Result<T, CommandError> {
        let outcome = async { tokio::time::timeout(PATIENCE, answer.wait()).await };
        self.runtime.block_on(outcome).expect("another host's program keeps it waiting")
    }

    /// Holds programs that compute a difference until the guard is dropped: a failing test too is to end.
    pub(crate) fn hold(&self) -> Held {
        self.toy.held.store(true, Ordering::SeqCst);
        Held(Arc::clone(&self.toy))
    }

    /// Waits until this many programs have begun.
    pub(crate) fn await_runs(&self, runs: u64) {
        let begun = Instant::now();
        while self.runs() < runs {
            assert!(begun.elapsed() < PATIENCE, "the program never ran");
            std::thread::yield_now();
        }
    }

    fn namespace(&self) -> Arc<BlockSpace> {
        Arc::clone(&self.space)
    }

    pub(crate) fn begin_write(&self, lba: u64, data: Vec<u8>) -> Answer<()> {
        self.namespace().write(&self.host, lba, data)
    }

    pub(crate) fn try_write(&self, lba: u64, data: Vec<u8>) -> Result<(), CommandError> {
        self.wait(self.begin_write(lba, data))
    }

    pub(crate) fn write(&self, lba: u64, data: Vec<u8>) {
        self.try_write(lba, data).unwrap_or_else(|error| panic!("write at {lba}: {error}"));
    }

    pub(crate) fn try_read(&self, lba: u64, blocks: u32) -> Result<Vec<u8>, CommandError> {
        self.wait(self.namespace().read(&self.host, lba, blocks))
    }

    pub(crate) fn read(&self, lba: u64, blocks: u32) -> Vec<u8> {
        let bytes = self.try_read(lba, blocks).unwrap_or_else(|error| panic!("read at {lba}: {error}"));
        assert_eq!(bytes.len(), blocks as usize * BLOCK);
        bytes
    }

    pub(crate) fn zero(&self, lba: u64, blocks: u32) -> Result<(), CommandError> {
        self.wait(self.namespace().write_zeroes(&self.host, lba, blocks, true))
    }

    pub(crate) fn deallocate(&self, range: Range<u64>) -> Result<(), CommandError> {
        self.wait(self.namespace().deallocate(&self.host, vec![range]))
    }

    pub(crate) fn deallocate_all(&self, ranges: Vec<Range<u64>>) -> Result<(), CommandError> {
        self.wait(self.namespace().deallocate(&self.host, ranges))
    }

    pub(crate) fn begin_vendor(&self, opcode: u8, dwords: [u32; 6], length: usize) -> Answer<Vec<u8>> {
        self.namespace().vendor(&self.host, VendorCommand { opcode, dwords, length })
    }

    pub(crate) fn vendor(&self, opcode: u8, dwords: [u32; 6], length: usize) -> Result<Vec<u8>, CommandError> {
        self.wait(self.begin_vendor(opcode, dwords, length))
    }

    pub(crate) fn try_declare(&self, first: u64, metadata: Metadata) -> Result<(), CommandError> {
        self.try_write(self.half + first, metadata.encode().to_vec())
    }

    pub(crate) fn declare(&self, first: u64, metadata: Metadata) {
        self.try_declare(first, metadata).unwrap_or_else(|error| panic!("metadata at {first}: {error}"));
    }

    /// Metadata, then the blocks in one command.
    pub(crate) fn try_put(&self, first: u64, metadata: Metadata, bytes: &[u8]) -> Result<(), CommandError> {
        self.try_declare(first, metadata)?;
        self.try_write(first, padded(bytes))
    }

    pub(crate) fn put(&self, first: u64, metadata: Metadata, bytes: &[u8]) {
        self.try_put(first, metadata, bytes).unwrap_or_else(|error| panic!("object at {first}: {error}"));
    }

    /// The contents of the metadata block, `None` for a block of zeros.
    pub(crate) fn record(&self, first: u64) -> Option<Metadata> {
        let block = self.read(self.half + first, 1);
        if block.iter().all(|byte| *byte == 0) { None } else { Some(Metadata::decode(&block).expect("metadata")) }
    }

    pub(crate) fn registers(&self) -> Space {
        self.device.space(NAMESPACE).expect("the space")
    }

    /// What programs would see.
    pub(crate) fn stored(&self, id: &str) -> Option<Vec<u8>> {
        self.registers().read_bytes(register(id), ReadMode::Stored).ok()
    }

    pub(crate) fn runs(&self) -> u64 {
        self.toy.runs.load(Ordering::SeqCst)
    }
}

pub(crate) fn register(text: &str) -> VrId {
    text.parse().expect("type:key:data")
}

/// Metadata without flags and checksum.
pub(crate) fn metadata(id: &str, size: usize) -> Metadata {
    let id = register(id);
    Metadata { id, armed: false, one_shot: false, stored: false, size: size as u64, object_crc32c: None }
}

/// The same with the checksum of the bytes.
pub(crate) fn checked(id: &str, bytes: &[u8]) -> Metadata {
    Metadata { object_crc32c: Metadata::checksum_of(bytes), ..metadata(id, bytes.len()) }
}

pub(crate) fn armed(id: &str, size: usize) -> Metadata {
    Metadata { armed: true, ..metadata(id, size) }
}

pub(crate) fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut blocks = bytes.to_vec();
    blocks.resize(bytes.len().next_multiple_of(BLOCK), 0);
    blocks
}

pub(crate) fn words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Bytes that differ by `seed`.
pub(crate) fn pattern(size: usize, seed: u64) -> Vec<u8> {
    let word = |index: usize| (index as u64 ^ seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes: Vec<u8> = (0..size.div_ceil(8)).flat_map(|index| word(index).to_le_bytes()).collect();
    bytes.truncate(size);
    bytes
}

/// A program in its binary form, registers written out.
pub(crate) fn program(source: &str) -> Vec<u8> {
    assemble(handlers::instruction_set(), source, &Bindings::default()).expect("a program").program.encode()
}

/// xorshift64*, for workloads that must be repeatable.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }
}

/// Programs are held.
pub(crate) struct Held(Arc<Toy>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.store(false, Ordering::SeqCst);
    }
}

impl Bench {
    /// Another namespace of the same device and volume, for another host.
    pub(crate) fn second_namespace(&self) -> Self {
        let id = SpaceId(2);
        self.device.create_space(id, SpaceLimits::UNLIMITED).expect("a space");
        let (volume, handle) = (self.volume.clone(), self.runtime.handle().clone());
        let space = BlockSpace::open(&self.device, id, volume.clone(), BlockSpaceConfig::new(LOG2), handle);
        let (device, toy, runtime) = (self.device.clone(), Arc::clone(&self.toy), Arc::clone(&self.runtime));
        Self { half: HALF, space: space.expect("a namespace"), device, volume, toy, host: host("two"), runtime }
    }
}
