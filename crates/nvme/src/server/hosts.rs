//! Hosts: the shares of their accounts, and their counts by name.
//!
//! Connections, commands in progress and log lines are shared by account: a configured host has its own, and all hosts with
//! other names at one source address have one together. So invented names gain nothing.
//!
//! A connection's place counts until the last command that began on it has ended, also when the connection is long gone:
//! until then its commands hold memory of its share. So a host that connects, begins a long command and
//! vanishes, again and again, meets the same limits as one that stays.

use super::{config::HostAccess, limits::Limits, throttle::Throttle};
use crate::Account;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Names, and accounts, that are remembered; further ones without a connection are forgotten, and their counts start again
/// at 0.
const KNOWN: usize = 1024;
/// Log lines of one account at once, and the time after which one more may be written.
const LINES: u32 = 32;
const LINE_PAUSE: Duration = Duration::from_secs(2);

/// The table. Its lock is never held while another one is taken.
#[derive(Debug)]
pub(crate) struct Hosts {
    table: Mutex<Table>,
    /// Whether every host has its own account.
    by_name: bool,
    most_connections: usize,
    most_of_account: usize,
    /// Connections that are kept for each of the configured hosts, and the number of these.
    kept: usize,
    configured: usize,
    most_commands: usize,
}

#[derive(Debug, Default)]
struct Table {
    connections: usize,
    accounts: HashMap<Account, Holder>,
    names: HashMap<String, Known>,
}

/// An account with its use.
#[derive(Debug)]
struct Holder {
    connections: usize,
    /// The part of these that is gone while their commands are in progress.
    gone: usize,
    shares: Arc<Shares>,
}

#[derive(Debug, Default)]
struct Known {
    connections: usize,
    record: Arc<HostRecord>,
}

/// The shares of an account, apart from its connections.
#[derive(Debug)]
pub(crate) struct Shares {
    account: Account,
    commands: Arc<Semaphore>,
    lines: Throttle,
}

impl Shares {
    fn new(account: Account, most_commands: usize) -> Self {
        let commands = Arc::new(Semaphore::new(most_commands.min(Semaphore::MAX_PERMITS)));
        Self { account, commands, lines: Throttle::new(LINES, LINE_PAUSE) }
    }

    /// Leave for a command to begin; it ends with the permit. `None` when the account has as many in progress as it may.
    pub(crate) fn try_begin(&self) -> Option<OwnedSemaphorePermit> {
        self.commands.clone().try_acquire_owned().ok()
    }

    /// Waits for that, in the order of asking.
    pub(crate) async fn begin(&self) -> Option<OwnedSemaphorePermit> {
        self.commands.clone().acquire_owned().await.ok()
    }

    /// Whether a line about a host of this account may be written to the log. Reports the lines left out before it.
    pub(crate) fn may_log(&self) -> bool {
        let Some(left_out) = self.lines.pass() else { return false };
        self.report(left_out);
        true
    }

    fn report(&self, left_out: u64) {
        if left_out > 0 {
            tracing::info!(account = %self.account, left_out, "lines of the log were left out");
        }
    }
}

/// The counts of a host since its first connection.
#[derive(Debug, Default)]
pub(crate) struct HostRecord {
    pub(crate) reads: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    pub(crate) media_errors: AtomicU64,
    pub(crate) unsafe_shutdowns: AtomicU64,
}

impl HostRecord {
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
}

impl Hosts {
    pub(crate) fn new(limits: &Limits, access: &HostAccess) -> Self {
        let configured = match access {
            HostAccess::Any => 0,
            HostAccess::List(names) => names.len(),
        };
        // One half of the places is kept for the configured hosts, the other half goes to whoever comes first.
        let kept = limits.max_connections.checked_div(2 * configured).unwrap_or(0);
        Self {
            table: Mutex::default(),
            by_name: *access != HostAccess::Any,
            most_connections: limits.max_connections,
            most_of_account: limits.max_connections_per_host,
            kept: kept.min(limits.max_connections_per_host),
            configured,
            most_commands: limits.max_commands_per_host,
        }
    }

