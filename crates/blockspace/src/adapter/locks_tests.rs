//! Tests of the locks on ranges.

use super::*;
use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

const ONE: Party = Party(1);
const TWO: Party = Party(2);

#[test]
fn shared_holds_go_together_and_exclusive_ones_alone() {
    let locks = RangeLocks::new(WaitLimit::new(8, 8));
    let first = locks.try_shared(ONE, 0..10).expect("free");
    let second = locks.try_shared(ONE, 5..15).expect("both shared");
    assert!(locks.try_exclusive(ONE, (14..16).into()).is_none());
    let other = locks.try_exclusive(ONE, (15..16).into()).expect("beside them");
    assert!(locks.try_shared(ONE, 0..16).is_none());
    drop((first, second, other));
    assert!(locks.try_exclusive(ONE, (0..16).into()).is_some());
}

#[test]
fn who_comes_later_does_not_overtake_who_waits() {
    let locks = RangeLocks::new(WaitLimit::new(2, 2));
    let held = locks.try_shared(ONE, 0..10).expect("free");
    let mut exclusive = pin!(locks.exclusive(ONE, 5..20));
    assert!(poll(exclusive.as_mut()).is_none());
    assert!(locks.try_shared(ONE, 15..16).is_none(), "behind the exclusive one");
    assert!(locks.try_shared(ONE, 0..5).is_some(), "beside it");
    let mut later = pin!(locks.shared(ONE, 19..25));
    assert!(poll(later.as_mut()).is_none());
    assert!(matches!(poll(pin!(locks.shared(ONE, 6..7))), Some(Err(TooManyWaiting))));
    drop(held);
    let guard = poll(exclusive.as_mut()).expect("its turn").expect("a guard");
    assert!(poll(later.as_mut()).is_none());
    drop(guard);
    assert!(poll(later.as_mut()).expect("its turn").is_ok());
}

#[test]
fn many_ranges_are_held_as_one() {
    let locks = RangeLocks::new(WaitLimit::new(8, 8));
    let mut ranges = Ranges::from(0..0);
    ranges.extend((10..50).map(|index| 10 * index..10 * index + 1));
    let held = locks.try_exclusive(ONE, ranges).expect("free");
    assert!(locks.try_shared(ONE, 95..100).is_some() && locks.try_shared(ONE, 491..500).is_some());
    assert!(locks.try_shared(ONE, 105..106).is_none());
    drop(held);
    assert!(locks.try_shared(ONE, 105..106).is_some());
}

#[test]
fn letting_go_grants_those_who_waited_for_it_in_turn() {
    let locks = RangeLocks::new(WaitLimit::new(8, 8));
    let low = locks.try_exclusive(ONE, (0..10).into()).expect("free");
    let high = locks.try_exclusive(ONE, (20..30).into()).expect("free");
    let mut both = pin!(locks.exclusive(ONE, 5..25));
    let mut above = pin!(locks.exclusive(ONE, 25..40));
    let mut behind = pin!(locks.shared(ONE, 35..36));
    assert!(poll(both.as_mut()).is_none() && poll(above.as_mut()).is_none() && poll(behind.as_mut()).is_none());
    drop(high);
    assert!(poll(both.as_mut()).is_none());
    drop(poll(above.as_mut()).expect("its turn").expect("a guard"));
    assert!(poll(behind.as_mut()).expect("its turn").is_ok());
    drop(low);
    assert!(poll(both.as_mut()).expect("its turn").is_ok());
    assert!(!locks.awaited());
}

#[test]
fn who_waits_for_one_range_leaves_room_for_those_of_others() {
    let waits = WaitLimit::new(3, 2);
    let (locks, views) = (RangeLocks::new(waits.clone()), RangeLocks::new(waits));
    let _held = (locks.try_exclusive(ONE, (0..30).into()), views.try_exclusive(ONE, (0..30).into()));
    let (mut first, mut second) = (pin!(locks.shared(ONE, 0..10)), pin!(locks.shared(ONE, 9..12)));
    assert!(poll(first.as_mut()).is_none() && poll(second.as_mut()).is_none());
    assert!(matches!(poll(pin!(locks.shared(ONE, 9..10))), Some(Err(TooManyWaiting))), "two wait for block 9");
    let mut third = pin!(views.shared(ONE, 9..10));
    assert!(poll(third.as_mut()).is_none(), "nobody does here");
    assert!(matches!(poll(pin!(locks.shared(ONE, 20..21))), Some(Err(TooManyWaiting))), "three wait in all");
    assert!(poll(pin!(locks.exclusive_always(ONE, 20..21))).is_none(), "who must not fail waits all the same");
}

#[test]
fn a_grant_that_nobody_waits_for_is_let_go() {
    let locks = RangeLocks::new(WaitLimit::new(8, 8));
    let held = locks.try_exclusive(ONE, (0..10).into()).expect("free");
    {
        let mut gone = pin!(locks.exclusive(ONE, 0..10));
        assert!(poll(gone.as_mut()).is_none());
    }
    drop(held);
    assert!(locks.try_exclusive(ONE, (0..10).into()).is_some());
}

fn many(ranges: impl IntoIterator<Item = u64>) -> Ranges {
    let mut all = Ranges::from(0..0);
    all.extend(ranges.into_iter().map(|start| start..start + 1));
    all
}

