//! Compute-on-write.

use crate::support::*;
use ciphermill_blockspace::{BlockSpaceConfig, adapter::status};
use ciphermill_program::Metadata;

/// x at block 10, and a program that adds it to y.
fn adder() -> Bench {
    let bench = Bench::new();
    let code = program("homadd 4:0:3, 3:0:2\nreturn 4:0:3");
    bench.put(1, metadata("0:0:0", code.len()), &code);
    bench.put(10, metadata("3:0:2", 16), &words(&[100, 200]));
    bench
}

#[test]
fn the_last_block_of_a_compute_on_write_object_runs_the_program() {
    let bench = adder();
    bench.put(20, metadata("4:0:3", 16), &words(&[1, 2]));
    assert_eq!(bench.read(20, 1), padded(&words(&[101, 202])));
    assert_eq!(bench.runs(), 1);
    assert_eq!(bench.record(20), Some(checked("4:0:3", &words(&[101, 202]))));
    // Data first, metadata last; and a second operand in the place of the first result.
    bench.write(20, padded(&words(&[5, 5])));
    assert_eq!(bench.runs(), 1);
    bench.declare(20, metadata("4:0:3", 16));
    assert_eq!((bench.read(20, 1), bench.runs()), (padded(&words(&[105, 205])), 2));
}

#[test]
fn the_directory_tells_what_is_a_result() {
    let bench = adder();
    let computed = |bench: &Bench, id: &str| bench.space.directory(register(id), 1).entries[0].computed;
    bench.put(20, metadata("4:0:3", 16), &words(&[1, 2]));
    assert!(computed(&bench, "4:0:3") && !computed(&bench, "3:0:2") && !computed(&bench, "0:0:0"));
    let bench = bench.reopened(BlockSpaceConfig::new(LOG2));
    assert!(computed(&bench, "4:0:3") && !computed(&bench, "3:0:2"));
    // Bit by bit what was written, and a result all the same.
    bench.put(10, metadata("3:0:2", 16), &words(&[0, 0]));
    bench.put(20, metadata("4:0:3", 16), &words(&[1, 2]));
    assert_eq!((bench.stored("4:0:3"), computed(&bench, "4:0:3")), (Some(words(&[1, 2])), true));
    bench.put(20, Metadata { stored: true, ..metadata("4:0:3", 16) }, &words(&[1, 2]));
    assert!(!computed(&bench, "4:0:3"));
}

#[test]
fn an_operand_may_be_stored_without_computing() {
    let bench = adder();
    bench.put(20, Metadata { stored: true, ..metadata("4:0:3", 16) }, &words(&[1, 2]));
    assert_eq!((bench.stored("4:0:3"), bench.runs()), (Some(words(&[1, 2])), 0));
    assert_eq!(bench.record(20).map(|record| record.stored), Some(false), "no property of the object");
    bench.put(20, metadata("4:0:3", 16), &words(&[1, 2]));
    assert_eq!((bench.runs(), bench.space.metrics().stored_without_program), (1, 0));
}

#[test]
fn an_operand_without_a_program_is_counted() {
    let bench = Bench::new();
    let counted = || bench.space.metrics().stored_without_program;
    bench.put(20, metadata("4:0:3", 16), &words(&[1, 2]));
    assert_eq!((bench.stored("4:0:3"), bench.runs(), counted()), (Some(words(&[1, 2])), 0, 1));
    // The writer did not expect a computation of these.
    bench.put(20, Metadata { stored: true, ..metadata("4:0:3", 16) }, &words(&[1, 2]));
    bench.put(10, metadata("3:0:2", 16), &words(&[100, 200]));
    assert_eq!(counted(), 1);
}

#[test]
fn a_failed_program_leaves_everything() {
    let bench = adder();
    bench.put(20, metadata("4:0:3", 16), &words(&[1, 2]));
    let code = program("homadd 4:0:3, 3:0:99\nreturn 4:0:3");
    bench.put(1, metadata("0:0:0", code.len()), &code);
    bench.declare(20, metadata("4:0:3", 16));
    let error = bench.try_write(20, padded(&words(&[7, 7]))).expect_err("a failed program");
    assert!(error.status.is(status::PROGRAM_FAILED) && error.status.is_final(), "{error}");
    assert!(error.detail.contains("3:0:99"), "the cause in words: {error}");
    assert_eq!(bench.read(20, 1), padded(&words(&[101, 202])));
    assert_eq!(bench.stored("4:0:3"), Some(words(&[101, 202])));
    let counts = bench.space.metrics();
    assert_eq!((counts.failed, counts.declared), (1, 1));
}

#[test]
fn a_result_may_be_longer_than_its_operand_where_there_is_room() {
    let bench = Bench::new();
    let code = program("homintmult 4:0:3, -3\nreturn 4:0:3");
    bench.put(1, metadata("0:0:0", code.len()), &code);
    let operand = pattern(2 * BLOCK, 4);
    let tripled = operand.repeat(3);
    // Plain blocks under the result make way for it.
    bench.write(14, pattern(4 * BLOCK, 9));
    bench.put(10, metadata("4:0:3", operand.len()), &operand);
    assert_eq!(bench.read(10, 6), tripled);
    assert_eq!(bench.read(16, 2), pattern(4 * BLOCK, 9)[2 * BLOCK..]);
    assert_eq!(bench.record(10).map(|record| record.size), Some(6 * BLOCK as u64));
    // The blocks of the result are the object's.
    let error = bench.try_declare(15, metadata("1:0:1", 1)).expect_err("an overlap");
    assert_eq!((error.status.is(status::OVERLAP), error.lba), (true, Some(10)));
    bench.declare(16, metadata("1:0:1", 1));
    // The result needs six blocks, and another object has the sixth: the write fails, and nothing is stored.
    bench.put(30, metadata("4:0:3", 8), &words(&[1]));
    assert_eq!(bench.record(10), None, "the register moved");
    bench.put(15, metadata("1:0:2", 1), &[1]);
    bench.declare(10, metadata("4:0:3", operand.len()));
    let error = bench.try_write(10, operand.clone()).expect_err("no room");
    assert!(error.status.is(status::RESULT_TOO_LARGE), "{error}");
    assert_eq!(bench.stored("4:0:3"), Some(words(&[1, 1, 1])));
    assert_eq!(bench.stored("1:0:2"), Some(vec![1]));
}

#[test]
fn one_namespace_never_computes_on_anothers_objects() {
    let bench = adder();
    let second = bench.second_namespace();
    let code = program("homadd 4:0:3, 3:0:2\nreturn 4:0:3");
    // x is at the same register and block of the first namespace only.
    second.put(1, metadata("0:0:0", code.len()), &code);
    let error = second.try_put(20, metadata("4:0:3", 16), &words(&[1, 2])).expect_err("no operand");
    assert!(error.status.is(status::PROGRAM_FAILED) && error.detail.contains("3:0:2"), "{error}");
    assert_eq!(second.read(10, 1), vec![0; BLOCK]);
    // Nor does a program of the first run for the second.
    second.deallocate(HALF..2 * HALF).expect("given up");
    second.put(20, metadata("4:0:3", 16), &words(&[1, 2]));
    assert_eq!(second.read(20, 1), padded(&words(&[1, 2])));
    second.put(10, metadata("3:0:2", 16), &words(&[7, 7]));
    bench.put(20, metadata("4:0:3", 16), &words(&[1, 2]));
    assert_eq!(bench.read(20, 1), padded(&words(&[101, 202])));
    assert_eq!(bench.read(10, 1), padded(&words(&[100, 200])));
}
