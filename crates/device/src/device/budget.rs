//! The memory of loaded keys and of what is prepared under them: one budget for all spaces.
//!
//! Memory is reserved before it is used, at its peak, and given back when the last user of an object drops it. Objects stay
//! after their use until others need room; the least recently used goes first.
//!
//! A space has a floor. Others take nothing from a space that has no more than its floor, and a request that stays within
//! the floor of its space goes before all others: while it waits, memory that becomes free is kept for it. As the floors
//! together fit into the budget, such a request waits for running programs only.

use super::config::KeyMemory;
use crate::{error::KeyMemoryError, handler::KeyContext, metrics::KeyMemoryUsage, store::SpaceId};
use ciphermill_program::{KeyId, TypeCode, VrId};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// A key of a space: the type code distinguishes keys of different handlers.
pub(super) type KeyName = (SpaceId, TypeCode, KeyId);

/// An object under the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// A key in the form for computing.
    Key(KeyName),
    /// What a handler prepared under a key, by the register of its source.
    Prepared(KeyName, VrId),
}

impl Name {
    fn key(self) -> KeyName {
        match self {
            Self::Key(key) | Self::Prepared(key, _) => key,
        }
    }

    fn space(self) -> SpaceId {
        self.key().0
    }
}

/// The budget. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: KeyMemory,
    state: Mutex<State>,
    /// Memory was given back, an object became idle, or one was made.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes reserved. Above the limit for a moment only: while a request that has its memory drops the objects that made
    /// room for it.
    used: u64,
    by_space: BTreeMap<SpaceId, u64>,
    /// Bytes that waiting requests within the floors of their spaces need.
    promised: BTreeMap<SpaceId, u64>,
    clock: u64,
    kept: HashMap<Name, Kept>,
    making: HashSet<Name>,
    /// Counts and times since the device was opened; what is in use now is not kept here.
    counts: KeyMemoryUsage,
}

/// An object that stays for its next user. It is idle while nothing else holds it.
#[derive(Debug)]
struct Kept {
    /// The versions of the stored objects that it was made from.
    versions: Vec<u64>,
    held: Arc<Held>,
    used_at: u64,
}

impl Kept {
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.held) == 1
    }

    fn bytes(&self) -> u64 {
        self.held.reservation.bytes
    }
}

/// An object and the memory reserved for it.
struct Held {
    // Dropped first: its memory is free then.
    value: Arc<dyn KeyContext>,
    reservation: Reservation,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("bytes", &self.reservation.bytes).finish_non_exhaustive()
    }
}

/// An object in use. When its last user drops it, waiting requests look again.
#[derive(Debug)]
pub(super) struct Use {
    held: Arc<Held>,
    _wake: Wake,
}

impl Use {
    fn new(held: Arc<Held>, budget: &Budget) -> Self {
        Self { held, _wake: Wake(budget.clone()) }
    }

    pub(super) fn value(&self) -> &dyn KeyContext {
        &*self.held.value
    }
}

/// Wakes the waiting requests when dropped.
#[derive(Debug)]
struct Wake(Budget);

impl Drop for Wake {
    fn drop(&mut self) {
        // A request between its look and its wait holds the lock, and must not miss the notice.
        drop(self.0.0.lock());
        self.0.0.changed.notify_all();
    }
}

/// Memory set aside; given back when dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: Budget,
    space: SpaceId,
    bytes: u64,
}

impl Reservation {
    /// The object, with the part of the reservation that it occupies. If it occupies more than was reserved, the rest must be
    /// free.
    pub(super) fn hold(self, value: Arc<dyn KeyContext>) -> Result<Use, KeyMemoryError> {
        let budget = self.budget.clone();
        Ok(Use::new(Arc::new(self.fit(value)?), &budget))
    }

