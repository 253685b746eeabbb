//! The remaining commands of lost queues.
//!
//! A host whose connection breaks sends its unanswered commands again on a new one. The first copy may still be with the
//! namespace: if it changed blocks after the second was answered, it could undo a newer write. So a Connect waits until
//! nothing that the host began on queues of before can change blocks any more.

use super::{queue::Queue, registry::Registry, subsystem::Subsystem};
use crate::Host;
use std::sync::{Arc, atomic::Ordering::SeqCst};
use tokio::time::timeout;

impl Queue {
    /// A command that may change blocks was handed to a namespace that answers later.
    pub(crate) fn change_begun(&self) {
        self.changes.fetch_add(1, SeqCst);
    }

    fn has_changes(&self) -> bool {
        self.changes.load(SeqCst) > 0
    }

    /// Whether its controller has ended it, so that its connection ends as soon as it looks.
    fn is_stale(&self) -> bool {
        self.generation != self.controller.generation()
    }
}

impl Registry {
    /// The connection of an I/O queue has ended: nothing more begins on it, what began runs on.
    pub(crate) fn lose(&mut self, queue: &Arc<Queue>) {
        queue.gone.store(true, SeqCst);
        if queue.has_changes() {
            self.lost.push(queue.clone());
        }
    }

    /// Whether nothing that a host began on queues of before can change blocks any more.
    fn is_settled(&mut self, host: &Host) -> bool {
        self.lost.retain(|queue| queue.has_changes());
        let of_host = |queue: &Arc<Queue>| queue.controller.host() == host;
        // A connection that does not know yet that its queue has ended may have a write's data in its hands.
        !self.lost.iter().any(of_host) && !self.queues.values().any(|queue| of_host(queue) && queue.is_stale())
    }
}

impl Subsystem {
    /// A command that may change blocks has ended.
    pub(crate) fn change_ended(&self, queue: &Queue) {
        // Either this sees that the connection is gone, or `Registry::lose` sees that no change is left.
        if queue.changes.fetch_sub(1, SeqCst) == 1 && queue.gone.load(SeqCst) {
            self.registry().lost.retain(|queue| queue.has_changes());
            self.settled.notify_waiters();
        }
    }

    /// Whether nothing that a host began on queues of before can change blocks any more.
    pub(crate) fn is_settled(&self, host: &Host) -> bool {
        self.registry().is_settled(host)
    }

    /// Waits for that; `false` if it took longer than [`Limits::settle_timeout`](super::Limits::settle_timeout).
    pub(crate) async fn settled(&self, host: &Host) -> bool {
        let settled = async {
            loop {
                let notified = self.settled.notified();
                let mut notified = std::pin::pin!(notified);
                notified.as_mut().enable();
                if self.is_settled(host) {
                    return;
                }
                notified.await;
            }
        };
        timeout(self.limits().settle_timeout, settled).await.is_ok()
    }
}
