//! Golden bytes of the log, computed outside of this code; damage.

use super::*;
use crate::store::ObjectFlags;
use ciphermill_program::{DataId, KeyId, TypeCode, VrId};
use ciphermill_storage::MemoryStorage;

const STORE: StoreId = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

fn key(data: u32) -> ObjectKey {
    ObjectKey { space: SpaceId(9), id: VrId::new(TypeCode(3), KeyId(4), DataId(data)) }
}

fn record(generation: u64) -> Record {
    Record {
        flags: ObjectFlags::ONE_SHOT,
        size: 9,
        generation,
        origin: 5,
        change: generation + 1,
        computed: false,
        owner: None,
        extents: Vec::new(),
        chunks: vec![0xE306_9283],
    }
}

fn items() -> Vec<Item> {
    vec![
        Item::Put(key(5), record(0x0102)),
        Item::Delete(key(5), 0x0104),
        Item::Space(SpaceId(9), SpaceLimits { bytes: 0x1122, objects: 7 }),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_header_and_a_frame() {
    let id = std::array::from_fn(|index| index as u8);
    let header = encode_header(id, 7);
    assert_eq!(
        hex(&header),
        "434d53544c4f471a0200000000000000000102030405060708090a0b0c0d0e0f0700000000000000950559fb"
    );
    assert_eq!(decode_header(&header), Some((id, 7)));
    let frame = encode_frame(STORE, &items());
    assert_eq!(
        hex(&frame),
        concat!(
            "434d4c4f4746521a99000000030000000160000000434d4f424a45431a000102030405060708090a0b0c0d0e0f05000000",
            "02000000090000000000000002010000000000000500000000000000030100000000000000000009000300000004000000",
            "0500000000000001000000839206e36c62f725021600000000000009000300000004000000050401000000000000031400",
            "0000090000002211000000000000070000000000000039ea0838"
        )
    );
    assert_eq!(decode_frame(&frame), Some((items(), frame.len())));
}

#[test]
fn every_flipped_bit_of_a_frame_is_noticed_and_the_frames_around_it_are_read() {
    let mut bytes = encode_header([7; 16], 1);
    bytes.resize(FRAMES as usize, 0);
    let before = encode_frame(STORE, &[Item::Put(key(1), record(10))]);
    let frame = encode_frame(STORE, &items());
    let after = encode_frame(STORE, &[Item::Put(key(2), record(20))]);
    let start = FRAMES as usize + before.len();
    bytes.extend([before, frame.clone(), after].concat());
    assert_eq!((LogContent::of(&bytes).items.len(), LogContent::of(&bytes).damaged), (5, 0));
    for bit in 0..frame.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[start + bit / 8] ^= 1 << (bit % 8);
        let content = LogContent::of(&damaged);
        assert_eq!(content.damaged, 1, "bit {bit}");
        let (objects, _) = content.fold();
        assert!(objects.contains_key(&key(1)) && objects.contains_key(&key(2)), "bit {bit}");
    }
    for len in 0..bytes.len() {
        let content = LogContent::of(&bytes[..len]);
        assert!(
            content.items.len() <= 5 && content.items.iter().all(|item| LogContent::of(&bytes).items.contains(item))
        );
    }
}

#[test]
fn a_log_that_lags_behind_is_rewritten_and_one_that_agrees_is_kept() {
    let file = Arc::new(MemoryStorage::new());
    let mut index = Index::default();
    let log = Log::open(file.clone(), [7; 16], &index, 1).expect("memory");
    log.append(&[Row::Put(key(5), record(3), record(3).encode([7; 16], key(5), b"123456789"))]);
    let appended = file.to_bytes();
    // The index does not have the object: the log is another's, or the commit was lost.
    drop(Log::open(file.clone(), [7; 16], &index, 5).expect("memory"));
    assert_eq!(LogContent::of(&file.to_bytes()).items, []);
    let placement = crate::store::object::Placement::Inline(Arc::default());
    let object = crate::store::StoredObject::new(key(5), record(3), placement);
    index.objects.insert(key(5), Arc::new(object));
    file.set_len(0).expect("memory");
    file.write_at(0, &appended).expect("memory");
    drop(Log::open(file.clone(), [7; 16], &index, 5).expect("memory"));
    assert_eq!(file.to_bytes(), appended, "it agrees");
    drop(Log::open(file.clone(), [8; 16], &index, 5).expect("memory"));
    assert_eq!(LogContent::of(&file.to_bytes()).header, Some(([8; 16], 5)), "of another store");
}
