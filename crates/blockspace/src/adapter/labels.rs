//! Labels: the adapter's records at addresses of the volume, durable with the blocks of the same change.
//!
//! ```text
//! offset  bytes  field
//!      0      1  version, 2; 3 if the name of a host follows all other fields
//!      1      1  kind: 1 bound, 2 being deleted, 3 declared, 4 reserved: declared where the namespace chose, 5 failed:
//!                declared, and what its blocks were could not be completed
//! bound, at the first block of the object; being deleted, at what was its first block
//!      2      2  type
//!      4      4  Key ID
//!      8      4  Data ID
//!     12      8  bound: number of blocks; being deleted: generation of the version that goes
//! declared, reserved and failed, at the metadata block
//!      2     40  the record of the metadata block
//!     42      8  number of the declaration: the object that completes it has it as origin in the device
//! host, in version 3, at the end: the host that declared the object, or that deletes it; never of kind 1
//!             1  bytes of the name, 1 to 200
//!                the name, in UTF-8
//! ```
//! The device keeps the owner of a bound object.
//! All numbers are little-endian.

use super::{access::Actor, bindings::Bound};
use ciphermill_program::{DataId, KeyId, META_BLOCK_BYTES, Metadata, TypeCode, VrId};

const VERSION: u8 = 2;
const VERSION_BY: u8 = 3;
const BOUND: u8 = 1;
const DELETED: u8 = 2;
const DECLARED: u8 = 3;
const RESERVED: u8 = 4;
const FAILED: u8 = 5;
/// Bytes of a metadata block before its zeros.
const RECORD_BYTES: usize = 40;

/// The content of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// The object that begins here.
    Bound(Bound),
    /// The version that was bound here and whose place is gone; the device may still hold it.
    Deleted { id: VrId, generation: u64 },
    /// The declaration of the metadata block here.
    Declared(Declaration),
}

/// An object that is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Declaration {
    pub(super) metadata: Metadata,
    pub(super) kind: Kind,
    /// No other declaration of the namespace has it; not 0.
    pub(super) number: u64,
}

/// How it is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// As a metadata block says that a host wrote.
    Declared,
    /// At an address chosen by the namespace; cancelled when idle.
    Reserved,
    /// Declared; it was complete and was refused: the next metadata block gives its blocks up.
    Failed,
}

impl Label {
    pub(super) fn encode(&self) -> Vec<u8> {
        let named = |kind: u8, id: VrId, number: u64| {
            let mut bytes = vec![VERSION, kind];
            bytes.extend_from_slice(&id.type_code.0.to_le_bytes());
            bytes.extend_from_slice(&id.key_id.0.to_le_bytes());
            bytes.extend_from_slice(&id.data_id.0.to_le_bytes());
            bytes.extend_from_slice(&number.to_le_bytes());
            bytes
        };
        match self {
            Self::Bound(Bound { id, blocks }) => named(BOUND, *id, *blocks),
            Self::Deleted { id, generation } => named(DELETED, *id, *generation),
            Self::Declared(Declaration { metadata, kind, number }) => {
                let kind = match kind {
                    Kind::Declared => DECLARED,
                    Kind::Reserved => RESERVED,
                    Kind::Failed => FAILED,
                };
                let mut bytes = vec![VERSION, kind];
                bytes.extend_from_slice(&metadata.encode()[..RECORD_BYTES]);
                bytes.extend_from_slice(&number.to_le_bytes());
                bytes
            }
        }
    }

    /// The same with the host that declared the object, or that deletes it. The label of a bound object names none.
    pub(super) fn encode_by(&self, host: Option<&Actor>) -> Vec<u8> {
        let mut bytes = self.encode();
        let host = host.filter(|_| !matches!(self, Self::Bound(_)));
        if let (Some(host), Some(version)) = (host, bytes.first_mut()) {
            *version = VERSION_BY;
            bytes.push(host.as_str().len() as u8);
            bytes.extend_from_slice(host.as_str().as_bytes());
        }
        bytes
    }

    /// Reads what [`encode_by`](Self::encode_by) wrote; `None` for anything else.
    pub(super) fn decode_by(bytes: &[u8]) -> Option<(Self, Option<Actor>)> {
        if bytes.first() != Some(&VERSION_BY) {
            return Some((Self::decode(bytes)?, None));
        }
        let fixed = match *bytes.get(1)? {
            BOUND => return None,
            DELETED => 20,
            _ => 2 + RECORD_BYTES + 8,
        };
        let (label, name) = bytes.split_at_checked(fixed)?;
        let (&length, name) = name.split_first()?;
        let host = std::str::from_utf8(name).ok().filter(|name| name.len() == usize::from(length));
        let mut label = label.to_vec();
        label[0] = VERSION;
        Some((Self::decode(&label)?, Some(Actor::new(host?)?)))
    }

