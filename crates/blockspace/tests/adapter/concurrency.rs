//! Many commands at one time.

use crate::support::*;
use ciphermill_blockspace::{BlockSpaceConfig, adapter::status, volume::VolumeFiles};
use ciphermill_device::StoreFiles;
use ciphermill_nvme::{CommandError, Namespace, Status};
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

/// Begins all writes before it waits for any; gives the outcomes in order.
fn at_once(bench: &Bench, writes: Vec<(u64, Vec<u8>)>) -> Vec<Result<(), CommandError>> {
    let begun: Vec<_> = writes.into_iter().map(|(lba, data)| bench.begin_write(lba, data)).collect();
    let tasks: Vec<_> = begun.into_iter().map(|answer| bench.runtime.spawn(answer.wait())).collect();
    tasks.into_iter().map(|task| bench.runtime.block_on(task).expect("no panic")).collect()
}

#[test]
fn however_the_pieces_of_an_object_meet_it_is_completed_once() {
    let bench = Bench::new();
    let code = program("homintmult 4:0:3, 3\nreturn 4:0:3");
    bench.put(1, metadata("0:0:0", code.len()), &code);
    let mut dice = Dice(11);
    for round in 0..150 {
        let blocks = 1 + dice.below(40) as usize;
        let bytes = pattern(blocks * BLOCK, round);
        let metadata = if dice.below(2) == 0 { checked("4:0:3", &bytes) } else { metadata("4:0:3", bytes.len()) };
        let mut writes = vec![(HALF + 100, metadata.encode().to_vec())];
        let mut at = 0;
        while at < blocks {
            let count = (1 + dice.below(8) as usize).min(blocks - at);
            writes.push((100 + at as u64, bytes[at * BLOCK..(at + count) * BLOCK].to_vec()));
            at += count;
        }
        for index in (1..writes.len()).rev() {
            writes.swap(index, dice.below(index as u64 + 1) as usize);
        }
        let before = bench.runs();
        for outcome in at_once(&bench, writes) {
            outcome.unwrap_or_else(|error| panic!("round {round}: {error}"));
        }
        let tripled =
            bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word).wrapping_mul(3)).collect::<Vec<_>>();
        assert_eq!(bench.stored("4:0:3"), Some(words(&tripled)), "round {round}, {blocks} blocks");
        assert_eq!(bench.runs(), before + 1, "round {round}");
        // A read waits until the volume has followed the device.
        bench.read(100, blocks as u32);
        assert_eq!((bench.space.metrics().declared, bench.volume.mapped(1, 100, 60)), (0, 0), "round {round}");
        bench.deallocate(HALF + 100..HALF + 101).expect("given up");
    }
}

#[test]
fn a_failed_completion_is_told_to_one_command() {
    let bench = Bench::new();
    let bad = [&b"BAD"[..], &pattern(16 * BLOCK - 3, 2)].concat();
    for round in 0..20 {
        bench.declare(100, metadata("1:0:1", bad.len()));
        let writes = bad.chunks(BLOCK).enumerate().map(|(index, block)| (100 + index as u64, block.to_vec())).collect();
        let failed: Vec<_> = at_once(&bench, writes).into_iter().filter_map(Result::err).collect();
        assert_eq!(failed.len(), 1, "round {round}: {failed:?}");
        assert!(failed[0].status.is(status::CONTENT_REFUSED), "{}", failed[0]);
        bench.deallocate(100..116).expect("given up");
    }
}

#[test]
fn reads_see_the_state_before_while_a_program_runs_and_writes_wait() {
    let bench = Bench::new();
    let code = program("homsub 4:0:3, 3:0:2\nreturn 4:0:3");
    bench.put(1, metadata("0:0:0", code.len()), &code);
    bench.put(10, metadata("3:0:2", 8), &words(&[1]));
    bench.put(20, metadata("4:0:3", 8), &words(&[5]));
    assert_eq!(bench.read(20, 1), padded(&words(&[4])));
    bench.declare(20, metadata("4:0:3", 8));
    bench.toy.held.store(true, Ordering::SeqCst);
    let computing = bench.runtime.spawn(bench.begin_write(20, padded(&words(&[100]))).wait());
    let begun = Instant::now();
    while bench.runs() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(10), "the program never ran");
        std::thread::yield_now();
    }
    let second = bench.runtime.spawn(bench.begin_write(20, padded(&words(&[7]))).wait());
    // Reads of it, and everything else.
    assert_eq!(bench.read(20, 1), padded(&words(&[4])));
    bench.put(5, metadata("1:0:9", 3), b"abc");
    bench.write(40, pattern(BLOCK, 1));
    assert_eq!((bench.read(40, 1), bench.stored("1:0:9")), (pattern(BLOCK, 1), Some(b"abc".to_vec())));
    assert!(!second.is_finished() && !computing.is_finished());
    bench.toy.held.store(false, Ordering::SeqCst);
    bench.runtime.block_on(computing).expect("no panic").expect("computed");
    bench.runtime.block_on(second).expect("no panic").expect("written");
    assert_eq!((bench.stored("4:0:3"), bench.read(20, 1)), (Some(words(&[99])), padded(&words(&[7]))));
}

