//! The memory of loaded keys: one budget for all spaces.

use crate::support::{LOADED_BYTES, Toy, bytes, code::bootstrap, program, put, to_words, toy_key, vr};
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, KeyMemory, KeyMemoryError, ReadMode, RunError, Space, SpaceId, SpaceLimits,
};
use ciphermill_program::{Instruction, VerifyError};
use std::{
    sync::{Arc, atomic::Ordering},
    thread,
    time::Duration,
};

/// A device whose keys may take `keys` times [`LOADED_BYTES`].
fn device(keys: u64, change: impl FnOnce(&mut DeviceConfig)) -> (Device, Arc<Toy>) {
    let toy = Arc::new(Toy::default());
    let mut config = DeviceConfig::in_memory();
    config.key_memory = KeyMemory { bytes: keys * LOADED_BYTES, ..KeyMemory::default() };
    config.max_running_programs = 4;
    change(&mut config);
    (Device::open(config, vec![toy.clone()]).expect("open"), toy)
}

fn space(device: &Device, id: u32) -> Space {
    device.create_space(SpaceId(id), SpaceLimits::UNLIMITED).expect("a space")
}

/// Stores a key of `dimension` words, and a program that looks a word up in a table of its own.
fn store_key(space: &Space, key: u32, dimension: u32, filling: usize) {
    for part in [1, 2] {
        put(space, vr(2, key, part), &toy_key(part, dimension, filling));
    }
    let words = |word: u64| bytes(&vec![word; dimension as usize]);
    put(space, vr(1, key, 0), &bytes(&[7, 1000 + u64::from(key)]));
    put(space, vr(3, key, 1), &words(1));
    put(space, vr(0, key, 0), &program(vec![bootstrap(vr(1, key, 0), vr(3, key, 1)), Instruction::ret(vr(3, key, 1))]));
}

fn compute(space: &Space, key: u32) -> Result<u64, DeviceError> {
    Ok(to_words(&space.read_bytes(vr(3, key, 1), ReadMode::Compute)?)[0])
}

fn cause(error: DeviceError) -> RunError {
    match error {
        DeviceError::ProgramFailed { cause, .. } => *cause,
        other => panic!("{other}"),
    }
}

#[test]
fn a_hundred_keys_under_a_budget_of_three() {
    let (device, toy) = device(3, |_| ());
    let space = space(&device, 1);
    (0..100).for_each(|key| store_key(&space, key, 1, 0));
    for key in 0..100 {
        assert_eq!(compute(&space, key).expect("computed"), 1000 + u64::from(key));
        let memory = device.metrics().key_memory;
        assert!(memory.used <= 3 * LOADED_BYTES && memory.keys <= 3, "{memory:?}");
    }
    let memory = device.metrics().key_memory;
    assert_eq!((memory.keys, memory.loads, memory.evictions, memory.refusals), (3, 100, 97, 0));
    // The most recently used ones stayed; an older one is loaded once more.
    for key in 97..100 {
        compute(&space, key).expect("computed");
    }
    assert_eq!(toy.keys_opened.load(Ordering::SeqCst), 100);
    assert_eq!(compute(&space, 5).expect("computed"), 1005);
    assert_eq!(toy.keys_opened.load(Ordering::SeqCst), 101);
    let text = device.metrics().to_prometheus();
    for line in ["keys_loaded 3", "key_memory_limit_bytes 3145728", "key_loads_total 101", "key_evictions_total 98"] {
        assert!(text.contains(&format!("\nciphermill_device_{line}\n")), "{line}");
    }
}

#[test]
fn two_spaces_under_a_budget_of_one() {
    let (device, toy) = device(1, |_| ());
    let spaces = [1, 2].map(|id| space(&device, id));
    spaces.iter().for_each(|space| store_key(space, 3, 1, 0));
    for _ in 0..10 {
        spaces.iter().for_each(|space| assert_eq!(compute(space, 3).expect("in turn"), 1003));
    }
    assert_eq!(toy.keys_opened.load(Ordering::SeqCst), 20);
    // At the same time, one waits for the other.
    toy.bootstrap_ms.store(2, Ordering::SeqCst);
    thread::scope(|scope| {
        for space in &spaces {
            scope.spawn(move || (0..20).for_each(|_| assert_eq!(compute(space, 3).expect("after a wait"), 1003)));
        }
    });
    let memory = device.metrics().key_memory;
    assert!(memory.used <= LOADED_BYTES && memory.waits > 0 && memory.refusals == 0, "{memory:?}");
}

