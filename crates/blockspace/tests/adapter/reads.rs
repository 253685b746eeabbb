//! Plain reads, and compute-on-read.

use crate::support::*;
use ciphermill_blockspace::{BlockSpaceConfig, adapter::status};
use ciphermill_nvme::Namespace;
use ciphermill_program::Metadata;
use std::{sync::Arc, time::Duration};

/// x of `blocks` blocks at block 20, doubled when it is read while armed.
fn doubling(config: BlockSpaceConfig, blocks: usize) -> (Bench, Vec<u8>, Vec<u8>) {
    let bench = Bench::with(config);
    let code = program("homintmult 3:0:2, 2\nreturn 3:0:2");
    bench.put(1, metadata("0:0:0", code.len()), &code);
    let x = pattern(blocks * BLOCK, 1);
    bench.put(20, metadata("3:0:2", x.len()), &x);
    let double = x.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word).wrapping_mul(2)).collect::<Vec<_>>();
    (bench, x, words(&double))
}

fn plain() -> BlockSpaceConfig {
    BlockSpaceConfig::new(LOG2)
}

#[test]
fn what_nobody_wrote_is_zeros() {
    let bench = Bench::new();
    assert_eq!(bench.read(1234, 5), vec![0; 5 * BLOCK]);
    bench.write(1235, pattern(BLOCK, 1));
    assert_eq!(bench.read(1234, 3), [vec![0; BLOCK], pattern(BLOCK, 1), vec![0; BLOCK]].concat());
}

/// Linux reads the first block and two of the last after it has connected.
#[test]
fn probes_of_a_host_run_nothing() {
    let (bench, x, _) = doubling(plain(), 2);
    for lba in [0, (1 << LOG2) - 256, (1 << LOG2) - 1, 20, 21, HALF + 20] {
        bench.read(lba, 1);
    }
    assert_eq!((bench.runs(), bench.read(20, 2)), (0, x));
}

#[test]
fn an_armed_object_is_computed_when_it_is_read_and_stays_what_it_is() {
    let (bench, x, double) = doubling(plain(), 2);
    bench.declare(20, armed("3:0:2", x.len()));
    assert_eq!(bench.record(20).map(|record| record.armed), Some(true));
    assert_eq!(bench.runs(), 0, "the metadata block may be read");
    for round in 1..=3 {
        assert_eq!(bench.read(20, 2), double);
        assert_eq!(bench.runs(), round, "a block read again is a new run");
    }
    assert_eq!(bench.stored("3:0:2"), Some(x.clone()));
    // A read of more than the object, and of its neighbours.
    let wide = bench.read(18, 6);
    assert_eq!(wide[2 * BLOCK..4 * BLOCK], double);
    bench.declare(20, metadata("3:0:2", x.len()));
    assert_eq!((bench.read(20, 2), bench.runs()), (x, 4));
}

#[test]
fn a_result_is_kept_until_each_of_its_blocks_was_read() {
    let (bench, x, double) = doubling(plain(), 4);
    bench.declare(20, armed("3:0:2", x.len()));
    let block = |index: usize| double[index * BLOCK..(index + 1) * BLOCK].to_vec();
    for index in [2, 0, 3] {
        assert_eq!(bench.read(20 + index as u64, 1), block(index));
    }
    assert_eq!((bench.runs(), bench.space.metrics().sessions), (1, 1));
    assert_eq!(bench.read(21, 1), block(1));
    assert_eq!((bench.runs(), bench.space.metrics().sessions), (1, 0));
    // Read again before all were read: a new run, whose blocks are all unread.
    bench.read(20, 2);
    bench.read(21, 2);
    assert_eq!(bench.runs(), 3);
    bench.read(20, 1);
    bench.read(23, 1);
    assert_eq!((bench.runs(), bench.space.metrics().sessions), (3, 0));
}

#[test]
fn one_shot_is_disarmed_by_its_first_read_whose_result_is_read_to_its_end() {
    let (bench, x, double) = doubling(plain(), 2);
    bench.declare(20, Metadata { one_shot: true, ..armed("3:0:2", x.len()) });
    assert_eq!(bench.read(20, 1), double[..BLOCK]);
    assert_eq!(bench.record(20).map(|record| record.armed), Some(false));
    assert_eq!(bench.read(21, 1), double[BLOCK..]);
    assert_eq!(bench.read(20, 2), x);
    let bench = bench.reopened(plain());
    assert_eq!((bench.read(20, 2), bench.runs()), (x, 1));
}

#[test]
fn parallel_reads_of_one_result_run_the_program_once() {
    let (bench, x, double) = doubling(plain(), 64);
    bench.declare(20, armed("3:0:2", x.len()));
    let answers: Vec<_> = (0..16).map(|part| Arc::clone(&bench.space).read(&bench.host, 20 + 4 * part, 4)).collect();
    let parts = answers.into_iter().map(|answer| bench.runtime.spawn(answer.wait())).collect::<Vec<_>>();
    let parts: Vec<_> = parts.into_iter().map(|part| bench.runtime.block_on(part).expect("no panic")).collect();
    assert_eq!(parts.into_iter().map(|part| part.expect("read")).collect::<Vec<_>>().concat(), double);
    assert_eq!(bench.runs(), 1);
}

