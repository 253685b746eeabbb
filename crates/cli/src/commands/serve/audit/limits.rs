//! The rates of entries: each account has its own, and denials have a separate one.
//!
//! A host that causes too many entries hides no entry of another account, and its denials hide no entry of its changes. Above
//! 256 accounts at one time, the further ones share the rate of the server.
//! Denials of one host within a second have one line with their number.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ciphermill_blockspace::adapter::{Action, AuditEvent};
use ciphermill_nvme::Account;

/// Accounts with a separate rate at one time; further ones share that of the server.
const MOST_ACCOUNTS: usize = 256;
/// Hosts whose denials are counted at one time.
const MOST_HOSTS: usize = 1024;
/// Lines a second for the denials of an account, whatever names its hosts use.
const DENIED_PER_SECOND: f64 = 16.0;
/// The time for which one line stands for all denials of a host.
const COALESCED: Duration = Duration::from_secs(1);

/// Tokens of a bucket that holds those of a second.
#[derive(Debug)]
struct Rate {
    per_second: f64,
    tokens: f64,
    since: Instant,
}

impl Rate {
    fn new(per_second: f64, now: Instant) -> Self {
        Self { per_second, tokens: per_second.max(1.0), since: now }
    }

    fn refill(&mut self, now: Instant) {
        let grown = now.saturating_duration_since(self.since).as_secs_f64() * self.per_second;
        (self.tokens, self.since) = ((self.tokens + grown).min(self.per_second.max(1.0)), now);
    }

    fn pass(&mut self, now: Instant) -> bool {
        self.refill(now);
        let passes = self.tokens >= 1.0;
        if passes {
            self.tokens -= 1.0;
        }
        passes
    }

    fn is_full(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.tokens >= self.per_second.max(1.0)
    }
}

/// The entries of one account.
#[derive(Debug)]
struct Bucket {
    changes: Rate,
    denials: Rate,
    /// Entries that have no line, and that no line has reported.
    left_out: u64,
    /// Entries that wait for the disk.
    queued: Arc<AtomicU64>,
}

impl Bucket {
    fn is_idle(&mut self, now: Instant) -> bool {
        let quiet = self.changes.is_full(now) && self.denials.is_full(now);
        quiet && self.left_out == 0 && self.queued.load(Ordering::Relaxed) == 0
    }
}

/// Entries of an account that have no line.
#[derive(Debug, PartialEq)]
pub(super) struct LeftOut {
    pub(super) account: Option<Account>,
    pub(super) entries: u64,
}

/// Denials of a host that have no line.
#[derive(Debug, PartialEq)]
pub(super) struct Repeated {
    pub(super) space: u32,
    pub(super) host: Option<String>,
    pub(super) count: u64,
}

/// The place of an entry in the queue, until it is written.
#[derive(Debug)]
pub(super) struct Place(Arc<AtomicU64>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What becomes of an entry.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It has a line, which stands for this many earlier denials too.
    Line(Place, u64),
    /// A later line stands for it.
    Repeated,
    LeftOut,
}

type HostKey = (u32, Option<Account>, Option<String>);

/// The rates of all accounts.
#[derive(Debug)]
pub(super) struct Limits {
    per_second: f64,
    /// The most entries of an account that wait for the disk.
    most_queued: u64,
    buckets: HashMap<Option<Account>, Bucket>,
    /// Hosts that were denied something within the last second: when, and how often since.
    denied: HashMap<HostKey, (Instant, u64)>,
}

impl Limits {
    pub(super) fn new(per_second: f64, most_queued: u64) -> Self {
        Self { per_second, most_queued, buckets: HashMap::new(), denied: HashMap::new() }
    }

