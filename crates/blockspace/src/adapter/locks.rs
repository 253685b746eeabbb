//! Locks on ranges of addresses, for commands that wait without a thread.
//!
//! Requests are served in order of arrival: a request waits for conflicting locks and for every earlier conflicting
//! request. All ranges of a request are acquired at once, so that requests cannot deadlock.

use super::wait_limit::{TooManyWaiting, WaitLimit};
use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::oneshot;

/// The guard, even of a mutex whose holder panicked.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ranges of addresses; nearly always one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ranges {
    first: Range<u64>,
    more: Vec<Range<u64>>,
}

impl Ranges {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Range<u64>> {
        std::iter::once(&self.first).chain(&self.more)
    }

    pub(super) fn push(&mut self, range: Range<u64>) {
        self.more.push(range);
    }

    pub(super) fn extend(&mut self, ranges: impl IntoIterator<Item = Range<u64>>) {
        self.more.extend(ranges);
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.iter().any(|mine| other.iter().any(|theirs| mine.start < theirs.end && theirs.start < mine.end))
    }

    /// Whether every range of `other` lies in one of these.
    pub(super) fn cover(&self, other: &Self) -> bool {
        let inside = |inner: &Range<u64>| self.iter().any(|outer| outer.start <= inner.start && inner.end <= outer.end);
        other.iter().all(|inner| inner.is_empty() || inside(inner))
    }
}

/// A request with more ranges than this holds all from the lowest to the highest address: requests are compared with each
/// other under a lock that every command takes.
const MANY: usize = 4;

impl Ranges {
    /// The ranges that a request for them locks.
    pub(super) fn coarse(self) -> Self {
        if self.more.len() < MANY {
            return self;
        }
        let hull = |hull: Range<u64>, range: &Range<u64>| match (hull.is_empty(), range.is_empty()) {
            (_, true) => hull,
            (true, _) => range.clone(),
            _ => hull.start.min(range.start)..hull.end.max(range.end),
        };
        self.iter().fold(0..0, hull).into()
    }
}

impl From<Range<u64>> for Ranges {
    fn from(first: Range<u64>) -> Self {
        Self { first, more: Vec::new() }
    }
}

#[derive(Clone, Debug)]
struct Request {
    ranges: Ranges,
    exclusive: bool,
}

impl Request {
    fn conflicts(&self, other: &Self) -> bool {
        (self.exclusive || other.exclusive) && self.ranges.overlaps(&other.ranges)
    }
}

#[derive(Debug, Default)]
struct Table {
    held: HashMap<u64, Request>,
    exclusive: usize,
    waiting: VecDeque<(Request, oneshot::Sender<RangeGuard>)>,
    next: u64,
}

impl Table {
    fn free(&self, request: &Request) -> bool {
        // The common case, reads and writes of plain blocks, looks at nothing.
        (!request.exclusive && self.exclusive == 0) || !self.held.values().any(|held| held.conflicts(request))
    }

    fn hold(&mut self, request: Request) -> u64 {
        self.next += 1;
        self.exclusive += usize::from(request.exclusive);
        self.held.insert(self.next, request);
        self.next
    }
}

/// Shared and exclusive locks on ranges.
#[derive(Clone, Debug)]
pub(super) struct RangeLocks {
    table: Arc<Mutex<Table>>,
    waits: WaitLimit,
}

/// The held locks; released when dropped.
#[derive(Debug)]
pub(super) struct RangeGuard {
    table: Arc<Mutex<Table>>,
    id: u64,
}

impl RangeLocks {
    /// Requests wait as `waits` lets them.
    pub(super) fn new(waits: WaitLimit) -> Self {
        Self { table: Arc::default(), waits }
    }

    fn try_hold(&self, table: &mut Table, request: Request) -> Result<RangeGuard, Request> {
        if table.waiting.iter().any(|(waiting, _)| waiting.conflicts(&request)) || !table.free(&request) {
            return Err(request);
        }
        Ok(RangeGuard { table: Arc::clone(&self.table), id: table.hold(request) })
    }

    /// A shared hold, if it need not be waited for.
    pub(super) fn try_shared(&self, range: Range<u64>) -> Option<RangeGuard> {
        self.try_hold(&mut locked(&self.table), Request { ranges: range.into(), exclusive: false }).ok()
    }

    /// An exclusive hold, if it need not be waited for.
    pub(super) fn try_exclusive(&self, ranges: Ranges) -> Option<RangeGuard> {
        self.try_hold(&mut locked(&self.table), Request { ranges: ranges.coarse(), exclusive: true }).ok()
    }

    /// A shared hold.
    pub(super) async fn shared(&self, range: Range<u64>) -> Result<RangeGuard, TooManyWaiting> {
        self.acquire(Request { ranges: range.into(), exclusive: false }, true).await
    }

    /// An exclusive hold.
    pub(super) async fn exclusive(&self, ranges: impl Into<Ranges>) -> Result<RangeGuard, TooManyWaiting> {
        self.acquire(Request { ranges: ranges.into().coarse(), exclusive: true }, true).await
    }

    /// An exclusive hold for a command that has others already and has begun to take effect: it waits however many do.
    pub(super) async fn exclusive_always(&self, ranges: impl Into<Ranges>) -> Result<RangeGuard, TooManyWaiting> {
        self.acquire(Request { ranges: ranges.into().coarse(), exclusive: true }, false).await
    }

