//! Bounded reading of files, and atomic writing: a new file appears complete or not at all.
//!
//! ```
//! use ciphermill_client::files::{self, PendingFile};
//! use std::io::Write;
//!
//! # fn main() -> Result<(), ciphermill_client::ClientError> {
//! let directory = tempfile::tempdir().expect("a directory");
//! let path = directory.path().join("key");
//! let mut pending = PendingFile::create(&path, files::SECRET, false)?;
//! pending.fill(|out| out.write_all(b"secret"))?;
//! assert!(!path.exists());
//! pending.commit()?;
//! assert_eq!(files::read(&path, 1024)?.as_slice(), b"secret");
//! # Ok(())
//! # }
//! ```

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use tempfile::NamedTempFile;
use zeroize::Zeroizing;

use crate::error::ClientError;

/// Permissions of a file with a secret: only its owner may read and write it.
pub const SECRET: u32 = 0o600;
/// Permissions of any other file, before the umask applies.
pub const PUBLIC: u32 = 0o666;

/// Reads a file of at most `limit` bytes into memory that is wiped afterwards.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// std::fs::write(&path, "12345")?;
/// assert_eq!(files::read(&path, 5)?.as_slice(), b"12345");
/// assert!(files::read(&path, 4).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path, limit: u64) -> Result<Zeroizing<Vec<u8>>, ClientError> {
    let (file, len) = open(path)?;
    read_open(file, len, path, limit)
}

fn read_open(file: File, len: u64, path: &Path, limit: u64) -> Result<Zeroizing<Vec<u8>>, ClientError> {
    let too_long = |given: u64| {
        let what = format!("the file has {given} bytes, at most {limit} are expected; pass another file");
        ClientError::content(path)(what)
    };
    if len > limit {
        return Err(too_long(len));
    }
    // All room at once: a buffer that grew would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(len as usize + 1));
    file.take(limit + 1).read_to_end(&mut bytes).map_err(ClientError::file("read", path))?;
    // A pipe has no length beforehand.
    if bytes.len() as u64 > limit { Err(too_long(bytes.len() as u64)) } else { Ok(bytes) }
}

/// Reads a file of at most `limit` bytes and decodes it.
///
/// ```
/// use ciphermill_client::files;
///
/// let directory = tempfile::tempdir().expect("a directory");
/// let path = directory.path().join("n");
/// std::fs::write(&path, "17").expect("room");
/// let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec());
/// assert_eq!(files::decode(&path, 2, text).expect("text"), "17");
/// assert!(files::decode(&path, 1, text).is_err());
/// ```
///
/// # Errors
/// [`ClientError::File`], or [`ClientError::Content`] with the decoder's error or for a longer file.
pub fn decode<T, E>(path: &Path, limit: u64, decode: impl FnOnce(&[u8]) -> Result<T, E>) -> Result<T, ClientError>
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    decode(&read(path, limit)?).map_err(ClientError::content(path))
}

/// Whether secret keys in files that others may read are accepted.
static ACCEPT_READABLE_SECRETS: AtomicBool = AtomicBool::new(false);

/// From now on, this process accepts files of secret keys that others than their owner may read.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// files::write(&path, b"secret", 0o644, false)?;
/// let read = || files::decode_secret(&path, 10, |bytes| String::from_utf8(bytes.to_vec()));
/// assert!(matches!(read(), Err(ClientError::SecretReadable { .. })));
/// files::accept_readable_secrets();
/// assert_eq!(read()?, "secret");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn accept_readable_secrets() {
    ACCEPT_READABLE_SECRETS.store(true, Ordering::SeqCst);
}

/// Reads the file of a secret key of at most `limit` bytes and decodes it. Others than its owner must not be able to read
/// it, unless [`accept_readable_secrets`] was called. Pipes have no such protection and need none.
///
/// # Errors
/// [`ClientError::SecretReadable`], and as [`decode`].
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// files::write(&path, b"secret", files::SECRET, false)?;
/// let text = files::decode_secret(&path, 10, |bytes| String::from_utf8(bytes.to_vec()))?;
/// assert_eq!(text, "secret");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decode_secret<T, E>(
    path: &Path,
    limit: u64,
    decode: impl FnOnce(&[u8]) -> Result<T, E>,
) -> Result<T, ClientError>
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (file, len) = open(path)?;
    let metadata = file.metadata().map_err(ClientError::file("read", path))?;
    let mode = metadata.permissions().mode() & 0o777;
    let secret = decode(&read_open(file, len, path, limit)?).map_err(ClientError::content(path))?;
    // Last, so that another file than a secret key is refused for its content.
    if metadata.is_file() && mode & 0o077 != 0 && !ACCEPT_READABLE_SECRETS.load(Ordering::SeqCst) {
        return Err(ClientError::SecretReadable { path: path.to_owned(), mode });
    }
    Ok(secret)
}

