use super::*;
use ciphermill_storage::Superblock;

fn name() -> RecordName {
    RecordName { volume_id: [7; 16], generation: 3, sequence: 9 }
}

fn entries() -> Vec<Entry> {
    vec![
        Entry::Write { space: 1, lba: 5, checksums: vec![0x0102_0304, 5] },
        Entry::Zero { space: 2, lba: 6, blocks: 7 },
        Entry::Unmap { space: 3, lba: 0, blocks: MAX_BLOCKS },
        Entry::SetLabel { space: 4, lba: 8, label: b"label".to_vec() },
        Entry::ClearLabel { space: 5, lba: 9 },
        Entry::Drop { space: 6 },
    ]
}

fn record(entries: &[Entry], data_blocks: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_record(&mut bytes, name(), data_blocks, entries.iter());
    bytes
}

#[test]
fn a_record_is_as_drawn_and_comes_back() {
    let bytes = record(&entries(), 2);
    assert_eq!(bytes.len(), BLOCK_BYTES);
    assert_eq!(bytes[..8], *b"CMVOREC\x1a");
    assert_eq!(bytes[8..24], [7; 16]);
    assert_eq!(bytes[24..40], [3, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    let len: usize = entries().iter().map(Entry::bytes).sum();
    assert_eq!(bytes[40..56], [1, 0, 0, 0, 2, 0, 0, 0, 6, 0, 0, 0, len as u8, 0, 0, 0]);
    assert_eq!(bytes[60..64], [0; 4]);
    let write = [1, 1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 4, 3, 2, 1, 5, 0, 0, 0];
    assert_eq!(bytes[64..64 + write.len()], write);
    assert_eq!(bytes[64 + len - 5..64 + len], [6, 6, 0, 0, 0]);
    assert_eq!(decode_record_sizes(&bytes, name()), Some(RecordSizes { header_blocks: 1, data_blocks: 2 }));
    assert_eq!(decode_record(&bytes, name()), Some(entries()));
}

#[test]
fn every_flipped_bit_of_a_record_is_noticed() {
    let bytes = record(&entries(), 2);
    let len = RECORD_HEAD_BYTES + entries().iter().map(Entry::bytes).sum::<usize>();
    for bit in 0..len * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(decode_record(&damaged, name()), None, "bit {bit}");
    }
    for wrong in [
        RecordName { volume_id: [8; 16], ..name() },
        RecordName { generation: 4, ..name() },
        RecordName { sequence: 8, ..name() },
    ] {
        assert_eq!(decode_record(&bytes, wrong), None);
    }
    for len in 0..bytes.len() {
        assert_eq!(decode_record(&bytes[..len], name()), None, "length {len}");
    }
}

#[test]
fn a_record_of_many_blocks_comes_back_and_one_that_lies_does_not() {
    let entries = vec![Entry::Write { space: 1, lba: 0, checksums: (0..3000).collect() }];
    let bytes = record(&entries, 3000);
    assert_eq!(bytes.len(), 3 * BLOCK_BYTES);
    assert_eq!(decode_record(&bytes, name()), Some(entries.clone()));
    assert_eq!(decode_record(&record(&entries, 2999), name()), None, "another number of blocks");
    for entry in [
        Entry::Zero { space: 1, lba: 1, blocks: 0 },
        Entry::Zero { space: 1, lba: u64::MAX, blocks: 2 },
        Entry::Unmap { space: 1, lba: MAX_BLOCKS, blocks: 1 },
        Entry::SetLabel { space: 1, lba: 1, label: vec![0; MAX_LABEL_BYTES + 1] },
        Entry::ClearLabel { space: 1, lba: MAX_BLOCKS },
    ] {
        assert_eq!(decode_record(&record(std::slice::from_ref(&entry), 0), name()), None, "{entry:?}");
    }
}

#[test]
fn the_longest_label_comes_back() {
    let entries = vec![Entry::SetLabel { space: 1, lba: 1, label: vec![5; MAX_LABEL_BYTES] }];
    assert_eq!(decode_record(&record(&entries, 0), name()), Some(entries));
}

#[test]
fn a_record_behind_another_is_the_same() {
    let mut bytes = vec![7; 3 * BLOCK_BYTES];
    encode_record(&mut bytes, name(), 2, entries().iter());
    assert_eq!(bytes[3 * BLOCK_BYTES..], record(&entries(), 2));
}

#[test]
fn a_sequence_number_is_read_of_a_record_of_the_segment_only() {
    let bytes = record(&entries(), 2);
    assert_eq!(record_sequence(&bytes, [7; 16], 3), Some(9));
    assert_eq!(record_sequence(&bytes, [8; 16], 3), None);
    assert_eq!(record_sequence(&bytes, [7; 16], 4), None);
    assert_eq!(record_sequence(&[0; BLOCK_BYTES], [7; 16], 3), None);
    assert_eq!(record_sequence(&bytes[..RECORD_HEAD_BYTES - 1], [7; 16], 3), None);
}

#[test]
fn other_versions_are_refused() {
    assert!(check_version(VOLUME_VERSION).is_ok());
    assert!(check_version(VOLUME_VERSION + 1).is_err() && check_version(0).is_err());
}

#[test]
fn every_flipped_bit_of_a_superblock_is_noticed() {
    let superblock = Superblock { ready: true, id: [7; 16] };
    let bytes = SUPERBLOCK.encode(superblock);
    assert_eq!(bytes.len(), BLOCK_BYTES);
    assert_eq!(SUPERBLOCK.decode(&bytes).expect("sound"), superblock);
    for bit in 0..SUPERBLOCK.bytes() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(SUPERBLOCK.decode(&damaged).is_err(), "bit {bit}");
    }
}
