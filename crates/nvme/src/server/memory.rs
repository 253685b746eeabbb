//! The budget of data buffers.
//!
//! Every connection has its own share, which suffices for one command of the greatest length, and a reserve that
//! suffices for one capsule with data. The rest of the target's memory is common; one connection gets at most a
//! quarter of it. So no connection waits for another: a command that finds no memory waits for a command of its own
//! connection to end. Only a command that has all its data holds a capsule's reserve, so each of those ends by itself.

use super::limits::Limits;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The memory of all connections.
#[derive(Debug)]
pub(crate) struct Pool {
    own: usize,
    reserve: usize,
    most: usize,
    common: AtomicUsize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

impl Pool {
    pub(crate) fn new(limits: &Limits) -> Self {
        let common = limits.shared_bytes();
        Self {
            own: limits.own_bytes(),
            reserve: limits.reserve_bytes(),
            most: common / 4,
            common: AtomicUsize::new(common),
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
        }
    }

    /// Bytes in use now.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// The most bytes that ever were in use at once.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }

    /// The budget of one more connection.
    pub(crate) fn share(self: &Arc<Self>) -> Arc<Share> {
        Arc::new(Share {
            pool: self.clone(),
            own: AtomicUsize::new(self.own),
            reserve: AtomicUsize::new(self.reserve),
            common: AtomicUsize::new(self.most),
        })
    }
}

/// The budget of a connection.
#[derive(Debug)]
pub(crate) struct Share {
    pool: Arc<Pool>,
    own: AtomicUsize,
    reserve: AtomicUsize,
    common: AtomicUsize,
}

fn take(free: &AtomicUsize, bytes: usize) -> bool {
    free.fetch_update(Relaxed, Relaxed, |free| free.checked_sub(bytes)).is_ok()
}

impl Share {
    /// Takes bytes for a command; `None` until another of this connection gives some back. More than the connection's own
    /// share can never be had for sure, so no caller asks for it.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Option<Charge> {
        if take(&self.own, bytes) {
            return Some(self.charge(bytes, 0, 0));
        }
        if !take(&self.common, bytes) {
            return None;
        }
        if take(&self.pool.common, bytes) {
            return Some(self.charge(0, 0, bytes));
        }
        self.common.fetch_add(bytes, Relaxed);
        None
    }

    /// The same for a command that comes with its data.
    pub(crate) fn take_for_capsule(self: &Arc<Self>, bytes: usize) -> Option<Charge> {
        self.take(bytes).or_else(|| take(&self.reserve, bytes).then(|| self.charge(0, bytes, 0)))
    }

    fn charge(self: &Arc<Self>, own: usize, reserve: usize, common: usize) -> Charge {
        let bytes = own + reserve + common;
        let used = self.pool.used.fetch_add(bytes, Relaxed) + bytes;
        self.pool.peak.fetch_max(used, Relaxed);
        Charge { share: self.clone(), own, reserve, common }
    }
}

/// Bytes that were taken; dropped, they are given back.
#[derive(Debug)]
pub(crate) struct Charge {
    share: Arc<Share>,
    own: usize,
    reserve: usize,
    common: usize,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.share.own.fetch_add(self.own, Relaxed);
        self.share.reserve.fetch_add(self.reserve, Relaxed);
        self.share.common.fetch_add(self.common, Relaxed);
        self.share.pool.common.fetch_add(self.common, Relaxed);
        self.share.pool.used.fetch_sub(self.own + self.reserve + self.common, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_always_has_its_own_share_and_no_more_than_a_quarter_of_the_rest() {
        let limits = Limits { max_connections: 2, ..Limits::default() };
        let limits = Limits { memory_bytes: 2 * limits.share_bytes() + 400, ..limits };
        let pool = Arc::new(Pool::new(&limits));
        let (greedy, modest) = (pool.share(), pool.share());
        let own = greedy.take(limits.own_bytes()).expect("the own share");
        let common: Vec<Charge> = std::iter::from_fn(|| greedy.take(10)).collect();
        assert_eq!(common.len(), 10, "a quarter of 400 bytes");
        assert!(greedy.take(1).is_none());
        let capsule = greedy.take_for_capsule(limits.reserve_bytes()).expect("the reserve");
        assert!(greedy.take_for_capsule(1).is_none());
        let other = modest.take(limits.own_bytes()).expect("another's own share is untouched");
        assert_eq!(pool.used(), 2 * limits.own_bytes() + limits.reserve_bytes() + 100);
        drop((own, common, capsule, other));
        assert_eq!(pool.used(), 0);
        assert_eq!(pool.peak(), 2 * limits.own_bytes() + limits.reserve_bytes() + 100);
        assert!(greedy.take(limits.own_bytes()).is_some());
    }
}