#[test]
fn who_waits_for_a_completion_holds_back_its_own_party_only() {
    let locks = RangeLocks::new(WaitLimit::new(8, 8));
    let program = locks.try_completing(ONE, (10..20).into()).expect("free");
    let mut wide = pin!(locks.exclusive(ONE, many((0..40).map(|index| 5 + 10 * index))));
    assert!(poll(wide.as_mut()).is_none());
    // A request that waits for the stalled one only, and not for the completion.
    let mut behind = pin!(locks.exclusive(ONE, 30..200));
    assert!(poll(behind.as_mut()).is_none());
    assert!(locks.try_shared(TWO, 60..61).is_some() && locks.try_shared(TWO, 151..152).is_some());
    assert!(locks.try_exclusive(TWO, (80..81).into()).is_some());
    assert!(locks.try_shared(ONE, 60..61).is_none() && locks.try_shared(ONE, 151..152).is_none(), "in its order");
    assert!(locks.try_shared(TWO, 12..13).is_none(), "the object itself");
    let other = locks.try_shared(TWO, 60..61).expect("free");
    drop(program);
    // From now on it waits for short locks, and its turn comes.
    assert!(poll(wide.as_mut()).is_none());
    assert!(locks.try_shared(TWO, 61..62).is_none(), "behind it");
    drop(other);
    drop(poll(wide.as_mut()).expect("its turn").expect("a guard"));
    assert!(poll(behind.as_mut()).expect("its turn").is_ok());
}

#[test]
fn who_is_overtaken_too_often_is_refused() {
    let locks = RangeLocks::new(WaitLimit::new(8, 8));
    let mut program = locks.try_completing(ONE, (0..1).into()).expect("free");
    let mut wide = pin!(locks.exclusive(ONE, 0..100));
    let mut behind = pin!(locks.shared(ONE, 50..51));
    let mut always = pin!(locks.exclusive_always(ONE, 0..1));
    assert!(poll(wide.as_mut()).is_none() && poll(behind.as_mut()).is_none() && poll(always.as_mut()).is_none());
    for turn in 0..u64::from(MOST_OVERTAKING) {
        let next = locks.try_completing(TWO, (turn + 1..turn + 2).into()).expect("it overtakes");
        drop(std::mem::replace(&mut program, next));
        assert!(poll(wide.as_mut()).is_none(), "after {turn}");
    }
    let last = locks.try_completing(TWO, (90..91).into()).expect("it overtakes");
    drop(program);
    assert!(matches!(poll(wide.as_mut()), Some(Err(TooManyWaiting))));
    assert!(poll(always.as_mut()).expect("free").is_ok(), "never refused");
    assert!(poll(behind.as_mut()).expect("nothing before it").is_ok());
    drop(last);
}

#[test]
fn a_completion_that_waited_stalls_those_behind_it_when_it_begins() {
    let locks = RangeLocks::new(WaitLimit::new(8, 8));
    let short = locks.try_exclusive(ONE, (0..1).into()).expect("free");
    let mut completing = pin!(locks.completing_always(ONE, 0..1));
    let mut wide = pin!(locks.exclusive(ONE, 0..100));
    let mut other = pin!(locks.shared(TWO, 50..51));
    assert!(poll(completing.as_mut()).is_none() && poll(wide.as_mut()).is_none());
    assert!(poll(other.as_mut()).is_none(), "nothing says that the wide one waits for long");
    drop(short);
    let _running = poll(completing.as_mut()).expect("its turn").expect("a guard");
    assert!(poll(other.as_mut()).expect("not behind it any more").is_ok());
    assert!(poll(wide.as_mut()).is_none());
}

#[test]
fn who_holds_other_locks_waits_for_no_completion() {
    let locks = RangeLocks::new(WaitLimit::new(8, 8));
    let short = locks.try_exclusive(ONE, (0..1).into()).expect("free");
    let mut first = pin!(locks.exclusive_soon(TWO, 0..10));
    let mut completing = pin!(locks.completing_always(ONE, 0..1));
    let mut second = pin!(locks.exclusive_soon(TWO, 0..5));
    assert!(poll(first.as_mut()).is_none() && poll(completing.as_mut()).is_none() && poll(second.as_mut()).is_none());
    drop(short);
    let held = poll(first.as_mut()).expect("its turn").expect("a guard");
    assert!(poll(second.as_mut()).is_none());
    drop(held);
    let running = poll(completing.as_mut()).expect("its turn").expect("a guard");
    assert!(matches!(poll(second.as_mut()), Some(Err(TooManyWaiting))), "the completion has begun before it");
    assert!(matches!(poll(pin!(locks.exclusive_soon(TWO, 0..5))), Some(Err(TooManyWaiting))));
    drop(running);
    assert!(poll(pin!(locks.exclusive_soon(TWO, 0..5))).expect("free").is_ok());
}

#[test]
fn the_waiting_requests_of_others_take_no_room_at_an_object() {
    let locks = RangeLocks::new(WaitLimit::new(8, 1));
    let _held = locks.try_exclusive(ONE, (0..30).into()).expect("free");
    let (mut one, mut two) = (pin!(locks.shared(ONE, 0..10)), pin!(locks.shared(TWO, 0..10)));
    assert!(poll(one.as_mut()).is_none() && poll(two.as_mut()).is_none());
    assert!(matches!(poll(pin!(locks.shared(ONE, 0..10))), Some(Err(TooManyWaiting))));
}
