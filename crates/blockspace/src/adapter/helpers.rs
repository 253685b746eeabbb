//! Locking of mutexes, and sizes in blocks.

use crate::volume::BLOCK_BYTES;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The guard, even of a mutex whose holder panicked.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Blocks that hold `bytes` bytes.
pub(super) fn blocks_of(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK_BYTES as u64)
}
