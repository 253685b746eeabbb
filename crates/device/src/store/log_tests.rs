//! Golden bytes of the log, computed outside of this code; damage.

use super::*;
use crate::store::{ContentDigest, ObjectFlags};
use ciphermill_program::{DataId, KeyId, TypeCode, VrId};
use ciphermill_storage::{Fault, MemoryStorage, SimulatedDisk};

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
        digest: Some(ContentDigest(std::array::from_fn(|index| 0xa0 + index as u8))),
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
            "434d4c4f4746521aa9000000030000000170000000434d4f424a45431a000102030405060708090a0b0c0d0e0f06000400",
            "02000000090000000000000002010000000000000500000000000000030100000000000000000009000300000004000000",
            "0500000000000001000000a0a1a2a3a4a5a6a7a8a9aaabacadaeaf839206e33dcfeb970216000000000000090003000000",
            "0400000005040100000000000003140000000900000022110000000000000700000000000000c1128c3a"
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

/// Opens the log as a store does, whose table has the bound `next`.
fn open(file: &Arc<MemoryStorage>, id: StoreId, index: &Index, next: u64) -> Log {
    let content = LogContent::read(&**file).expect("memory");
    Log::open(file.clone(), &content, id, index, next)
}

/// The change that makes object 5, and an index with it.
fn put() -> (Row, Index) {
    let row = Row::Put(key(5), record(3), record(3).encode([7; 16], key(5), b"123456789"));
    let placement = crate::store::object::Placement::Inline(Arc::default());
    let object = crate::store::StoredObject::new(key(5), record(3), placement);
    let mut index = Index::default();
    index.objects.insert(key(5), Arc::new(object));
    (row, index)
}

#[test]
fn a_log_that_lags_behind_is_rewritten_and_one_that_agrees_is_kept() {
    let file = Arc::new(MemoryStorage::new());
    let (row, index) = put();
    let log = open(&file, [7; 16], &Index::default(), 3);
    let before = file.to_bytes();
    log.append(&[row], 5);
    let appended = file.to_bytes();
    drop(open(&file, [7; 16], &index, 5));
    assert_eq!(file.to_bytes(), appended, "it agrees");
    // The power cut took the frame.
    drop(file.replace(&mut |file| file.write_at(0, &before)));
    let log = open(&file, [7; 16], &index, 5);
    assert!(!log.agreed());
    let content = LogContent::of(&file.to_bytes());
    assert_eq!(content.items, [Item::Put(key(5), record(3)), Item::Bound(5)]);
    // Object and deletion are both missing: only the bound shows it.
    assert!(!open(&file, [7; 16], &index, 8).agreed());
    drop(open(&file, [8; 16], &index, 5));
    assert_eq!(LogContent::of(&file.to_bytes()).header, Some(([8; 16], 4)), "of another store");
}

#[test]
fn a_log_is_ahead_of_the_table_of_its_own_store_only() {
    let file = Arc::new(MemoryStorage::new());
    let (row, _) = put();
    open(&file, [7; 16], &Index::default(), 3).append(&[row], 5);
    let mut bytes = file.to_bytes();
    let ahead = |bytes: &[u8], id, next| LogContent::of(bytes).ahead_of(id, next);
    assert_eq!([3, 4, 5, 6].map(|next| ahead(&bytes, [7; 16], next)), [Some(5), Some(5), None, None]);
    assert_eq!(ahead(&bytes, [8; 16], 3), None);
    // The records still name the store.
    bytes[20] ^= 1;
    assert_eq!(ahead(&bytes, [7; 16], 3), Some(5));
    // A log of an earlier build states no bound.
    let mut bytes = encode_header([7; 16], 9);
    bytes.resize(FRAMES as usize, 0);
    bytes.extend(encode_frame([7; 16], &[Item::Put(key(5), record(3))]));
    assert_eq!([4, 5].map(|next| ahead(&bytes, [7; 16], next)), [Some(5), None]);
}

#[test]
fn a_full_medium_keeps_the_log_as_it_was_and_the_next_commit_appends_the_missing_frames() {
    let disk = SimulatedDisk::new();
    let file = Arc::new(disk.file("log"));
    let (row, index) = put();
    let log = Log::open(file.clone(), &LogContent::default(), [7; 16], &Index::default(), 3);
    let len = file.len().expect("memory");
    disk.inject(Fault::Capacity(len));
    log.append(std::slice::from_ref(&row), 5);
    log.append(&[Row::Space(SpaceId(1), SpaceLimits::UNLIMITED)], 6);
    assert_eq!(file.len().expect("memory"), len);
    disk.clear_faults();
    log.append(&[Row::Remove(key(5), 6)], 7);
    log.append(&[row], 8);
    let mut index = index;
    index.spaces.insert(SpaceId(1), crate::store::index::SpaceState::new(SpaceLimits::UNLIMITED));
    let content = LogContent::read(&*file).expect("memory");
    assert!(content.agrees([7; 16], &index, 8), "{content:?}");
}

#[test]
fn a_log_that_cannot_be_rewritten_is_tried_again_ever_more_rarely() {
    let disk = SimulatedDisk::new();
    let file = Arc::new(disk.file("log"));
    disk.inject(Fault::Capacity(0));
    let log = Log::open(file.clone(), &LogContent::default(), [7; 16], &Index::default(), 3);
    let before = disk.operations();
    (0..1000).for_each(|_| log.keep_up(&Index::default(), 3));
    // An attempt is two operations: the length of the new file, and its first write.
    let attempts = (disk.operations() - before) / 2;
    assert!((4..8).contains(&attempts), "{attempts} attempts");
    disk.clear_faults();
    (0..MAX_PAUSE).for_each(|_| log.keep_up(&Index::default(), 3));
    assert!(LogContent::read(&*file).expect("memory").agrees([7; 16], &Index::default(), 3));
}

#[test]
fn the_log_is_whole_wherever_the_power_goes_while_it_is_rewritten() {
    let (row, index) = put();
    for cut in 0..8 {
        let disk = SimulatedDisk::new();
        let file = Arc::new(disk.file("log"));
        let log = Log::open(file.clone(), &LogContent::default(), [7; 16], &Index::default(), 3);
        log.append(std::slice::from_ref(&row), 5);
        file.sync().expect("memory");
        disk.inject(Fault::PowerLossAt(disk.operations() + cut));
        log.lock().whole = false;
        log.keep_up(&index, 5);
        for seed in 0..20 {
            let content = LogContent::read(&disk.crash(seed).file("log")).expect("memory");
            assert!(content.agrees([7; 16], &index, 5), "cut {cut}, seed {seed}: {content:?}");
        }
    }
}
