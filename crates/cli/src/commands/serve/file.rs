//! The keys of the configuration file, as they are written.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ciphermill_blockspace::adapter::Rights;
use ciphermill_client::engines::EngineName;
use ciphermill_client::size::Bytes;
use ciphermill_nvme::fabrics::is_nqn;
use ciphermill_nvme::server::HostAccess;
use serde::{Deserialize, Deserializer, de};
use uuid::Uuid;

use super::logging::LogFormat;
use crate::device_args::log2_probability;
use crate::inputs::BackendArg;

/// The file, key by key. Everything may be left out.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    pub(super) store: Option<PathBuf>,
    #[serde(default, deserialize_with = "address")]
    pub(super) listen: Option<SocketAddr>,
    #[serde(default, deserialize_with = "address")]
    pub(super) metrics: Option<SocketAddr>,
    pub(super) allow_hosts: Option<Hosts>,
    #[serde(default, rename = "host")]
    pub(super) hosts: Vec<HostRights>,
    #[serde(default, deserialize_with = "addresses")]
    pub(super) advertise: Vec<SocketAddr>,
    pub(super) capacity: Option<Quota>,
    pub(super) objects: Option<u64>,
    pub(super) swap: Option<Bytes>,
    pub(super) swap_per_namespace: Option<Bytes>,
    pub(super) memory: Option<Bytes>,
    pub(super) key_memory: Option<Bytes>,
    pub(super) backend: Option<BackendArg>,
    #[serde(default, deserialize_with = "engine")]
    pub(super) engine: Option<EngineName>,
    pub(super) max_program_seconds: Option<Seconds>,
    #[serde(default, deserialize_with = "log2")]
    pub(super) max_log2_p_fail: Option<f64>,
    pub(super) assume_range: Option<bool>,
    pub(super) insecure_params: Option<bool>,
    pub(super) grace_seconds: Option<Seconds>,
    pub(super) scrub_hours: Option<Seconds>,
    #[serde(default)]
    pub(super) subsystem: Subsystem,
    #[serde(default)]
    pub(super) log: Log,
    #[serde(default)]
    pub(super) audit: Audit,
    #[serde(default)]
    pub(super) limits: FileLimits,
    #[serde(default, rename = "namespace")]
    pub(super) namespaces: Vec<Namespace>,
}

fn log2<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let given = f64::deserialize(deserializer)?;
    log2_probability(&given.to_string()).map(Some).map_err(de::Error::custom)
}

fn engine<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<EngineName>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(de::Error::custom)
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    super::address(&String::deserialize(deserializer)?).map(Some).map_err(de::Error::custom)
}

fn addresses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SocketAddr>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| super::address(text).map_err(de::Error::custom)).collect()
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Audit {
    pub(super) file: Option<PathBuf>,
    pub(super) bytes: Option<Bytes>,
    pub(super) files: Option<u32>,
    pub(super) entries_per_second: Option<Seconds>,
}

/// A limit in bytes, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quota(pub(super) u64);

impl Quota {
    /// No limit.
    pub(super) const UNLIMITED: Self = Self(u64::MAX);
}

impl std::str::FromStr for Quota {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "unlimited" => Ok(Self::UNLIMITED),
            _ => text.parse().map(|Bytes(bytes)| Self(bytes)).map_err(|what| format!("{what}; or `unlimited`")),
        }
    }
}

impl<'de> Deserialize<'de> for Quota {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a number of bytes such as 100G, or \"unlimited\"")]
        enum Either {
            Number(u64),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Number(bytes) => Ok(Self(bytes)),
            Either::Text(text) => text.parse().map_err(de::Error::custom),
        }
    }
}

/// A host with its rights: all of them unless `rights` names fewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostRights {
    pub(super) nqn: Nqn,
    pub(super) rights: Rights,
}

impl HostRights {
    /// From a name, and the names of rights; without a list, all. `owner-only` alone limits all.
    fn new(nqn: Nqn, words: Option<&[String]>) -> Result<Self, String> {
        let Some(words) = words else { return Ok(Self { nqn, rights: Rights::default() }) };
        if words.is_empty() {
            return Err("the list of rights is empty; leave out the host, or its list of rights for all".to_owned());
        }
        let mut rights = Rights { read: false, write: false, program: false, owner_only: false };
        for word in words {
            match word.as_str() {
                "read" => rights.read = true,
                "write" => rights.write = true,
                "program" => rights.program = true,
                "owner-only" => rights.owner_only = true,
                other => return Err(format!("`{other}` is not a right; use read, write, program and owner-only")),
            }
        }
        if rights.program && !rights.write {
            return Err("`program` needs `write`: programs are written".to_owned());
        }
        if words.iter().all(|word| word == "owner-only") {
            rights = Rights { owner_only: true, ..Rights::default() };
        }
        Ok(Self { nqn, rights })
    }
}

