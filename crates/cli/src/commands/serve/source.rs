//! The sources of configuration values, so that an error names the file and the line.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::de::DeTable;

use crate::error::CliError;
use ciphermill_client::files;

/// No configuration is longer.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The text of a configuration.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl Source {
    pub(super) fn read(path: &Path) -> Result<Self, CliError> {
        let bytes = files::read(path, MAX_FILE_BYTES)?;
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            CliError::Usage(format!("{}: byte {} is not UTF-8", path.display(), error.valid_up_to()))
        })?;
        Ok(Self { path: path.to_owned(), text: text.to_owned() })
    }

    /// Reads the text; the error names file, line and key.
    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, String> {
        toml::from_str(&self.text).map_err(|error| {
            let line = self.line(error.span().map_or(0, |span| span.start));
            let content = self.text.lines().nth(line - 1).unwrap_or_default();
            let key = content.split_once('=').map_or(content, |(key, _)| key).trim();
            let key = if key.is_empty() { String::new() } else { format!(", `{key}`") };
            format!("{}: line {line}{key}: {}", self.path.display(), error.message())
        })
    }

    /// Names file, line and key of a value that the text is well-formed with and that cannot be all the same.
    fn tell(&self, key: &str, what: &str) -> String {
        let name: Vec<_> = key.split('.').filter(|part| part.parse::<usize>().is_err()).collect();
        let (path, name) = (self.path.display(), name.join("."));
        match self.start_of(key) {
            Some(at) => format!("{path}: line {}, `{name}`: {what}", self.line(at)),
            None => format!("{path}: `{name}`, which is not set: {what}"),
        }
    }

    /// Where the value of a key begins.
    fn start_of(&self, key: &str) -> Option<usize> {
        let document = DeTable::parse(&self.text).ok()?;
        let mut parts = key.split('.');
        let mut value = document.get_ref().get(parts.next()?)?;
        for part in parts {
            value = match part.parse::<usize>() {
                Ok(index) => value.get_ref().get(index)?,
                Err(_) => value.get_ref().get(part)?,
            };
        }
        Some(value.span().start)
    }

    /// The line, from 1 on, that a byte stands in.
    fn line(&self, at: usize) -> usize {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }
}

/// A value that cannot be served with.
#[derive(Debug)]
pub(super) struct Fault {
    whose: Whose,
    what: String,
}

/// The source of a value.
#[derive(Debug)]
pub(super) enum Whose {
    /// A key of the file, as `limits.connections`, or `namespace.1.id` for that of the second one.
    File(String),
    /// An option of the command line.
    Line(&'static str),
    /// No source: the value is missing.
    Nobody,
}

impl Whose {
    /// The command line wins.
    pub(super) fn of<T>(given: Option<&T>, option: &'static str, key: &str) -> Self {
        if given.is_some() { Self::Line(option) } else { Self::File(key.to_owned()) }
    }

    pub(super) fn fault(self, what: impl Into<String>) -> Fault {
        Fault { whose: self, what: what.into() }
    }
}

impl Fault {
    pub(super) fn tell(&self, source: Option<&Source>) -> String {
        let what = &self.what;
        match (&self.whose, source) {
            (Whose::File(key), Some(source)) => source.tell(key, what),
            (Whose::File(key), None) => format!("`{key}`: {what}"),
            (Whose::Line(option), _) => format!("{option}: {what}"),
            (Whose::Nobody, _) => what.clone(),
        }
    }
}
