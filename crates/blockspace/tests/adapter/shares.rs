//! Shares of hosts: pending objects, jobs in the device, results, and open objects.

use crate::support::*;
use ciphermill_blockspace::{
    BlockSpaceConfig,
    adapter::status::TOO_MANY_OBJECTS,
    vendor::{OPCODE_RELEASE, OPCODE_RESERVE, Release, Reserve, Reserved},
};
use ciphermill_nvme::{Account, Caller, CommandError, Host, Namespace};
use ciphermill_program::Metadata;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

fn reserve(bench: &Bench, metadata: Metadata) -> Result<Reserved, CommandError> {
    let reserved = bench.vendor(OPCODE_RESERVE, Reserve(metadata).dwords(), 4096)?;
    Ok(Reserved::decode(&reserved).expect("a place"))
}

/// Objects as large as the namespace takes, one after the other.
fn reserve_all(bench: &Bench, size: usize) -> Vec<Reserved> {
    (0..200).map_while(|data| reserve(bench, metadata(&format!("1:0:{data}"), size)).ok()).collect()
}

#[test]
fn a_host_reserves_its_share_and_no_more() {
    let mut bench = Bench::new();
    // 76 objects of this size fill the data half.
    let size = HALF as usize / 76 * BLOCK;
    let held = reserve_all(&bench, size);
    assert_eq!(held.len(), 76 / 4, "a quarter of the data half");
    let error = reserve(&bench, metadata("1:1:0", size)).expect_err("over its share");
    assert!(error.status.is(TOO_MANY_OBJECTS) && error.detail.contains("release"), "{error}");
    let error =
        bench.try_declare(HALF - 1000, metadata("1:1:1", size)).expect_err("declared by blocks, it counts alike");
    assert!(error.status.is(TOO_MANY_OBJECTS), "{error}");
    // These two, and the one that ended the reservations.
    assert_eq!(bench.space.metrics().shares_refused, 3);
    // Another host is not concerned.
    let one = std::mem::replace(&mut bench.host, host("two"));
    assert_eq!(reserve_all(&bench, size).len(), 76 / 4);
    // What is released or complete counts no more.
    bench.host = one;
    let Reserved { lba, .. } = held[0];
    let release = Release { lba, id: register("1:0:0") };
    bench.vendor(OPCODE_RELEASE, release.dwords(), 0).expect("released");
    bench.write(held[1].lba, padded(&pattern(size, 1)));
    assert_eq!(reserve_all_of(&bench, "1:2", size), 2);
}

fn reserve_all_of(bench: &Bench, key: &str, size: usize) -> usize {
    (0..200).take_while(|data| reserve(bench, metadata(&format!("{key}:{data}"), size)).is_ok()).count()
}

#[test]
fn one_object_may_be_larger_than_the_share() {
    let bench = Bench::new();
    let size = HALF as usize / 2 * BLOCK;
    let error = reserve(&bench, metadata("1:0:1", size + 1)).expect_err("more than half of the data half");
    assert!(error.status.is(TOO_MANY_OBJECTS) && error.detail.contains("16385 blocks"), "{error}");
    reserve(&bench, metadata("1:0:1", size)).expect("half of the data half");
    assert!(reserve(&bench, metadata("1:0:2", BLOCK)).is_err_and(|error| error.status.is(TOO_MANY_OBJECTS)));
}

#[test]
fn a_declaration_that_replaces_another_counts_once() {
    let bench = Bench::with(BlockSpaceConfig { pending_blocks_of_host: 4, ..BlockSpaceConfig::new(LOG2) });
    for _ in 0..10 {
        bench.declare(0, metadata("1:0:1", 2 * BLOCK));
        bench.declare(10, metadata("1:0:2", 2 * BLOCK));
    }
    assert!(bench.try_declare(20, metadata("1:0:3", 1)).is_err());
    bench.deallocate(HALF..HALF + 1).expect("given up");
    bench.declare(20, metadata("1:0:3", 1));
}

