//! The record of changes to objects, for an audit log.

use ciphermill_device::{ContentDigest, ObjectStat};
use ciphermill_nvme::{Account, Caller};
use ciphermill_program::VrId;
use std::{fmt, sync::Arc};

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A new object was stored as it was written.
    Put,
    /// An object was replaced by another version, as it was written.
    Replaced,
    /// A program ran, and its result was stored in the place of the written object.
    Computed,
    /// A read ran a program; nothing was stored.
    ComputedRead,
    /// The object was deleted.
    Deleted,
    /// The flags of an object were changed.
    Flags,
    /// A host was refused, because it lacks a right.
    Denied,
}

impl Action {
    /// Its name in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Replaced => "replaced",
            Self::Computed => "computed",
            Self::ComputedRead => "computed-read",
            Self::Deleted => "deleted",
            Self::Flags => "flags",
            Self::Denied => "denied",
        }
    }
}

/// One entry of the audit log. Names of hosts are their own claims.
///
/// Opening a namespace finishes completions and deletions that a crash interrupted. Their entries are marked, because the
/// log may have them already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditEvent<'a> {
    /// What happened.
    pub action: Action,
    /// The space of the device, which is the namespace.
    pub space: u32,
    /// The host that declared the object, or whose command deleted it or read it.
    pub host: Option<&'a str>,
    /// The account of the command that made the entry; none for the namespace itself.
    pub account: Option<&'a Account>,
    /// Whether opening the namespace finished the change.
    pub recovery: bool,
    /// Of a completed object, the host that wrote its last blocks, if it is another.
    pub writer: Option<&'a str>,
    /// The object's register; none for a denied command that names no object.
    pub object: Option<VrId>,
    /// Its version; of a deleted object, the deleted one.
    pub version: Option<Version>,
    /// Its first block, if it has an address.
    pub lba: Option<u64>,
    /// Why a command was denied.
    pub reason: Option<&'a str>,
}

/// The host of an entry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct By<'a> {
    pub(super) host: Option<&'a str>,
    pub(super) account: Option<&'a Account>,
    pub(super) recovery: bool,
}

/// The version of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Bytes.
    pub size: u64,
    /// Number of the version; every change of an object has its own.
    pub generation: u64,
    /// The digest of the stored bytes; none for an object that a store of format version 1 had.
    pub digest: Option<ContentDigest>,
}

impl From<&ObjectStat> for Version {
    fn from(stat: &ObjectStat) -> Self {
        Self { size: stat.size, generation: stat.generation, digest: stat.digest }
    }
}

/// The destination of audit entries. A call must not block; it follows the durable change that it reports.
pub trait AuditSink: Send + Sync + fmt::Debug {
    /// Takes an entry.
    fn record(&self, event: &AuditEvent<'_>);
}

/// The sink of a namespace, if it has one.
#[derive(Clone, Debug, Default)]
pub(super) struct Audit {
    pub(super) space: u32,
    pub(super) sink: Option<Arc<dyn AuditSink>>,
}

impl Audit {
    /// Records the action of a host on an object.
    pub(super) fn object(&self, action: Action, by: By<'_>, object: VrId, version: Option<Version>, lba: Option<u64>) {
        let By { host, account, recovery } = by;
        self.record(&AuditEvent {
            action,
            space: self.space,
            host,
            account,
            recovery,
            writer: None,
            object: Some(object),
            version,
            lba,
            reason: None,
        });
    }

    /// Records that a command was denied.
    pub(super) fn denied(&self, caller: &Caller, lba: Option<u64>, reason: &str) {
        self.record(&AuditEvent {
            action: Action::Denied,
            space: self.space,
            host: Some(&caller.host.nqn),
            account: Some(&caller.account),
            recovery: false,
            writer: None,
            object: None,
            version: None,
            lba,
            reason: Some(reason),
        });
    }

    pub(super) fn record(&self, event: &AuditEvent<'_>) {
        if let Some(sink) = &self.sink {
            sink.record(event);
        }
    }
}