    pub(super) fn judge(&mut self, event: &AuditEvent<'_>, now: Instant) -> Verdict {
        let is_denial = event.action == Action::Denied;
        let repeated = match is_denial.then(|| self.denial(event, now)) {
            Some(None) => return Verdict::Repeated,
            Some(Some(repeated)) => repeated,
            None => 0,
        };
        let most_queued = self.most_queued;
        let bucket = self.bucket(event.account, now);
        let passes = if is_denial { bucket.denials.pass(now) } else { bucket.changes.pass(now) };
        if !passes || bucket.queued.load(Ordering::Relaxed) >= most_queued {
            bucket.left_out += 1 + repeated;
            return Verdict::LeftOut;
        }
        bucket.queued.fetch_add(1, Ordering::Relaxed);
        Verdict::Line(Place(Arc::clone(&bucket.queued)), repeated)
    }

    /// Counts an entry that found no place in the queue.
    pub(super) fn leave_out(&mut self, account: Option<&Account>, entries: u64, now: Instant) {
        self.bucket(account, now).left_out += entries;
    }

    fn bucket(&mut self, account: Option<&Account>, now: Instant) -> &mut Bucket {
        let mut account = account.cloned();
        if self.buckets.len() >= MOST_ACCOUNTS && !self.buckets.contains_key(&account) {
            self.buckets.retain(|_, bucket| !bucket.is_idle(now));
            if self.buckets.len() >= MOST_ACCOUNTS {
                account = None;
            }
        }
        let per_second = self.per_second;
        self.buckets.entry(account).or_insert_with(|| Bucket {
            changes: Rate::new(per_second, now),
            denials: Rate::new(per_second.min(DENIED_PER_SECOND), now),
            left_out: 0,
            queued: Arc::default(),
        })
    }

    /// `None` for a denial that follows another one of the host within a second. Else the number of denials without a line.
    fn denial(&mut self, event: &AuditEvent<'_>, now: Instant) -> Option<u64> {
        let key = (event.space, event.account.cloned(), event.host.map(str::to_owned));
        let has_room = self.denied.len() < MOST_HOSTS;
        match self.denied.get_mut(&key) {
            Some((since, repeated)) if now.saturating_duration_since(*since) < COALESCED => {
                *repeated += 1;
                None
            }
            Some(known) => Some(std::mem::replace(known, (now, 0)).1),
            None if has_room => {
                self.denied.insert(key, (now, 0));
                Some(0)
            }
            // The account's rate of denials bounds the lines.
            None => Some(0),
        }
    }

    /// Takes the numbers that no line has reported: all of them at the end, else those of hosts that are quiet now.
    pub(super) fn take_unreported(&mut self, now: Instant, end: bool) -> (Vec<Repeated>, Vec<LeftOut>) {
        let mut repeated = Vec::new();
        self.denied.retain(|(space, _, host), (since, count)| {
            let keep = !end && now.saturating_duration_since(*since) < COALESCED;
            if !keep && *count > 0 {
                repeated.push(Repeated { space: *space, host: host.clone(), count: *count });
            }
            keep
        });
        let missing = self.buckets.iter_mut().filter(|(_, bucket)| bucket.left_out > 0);
        let missing = missing.map(|(account, bucket)| LeftOut {
            account: account.clone(),
            entries: std::mem::take(&mut bucket.left_out),
        });
        (repeated, missing.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str) -> Account {
        Account::Host(name.into())
    }

    fn event<'a>(action: Action, account: &'a Account, host: &'a str) -> AuditEvent<'a> {
        AuditEvent {
            action,
            space: 1,
            host: Some(host),
            account: Some(account),
            recovery: false,
            writer: None,
            object: None,
            version: None,
            lba: None,
            reason: None,
        }
    }

    fn has_line(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Line(..))
    }

    #[test]
    fn a_rate_has_no_more_than_a_second_saved_up() {
        let begun = Instant::now();
        let mut rate = Rate::new(10.0, begun);
        assert_eq!((0..100).filter(|_| rate.pass(begun)).count(), 10);
        assert_eq!((0..100).filter(|_| rate.pass(begun + Duration::from_millis(500))).count(), 5);
        assert_eq!((0..100).filter(|_| rate.pass(begun + Duration::from_secs(100))).count(), 10);
    }

