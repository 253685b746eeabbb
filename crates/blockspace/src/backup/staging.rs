//! A new store next to its final place.

use super::{BackupError, SERVER_BYTES, SERVER_FILE};
use ciphermill_storage::create_durable_directory;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// Says that a later attempt may remove the directory, while that does not have its final name.
const MARKER: &str = "staging";
const MARKER_TEXT: &str = "ciphermill made this directory as NAME.incomplete. Under its final name it is whole: this file is then of no use.\n";

/// A directory that takes its name when it is whole.
#[derive(Debug)]
pub(super) struct Staging {
    target: PathBuf,
    pub(super) path: PathBuf,
}

impl Staging {
    /// Begins a directory for `target`, which must not exist or be empty. The remains of an interrupted attempt are removed.
    pub(super) fn begin(target: &Path) -> Result<Self, BackupError> {
        let target = std::path::absolute(target).map_err(BackupError::file("use", target))?;
        if !is_free(&target)? {
            return Err(BackupError::Exists { path: target });
        }
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(".incomplete");
        let path = target.with_file_name(name);
        if path.join(MARKER).symlink_metadata().is_ok() {
            fs::remove_dir_all(&path).map_err(BackupError::file("remove", &path))?;
        }
        if !is_free(&path)? {
            return Err(BackupError::Exists { path });
        }
        create_durable_directory(&path).map_err(BackupError::file("create", &path))?;
        let marker = path.join(MARKER);
        let write = || -> io::Result<()> {
            let mut file = private(&marker)?;
            file.write_all(MARKER_TEXT.as_bytes())?;
            file.sync_all()
        };
        write().map_err(BackupError::file("write", &marker))?;
        sync(&path)?;
        Ok(Self { target, path })
    }

    /// Gives the directory its name. All files in it must be closed.
    pub(super) fn finish(self) -> Result<(), BackupError> {
        for entry in fs::read_dir(&self.path).map_err(BackupError::file("read", &self.path))? {
            let path = entry.map_err(BackupError::file("read", &self.path))?.path();
            File::open(&path).and_then(|file| file.sync_all()).map_err(BackupError::file("sync", &path))?;
        }
        sync(&self.path)?;
        fs::rename(&self.path, &self.target).map_err(BackupError::file("rename", &self.path))?;
        sync(self.target.parent().unwrap_or(Path::new("/")))?;
        // Last: without it, a directory that did not get its name could not be told from one of somebody else.
        let marker = self.target.join(MARKER);
        fs::remove_file(&marker).map_err(BackupError::file("remove", &marker))
    }
}

fn is_free(path: &Path) -> Result<bool, BackupError> {
    match fs::read_dir(path) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(BackupError::file("read", path)(error)),
    }
}

pub(super) fn sync(directory: &Path) -> Result<(), BackupError> {
    File::open(directory).and_then(|file| file.sync_all()).map_err(BackupError::file("sync", directory))
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Copies the identity of a server, if the store has one.
pub(super) fn copy_server_file(from: &Path, to: &Path) -> Result<(), BackupError> {
    let (from, to) = (from.join(SERVER_FILE), to.join(SERVER_FILE));
    let bytes = match fs::metadata(&from) {
        Ok(found) if found.len() <= SERVER_BYTES => fs::read(&from).map_err(BackupError::file("read", &from))?,
        // Too long for an identity: `serve` would refuse it.
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match fs::remove_file(&to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BackupError::file("remove", &to)(error)),
                _ => Ok(()),
            };
        }
        Err(error) => return Err(BackupError::file("read", &from)(error)),
    };
    let write = || -> io::Result<()> {
        let mut file = private(&to)?;
        file.write_all(&bytes)?;
        file.sync_all()
    };
    write().map_err(BackupError::file("write", &to))
}
