//! The operations that the workers run.

use crate::{
    blob::{BlobId, BlobStat, Content, Metadata, ReadMode, Transferred, WriteMode, Written},
    error::MiddlewareError,
    file::{self, Replacement},
    queue::locked,
    transport::{Transport, TransportError},
};
use std::{
    collections::HashMap,
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex},
};

/// The operations, each of which blocks. The queue runs no two of them on one blob at the same time.
#[derive(Debug)]
pub(crate) struct Work {
    transport: Arc<dyn Transport>,
    /// Blobs created and not yet written. All others are the transport's to know.
    created: Mutex<HashMap<BlobId, Metadata>>,
}

impl Work {
    pub(crate) fn new(transport: Arc<dyn Transport>) -> Self {
        Self { transport, created: Mutex::default() }
    }

    pub(crate) fn create(&self, metadata: Metadata) -> Result<BlobId, MiddlewareError> {
        let id = metadata.id();
        if self.created(id).is_some() {
            return Err(MiddlewareError::Exists { id });
        }
        match self.transport.stat(id) {
            Ok(_) => Err(MiddlewareError::Exists { id }),
            Err(TransportError::NotFound { .. }) => {
                locked(&self.created).insert(id, metadata);
                Ok(id)
            }
            Err(error) => Err(MiddlewareError::transport(id, error)),
        }
    }

    pub(crate) fn delete(&self, id: BlobId) -> Result<(), MiddlewareError> {
        match locked(&self.created).remove(&id) {
            Some(_) => Ok(()),
            None => self.transport.delete(id).map_err(|error| MiddlewareError::transport(id, error)),
        }
    }

    pub(crate) fn write_file(&self, id: BlobId, mode: WriteMode, path: &Path) -> Result<Written, MiddlewareError> {
        let metadata = self.metadata(id)?;
        let (mut file, size) = file::open(id, path)?;
        let written = self.transport.write(&metadata, size, &mut file, mode).map_err(|error| match error {
            TransportError::Content(source) => {
                MiddlewareError::File { id, path: path.to_owned(), operation: "read", source }
            }
            TransportError::Length { .. } => MiddlewareError::FileChanged { id, path: path.to_owned(), size },
            error => MiddlewareError::transport(id, error),
        })?;
        locked(&self.created).remove(&id);
        Ok(written)
    }

    pub(crate) fn write_bytes(&self, id: BlobId, mode: WriteMode, bytes: &[u8]) -> Result<Written, MiddlewareError> {
        let metadata = self.metadata(id)?;
        if bytes.is_empty() {
            return Err(MiddlewareError::Empty { id, file: None });
        }
        let size = bytes.len() as u64;
        let written = self.transport.write(&metadata, size, &mut &*bytes, mode);
        let written = written.map_err(|error| MiddlewareError::transport(id, error))?;
        locked(&self.created).remove(&id);
        Ok(written)
    }

    pub(crate) fn read_file(&self, id: BlobId, mode: ReadMode, path: &Path) -> Result<Transferred, MiddlewareError> {
        self.check_written(id)?;
        let mut replacement = Replacement::new(id, path)?;
        let transferred = self.transport.read(id, mode, replacement.file()).map_err(|error| match error {
            TransportError::Output(source) => {
                MiddlewareError::File { id, path: path.to_owned(), operation: "write", source }
            }
            error => MiddlewareError::transport(id, error),
        })?;
        replacement.finish()?;
        Ok(transferred)
    }

    pub(crate) fn read_bytes(&self, id: BlobId, mode: ReadMode) -> Result<Content, MiddlewareError> {
        self.check_written(id)?;
        let mut memory = Memory(Vec::new());
        let transferred = self.transport.read(id, mode, &mut memory);
        let Transferred { computed, .. } = transferred.map_err(|error| MiddlewareError::transport(id, error))?;
        Ok(Content { bytes: memory.0, computed })
    }

    pub(crate) fn stat(&self, id: BlobId) -> Result<BlobStat, MiddlewareError> {
        self.check_written(id)?;
        self.transport.stat(id).map_err(|error| MiddlewareError::transport(id, error))
    }

    pub(crate) fn list(&self) -> Result<Vec<BlobStat>, MiddlewareError> {
        self.transport.list().map_err(MiddlewareError::List)
    }

    fn created(&self, id: BlobId) -> Option<Metadata> {
        locked(&self.created).get(&id).copied()
    }

    /// The metadata with which the blob was created.
    fn metadata(&self, id: BlobId) -> Result<Metadata, MiddlewareError> {
        if let Some(metadata) = self.created(id) {
            return Ok(metadata);
        }
        let stat = self.transport.stat(id).map_err(|error| MiddlewareError::transport(id, error))?;
        Ok(Metadata { register: id.register(), flags: stat.flags })
    }

    fn check_written(&self, id: BlobId) -> Result<(), MiddlewareError> {
        match self.created(id) {
            Some(_) => Err(MiddlewareError::NotWritten { id }),
            None => Ok(()),
        }
    }
}

/// Takes bytes into memory, as far as there is any: a key that does not fit is an error, not the end of the process.
struct Memory(Vec<u8>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
