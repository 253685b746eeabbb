//! Files: bounded reading, and writing that shows a file whole or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use zeroize::Zeroizing;

use crate::error::CliError;

/// Mode of a file with a secret: its owner's alone.
pub(crate) const SECRET: u32 = 0o600;
/// Mode of any other file; the umask takes from it.
pub(crate) const PUBLIC: u32 = 0o666;

/// Reads a file of at most `limit` bytes into memory that is wiped afterwards.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Zeroizing<Vec<u8>>, CliError> {
    let (file, len) = open(path)?;
    let too_long = |given: u64| CliError::Content {
        path: path.to_owned(),
        what: format!("the file has {given} bytes, at most {limit} are expected; pass another file"),
    };
    if len > limit {
        return Err(too_long(len));
    }
    // All room at once: a buffer that grew would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(len as usize + 1));
    file.take(limit + 1).read_to_end(&mut bytes).map_err(CliError::file("read", path))?;
    // A pipe has no length beforehand.
    if bytes.len() as u64 > limit { Err(too_long(bytes.len() as u64)) } else { Ok(bytes) }
}

/// Opens a file for reading and tells its length.
pub(crate) fn open(path: &Path) -> Result<(File, u64), CliError> {
    let file = File::open(path).map_err(CliError::file("open", path))?;
    let metadata = file.metadata().map_err(CliError::file("read", path))?;
    if metadata.is_dir() {
        return Err(CliError::file("read", path)(io::ErrorKind::IsADirectory.into()));
    }
    Ok((file, metadata.len()))
}

/// A file that is being written under a temporary name beside its own. Dropped before it is put in place, it is gone.
#[derive(Debug)]
pub(crate) struct PendingFile {
    path: PathBuf,
    overwrite: bool,
    file: NamedTempFile,
}

impl PendingFile {
    /// Begins to write the file `path`. Unless `overwrite` is set, it must not exist, neither now nor when it is put in
    /// place.
    pub(crate) fn create(path: &Path, mode: u32, overwrite: bool) -> Result<Self, CliError> {
        // Said before the work is done and not only after; putting in place checks again, atomically.
        if !overwrite && fs::symlink_metadata(path).is_ok() {
            return Err(CliError::Exists { path: path.to_owned() });
        }
        if path.is_dir() || path.file_name().is_none() {
            return Err(CliError::file("write", path)(io::ErrorKind::IsADirectory.into()));
        }
        let file = tempfile::Builder::new()
            .prefix(".ciphermill-")
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(directory(path))
            .map_err(CliError::file("create", path))?;
        Ok(Self { path: path.to_owned(), overwrite, file })
    }

    /// Lets `write` fill the file through a buffer. What it may return besides the result is handed on.
    pub(crate) fn fill<T, E: std::fmt::Display>(
        &mut self,
        write: impl FnOnce(&mut BufWriter<&File>) -> Result<T, E>,
    ) -> Result<T, CliError> {
        let mut out = BufWriter::with_capacity(1 << 20, self.file.as_file());
        let value = write(&mut out).map_err(CliError::content(&self.path))?;
        out.flush().map_err(CliError::file("write", &self.path))?;
        Ok(value)
    }

    /// Makes the content durable and gives the file its name.
    pub(crate) fn commit(self) -> Result<(), CliError> {
        commit_all([self])
    }

    /// Bytes written so far.
    pub(crate) fn len(&self) -> Result<u64, CliError> {
        Ok(self.file.as_file().metadata().map_err(CliError::file("read", &self.path))?.len())
    }
}

