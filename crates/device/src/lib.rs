//! The secure-computing device: encrypted objects that compute when they are written or read.
//!
//! A [`Device`] keeps objects (ciphertexts, test vectors, keys, programs) in named registers of [`Space`]s. Writing a
//! compute-on-write ciphertext runs the program of its key and stores the result in its register; reading a
//! compute-on-read ciphertext runs it and returns the result. The device follows sections 3 and 4 of "An NVMe-based Secure
//! Computing Platform with FPGA-based TFHE Accelerator". In addition, an acknowledged write survives any crash, whole.
//!
//! From the bottom up:
//! - [`storage`]: the crate `ciphermill-storage`, random access to files, with a simulated disk that loses power;
//! - [`store`]: named, checksummed objects, replaced by copy-on-write, committed in groups;
//! - [`memory`]: bounded main memory with virtual addresses, a page table and a swap area;
//! - [`handler`]: the interface of a scheme; the core names no scheme;
//! - [`Device`] and [`Space`]: registers, private runs, quotas, metrics.
//!
//! Secret keys have no type code, so nothing here can hold one.
//!
//! Most examples share a hidden start:
//! - the device `device` in memory, with the standard `handlers`, and its embedded space `space`;
//! - the ciphertexts `one` and `two`, and `message`, which decrypts;
//! - the registers `x` and `y`, and the program `sum`, which returns their sum.
//!
//! `docs/device.md` defines the semantics and draws the file formats.

mod cost;
mod device;
mod error;
pub mod handler;
pub mod handlers;
pub mod memory;
mod metrics;
pub mod store;

pub use ciphermill_storage::{self as storage, StorageError};
pub use device::{
    CheckedOutput, CheckedProgram, Device, DeviceConfig, KeyMemory, Location, ObjectSink, ObjectSource, ObjectStat,
    ReadMode, ReadOptions, Space, WriteMode, WriteOptions, Written, program_register,
};
pub use error::{DeviceError, KeyMemoryError, RunError};
pub use handler::{HandlerError, ObjectHandler, Premises};
pub use memory::MemoryError;
pub use metrics::{InstructionMetrics, KeyMemoryUsage, MetricsSnapshot, SpaceMetrics};
pub use store::{
    ContentDigest, ObjectFlags, ObjectPages, ScrubEvent, ScrubReport, SpaceId, SpaceLimits, StoreError, StoreFiles,
};