impl std::str::FromStr for HostRights {
    type Err = String;

    /// `NQN=RIGHT,RIGHT`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (nqn, words) = text.split_once('=').ok_or_else(|| format!("`{text}`: write NQN=RIGHT,RIGHT"))?;
        let words: Vec<_> = words.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        Self::new(Nqn::new(nqn)?, Some(&words))
    }
}

impl<'de> Deserialize<'de> for HostRights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            nqn: Nqn,
            rights: Option<Vec<String>>,
        }
        let Table { nqn, rights } = Table::deserialize(deserializer)?;
        Self::new(nqn, rights.as_deref()).map_err(de::Error::custom)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Subsystem {
    pub(super) nqn: Option<Nqn>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Log {
    pub(super) filter: Option<String>,
    pub(super) format: Option<LogFormat>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FileLimits {
    pub(super) connections: Option<usize>,
    pub(super) connections_per_host: Option<usize>,
    pub(super) commands_per_host: Option<usize>,
    pub(super) handshakes: Option<usize>,
    pub(super) handshakes_per_address: Option<usize>,
    pub(super) pending_bytes_per_host: Option<Bytes>,
    pub(super) pending_objects_per_host: Option<usize>,
    pub(super) jobs_per_host: Option<usize>,
    pub(super) queues: Option<u16>,
    pub(super) queue_depth: Option<u16>,
    pub(super) transfer_bytes: Option<Bytes>,
    pub(super) buffer_bytes: Option<Bytes>,
    pub(super) object_bytes: Option<Bytes>,
    pub(super) handshake_seconds: Option<Seconds>,
    pub(super) keep_alive_seconds: Option<Seconds>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Namespace {
    pub(super) id: NamespaceId,
    pub(super) uuid: Option<Uuid>,
    pub(super) size: Option<BlocksSize>,
    pub(super) capacity: Option<Quota>,
    pub(super) objects: Option<u64>,
    pub(super) key_memory: Option<Bytes>,
    pub(super) hosts: Option<Hosts>,
}

/// The allowed hosts: names, or the word `any`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hosts(pub(super) HostAccess);

impl Hosts {
    /// From a list that holds names, or `any` alone.
    pub(super) fn from_words(words: &[String]) -> Result<Self, String> {
        if words.iter().any(|word| word == "any") {
            let alone = words.len() == 1;
            return if alone { Ok(Self(HostAccess::Any)) } else { Err("`any` stands alone or not at all".to_owned()) };
        }
        let names: Result<BTreeSet<_>, _> = words.iter().map(|word| Nqn::new(word).map(|nqn| nqn.0)).collect();
        Ok(Self(HostAccess::List(names?)))
    }
}

impl<'de> Deserialize<'de> for Hosts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a list of NVMe qualified names, or \"any\"")]
        enum Words {
            One(String),
            Many(Vec<String>),
        }
        let words = match Words::deserialize(deserializer)? {
            Words::One(word) if word == "any" => vec![word],
            Words::One(word) => return Err(de::Error::custom(format!("`{word}`: write names as a list, or \"any\""))),
            Words::Many(words) => words,
        };
        Self::from_words(&words).map_err(de::Error::custom)
    }
}

/// A name of a host or subsystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Nqn(pub(super) String);

impl Nqn {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if is_nqn(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("`{text}` is not an NVMe qualified name, as nqn.2014-08.org.nvmexpress:uuid:…"))
        }
    }
}

impl<'de> Deserialize<'de> for Nqn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// A positive number of seconds, or of whatever the key says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seconds(pub(super) f64);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        if value > 0.0 && value <= 1e9 {
            Ok(Self(value))
        } else {
            Err(de::Error::custom("it must be above 0 and at most 10^9"))
        }
    }
}

impl Seconds {
    pub(super) fn duration(self) -> Duration {
        Duration::from_secs_f64(self.0)
    }
}

/// Identifier of a namespace, and of its space of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamespaceId(pub(super) u32);

impl<'de> Deserialize<'de> for NamespaceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            id @ 1..=0xffff_fffe => Ok(Self(id)),
            id => Err(de::Error::custom(format!("{id} is not 1 to 4294967294"))),
        }
    }
}

/// Size of a namespace in bytes: blocks in a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlocksSize(pub(super) Bytes);

impl<'de> Deserialize<'de> for BlocksSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Bytes(bytes) = Bytes::deserialize(deserializer)?;
        if bytes.is_power_of_two() && (1 << 20..=1 << 60).contains(&bytes) {
            Ok(Self(Bytes(bytes)))
        } else {
            Err(de::Error::custom(format!("{bytes} bytes are not a power of two from 1M to 1048576T")))
        }
    }
}