/// Views the content of a file as text.
///
/// # Errors
/// [`ClientError::Content`] if the content is not UTF-8.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(files::utf8(&path, b"text")?, "text");
/// assert!(files::utf8(&path, &[0xff]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn utf8<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, ClientError> {
    std::str::from_utf8(bytes).map_err(|error| {
        ClientError::content(path)(format!("byte {} is not UTF-8; pass a text file", error.valid_up_to()))
    })
}

/// Opens a file for reading and returns its length.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// std::fs::write(&path, "12345")?;
/// let (_, length) = files::open(&path)?;
/// assert_eq!(length, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(path: &Path) -> Result<(File, u64), ClientError> {
    let file = File::open(path).map_err(ClientError::file("open", path))?;
    let metadata = file.metadata().map_err(ClientError::file("read", path))?;
    if metadata.is_dir() {
        return Err(ClientError::file("read", path)(io::ErrorKind::IsADirectory.into()));
    }
    Ok((file, metadata.len()))
}

/// A file that is being written and does not have its name yet. If it is dropped before [`commit`](Self::commit), nothing remains.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let mut pending = files::PendingFile::create(&path, files::PUBLIC, false)?;
/// pending.fill(|out| out.write_all(b"half"))?;
/// drop(pending);
/// assert!(!path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PendingFile {
    path: PathBuf,
    overwrite: bool,
    draft: Draft,
}

/// The location of the bytes before the file has its name.
#[derive(Debug)]
enum Draft {
    /// In an unnamed file: even a kill leaves nothing behind, least of all a secret.
    Nameless(File),
    /// In a temporary file in the same directory, if the file system has no unnamed files; a kill leaves it behind.
    Named(NamedTempFile),
}

/// The prefix of temporary names.
const TEMPORARY: &str = ".ciphermill-";

impl Draft {
    fn nameless(directory: &Path, mode: u32) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::open(directory, flags, Mode::from_raw_mode(mode))?;
        // It gets its name through this path, so without /proc there would be none to give.
        if !Path::new(&proc_path(&file)).exists() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Self::Nameless(file.into()))
    }

    fn named(directory: &Path, mode: u32) -> io::Result<Self> {
        let permissions = Permissions::from_mode(mode);
        let made = tempfile::Builder::new().prefix(TEMPORARY).permissions(permissions).tempfile_in(directory);
        // Its error would name a file that nobody asked for.
        Ok(Self::Named(made.map_err(|error| io::Error::from(error.kind()))?))
    }

    fn file(&self) -> &File {
        match self {
            Self::Nameless(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }

    /// Gives the file its name, atomically.
    fn place(self, path: &Path, overwrite: bool) -> io::Result<()> {
        match self {
            Self::Nameless(file) => {
                let link = |name: &Path| {
                    let flags = AtFlags::SYMLINK_FOLLOW;
                    Ok(rustix::fs::linkat(CWD, proc_path(&file), CWD, name, flags)?)
                };
                if !overwrite {
                    return link(path);
                }
                // A link cannot replace a file, a rename can.
                let named = tempfile::Builder::new().prefix(TEMPORARY).make_in(directory(path), link)?;
                named.persist(path).map_err(|error| error.error)?;
            }
            Self::Named(file) if overwrite => drop(file.persist(path).map_err(|error| error.error)?),
            Self::Named(file) => drop(file.persist_noclobber(path).map_err(|error| error.error)?),
        }
        Ok(())
    }
}

/// The path by which this process reaches an open file.
fn proc_path(file: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

impl PendingFile {
    /// Starts to write the file `path`. Unless `overwrite` is set, it must not exist, now or at the commit.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// std::fs::write(&path, "old")?;
    /// let refused = files::PendingFile::create(&path, files::PUBLIC, false);
    /// assert!(matches!(refused, Err(ClientError::Exists { .. })));
    /// assert!(files::PendingFile::create(&path, files::PUBLIC, true).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(path: &Path, mode: u32, overwrite: bool) -> Result<Self, ClientError> {
        Self::create_by(path, overwrite, |directory| {
            Draft::nameless(directory, mode).or_else(|_| Draft::named(directory, mode))
        })
    }

    fn create_by(
        path: &Path,
        overwrite: bool,
        draft: impl FnOnce(&Path) -> io::Result<Draft>,
    ) -> Result<Self, ClientError> {
        // Said before the work is done and not only after; putting in place checks again, atomically.
        if !overwrite && fs::symlink_metadata(path).is_ok() {
            return Err(ClientError::Exists { path: path.to_owned() });
        }
        // Replacing a device or a pipe would take it away from everybody else.
        if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Err(ClientError::NotAFile { path: path.to_owned() });
        }
        if path.is_dir() || path.file_name().is_none() {
            return Err(ClientError::file("write", path)(io::ErrorKind::IsADirectory.into()));
        }
        require_directory(path)?;
        let draft = draft(directory(path)).map_err(ClientError::file("create", path))?;
        Ok(Self { path: path.to_owned(), overwrite, draft })
    }

    /// Writes a secret without a buffer, which would keep a copy that is not wiped.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// use std::os::unix::fs::PermissionsExt;
    ///
    /// let mut pending = files::PendingFile::create(&path, files::SECRET, false)?;
    /// pending.write_secret(b"secret")?;
    /// pending.commit()?;
    /// assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, files::SECRET);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_secret(&mut self, secret: &[u8]) -> Result<(), ClientError> {
        let mut file = self.draft.file();
        file.write_all(secret).map_err(ClientError::file("write", &self.path))
    }

    /// Fills the file through a buffer and returns the value of `write`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut pending = files::PendingFile::create(&path, files::PUBLIC, false)?;
    /// let written = pending.fill(|out| out.write(b"text"))?;
    /// assert_eq!(pending.len()?, written as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fill<T, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        &mut self,
        write: impl FnOnce(&mut BufWriter<&File>) -> Result<T, E>,
    ) -> Result<T, ClientError> {
        let mut out = BufWriter::with_capacity(1 << 20, self.draft.file());
        let value = write(&mut out).map_err(ClientError::content(&self.path))?;
        out.flush().map_err(ClientError::file("write", &self.path))?;
        Ok(value)
    }

    /// Makes the content durable and gives the file its name.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut pending = files::PendingFile::create(&path, files::PUBLIC, false)?;
    /// pending.fill(|out| out.write_all(b"text"))?;
    /// pending.commit()?;
    /// assert_eq!(std::fs::read(&path)?, b"text");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(self) -> Result<(), ClientError> {
        commit_all([self])
    }

    /// The number of bytes written so far.
    ///
    /// # Errors
    /// [`ClientError::File`].
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> Result<u64, ClientError> {
        Ok(self.draft.file().metadata().map_err(ClientError::file("read", &self.path))?.len())
    }
}

