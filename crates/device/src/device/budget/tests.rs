//! Tests of the budget: floors, order of eviction, waits.

use super::*;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

const A: SpaceId = SpaceId(1);
const B: SpaceId = SpaceId(2);
const SOON: Duration = Duration::from_millis(20);
const LATE: Duration = Duration::from_secs(60);

/// An object that says how many bytes it occupies.
struct Claims(u64);

impl KeyContext for Claims {
    fn memory_bytes(&self) -> u64 {
        self.0
    }
}

fn name(space: SpaceId, key: u32) -> Name {
    Name::Key((space, TypeCode(2), KeyId(key)))
}

fn budget(bytes: u64, floors: &[(SpaceId, u64)]) -> Budget {
    Budget::new(KeyMemory { bytes, floors: floors.iter().copied().collect(), ..KeyMemory::default() })
}

/// A key of `bytes`, which takes `peak` while it is made.
fn load(budget: &Budget, name: Name, peak: u64, bytes: u64, wait: Duration) -> Result<Use, KeyMemoryError> {
    let deadline = Instant::now() + wait;
    match budget.find(name, &[1], false, deadline)? {
        Found::Ready(held) => Ok(held),
        Found::Missing(making) => {
            let reservation = making.reserve(peak, deadline)?;
            making.keep(Arc::new(Claims(bytes)), reservation)
        }
    }
}

#[test]
fn keys_beyond_the_budget_push_out_the_least_recently_used() {
    let budget = budget(30, &[]);
    for key in 0..100 {
        drop(load(&budget, name(A, key), 10, 9, SOON).expect("room for three"));
        assert!(budget.usage().used <= 30);
        // The first key is used all the time, so it stays.
        drop(load(&budget, name(A, 0), 10, 9, SOON).expect("kept"));
    }
    let usage = budget.usage();
    assert_eq!((usage.used, usage.keys, usage.loads, usage.evictions), (27, 3, 100, 97));
}

/// A run waits for memory while it uses a key. What does not fit next to that key is refused at once, and for good.
#[test]
fn a_request_that_cannot_fit_next_to_its_own_key_does_not_wait() {
    let budget = budget(30, &[]);
    let key = load(&budget, name(A, 0), 20, 20, SOON).expect("room");
    let begun = Instant::now();
    let deadline = begun + LATE;
    let Found::Missing(making) = budget.find(name(A, 1), &[1], true, deadline).expect("no wait") else {
        panic!("not there")
    };
    let refused = making.reserve_beside(key.bytes(), 11, deadline).expect_err("31 bytes");
    assert!(matches!(refused, KeyMemoryError::TooLarge { needed: 31, limit: 30 }), "{refused}");
    assert!(begun.elapsed() < LATE / 2);
    making.reserve_beside(key.bytes(), 10, deadline).expect("30 bytes");
}

#[test]
fn memory_returns_when_the_last_user_is_gone() {
    let budget = budget(10, &[]);
    let held = load(&budget, name(A, 0), 10, 10, SOON).expect("room");
    let refused = load(&budget, name(A, 1), 10, 10, SOON).expect_err("in use");
    assert!(matches!(refused, KeyMemoryError::Busy { needed: 10, used: 10, limit: 10, .. }), "{refused}");
    budget.forget_key((A, TypeCode(2), KeyId(0)));
    assert_eq!((budget.usage().used, budget.usage().keys), (10, 0), "forgotten, and still in use");
    drop(held);
    assert_eq!(budget.usage().used, 0);
    assert!(load(&budget, name(A, 1), 10, 10, SOON).is_ok());
    let refused = load(&budget, name(A, 2), 11, 1, LATE).expect_err("never fits");
    assert!(matches!(refused, KeyMemoryError::TooLarge { needed: 11, limit: 10 }), "{refused}");
}

#[test]
fn an_object_that_is_larger_than_reserved_needs_the_rest() {
    let budget = budget(10, &[]);
    let held = load(&budget, name(A, 0), 2, 6, SOON).expect("the rest is free");
    assert_eq!((held.held.reservation.bytes, budget.usage().used), (6, 6));
    assert!(load(&budget, name(A, 1), 2, 5, SOON).is_err(), "the rest is in use");
    assert_eq!((budget.usage().used, budget.usage().keys), (6, 1), "nothing is left behind");
}

#[test]
fn what_was_prepared_goes_with_its_key_and_with_its_register() {
    let budget = budget(30, &[]);
    let key = (A, TypeCode(2), KeyId(0));
    let register = |data| VrId::new(TypeCode(5), KeyId(0), ciphermill_program::DataId(data));
    let all = || {
        drop(load(&budget, Name::Key(key), 10, 10, SOON).expect("room"));
        for data in [1, 2] {
            drop(load(&budget, Name::Prepared(key, register(data)), 10, 10, SOON).expect("room"));
        }
    };
    all();
    budget.forget_prepared(B, register(1));
    assert_eq!(budget.usage().used, 30, "another space");
    budget.forget_prepared(A, register(1));
    assert!(budget.holds(Name::Prepared(key, register(2)), &[1]));
    assert!(!budget.holds(Name::Prepared(key, register(1)), &[1]));
    all();
    budget.forget_key(key);
    assert_eq!((budget.usage().used, budget.usage().keys), (0, 0));
}

#[test]
fn a_space_keeps_its_floor_and_gets_it() {
    let budget = budget(30, &[(A, 20), (B, 10)]);
    for key in 0..3 {
        drop(load(&budget, name(A, key), 10, 10, SOON).expect("room"));
    }
    // B gets its floor from what A has above its own, and no more.
    drop(load(&budget, name(B, 0), 10, 10, SOON).expect("within its floor"));
    assert!(matches!(budget.find(name(A, 0), &[1], false, Instant::now()), Ok(Found::Missing(_))), "the oldest went");
    drop(load(&budget, name(B, 1), 10, 10, SOON).expect("in place of its other key"));
    for key in 1..3 {
        let found = budget.find(name(A, key), &[1], false, Instant::now());
        assert!(matches!(found, Ok(Found::Ready(_))), "key {key} is within the floor of its space");
    }
}

