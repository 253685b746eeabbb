//! Golden bytes of the volume format: computed outside of this code, from the drawings in `docs/blockspace-volume.md`.

use super::{
    format::{self, Entry, RecordName, SUPERBLOCK},
    map::{Slot, Stripe},
    rows::{self, State},
    segment::{Extent, Segment},
};
use ciphermill_storage::Superblock;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn id() -> [u8; 16] {
    std::array::from_fn(|index| index as u8)
}

#[test]
fn the_superblock() {
    let superblock = Superblock { ready: true, id: id() };
    let bytes = SUPERBLOCK.encode(superblock);
    assert_eq!(hex(&bytes[..40]), "434d564f4c554d1a010001000010000020000000000102030405060708090a0b0c0d0e0fc067351a");
    assert!(bytes.len() == 4096 && bytes[40..].iter().all(|byte| *byte == 0));
    assert_eq!(SUPERBLOCK.decode(&bytes).expect("sound"), superblock);
}

#[test]
fn a_record_of_all_entries() {
    let entries = [
        Entry::Write { space: 1, lba: 5, checksums: vec![0x0102_0304, 5] },
        Entry::Zero { space: 2, lba: 6, blocks: 7 },
        Entry::Unmap { space: 3, lba: 0, blocks: 1 << 52 },
        Entry::SetLabel { space: 4, lba: 8, label: b"label".to_vec() },
        Entry::ClearLabel { space: 5, lba: 9 },
        Entry::Drop { space: 6 },
    ];
    let name = RecordName { volume_id: [7; 16], generation: 3, sequence: 9 };
    let mut bytes = Vec::new();
    format::encode_record(&mut bytes, name, 2, entries.iter());
    let golden = concat!(
        "434d564f5245431a070707070707070707070707070707070300000000000000090000000000000001000000",
        "020000000600000069000000d764ee0300000000010100000005000000000000000200000004030201050000",
        "0002020000000600000000000000070000000000000003030000000000000000000000000000000000100004",
        "04000000080000000000000005006c6162656c050500000009000000000000000606000000"
    );
    assert_eq!(hex(&bytes[..golden.len() / 2]), golden);
    assert!(bytes.len() == 4096 && bytes[golden.len() / 2..].iter().all(|byte| *byte == 0));
    assert_eq!(format::decode_record(&bytes, name).as_deref(), Some(&entries[..]));
}

#[test]
fn the_rows_of_the_map() {
    let state = State { volume_id: id(), sequence: 1, generation: 2, checkpoint: 3 };
    assert_eq!(
        hex(&state.encode()),
        "0100000102030405060708090a0b0c0d0e0f010000000000000002000000000000000300000000000000764fa651"
    );
    let key = (0x0102_0304, 0x0506);
    let mut stripe = Stripe::EMPTY;
    stripe.slots[1] = Slot::ZERO;
    stripe.slots[31] = Slot { physical: 9, checksum: 10 };
    assert_eq!(hex(&rows::encode_stripe(key, &stripe)), "0200008002000000090000000a00000023687109");
    assert_eq!(hex(&rows::encode_label(key, b"name")), "6e616d65ee05f754");
    let extents = vec![Extent { start: 9, blocks: 2 }, Extent { start: 3, blocks: 1 }];
    let segment = Segment::new(5, extents).expect("sound");
    assert_eq!(hex(&rows::encode_segment(&segment)), "0300000001000000090000000200000083d98937");
}