    /// Whether another request waits, so that the release may take time.
    pub(super) fn awaited(&self) -> bool {
        !locked(&self.table).waiting.is_empty()
    }

    async fn acquire(&self, request: Request, bounded: bool) -> Result<RangeGuard, TooManyWaiting> {
        let (receiver, _waiting) = {
            let mut table = locked(&self.table);
            let request = match self.try_hold(&mut table, request) {
                Ok(guard) => return Ok(guard),
                Err(request) => request,
            };
            let waiting = match bounded {
                true => {
                    let same = table.waiting.iter().filter(|(waiting, _)| waiting.ranges.overlaps(&request.ranges));
                    Some(self.waits.enter(same.count())?)
                }
                false => None,
            };
            let (sender, receiver) = oneshot::channel();
            table.waiting.push_back((request, sender));
            (receiver, waiting)
        };
        // The sender is dropped only after it has sent.
        receiver.await.map_err(|_| TooManyWaiting)
    }
}

impl Drop for RangeGuard {
    fn drop(&mut self) {
        let mut granted = Vec::new();
        {
            let mut table = locked(&self.table);
            let Some(released) = table.held.remove(&self.id) else { return };
            table.exclusive -= usize::from(released.exclusive);
            if table.waiting.iter().any(|(request, _)| request.conflicts(&released)) {
                for (request, sender) in std::mem::take(&mut table.waiting) {
                    // Nobody waits for what does not conflict with what is let go, or with those granted now.
                    let stays = !request.conflicts(&released)
                        || table.waiting.iter().any(|(waiting, _)| waiting.conflicts(&request))
                        || !table.free(&request);
                    if stays {
                        table.waiting.push_back((request, sender));
                    } else {
                        let id = table.hold(request);
                        granted.push((sender, RangeGuard { table: Arc::clone(&self.table), id }));
                    }
                }
            }
        }
        // Outside of the lock: a guard that nobody waits for any more comes back and is dropped here.
        for (sender, guard) in granted {
            drop(sender.send(guard));
        }
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn shared_holds_go_together_and_exclusive_ones_alone() {
        let locks = RangeLocks::new(WaitLimit::new(8, 8));
        let first = locks.try_shared(0..10).expect("free");
        let second = locks.try_shared(5..15).expect("both shared");
        assert!(locks.try_exclusive((14..16).into()).is_none());
        let other = locks.try_exclusive((15..16).into()).expect("beside them");
        assert!(locks.try_shared(0..16).is_none());
        drop((first, second, other));
        assert!(locks.try_exclusive((0..16).into()).is_some());
    }

    #[test]
    fn who_comes_later_does_not_overtake_who_waits() {
        let locks = RangeLocks::new(WaitLimit::new(2, 2));
        let held = locks.try_shared(0..10).expect("free");
        let mut exclusive = pin!(locks.exclusive(5..20));
        assert!(poll(exclusive.as_mut()).is_none());
        assert!(locks.try_shared(15..16).is_none(), "behind the exclusive one");
        assert!(locks.try_shared(0..5).is_some(), "beside it");
        let mut later = pin!(locks.shared(19..25));
        assert!(poll(later.as_mut()).is_none());
        assert!(matches!(poll(pin!(locks.shared(6..7))), Some(Err(TooManyWaiting))));
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
        ranges.extend((10..20).map(|index| 10 * index..10 * index + 1));
        let held = locks.try_exclusive(ranges).expect("free");
        assert!(locks.try_shared(95..100).is_some() && locks.try_shared(191..200).is_some());
        assert!(locks.try_shared(105..106).is_none());
        drop(held);
        assert!(locks.try_shared(105..106).is_some());
    }

    #[test]
    fn letting_go_grants_those_who_waited_for_it_in_turn() {
        let locks = RangeLocks::new(WaitLimit::new(8, 8));
        let low = locks.try_exclusive((0..10).into()).expect("free");
        let high = locks.try_exclusive((20..30).into()).expect("free");
        let mut both = pin!(locks.exclusive(5..25));
        let mut above = pin!(locks.exclusive(25..40));
        let mut behind = pin!(locks.shared(35..36));
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
        let _held = (locks.try_exclusive((0..30).into()), views.try_exclusive((0..30).into()));
        let (mut first, mut second) = (pin!(locks.shared(0..10)), pin!(locks.shared(9..12)));
        assert!(poll(first.as_mut()).is_none() && poll(second.as_mut()).is_none());
        assert!(matches!(poll(pin!(locks.shared(9..10))), Some(Err(TooManyWaiting))), "two wait for block 9");
        let mut third = pin!(views.shared(9..10));
        assert!(poll(third.as_mut()).is_none(), "nobody does here");
        assert!(matches!(poll(pin!(locks.shared(20..21))), Some(Err(TooManyWaiting))), "three wait in all");
        assert!(poll(pin!(locks.exclusive_always(20..21))).is_none(), "who must not fail waits all the same");
    }

    #[test]
    fn a_grant_that_nobody_waits_for_is_let_go() {
        let locks = RangeLocks::new(WaitLimit::new(8, 8));
        let held = locks.try_exclusive((0..10).into()).expect("free");
        {
            let mut gone = pin!(locks.exclusive(0..10));
            assert!(poll(gone.as_mut()).is_none());
        }
        drop(held);
        assert!(locks.try_exclusive((0..10).into()).is_some());
    }
}
