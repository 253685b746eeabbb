//! Declared, complete, bound, replaced, deleted.

use crate::support::*;
use ciphermill_blockspace::{BlockSpaceConfig, adapter::status};
use ciphermill_device::SpaceLimits;
use ciphermill_nvme::{Namespace, Status};
use ciphermill_program::Metadata;

#[test]
fn an_object_is_complete_in_any_order_of_metadata_and_data() {
    let bench = Bench::new();
    let bytes = pattern(3 * BLOCK - 100, 1);
    let blocks = padded(&bytes);
    let block = |index: usize| blocks[index * BLOCK..(index + 1) * BLOCK].to_vec();
    // Steps 0 to 2 write a block, step 3 the metadata block.
    let orders = [[0, 1, 2, 3], [3, 0, 1, 2], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1], [0, 3, 2, 1]];
    for (first, order) in (100..).step_by(10).zip(orders) {
        for with_checksum in [false, true] {
            let (first, id) = (first + 1000 * u64::from(with_checksum), format!("1:{first}:{}", with_checksum as u32));
            let metadata = if with_checksum { checked(&id, &bytes) } else { metadata(&id, bytes.len()) };
            for (done, step) in order.into_iter().enumerate() {
                assert_eq!(bench.stored(&id), None, "before step {done} of {order:?}");
                match step {
                    3 => bench.declare(first, metadata),
                    _ => bench.write(first + step as u64, block(step)),
                }
            }
            assert_eq!(bench.stored(&id).as_deref(), Some(&bytes[..]), "{order:?}");
            assert_eq!(bench.read(first, 3), blocks, "read from the device");
            assert_eq!(bench.volume.mapped(1, first, 3), 0, "no second copy");
            assert_eq!(bench.record(first), Some(checked(&id, &bytes)), "the record of what is stored");
        }
    }
    let metrics = bench.space.metrics();
    assert_eq!((metrics.bound, metrics.declared, metrics.completed, metrics.failed), (12, 0, 12, 0));
}

#[test]
fn the_last_block_is_filled_up_and_the_filling_is_not_kept() {
    let bench = Bench::new();
    let mut blocks = pattern(2 * BLOCK, 3);
    bench.declare(7, checked("1:0:1", &blocks[..BLOCK + 5]));
    bench.write(7, blocks.clone());
    assert_eq!(bench.stored("1:0:1").as_deref(), Some(&blocks[..BLOCK + 5]));
    blocks[BLOCK + 5..].fill(0);
    assert_eq!(bench.read(7, 2), blocks);
}

#[test]
fn one_command_that_brings_the_whole_object_is_not_stored_twice() {
    let bench = Bench::new();
    let before = bench.volume.metrics().data_bytes;
    bench.put(0, metadata("1:0:1", 10_000), &pattern(10_000, 1));
    assert_eq!(bench.volume.metrics().data_bytes, before);
    assert_eq!(bench.space.metrics().completed_directly, 1);
}

#[test]
fn a_wrong_checksum_waits_for_other_blocks() {
    let bench = Bench::new();
    let (right, wrong) = (pattern(2 * BLOCK, 1), pattern(2 * BLOCK, 2));
    bench.declare(0, checked("1:0:1", &right));
    bench.write(0, wrong.clone());
    assert_eq!((bench.stored("1:0:1"), bench.space.metrics().declared), (None, 1));
    assert_eq!(bench.read(0, 2), wrong, "kept as blocks");
    bench.write(0, right[..BLOCK].to_vec());
    assert_eq!(bench.stored("1:0:1"), None);
    bench.write(1, right[BLOCK..].to_vec());
    assert_eq!(bench.stored("1:0:1"), Some(right));
}