/// Puts several files in place. When one cannot be, those before it are removed again, so that no half of a key set is
/// left; a file that `overwrite` replaced is then lost. Gives their lengths in bytes.
pub(crate) fn commit_all<const N: usize>(files: [PendingFile; N]) -> Result<(), CliError> {
    for pending in &files {
        pending.file.as_file().sync_all().map_err(CliError::file("write", &pending.path))?;
    }
    let mut placed: Vec<PathBuf> = Vec::with_capacity(N);
    for PendingFile { path, overwrite, file } in files {
        let outcome = if overwrite { file.persist(&path) } else { file.persist_noclobber(&path) };
        if let Err(error) = outcome {
            for earlier in &placed {
                // The first error is the one to tell.
                let _ = fs::remove_file(earlier);
            }
            return Err(match error.error.kind() {
                io::ErrorKind::AlreadyExists => CliError::Exists { path },
                _ => CliError::File { action: "write", path, source: error.error },
            });
        }
        placed.push(path);
    }
    for path in &placed {
        // The name must survive a crash as the bytes do.
        let directory = directory(path);
        File::open(directory).and_then(|d| d.sync_all()).map_err(CliError::file("sync the directory of", path))?;
    }
    Ok(())
}

/// Writes a whole file; see [`PendingFile`].
pub(crate) fn write(path: &Path, bytes: &[u8], mode: u32, overwrite: bool) -> Result<u64, CliError> {
    let mut pending = PendingFile::create(path, mode, overwrite)?;
    pending.fill(|out| out.write_all(bytes))?;
    let len = pending.len()?;
    pending.commit()?;
    Ok(len)
}

/// Checks that the file systems of these files have room for that many bytes of each; files of one file system share its
/// room.
pub(crate) fn require_space(files: &[(&Path, u64)]) -> Result<(), CliError> {
    let mut needs: Vec<(u64, &Path, u64)> = Vec::new();
    for &(path, bytes) in files {
        let device = fs::metadata(directory(path)).map_err(CliError::file("create", path))?.dev();
        match needs.iter_mut().find(|(known, ..)| *known == device) {
            Some((_, _, sum)) => *sum = sum.saturating_add(bytes),
            None => needs.push((device, path, bytes)),
        }
    }
    for (_, path, needed) in needs {
        let answer = rustix::fs::statvfs(directory(path)).map_err(|e| CliError::file("create", path)(e.into()))?;
        let free = answer.f_bavail.saturating_mul(answer.f_frsize);
        if needed > free {
            return Err(CliError::NoSpace { path: path.to_owned(), needed, free });
        }
    }
    Ok(())
}

/// The directory that a file is, or will be, in.
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("a directory");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_dropped_file_leaves_nothing_and_a_committed_one_only_itself() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a");
        let mut pending = PendingFile::create(&path, SECRET, false).expect("a new file");
        pending.fill(|out| out.write_all(b"half")).expect("room");
        drop(pending);
        assert_eq!(names(directory.path()), Vec::<String>::new());
        assert_eq!(write(&path, b"whole", SECRET, false).expect("a new file"), 5);
        assert_eq!(names(directory.path()), ["a"]);
        assert_eq!(fs::metadata(&path).expect("it").permissions().mode() & 0o777, SECRET);
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_not_overwritten() {
        let directory = tempfile::tempdir().expect("a directory");
        let (first, second) = (directory.path().join("1"), directory.path().join("2"));
        let pending = [&first, &second].map(|path| PendingFile::create(path, PUBLIC, false).expect("a new file"));
        fs::write(&second, "mine").expect("room");
        assert!(matches!(commit_all(pending), Err(CliError::Exists { path }) if path == second));
        assert_eq!(names(directory.path()), ["2"], "the first file must be taken back");
        assert_eq!(fs::read(&second).expect("it"), b"mine");
        write(&second, b"yours", PUBLIC, true).expect("overwriting was asked for");
        assert_eq!(fs::read(&second).expect("it"), b"yours");
    }

    #[test]
    fn room_is_summed_over_a_file_system() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("key");
        require_space(&[(&path, 1), (&path, 2)]).expect("three bytes");
        let needed = u64::MAX / 2 + 1;
        match require_space(&[(&path, needed), (&path, needed)]) {
            Err(CliError::NoSpace { needed: u64::MAX, free, .. }) => assert!(free > 0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_too_long_is_not_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("long");
        write(&path, &[0; 11], PUBLIC, false).expect("a new file");
        assert_eq!(read(&path, 11).expect("within the limit").len(), 11);
        let message = read(&path, 10).expect_err("too long").to_string();
        assert!(message.contains("11 bytes, at most 10"), "{message}");
    }
}
