//! Locks on ranges of addresses, for commands that wait without a thread.
//!
//! Requests are served in order of arrival: a request waits for conflicting locks and for every earlier conflicting
//! request. All ranges of a request are acquired at once, so that requests cannot deadlock.
//!
//! A completion may hold its lock for as long as a program runs. A request that waits for a completion is *stalled*, and so
//! is a request that waits for a stalled one. A stalled request holds back later requests of its own party only. So a
//! party with a long program delays itself, and not the commands of others on further blocks of a wide request. When the
//! completion ends, the request is not stalled any more and its turn comes in the order of arrival. A request that the
//! completions of other parties overtake too often is refused, to be sent again: none waits for ever.

use super::{
    ranges::Ranges,
    wait_limit::{TooManyWaiting, WaitLimit},
};
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

/// The hosts that a request is made for: one account, or the namespace itself. Requests of one party keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Party(pub(super) u64);

/// Completions of other parties that may overtake a waiting request.
const MOST_OVERTAKING: u32 = 64;

/// The use of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Shared,
    Exclusive,
    /// Exclusive, for as long as a program may run.
    Completing,
}

#[derive(Clone, Debug)]
struct Request {
    ranges: Ranges,
    hold: Hold,
    party: Party,
}

impl Request {
    fn new(party: Party, ranges: impl Into<Ranges>, hold: Hold) -> Self {
        Self { ranges: ranges.into().coarse(), hold, party }
    }

    fn is_exclusive(&self) -> bool {
        self.hold != Hold::Shared
    }

    fn conflicts(&self, other: &Self) -> bool {
        (self.is_exclusive() || other.is_exclusive()) && self.ranges.overlaps(&other.ranges)
    }
}

/// How long a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    /// For no completion: its command holds other locks.
    Short,
    /// Until too many completions overtake it, or too many requests wait.
    Bounded,
    /// For ever: its command has begun to take effect.
    Endless,
}

#[derive(Debug)]
struct Waiting {
    request: Request,
    sender: oneshot::Sender<RangeGuard>,
    patience: Patience,
    /// Whether it waits for a completion, or for a request that does.
    stalled: bool,
    /// Completions of other parties that overtook it.
    overtaken: u32,
}

impl Waiting {
    fn holds_back(&self, later: &Request) -> bool {
        let yields = self.stalled && self.patience != Patience::Endless && self.request.party != later.party;
        !yields && self.request.conflicts(later)
    }

    fn has_patience(&self) -> bool {
        match self.patience {
            Patience::Short => !self.stalled,
            Patience::Bounded => self.overtaken <= MOST_OVERTAKING,
            Patience::Endless => true,
        }
    }
}

/// A granted request: the number of its hold, and its recipient.
type Grant = (oneshot::Sender<RangeGuard>, u64);

#[derive(Debug, Default)]
struct Table {
    held: HashMap<u64, Request>,
    exclusive: usize,
    completing: usize,
    waiting: VecDeque<Waiting>,
    next: u64,
}

impl Table {
    fn free(&self, request: &Request) -> bool {
        // The common case, reads and writes of plain blocks, looks at nothing.
        (!request.is_exclusive() && self.exclusive == 0) || !self.held.values().any(|held| held.conflicts(request))
    }

    fn is_held_back(&self, request: &Request) -> bool {
        self.waiting.iter().any(|waiting| waiting.holds_back(request))
    }

    fn count(&mut self, request: &Request, change: impl Fn(usize) -> usize) {
        if request.is_exclusive() {
            self.exclusive = change(self.exclusive);
        }
        if request.hold == Hold::Completing {
            self.completing = change(self.completing);
        }
    }

    fn hold(&mut self, request: Request) -> u64 {
        self.next += 1;
        self.count(&request, |count| count + 1);
        if request.hold == Hold::Completing {
            let overtaken =
                |waiting: &&mut Waiting| waiting.request.party != request.party && waiting.request.conflicts(&request);
            self.waiting.iter_mut().filter(overtaken).for_each(|waiting| waiting.overtaken += 1);
        }
        self.held.insert(self.next, request);
        self.next
    }

    /// Whether a request behind the first `earlier` ones is stalled.
    fn stalls(&self, request: &Request, earlier: usize) -> bool {
        let completing = |held: &Request| held.hold == Hold::Completing && held.conflicts(request);
        self.completing > 0
            && (self.held.values().any(completing)
                || self.waiting.iter().take(earlier).any(|before| before.stalled && before.holds_back(request)))
    }

    fn mark_stalled(&mut self) {
        for index in 0..self.waiting.len() {
            let stalled = self.waiting.get(index).is_some_and(|waiting| self.stalls(&waiting.request, index));
            if let Some(waiting) = self.waiting.get_mut(index) {
                waiting.stalled = stalled;
            }
        }
    }

    /// Grants the requests that nothing keeps, in order, as far as they may be concerned; whether a completion is one.
    fn grant(&mut self, concerned: impl Fn(&Request) -> bool, grants: &mut Vec<Grant>) -> bool {
        let completing = self.completing;
        for waiting in std::mem::take(&mut self.waiting) {
            let request = &waiting.request;
            if !concerned(request) || self.is_held_back(request) || !self.free(request) {
                self.waiting.push_back(waiting);
            } else {
                let id = self.hold(waiting.request);
                grants.push((waiting.sender, id));
            }
        }
        self.completing > completing
    }