/// Gives several files their names. If one fails, the earlier ones are removed again, so that no partial key set remains;
/// a file that `overwrite` replaced is then lost.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let other = directory.path().join("other");
/// let first = files::PendingFile::create(&path, files::PUBLIC, false)?;
/// let second = files::PendingFile::create(&other, files::PUBLIC, false)?;
/// files::commit_all([first, second])?;
/// assert!(path.exists() && other.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn commit_all(files: impl IntoIterator<Item = PendingFile>) -> Result<(), ClientError> {
    let files: Vec<PendingFile> = files.into_iter().collect();
    for pending in &files {
        pending.draft.file().sync_all().map_err(ClientError::file("write", &pending.path))?;
    }
    let mut placed: Vec<PathBuf> = Vec::with_capacity(files.len());
    for PendingFile { path, overwrite, draft } in files {
        if let Err(source) = draft.place(&path, overwrite) {
            for earlier in &placed {
                // The first error is the one to tell.
                let _ = fs::remove_file(earlier);
            }
            return Err(match source.kind() {
                io::ErrorKind::AlreadyExists => ClientError::Exists { path },
                _ => ClientError::File { action: "write", path, source },
            });
        }
        placed.push(path);
    }
    for path in &placed {
        // The name must survive a crash as the bytes do.
        let directory = directory(path);
        File::open(directory).and_then(|d| d.sync_all()).map_err(ClientError::file("sync the directory of", path))?;
    }
    Ok(())
}

/// Writes a whole file; see [`PendingFile`].
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(files::write(&path, b"text", files::PUBLIC, false)?, 4);
/// assert!(matches!(files::write(&path, b"more", files::PUBLIC, false), Err(ClientError::Exists { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(path: &Path, bytes: &[u8], mode: u32, overwrite: bool) -> Result<u64, ClientError> {
    let mut pending = PendingFile::create(path, mode, overwrite)?;
    pending.fill(|out| out.write_all(bytes))?;
    let len = pending.len()?;
    pending.commit()?;
    Ok(len)
}

