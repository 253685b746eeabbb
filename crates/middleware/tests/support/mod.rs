//! Devices with a toy scheme, and helpers; shared by the tests of this crate.
#![allow(dead_code)] // each test binary uses a part

pub(crate) mod gated;
pub(crate) mod memory;
pub(crate) mod nvme;
pub(crate) mod proxy;
#[path = "../../../blockspace/tests/adapter/toy.rs"]
pub(crate) mod toy;

use ciphermill_device::handlers;
use ciphermill_device::{Device, DeviceConfig, Space, SpaceId, SpaceLimits};
use ciphermill_middleware::{BlobId, EmbeddedTransport, Metadata, Transport, WriteMode};
use ciphermill_program::{Bindings, VrId, assemble};
use std::sync::Arc;
use tempfile::TempDir;
use toy::Toy;

/// The largest blob the test devices take.
pub(crate) const MAX_OBJECT_BYTES: u64 = 300 << 20;

/// Something a transport can be had from, that can lose its process and be started again.
pub(crate) trait Host: Sized {
    /// An empty space with these quotas, of a device with the toy scheme and [`MAX_OBJECT_BYTES`].
    fn start(limits: SpaceLimits) -> Self;
    /// A way to it.
    fn transport(&self) -> Arc<dyn Transport>;
    /// All data outside the disk is lost. The caller has dropped all transports.
    fn restart(self) -> Self;
}

/// A device of this process, on disk.
pub(crate) struct EmbeddedHost {
    directory: TempDir,
    device: Device,
}

pub(crate) const SPACE: SpaceId = SpaceId(7);

fn open(directory: &TempDir) -> Device {
    let mut config = DeviceConfig::in_directory(directory.path());
    config.max_object_bytes = MAX_OBJECT_BYTES;
    Device::open(config, vec![Arc::new(Toy::default())]).unwrap()
}

impl EmbeddedHost {
    pub(crate) fn space(&self) -> Space {
        self.device.space(SPACE).unwrap()
    }
}

impl Host for EmbeddedHost {
    fn start(limits: SpaceLimits) -> Self {
        let directory = TempDir::new().unwrap();
        let device = open(&directory);
        device.create_space(SPACE, limits).unwrap();
        Self { directory, device }
    }

    fn transport(&self) -> Arc<dyn Transport> {
        Arc::new(EmbeddedTransport::new(self.space()))
    }

    fn restart(self) -> Self {
        let Self { directory, device } = self;
        drop(device);
        let device = open(&directory);
        Self { directory, device }
    }
}

/// A toy device in memory, for tests of the layers above it.
pub(crate) fn in_memory() -> Space {
    let device = Device::open(DeviceConfig::in_memory(), vec![Arc::new(Toy::default())]).unwrap();
    device.space(SpaceId::EMBEDDED).unwrap()
}

pub(crate) fn register(text: &str) -> VrId {
    text.parse().unwrap()
}

pub(crate) fn blob(text: &str) -> BlobId {
    text.parse().unwrap()
}

/// Metadata without flags.
pub(crate) fn metadata(text: &str) -> Metadata {
    Metadata::new(register(text))
}

/// The bytes of a toy number.
pub(crate) fn number(value: u64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

/// Bytes that repeat only after 251 × 256 and differ from one `seed` to the next.
pub(crate) fn pattern(size: usize, seed: u8) -> Vec<u8> {
    (0..size).map(|index| (index % 251) as u8 ^ (index / 251 % 256) as u8 ^ seed).collect()
}

/// A program in its binary form; registers are written out, as in `homadd 4:0:3, 3:0:2`.
pub(crate) fn program(source: &str) -> Vec<u8> {
    assemble(handlers::instruction_set(), source, &Bindings::default()).unwrap().program.encode()
}

/// Writes a blob from memory by way of the bare transport.
pub(crate) fn put(transport: &dyn Transport, metadata: Metadata, bytes: &[u8]) {
    let mut content = bytes;
    transport.write(&metadata, bytes.len() as u64, &mut content, WriteMode::Compute).unwrap();
}
