//! The metadata block: a known answer, and every way of damaging it.

use std::num::NonZeroU32;

use crate::common::{any_register, vr};
use ciphermill_program::{META_BLOCK_BYTES, MetaError, Metadata};
use proptest::prelude::*;

/// Computed by a separate script from the byte table of `docs/program.md`; zeros follow.
const RECORD: [u8; 40] = [
    0x43, 0x4d, 0x4f, 0x42, 0x4a, 0x4d, 0x44, 0x1a, // magic
    0x01, 0x00, 0x04, 0x00, // version, type
    0x07, 0x00, 0x00, 0x00, // key id
    0x03, 0x00, 0x00, 0x00, // data id
    0x03, 0x00, 0x00, 0x00, // flags
    0xdc, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // size
    0x78, 0x56, 0x34, 0x12, // checksum of the object
    0x13, 0xfc, 0x4e, 0x06, // checksum of the record
];

fn known() -> Metadata {
    let object_crc32c = NonZeroU32::new(0x1234_5678);
    Metadata { id: vr("4:7:3"), armed: true, one_shot: true, stored: false, size: 2524, object_crc32c }
}

/// The known block with bytes of its record replaced and, unless the record's checksum is among them, checked again.
fn with(offset: usize, bytes: &[u8]) -> [u8; META_BLOCK_BYTES] {
    let mut block = known().encode();
    block[offset..offset + bytes.len()].copy_from_slice(bytes);
    if offset < 36 {
        let crc = crc32c::crc32c(&block[..36]);
        block[36..40].copy_from_slice(&crc.to_le_bytes());
    }
    block
}

fn message(block: &[u8]) -> String {
    Metadata::decode(block).unwrap_err().to_string()
}

#[test]
fn a_record_has_these_bytes() {
    let block = known().encode();
    assert_eq!(block[..40], RECORD);
    assert!(block[40..].iter().all(|&byte| byte == 0));
    assert_eq!(Metadata::decode(&block), Ok(known()));
}

#[test]
fn the_flags_are_told_apart() {
    for flags in 0..8 {
        let [armed, one_shot, stored] = [1, 2, 4].map(|bit| flags & bit != 0);
        let metadata = Metadata { armed, one_shot, stored, ..known() };
        assert_eq!(metadata.encode(), with(20, &[flags, 0, 0, 0]));
        assert_eq!(Metadata::decode(&metadata.encode()), Ok(metadata));
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    let block = known().encode();
    for bit in 0..META_BLOCK_BYTES * 8 {
        let mut damaged = block;
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(Metadata::decode(&damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn every_other_length_is_refused() {
    let longer = [known().encode().as_slice(), &[0]].concat();
    for length in (0..META_BLOCK_BYTES).chain([META_BLOCK_BYTES + 1]) {
        assert_eq!(Metadata::decode(&longer[..length]), Err(MetaError::Length { given: length }));
    }
    assert_eq!(message(&[1; 3]), "3 bytes are not a metadata block; it has exactly 4096");
}

#[test]
fn every_refusal_says_why() {
    assert_eq!(message(&[0; META_BLOCK_BYTES]), "the block is blank: it names no object");
    let mut foreign = [0; META_BLOCK_BYTES];
    foreign[4095] = 1;
    assert!(
        message(&foreign).starts_with("the first eight bytes are [00, 00, 00, 00, 00, 00, 00, 00], a metadata block")
    );
    assert_eq!(message(&with(8, &[2, 0])), "the metadata block has version 2, this build reads version 1");
    assert_eq!(message(&with(20, &[8, 0, 0, 0])), "the flags are 0x00000008, only the bits 0x7 are defined");
    assert!(matches!(Metadata::decode(&with(36, &[0; 4])), Err(MetaError::Checksum { stored: 0, .. })));
    assert!(message(&with(36, &[0; 4])).starts_with("the record's checksum is 0x00000000, its bytes give 0x064efc13"));
    assert_eq!(message(&with(40, &[7])), "byte 40 is 0x07; bytes 40 to 4095 must be zero");
    assert_eq!(message(&with(4095, &[1])), "byte 4095 is 0x01; bytes 40 to 4095 must be zero");
}

#[test]
fn the_objects_checksum_is_crc32c_and_zero_is_none() {
    // The check value of CRC-32C.
    assert_eq!(Metadata::checksum_of(b"123456789"), NonZeroU32::new(0xe306_9283));
    assert_eq!(Metadata::checksum_of(b""), None);
    assert_eq!(Metadata::decode(&with(32, &[0; 4])).unwrap().object_crc32c, None);
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(
        id in any_register(), armed: bool, one_shot: bool, stored: bool, size: u64, crc: u32,
    ) {
        let metadata = Metadata { id, armed, one_shot, stored, size, object_crc32c: NonZeroU32::new(crc) };
        prop_assert_eq!(Metadata::decode(&metadata.encode()), Ok(metadata));
    }
}