/// Checks that the file systems have room for the given number of bytes of each file. Files on one file system share its room.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// files::require_space(&[(&path, 1)])?;
/// let refused = files::require_space(&[(&path, u64::MAX)]);
/// assert!(matches!(refused, Err(ClientError::NoSpace { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn require_space(files: &[(&Path, u64)]) -> Result<(), ClientError> {
    let mut needs: Vec<(u64, &Path, u64)> = Vec::new();
    for &(path, bytes) in files {
        require_directory(path)?;
        let device = fs::metadata(directory(path)).map_err(ClientError::file("create", path))?.dev();
        match needs.iter_mut().find(|(known, ..)| *known == device) {
            Some((_, _, sum)) => *sum = sum.saturating_add(bytes),
            None => needs.push((device, path, bytes)),
        }
    }
    for (_, path, needed) in needs {
        let answer = rustix::fs::statvfs(directory(path)).map_err(|e| ClientError::file("create", path)(e.into()))?;
        let free = answer.f_bavail.saturating_mul(answer.f_frsize);
        if needed > free {
            return Err(ClientError::NoSpace { path: path.to_owned(), needed, free });
        }
    }
    Ok(())
}

/// Checks that there is a directory for a file.
fn require_directory(path: &Path) -> Result<(), ClientError> {
    let directory = directory(path);
    if fs::metadata(directory).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Err(ClientError::NoDirectory { path: path.to_owned(), directory: directory.to_owned() });
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

    /// A way to hold the bytes of a pending file.
    type MakeDraft = fn(&Path, u32) -> io::Result<Draft>;

    /// Every draft that the file system of the temporary directory has: an old overlay has no nameless files.
    fn drafts() -> Vec<MakeDraft> {
        match Draft::nameless(&std::env::temp_dir(), SECRET) {
            Ok(_) => vec![Draft::nameless, Draft::named],
            Err(_) => vec![Draft::named],
        }
    }

    fn pending(path: &Path, overwrite: bool, draft: MakeDraft) -> PendingFile {
        let mut pending =
            PendingFile::create_by(path, overwrite, |directory| draft(directory, SECRET)).expect("it may be written");
        pending.fill(|out| out.write_all(b"whole")).expect("room");
        pending
    }

    #[test]
    fn a_dropped_file_leaves_nothing_and_a_committed_one_only_itself() {
        for draft in drafts() {
            let directory = tempfile::tempdir().expect("a directory");
            let path = directory.path().join("a");
            drop(pending(&path, false, draft));
            assert_eq!(names(directory.path()), Vec::<String>::new());
            pending(&path, false, draft).commit().expect("a new file");
            assert_eq!(names(directory.path()), ["a"]);
            assert_eq!(fs::read(&path).expect("it"), b"whole");
            assert_eq!(fs::metadata(&path).expect("it").permissions().mode() & 0o777, SECRET);
        }
    }

    /// An unnamed file cannot be left behind, not even by a kill.
    #[test]
    fn a_nameless_draft_cannot_be_seen() {
        let directory = tempfile::tempdir().expect("a directory");
        let held = pending(&directory.path().join("a"), false, drafts()[0]);
        assert_eq!(held.len().expect("it"), 5);
        let named = matches!(held.draft, Draft::Named(_));
        assert_eq!(names(directory.path()).len(), usize::from(named));
    }

    #[test]
    fn devices_pipes_and_links_are_not_replaced() {
        let directory = tempfile::tempdir().expect("a directory");
        let (link, target) = (directory.path().join("link"), directory.path().join("target"));
        fs::write(&target, b"kept").expect("a file");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        for path in [Path::new("/dev/full"), Path::new("/dev/null"), &link] {
            let refused = write(path, b"new", PUBLIC, true);
            assert!(matches!(refused, Err(ClientError::NotAFile { .. })), "{refused:?}");
        }
        assert_eq!(fs::read(&target).expect("the file"), b"kept");
        assert!(!fs::symlink_metadata("/dev/full").expect("a device").is_file());
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_not_overwritten_unless_asked_for() {
        for draft in drafts() {
            let directory = tempfile::tempdir().expect("a directory");
            let (first, second) = (directory.path().join("1"), directory.path().join("2"));
            let both = [&first, &second].map(|path| pending(path, false, draft));
            fs::write(&second, "mine").expect("room");
            assert!(matches!(commit_all(both), Err(ClientError::Exists { path }) if path == second));
            assert_eq!(names(directory.path()), ["2"], "the first file must be taken back");
            assert_eq!(fs::read(&second).expect("it"), b"mine");
            pending(&second, true, draft).commit().expect("overwriting was asked for");
            assert_eq!((fs::read(&second).expect("it"), names(directory.path())), (b"whole".into(), vec!["2".into()]));
        }
    }

    #[test]
    fn room_is_summed_over_a_file_system() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("key");
        require_space(&[(&path, 1), (&path, 2)]).expect("three bytes");
        let needed = u64::MAX / 2 + 1;
        match require_space(&[(&path, needed), (&path, needed)]) {
            Err(ClientError::NoSpace { needed: u64::MAX, free, .. }) => assert!(free > 0),
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