    /// The table, which is consistent after every statement.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The account of a host with this name at this source address.
    pub(crate) fn account(&self, nqn: &str, source: IpAddr) -> Account {
        match self.by_name {
            true => Account::Host(nqn.into()),
            false => Account::source(source),
        }
    }

    /// A place for a connection of this host; the limit in words when there is none.
    pub(crate) fn enter(self: &Arc<Self>, nqn: &str, account: &Account) -> Result<Place, String> {
        let mut table = self.table();
        table.forget();
        self.judge(&table, account)?;
        let new = || Shares::new(account.clone(), self.most_commands);
        let new = || Holder { connections: 0, gone: 0, shares: Arc::new(new()) };
        let holder = table.accounts.entry(account.clone()).or_insert_with(new);
        holder.connections += 1;
        let shares = holder.shares.clone();
        let known = table.names.entry(nqn.to_owned()).or_default();
        known.connections += 1;
        let record = known.record.clone();
        table.connections += 1;
        let (hosts, nqn, account) = (self.clone(), nqn.to_owned(), account.clone());
        Ok(Place { hosts, nqn, account, record, shares, gone: AtomicUsize::new(0) })
    }

    fn judge(&self, table: &Table, account: &Account) -> Result<(), String> {
        if table.connections >= self.most_connections {
            return Err(format!("the target has {} connections already, its limit", table.connections));
        }
        let (connections, gone) = table.accounts.get(account).map_or((0, 0), |held| (held.connections, held.gone));
        let gone = match gone {
            0 => String::new(),
            gone => format!("; {gone} of them are gone, but not the commands that they began"),
        };
        if connections >= self.most_of_account {
            let what = if self.by_name { "the host has" } else { "the hosts at this address have" };
            return Err(format!("{what} {connections} connections already, the limit{gone}"));
        }
        let kept = self.kept_for_others(table, account);
        if connections >= self.kept && table.connections + kept >= self.most_connections {
            return Err(format!(
                "the host has {connections} connections already, and the remaining {kept} of the target are kept for \
                 other hosts{gone}"
            ));
        }
        Ok(())
    }

    /// Places that are kept for the other configured hosts and not taken by them.
    fn kept_for_others(&self, table: &Table, account: &Account) -> usize {
        let others = self.configured.saturating_sub(1) * self.kept;
        let taken = table.accounts.iter().filter(|(other, _)| *other != account);
        others.saturating_sub(taken.map(|(_, held)| held.connections.min(self.kept)).sum())
    }

    /// Hosts with a connection, or with commands of one that is gone.
    pub(crate) fn count(&self) -> usize {
        self.table().names.values().filter(|known| known.connections > 0).count()
    }

    /// Reports the log lines left out that no later line has reported.
    pub(crate) fn report_left_out(&self) {
        let shares: Vec<_> = self.table().accounts.values().map(|held| held.shares.clone()).collect();
        for shares in shares {
            shares.report(shares.lines.take_left_out().unwrap_or(0));
        }
    }
}

impl Table {
    /// Drops names and accounts without a connection when very many are known.
    fn forget(&mut self) {
        if self.names.len() >= KNOWN {
            self.names.retain(|_, known| known.connections > 0);
        }
        if self.accounts.len() >= KNOWN {
            self.accounts.retain(|_, held| held.connections > 0);
        }
    }
}

/// The place of a connection; dropped, it is free.
#[derive(Debug)]
pub(crate) struct Place {
    hosts: Arc<Hosts>,
    nqn: String,
    account: Account,
    pub(crate) record: Arc<HostRecord>,
    pub(crate) shares: Arc<Shares>,
    /// 1 when the connection is gone.
    gone: AtomicUsize,
}

impl Place {
    /// The connection is gone; its commands in progress keep the place.
    pub(crate) fn leave(&self) {
        let mut table = self.hosts.table();
        if self.gone.swap(1, Relaxed) == 0
            && let Some(holder) = table.accounts.get_mut(&self.account)
        {
            holder.gone += 1;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.hosts.table();
        table.connections -= 1;
        if let Some(holder) = table.accounts.get_mut(&self.account) {
            holder.connections -= 1;
            holder.gone -= *self.gone.get_mut();
        }
        if let Some(known) = table.names.get_mut(&self.nqn) {
            known.connections -= 1;
        }
    }
}

#[cfg(test)]
#[path = "../../tests/target/lines.rs"]
mod lines;

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn hosts(limits: &Limits, access: &HostAccess) -> Arc<Hosts> {
        Arc::new(Hosts::new(limits, access))
    }

