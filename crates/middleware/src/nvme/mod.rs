//! The transport to a served device: blobs as objects of an NVMe namespace, over TCP.
//!
//! Data moves as plain blocks; what blocks cannot say, vendor commands do (`ciphermill_blockspace::vendor`).
//!
//! **Writing** never touches the blocks of the earlier version. The namespace reserves fresh blocks for the new one,
//! which declares it there; then the blocks are written, several commands at a time, and the command that completes the
//! object makes it visible, in one step and durably. Every attempt has separate blocks. So a part of an abandoned
//! attempt can never become a part of another, in any order of execution, and no checksum is needed beforehand. The
//! last command is sent when the content has ended at its declared size and all others are acknowledged. It is not
//! simply repeated after a lost connection: once it has taken effect, another object may occupy its blocks. The
//! directory and the metadata block show whether it has. It is repeated only if the object still waits for it. A failed
//! attempt is taken back. If the outcome is unknown, the namespace takes the reservation back after a time without a
//! write of [`RESERVATION_IDLE_SECONDS`](ciphermill_blockspace::vendor::RESERVATION_IDLE_SECONDS).
//!
//! **Reading** holds one version open for as long as it takes, so that a blob read with thousands of commands is one
//! version of it. A computed read runs its program once, when the blob is opened.
//!
//! **Memory**: each call in progress holds a fixed number of pieces (`in_flight` and one more), each at most the size
//! of one command.

mod config;
mod error;
mod read;
mod runtime;
mod write;

pub use config::{DEFAULT_HOST_NQN, NvmeConfig};
pub use error::NvmeError;

use crate::{
    blob::{BlobId, BlobStat, Metadata, ReadMode, Transferred, WriteMode, Written},
    transport::{Transport, TransportError},
};
use ciphermill_blockspace::{
    adapter::{Directory, DirectoryEntry, directory_dwords, status},
    vendor::{DeleteObject, OPCODE_DELETE, OPCODE_DIRECTORY},
};
use ciphermill_device::ObjectFlags;
use ciphermill_nvme::{
    identify::ControllerIdentity,
    initiator::{Controller, InitiatorError, RemoteNamespace},
};
use ciphermill_program::{DataId, KeyId, TypeCode, VrId};
use error::{malformed, mapped};
use runtime::Runtime;
use std::{
    io::{Read, Write},
    time::Duration,
};

/// How long a disconnect may take before the connection is just dropped.
const DISCONNECT_TIME: Duration = Duration::from_secs(2);
/// Bytes of a directory that are asked for at once.
const DIRECTORY_BYTES: usize = 64 << 10;

/// Blobs in one namespace of a served device. Calls may come from any thread, also one of an async runtime, which they
/// block as the trait says.
///
/// # Example
/// ```no_run
#[doc = include_str!("../example.txt")]
/// let transport = NvmeTransport::connect(NvmeConfig::new("127.0.0.1:4420"))?;
/// let middleware = Middleware::new(Arc::new(transport), MiddlewareConfig::default())?;
/// for blob in middleware.list().wait()? {
///     println!("{} has {} bytes", blob.id, blob.size);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NvmeTransport {
    runtime: Runtime,
    controller: Controller,
    namespace: RemoteNamespace,
    /// Bytes of a piece: whole blocks, at most the size of one command.
    piece: usize,
    in_flight: usize,
    /// The time that one command has.
    command_time: Duration,
}

