//! Values made from stored objects, kept up to a limit.

use lru::LruCache;
use std::{
    fmt,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Takes a lock, also after a panic of another thread.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Values by name and version. When their weights together pass the limit, the least recently used ones go; a value that
/// is heavier than the limit is not kept.
pub(super) struct Cache<K: Eq + Hash, V> {
    limit: u64,
    weigh: fn(&V) -> u64,
    state: Mutex<State<K, V>>,
}

struct State<K: Eq + Hash, V> {
    weight: u64,
    /// Values with their versions.
    kept: LruCache<K, (u64, V)>,
}

impl<K: Eq + Hash, V> State<K, V> {
    /// Makes room for a value and keeps it; returns what had to go.
    fn put(&mut self, limit: u64, weigh: fn(&V) -> u64, name: K, version: u64, value: V) -> Vec<(u64, V)> {
        let weight = weigh(&value);
        let mut dropped: Vec<_> = self.kept.pop(&name).into_iter().collect();
        self.weight -= dropped.iter().map(|(_, value)| weigh(value)).sum::<u64>();
        if weight <= limit {
            while self.weight > limit - weight
                && let Some((_, oldest)) = self.kept.pop_lru()
            {
                self.weight -= weigh(&oldest.1);
                dropped.push(oldest);
            }
            self.weight += weight;
            self.kept.put(name, (version, value));
        }
        dropped
    }
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    pub(super) fn new(limit: u64, weigh: fn(&V) -> u64) -> Self {
        Self { limit, weigh, state: Mutex::new(State { weight: 0, kept: LruCache::unbounded() }) }
    }

    pub(super) fn get(&self, name: &K, version: u64) -> Option<V> {
        let mut state = locked(&self.state);
        state.kept.get(name).filter(|(kept, _)| *kept == version).map(|(_, value)| value.clone())
    }

    pub(super) fn insert(&self, name: K, version: u64, value: V) {
        let mut state = locked(&self.state);
        let dropped = state.put(self.limit, self.weigh, name, version, value);
        // Large values are freed outside of the lock.
        drop(state);
        drop(dropped);
    }

    /// Inserts a value, unless the cache has one of this version or of a later one. Returns the value of this version to use.
    pub(super) fn insert_or_get(&self, name: K, version: u64, value: V) -> V {
        let mut state = locked(&self.state);
        match state.kept.get(&name) {
            Some((kept, other)) if *kept == version => return other.clone(),
            Some((kept, _)) if *kept > version => return value,
            _ => {}
        }
        let dropped = state.put(self.limit, self.weigh, name, version, value.clone());
        drop(state);
        drop(dropped);
        value
    }

    pub(super) fn remove(&self, name: &K) {
        let mut state = locked(&self.state);
        let dropped = state.kept.pop(name);
        state.weight -= dropped.iter().map(|(_, value)| (self.weigh)(value)).sum::<u64>();
        drop(state);
        drop(dropped);
    }
}

impl<K: Eq + Hash, V> fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = locked(&self.state);
        let (kept, weight) = (state.kept.len(), state.weight);
        f.debug_struct("Cache").field("kept", &kept).field("weight", &weight).field("limit", &self.limit).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_go_and_the_weight_is_right() {
        let cache = Cache::new(10, |value: &u64| *value);
        for name in 0..5u32 {
            cache.insert(name, 1, 2);
        }
        assert_eq!(cache.get(&0, 1), Some(2));
        assert_eq!(cache.get(&0, 2), None, "another version");
        cache.insert(5, 1, 4);
        let kept: Vec<u32> = (0..6).filter(|name| cache.get(name, 1).is_some()).collect();
        assert_eq!(kept, [0, 3, 4, 5], "1 and 2 made room");
        cache.insert(6, 1, 11);
        assert_eq!(cache.get(&6, 1), None, "heavier than the limit");
        cache.insert(5, 2, 1);
        assert_eq!((cache.get(&5, 1), cache.get(&5, 2)), (None, Some(1)));
        assert_eq!((cache.insert_or_get(5, 2, 7), cache.insert_or_get(5, 1, 7)), (1, 7));
        assert_eq!(cache.get(&5, 2), Some(1), "the earlier value of the later version");
        assert_eq!((cache.insert_or_get(5, 3, 1), cache.get(&5, 3)), (1, Some(1)));
        cache.remove(&0);
        cache.remove(&0);
        let state = locked(&cache.state);
        assert_eq!((state.weight, state.kept.len()), (5, 3));
    }
}