#[test]
fn blocks_above_a_bound_object_are_read_and_programs_do_not_see_them() {
    let bench = Bench::new();
    let (old, new) = (pattern(3 * BLOCK, 1), pattern(3 * BLOCK, 2));
    bench.put(20, metadata("1:0:1", old.len()), &old);
    for (index, block) in new.chunks(BLOCK).enumerate() {
        bench.write(20 + index as u64, block.to_vec());
    }
    assert_eq!((bench.read(20, 3), bench.stored("1:0:1")), (new.clone(), Some(old.clone())));
    // Giving a block up shows the object again.
    bench.deallocate(21..22).expect("given up");
    let mixed = [&new[..BLOCK], &old[BLOCK..2 * BLOCK], &new[2 * BLOCK..]].concat();
    assert_eq!(bench.read(20, 3), mixed);
    // A metadata block makes them a version, as soon as they are all there.
    bench.declare(20, metadata("1:0:1", new.len()));
    assert_eq!(bench.stored("1:0:1"), Some(old));
    bench.write(21, new[BLOCK..2 * BLOCK].to_vec());
    assert_eq!((bench.read(20, 3), bench.stored("1:0:1")), (new.clone(), Some(new)));
    assert_eq!(bench.volume.mapped(1, 20, 3), 0);
}

#[test]
fn the_old_version_stays_until_the_new_one_is_complete() {
    let bench = Bench::new();
    let (old, new) = (pattern(2 * BLOCK, 1), pattern(5 * BLOCK + 9, 2));
    bench.put(20, metadata("1:0:1", old.len()), &old);
    bench.declare(20, metadata("1:0:1", new.len()));
    assert_eq!(bench.record(20).map(|record| record.size), Some(old.len() as u64));
    let blocks = padded(&new);
    for index in [5, 3, 1, 0, 4] {
        bench.write(20 + index as u64, blocks[index * BLOCK..(index + 1) * BLOCK].to_vec());
        assert_eq!(bench.stored("1:0:1"), Some(old.clone()));
    }
    bench.write(22, blocks[2 * BLOCK..3 * BLOCK].to_vec());
    assert_eq!((bench.stored("1:0:1"), bench.read(20, 6)), (Some(new), blocks));
    // And to a smaller one; the blocks behind it read as zeros.
    bench.put(20, metadata("1:0:1", 8), &[5; 8]);
    assert_eq!(bench.read(20, 6), padded(&[&[5u8; 8][..], &vec![0; 5 * BLOCK]].concat()));
}

#[test]
fn another_name_or_none_deletes_the_object() {
    let bench = Bench::new();
    let bytes = pattern(2 * BLOCK, 1);
    type Unname = fn(&Bench);
    let ways: [Unname; 5] = [
        |bench| bench.declare(20, metadata("1:0:2", 10)),
        |bench| bench.write(HALF + 20, pattern(BLOCK, 9)),
        |bench| bench.write(HALF + 20, vec![0; BLOCK]),
        |bench| bench.zero(HALF + 20, 1).expect("zeros"),
        |bench| bench.deallocate(HALF..HALF + 1000).expect("given up"),
    ];
    for (way, unname) in ways.into_iter().enumerate() {
        bench.put(20, metadata("1:0:1", bytes.len()), &bytes);
        assert!(bench.stored("1:0:1").is_some());
        unname(&bench);
        assert_eq!(bench.stored("1:0:1"), None, "way {way}");
        assert_eq!(bench.read(20, 2), vec![0; 2 * BLOCK], "way {way}");
        match way {
            0 => assert_eq!(bench.record(20), Some(metadata("1:0:2", 10))),
            1 => assert_eq!(bench.read(HALF + 20, 1), pattern(BLOCK, 9)),
            _ => assert_eq!(bench.record(20), None),
        }
    }
    let bench = bench.reopened(BlockSpaceConfig::new(LOG2));
    assert_eq!((bench.stored("1:0:1"), bench.record(20)), (None, None));
    assert_eq!(bench.volume.labels(1), []);
}

#[test]
fn whichever_place_completes_last_has_the_register() {
    let bench = Bench::new();
    let [a, b] = [1, 2].map(|seed| pattern(2 * BLOCK, seed));
    bench.put(20, metadata("1:0:1", a.len()), &a);
    bench.declare(40, metadata("1:0:1", b.len()));
    assert_eq!(bench.read(20, 2), a);
    bench.write(40, b.clone());
    assert_eq!((bench.stored("1:0:1"), bench.read(40, 2)), (Some(b.clone()), b));
    assert_eq!((bench.read(20, 2), bench.record(20)), (vec![0; 2 * BLOCK], None), "unbound");
    // Its old metadata block names nothing any more: giving it up deletes nothing.
    bench.deallocate(HALF + 20..HALF + 21).expect("given up");
    assert!(bench.stored("1:0:1").is_some());
}