    #[test]
    fn a_flood_of_one_account_leaves_out_no_entry_of_another_and_denials_no_change() {
        let (mallory, alice, now) = (account("mallory"), account("alice"), Instant::now());
        let mut limits = Limits::new(10.0, 1000);
        let denied = event(Action::Denied, &mallory, "mallory");
        assert!(has_line(&limits.judge(&denied, now)), "the first one");
        (0..100_000).for_each(|_| assert!(matches!(limits.judge(&denied, now), Verdict::Repeated)));
        let deleted = event(Action::Deleted, &mallory, "mallory");
        let kept = (0..1000).filter(|_| has_line(&limits.judge(&deleted, now))).count();
        assert_eq!(kept, 10, "its changes have their own rate");
        for _ in 0..10 {
            assert!(has_line(&limits.judge(&event(Action::Deleted, &alice, "alice"), now)));
        }
        let later = now + COALESCED;
        let Verdict::Line(_, repeated) = limits.judge(&denied, later) else { panic!("a second later") };
        assert_eq!(repeated, 100_000);
        let (repeated, left_out) = limits.take_unreported(later, false);
        assert_eq!(repeated, []);
        assert_eq!(left_out, [LeftOut { account: Some(mallory.clone()), entries: 990 }]);
        // One more, which nothing follows.
        assert!(matches!(limits.judge(&denied, later), Verdict::Repeated));
        let (repeated, left_out) = limits.take_unreported(later + COALESCED, false);
        assert_eq!(repeated, [Repeated { space: 1, host: Some("mallory".to_owned()), count: 1 }]);
        assert_eq!((left_out, limits.denied.len()), (vec![], 0));
    }

    #[test]
    fn invented_names_get_no_more_lines_than_one_account_has() {
        let (shared, now) = (account("an address"), Instant::now());
        let mut limits = Limits::new(1000.0, 1000);
        let names: Vec<String> = (0..10_000).map(|number| format!("host {number}")).collect();
        let lines = names.iter().filter(|name| has_line(&limits.judge(&event(Action::Denied, &shared, name), now)));
        assert_eq!(lines.count(), DENIED_PER_SECOND as usize);
        assert!(limits.denied.len() <= MOST_HOSTS);
        let (_, left_out) = limits.take_unreported(now, false);
        assert_eq!(left_out.iter().map(|missing| missing.entries).sum::<u64>(), 10_000 - 16);
    }

    #[test]
    fn the_number_of_accounts_is_bounded_and_idle_ones_are_forgotten() {
        let now = Instant::now();
        let mut limits = Limits::new(1.0, 1000);
        let judge = |limits: &mut Limits, number: usize, now| {
            let account = account(&number.to_string());
            has_line(&limits.judge(&event(Action::Put, &account, "host"), now))
        };
        let lines = (0..1000).filter(|number| judge(&mut limits, *number, now)).count();
        assert_eq!(lines, MOST_ACCOUNTS + 1, "the rest share one rate");
        assert!(limits.buckets.len() <= MOST_ACCOUNTS + 1);
        drop(limits.take_unreported(now, false));
        assert!(judge(&mut limits, 5000, now + Duration::from_secs(2)));
        assert!(limits.buckets.len() < 10, "{}", limits.buckets.len());
    }

    #[test]
    fn an_account_has_a_part_of_the_queue() {
        let (mallory, alice, now) = (account("mallory"), account("alice"), Instant::now());
        let mut limits = Limits::new(1e6, 3);
        let mut judge = |account| limits.judge(&event(Action::Put, account, "host"), now);
        let mut queued: Vec<_> = (0..3).map(|_| judge(&mallory)).collect();
        assert!(queued.iter().all(has_line) && matches!(judge(&mallory), Verdict::LeftOut));
        assert!(has_line(&judge(&alice)));
        queued.pop();
        assert!(has_line(&judge(&mallory)), "one was written");
    }
}
