//! The memory of loaded keys and prepared operands: one budget for all spaces.
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
    /// An operand that a handler prepared under a key, by the register of its source.
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
    /// Counts and times since the device was opened; the memory in use is not kept here.
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

    /// Memory that it has of the budget.
    pub(super) fn bytes(&self) -> u64 {
        self.held.reservation.bytes
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

    /// Gives back the surplus above `bytes`.
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

/// Result of a request.
pub(super) enum Found {
    /// The object.
    Ready(Use),
    /// Nothing: the caller makes it.
    Missing(Making),
}

/// The right to make an object; other requests for it wait. Ends when dropped.
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

    /// Whether the object is kept, made from these versions.
    pub(super) fn holds(&self, name: Name, versions: &[u64]) -> bool {
        self.0.lock().kept.get(&name).is_some_and(|kept| kept.versions == versions)
    }

    /// Sets memory aside for a space. Waits for it until `deadline`, and drops idle objects.
    pub(super) fn reserve(&self, space: SpaceId, bytes: u64, deadline: Instant) -> Result<Reservation, KeyMemoryError> {
        self.reserve_beside(0, space, bytes, deadline)
    }

    /// The same for a request that keeps `own` bytes of the budget in use itself, whatever it waits for.
    pub(super) fn reserve_beside(
        &self,
        own: u64,
        space: SpaceId,
        bytes: u64,
        deadline: Instant,
    ) -> Result<Reservation, KeyMemoryError> {
        let shared = &*self.0;
        let limit = shared.limits.bytes;
        let needed = bytes.saturating_add(own);
        if needed > limit {
            return Err(KeyMemoryError::TooLarge { needed, limit });
        }
        let begun = Instant::now();
        let mut state = shared.lock();
        let (mut promise, mut waited) = (0, false);
        loop {
            // The own promise, if there is one, ends here.
            state.take_back(space, std::mem::take(&mut promise));
            let busy = state.busy();
            let of_space = |bytes: &BTreeMap<SpaceId, u64>| bytes.get(&space).copied().unwrap_or(0);
            let busy_or_promised = of_space(&busy).saturating_add(of_space(&state.promised));
            let within = busy_or_promised.saturating_add(bytes) <= shared.limits.floor(space);
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
            let hopeless = !state.could_fit(&shared.limits, space, needed);
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

    /// Drops a key and its prepared operands, because one of its objects changed. Running programs keep them.
    pub(super) fn forget_key(&self, key: KeyName) {
        self.forget(|name| name.key() == key);
    }

    /// Drops the operands prepared from a register, because its object changed.
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

    /// Memory in use, and counts since the device was opened.
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
        self.reserve_beside(0, bytes, deadline)
    }

    /// The same for an object whose maker keeps `own` bytes of the budget in use meanwhile.
    pub(super) fn reserve_beside(
        &self,
        own: u64,
        bytes: u64,
        deadline: Instant,
    ) -> Result<Reservation, KeyMemoryError> {
        self.budget.reserve_beside(own, self.name.space(), bytes, deadline)
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

    /// Whether the request could have its memory if no program ran: other spaces keep their objects up to their floors.
    fn could_fit(&self, limits: &KeyMemory, space: SpaceId, bytes: u64) -> bool {
        let others = self.by_space.iter().filter(|(other, _)| **other != space);
        let kept: u64 = others.map(|(other, own)| limits.floor(*other).min(*own)).sum();
        bytes <= limits.bytes.saturating_sub(kept)
    }

    /// Idle objects that may make room of `bytes` for `space`, least recently used first; `None` if they do not suffice.
    /// Another space keeps its objects in use, and its most recently used idle objects as far as all of these fit in its
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
mod tests;
