//! Objects that are written again after an attempt that came to nothing.

use crate::support::*;
use ciphermill_blockspace::{BlockSpaceConfig, adapter::status};
use ciphermill_program::Metadata;
use ciphermill_storage::{Fault, SimulatedDisk};

/// As in the sealed formats: the CRC-32C of all earlier bytes at the end.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - 4);
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

fn blocks(bytes: &[u8]) -> Vec<Vec<u8>> {
    padded(bytes).chunks(BLOCK).map(<[u8]>::to_vec).collect()
}

/// Three blocks that are refused.
fn refused() -> Vec<u8> {
    sealed([&b"BAD"[..], &pattern(3 * BLOCK - 50, 1)].concat())
}

/// As many bytes that are taken.
fn taken(seed: u64) -> Vec<u8> {
    sealed(pattern(refused().len(), seed))
}

#[test]
fn sealed_objects_of_one_size_have_one_checksum_and_mixtures_of_them_others() {
    let (one, other) = (taken(2), taken(3));
    assert!(one != other && checked("1:0:1", &one) == checked("1:0:1", &other));
    assert_eq!(checked("1:0:1", &one), checked("1:0:1", &refused()));
    let programs = ["homadd 4:0:3, 3:0:2\nreturn 4:0:3", "homsub 4:0:3, 3:0:1\nreturn 4:0:3"].map(program);
    assert!(programs[0] != programs[1]);
    assert_eq!(checked("0:0:0", &programs[0]), checked("0:0:0", &programs[1]));
    for cut in [8, BLOCK, 2 * BLOCK, one.len() - 4] {
        let mixture = [&one[..cut], &other[cut..]].concat();
        assert_ne!(checked("1:0:1", &mixture), checked("1:0:1", &one), "at {cut}");
    }
}

#[test]
fn the_next_metadata_block_after_a_refusal_begins_anew() {
    for (with_checksum, restart) in [(true, false), (true, true), (false, false), (false, true)] {
        let (bad, good) = (refused(), taken(2));
        let of = |bytes| if with_checksum { checked("1:0:1", bytes) } else { metadata("1:0:1", bytes.len()) };
        let mut bench = Bench::new();
        bench.declare(20, of(&bad));
        let outcomes: Vec<_> = (20..).zip(blocks(&bad)).map(|(lba, block)| bench.try_write(lba, block)).collect();
        assert!(outcomes[..2].iter().all(Result::is_ok));
        let error = outcomes[2].clone().expect_err("BAD");
        assert!(error.status.is(status::CONTENT_REFUSED), "{error}");
        // The last block was not stored; put there as part of a longer write, all of them are.
        let error = bench.try_write(22, [blocks(&bad)[2].clone(), vec![7; BLOCK]].concat()).expect_err("BAD");
        assert!(error.status.is(status::CONTENT_REFUSED), "{error}");
        assert_eq!(bench.volume.mapped(1, 20, 4), 4, "whole, refused, and kept as blocks");
        if restart {
            bench = bench.reopened(BlockSpaceConfig::new(LOG2));
        }
        // Byte for byte the same metadata block, when it has the checksum.
        bench.declare(20, of(&good));
        assert_eq!((bench.volume.mapped(1, 20, 3), bench.read(23, 1)), (0, vec![7; BLOCK]), "and no block but its own");
        for (lba, block) in (20..).zip(blocks(&good)) {
            assert_eq!(bench.stored("1:0:1"), None);
            bench.write(lba, block);
        }
        assert_eq!(bench.stored("1:0:1").as_deref(), Some(&good[..]), "{with_checksum} {restart}");
        assert_eq!(bench.read(20, 3), padded(&good));
    }
}

#[test]
fn an_operand_whose_program_failed_is_not_taken_for_the_next_one() {
    let bench = Bench::new();
    let code = program("homadd 4:0:3, 3:0:2\nreturn 4:0:3");
    bench.put(1, metadata("0:0:0", code.len()), &code);
    let (x, y1, y2) = (pattern(2 * BLOCK, 1), pattern(2 * BLOCK, 2), pattern(2 * BLOCK, 3));
    bench.declare(20, metadata("4:0:3", y1.len()));
    bench.write(20, y1[..BLOCK].to_vec());
    let both = [&y1[BLOCK..], &[0; BLOCK]].concat();
    let error = bench.try_write(21, both).expect_err("no x");
    assert!(error.status.is(status::PROGRAM_FAILED), "{error}");
    bench.put(10, metadata("3:0:2", x.len()), &x);
    bench.declare(20, metadata("4:0:3", y2.len()));
    assert_eq!((bench.runs(), bench.stored("4:0:3")), (0, None));
    bench.write(20, y2[..BLOCK].to_vec());
    bench.write(21, y2[BLOCK..].to_vec());
    let numbers = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>();
    let sums: Vec<_> = numbers(&x).into_iter().zip(numbers(&y2)).map(|(x, y)| x.wrapping_add(y)).collect();
    assert_eq!((bench.stored("4:0:3"), bench.read(20, 2)), (Some(words(&sums)), words(&sums)));
}

