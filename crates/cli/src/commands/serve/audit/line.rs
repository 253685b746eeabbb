//! The lines of the audit log.

use std::time::{SystemTime, UNIX_EPOCH};

use ciphermill_blockspace::adapter::{AuditEvent, Version};
use ciphermill_nvme::Account;
use serde::Serialize;

use super::limits::{LeftOut, Repeated};

/// One line.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Line<'a> {
    /// Seconds since 1970.
    time: f64,
    action: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    writer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blake3: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// Whether opening the namespace finished the change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    recovery: bool,
    /// Of the action `denied`: further denials of the host that this line stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeated: Option<u64>,
    /// Of the action `left-out`: the account of the missing entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    /// Of the action `left-out`: the number of missing entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

impl<'a> Line<'a> {
    /// The line of an entry; `repeated` are denials that came before it and have no line.
    pub(super) fn of(event: &AuditEvent<'a>, repeated: u64) -> Self {
        let version = |of: fn(Version) -> u64| event.version.map(of);
        Self {
            time: now(),
            action: event.action.name(),
            namespace: Some(event.space),
            host: event.host,
            writer: event.writer,
            object: event.object.map(|id| id.to_string()),
            size: version(|version| version.size),
            generation: version(|version| version.generation),
            blake3: event.version.and_then(|version| version.digest).map(|digest| digest.to_string()),
            block: event.lba,
            reason: event.reason,
            recovery: event.recovery,
            repeated: Some(repeated).filter(|repeated| *repeated > 0),
            ..Self::default()
        }
    }

    /// The line of denials that no further denial has followed.
    pub(super) fn repeated(denials: &'a Repeated) -> Self {
        Self {
            time: now(),
            action: "denied",
            namespace: Some(denials.space),
            host: denials.host.as_deref(),
            repeated: Some(denials.count),
            ..Self::default()
        }
    }

    /// The line of entries that have none.
    pub(super) fn left_out(missing: &LeftOut) -> Self {
        let account = missing.account.as_ref().map(|account| match account {
            Account::Host(name) => name.to_string(),
            Account::Address(address) => address.to_string(),
        });
        Self { time: now(), action: "left-out", account, entries: Some(missing.entries), ..Self::default() }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}
