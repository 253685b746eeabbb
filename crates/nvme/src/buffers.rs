//! Buffers of data that are used again.
//!
//! An allocator gives a large buffer back to the system when it is freed, and each page of the next one faults on its first
//! use: for reads of 128 KiB that is most of the work of a target. So the target keeps the buffers that it has sent, and a
//! [`Namespace`](crate::Namespace) may take those for its answers, and give back the data of writes once it is done with
//! them. At most 16 MiB are kept in a process; the earlier content of a buffer is not to be seen in it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Bytes of the buffers that are kept: smaller ones are cheap anyway, larger ones would fill the pool.
const LEAST_BYTES: usize = 32 << 10;
const MOST_BYTES: usize = 2 << 20;
/// Bytes that are kept in all.
const POOL_BYTES: usize = 16 << 20;

/// Buffers by capacity.
#[derive(Debug)]
struct Buffers {
    by_capacity: BTreeMap<usize, Vec<Vec<u8>>>,
    bytes: usize,
}

static KEPT: Mutex<Buffers> = Mutex::new(Buffers::new());

impl Buffers {
    const fn new() -> Self {
        Self { by_capacity: BTreeMap::new(), bytes: 0 }
    }

    /// One with at least `bytes` bytes and not more than twice as many.
    fn take(&mut self, bytes: usize) -> Option<Vec<u8>> {
        let (&capacity, buffers) = self.by_capacity.range_mut(bytes..=bytes.saturating_mul(2)).next()?;
        let buffer = buffers.pop();
        if buffers.is_empty() {
            self.by_capacity.remove(&capacity);
        }
        self.bytes -= buffer.as_ref().map_or(0, Vec::capacity);
        buffer
    }

    /// Keeps one, or gives it back where there are enough.
    fn keep(&mut self, buffer: Vec<u8>) -> Option<Vec<u8>> {
        let capacity = buffer.capacity();
        if self.bytes + capacity > POOL_BYTES {
            return Some(buffer);
        }
        self.bytes += capacity;
        self.by_capacity.entry(capacity).or_default().push(buffer);
        None
    }
}

fn is_kept(bytes: usize) -> bool {
    (LEAST_BYTES..=MOST_BYTES).contains(&bytes)
}

fn kept(bytes: usize) -> Option<Vec<u8>> {
    // A panic while it was locked leaves at worst a count that is too high.
    is_kept(bytes).then(|| KEPT.lock().unwrap_or_else(PoisonError::into_inner).take(bytes)).flatten()
}

/// An empty buffer with room for at least `bytes` bytes.
///
/// # Example
/// ```
/// use ciphermill_nvme::buffers;
///
/// let mut buffer = buffers::with_capacity(64 << 10);
/// buffer.resize(64 << 10, 0xaa);
/// buffers::give_back(buffer);
/// // A buffer that is used again is empty.
/// assert!(buffers::with_capacity(64 << 10).is_empty());
/// ```
#[must_use]
pub fn with_capacity(bytes: usize) -> Vec<u8> {
    kept(bytes).unwrap_or_else(|| Vec::with_capacity(bytes))
}

/// A buffer of `bytes` zeros.
///
/// # Example
/// ```
/// use ciphermill_nvme::buffers;
///
/// buffers::give_back(vec![0xaa; 64 << 10]);
/// assert_eq!(buffers::zeroed(64 << 10), vec![0; 64 << 10]);
/// ```
#[must_use]
pub fn zeroed(bytes: usize) -> Vec<u8> {
    let Some(mut buffer) = kept(bytes) else { return vec![0; bytes] };
    buffer.resize(bytes, 0);
    buffer
}

/// Gives a buffer back that is not needed any more, whatever it is; it may be used again.
pub fn give_back(mut buffer: Vec<u8>) {
    if is_kept(buffer.capacity()) {
        buffer.clear();
        let surplus = KEPT.lock().unwrap_or_else(PoisonError::into_inner).keep(buffer);
        // Freed without the lock.
        drop(surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_fit_are_used_again() {
        let mut buffers = Buffers::new();
        for capacity in [40_000, 131_072, 200_000] {
            assert!(buffers.keep(Vec::with_capacity(capacity)).is_none());
        }
        let bytes = buffers.bytes;
        assert!(bytes >= 371_072);
        assert!(buffers.take(201_000).is_none(), "none is large enough");
        assert!(buffers.take(19_000).is_none(), "that would waste more than half");
        let taken = buffers.take(100_000).map(|buffer| buffer.capacity());
        assert!(taken.is_some_and(|capacity| (131_072..200_000).contains(&capacity)), "the smallest that fits");
        assert_eq!(buffers.bytes, bytes - taken.unwrap_or(0));
        assert!(buffers.take(100_000).is_some_and(|buffer| buffer.capacity() >= 200_000));
        assert!(buffers.take(100_000).is_none());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut buffers = Buffers::new();
        let refused = (0..100).filter(|_| buffers.keep(Vec::with_capacity(1 << 20)).is_some()).count();
        assert!(refused >= 84 && buffers.bytes <= POOL_BYTES, "{refused}");
        while buffers.take(1 << 20).is_some() {}
        assert!(buffers.bytes == 0 && buffers.by_capacity.is_empty());
    }

    #[test]
    fn what_a_buffer_held_is_not_seen() {
        for bytes in [0, 4096, LEAST_BYTES, 100_000, MOST_BYTES, MOST_BYTES + 1] {
            give_back(vec![0xaa; bytes]);
            assert!(with_capacity(bytes).is_empty() && with_capacity(bytes).capacity() >= bytes);
            give_back(vec![0xaa; bytes]);
            assert_eq!(zeroed(bytes), vec![0; bytes]);
        }
    }
}
