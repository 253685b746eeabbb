//! Golden bytes of the store format: computed outside of this code, from the drawings in `docs/device.md`.

use super::*;
use ciphermill_storage::Superblock;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn id() -> [u8; 16] {
    std::array::from_fn(|index| index as u8)
}

fn key() -> ObjectKey {
    ObjectKey { space: SpaceId(9), id: VrId::new(TypeCode(3), KeyId(4), DataId(5)) }
}

#[test]
fn the_superblock() {
    for (ready, golden) in [
        (true, "434d53544f52451a01000100001000000000100000000000000102030405060708090a0b0c0d0e0f1a034ab2"),
        (false, "434d53544f52451a01000000001000000000100000000000000102030405060708090a0b0c0d0e0f1342f1a7"),
    ] {
        let bytes = SUPERBLOCK.encode(Superblock { ready, id: id() });
        assert_eq!(hex(&bytes[..44]), golden);
        assert!(bytes.len() == 4096 && bytes[44..].iter().all(|byte| *byte == 0));
        assert_eq!(SUPERBLOCK.decode(&bytes).expect("sound"), Superblock { ready, id: id() });
    }
}

#[test]
fn the_rows_beside_the_objects() {
    assert_eq!(hex(&encode_generation(0x0102_0304_0506_0708)), "08070605040302011c02f926");
    assert_eq!(hex(&encode_identity(id())), "0100000102030405060708090a0b0c0d0e0f0e5df55d");
    let limits = SpaceLimits { bytes: 0x1122, objects: 7 };
    assert_eq!(hex(&encode_limits(limits)), "22110000000000000700000000000000aab89976");
    assert_eq!(decode_limits(&encode_limits(limits), SpaceId(1)).expect("sound"), limits);
}

#[test]
fn records_with_extents_and_records_with_bytes() {
    let (flags, generation) = (ObjectFlags::ARMED, 77);
    let extents = vec![Extent { start: 1, blocks: 200 }, Extent { start: 900, blocks: 57 }];
    let plain =
        Record { flags, size: CHUNK_BYTES + 1, generation, origin: 0, computed: false, extents, chunks: vec![1, 2] };
    let result = Record { origin: 0x0102_0304_0506_0708, computed: true, ..plain.clone() };
    let inline = Record {
        flags: ObjectFlags::ONE_SHOT,
        size: 9,
        generation: 0x0102,
        origin: 5,
        computed: false,
        extents: Vec::new(),
        chunks: vec![0xE306_9283],
    };
    let goldens = [
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
    for ((record, content), golden) in
        [(plain, &b""[..]), (result, b""), (inline, b"123456789")].into_iter().zip(goldens)
    {
        let bytes = record.encode(content);
        assert_eq!(hex(&bytes), golden);
        assert_eq!(Record::decode(&bytes, key()).expect("sound"), record);
    }
}