#[test]
fn objects_do_not_overlap_and_do_not_pass_the_half() {
    let bench = Bench::new();
    bench.put(20, metadata("1:0:1", 4 * BLOCK), &pattern(4 * BLOCK, 1));
    bench.declare(30, metadata("1:0:2", 4 * BLOCK));
    let refused = |first: u64, size: usize, other: u64| {
        let error = bench.try_declare(first, metadata("1:0:9", size)).expect_err("an overlap");
        assert!(error.status.is(status::OVERLAP) && error.status.is_final(), "{error}");
        assert_eq!(error.lba, Some(other), "{error}");
        assert!(!error.detail.is_empty());
    };
    refused(19, 2 * BLOCK, 20);
    refused(23, 1, 20);
    refused(0, 21 * BLOCK, 20);
    refused(31, 1, 30);
    refused(24, 7 * BLOCK, 30);
    refused(HALF - 1, BLOCK + 1, HALF);
    bench.declare(19, metadata("1:0:3", BLOCK));
    bench.declare(24, metadata("1:0:4", 6 * BLOCK));
    bench.declare(HALF - 1, metadata("1:0:5", BLOCK));
    // The object itself is not in its own way, and growing over a neighbour is.
    bench.declare(20, metadata("1:0:1", 3 * BLOCK));
    refused(30, (HALF as usize - 30) * BLOCK, HALF - 1);
    // Two in one command, and one that takes the place of one that the same command removes.
    let two = [metadata("1:1:1", 2 * BLOCK).encode(), metadata("1:1:2", BLOCK).encode()].concat();
    let error = bench.try_write(HALF + 100, two.clone()).expect_err("an overlap");
    assert!(error.status.is(status::OVERLAP), "{error}");
    assert_eq!(bench.read(HALF + 100, 2), vec![0; 2 * BLOCK], "nothing of it was done");
    bench.declare(101, metadata("1:1:2", BLOCK));
    let instead = [metadata("1:1:1", 2 * BLOCK).encode(), [0; BLOCK]].concat();
    bench.write(HALF + 100, instead.clone());
    assert_eq!(bench.read(HALF + 100, 2), instead);
}

#[test]
fn what_the_device_can_tell_is_refused_at_once() {
    let bench = Bench::new();
    let refused = |metadata: Metadata, status: Status, word: &str| {
        let error = bench.try_declare(5, metadata).expect_err(word);
        assert!(error.status.is(status) && error.status.is_final() && error.detail.contains(word), "{error}");
        assert_eq!(bench.record(5), None);
    };
    refused(metadata("1:0:1", 0), status::OBJECT_REFUSED, "at least one byte");
    refused(metadata("99:0:1", 8), status::OBJECT_REFUSED, "unknown object type");
    refused(metadata("3:0:1", 9), status::OBJECT_REFUSED, "multiple of 8");
    refused(metadata("0:0:1", 9), status::OBJECT_REFUSED, "not a program register");
    refused(metadata("1:0:1", usize::MAX), status::OVERLAP, "half");
    let mut block = metadata("1:0:1", 8).encode().to_vec();
    block[25] ^= 1;
    let error = bench.try_write(HALF + 5, block.clone()).expect_err("a wrong checksum");
    assert!(error.status.is(status::METADATA_INVALID) && error.detail.contains("checksum"), "{error}");
    // In the data half a block may begin as it likes.
    bench.write(5, block.clone());
    assert_eq!(bench.read(5, 1), block);
}

#[test]
fn the_number_of_places_is_bounded() {
    let bench = Bench::with(BlockSpaceConfig { max_places: 3, ..BlockSpaceConfig::new(LOG2) });
    for place in 0..3 {
        bench.declare(place, metadata(&format!("1:0:{place}"), 1));
    }
    let error = bench.try_declare(3, metadata("1:0:3", 1)).expect_err("one too many");
    assert!(error.status.is(status::TOO_MANY_OBJECTS), "{error}");
    bench.declare(2, metadata("1:0:7", 1));
    bench.deallocate(HALF + 1..HALF + 2).expect("given up");
    bench.declare(3, metadata("1:0:3", 1));
}

