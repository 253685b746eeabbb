//! The shares of accounts: objects that await their blocks, room for results of programs, and threads.
//!
//! An account has objects pending within its share. One alone may be larger, up to half of the data half. The room that its
//! programs may need for longer results is bounded too. So no host can take the addresses of a namespace by reservations,
//! declarations or programs alone, and none can have all the threads of the device's jobs or of the deletions. Recovered
//! declarations count in the share of the host that they are stored with.

use super::{
    config::BlockSpaceConfig,
    locks::{Party, locked},
};
use ciphermill_nvme::Account;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::Semaphore;

/// Deletions in the device at one time, each on a thread of the runtime; and those of one account.
pub(super) const DELETIONS: usize = 16;
const DELETIONS_OF_HOST: usize = 12;
/// The part of an account's remaining room that one program gets.
const ROOM_PART: u64 = 8;

/// The shares of all accounts with commands or pending objects.
#[derive(Debug)]
pub(super) struct Shares {
    table: Mutex<HashMap<Account, Weak<Share>>>,
    limits: ShareLimits,
    /// Shares made; the namespace itself is party 0.
    made: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct ShareLimits {
    blocks: u64,
    objects: u64,
    /// Blocks of an object that is the only one.
    alone: u64,
    /// Blocks behind objects with running programs.
    room: u64,
    jobs: usize,
}

/// Accounts in the table before unused ones are dropped.
const MANY: usize = 256;

impl Shares {
    pub(super) fn new(config: &BlockSpaceConfig) -> Self {
        let limits = ShareLimits {
            blocks: config.pending_blocks_of_host,
            objects: config.pending_objects_of_host as u64,
            alone: 1 << config.blocks_log2.saturating_sub(2),
            room: config.pending_blocks_of_host / 2,
            jobs: config.device_jobs_of_host.clamp(1, config.device_jobs),
        };
        Self { table: Mutex::default(), limits, made: AtomicU64::new(0) }
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
        let share = Arc::new(Share {
            party: Party(1 + self.made.fetch_add(1, Ordering::Relaxed)),
            limits: self.limits,
            pending: Mutex::default(),
            jobs: Arc::new(Semaphore::new(self.limits.jobs)),
            deletions: Arc::new(Semaphore::new(DELETIONS_OF_HOST)),
        });
        table.insert(account.clone(), Arc::downgrade(&share));
        share
    }

    /// Blocks of room for a program that the namespace runs for itself, out of `free` ones.
    pub(super) fn unshared_room(&self, free: u64) -> u64 {
        free.min(self.limits.room / ROOM_PART)
    }
}

/// The share of one account.
#[derive(Debug)]
pub(super) struct Share {
    /// No other share has it.
    pub(super) party: Party,
    limits: ShareLimits,
    pending: Mutex<Pending>,
    /// Jobs in the device, running or waiting there.
    pub(super) jobs: Arc<Semaphore>,
    /// Deletions in the device, likewise.
    pub(super) deletions: Arc<Semaphore>,
}

/// The objects of an account that await their blocks, and the room of its programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pending {
    objects: u64,
    blocks: u64,
    room: u64,
}

impl Share {
    /// Charges an object of this many blocks; `instead` are the blocks of the account's own object that it replaces. The
    /// limit in words when the share is used up.
    pub(super) fn charge(self: &Arc<Self>, blocks: u64, instead: Option<u64>) -> Result<PendingCharge, String> {
        let mut pending = locked(&self.pending);
        let objects = pending.objects - u64::from(instead.is_some()).min(pending.objects);
        let others = pending.blocks - instead.unwrap_or(0).min(pending.blocks);
        let ShareLimits { blocks: most_blocks, objects: most_objects, alone, .. } = self.limits;
        let fits = others.saturating_add(blocks) <= most_blocks && objects < most_objects;
        match objects {
            _ if fits => {}
            0 if blocks <= alone => {}
            0 => {
                return Err(format!(
                    "the object has {blocks} blocks, an object that awaits its data may have {}; use a larger namespace",
                    alone.max(most_blocks)
                ));
            }
            _ => {
                return Err(format!(
                    "the host has {objects} objects of {others} blocks that await their data, its share is {most_objects} \
                     objects of {most_blocks} blocks; complete, release or delete some"
                ));
            }
        }
        Ok(self.count(&mut pending, blocks))
    }

