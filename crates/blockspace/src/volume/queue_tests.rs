use super::*;

#[test]
fn unmaps_are_sorted_and_joined_up_to_what_maps() {
    let unmap = |lba, blocks| Operation::Unmap { lba, blocks };
    let clear = Operation::ClearLabel { lba: 4 };
    let operations = vec![
        unmap(9, 3),
        clear,
        unmap(2, 4),
        unmap(6, 1),
        unmap(9, 2),
        Operation::Zero { lba: 3, blocks: 1 },
        unmap(0, 9000),
    ];
    let limits = ChangeLimits { data_blocks: 6, entry_bytes: 1000 };
    let prepared = Prepared::new(Change { space: 3, operations }, limits).expect("sound");
    let unmap = |lba, blocks| Entry::Unmap { space: 3, lba, blocks };
    let zero = Entry::Zero { space: 3, lba: 3, blocks: 1 };
    let wanted = [Entry::ClearLabel { space: 3, lba: 4 }, unmap(2, 5), unmap(9, 3), zero, unmap(0, 9000)];
    assert_eq!(prepared.entries, wanted);
    assert!(!prepared.wide, "what maps blocks is counted");
}

#[test]
fn spaces_share_the_queue_and_relief_has_its_own_room() {
    let mut state = State::default();
    while state.admits(1, false, 10, 100) {
        state.add(1, false, 10);
    }
    assert_eq!(state.bytes(), 100, "alone, a space has all of it");
    assert!(state.admits(1, true, 10, 100), "changes that make room are not refused because of data");
    for space in 2..5 {
        assert!(state.admits(space, false, 1000, 100), "who has nothing waiting is let in");
        while state.admits(space, false, 10, 100) {
            state.add(space, false, 10);
        }
        assert!(!state.admits(1, false, 10, 100));
    }
    let shares = [1, 2, 3, 4].map(|space| state.spaces[&space].data);
    assert_eq!((shares, state.bytes()), ([100, 50, 30, 20], 200));
    (0..9).for_each(|_| state.remove(1, false, 10));
    assert!(state.admits(1, false, 10, 100) && !state.admits(1, false, 20, 100), "it has its share like the others");
    (1..5).for_each(|space| state.remove(space, false, 100));
    assert!(state.spaces.is_empty());
}

#[test]
fn zeros_within_a_write_become_entries_of_their_own() {
    let mut data = vec![0; 6 * BLOCK_BYTES];
    data[BLOCK_BYTES..3 * BLOCK_BYTES].fill(7);
    data[5 * BLOCK_BYTES] = 1;
    let limits = ChangeLimits { data_blocks: 6, entry_bytes: 1000 };
    let change = Change { space: 3, operations: vec![Operation::Write { lba: 100, data: data.clone() }] };
    let prepared = Prepared::new(change.clone(), limits).expect("sound");
    let seven = crc32c::crc32c(&[7; BLOCK_BYTES]);
    let last = crc32c::crc32c(&data[5 * BLOCK_BYTES..]);
    assert_eq!(
        prepared.entries,
        [
            Entry::Zero { space: 3, lba: 100, blocks: 1 },
            Entry::Write { space: 3, lba: 101, checksums: vec![seven; 2] },
            Entry::Zero { space: 3, lba: 103, blocks: 2 },
            Entry::Write { space: 3, lba: 105, checksums: vec![last] },
        ]
    );
    let content: Vec<u8> = prepared.content().flatten().copied().collect();
    assert_eq!(content[..], [&data[BLOCK_BYTES..3 * BLOCK_BYTES], &data[5 * BLOCK_BYTES..]].concat());
    assert_eq!((prepared.data_blocks, prepared.relief), (3, false));
    let limits = ChangeLimits { data_blocks: 5, ..limits };
    assert!(matches!(Prepared::new(change, limits), Err(VolumeError::TooLarge { given: 6, limit: 5, .. })));
}