#[test]
fn an_object_declared_where_a_result_may_grow_waits_for_the_result() {
    let bench = Bench::new();
    let code = program("homintmult 4:0:3, -3\nhomsub 4:0:3, 4:0:3\nreturn 4:0:3");
    bench.put(1, metadata("0:0:0", code.len()), &code);
    bench.declare(20, metadata("4:0:3", BLOCK));
    bench.toy.held.store(true, Ordering::SeqCst);
    let computing = bench.runtime.spawn(bench.begin_write(20, pattern(BLOCK, 3)).wait());
    let begun = Instant::now();
    while bench.runs() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(10), "the program never ran");
        std::thread::yield_now();
    }
    let above = bench.runtime.spawn(bench.begin_write(HALF + 22, metadata("1:0:1", 1).encode().to_vec()).wait());
    let far = bench.runtime.spawn(bench.begin_write(HALF + 23, metadata("1:0:2", 1).encode().to_vec()).wait());
    bench.declare(5, metadata("1:0:3", 1));
    assert!(!above.is_finished() && !far.is_finished());
    bench.toy.held.store(false, Ordering::SeqCst);
    bench.runtime.block_on(computing).expect("no panic").expect("computed");
    let error = bench.runtime.block_on(above).expect("no panic").expect_err("an overlap");
    assert!(error.status.is(status::OVERLAP) && error.lba == Some(20), "{error}");
    bench.runtime.block_on(far).expect("no panic").expect("declared");
    assert_eq!(bench.record(20).map(|record| record.size), Some(3 * BLOCK as u64));
}