#[test]
fn a_result_longer_than_its_object_is_read_beyond_it() {
    let (bench, x, _) = doubling(plain(), 2);
    let code = program("homintmult 3:0:2, -3\nreturn 3:0:2");
    bench.put(1, metadata("0:0:0", code.len()), &code);
    bench.declare(20, armed("3:0:2", x.len()));
    let tripled = x.repeat(3);
    assert_eq!(bench.read(20, 1), tripled[..BLOCK]);
    assert_eq!(bench.record(20).map(|record| record.size), Some(tripled.len() as u64), "so that the host can tell");
    assert_eq!(bench.read(21, 5), tripled[BLOCK..]);
    assert_eq!(bench.record(20).map(|record| record.size), Some(x.len() as u64));
    assert_eq!((bench.read(22, 4), bench.runs()), (vec![0; 4 * BLOCK], 1));
    // With another object in its way it cannot be read, and is not taken for read.
    bench.put(24, metadata("1:0:1", 1), &[1]);
    bench.declare(20, Metadata { one_shot: true, ..armed("3:0:2", x.len()) });
    for _ in 0..2 {
        let error = bench.try_read(20, 1).expect_err("no room");
        assert!(error.status.is(status::RESULT_TOO_LARGE) && error.status.is_final(), "{error}");
        assert!(error.detail.contains("24576") && error.detail.contains("16384"), "{error}");
        assert_eq!(bench.record(20).map(|record| record.armed), Some(true));
    }
    bench.deallocate(HALF + 24..HALF + 25).expect("given up");
    assert!([bench.read(20, 1), bench.read(21, 5)].concat() == tripled);
    assert_eq!(bench.record(20).map(|record| record.armed), Some(false));
}

#[test]
fn what_was_written_above_an_armed_object_is_read_from_there() {
    let (bench, x, double) = doubling(plain(), 3);
    bench.declare(20, armed("3:0:2", x.len()));
    bench.write(21, pattern(BLOCK, 9));
    assert_eq!((bench.read(21, 1), bench.runs()), (pattern(BLOCK, 9), 0));
    let mixed = [&double[..BLOCK], &pattern(BLOCK, 9), &double[2 * BLOCK..]].concat();
    assert_eq!(bench.read(20, 3), mixed);
}

#[test]
fn an_armed_object_without_a_program_is_an_error_that_says_so() {
    let (bench, x, _) = doubling(plain(), 1);
    bench.deallocate(HALF + 1..HALF + 2).expect("given up");
    bench.declare(20, armed("3:0:2", x.len()));
    let error = bench.try_read(19, 3).expect_err("no program");
    assert!(error.status.is(status::NO_PROGRAM) && error.detail.contains("0:0:0"), "{error}");
    assert_eq!(error.lba, Some(20));
    // A table never computes, armed or not.
    bench.put(30, armed("1:0:1", 5), b"table");
    assert_eq!(bench.read(30, 1), padded(b"table"));
}

#[test]
fn results_are_bounded_in_number_bytes_and_time() {
    let (bench, x, double) = doubling(BlockSpaceConfig { max_sessions: 2, ..plain() }, 2);
    let code = program("homintmult 3:1:2, 2\nreturn 3:1:2");
    bench.put(3, metadata("0:1:0", code.len()), &code);
    let code = program("homintmult 3:2:2, 2\nreturn 3:2:2");
    bench.put(5, metadata("0:2:0", code.len()), &code);
    bench.put(30, armed("3:1:2", x.len()), &x);
    bench.put(40, armed("3:2:2", x.len()), &x);
    bench.declare(20, armed("3:0:2", x.len()));
    for first in [20, 30, 40] {
        assert_eq!(bench.read(first, 1), double[..BLOCK]);
    }
    assert_eq!((bench.space.metrics().sessions, bench.runs()), (2, 3));
    assert_eq!(bench.read(31, 1), double[BLOCK..]);
    assert_eq!(bench.runs(), 3);
    assert_eq!((bench.read(21, 1), bench.runs()), (double[BLOCK..].to_vec(), 4), "the oldest went");

    let (bench, x, _) = doubling(BlockSpaceConfig { session_bytes: 5000, ..plain() }, 2);
    bench.declare(20, armed("3:0:2", x.len()));
    let error = bench.try_read(20, 1).expect_err("too large");
    assert!(error.status.is(status::RESULT_TOO_LARGE), "{error}");

    let (bench, x, _) = doubling(BlockSpaceConfig { session_idle: Duration::from_millis(20), ..plain() }, 2);
    bench.declare(20, armed("3:0:2", x.len()));
    bench.read(20, 1);
    std::thread::sleep(Duration::from_millis(40));
    bench.read(21, 1);
    assert_eq!(bench.runs(), 2);
}