#[test]
fn a_waiting_request_within_its_floor_goes_before_others() {
    let budget = budget(30, &[(A, 20)]);
    let held: Vec<_> = (0..3).map(|key| load(&budget, name(B, key), 10, 10, SOON).expect("room")).collect();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| load(&budget, name(A, 0), 20, 20, LATE).map(|held| held.held.reservation.bytes));
        while budget.0.lock().promised.is_empty() {
            thread::yield_now();
        }
        let mut held = held.into_iter();
        drop(held.next());
        budget.forget_key((B, TypeCode(2), KeyId(0)));
        assert!(load(&budget, name(B, 4), 10, 10, SOON).is_err(), "promised to the other space");
        drop(held);
        assert_eq!(waiting.join().expect("no panic").expect("its turn"), 20);
    });
    assert!(budget.0.lock().promised.is_empty());
}

/// A waiter sees at once that an object became idle, though that gives no memory back.
#[test]
fn a_waiting_request_takes_what_becomes_idle() {
    let budget = budget(10, &[]);
    let held = load(&budget, name(A, 0), 10, 10, SOON).expect("room");
    let begun = Instant::now();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| load(&budget, name(A, 1), 10, 10, LATE).map(drop));
        while budget.usage().used != 10 || budget.0.lock().making.is_empty() {
            thread::yield_now();
        }
        thread::sleep(SOON);
        drop(held);
        waiting.join().expect("no panic").expect("its turn");
    });
    assert!(begun.elapsed() < LATE, "it slept through the notice");
    assert_eq!((budget.usage().evictions, budget.usage().waits), (1, 1));
}

#[test]
fn what_is_in_use_counts_for_the_floor() {
    let budget = budget(30, &[(A, 20)]);
    let _used = load(&budget, name(A, 0), 15, 15, SOON).expect("room");
    drop(load(&budget, name(A, 1), 10, 10, SOON).expect("room"));
    // With 15 in use, the idle 10 are above the floor.
    drop(load(&budget, name(B, 0), 10, 10, SOON).expect("what is above the floor of the other"));
    assert_eq!(budget.usage().evictions, 1);
    // And what could never be had is refused at once.
    let begun = Instant::now();
    assert!(load(&budget, name(B, 1), 16, 16, LATE).is_err(), "15 of the floor stay");
    assert!(begun.elapsed() < LATE);
}

/// A key that is in use again and again does not keep another space from its floor.
#[test]
fn a_hot_key_gives_way_to_a_floor() {
    let budget = budget(10, &[(A, 10)]);
    let hot = load(&budget, name(B, 0), 10, 10, SOON).expect("room");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| load(&budget, name(A, 0), 10, 10, LATE).map(drop));
        while budget.0.lock().promised.is_empty() {
            thread::yield_now();
        }
        drop(hot);
        // Idle for a moment, and not to be had.
        let again = budget.find(name(B, 0), &[1], false, Instant::now());
        assert!(!matches!(again, Ok(Found::Ready(_))), "it is wanted");
        drop(again);
        waiting.join().expect("no panic").expect("its floor");
    });
}

#[test]
fn one_request_makes_an_object_and_the_others_get_it() {
    let (budget, made) = (budget(10, &[]), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| match budget.find(name(A, 0), &[1], false, Instant::now() + LATE).expect("in time") {
                Found::Ready(held) => assert_eq!(held.held.reservation.bytes, 7),
                Found::Missing(making) => {
                    made.fetch_add(1, Ordering::SeqCst);
                    let reservation = making.reserve(10, Instant::now()).expect("room");
                    thread::sleep(SOON);
                    drop(making.keep(Arc::new(Claims(7)), reservation).expect("as reserved"));
                }
            });
        }
    });
    assert_eq!((made.into_inner(), budget.usage().used), (1, 7));
    // A new version takes the place of the old one; a failed attempt leaves nothing behind.
    assert!(matches!(budget.find(name(A, 0), &[2], false, Instant::now()), Ok(Found::Missing(_))));
    assert_eq!((budget.usage().used, budget.usage().keys), (0, 0));
    assert!(budget.0.lock().making.is_empty());
}

/// Under load from many threads the account agrees with the held objects, and no floor is broken.
#[test]
fn the_account_is_right_under_load() {
    let budget = budget(100, &[(A, 40), (B, 40)]);
    thread::scope(|scope| {
        for thread in 0..4u32 {
            let budget = &budget;
            scope.spawn(move || {
                let space = if thread % 2 == 0 { A } else { B };
                for round in 0..2000u32 {
                    let key = round.wrapping_mul(2_654_435_761).wrapping_add(thread) >> 16;
                    let bytes = u64::from(key % 19 + 1);
                    // Alone in its space but for one other thread, each is within the floor.
                    drop(load(budget, name(space, key % 23), bytes, bytes, LATE).expect("within its floor"));
                    if round % 50 == 0 {
                        budget.forget_key((space, TypeCode(2), KeyId(key % 23)));
                    }
                }
            });
        }
    });
    let state = budget.0.lock();
    let held: u64 = state.kept.values().map(|kept| kept.held.reservation.bytes).sum();
    assert_eq!((state.used, state.by_space.values().sum::<u64>()), (held, held));
    assert!(held <= 100 && state.making.is_empty() && state.promised.is_empty());
}
