//! Golden bytes of the records of format version 1: computed outside of this code, from the drawings of that version.

use super::*;
use crate::store::SpaceId;
use ciphermill_program::{DataId, KeyId, TypeCode, VrId};

fn key() -> ObjectKey {
    ObjectKey { space: SpaceId(9), id: VrId::new(TypeCode(3), KeyId(4), DataId(5)) }
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

fn goldens() -> [(Vec<u8>, Record); 3] {
    let extents = vec![Extent { start: 1, blocks: 200 }, Extent { start: 900, blocks: 57 }];
    let plain = Record {
        flags: ObjectFlags::ARMED,
        size: CHUNK_BYTES + 1,
        generation: 77,
        origin: 0,
        change: 77,
        computed: false,
        owner: None,
        digest: None,
        extents,
        chunks: vec![1, 2],
    };
    let result = Record { origin: 0x0102_0304_0506_0708, computed: true, ..plain.clone() };
    let inline = Record {
        flags: ObjectFlags::ONE_SHOT,
        size: 9,
        generation: 0x0102,
        origin: 5,
        change: 0x0102,
        computed: false,
        owner: None,
        digest: None,
        extents: Vec::new(),
        chunks: vec![0xE306_9283],
    };
    let hex = [
        concat!(
            "010000000100000001001000000000004d0000000000000002000000020000000100000000000000c8000000",
            "0000000084030000000000003900000000000000010000000200000068dc7b63"
        ),
        concat!(
            "030001000100000001001000000000004d000000000000000807060504030201020000000200000001000000",
            "00000000c800000000000000840300000000000039000000000000000100000002000000c7e42f91"
        ),
        concat!(
            "0400000002000000090000000000000002010000000000000500000000000000839206e30000000031323334",
            "353637383922015d72"
        ),
    ];
    let records = [plain, result, inline];
    std::array::from_fn(|index| (bytes(hex[index]), records[index].clone()))
}

#[test]
fn records_with_extents_and_records_with_bytes() {
    for (bytes, record) in goldens() {
        assert_eq!(Record::decode(&bytes, [7; 16], key()).expect("sound"), record);
        if record.is_inline() {
            assert_eq!(Record::content(&bytes), b"123456789");
        }
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    for (bytes, _) in goldens() {
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::decode(&damaged, [7; 16], key()).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(Record::decode(&bytes[..len], [7; 16], key()).is_err(), "length {len}");
        }
    }
}

#[test]
fn records_that_say_what_cannot_be_are_refused() {
    let sealed = |mut bytes: Vec<u8>| {
        let crc = crc32c::crc32c(&bytes).to_le_bytes();
        bytes.extend_from_slice(&crc);
        Record::decode(&bytes, [7; 16], key())
    };
    let record = |version: u8, size: u64, rest: &[u8]| {
        let mut bytes = vec![version, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(rest);
        bytes
    };
    let inline = |size: u64, content: &[u8]| {
        let mut rest = crc32c::crc32c(content).to_le_bytes().to_vec();
        rest.extend_from_slice(&[0; 4]);
        rest.extend_from_slice(content);
        sealed(record(2, size, &rest))
    };
    inline(INLINE_BYTES, &[7; INLINE_BYTES as usize]).expect("the largest");
    assert!(inline(INLINE_BYTES + 1, &[7; INLINE_BYTES as usize + 1]).is_err());
    assert!(inline(0, &[]).is_err() && inline(2, &[7]).is_err() && inline(u64::MAX, &[7]).is_err());
    assert!(sealed(record(1, 5, &[0, 0, 0, 0, 1, 0, 0, 0, 9, 9, 9, 9])).is_err(), "no extents");
    assert!(matches!(sealed(record(5, 5, &[0; 8])), Err(FormatError::Version { given: 5, supported: 4 })));
    assert!(sealed(record(3, 5, &[0; 8])).is_err() && sealed(record(4, 5, &[0; 12])).is_err(), "shorter than its head");
}