#[test]
fn hosts_of_one_account_have_one_share() {
    let bench = Bench::new();
    let size = HALF as usize / 76 * BLOCK;
    let account = Account::source("192.0.2.1".parse().expect("an address"));
    let reserved = (0..100)
        .filter(|data| {
            let invented = Host { nqn: format!("nqn.2026-01.example:invented-{data}"), id: [7; 16] };
            let caller = Arc::new(Caller { host: invented, account: account.clone() });
            let metadata = metadata(&format!("1:0:{data}"), size);
            let command = ciphermill_nvme::VendorCommand {
                opcode: OPCODE_RESERVE,
                dwords: Reserve(metadata).dwords(),
                length: 4096,
            };
            bench.wait(Arc::clone(&bench.space).vendor(&caller, command)).is_ok()
        })
        .count();
    assert_eq!(reserved, 76 / 4);
}

#[test]
fn recovered_declarations_count_for_the_host_that_made_them() {
    let bench = Bench::new();
    let size = HALF as usize / 76 * BLOCK;
    assert_eq!(reserve_all(&bench, size).len(), 76 / 4);
    let mut bench = bench.reopened(BlockSpaceConfig::new(LOG2));
    assert_eq!(reserve_all_of(&bench, "1:1", size), 0, "its share is used up");
    let one = std::mem::replace(&mut bench.host, host("two"));
    assert_eq!(reserve_all_of(&bench, "1:2", size), 76 / 4);
    bench.host = one;
    bench.deallocate(HALF..HALF + 1).expect("the first reservation is given up");
    assert_eq!(reserve_all_of(&bench, "1:3", size), 1);
}

/// The room that running programs may need for longer results leaves addresses to others.
#[test]
fn one_host_s_programs_leave_room_to_others() {
    let mut bench = Bench::new();
    let places = [0u64, 8000, 16_000, 24_000];
    for (key, place) in places.iter().enumerate() {
        let code = slow_program(key as u64);
        bench.put(place + 100, checked(&format!("0:{key}:0"), &code), &code);
        bench.declare(place + 101, metadata(&format!("4:{key}:1"), 16));
    }
    let held = bench.hold();
    let begin = |place: &u64| bench.runtime.spawn(bench.begin_write(place + 101, padded(&words(&[1, 2]))).wait());
    let begun: Vec<_> = places.iter().map(begin).collect();
    bench.await_runs(1);
    // As many run at a time as there are processors. The others wait in the device and have their room, too.
    std::thread::sleep(Duration::from_millis(200));
    bench.host = host("two");
    for (key, place) in places.iter().enumerate() {
        let declared = checked(&format!("1:{key}:7"), &[1]).encode().to_vec();
        bench.at_once(bench.begin_write(HALF + place + 1000, declared)).expect("declared");
    }
    let large = Reserve(metadata("1:0:8", 6000 * BLOCK)).dwords();
    bench.at_once(bench.begin_vendor(OPCODE_RESERVE, large, 4096)).expect("reserved");
    assert!(begun.iter().all(|answer| !answer.is_finished()));
    drop(held);
    for answer in begun {
        bench.runtime.block_on(answer).expect("no panic").expect("computed");
    }
}

/// A host with long programs leaves threads of the device to others.
#[test]
fn one_host_s_programs_leave_jobs_to_others() {
    let config = BlockSpaceConfig { device_jobs: 4, device_jobs_of_host: 3, ..BlockSpaceConfig::new(LOG2) };
    let mut bench = Bench::with(config);
    for key in 0..8 {
        let code = slow_program(key);
        bench.put(1000 + key, checked(&format!("0:{key}:0"), &code), &code);
    }
    let operand = words(&[1, 2]);
    bench.toy.held.store(true, Ordering::SeqCst);
    let mut begun = Vec::new();
    for key in 0..8u64 {
        bench.declare(10 * key, checked(&format!("4:{key}:1"), &operand));
    }
    for key in 0..8u64 {
        let answer = bench.begin_write(10 * key, padded(&operand));
        begun.push(bench.runtime.spawn(answer.wait()));
    }
    bench.host = host("two");
    // It would wait for ever if all four jobs were taken: nothing ends them before it is done.
    bench.put(5000, checked("1:0:9", &[7; 100]), &[7; 100]);
    bench.toy.held.store(false, Ordering::SeqCst);
    for answer in begun {
        bench.runtime.block_on(answer).expect("no panic").expect("computed");
    }
}

fn slow_program(key: u64) -> Vec<u8> {
    program(&format!("homsub 4:{key}:1, 4:{key}:1\nreturn 4:{key}:1"))
}