#[test]
fn zeros_count_as_written_and_giving_up_does_not() {
    let bench = Bench::new();
    let bytes = [pattern(BLOCK, 1), vec![0; 2 * BLOCK]].concat();
    bench.declare(20, metadata("1:0:1", bytes.len()));
    bench.write(20, bytes[..BLOCK].to_vec());
    bench.zero(21, 1).expect("zeros");
    bench.deallocate(21..22).expect("given up");
    bench.zero(22, 1).expect("zeros");
    assert_eq!(bench.stored("1:0:1"), None);
    bench.zero(21, 1).expect("zeros");
    assert_eq!(bench.stored("1:0:1"), Some(bytes));
    // Above a bound object zeros hide it; plain blocks take nothing.
    bench.zero(20, 3).expect("zeros");
    assert_eq!((bench.read(20, 3), bench.volume.mapped(1, 20, 3)), (vec![0; 3 * BLOCK], 3));
    bench.write(30, pattern(BLOCK, 2));
    bench.zero(28, 8).expect("zeros");
    assert_eq!((bench.read(28, 8), bench.volume.mapped(1, 28, 8)), (vec![0; 8 * BLOCK], 0));
}

#[test]
fn metadata_and_data_of_two_objects_in_one_command() {
    // The last object of the data half and the metadata block of the first lie side by side.
    let bench = Bench::new();
    let bytes = pattern(BLOCK, 1);
    bench.declare(HALF - 1, metadata("1:0:1", BLOCK));
    bench.write(0, padded(b"first"));
    let both = [&bytes[..], &metadata("1:0:2", 5).encode()].concat();
    bench.write(HALF - 1, both);
    assert_eq!((bench.stored("1:0:1"), bench.stored("1:0:2")), (Some(bytes), Some(b"first".to_vec())));
}

#[test]
fn many_objects_in_one_command_and_one_command_that_erases_them() {
    let bench = Bench::new();
    let blocks: Vec<u8> = (0..256).flat_map(|data| metadata(&format!("1:1:{data}"), 4).encode()).collect();
    bench.write(HALF + 300, blocks);
    bench.write(300, (0..256).flat_map(|data| padded(&[data as u8; 4])).collect());
    assert_eq!((bench.space.metrics().bound, bench.stored("1:1:77")), (256, Some(vec![77; 4])));
    bench.deallocate(0..2 * HALF).expect("given up");
    assert_eq!((bench.space.metrics().bound, bench.registers().list().len()), (0, 0));
    assert_eq!(bench.space.geometry().used, 0);
}

#[test]
fn a_failed_completion_changes_nothing_in_the_device() {
    let bench = Bench::new();
    let good = pattern(2 * BLOCK, 1);
    bench.put(20, metadata("1:0:1", good.len()), &good);
    let bad = [&b"BAD"[..], &pattern(2 * BLOCK - 3, 2)].concat();
    // In one command: not even the blocks are stored.
    bench.declare(20, metadata("1:0:1", bad.len()));
    let error = bench.try_write(20, bad.clone()).expect_err("BAD");
    assert!(error.status.is(status::CONTENT_REFUSED) && error.detail.contains("begins with BAD"), "{error}");
    assert_eq!((error.lba, error.status.is_final()), (Some(20), true));
    assert_eq!((bench.stored("1:0:1"), bench.read(20, 2)), (Some(good.clone()), good.clone()));
    // In two: the first was acknowledged and stays; the second completed the object and is the one that fails.
    bench.write(20, bad[..BLOCK].to_vec());
    let error = bench.try_write(21, bad[BLOCK..].to_vec()).expect_err("BAD");
    assert!(error.status.is(status::CONTENT_REFUSED), "{error}");
    assert_eq!(bench.stored("1:0:1"), Some(good.clone()));
    assert_eq!(bench.read(20, 2), [&bad[..BLOCK], &good[BLOCK..]].concat());
    bench.write(20, good[..BLOCK].to_vec());
    bench.write(21, good[BLOCK..].to_vec());
    assert_eq!((bench.stored("1:0:1"), bench.space.metrics().declared), (Some(good), 0));
}