    /// `None` for bytes that [`encode`](Self::encode) never returns.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[version, kind], rest) = bytes.split_first_chunk()?;
        if version != VERSION {
            return None;
        }
        let declared = match kind {
            DECLARED => Some(Kind::Declared),
            RESERVED => Some(Kind::Reserved),
            FAILED => Some(Kind::Failed),
            _ => None,
        };
        if let Some(kind) = declared {
            let (record, number) = rest.split_first_chunk::<RECORD_BYTES>()?;
            let number = u64::from_le_bytes(number.try_into().ok()?);
            let mut block = [0; META_BLOCK_BYTES];
            block[..RECORD_BYTES].copy_from_slice(record);
            let metadata = Metadata::decode(&block).ok()?;
            return Some(Self::Declared(Declaration { metadata, kind, number }));
        }
        let (type_code, rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_first_chunk()?;
        let (data, rest) = rest.split_first_chunk()?;
        let number = u64::from_le_bytes(rest.try_into().ok()?);
        let id = VrId::new(
            TypeCode(u16::from_le_bytes(*type_code)),
            KeyId(u32::from_le_bytes(*key)),
            DataId(u32::from_le_bytes(*data)),
        );
        match kind {
            BOUND => Some(Self::Bound(Bound { id, blocks: number })),
            DELETED => Some(Self::Deleted { id, generation: number }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    #[test]
    fn labels_have_these_bytes() {
        let id = VrId::new(TypeCode(4), KeyId(0x0102_0304), DataId(9));
        let bound = Label::Bound(Bound { id, blocks: 0x55 });
        assert_eq!(bound.encode(), [2, 1, 4, 0, 4, 3, 2, 1, 9, 0, 0, 0, 0x55, 0, 0, 0, 0, 0, 0, 0]);
        let deleted = Label::Deleted { id, generation: 7 };
        assert_eq!(deleted.encode()[..2], [2, 2]);
        let object_crc32c = NonZeroU32::new(77);
        let metadata = Metadata { id, armed: true, one_shot: true, stored: false, size: 5000, object_crc32c };
        let awaited = |metadata, kind, number| Label::Declared(Declaration { metadata, kind, number });
        let declared = awaited(metadata, Kind::Declared, 0x0102);
        assert_eq!(declared.encode()[..10], *b"\x02\x03CMOBJMD\x1a");
        assert_eq!(declared.encode()[42..], [2, 1, 0, 0, 0, 0, 0, 0]);
        let metadata = Metadata { id, armed: false, one_shot: true, stored: true, size: 1 << 33, object_crc32c: None };
        let reserved = awaited(metadata, Kind::Reserved, u64::MAX);
        assert_eq!(reserved.encode()[..2], [2, 4]);
        let failed = awaited(metadata, Kind::Failed, 1);
        assert_eq!(failed.encode()[..2], [2, 5]);
        for label in [bound, deleted, declared, reserved, failed] {
            let bytes = label.encode();
            assert_eq!(Label::decode(&bytes), Some(label));
            for end in 0..bytes.len() {
                assert_eq!(Label::decode(&bytes[..end]), None);
            }
            assert_eq!(Label::decode(&[&bytes[..], &[0]].concat()), None);
        }
        let host = Actor::new("host").expect("short");
        assert_eq!(deleted.encode_by(None), deleted.encode());
        let named = deleted.encode_by(Some(&host));
        assert_eq!((named[0], &named[20..]), (3, &b"\x04host"[..]));
        assert_eq!(bound.encode_by(Some(&host)), bound.encode());
        assert_eq!(Label::decode_by(&[&[3], &bound.encode()[1..], b"\x04host"].concat()), None);
        let longest = Actor::new(&"x".repeat(Actor::MAX_BYTES)).expect("as long as it may be");
        for label in [deleted, declared, reserved, failed] {
            for host in [None, Some(host.clone()), Some(longest.clone())] {
                let bytes = label.encode_by(host.as_ref());
                assert!(bytes.len() <= crate::volume::MAX_LABEL_BYTES);
                assert_eq!(Label::decode_by(&bytes), Some((label, host)));
                for end in 0..bytes.len() {
                    assert_eq!(Label::decode_by(&bytes[..end]), None);
                }
            }
        }
        assert_eq!(Label::decode(&[1, 1, 4, 0, 4, 3, 2, 1, 9, 0, 0, 0, 0x55, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(Label::decode(&[2, 6, 4, 0, 4, 3, 2, 1, 9, 0, 0, 0, 0x55, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