impl NvmeTransport {
    /// Connects. Without the name of a subsystem the target is asked which it has; it must be one.
    ///
    /// # Errors
    /// [`NvmeError`].
    ///
    /// # Example
    /// ```no_run
    #[doc = include_str!("../example.txt")]
    /// let transport = NvmeTransport::connect(NvmeConfig::new("127.0.0.1:4420"))?;
    /// println!("namespaces {:?}", transport.namespaces()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn connect(config: NvmeConfig) -> Result<Self, NvmeError> {
        let runtime = Runtime::new()?;
        let NvmeConfig { namespace: nsid, in_flight, command_timeout: command_time, .. } = config;
        let connected = runtime.run(async move {
            let initiator = config.initiator().await?;
            let controller = Controller::connect(initiator).await?;
            let namespace = controller.namespace(nsid).await?;
            Ok::<_, NvmeError>((controller, namespace))
        });
        let (controller, namespace) = connected.map_err(|_| NvmeError::Runtime)??;
        let piece = namespace.max_transfer_blocks() as usize * ciphermill_nvme::BLOCK_BYTES;
        Ok(Self { runtime, controller, namespace, piece, in_flight: in_flight.max(1), command_time })
    }

    /// The controller's identification.
    ///
    /// # Example
    /// ```no_run
    #[doc = include_str!("../example.txt")]
    /// let transport = NvmeTransport::connect(NvmeConfig::new("127.0.0.1:4420"))?;
    /// let controller = transport.identify();
    /// println!("{} with the serial number {}", controller.model, controller.serial);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn identify(&self) -> ControllerIdentity {
        self.controller.identify()
    }

    /// The namespaces that this host may see.
    ///
    /// # Errors
    /// [`NvmeError::Initiator`].
    pub fn namespaces(&self) -> Result<Vec<u32>, NvmeError> {
        let controller = self.controller.clone();
        let namespaces = self.runtime.run(async move { controller.namespaces().await });
        Ok(namespaces.map_err(|_| NvmeError::Runtime)??)
    }

    /// The namespace of the blobs: its number, its UUID, its blocks.
    #[must_use]
    pub fn namespace(&self) -> (u32, [u8; 16], u64) {
        (self.namespace.nsid(), self.namespace.uuid(), self.namespace.blocks())
    }

    /// Waits for a future on the transport's own threads.
    fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, TransportError>> + Send + 'static,
    ) -> Result<T, TransportError> {
        self.runtime.run(future).unwrap_or_else(|gone| Err(TransportError::Failed(Box::new(gone))))
    }

    /// The directory from a register on, as much as one command gives.
    fn directory(&self, from: VrId, bytes: usize) -> Result<Directory, TransportError> {
        let namespace = self.namespace.clone();
        let data = self.wait(async move {
            let data = namespace.vendor_read(OPCODE_DIRECTORY, directory_dwords(from), bytes).await;
            data.map_err(|error| mapped(from.into(), error))
        })?;
        Directory::decode(&data).map_err(malformed)
    }

    /// The directory entry of a register, and the largest object of the device.
    fn entry(&self, id: BlobId) -> Result<(Option<DirectoryEntry>, u64), TransportError> {
        let directory = self.directory(id.register(), Directory::bytes_for(1))?;
        let found = directory.entries.first().filter(|entry| entry.id == id.register());
        Ok((found.copied(), directory.max_object_bytes))
    }
}

impl Transport for NvmeTransport {
    fn write(
        &self,
        metadata: &Metadata,
        size: u64,
        content: &mut dyn Read,
        mode: WriteMode,
    ) -> Result<Written, TransportError> {
        write::write(self, metadata, size, content, mode)
    }

    fn read(&self, id: BlobId, mode: ReadMode, out: &mut dyn Write) -> Result<Transferred, TransportError> {
        read::read(self, id, mode, out)
    }

    fn delete(&self, id: BlobId) -> Result<(), TransportError> {
        let namespace = self.namespace.clone();
        let dwords = DeleteObject { id: id.register() }.dwords();
        self.wait(async move {
            // Not sent twice: the second one could delete what was written in between.
            match namespace.vendor_read_once(OPCODE_DELETE, dwords, 0).await {
                Ok(_) => Ok(()),
                Err(error) => Err(mapped(id, error)),
            }
        })
    }

    fn stat(&self, id: BlobId) -> Result<BlobStat, TransportError> {
        let (entry, _) = self.entry(id)?;
        entry.as_ref().map(stat).ok_or(TransportError::NotFound { id })
    }

    fn list(&self) -> Result<Vec<BlobStat>, TransportError> {
        let bytes = DIRECTORY_BYTES.min(self.piece);
        let mut all: Vec<BlobStat> = Vec::new();
        let mut from = VrId::new(TypeCode(0), KeyId(0), DataId(0));
        loop {
            let directory = self.directory(from, bytes)?;
            // Whatever the device sends, the list ascends and so ends.
            if directory.entries.iter().any(|entry| all.last().is_some_and(|last| last.id.register() >= entry.id)) {
                return Err(malformed("the directory does not ascend"));
            }
            for entry in &directory.entries {
                all.push(stat(entry));
            }
            let full = Directory::bytes_for(directory.entries.len() + 1) > bytes;
            match all.last().and_then(|last| after(last.id)) {
                Some(next) if full => from = next,
                _ => return Ok(all),
            }
        }
    }
}

impl Drop for NvmeTransport {
    fn drop(&mut self) {
        let controller = self.controller.clone();
        // A peer that does not hear it finds out by itself.
        let _ = self.runtime.run(async move { tokio::time::timeout(DISCONNECT_TIME, controller.disconnect()).await });
    }
}

fn stat(entry: &DirectoryEntry) -> BlobStat {
    BlobStat { id: entry.id.into(), size: entry.size, flags: entry.flags }
}

/// The name that follows, if there is one.
fn after(id: BlobId) -> Option<VrId> {
    id.to_u128().checked_add(1).and_then(BlobId::from_u128).map(BlobId::register)
}

/// The flags of a blob as its metadata block has them: armed, one-shot.
fn flag(flags: ObjectFlags, flag: ObjectFlags) -> bool {
    flags.contains(flag)
}

/// Whether the status means that the read is not held any more.
fn read_is_gone(error: &InitiatorError) -> bool {
    error.status().is_some_and(|given| given.is(status::NO_SUCH_READ))
}