#[test]
fn an_object_that_was_stored_by_other_means_gets_a_place() {
    let bench = Bench::new();
    let bytes = pattern(3 * BLOCK, 5);
    bench.registers().write_bytes(register("1:0:1"), &bytes, Default::default()).expect("stored");
    // Without its checksum it could be another object of that size.
    bench.declare(9, metadata("1:0:1", bytes.len()));
    assert_eq!(bench.space.metrics().bound, 0);
    bench.deallocate(HALF + 9..HALF + 10).expect("given up");
    assert!(bench.stored("1:0:1").is_some(), "it was not bound there");
    bench.declare(9, checked("1:0:1", &bytes));
    assert_eq!((bench.read(9, 3), bench.record(9)), (bytes.clone(), Some(checked("1:0:1", &bytes))));
    let bench = bench.reopened(BlockSpaceConfig::new(LOG2));
    assert_eq!(bench.read(9, 3), bytes);
    // An object deleted by other means loses its place at the next start.
    bench.registers().delete(register("1:0:1")).expect("deleted");
    assert_eq!(bench.read(9, 3), vec![0; 3 * BLOCK]);
    let bench = bench.reopened(BlockSpaceConfig::new(LOG2));
    assert_eq!((bench.record(9), bench.volume.labels(1)), (None, vec![]));
}

#[test]
fn a_restart_keeps_everything() {
    let bench = Bench::new();
    let (bound, declared) = (pattern(3 * BLOCK, 1), pattern(2 * BLOCK, 2));
    bench.put(0, metadata("1:0:1", bound.len()), &bound);
    bench.write(1, pattern(BLOCK, 7));
    bench.declare(10, checked("1:0:2", &declared));
    bench.write(11, declared[BLOCK..].to_vec());
    bench.write(500, pattern(BLOCK, 8));
    let before = [bench.read(0, 12), bench.read(HALF, 12)].concat();
    let bench = bench.reopened(BlockSpaceConfig::new(LOG2));
    assert_eq!([bench.read(0, 12), bench.read(HALF, 12)].concat(), before);
    assert_eq!(bench.read(500, 1), pattern(BLOCK, 8));
    bench.write(10, declared[..BLOCK].to_vec());
    assert_eq!(bench.stored("1:0:2"), Some(declared));
}

#[test]
fn sizes_are_those_of_blocks_and_objects() {
    let bench = Bench::new();
    let geometry = bench.space.geometry();
    assert_eq!((geometry.size, geometry.capacity, geometry.used), (1 << LOG2, 1 << LOG2, 0));
    bench.put(0, metadata("1:0:1", BLOCK + 1), &pattern(BLOCK + 1, 1));
    bench.write(50, pattern(3 * BLOCK, 1));
    assert_eq!(bench.space.geometry().used, 5);
    let past = bench.try_write((1 << LOG2) - 1, vec![0; 2 * BLOCK]).expect_err("past the end");
    assert!(past.status.is(Status::LBA_OUT_OF_RANGE), "{past}");
    assert!(bench.try_read(1 << LOG2, 1).is_err() && bench.try_read(u64::MAX, 2).is_err());
}

#[test]
fn ranges_of_one_command_may_come_in_any_order_and_more_than_once() {
    let bench = Bench::new();
    bench.write(100, pattern(60 * BLOCK, 1));
    bench.put(120, checked("1:0:1", &pattern(2 * BLOCK, 2)), &pattern(2 * BLOCK, 2));
    bench.write(120, pattern(BLOCK, 3));
    let mut ranges = vec![150..155, 100..110, 105..112, 120..121, 112..113, 100..103, 7..7];
    ranges.extend((0..249).map(|_| 100..113));
    bench.deallocate_all(ranges).expect("given up");
    let mut expected = pattern(60 * BLOCK, 1);
    expected[..13 * BLOCK].fill(0);
    expected[50 * BLOCK..55 * BLOCK].fill(0);
    expected[20 * BLOCK..22 * BLOCK].copy_from_slice(&pattern(2 * BLOCK, 2));
    assert!(bench.read(100, 60) == expected);
}

