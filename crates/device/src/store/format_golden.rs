//! Golden bytes of the store format: computed outside of this code, from the drawings in `docs/device.md`.

use super::*;
use ciphermill_storage::Superblock;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn id() -> [u8; 16] {
    std::array::from_fn(|index| index as u8)
}

#[test]
fn the_superblocks() {
    for (format, ready, golden) in [
        (SUPERBLOCK, true, "434d53544f52451a02000100001000000000100000000000000102030405060708090a0b0c0d0e0f4772a1f4"),
        (SUPERBLOCK, false, "434d53544f52451a02000000001000000000100000000000000102030405060708090a0b0c0d0e0f4e331ae1"),
        (
            EARLIER_SUPERBLOCK,
            true,
            "434d53544f52451a01000100001000000000100000000000000102030405060708090a0b0c0d0e0f1a034ab2",
        ),
        (
            EARLIER_SUPERBLOCK,
            false,
            "434d53544f52451a01000000001000000000100000000000000102030405060708090a0b0c0d0e0f1342f1a7",
        ),
        (
            SWAP_SUPERBLOCK,
            true,
            "434d53574150411a02000100001000000010000000000000000102030405060708090a0b0c0d0e0f18d4cae9",
        ),
    ] {
        let bytes = format.encode(Superblock { ready, id: id() });
        assert_eq!(hex(&bytes[..44]), golden);
        assert!(bytes.len() == 4096 && bytes[44..].iter().all(|byte| *byte == 0));
        assert_eq!(format.decode(&bytes).expect("sound"), Superblock { ready, id: id() });
    }
}

#[test]
fn the_rows_beside_the_objects() {
    assert_eq!(hex(&encode_generation(0x0102_0304_0506_0708)), "08070605040302011c02f926");
    assert_eq!(hex(&encode_identity(id())), "0200000102030405060708090a0b0c0d0e0f735b4e4c");
    let earlier = [&[1, 0], &id()[..], &[0x0e, 0x5d, 0xf5, 0x5d]].concat();
    assert_eq!(check_identity(&earlier, id()), Ok(1));
    let limits = SpaceLimits { bytes: 0x1122, objects: 7 };
    assert_eq!(hex(&encode_limits(limits)), "22110000000000000700000000000000aab89976");
    assert_eq!(decode_limits(&encode_limits(limits), SpaceId(1)).expect("sound"), limits);
}
