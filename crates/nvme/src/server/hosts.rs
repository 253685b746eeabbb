//! Hosts by their names: their connections, commands in progress, and counts.
//!
//! A connection's place counts until the last command that began on it has ended, also when the connection is long gone:
//! until then its commands hold memory of its share. So a host that connects, begins a long command and
//! vanishes, again and again, meets the same limits as one that stays.

use super::limits::Limits;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Names that are remembered; further ones without a connection are forgotten, and their counts start again at 0.
const KNOWN: usize = 1024;

/// The table. Its lock is never held while another one is taken.
#[derive(Debug)]
pub(crate) struct Hosts {
    table: Mutex<Table>,
    most_connections: usize,
    most_of_host: usize,
    most_commands: usize,
}

#[derive(Debug, Default)]
struct Table {
    connections: usize,
    hosts: HashMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    connections: usize,
    /// The part of these that is gone while their commands are in progress.
    gone: usize,
    record: Arc<HostRecord>,
}

/// The counts of a host since its first connection, and its limit of commands in progress.
#[derive(Debug)]
pub(crate) struct HostRecord {
    commands: Arc<Semaphore>,
    pub(crate) reads: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    pub(crate) media_errors: AtomicU64,
    pub(crate) unsafe_shutdowns: AtomicU64,
}

impl HostRecord {
    fn new(most_commands: usize) -> Self {
        Self {
            commands: Arc::new(Semaphore::new(most_commands.min(Semaphore::MAX_PERMITS))),
            reads: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            media_errors: AtomicU64::new(0),
            unsafe_shutdowns: AtomicU64::new(0),
        }
    }

    /// A command that reads this number of bytes begins.
    pub(crate) fn count_read(&self, bytes: usize) {
        self.reads.fetch_add(1, Relaxed);
        self.bytes_read.fetch_add(bytes as u64, Relaxed);
    }

    /// A command that writes this number of bytes begins.
    pub(crate) fn count_write(&self, bytes: usize) {
        self.writes.fetch_add(1, Relaxed);
        self.bytes_written.fetch_add(bytes as u64, Relaxed);
    }

    /// Leave for a command to begin; it ends with the permit. `None` when the host has as many in progress as it may.
    pub(crate) fn try_begin(&self) -> Option<OwnedSemaphorePermit> {
        self.commands.clone().try_acquire_owned().ok()
    }

    /// Waits for that, in the order of asking.
    pub(crate) async fn begin(&self) -> Option<OwnedSemaphorePermit> {
        self.commands.clone().acquire_owned().await.ok()
    }
}

impl Hosts {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            table: Mutex::default(),
            most_connections: limits.max_connections,
            most_of_host: limits.max_connections_per_host,
            most_commands: limits.max_commands_per_host,
        }
    }

    /// The table, which is consistent after every statement.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection of this host; the limit in words when there is none.
    pub(crate) fn enter(self: &Arc<Self>, nqn: &str) -> Result<Place, String> {
        let mut table = self.table();
        if table.connections >= self.most_connections {
            return Err(format!("the target has {} connections already, its limit", table.connections));
        }
        if !table.hosts.contains_key(nqn) && table.hosts.len() >= KNOWN {
            table.hosts.retain(|_, known| known.connections > 0);
        }
        let new = || Known { connections: 0, gone: 0, record: Arc::new(HostRecord::new(self.most_commands)) };
        let known = table.hosts.entry(nqn.to_owned()).or_insert_with(new);
        if known.connections >= self.most_of_host {
            let Known { connections, gone, .. } = known;
            let gone = match gone {
                0 => String::new(),
                gone => format!("; {gone} of them are gone, but not the commands that they began"),
            };
            return Err(format!("the host has {connections} connections already, its limit{gone}"));
        }
        known.connections += 1;
        let record = known.record.clone();
        table.connections += 1;
        Ok(Place { hosts: self.clone(), nqn: nqn.to_owned(), record, gone: AtomicUsize::new(0) })
    }

    /// Hosts with a connection, or with commands of one that is gone.
    pub(crate) fn count(&self) -> usize {
        self.table().hosts.values().filter(|known| known.connections > 0).count()
    }
}

/// The place of a connection; dropped, it is free.
#[derive(Debug)]
pub(crate) struct Place {
    hosts: Arc<Hosts>,
    nqn: String,
    pub(crate) record: Arc<HostRecord>,
    /// 1 when the connection is gone.
    gone: AtomicUsize,
}

impl Place {
    /// The connection is gone; its commands in progress keep the place.
    pub(crate) fn leave(&self) {
        let mut table = self.hosts.table();
        if self.gone.swap(1, Relaxed) == 0
            && let Some(known) = table.hosts.get_mut(&self.nqn)
        {
            known.gone += 1;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.hosts.table();
        table.connections -= 1;
        if let Some(known) = table.hosts.get_mut(&self.nqn) {
            known.connections -= 1;
            known.gone -= *self.gone.get_mut();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_names_without_one_are_forgotten() {
        let limits = Limits { max_connections: 3, max_connections_per_host: 2, ..Limits::default() };
        let hosts = Arc::new(Hosts::new(&limits));
        let first = hosts.enter("a").expect("a place");
        let second = hosts.enter("a").expect("a place");
        second.leave();
        second.leave();
        let full = hosts.enter("a").expect_err("two are enough");
        assert!(full.contains("2 connections") && full.contains("1 of them"), "{full}");
        let other = hosts.enter("b").expect("another host's place");
        assert!(hosts.enter("c").is_err_and(|full| full.contains("the target has 3")));
        assert_eq!(hosts.count(), 2);
        drop(second);
        let again = hosts.enter("a").expect("a place");
        again.record.count_read(5);
        drop((first, again, other));
        assert_eq!((hosts.count(), hosts.table().connections), (0, 0));
        assert_eq!(hosts.enter("a").expect("a place").record.bytes_read.load(Relaxed), 5, "remembered");
        (0..5000).for_each(|number| drop(hosts.enter(&number.to_string())));
        assert!(hosts.table().hosts.len() <= KNOWN);
    }
}
