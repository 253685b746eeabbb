//! The bytes of the store: the superblocks of its files, and the rows of the object table other than records.
//!
//! `docs/device.md` draws them. All integers are little-endian, except in table keys, which are big-endian so that
//! their byte order is the order of (space, type, key id, data id).

use super::{ObjectKey, SpaceId, SpaceLimits};
use ciphermill_program::{DataId, KeyId, TypeCode, VrId};
use ciphermill_storage::{self as storage, FormatError, SuperblockFormat, seal, unseal};
use ciphermill_wire::{Decoder, WireError};

/// Unit of allocation in the data file, in bytes; every extent starts and ends on a multiple of it.
pub const BLOCK_BYTES: u64 = 4096;
/// Bytes covered by one checksum of an object.
pub const CHUNK_BYTES: u64 = 1 << 20;
/// Version of the store format that this build writes.
pub const STORE_VERSION: u16 = 2;
/// The earlier version that this build upgrades when it opens a store.
pub const EARLIER_STORE_VERSION: u16 = 1;

/// The superblock of the data file.
pub(crate) const SUPERBLOCK: SuperblockFormat = SuperblockFormat {
    file: "the data file",
    magic: *b"CMSTORE\x1a",
    version: STORE_VERSION,
    block_bytes: BLOCK_BYTES as u32,
    unit: CHUNK_BYTES as u32,
    units: "chunks",
    padding: 4,
};
/// The superblock of the data file of an earlier store.
pub(crate) const EARLIER_SUPERBLOCK: SuperblockFormat =
    SuperblockFormat { version: EARLIER_STORE_VERSION, ..SUPERBLOCK };
/// The superblock of the swap file, which says to which store its pages belong.
pub(crate) const SWAP_SUPERBLOCK: SuperblockFormat = SuperblockFormat {
    file: "the swap file",
    magic: *b"CMSWAPA\x1a",
    unit: BLOCK_BYTES as u32,
    units: "pages",
    ..SUPERBLOCK
};

/// Bytes of the two rows of the format table.
pub(crate) const GENERATION_BYTES: usize = 12;
pub(crate) const IDENTITY_BYTES: usize = 22;

/// The row of the object table that bounds the generations in use: the first unused one, and a checksum.
pub(crate) fn encode_generation(next: u64) -> Vec<u8> {
    let mut bytes = next.to_le_bytes().to_vec();
    seal(&mut bytes, &[]);
    bytes
}

/// Reads the row that [`encode_generation`] wrote.
pub(crate) fn decode_generation(bytes: &[u8]) -> Result<u64, FormatError> {
    unsealed(bytes, |fields| fields.u64())
        .ok_or_else(|| corrupt("the bound of the generations does not match its checksum"))
}

/// The fields of a row without its checksum; `None` when the checksum or the length is wrong.
fn unsealed<T>(bytes: &[u8], read: impl FnOnce(&mut Decoder<'_>) -> Result<T, WireError>) -> Option<T> {
    let mut fields = Decoder::new(unseal(bytes, &[])?);
    let row = read(&mut fields).ok()?;
    fields.finish().ok()?;
    Some(row)
}

/// A run of blocks of the data file.
pub(crate) type Extent = storage::Extent<u64>;

/// Length of a key of the object table.
pub(crate) const KEY_BYTES: usize = 14;

pub(crate) fn encode_key(key: ObjectKey) -> [u8; KEY_BYTES] {
    let mut bytes = [0; KEY_BYTES];
    bytes[..4].copy_from_slice(&key.space.0.to_be_bytes());
    bytes[4..6].copy_from_slice(&key.id.type_code.0.to_be_bytes());
    bytes[6..10].copy_from_slice(&key.id.key_id.0.to_be_bytes());
    bytes[10..].copy_from_slice(&key.id.data_id.0.to_be_bytes());
    bytes
}

pub(crate) fn decode_key(bytes: &[u8; KEY_BYTES]) -> ObjectKey {
    let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    ObjectKey {
        space: SpaceId(word(0)),
        id: VrId::new(TypeCode(u16::from_be_bytes([bytes[4], bytes[5]])), KeyId(word(6)), DataId(word(10))),
    }
}

/// The value under `store` in the format table: version, store id, checksum.
pub(crate) fn encode_identity(store_id: [u8; 16]) -> Vec<u8> {
    let mut bytes = STORE_VERSION.to_le_bytes().to_vec();
    bytes.extend_from_slice(&store_id);
    seal(&mut bytes, &[]);
    bytes
}

/// The version of a table, which must belong to this store.
pub(crate) fn check_identity(bytes: &[u8], store_id: [u8; 16]) -> Result<u16, FormatError> {
    let (version, id) = unsealed(bytes, |fields| Ok((fields.u16()?, fields.array()?)))
        .ok_or_else(|| corrupt("the format record of the object table does not match its checksum"))?;
    if version != EARLIER_STORE_VERSION {
        FormatError::check_version(version, STORE_VERSION)?;
    }
    match store_id == id {
        true => Ok(version),
        false => Err(corrupt("the object table and the data file belong to two different stores")),
    }
}

pub(crate) fn encode_limits(limits: SpaceLimits) -> Vec<u8> {
    let mut bytes = limits.bytes.to_le_bytes().to_vec();
    bytes.extend_from_slice(&limits.objects.to_le_bytes());
    seal(&mut bytes, &[]);
    bytes
}

pub(crate) fn decode_limits(bytes: &[u8], space: SpaceId) -> Result<SpaceLimits, FormatError> {
    unsealed(bytes, |fields| Ok(SpaceLimits { bytes: fields.u64()?, objects: fields.u64()? }))
        .ok_or_else(|| corrupt(format!("the record of space {space} does not match its checksum")))
}

pub(crate) fn corrupt(what: impl Into<String>) -> FormatError {
    FormatError::corrupt(what)
}

#[cfg(test)]
#[path = "format_golden.rs"]
mod golden;

#[cfg(test)]
mod tests {
    use super::*;
    use ciphermill_storage::Superblock;

    fn key() -> ObjectKey {
        ObjectKey { space: SpaceId(9), id: VrId::new(TypeCode(3), KeyId(0x0102_0304), DataId(5)) }
    }

    #[test]
    fn keys_sort_as_their_fields_do_and_come_back() {
        let bytes = encode_key(key());
        assert_eq!(bytes, [0, 0, 0, 9, 0, 3, 1, 2, 3, 4, 0, 0, 0, 5]);
        assert_eq!(decode_key(&bytes), key());
    }

    #[test]
    fn every_flipped_bit_of_a_superblock_is_noticed() {
        let superblock = Superblock { ready: true, id: [7; 16] };
        let bytes = SUPERBLOCK.encode(superblock);
        assert_eq!(bytes.len() as u64, BLOCK_BYTES);
        assert_eq!(SUPERBLOCK.decode(&bytes).expect("sound"), superblock);
        for bit in 0..SUPERBLOCK.bytes() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(SUPERBLOCK.decode(&damaged).is_err(), "bit {bit}");
        }
    }
}