    fn fit(mut self, value: Arc<dyn KeyContext>) -> Result<Held, KeyMemoryError> {
        let bytes = value.memory_bytes();
        if let Some(missing) = bytes.checked_sub(self.bytes).filter(|&missing| missing > 0) {
            let mut rest = self.budget.reserve(self.space, missing, Instant::now())?;
            self.bytes += std::mem::take(&mut rest.bytes);
        }
        self.shrink(bytes);
        Ok(Held { value, reservation: self })
    }

    /// Gives back what is above `bytes`.
    fn shrink(&mut self, bytes: u64) {
        let surplus = self.bytes.saturating_sub(bytes);
        if surplus == 0 {
            return;
        }
        self.bytes -= surplus;
        self.budget.0.lock().release(self.space, surplus);
        self.budget.0.changed.notify_all();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

/// What a request finds.
pub(super) enum Found {
    /// The object.
    Ready(Use),
    /// Nothing: the caller makes it.
    Missing(Making),
}

/// The right to make an object; others that want it wait. Ends when dropped.
pub(super) struct Making {
    budget: Budget,
    name: Name,
    versions: Vec<u64>,
}

impl Drop for Making {
    fn drop(&mut self) {
        self.budget.0.lock().making.remove(&self.name);
        self.budget.0.changed.notify_all();
    }
}

impl Budget {
    pub(super) fn new(limits: KeyMemory) -> Self {
        Self(Arc::new(Shared { limits, state: Mutex::default(), changed: Condvar::new() }))
    }

    /// The longest wait for memory.
    pub(super) fn patience(&self) -> Duration {
        self.0.limits.wait
    }

    /// The object made from these versions, or the right to make it. Waits while another request makes it, until `deadline`.
    ///
    /// A caller that holds nothing (`holds`) also waits before it takes an idle object into use that a request within its floor waits
    /// for; one that holds other objects does not, as it would keep them meanwhile.
    pub(super) fn find(
        &self,
        name: Name,
        versions: &[u64],
        holds: bool,
        deadline: Instant,
    ) -> Result<Found, KeyMemoryError> {
        let begun = Instant::now();
        let mut state = self.0.lock();
        let mut waited = false;
        while state.making.contains(&name) || (!holds && state.is_wanted(&self.0.limits, name)) {
            waited = true;
            state = match self.0.wait(state, deadline) {
                Ok(state) => state,
                Err(mut state) => {
                    state.waited(begun);
                    state.counts.refusals += 1;
                    return Err(KeyMemoryError::InUse { waited: begun.elapsed() });
                }
            };
        }
        if waited {
            state.waited(begun);
        }
        state.clock += 1;
        let now = state.clock;
        let stale = match state.kept.get_mut(&name) {
            Some(kept) if kept.versions == versions => {
                kept.used_at = now;
                return Ok(Found::Ready(Use::new(Arc::clone(&kept.held), self)));
            }
            Some(_) => state.kept.remove(&name),
            None => None,
        };
        state.making.insert(name);
        drop(state);
        // Freed before the new version is made, and outside of the lock: it may hold gigabytes.
        drop(stale);
        Ok(Found::Missing(Making { budget: self.clone(), name, versions: versions.to_vec() }))
    }

    /// Whether the object is there, made from these versions.
    pub(super) fn holds(&self, name: Name, versions: &[u64]) -> bool {
        self.0.lock().kept.get(&name).is_some_and(|kept| kept.versions == versions)
    }

    /// Sets memory aside for a space. Waits for it until `deadline`, and drops idle objects.
    pub(super) fn reserve(&self, space: SpaceId, bytes: u64, deadline: Instant) -> Result<Reservation, KeyMemoryError> {
        let shared = &*self.0;
        let limit = shared.limits.bytes;
        if bytes > limit {
            return Err(KeyMemoryError::TooLarge { needed: bytes, limit });
        }
        let begun = Instant::now();
        let mut state = shared.lock();
        let (mut promise, mut waited) = (0, false);
        loop {
            // The own promise, if there is one, ends here.
            state.take_back(space, std::mem::take(&mut promise));
            let busy = state.busy();
            let of_space = |bytes: &BTreeMap<SpaceId, u64>| bytes.get(&space).copied().unwrap_or(0);
            let own = of_space(&busy).saturating_add(of_space(&state.promised));
            let within = own.saturating_add(bytes) <= shared.limits.floor(space);
            let others: u64 = match within {
                true => 0,
                false => state.promised.iter().filter(|(other, _)| **other != space).map(|(_, bytes)| bytes).sum(),
            };
            let missing = bytes.saturating_add(others).saturating_sub(limit.saturating_sub(state.used));
            if let Some(victims) = state.victims(&shared.limits, &busy, space, missing) {
                let evicted: Vec<Kept> = victims.iter().filter_map(|name| state.kept.remove(name)).collect();
                state.counts.evictions += evicted.len() as u64;
                state.used = state.used.saturating_add(bytes);
                *state.by_space.entry(space).or_default() += bytes;
                if waited {
                    state.waited(begun);
                }
                drop(state);
                // Each gives its memory back when its value is gone; the caller takes its own only after that.
                drop(evicted);
                shared.changed.notify_all();
                return Ok(Reservation { budget: self.clone(), space, bytes });
            }
            let hopeless = !state.could_fit(&shared.limits, space, bytes);
            if hopeless || Instant::now() >= deadline {
                return Err(shared.refuse(&mut state, begun, bytes));
            }
            if within {
                *state.promised.entry(space).or_default() += bytes;
                promise = bytes;
            }
            waited = true;
            state = match shared.wait(state, deadline) {
                Ok(state) | Err(state) => state,
            };
        }
    }

    /// Drops a key and all that was prepared under it, because one of its objects changed. Running programs keep them.
    pub(super) fn forget_key(&self, key: KeyName) {
        self.forget(|name| name.key() == key);
    }

    /// Drops what was prepared from a register, because its object changed.
    pub(super) fn forget_prepared(&self, space: SpaceId, id: VrId) {
        self.forget(|name| matches!(name, Name::Prepared(key, from) if key.0 == space && from == id));
    }

    fn forget(&self, changed: impl Fn(Name) -> bool) {
        let mut state = self.0.lock();
        let names: Vec<Name> = state.kept.keys().copied().filter(|&name| changed(name)).collect();
        let dropped: Vec<Kept> = names.iter().filter_map(|name| state.kept.remove(name)).collect();
        drop(state);
        drop(dropped);
    }

    /// What is in use, and what happened so far.
    pub(super) fn usage(&self) -> KeyMemoryUsage {
        let state = self.0.lock();
        let keys = state.kept.keys().filter(|name| matches!(name, Name::Key(_))).count() as u64;
        let prepared = state.kept.len() as u64 - keys;
        KeyMemoryUsage { limit: self.0.limits.bytes, used: state.used, keys, prepared, ..state.counts }
    }
}

impl Making {
    /// Sets memory aside for the object, as [`Budget::reserve`].
    pub(super) fn reserve(&self, bytes: u64, deadline: Instant) -> Result<Reservation, KeyMemoryError> {
        self.budget.reserve(self.name.space(), bytes, deadline)
    }

    /// Keeps the object for its next user, as [`Reservation::hold`] does for one.
    pub(super) fn keep(self, value: Arc<dyn KeyContext>, reservation: Reservation) -> Result<Use, KeyMemoryError> {
        let held = Arc::new(reservation.fit(value)?);
        let used = Use::new(Arc::clone(&held), &self.budget);
        let mut state = self.budget.0.lock();
        state.clock += 1;
        state.counts.loads += 1;
        let kept = Kept { versions: self.versions.clone(), held, used_at: state.clock };
        let before = state.kept.insert(self.name, kept);
        drop(state);
        drop(before);
        Ok(used)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change; the error is the deadline.
    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        deadline: Instant,
    ) -> Result<MutexGuard<'a, State>, MutexGuard<'a, State>> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(state);
        }
        let (state, _) = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        Ok(state)
    }

