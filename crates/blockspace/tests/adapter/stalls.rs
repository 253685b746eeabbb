//! A host whose program runs for long delays its own commands, and not the commands of other hosts.

use crate::support::*;
use ciphermill_blockspace::BlockSpaceConfig;
use ciphermill_nvme::{CommandError, Namespace, Status};
use std::{ops::Range, sync::Arc, time::Duration};
use tokio::task::JoinHandle;

/// A command in progress.
type Begun = JoinHandle<Result<(), CommandError>>;

const SLOW: &str = "homsub 4:0:3, 4:0:3\nreturn 4:0:3";

/// A namespace where the first host's program for the object at block 20 runs until it is let go. The register is bound at
/// block 40, and the host has five more objects.
fn computing() -> (Bench, Begun, Held) {
    let bench = Bench::new();
    let code = program(SLOW);
    bench.put(40, metadata("4:0:3", 8), &words(&[1]));
    bench.put(1, checked("0:0:0", &code), &code);
    for data in 0..5 {
        bench.put(1000 + 6000 * data, metadata(&format!("1:0:{data}"), 8), &words(&[data]));
    }
    bench.declare(20, metadata("4:0:3", 8));
    let held = bench.hold();
    let task = bench.runtime.spawn(bench.begin_write(20, padded(&words(&[7]))).wait());
    bench.await_runs(1);
    (bench, task, held)
}

fn deallocate(bench: &Bench, ranges: Vec<Range<u64>>) -> Begun {
    bench.runtime.spawn(Arc::clone(&bench.space).deallocate(&bench.host, ranges).wait())
}

/// Another host writes, declares, completes, deletes and deallocates while the first host's `commands` wait.
fn others_go_on(begin: impl FnOnce(&Bench) -> Vec<Begun>) {
    let (mut bench, task, held) = computing();
    let commands = begin(&bench);
    // Their requests are to be in place before those of others.
    std::thread::sleep(Duration::from_millis(100));
    assert!(commands.iter().all(|command| !command.is_finished()), "they wait for the program");
    let first = std::mem::replace(&mut bench.host, host("two"));
    bench.at_once(bench.begin_write(500, pattern(BLOCK, 1))).expect("a plain write");
    for key in 1..20u64 {
        let (place, bytes) = (600 + 10 * key, pattern(2 * BLOCK, key));
        let metadata = checked(&format!("1:{key}:0"), &bytes);
        bench.at_once(bench.begin_write(HALF + place, metadata.encode().to_vec())).expect("declared");
        bench.at_once(bench.begin_write(place, bytes)).expect("completed");
    }
    let ranges: Vec<_> = (1..7).map(|key| HALF + 600 + 10 * key..HALF + 601 + 10 * key).collect();
    bench.at_once(Arc::clone(&bench.space).deallocate(&bench.host, ranges)).expect("deleted");
    let plain: Vec<_> = (0..6).map(|index| 5000 + 10 * index..5001 + 10 * index).collect();
    bench.at_once(Arc::clone(&bench.space).deallocate(&bench.host, plain)).expect("plain blocks");
    assert!(commands.iter().all(|command| !command.is_finished()) && !task.is_finished());
    bench.host = first;
    drop(held);
    bench.runtime.block_on(task).expect("no panic").expect("computed");
    for command in commands {
        bench.runtime.block_on(command).expect("no panic").expect("its turn comes");
    }
    let written = bench.read(500, 1);
    assert!(written == pattern(BLOCK, 1) || written == vec![0; BLOCK]);
}

#[test]
fn many_ranges_that_wait_for_a_program_hold_back_no_other_host() {
    others_go_on(|bench| {
        let spread = (0..40).map(|index| 100 + 700 * index..101 + 700 * index);
        let ranges = spread.chain([20..21, HALF + 30_000..HALF + 30_001]);
        vec![deallocate(bench, ranges.collect())]
    });
}

#[test]
fn a_wide_range_that_waits_for_a_program_holds_back_no_other_host() {
    others_go_on(|bench| {
        let all = deallocate(bench, std::iter::once(0..HALF).collect());
        std::thread::sleep(Duration::from_millis(20));
        // It waits for the host's own command, and not for the program.
        let declared = bench.begin_write(HALF + 5500, metadata("1:0:50", 300 * BLOCK).encode().to_vec());
        vec![all, bench.runtime.spawn(declared.wait())]
    });
}

/// The deletion of a register whose new version is being computed elsewhere waits without locks on blocks.
#[test]
fn a_register_that_waits_for_a_program_holds_back_no_other_host() {
    others_go_on(|bench| {
        let names = (0..5).map(|data| 1000 + 6000 * data).chain([40]);
        let names = names.map(|first| HALF + first..HALF + first + 1);
        vec![deallocate(bench, names.chain(std::iter::once(400..990)).collect())]
    });
}

/// Waiting commands of one host do not use up the number that may wait for an object.
#[test]
fn many_waiting_commands_of_a_host_leave_room_for_those_of_others() {
    let config = BlockSpaceConfig { max_waiting_of_object: 4, ..BlockSpaceConfig::new(LOG2) };
    let mut bench = Bench::with(config);
    let code = program(SLOW);
    bench.put(1, checked("0:0:0", &code), &code);
    bench.declare(20, metadata("4:0:3", 8));
    let held = bench.hold();
    let task = bench.runtime.spawn(bench.begin_write(20, padded(&words(&[7]))).wait());
    bench.await_runs(1);
    let begin = |bench: &Bench| bench.runtime.spawn(bench.begin_write(20, padded(&words(&[8]))).wait());
    let own: Vec<_> = (0..6).map(|_| begin(&bench)).collect();
    while own.iter().filter(|command| command.is_finished()).count() < 2 {
        std::thread::yield_now();
    }
    bench.host = host("two");
    let other = begin(&bench);
    std::thread::sleep(Duration::from_millis(100));
    assert!(!other.is_finished(), "it waits");
    drop(held);
    bench.runtime.block_on(task).expect("no panic").expect("computed");
    bench.runtime.block_on(other).expect("no panic").expect("written");
    let refused = own.into_iter().filter_map(|command| bench.runtime.block_on(command).expect("no panic").err());
    let refused: Vec<_> = refused.collect();
    assert!(refused.len() == 2 && refused.iter().all(|error| error.status.is(Status::COMMAND_INTERRUPTED)));
}

/// A deletion holds locks while the device deletes, so it must not wait for the threads of programs.
#[test]
fn a_deletion_waits_for_no_program() {
    let bench = Bench::with(BlockSpaceConfig { device_jobs: 1, ..BlockSpaceConfig::new(LOG2) });
    let code = program(SLOW);
    bench.put(1, checked("0:0:0", &code), &code);
    bench.put(100, metadata("1:0:1", 8), &words(&[1]));
    bench.declare(20, metadata("4:0:3", 8));
    let held = bench.hold();
    let task = bench.runtime.spawn(bench.begin_write(20, padded(&words(&[7]))).wait());
    bench.await_runs(1);
    let ranges = std::iter::once(HALF + 100..HALF + 101).collect();
    bench.at_once(Arc::clone(&bench.space).deallocate(&bench.host, ranges)).expect("deleted");
    assert_eq!(bench.stored("1:0:1"), None);
    drop(held);
    bench.runtime.block_on(task).expect("no panic").expect("computed");
}
