//! Files that blobs come from and go to.

use crate::{blob::BlobId, error::MiddlewareError};
use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use tempfile::{Builder, NamedTempFile};

fn failed<'a>(id: BlobId, path: &'a Path, operation: &'static str) -> impl FnOnce(io::Error) -> MiddlewareError + 'a {
    move |source| MiddlewareError::File { id, path: path.to_owned(), operation, source }
}

/// Opens the source file of a blob, and returns its length, at least 1.
pub(crate) fn open(id: BlobId, path: &Path) -> Result<(File, u64), MiddlewareError> {
    // Asked before it is opened: opening a pipe would block the worker until somebody writes to it.
    let is_file = fs::metadata(path).map_err(failed(id, path, "open"))?.is_file();
    if !is_file {
        return Err(MiddlewareError::NotAFile { id, path: path.to_owned() });
    }
    let file = File::open(path).map_err(failed(id, path, "open"))?;
    let size = file.metadata().map_err(failed(id, path, "open"))?.len();
    if size == 0 {
        return Err(MiddlewareError::Empty { id, file: Some(path.to_owned()) });
    }
    Ok((file, size))
}

/// A file that takes the place of another one only when it is complete. Dropped before, it is gone, and the other one is
/// as it was.
pub(crate) struct Replacement {
    id: BlobId,
    destination: PathBuf,
    temporary: NamedTempFile,
}

impl Replacement {
    /// Begins to replace `path`, which need not exist. If it is a symbolic link, its target is replaced, not the link.
    pub(crate) fn new(id: BlobId, path: &Path) -> Result<Self, MiddlewareError> {
        let fail = || failed(id, path, "create");
        let (destination, permissions) = match fs::canonicalize(path) {
            Ok(destination) => {
                let metadata = fs::metadata(&destination).map_err(fail())?;
                if !metadata.is_file() {
                    return Err(MiddlewareError::NotAFile { id, path: path.to_owned() });
                }
                (destination, Some(metadata.permissions()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), None),
            Err(error) => return Err(fail()(error)),
        };
        // On the same file system as the destination, or it could not be renamed. The umask applies to a new file.
        let temporary = Builder::new()
            .prefix(".ciphermill-")
            .suffix(".part")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory(&destination))
            .map_err(fail())?;
        if let Some(permissions) = permissions {
            temporary.as_file().set_permissions(permissions).map_err(fail())?;
        }
        Ok(Self { id, destination, temporary })
    }

    pub(crate) fn file(&mut self) -> &mut File {
        self.temporary.as_file_mut()
    }

    /// Puts the complete file in place. It is durable, name and content, when this returns.
    pub(crate) fn finish(self) -> Result<(), MiddlewareError> {
        let Self { id, destination, temporary } = self;
        temporary.as_file().sync_all().map_err(failed(id, &destination, "sync"))?;
        temporary.persist(&destination).map_err(|error| failed(id, &destination, "replace")(error.error))?;
        let synced = File::open(directory(&destination)).and_then(|directory| directory.sync_all());
        synced.map_err(failed(id, &destination, "sync the directory of"))
    }
}

/// The directory a file is in.
fn directory(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
