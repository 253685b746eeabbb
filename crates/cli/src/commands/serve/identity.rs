//! Who the server is, kept in the store: hosts recognise a namespace by its UUID, so it must outlive a restart.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::CliError;

/// The file's name within the store.
pub(super) const FILE: &str = "server.json";
/// No such file is longer.
const MAX_BYTES: u64 = 1 << 20;

/// The stored identity.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Identity {
    /// The subsystem's serial number, 20 characters.
    pub(super) serial: String,
    /// UUIDs of namespaces by their identifiers.
    pub(super) namespaces: BTreeMap<u32, Uuid>,
    /// CRC-32C of the others, as they are written; files of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crc32c: Option<u32>,
}

impl Identity {
    /// Reads the file of a store, or begins a new one.
    pub(super) fn load(store: &Path) -> Result<Self, CliError> {
        let path = store.join(FILE);
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::new()),
            Err(error) => return Err(CliError::file("read", &path)(error)),
            Ok(found) if found.len() > MAX_BYTES => {
                return Err(CliError::content(&path)(format!("it has {} bytes, at most {MAX_BYTES}", found.len())));
            }
            Ok(_) => {}
        }
        let bytes = fs::read(&path).map_err(CliError::file("read", &path))?;
        let identity: Self = serde_json::from_slice(&bytes).map_err(|error| unreadable(&path, &error.to_string()))?;
        if identity.serial.is_empty() || identity.serial.len() > 20 || !identity.serial.is_ascii() {
            return Err(unreadable(&path, "the serial number must have 1 to 20 ASCII characters"));
        }
        if identity.crc32c.is_some_and(|stored| stored != identity.checksum()) {
            return Err(unreadable(&path, "its checksum does not fit its content"));
        }
        Ok(identity)
    }

    fn new() -> Self {
        let mut serial = Uuid::new_v4().simple().to_string();
        serial.truncate(20);
        Self { serial, namespaces: BTreeMap::new(), crc32c: None }
    }

    fn checksum(&self) -> u32 {
        let content = Self { crc32c: None, ..self.clone() };
        crc32c::crc32c(&serde_json::to_vec(&content).unwrap_or_default())
    }

    /// The UUID of a namespace: the configured one, else the stored one, else a new one.
    pub(super) fn uuid(&mut self, nsid: u32, configured: Option<Uuid>) -> Uuid {
        let uuid = configured.or_else(|| self.namespaces.get(&nsid).copied()).unwrap_or_else(Uuid::new_v4);
        self.namespaces.insert(nsid, uuid);
        uuid
    }

    /// Writes the file whole or not at all; durable when this returns.
    pub(super) fn save(&self, store: &Path) -> Result<(), CliError> {
        let path = store.join(FILE);
        let write = || -> io::Result<()> {
            let mut draft = tempfile::Builder::new().prefix(".ciphermill-").tempfile_in(store)?;
            serde_json::to_writer_pretty(&mut draft, &Self { crc32c: Some(self.checksum()), ..self.clone() })?;
            draft.write_all(b"\n")?;
            draft.as_file().sync_all()?;
            draft.persist(&path).map_err(|error| error.error)?;
            fs::File::open(store)?.sync_all()
        };
        write().map_err(CliError::file("write", &path))
    }
}

/// The file is damaged; says how the server is had again.
fn unreadable(path: &Path, what: &str) -> CliError {
    CliError::content(path)(format!(
        "{what}; restore the file from a copy, or remove it: the server then makes a new one, with a new serial number \
         and new UUIDs (except UUIDs of the configuration), so that hosts see other namespaces"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_comes_back() {
        let store = tempfile::tempdir().expect("a directory");
        let mut identity = Identity::load(store.path()).expect("a new one");
        assert_eq!(identity.serial.len(), 20);
        let first = identity.uuid(1, None);
        let given = Uuid::from_u128(7);
        assert_eq!(identity.uuid(2, Some(given)), given);
        identity.save(store.path()).expect("written");
        let mut again = Identity::load(store.path()).expect("read");
        assert_eq!(again.serial, identity.serial);
        assert_eq!((again.uuid(1, None), again.uuid(2, None)), (first, given));
        assert_ne!(again.uuid(3, None), first);
        assert_eq!(again.uuid(1, Some(given)), given, "the configuration wins");
    }

    #[test]
    fn a_changed_digit_is_found_and_a_file_without_checksum_is_read() {
        let store = tempfile::tempdir().expect("a directory");
        let mut identity = Identity::new();
        identity.uuid(1, Some(Uuid::from_u128(7)));
        identity.save(store.path()).expect("written");
        let path = store.path().join(FILE);
        let text = fs::read_to_string(&path).expect("there");
        fs::write(&path, text.replace("0007\"", "0008\"")).expect("room");
        let error = Identity::load(store.path()).expect_err("damaged").to_string();
        assert!(error.contains("checksum"), "{error}");
        let earlier = format!("{{\"serial\":\"{}\",\"namespaces\":{{}}}}", identity.serial);
        fs::write(&path, earlier).expect("room");
        assert_eq!(Identity::load(store.path()).expect("read").serial, identity.serial);
    }

    #[test]
    fn a_damaged_file_is_refused_and_kept() {
        let store = tempfile::tempdir().expect("a directory");
        for text in ["", "{}", "{\"serial\":\"\",\"namespaces\":{}}", "{\"serial\":\"a\",\"namespaces\":{\"1\":\"x\"}}"]
        {
            fs::write(store.path().join(FILE), text).expect("room");
            let error = Identity::load(store.path()).expect_err("damaged").to_string();
            assert!(error.contains("server.json") && error.contains("remove it"), "{error}");
            assert_eq!(fs::read_to_string(store.path().join(FILE)).expect("there"), text);
        }
    }
}
