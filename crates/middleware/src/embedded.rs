//! The transport to a device in the same process.

use crate::{
    blob::{BlobId, BlobStat, Metadata, ReadMode, Transferred, WriteMode, Written},
    transport::{Transport, TransportError, pull},
};
use ciphermill_device::{self as device, DeviceError, ObjectStat, Space, StorageError, StoreError, WriteOptions};
use std::io::{Read, Write};

/// The most bytes in transfer between a blob and a file.
const CHUNK_BYTES: u64 = 1 << 20;

/// Blobs in one space of a device in this process.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let transport = EmbeddedTransport::new(space);
/// let written = transport.write(&metadata, bytes.len() as u64, &mut bytes.as_slice(), WriteMode::Stored)?;
/// assert_eq!(written.stat.id, id);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct EmbeddedTransport {
    space: Space,
}

impl EmbeddedTransport {
    /// Blobs in `space`.
    #[must_use]
    pub fn new(space: Space) -> Self {
        Self { space }
    }

    /// The space they are in.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }
}

impl Transport for EmbeddedTransport {
    fn write(
        &self,
        metadata: &Metadata,
        size: u64,
        content: &mut dyn Read,
        mode: WriteMode,
    ) -> Result<Written, TransportError> {
        let mode = match mode {
            WriteMode::Compute => device::WriteMode::Compute,
            WriteMode::Stored => device::WriteMode::Stored,
        };
        let id = metadata.id();
        let options = WriteOptions { flags: metadata.flags, mode, ..WriteOptions::default() };
        let mut sink = self.space.write(metadata.register, size, options).map_err(|error| mapped(id, error))?;
        let mut chunk = chunk_for(size);
        let mut left = size;
        while left > 0 {
            // Not more than the declared size, so that what follows it is seen to be too much.
            let want = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let count = pull(content, &mut chunk[..want]).map_err(TransportError::Content)?;
            if count == 0 {
                return Err(TransportError::Length { declared: size, given: Some(size - left) });
            }
            sink.push(&chunk[..count]).map_err(|error| mapped(id, error.into()))?;
            left -= count as u64;
        }
        if pull(content, &mut chunk[..1]).map_err(TransportError::Content)? != 0 {
            return Err(TransportError::Length { declared: size, given: None });
        }
        let written = sink.commit().map_err(|error| mapped(id, error))?;
        Ok(Written { stat: stat(&written.stat), computed: written.computed })
    }

    fn read(&self, id: BlobId, mode: ReadMode, out: &mut dyn Write) -> Result<Transferred, TransportError> {
        let mode = match mode {
            ReadMode::Armed => device::ReadMode::Armed,
            ReadMode::Compute => device::ReadMode::Compute,
            ReadMode::Stored => device::ReadMode::Stored,
        };
        let mut source = self.space.read(id.register(), mode).map_err(|error| mapped(id, error))?;
        let (size, computed) = (source.size(), source.computed());
        let mut chunk = chunk_for(size);
        loop {
            let count = pull(&mut source, &mut chunk).map_err(|error| match StoreError::from_io(&error) {
                Some(store) => mapped(id, store.clone().into()),
                None => TransportError::Failed(Box::new(error)),
            })?;
            if count == 0 {
                return Ok(Transferred { size, computed });
            }
            out.write_all(&chunk[..count]).map_err(TransportError::Output)?;
        }
    }

    fn delete(&self, id: BlobId) -> Result<(), TransportError> {
        self.space.delete(id.register()).map_err(|error| mapped(id, error))
    }

    fn stat(&self, id: BlobId) -> Result<BlobStat, TransportError> {
        self.space.stat(id.register()).map(|found| stat(&found)).map_err(|error| mapped(id, error))
    }

    fn list(&self) -> Result<Vec<BlobStat>, TransportError> {
        Ok(self.space.list().iter().map(stat).collect())
    }
}

fn stat(object: &ObjectStat) -> BlobStat {
    BlobStat { id: object.id.into(), size: object.size, flags: object.flags }
}

/// A buffer for a blob of `size` bytes; most are ciphertexts of a few kilobytes.
fn chunk_for(size: u64) -> Vec<u8> {
    vec![0; size.clamp(1, CHUNK_BYTES) as usize]
}

/// Maps a device's error to the variant on which a caller can act.
fn mapped(id: BlobId, error: DeviceError) -> TransportError {
    match error {
        _ if error.is_busy() => TransportError::Busy(Box::new(error)),
        DeviceError::TooLarge { size, limit, .. } => TransportError::TooLarge { size, limit },
        DeviceError::ProgramFailed { .. } => TransportError::ProgramFailed(Box::new(error)),
        DeviceError::UnknownType { .. }
        | DeviceError::NotAProgramRegister { .. }
        | DeviceError::InvalidProgram { .. }
        | DeviceError::NotComputable { .. }
        | DeviceError::NoProgram { .. }
        | DeviceError::Handler(_) => TransportError::Refused(Box::new(error)),
        DeviceError::Store(store) => match store {
            StoreError::NotFound { .. } => TransportError::NotFound { id },
            StoreError::EmptyObject => TransportError::Empty,
            StoreError::Quota { .. }
            | StoreError::NoSpace { .. }
            | StoreError::Storage(StorageError::NoSpace { .. }) => TransportError::NoSpace(Box::new(store)),
            _ => TransportError::Failed(Box::new(store)),
        },
        _ => TransportError::Failed(Box::new(error)),
    }
}