    /// Drops the requests that wait no longer; whether there were any.
    fn refuse(&mut self) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(Waiting::has_patience);
        self.waiting.len() < before
    }

    /// Takes a hold back; the requests that it kept waiting.
    fn release(&mut self, id: u64) -> Vec<Grant> {
        let mut grants = Vec::new();
        let Some(released) = self.held.remove(&id) else { return grants };
        self.count(&released, |count| count - 1);
        if !self.waiting.iter().any(|waiting| waiting.request.conflicts(&released)) {
            return grants;
        }
        if released.hold == Hold::Completing {
            self.mark_stalled();
        }
        // Only requests that conflict with the released one can have waited for it, or for one granted now.
        let mut begun = self.grant(|request| request.conflicts(&released), &mut grants);
        // A completion that begins stalls others, and a refused request keeps others waiting no longer.
        while self.refuse() || begun {
            self.mark_stalled();
            begun = self.grant(|_| true, &mut grants);
        }
        grants
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
        if table.is_held_back(&request) || !table.free(&request) {
            return Err(request);
        }
        Ok(RangeGuard { table: Arc::clone(&self.table), id: table.hold(request) })
    }

    fn try_now(&self, request: Request) -> Option<RangeGuard> {
        self.try_hold(&mut locked(&self.table), request).ok()
    }

    /// A shared hold, if it need not be waited for.
    pub(super) fn try_shared(&self, party: Party, range: Range<u64>) -> Option<RangeGuard> {
        self.try_now(Request::new(party, range, Hold::Shared))
    }

    /// An exclusive hold, if it need not be waited for.
    #[cfg(test)]
    fn try_exclusive(&self, party: Party, ranges: Ranges) -> Option<RangeGuard> {
        self.try_now(Request::new(party, ranges, Hold::Exclusive))
    }

    /// The same for a completion, which may take long.
    pub(super) fn try_completing(&self, party: Party, ranges: Ranges) -> Option<RangeGuard> {
        self.try_now(Request::new(party, ranges, Hold::Completing))
    }

    /// A shared hold.
    pub(super) async fn shared(&self, party: Party, ranges: impl Into<Ranges>) -> Result<RangeGuard, TooManyWaiting> {
        self.acquire(Request::new(party, ranges, Hold::Shared), Patience::Bounded).await
    }

    /// An exclusive hold.
    pub(super) async fn exclusive(
        &self,
        party: Party,
        ranges: impl Into<Ranges>,
    ) -> Result<RangeGuard, TooManyWaiting> {
        self.acquire(Request::new(party, ranges, Hold::Exclusive), Patience::Bounded).await
    }

    /// An exclusive hold for a command that has others already: it waits for no completion.
    pub(super) async fn exclusive_soon(
        &self,
        party: Party,
        ranges: impl Into<Ranges>,
    ) -> Result<RangeGuard, TooManyWaiting> {
        self.acquire(Request::new(party, ranges, Hold::Exclusive), Patience::Short).await
    }

    /// An exclusive hold for a command that has others already and has begun to take effect: it waits however many do.
    pub(super) async fn exclusive_always(
        &self,
        party: Party,
        ranges: impl Into<Ranges>,
    ) -> Result<RangeGuard, TooManyWaiting> {
        self.acquire(Request::new(party, ranges, Hold::Exclusive), Patience::Endless).await
    }

    /// The same for a completion, which may take long.
    pub(super) async fn completing_always(
        &self,
        party: Party,
        ranges: impl Into<Ranges>,
    ) -> Result<RangeGuard, TooManyWaiting> {
        self.acquire(Request::new(party, ranges, Hold::Completing), Patience::Endless).await
    }

    /// Whether another request waits, so that the release may take time.
    pub(super) fn awaited(&self) -> bool {
        !locked(&self.table).waiting.is_empty()
    }

    async fn acquire(&self, request: Request, patience: Patience) -> Result<RangeGuard, TooManyWaiting> {
        let (receiver, _waiting) = {
            let mut table = locked(&self.table);
            let request = match self.try_hold(&mut table, request) {
                Ok(guard) => return Ok(guard),
                Err(request) => request,
            };
            let stalled = table.stalls(&request, table.waiting.len());
            let waiting = match patience {
                Patience::Endless => None,
                Patience::Short if stalled => return Err(TooManyWaiting),
                Patience::Short | Patience::Bounded => {
                    let same = |waiting: &&Waiting| {
                        waiting.request.party == request.party && waiting.request.ranges.overlaps(&request.ranges)
                    };
                    Some(self.waits.enter(table.waiting.iter().filter(same).count())?)
                }
            };
            let (sender, receiver) = oneshot::channel();
            table.waiting.push_back(Waiting { request, sender, patience, stalled, overtaken: 0 });
            (receiver, waiting)
        };
        // The sender is dropped only after it has sent, or to refuse the request.
        receiver.await.map_err(|_| TooManyWaiting)
    }
}

impl Drop for RangeGuard {
    fn drop(&mut self) {
        let granted = locked(&self.table).release(self.id);
        // Outside of the lock: a guard that nobody waits for any more comes back and is dropped here.
        for (sender, id) in granted {
            drop(sender.send(RangeGuard { table: Arc::clone(&self.table), id }));
        }
    }
}

#[cfg(test)]
#[path = "locks_tests.rs"]
mod tests;