/// A host whose connection was lost repeats the unanswered commands, perhaps after the blocks.
#[test]
fn a_metadata_block_that_is_sent_again_keeps_the_blocks() {
    let bench = Bench::new();
    let bytes = taken(2);
    for metadata in [checked("1:0:1", &bytes), metadata("1:0:2", bytes.len())] {
        bench.declare(20, metadata);
        bench.write(21, padded(&bytes[BLOCK..]));
        bench.declare(20, metadata);
        bench.write(20, bytes[..BLOCK].to_vec());
        assert_eq!(bench.stored(&metadata.id.to_string()).as_deref(), Some(&bytes[..]));
    }
}

#[test]
fn with_a_checksum_blocks_of_an_earlier_attempt_wait_to_be_written_again() {
    let bench = Bench::new();
    let (earlier, now) = (taken(2), taken(3));
    // Two of three blocks, before a metadata block or after one.
    for (first, id, declared) in [(20, "1:0:1", false), (30, "1:0:2", true)] {
        if declared {
            bench.declare(first, checked(id, &earlier));
        }
        for (lba, block) in (first..).zip(blocks(&earlier)).skip(1) {
            bench.write(lba, block);
        }
        bench.declare(first, checked(id, &now));
        for (lba, block) in (first..).zip(blocks(&now)) {
            assert_eq!(bench.stored(id), None, "block {lba}");
            bench.write(lba, block);
        }
        assert_eq!(bench.stored(id).as_deref(), Some(&now[..]));
        assert_eq!(bench.read(first, 3), padded(&now));
    }
}

#[test]
fn without_a_checksum_blocks_of_an_earlier_attempt_count_until_they_are_given_up() {
    let (earlier, now) = (pattern(3 * BLOCK, 2), pattern(3 * BLOCK, 3));
    let mixture = [&now[..BLOCK], &earlier[BLOCK..]].concat();
    for (give_up, stored) in [(false, mixture), (true, now.clone())] {
        let bench = Bench::new();
        bench.declare(20, metadata("1:0:1", earlier.len()));
        bench.write(21, earlier[BLOCK..].to_vec());
        if give_up {
            bench.deallocate(20..23).expect("given up");
        }
        bench.declare(20, metadata("1:0:1", now.len()));
        for (lba, block) in (20..).zip(blocks(&now)) {
            bench.write(lba, block);
        }
        assert_eq!(bench.stored("1:0:1"), Some(stored), "as docs/blockspace.md says");
    }
}

/// Very many blocks and a name in one command: the blocks go first, in a separate change, so that no power cut leaves
/// blocks that nothing says whose they are.
#[test]
fn very_many_blocks_are_given_up_before_their_name() {
    const MANY: u32 = 9000;
    let runtime = runtime();
    let of = |bytes: usize| Metadata { object_crc32c: Metadata::checksum_of(b"other"), ..metadata("1:0:1", bytes) };
    let mut seen = Vec::new();
    for cut in 0..40 {
        let disk = SimulatedDisk::new();
        let bench = Bench::on(&disk, &runtime).expect("a namespace");
        bench.declare(20, of(MANY as usize * BLOCK));
        bench.zero(20, MANY).expect("zeros that wait for others");
        disk.inject(Fault::PowerLossAt(disk.operations() + cut));
        let done = bench.deallocate_all(vec![20..20 + u64::from(MANY), HALF + 20..HALF + 21]);
        drop(bench);
        let bench = Bench::on(&disk.crash(cut), &runtime).expect("a namespace");
        let state = (bench.volume.mapped(1, 20, MANY.into()), bench.record(20).is_some());
        assert!(done.is_err() || state == (0, false), "cut {cut}: {state:?}");
        seen.push(state);
        if done.is_ok() {
            break;
        }
    }
    seen.dedup();
    assert_eq!(seen, [(MANY.into(), true), (0, true), (0, false)]);
}

/// A shorter version that is complete and was cut off before the device took it waits for a separate command: writing
/// blocks above the longer version does not bring it about.
#[test]
fn blocks_behind_a_declared_version_do_not_complete_it() {
    let runtime = runtime();
    let (old, new) = (pattern(8 * BLOCK, 1), pattern(2 * BLOCK, 2));
    let mut met = 0;
    for step in 0..40 {
        let disk = SimulatedDisk::new();
        let bench = Bench::on(&disk, &runtime).expect("a namespace");
        bench.put(0, checked("1:0:1", &old), &old);
        bench.write(0, new.clone());
        disk.inject(Fault::PowerLossAt(disk.operations() + step));
        let declared = bench.try_declare(0, checked("1:0:1", &new)).is_ok();
        drop(bench);
        let bench = Bench::on(&disk.crash(step), &runtime).expect("a namespace");
        let before = bench.stored("1:0:1");
        let entry = bench.space.directory(register("1:0:1"), 1).entries[0];
        let complete = entry.declared && before.as_ref() == Some(&old);
        bench.write(5, pattern(BLOCK, 4));
        assert_eq!(bench.stored("1:0:1"), before, "step {step}");
        if complete {
            met += 1;
            bench.declare(0, checked("1:0:1", &new));
            assert_eq!(bench.stored("1:0:1"), Some(new.clone()), "step {step}");
        }
        if declared {
            break;
        }
    }
    assert!(met > 0, "no cut was between the blocks and the device");
}