/// The state after a cut between the device and the volume, and changes of the device by other means.
#[test]
fn opening_brings_places_and_objects_together() {
    let bench = Bench::new();
    let store = |id: &str, bytes: &[u8]| {
        bench.registers().write_bytes(register(id), bytes, Default::default()).expect("stored");
    };
    let [grown, shrunk, hemmed, whole, other] = [1, 2, 3, 4, 5].map(|seed| pattern(3 * BLOCK, seed));
    bench.put(0, metadata("1:0:1", BLOCK), &grown[..BLOCK]);
    bench.put(10, metadata("1:0:2", 3 * BLOCK), &shrunk);
    bench.put(20, metadata("1:0:3", BLOCK), &hemmed[..BLOCK]);
    bench.declare(22, checked("1:0:4", &whole));
    bench.write(23, whole[BLOCK..2 * BLOCK].to_vec());
    bench.declare(30, checked("1:0:5", &other));
    store("1:0:1", &grown);
    store("1:0:2", &shrunk[..BLOCK]);
    store("1:0:3", &hemmed);
    store("1:0:4", &whole);
    store("1:0:5", &pattern(3 * BLOCK, 6));
    let bench = bench.reopened(BlockSpaceConfig::new(LOG2));
    assert!(bench.read(0, 3) == grown && bench.record(0).map(|record| record.size) == Some(3 * BLOCK as u64));
    assert!(bench.read(10, 3) == [&shrunk[..BLOCK], &[0; 2 * BLOCK]].concat());
    assert!(bench.record(20).is_none() && bench.read(20, 2) == vec![0; 2 * BLOCK], "no room, no place");
    assert!(bench.read(22, 3) == whole && bench.record(22) == Some(checked("1:0:4", &whole)));
    assert!(bench.read(30, 3) == vec![0; 3 * BLOCK], "another content than was declared");
    let metrics = bench.space.metrics();
    assert_eq!((metrics.bound, metrics.declared, metrics.bound_blocks), (3, 2, 7));
    // The place is its name again.
    bench.declare(12, metadata("1:0:6", 1));
    bench.deallocate(HALF + 22..HALF + 23).expect("deleted");
    bench.deallocate(HALF + 30..HALF + 31).expect("not declared any more");
    assert_eq!((bench.stored("1:0:4"), bench.stored("1:0:5")), (None, Some(pattern(3 * BLOCK, 6))));
    let bench = bench.reopened(BlockSpaceConfig::new(LOG2));
    assert_eq!((bench.space.metrics().bound, bench.space.metrics().declared), (2, 1));
}

/// Blocks that are mapped and blocks of objects have a quota each. The capacity is their sum, at most the size.
#[test]
fn the_capacity_follows_from_the_quotas() {
    let bench = Bench::with(BlockSpaceConfig { capacity: 100, ..BlockSpaceConfig::new(LOG2) });
    let capacity_with = |bytes: u64| {
        bench.device.create_space(NAMESPACE, SpaceLimits { bytes, objects: 3 }).expect("limits");
        let geometry = bench.space.geometry();
        assert_eq!(geometry.size, 1 << LOG2);
        geometry.capacity
    };
    let block = BLOCK as u64;
    assert_eq!(capacity_with(0), 100);
    assert_eq!(capacity_with(40 * block), 140);
    assert_eq!(capacity_with(41 * block - 1), 140, "whole blocks");
    assert_eq!(capacity_with(((1 << LOG2) - 101) * block), (1 << LOG2) - 1);
    assert_eq!(capacity_with(((1 << LOG2) - 99) * block), 1 << LOG2);
    assert_eq!(capacity_with(u64::MAX), 1 << LOG2);
    let bench = bench.reopened(BlockSpaceConfig { capacity: u64::MAX, ..BlockSpaceConfig::new(LOG2) });
    assert_eq!(bench.space.geometry().capacity, 1 << LOG2, "no overflow");
}
