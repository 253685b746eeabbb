//! Writing the files of a key set, all or none.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::ClientError;
use crate::files::{self, PendingFile};

/// A key file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyFile {
    /// The content, for people.
    pub what: &'static str,
    /// The path.
    pub path: PathBuf,
    /// The length in bytes.
    pub bytes: u64,
}

/// The files of a key set while they are being written. [`commit`](Self::commit) makes them appear; if the set is dropped
/// before that, no file remains.
///
/// ```
/// use ciphermill_client::key_files::KeyFiles;
/// use std::io::Write;
///
/// # fn main() -> Result<(), ciphermill_client::ClientError> {
/// let directory = tempfile::tempdir().expect("a directory");
/// let mut set = KeyFiles::new(false);
/// set.secret("secret key", &directory.path().join("me.key"))?.write_secret(b"secret")?;
/// set.public("public key", &directory.path().join("me.pub"))?.fill(|out| out.write_all(b"public"))?;
/// let files = set.commit()?;
/// assert_eq!((files[1].what, files[1].bytes), ("public key", 6));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct KeyFiles {
    overwrite: bool,
    files: Vec<(&'static str, PathBuf, PendingFile)>,
}

impl KeyFiles {
    /// An empty set. Unless `overwrite` is set, no file of it may exist.
    #[must_use]
    pub fn new(overwrite: bool) -> Self {
        Self { overwrite, files: Vec::new() }
    }

    /// Adds a file that only its owner may read.
    ///
    /// # Errors
    /// [`ClientError::SameFile`], or why the file cannot be created.
    pub fn secret(&mut self, what: &'static str, path: &Path) -> Result<&mut PendingFile, ClientError> {
        self.add(what, path, files::SECRET)
    }

    /// Adds a file that anyone may read.
    ///
    /// # Errors
    /// [`ClientError::SameFile`], or why the file cannot be created.
    pub fn public(&mut self, what: &'static str, path: &Path) -> Result<&mut PendingFile, ClientError> {
        self.add(what, path, files::PUBLIC)
    }

    fn add(&mut self, what: &'static str, path: &Path, mode: u32) -> Result<&mut PendingFile, ClientError> {
        if let Some((first, ..)) = self.files.iter().find(|(_, known, _)| known == path) {
            return Err(ClientError::SameFile { first, second: what, path: path.to_owned() });
        }
        let file = PendingFile::create(path, mode, self.overwrite)?;
        self.files.push((what, path.to_owned(), file));
        let index = self.files.len() - 1;
        Ok(self.file(index))
    }

    /// The file that was added as number `index`, from 0.
    pub(crate) fn file(&mut self, index: usize) -> &mut PendingFile {
        &mut self.files[index].2
    }

    /// Makes the content durable and all files appear.
    ///
    /// # Errors
    /// See [`files::commit_all`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut set = key_files::KeyFiles::new(false);
    /// set.public("public key", &path)?.fill(|out| out.write_all(b"key"))?;
    /// assert!(!path.exists());
    /// assert_eq!(set.commit()?[0].bytes, 3);
    /// assert!(path.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(self) -> Result<Vec<KeyFile>, ClientError> {
        let mut written = Vec::with_capacity(self.files.len());
        for (what, path, file) in &self.files {
            written.push(KeyFile { what, path: path.clone(), bytes: file.len()? });
        }
        files::commit_all(self.files.into_iter().map(|(_, _, file)| file))?;
        Ok(written)
    }
}

/// Checks that the files of a key set have different paths.
///
/// # Errors
/// [`ClientError::SameFile`].
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let one_path = [("secret key", Path::new("a.key")), ("public key", Path::new("a.key"))];
/// let refused = key_files::require_distinct(&one_path);
/// assert!(matches!(refused, Err(ClientError::SameFile { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn require_distinct(files: &[(&'static str, &Path)]) -> Result<(), ClientError> {
    for (index, &(second, path)) in files.iter().enumerate() {
        if let Some(&(first, _)) = files[..index].iter().find(|(_, earlier)| *earlier == path) {
            return Err(ClientError::SameFile { first, second, path: path.to_owned() });
        }
    }
    Ok(())
}
