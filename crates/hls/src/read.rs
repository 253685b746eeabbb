//! Sources from files, with the headers next to them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::Source;

/// Bytes of a source, and of a header.
const MAX_BYTES: u64 = 1 << 20;
/// Bytes of a source and its headers.
const MAX_ALL_BYTES: u64 = 4 << 20;
/// Headers of a source.
const MAX_HEADERS: usize = 64;

/// Why a source cannot be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system refuses.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The path has no file name, or one that is not UTF-8.
    #[error("{} has no file name in UTF-8; rename the file", path.display())]
    Name {
        /// The path.
        path: PathBuf,
    },
    /// The path is a directory, a device or a pipe.
    #[error("{} is not a regular file; name a C source", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file is not text.
    #[error("{} is not UTF-8; save it as UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// The file is too long.
    #[error("{} has more than {most} bytes; split it", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The bytes at most.
        most: u64,
    },
    /// The source and its headers are too long together.
    #[error("{} and its headers have more than {most} bytes; include fewer headers", path.display())]
    AllTooLong {
        /// The source.
        path: PathBuf,
        /// The bytes at most.
        most: u64,
    },
    /// There are too many headers.
    #[error("{} includes more than {most} headers; use fewer", path.display())]
    Headers {
        /// The source.
        path: PathBuf,
        /// The headers at most.
        most: usize,
    },
    /// A header is not a file of the source's folder.
    #[error("{}:{line}: the header \"{name}\" is not in the folder of the source; copy it there", path.display())]
    Outside {
        /// The file with the `#include`.
        path: PathBuf,
        /// Its line.
        line: usize,
        /// The header.
        name: String,
    },
}

impl Source {
    /// Reads a source, and the headers that it and its headers include by `#include "name"`. Headers are files in the
    /// source's folder: a name with a `/`, and a link that leads out of the folder, are refused. A header that does not
    /// exist is left out. The compiler then refuses its `#include`, unless a condition excludes it. The source's name is
    /// its file name.
    ///
    /// # Errors
    /// [`ReadError`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_hls::{Source, parse};
    ///
    /// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../hw/hls/ntt_gs.c");
    /// let source = Source::read(path.as_ref())?;
    /// assert_eq!(source.name(), "ntt_gs.c");
    /// let unit = parse(&source, &[])?;
    /// assert!(unit.functions.iter().any(|one| one.name == "ntt_gs"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let named = || ReadError::Name { path: path.to_owned() };
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(named)?.to_owned();
        let folder = match path.parent() {
            Some(parent) if parent != Path::new("") => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let refused = |source| ReadError::File { path: path.to_owned(), source };
        let inside = fs::canonicalize(&folder).map_err(refused)?;
        let text = text(path)?;
        let mut bytes = text.len() as u64;
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        let mut open: Vec<(PathBuf, String)> = vec![(path.to_owned(), text.clone())];
        while let Some((from, content)) = open.pop() {
            for (line, name) in includes(&content) {
                if headers.contains_key(name) {
                    continue;
                }
                let outside = || ReadError::Outside { path: from.clone(), line, name: name.to_owned() };
                if name.contains(['/', '\\', '\0']) || name == ".." || name == "." {
                    return Err(outside());
                }
                let at = folder.join(name);
                // The target of a link is read, not the link, which may change meanwhile.
                let found = match fs::canonicalize(&at) {
                    Ok(found) if found.parent() == Some(&inside) => found,
                    Ok(_) => return Err(outside()),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(source) => return Err(ReadError::File { path: at, source }),
                };
                if headers.len() == MAX_HEADERS {
                    return Err(ReadError::Headers { path: path.to_owned(), most: MAX_HEADERS });
                }
                let content = self::text(&found)?;
                bytes += content.len() as u64;
                if bytes > MAX_ALL_BYTES {
                    return Err(ReadError::AllTooLong { path: path.to_owned(), most: MAX_ALL_BYTES });
                }
                headers.insert(name.to_owned(), content.clone());
                open.push((at, content));
            }
        }
        let source = Self::new(name, text);
        Ok(headers.into_iter().fold(source, |source, (name, content)| source.with_header(name, content)))
    }
}

/// The text of a file.
fn text(path: &Path) -> Result<String, ReadError> {
    let refused = |source| ReadError::File { path: path.to_owned(), source };
    // A pipe would wait for a writer when it is opened.
    if !fs::metadata(path).map_err(refused)?.is_file() {
        return Err(ReadError::NotAFile { path: path.to_owned() });
    }
    let file = File::open(path).map_err(refused)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(refused)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ReadError::TooLong { path: path.to_owned(), most: MAX_BYTES });
    }
    String::from_utf8(bytes).map_err(|_| ReadError::NotText { path: path.to_owned() })
}

/// The lines with `#include "name"`, and the names. Conditions are not evaluated.
fn includes(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(number, line)| {
        let directive = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        let (name, _) = directive.trim_start().strip_prefix('"')?.split_once('"')?;
        Some((number + 1, name))
    })
}