/// Two places of one register, deletions, completions and reads, all at once: nothing hangs, and the objects at the end
/// are whole.
#[test]
fn commands_on_one_register_at_many_places_never_hang_and_never_tear() {
    let bench = Arc::new(Bench::new());
    let threads: Vec<_> = (0..6u64)
        .map(|thread| {
            let bench = Arc::clone(&bench);
            std::thread::spawn(move || {
                let mut dice = Dice(thread + 1);
                for _ in 0..120 {
                    let first = 50 + 10 * dice.below(3);
                    let id = format!("1:0:{}", dice.below(2));
                    let bytes = [dice.below(250) as u8 + 1; 2 * BLOCK];
                    let outcome = match dice.below(5) {
                        0 | 1 => bench.try_put(first, checked(&id, &bytes), &bytes),
                        2 => bench.deallocate(HALF + first..HALF + first + 1),
                        3 => bench.try_write(first + dice.below(2), bytes[..BLOCK].to_vec()),
                        _ => bench.try_read(first, 2).map(drop),
                    };
                    outcome.unwrap_or_else(|error| panic!("{error}"));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let listed = bench.registers().list();
    for stat in &listed {
        let bytes = bench.registers().read_bytes(stat.id, ciphermill_device::ReadMode::Stored).expect("whole");
        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "{} is torn", stat.id);
    }
    let bound = bench.space.metrics().bound;
    assert_eq!(bound, listed.len() as u64, "every object has a place");
}

#[test]
fn no_more_commands_wait_than_may() {
    let config = BlockSpaceConfig { max_waiting: 2, ..BlockSpaceConfig::new(LOG2) };
    let bench = Bench::with(config);
    let code = program("homsub 4:0:3, 4:0:3\nreturn 4:0:3");
    bench.put(1, metadata("0:0:0", code.len()), &code);
    bench.declare(20, metadata("4:0:3", 8));
    bench.toy.held.store(true, Ordering::SeqCst);
    let computing = bench.runtime.spawn(bench.begin_write(20, padded(&words(&[1]))).wait());
    while bench.runs() < 1 {
        std::thread::yield_now();
    }
    let waiting: Vec<_> =
        (0..5).map(|_| bench.runtime.spawn(bench.begin_write(20, padded(&words(&[2]))).wait())).collect();
    while waiting.iter().filter(|task| task.is_finished()).count() < 3 {
        std::thread::yield_now();
    }
    bench.toy.held.store(false, Ordering::SeqCst);
    bench.runtime.block_on(computing).expect("no panic").expect("computed");
    let outcomes: Vec<_> = waiting.into_iter().map(|task| bench.runtime.block_on(task).expect("no panic")).collect();
    let busy: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
    assert_eq!(busy.len(), 3);
    assert!(busy.iter().all(to_be_sent_again), "{busy:?}");
}

fn to_be_sent_again(error: &CommandError) -> bool {
    error.status.is(Status::COMMAND_INTERRUPTED) && !error.status.is_final()
}

/// A namespace that computes y at block 20 when it is written and x at block 30 when it is read, both only when the toy is
/// let go, with an object at block 40 that is just read.
fn slow(config: BlockSpaceConfig, runtime: Arc<Runtime>) -> Bench {
    let bench = Bench::open(StoreFiles::in_memory(), VolumeFiles::in_memory(), config, runtime).expect("a namespace");
    for (first, key, code) in [(1, 0, "homsub 4:0:3, 4:0:3\nreturn 4:0:3"), (2, 1, "homsub 3:1:2, 3:1:2\nreturn 3:1:2")]
    {
        let code = program(code);
        bench.put(first, metadata(&format!("0:{key}:0"), code.len()), &code);
    }
    bench.put(30, armed("3:1:2", 8 * BLOCK), &pattern(8 * BLOCK, 1));
    bench.put(40, metadata("1:0:1", 9), b"something");
    bench.declare(20, metadata("4:0:3", BLOCK));
    bench.toy.held.store(true, Ordering::SeqCst);
    bench
}

fn await_runs(bench: &Bench, runs: u64) {
    let begun = Instant::now();
    while bench.runs() < runs {
        assert!(begun.elapsed() < Duration::from_secs(10), "the program never ran");
        std::thread::yield_now();
    }
}

#[test]
fn commands_that_wait_for_one_object_or_result_leave_room_for_those_of_others() {
    let config = BlockSpaceConfig { max_waiting: 12, max_waiting_of_object: 4, ..BlockSpaceConfig::new(LOG2) };
    let bench = slow(config, runtime());
    let write = || bench.runtime.spawn(bench.begin_write(20, pattern(BLOCK, 2)).wait());
    let read = || bench.runtime.spawn(Arc::clone(&bench.space).read(&bench.host, 30, 1).wait());
    let computing = write();
    await_runs(&bench, 1);
    let reading = read();
    await_runs(&bench, 2);
    let (writes, reads): (Vec<_>, Vec<_>) = (0..10).map(|_| (write(), read())).unzip();
    let begun = Instant::now();
    while writes.iter().filter(|task| task.is_finished()).count() < 6
        || reads.iter().filter(|task| task.is_finished()).count() < 6
    {
        assert!(begun.elapsed() < Duration::from_secs(10), "too many wait");
        std::thread::yield_now();
    }
    // Everything else goes on, and others may still wait.
    bench.put(50, metadata("1:0:2", 3), b"abc");
    assert_eq!((bench.read(50, 1), bench.read(40, 1)), (padded(b"abc"), padded(b"something")));
    assert!(!computing.is_finished() && !reading.is_finished());
    bench.toy.held.store(false, Ordering::SeqCst);
    bench.runtime.block_on(computing).expect("no panic").expect("computed");
    assert_eq!(bench.runtime.block_on(reading).expect("no panic").expect("computed"), vec![0; BLOCK]);
    let writes: Vec<_> = writes.into_iter().map(|task| bench.runtime.block_on(task).expect("no panic")).collect();
    let reads: Vec<_> = reads.into_iter().map(|task| bench.runtime.block_on(task).expect("no panic")).collect();
    let refused: Vec<_> = writes.into_iter().filter_map(Result::err).collect();
    assert!(refused.len() == 6 && refused.iter().all(to_be_sent_again), "{refused:?}");
    let refused: Vec<_> = reads.into_iter().filter_map(Result::err).collect();
    assert!(refused.len() == 6 && refused.iter().all(to_be_sent_again), "{refused:?}");
}

/// The runtime has four threads for blocking work: if a waiting read held one, the read of another object would not
/// come through.
#[test]
fn a_read_that_waits_for_a_program_holds_no_thread() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).max_blocking_threads(4).enable_all().build().expect("a runtime");
    let bench = slow(BlockSpaceConfig::new(LOG2), Arc::new(runtime));
    let read = |lba| bench.runtime.spawn(Arc::clone(&bench.space).read(&bench.host, lba, 1).wait());
    let mut waiting = vec![read(30)];
    await_runs(&bench, 1);
    waiting.extend((0..100).map(|_| read(30)));
    let writing = bench.runtime.spawn(bench.begin_write(20, pattern(BLOCK, 2)).wait());
    await_runs(&bench, 2);
    let writes: Vec<_> =
        (0..100).map(|_| bench.runtime.spawn(bench.begin_write(20, pattern(BLOCK, 2)).wait())).collect();
    for _ in 0..20 {
        let other = bench.runtime.block_on(async { tokio::time::timeout(Duration::from_secs(10), read(40)).await });
        assert_eq!(other.expect("a thread is free").expect("no panic").expect("read"), padded(b"something"));
    }
    assert!(!waiting.iter().any(|task| task.is_finished()) && !writing.is_finished());
    bench.toy.held.store(false, Ordering::SeqCst);
    for task in waiting {
        bench.runtime.block_on(task).expect("no panic").expect("computed");
    }
    for task in writes.into_iter().chain([writing]) {
        bench.runtime.block_on(task).expect("no panic").expect("written");
    }
}

#[test]
fn a_command_that_nobody_waits_for_is_carried_out() {
    let bench = Bench::new();
    drop(bench.begin_write(HALF + 5, metadata("1:0:1", 4).encode().to_vec()));
    drop(bench.begin_write(90, pattern(BLOCK, 1)));
    let begun = Instant::now();
    while bench.record(5).is_none() || bench.read(90, 1) != pattern(BLOCK, 1) {
        assert!(begun.elapsed() < Duration::from_secs(10), "not carried out");
    }
    bench.wait(Arc::clone(&bench.space).flush(&bench.host)).expect("flushed");
}