    /// Charges an object that was accepted before the namespace was opened, whatever the share is.
    pub(super) fn charge_recovered(self: &Arc<Self>, blocks: u64) -> PendingCharge {
        self.count(&mut locked(&self.pending), blocks)
    }

    fn count(self: &Arc<Self>, pending: &mut Pending, blocks: u64) -> PendingCharge {
        pending.objects += 1;
        pending.blocks += blocks;
        PendingCharge { share: Arc::clone(self), blocks }
    }

    /// Charges room for the result of a program: at most `free` blocks, and a part of the remaining room, so that every
    /// further program gets some.
    pub(super) fn charge_room(self: &Arc<Self>, free: u64) -> RoomCharge {
        let mut pending = locked(&self.pending);
        let blocks = free.min((self.limits.room - pending.room) / ROOM_PART);
        pending.room += blocks;
        RoomCharge { share: Arc::clone(self), blocks }
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

/// Room for the result of a program that is charged to an account; dropped, it is not any more.
#[derive(Debug)]
pub(super) struct RoomCharge {
    share: Arc<Share>,
    pub(super) blocks: u64,
}

impl Drop for RoomCharge {
    fn drop(&mut self) {
        locked(&self.share.pending).room -= self.blocks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str) -> Account {
        Account::Host(name.into())
    }

    const HALF_OF_DATA: u64 = 1 << 18;

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
        assert!(one.charge(HALF_OF_DATA + 1, None).is_err_and(|what| what.contains("262145 blocks")));
        let large = one.charge(HALF_OF_DATA, None).expect("the first object");
        assert!(one.charge(1, None).is_err_and(|what| what.contains("1 objects of 262144 blocks")));
        drop(large);
        let held: Vec<_> = [40, 40, 20].map(|blocks| one.charge(blocks, None).expect("room")).into();
        assert!(one.charge(0, None).is_err(), "three objects");
        let replaced = one.charge(20, Some(20)).expect("in the place of one of them");
        drop((held, replaced));
        assert_eq!(*locked(&one.pending), Pending::default());
        assert!(shares.of(&account("two")).charge(1000, None).is_ok());
    }

    #[test]
    fn recovered_objects_are_charged_whatever_the_share_is() {
        let shares = shares();
        let one = shares.of(&account("one"));
        let recovered: Vec<_> = (0..5).map(|_| one.charge_recovered(80)).collect();
        assert!(one.charge(1, None).is_err_and(|what| what.contains("5 objects of 400 blocks")));
        drop(recovered);
        assert!(one.charge(1, None).is_ok());
    }

    #[test]
    fn every_program_gets_a_part_of_the_room_that_remains() {
        let shares = shares();
        let one = shares.of(&account("one"));
        let held: Vec<_> = (0..3).map(|_| one.charge_room(1000)).collect();
        assert_eq!(held.iter().map(|charge| charge.blocks).collect::<Vec<_>>(), [6, 5, 4]);
        assert_eq!((one.charge_room(2).blocks, shares.unshared_room(1000)), (2, 6));
        let many: Vec<_> = (0..100).map(|_| one.charge_room(1000)).collect();
        assert!(locked(&one.pending).room <= 50 && many.iter().all(|charge| charge.blocks <= 4));
        assert_eq!(shares.of(&account("two")).charge_room(1000).blocks, 6);
        drop((held, many));
        assert_eq!(*locked(&one.pending), Pending::default());
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

    #[test]
    fn the_table_keeps_the_shares_in_use_and_drops_the_others_once_there_are_many() {
        let shares = shares();
        let account = |number: usize| account(&number.to_string());
        let held: Vec<_> = (0..MANY + 50).map(|number| shares.of(&account(number))).collect();
        assert_eq!(locked(&shares.table).len(), MANY + 50);
        // Parties are numbered from 1 on, since 0 is the namespace itself.
        assert!(held.iter().enumerate().all(|(number, share)| share.party == Party(1 + number as u64)));
        assert!(held.iter().enumerate().all(|(number, share)| Arc::ptr_eq(&shares.of(&account(number)), share)));
        drop(held);
        let newcomer = shares.of(&account(MANY + 50));
        assert_eq!((locked(&shares.table).len(), newcomer.party), (1, Party(MANY as u64 + 51)));
    }

    #[test]
    fn a_charge_is_of_the_share_that_made_it() {
        let shares = shares();
        let [one, two] = ["one", "two"].map(|name| shares.of(&account(name)));
        let charge = one.charge(1, None).expect("room");
        assert!(charge.is_of(&one) && !charge.is_of(&two));
    }
}
