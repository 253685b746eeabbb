//! The shares of accounts: objects that await their blocks, and jobs in the device.
//!
//! An account may always have one object pending, however large; more only within its share. So no host can take the
//! addresses of a namespace by reservations or declarations alone, and none can have all the threads of the device's jobs.

use super::{config::BlockSpaceConfig, locks::locked};
use ciphermill_nvme::Account;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};
use tokio::sync::Semaphore;

/// The shares of all accounts with commands or pending objects.
#[derive(Debug)]
pub(super) struct Shares {
    table: Mutex<HashMap<Account, Weak<Share>>>,
    limits: ShareLimits,
}

#[derive(Clone, Copy, Debug)]
struct ShareLimits {
    blocks: u64,
    objects: u64,
    jobs: usize,
}

/// Accounts in the table before unused ones are dropped.
const MANY: usize = 256;

impl Shares {
    pub(super) fn new(config: &BlockSpaceConfig) -> Self {
        let limits = ShareLimits {
            blocks: config.pending_blocks_of_host,
            objects: config.pending_objects_of_host as u64,
            jobs: config.device_jobs_of_host.clamp(1, config.device_jobs),
        };
        Self { table: Mutex::default(), limits }
    }

    /// The share of an account.
    pub(super) fn of(&self, account: &Account) -> Arc<Share> {
        let mut table = locked(&self.table);
        if let Some(share) = table.get(account).and_then(Weak::upgrade) {
            return share;
        }
        if table.len() >= MANY {
            table.retain(|_, share| share.strong_count() > 0);
        }
        let jobs = Arc::new(Semaphore::new(self.limits.jobs));
        let share = Arc::new(Share { limits: self.limits, pending: Mutex::default(), jobs });
        table.insert(account.clone(), Arc::downgrade(&share));
        share
    }
}

/// The share of one account.
#[derive(Debug)]
pub(super) struct Share {
    limits: ShareLimits,
    pending: Mutex<Pending>,
    /// Jobs in the device, running or waiting there.
    pub(super) jobs: Arc<Semaphore>,
}

/// The objects of an account that await their blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pending {
    objects: u64,
    blocks: u64,
}

impl Share {
    /// Charges an object of this many blocks; `instead` are the blocks of the account's own object that it replaces. The
    /// limit in words when the share is used up.
    pub(super) fn charge(self: &Arc<Self>, blocks: u64, instead: Option<u64>) -> Result<PendingCharge, String> {
        let mut pending = locked(&self.pending);
        let objects = pending.objects - u64::from(instead.is_some()).min(pending.objects);
        let others = pending.blocks - instead.unwrap_or(0).min(pending.blocks);
        let ShareLimits { blocks: most_blocks, objects: most_objects, .. } = self.limits;
        let fits = others.saturating_add(blocks) <= most_blocks && objects < most_objects;
        if objects > 0 && !fits {
            return Err(format!(
                "the host has {objects} objects of {others} blocks that await their data, its share is {most_objects} \
                 objects of {most_blocks} blocks; complete, release or delete some"
            ));
        }
        pending.objects += 1;
        pending.blocks += blocks;
        Ok(PendingCharge { share: Arc::clone(self), blocks })
    }
}

/// An object that awaits its blocks and is charged to an account; dropped, it is not any more.
#[derive(Debug)]
pub(super) struct PendingCharge {
    share: Arc<Share>,
    pub(super) blocks: u64,
}

impl PendingCharge {
    /// Whether it is charged to this share.
    pub(super) fn is_of(&self, share: &Arc<Share>) -> bool {
        Arc::ptr_eq(&self.share, share)
    }
}

impl Drop for PendingCharge {
    fn drop(&mut self) {
        let mut pending = locked(&self.share.pending);
        pending.objects -= 1;
        pending.blocks -= self.blocks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str) -> Account {
        Account::Host(name.into())
    }

    fn shares() -> Shares {
        Shares::new(&BlockSpaceConfig {
            pending_blocks_of_host: 100,
            pending_objects_of_host: 3,
            ..BlockSpaceConfig::new(20)
        })
    }

    #[test]
    fn one_object_always_fits_and_more_within_the_share() {
        let shares = shares();
        let one = shares.of(&account("one"));
        let large = one.charge(1000, None).expect("the first object");
        assert!(one.charge(1, None).is_err_and(|what| what.contains("1 objects of 1000 blocks")));
        drop(large);
        let held: Vec<_> = [40, 40, 20].map(|blocks| one.charge(blocks, None).expect("room")).into();
        assert!(one.charge(0, None).is_err(), "three objects");
        let replaced = one.charge(20, Some(20)).expect("in the place of one of them");
        drop((held, replaced));
        assert_eq!(*locked(&one.pending), Pending::default());
        assert!(shares.of(&account("two")).charge(1000, None).is_ok());
    }

    #[test]
    fn an_account_has_one_share_as_long_as_it_is_used() {
        let shares = shares();
        let charge = shares.of(&account("one")).charge(1000, None).expect("room");
        assert!(shares.of(&account("one")).charge(1, None).is_err());
        drop(charge);
        assert!(shares.of(&account("one")).charge(1, None).is_ok());
        for number in 0..10_000 {
            drop(shares.of(&account(&number.to_string())));
        }
        assert!(locked(&shares.table).len() <= MANY);
    }
}