    fn refuse(&self, state: &mut State, begun: Instant, needed: u64) -> KeyMemoryError {
        state.waited(begun);
        state.counts.refusals += 1;
        // Its promise is gone.
        self.changed.notify_all();
        KeyMemoryError::Busy { needed, used: state.used, limit: self.limits.bytes, waited: begun.elapsed() }
    }
}

impl State {
    fn waited(&mut self, begun: Instant) {
        self.counts.waits += 1;
        self.counts.wait_time += begun.elapsed();
    }

    fn take_back(&mut self, space: SpaceId, bytes: u64) {
        if let Some(promised) = self.promised.get_mut(&space) {
            *promised = promised.saturating_sub(bytes);
            if *promised == 0 {
                self.promised.remove(&space);
            }
        }
    }

    fn release(&mut self, space: SpaceId, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
        if let Some(own) = self.by_space.get_mut(&space) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                self.by_space.remove(&space);
            }
        }
    }

    /// Bytes of each space that are in use or set aside: all but those of idle objects.
    fn busy(&self) -> BTreeMap<SpaceId, u64> {
        let mut busy = self.by_space.clone();
        for (name, kept) in self.kept.iter().filter(|(_, kept)| kept.is_idle()) {
            if let Some(sum) = busy.get_mut(&name.space()) {
                *sum = sum.saturating_sub(kept.bytes());
            }
        }
        busy
    }

    /// Whether a request within the floor of another space waits for memory, and this idle object, once in use, would keep
    /// more from it than the floor of its own space.
    fn is_wanted(&self, limits: &KeyMemory, name: Name) -> bool {
        let space = name.space();
        if self.promised.keys().all(|other| *other == space) {
            return false;
        }
        let Some(kept) = self.kept.get(&name).filter(|kept| kept.is_idle()) else { return false };
        let own = self.busy().get(&space).copied().unwrap_or(0);
        own.saturating_add(kept.bytes()) > limits.floor(space)
    }

    /// Whether the request could have its memory if no program ran: others keep what they have up to their floors.
    fn could_fit(&self, limits: &KeyMemory, space: SpaceId, bytes: u64) -> bool {
        let others = self.by_space.iter().filter(|(other, _)| **other != space);
        let kept: u64 = others.map(|(other, own)| limits.floor(*other).min(*own)).sum();
        bytes <= limits.bytes.saturating_sub(kept)
    }

    /// Idle objects that may make room of `bytes` for `space`, least recently used first; `None` if they do not suffice.
    /// Of another space, its most recently used objects stay, as far as they and all that it has in use are within its
    /// floor.
    fn victims(
        &self,
        limits: &KeyMemory,
        busy: &BTreeMap<SpaceId, u64>,
        space: SpaceId,
        bytes: u64,
    ) -> Option<Vec<Name>> {
        if bytes == 0 {
            return Some(Vec::new());
        }
        let mut order: Vec<(&Name, &Kept)> = self.kept.iter().filter(|(_, kept)| kept.is_idle()).collect();
        order.sort_unstable_by_key(|(_, kept)| std::cmp::Reverse(kept.used_at));
        // From the newest on.
        let mut within = busy.clone();
        order.retain(|(name, kept)| {
            let sum = within.entry(name.space()).or_default();
            let stays = name.space() != space && sum.saturating_add(kept.bytes()) <= limits.floor(name.space());
            if stays {
                *sum += kept.bytes();
            }
            !stays
        });
        let (mut found, mut room) = (Vec::new(), 0u64);
        for (name, kept) in order.into_iter().rev() {
            if room >= bytes {
                break;
            }
            room += kept.bytes();
            found.push(*name);
        }
        (room >= bytes).then_some(found)
    }
}

#[cfg(test)]
mod tests {
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
        assert!(
            matches!(budget.find(name(A, 0), &[1], false, Instant::now()), Ok(Found::Missing(_))),
            "the oldest went"
        );
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
            let waiting =
                scope.spawn(|| load(&budget, name(A, 0), 20, 20, LATE).map(|held| held.held.reservation.bytes));
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

    /// Whatever many threads do, the account agrees with what is held, and no floor is broken.
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
}