#[test]
fn a_space_keeps_its_floor() {
    let (first, second) = (SpaceId(1), SpaceId(2));
    let (device, toy) = device(3, |config| config.key_memory.floors = [(first, LOADED_BYTES)].into());
    let spaces = [first, second].map(|id| space(&device, id.0));
    store_key(&spaces[0], 0, 1, 0);
    assert_eq!(compute(&spaces[0], 0).expect("computed"), 1000);
    for key in 0..5 {
        store_key(&spaces[1], key, 1, 0);
        assert_eq!(compute(&spaces[1], key).expect("computed"), 1000 + u64::from(key));
    }
    let opened = toy.keys_opened.load(Ordering::SeqCst);
    assert_eq!(compute(&spaces[0], 0).expect("computed"), 1000);
    assert_eq!(toy.keys_opened.load(Ordering::SeqCst), opened, "still loaded");
}

#[test]
fn a_load_that_finds_no_memory_waits_and_is_then_refused() {
    let wait = Duration::from_millis(50);
    let (device, toy) = device(2, |config| config.key_memory.wait = wait);
    let space = space(&device, 1);
    store_key(&space, 0, 2, 0);
    store_key(&space, 1, 1, 0);
    store_key(&space, 2, 3, 0);
    toy.held.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let holds = scope.spawn(|| compute(&space, 0));
        while toy.bootstraps.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        let refused = compute(&space, 1).expect_err("in use");
        assert!(refused.is_busy(), "{refused}");
        let RunError::KeyMemory { source: KeyMemoryError::Busy { needed, used, limit, waited }, .. } = cause(refused)
        else {
            panic!("another error")
        };
        assert_eq!((needed, used, limit), (LOADED_BYTES, 2 * LOADED_BYTES, 2 * LOADED_BYTES));
        assert!(waited >= wait / 2, "{waited:?}");
        toy.held.store(false, Ordering::SeqCst);
        assert_eq!(holds.join().expect("no panic").expect("computed"), 1000);
    });
    assert_eq!(compute(&space, 1).expect("free now"), 1001);
    let refused = compute(&space, 2).expect_err("never fits");
    assert!(!refused.is_busy());
    let needed = 3 * LOADED_BYTES;
    let cause = cause(refused);
    assert!(
        matches!(&cause, RunError::KeyMemory { source: KeyMemoryError::TooLarge { needed: n, .. }, .. } if *n == needed),
        "{cause}"
    );
    assert_eq!(device.metrics().key_memory.refusals, 1);
}

/// Loading counts as time of the program, on the clock and, once its pace is known, in the estimate.
#[test]
fn loading_is_time_of_the_program() {
    let limit = Duration::from_millis(400);
    let (device, toy) = device(9, |config| config.max_program_duration = limit);
    let space = space(&device, 1);
    store_key(&space, 0, 1, 0);
    store_key(&space, 1, 1, 1000);
    store_key(&space, 2, 1, 100_000);
    toy.load_ms.store(400, Ordering::SeqCst);
    let late = cause(compute(&space, 0).expect_err("too slow"));
    assert!(matches!(late, RunError::LoadTimedOut { took, .. } if took >= limit), "{late}");
    assert_eq!(device.metrics().key_memory.used, 0, "nothing is left behind");
    toy.load_ms.store(150, Ordering::SeqCst);
    assert_eq!(compute(&space, 1).expect("in time"), 1001);
    // A key of that size is known to take 150 ms or more, and 300 ms more are too long.
    store_key(&space, 3, 1, 1000);
    toy.claimed_ms.store(300, Ordering::SeqCst);
    let refused = cause(compute(&space, 3).expect_err("expected to be too slow"));
    assert!(matches!(refused, RunError::Verify(VerifyError::TooSlow { .. })), "{refused}");
    toy.claimed_ms.store(0, Ordering::SeqCst);
    // What one of another size takes is not known, and so it is tried.
    toy.load_ms.store(0, Ordering::SeqCst);
    assert_eq!(compute(&space, 2).expect("in time"), 1002);
    assert_eq!(toy.keys_opened.load(Ordering::SeqCst), 3);
}

#[test]
fn floors_must_fit() {
    for (bytes, floors) in [(0, vec![]), (10, vec![(SpaceId(1), 6), (SpaceId(2), 5)])] {
        let key_memory = KeyMemory { bytes, floors: floors.into_iter().collect(), ..KeyMemory::default() };
        let config = DeviceConfig { key_memory, ..DeviceConfig::in_memory() };
        let refused = Device::open(config, vec![Arc::new(Toy::default())]).expect_err("refused");
        assert!(matches!(refused, DeviceError::Configuration { .. }), "{refused}");
    }
}