    fn listed(names: &[&str]) -> HostAccess {
        HostAccess::List(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn enter(hosts: &Arc<Hosts>, nqn: &str) -> Result<Place, String> {
        hosts.enter(nqn, &hosts.account(nqn, HERE))
    }

    #[test]
    fn places_are_bounded_and_names_without_one_are_forgotten() {
        let limits = Limits { max_connections: 3, max_connections_per_host: 2, ..Limits::default() };
        let hosts = hosts(&limits, &listed(&["a", "b", "c"]));
        let first = enter(&hosts, "a").expect("a place");
        let second = enter(&hosts, "a").expect("a place");
        second.leave();
        second.leave();
        let full = enter(&hosts, "a").expect_err("two are enough");
        assert!(full.contains("2 connections") && full.contains("1 of them"), "{full}");
        let other = enter(&hosts, "b").expect("another host's place");
        assert!(enter(&hosts, "c").is_err_and(|full| full.contains("the target has 3")));
        assert_eq!(hosts.count(), 2);
        drop(second);
        let again = enter(&hosts, "a").expect("a place");
        again.record.count_read(5);
        drop((first, again, other));
        assert_eq!((hosts.count(), hosts.table().connections), (0, 0));
        let stays = enter(&hosts, "a").expect("a place");
        assert_eq!(stays.record.bytes_read.load(Relaxed), 5, "remembered");
        (0..5000).for_each(|number| drop(enter(&hosts, &number.to_string())));
        assert!(hosts.table().names.len() <= KNOWN && hosts.table().accounts.len() <= KNOWN);
        assert!(hosts.table().names.contains_key("a") && hosts.table().accounts.contains_key(&stays.account));
    }

    #[test]
    fn places_of_gone_connections_are_told_apart_until_they_are_free() {
        let limits = Limits { max_connections_per_host: 2, ..Limits::default() };
        let hosts = hosts(&limits, &HostAccess::Any);
        let refusal = || enter(&hosts, "a").err().unwrap_or_default();
        let [first, second] = [(); 2].map(|()| enter(&hosts, "a").expect("a place"));
        assert!(refusal().contains("2 connections") && !refusal().contains("gone"), "{}", refusal());
        first.leave();
        first.leave();
        assert!(refusal().contains("; 1 of them"), "{}", refusal());
        second.leave();
        assert!(refusal().contains("; 2 of them"), "{}", refusal());
        drop(first);
        let third = enter(&hosts, "a").expect("a place");
        assert!(refusal().contains("; 1 of them"), "{}", refusal());
        drop(second);
        let fourth = enter(&hosts, "a").expect("a place");
        assert!(refusal().contains("2 connections") && !refusal().contains("gone"), "{}", refusal());
        drop((third, fourth));
    }

    #[test]
    fn commands_and_lines_of_an_account_are_bounded() {
        let limits = Limits { max_commands_per_host: 2, ..Limits::default() };
        let place = enter(&hosts(&limits, &HostAccess::Any), "a").expect("a place");
        let begun = [place.shares.try_begin(), place.shares.try_begin()];
        assert!(begun.iter().all(Option::is_some) && place.shares.try_begin().is_none());
        drop(begun);
        assert!(place.shares.try_begin().is_some());
        assert_eq!((0..100).filter(|_| place.shares.may_log()).count() as u32, LINES);
        place.record.count_read(3);
        place.record.count_write(4);
        place.record.count_write(5);
        let HostRecord { reads, writes, bytes_read, bytes_written, .. } = &*place.record;
        assert_eq!([reads, writes, bytes_read, bytes_written].map(|count| count.load(Relaxed)), [1, 2, 3, 9]);
    }

    fn left_out(account: &Account, lines: u64) -> String {
        format!("lines of the log were left out account={account} left_out={lines}")
    }

    #[tokio::test(start_paused = true)]
    async fn lines_left_out_are_reported_before_the_next_line() {
        let place = enter(&hosts(&Limits::default(), &HostAccess::Any), "a").expect("a place");
        lines::record();
        assert!((0..LINES).all(|_| place.shares.may_log()));
        assert!((0..5).all(|_| !place.shares.may_log()));
        assert!(lines::take().is_empty(), "nothing to report, or no line");
        tokio::time::advance(LINE_PAUSE).await;
        assert!(place.shares.may_log());
        assert_eq!(lines::take(), [left_out(&place.account, 5)]);
        tokio::time::advance(LINE_PAUSE).await;
        assert!(place.shares.may_log());
        assert!(lines::take().is_empty(), "reported already");
    }

    #[test]
    fn a_report_is_written_unless_its_number_is_zero() {
        let place = enter(&hosts(&Limits::default(), &HostAccess::Any), "a").expect("a place");
        lines::record();
        [0, 1, 0, 7].into_iter().for_each(|lines| place.shares.report(lines));
        assert_eq!(lines::take(), [1, 7].map(|lines| left_out(&place.account, lines)));
    }

    #[tokio::test(start_paused = true)]
    async fn lines_left_out_of_every_account_are_reported_once() {
        let hosts = hosts(&Limits::default(), &listed(&["a", "b", "c"]));
        let places = ["a", "b", "c"].map(|name| enter(&hosts, name).expect("a place"));
        lines::record();
        for (place, asked) in places.iter().zip([LINES + 3, LINES, LINES + 9]) {
            assert_eq!((0..asked).filter(|_| place.shares.may_log()).count() as u32, LINES);
        }
        assert!(lines::take().is_empty());
        hosts.report_left_out();
        let mut reports = lines::take();
        reports.sort();
        assert_eq!(reports, [left_out(&places[0].account, 3), left_out(&places[2].account, 9)]);
        hosts.report_left_out();
        assert!(lines::take().is_empty(), "reported already");
    }

    #[test]
    fn every_configured_host_finds_the_places_that_are_kept_for_it() {
        let limits = Limits { max_connections: 12, max_connections_per_host: 9, ..Limits::default() };
        let hosts = hosts(&limits, &listed(&["a", "b", "c"]));
        // Two of twelve are kept for each of three.
        let taken: Vec<_> = std::iter::from_fn(|| enter(&hosts, "a").ok()).collect();
        assert_eq!(taken.len(), 8, "twelve less two times two");
        assert!(enter(&hosts, "a").is_err_and(|full| full.contains("kept for other hosts")));
        let others: Vec<_> = ["b", "b", "c", "c"].map(|name| enter(&hosts, name).expect("a kept place")).into();
        assert!(enter(&hosts, "b").is_err());
        drop((taken, others));
        assert!(enter(&hosts, "b").is_ok());
    }

    #[test]
    fn invented_names_at_one_address_have_one_share() {
        let limits = Limits { max_connections: 12, max_connections_per_host: 4, ..Limits::default() };
        let hosts = hosts(&limits, &HostAccess::Any);
        let at = |name: usize, address: &str| {
            let name = name.to_string();
            hosts.enter(&name, &hosts.account(&name, address.parse().expect("an address")))
        };
        let invented: Vec<_> = (0..100).filter_map(|name| at(name, "192.0.2.1").ok()).collect();
        assert_eq!((invented.len(), hosts.count()), (4, 4));
        let commands = &invented[0].shares.commands;
        assert!(invented.iter().all(|place| Arc::ptr_eq(commands, &place.shares.commands)), "commands are shared too");
        let machine: Vec<_> = (0..100).filter_map(|name| at(name, &format!("127.0.0.{name}")).ok()).collect();
        assert_eq!(machine.len(), 4, "loopback is one source");
        let network: Vec<_> = (0..100).filter_map(|name| at(name, &format!("2001:db8::{name}")).ok()).collect();
        assert_eq!(network.len(), 4, "so is a network of 64 bits");
    }
}
