//! One space of a device as the blocks of an NVMe namespace.
//!
//! A namespace has two halves of blocks. The lower half holds data; the metadata block of the object at block a lies at
//! block a + half. A metadata block *declares* an object of n = ceil(size / 4096) blocks at a. When all n blocks have been
//! written, in any order, pieces and commands, the object is *complete*: its bytes go to the device, which may run a
//! program. The object is then *bound*: reads at a return its current version in the device. Blocks written over a bound
//! object lie above it and are read in its place, until a metadata block makes them a new version. `docs/blockspace.md`
//! defines this and every status.
//!
//! # Durable steps
//!
//! Objects are durable in the device, blocks and labels in the [`Volume`]; a change of the volume is atomic. No
//! transition needs both at once:
//!
//! | transition | durable steps, in this order | after a crash between two |
//! | --- | --- | --- |
//! | blocks written, zeroed, given up | 1. one change: the blocks; if very many are given up, in a change before that of the labels | the blocks are given up, the names exist |
//! | declared | 1. one change: label at the metadata block; where a complete object was refused before, its blocks go | |
//! | complete and refused | 1. one change: label *failed* at the metadata block, instead of *declared* | the next metadata block does not start over |
//! | completed | 1. unless one command supplied all missing parts: one change, the blocks; 2. the object in the device, with the number of its declaration; 3. one change: label *bound* at a, blocks and label *declared* removed, label at an earlier address of the register removed | after 1: declared and complete, the command not acknowledged; sent again, it completes the object. After 2: opening finds the number of the declaration in the device and does step 3 |
//! | address given another register, or none | 1. one change: the written blocks, label *being deleted* (register, generation) instead of *bound*; 2. the device deletes that object; 3. the label goes | after 1: opening deletes the object if it still is that version; after 2: opening removes the label |
//! | flags changed | 1. the declaration, as above; 2. the flags in the device | after 1: the old flags, the command not acknowledged |
//! | stored object given an address | 1. one change: label *bound* | |
//!
//! An acknowledged command has done all its steps, except step 3 of a completion by a single command: that command is
//! answered after step 2, when step 3 has been submitted, and keeps its locks until step 3 is durable. An answered deletion
//! has left no label. Opening drops a label *bound* without an object (deleted in the device by other means).
//!
//! # Locks
//!
//! Five, taken in this order. A completion holds the first two while the device works, so a command may wait for another's
//! program:
//! 1. `changes`: ranges of blocks, shared by writes of blocks, exclusive for completions and for changes of declarations
//!    and bindings. Requests are served in order of arrival. A request that waits for a completion holds back only those
//!    of the same account;
//! 2. `registers`: the registers that a command deletes or completes, so that a deletion cannot remove a new version. Only
//!    a completion waits for them under `changes`: any other command would keep further blocks locked while the program
//!    of a register runs;
//! 3. `views`: ranges of blocks, shared by reads while they collect blocks, exclusive while blocks move from the volume
//!    to an object or back;
//! 4. the cell of a result that is being read, held by the command that runs its program; its holder may lock the index;
//! 5. the index of bindings, a plain lock held for look-ups and updates in memory only.
//!
//! Permits for data that waits for the volume are acquired under any of the first three locks; the holder of a permit waits
//! for the volume only.
//!
//! No two threads complete one object at a time, and no completion is lost: a writer to a declared object marks it, releases
//! its lock, and then tries the exclusive lock. The attempt fails only while another command holds a lock on the same
//! blocks, and every holder examines marked objects after releasing its lock.

mod access;
mod audit;
mod bindings;
mod carry_out;
mod complete;
mod config;
mod coverage;
mod directory;
mod labels;
mod locks;
mod objects;
mod open;
mod origin;
mod plan;
mod ranges;
mod read;
mod recover;
mod restructure;
mod sessions;
mod shares;
pub mod status;
mod wait_limit;
mod write;

use crate::volume::{BLOCK_BYTES, Change, Operation, Volume, VolumeError};
use audit::Audit;
use bindings::Bindings;
use ciphermill_device::{Space, SpaceId};
use ciphermill_nvme::{Answer, Caller, CommandError, Geometry, Namespace, Properties, VendorCommand};
use ciphermill_program::TypeCode;
use config::Counters;
use locks::{RangeGuard, RangeLocks, locked};
use origin::{Origin, Use};
use sessions::{Opens, PageCache, Sessions, blocks_of};
use shares::{RoomCharge, Share, Shares};
use std::{
    collections::HashSet,
    fmt,
    ops::Range,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{
    runtime::Handle,
    sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot},
};
use wait_limit::{TooManyWaiting, WaitLimit, WaitPermit};

pub use access::{Access, Actor, Rights};
pub use audit::{Action, AuditEvent, AuditSink, Version};
pub use config::{BlockSpaceConfig, BlockSpaceError, BlockSpaceMetrics};
pub use directory::{DIRECTORY_MAGIC, Directory, DirectoryEntry, DirectoryError, NO_PLACE, directory_dwords};

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A namespace over one space of a device and one space of a volume.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // A host declares the object at block 8 by its metadata block, then writes its blocks.
/// write(space.half() + 8, &metadata.encode())?;
/// write(8, &program)?;
/// // The object is complete: the device has it.
/// assert_eq!(device.space(namespace)?.list()[0].id, id);
/// assert_eq!(space.metrics().bound, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BlockSpace {
    device: Space,
    volume: Volume,
    /// Of the device and of the volume.
    id: u32,
    config: BlockSpaceConfig,
    half: u64,
    /// Of the device.
    max_object_bytes: u64,
    /// Types whose writes may store another size than was written.
    computing: HashSet<TypeCode>,
    runtime: Handle,
    waits: WaitLimit,
    changes: RangeLocks,
    registers: RangeLocks,
    views: RangeLocks,
    places: RwLock<Bindings>,
    /// Notified when a range in progress is occupied or free again.
    settled: Notify,
    staging: Arc<Semaphore>,
    jobs: Arc<Semaphore>,
    deletions: Arc<Semaphore>,
    disk: Arc<Semaphore>,
    sessions: Sessions,
    opens: Opens,
    pages: PageCache,
    /// No block of the data half at or above it was ever mapped.
    high_water: AtomicU64,
    counters: Counters,
    shares: Shares,
    audit: Audit,
    /// Number of the next declaration. It begins anywhere at each opening, so that none comes again.
    declarations: AtomicU64,
}

impl fmt::Debug for BlockSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockSpace").field("id", &self.id).field("config", &self.config).finish_non_exhaustive()
    }
}

/// Blocks of the longest write that is one change of the volume, whatever it does to names: 128 KiB. The tests of power
/// cuts write as many at once.
const ATOMIC_BLOCKS: u32 = 32;

type Outcome<T = ()> = Result<T, CommandError>;

/// Where in the table of register locks a register is; two that meet there only wait for each other.
fn point(id: ciphermill_program::VrId) -> Range<u64> {
    let point = u64::from(id.key_id.0).rotate_left(32)
        ^ u64::from(id.data_id.0)
        ^ u64::from(id.type_code.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // The end of the range must not pass the end of the type.
    let point = point >> 1;
    point..point + 1
}

impl BlockSpace {
    /// The space of the device it shows.
    #[must_use]
    pub fn space(&self) -> SpaceId {
        SpaceId(self.id)
    }

    /// First block of the half with the metadata blocks.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// // The config states 2^16 blocks. The metadata block of block `a` is block `a + half`.
    /// assert_eq!(space.half(), 1 << 15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn half(&self) -> u64 {
        self.half
    }

    /// Its usage and counters.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// write(space.half() + 8, &metadata.encode())?;
    /// assert_eq!((space.metrics().declared, space.metrics().bound), (1, 0));
    /// write(8, &program)?;
    /// assert_eq!((space.metrics().declared, space.metrics().bound), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn metrics(&self) -> BlockSpaceMetrics {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (bound, declared, bound_blocks) = self.index().counts();
        BlockSpaceMetrics {
            bound,
            declared,
            bound_blocks,
            mapped_blocks: self.volume.space_usage(self.id).mapped,
            completed: get(&self.counters.completed),
            completed_directly: get(&self.counters.direct),
            failed: get(&self.counters.failed),
            computed_reads: get(&self.counters.computed_reads),
            shares_refused: get(&self.counters.shares_refused),
            denied: get(&self.counters.denied),
            stored_without_program: get(&self.counters.stored_without_program),
            sessions: self.sessions.len() + self.opens.len(),
        }
    }

    fn index(&self) -> RwLockReadGuard<'_, Bindings> {
        self.places.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_mut(&self) -> RwLockWriteGuard<'_, Bindings> {
        self.places.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits a change to the volume. `held` is released when the change is durable or refused.
    fn submit(
        &self,
        operations: Vec<Operation>,
        held: impl Send + 'static,
    ) -> oneshot::Receiver<Result<(), VolumeError>> {
        let (sender, receiver) = oneshot::channel();
        let (changes, runtime) = (self.changes.clone(), self.runtime.clone());
        let done = move |outcome| {
            let finish = move || {
                drop(held);
                // Nobody waits any more when the command's connection is gone.
                let _ = sender.send(outcome);
            };
            // This is the thread that makes everybody's changes durable: whose turn is next is found elsewhere.
            match changes.awaited() {
                true => drop(runtime.spawn(async move { finish() })),
                false => finish(),
            }
        };
        self.volume.submit(Change { space: self.id, operations }, Box::new(done));
        receiver
    }

    async fn durable(&self, receiver: oneshot::Receiver<Result<(), VolumeError>>) -> Outcome {
        match receiver.await {
            Ok(outcome) => outcome.map_err(|error| status::of_volume(&error)),
            Err(_) => Err(status::internal("the volume dropped a change")),
        }
    }

    async fn commit(&self, operations: Vec<Operation>) -> Outcome {
        if operations.is_empty() {
            return Ok(());
        }
        self.durable(self.submit(operations, ())).await
    }

    /// Room for this many bytes of data at the volume.
    async fn admitted(&self, bytes: usize) -> Outcome<OwnedSemaphorePermit> {
        let permits = self.permits(bytes);
        let permit = Arc::clone(&self.staging).acquire_many_owned(permits).await;
        permit.map_err(|_| status::internal("the namespace is closed"))
    }

    fn permits(&self, bytes: usize) -> u32 {
        let most = self.config.staging_bytes / BLOCK_BYTES;
        u32::try_from((bytes / BLOCK_BYTES).min(most)).unwrap_or(u32::MAX)
    }

    /// Runs what waits for a disk or a program on a thread of the runtime.
    async fn blocking<T: Send + 'static>(
        &self,
        bound: &Arc<Semaphore>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Outcome<T> {
        let Ok(permit) = Arc::clone(bound).acquire_owned().await else {
            return Err(status::internal("the namespace is closed"));
        };
        let task = self.runtime.spawn_blocking(move || {
            let result = work();
            drop(permit);
            result
        });
        task.await.map_err(|error| status::internal(format!("a job of the namespace failed: {error}")))
    }

    /// Runs what waits for a program on a thread of the runtime, within the share of the host.
    async fn device_job<T: Send + 'static>(
        &self,
        origin: &Origin,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Outcome<T> {
        self.within(origin.share.as_ref().map(|share| &share.jobs), &self.jobs, work).await
    }

    /// Runs a deletion in the device on a thread of the runtime, within the share of the host. Programs occupy other threads:
    /// a command holds locks while it deletes, and must not wait for them.
    async fn deletion<T: Send + 'static>(
        &self,
        share: Option<&Arc<Share>>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Outcome<T> {
        self.within(share.map(|share| &share.deletions), &self.deletions, work).await
    }

    /// The same within the bound of a host, if there is one.
    async fn within<T: Send + 'static>(
        &self,
        share: Option<&Arc<Semaphore>>,
        bound: &Arc<Semaphore>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Outcome<T> {
        let share = match share {
            Some(share) => Some(Arc::clone(share).acquire_owned().await),
            None => None,
        };
        let done = self.blocking(bound, work).await;
        drop(share);
        done
    }

    /// The place of a computed read that has to wait for its turn: programs may be before it, for long.
    fn queued(&self, origin: &Origin) -> Outcome<Option<WaitPermit>> {
        let own = origin.share.as_ref().map_or(1, |share| share.jobs.available_permits());
        match self.jobs.available_permits().min(own) {
            0 => crowded(self.waits.enter(0)).map(Some),
            _ => Ok(None),
        }
    }

    /// Runs a command of a host that may do this, and counts and records a denial.
    fn of_host<T>(&self, caller: &Arc<Caller>, used: Use, run: impl FnOnce(Arc<Origin>) -> Answer<T>) -> Answer<T>
    where
        T: Send + 'static,
    {
        match self.origin(caller, used) {
            Ok(origin) => run(origin),
            Err(error) => {
                self.note_denial(caller, &error);
                Answer::failed(error)
            }
        }
    }

    fn note_denial(&self, caller: &Caller, error: &CommandError) {
        if error.status.is(status::ACCESS_DENIED) {
            count(&self.counters.denied);
            self.audit.denied(caller, error.lba, &error.detail);
        }
    }

    /// Runs a command to its end, even if its host stops waiting.
    fn detached<T: Send + 'static>(
        self: &Arc<Self>,
        origin: &Arc<Origin>,
        command: impl Future<Output = Outcome<T>> + Send + 'static,
    ) -> Answer<T> {
        let (space, caller) = (Arc::clone(self), origin.caller.clone());
        let task = self.runtime.spawn(async move {
            let outcome = command.await;
            if let (Err(error), Some(caller)) = (&outcome, caller) {
                space.note_denial(&caller, error);
            }
            outcome
        });
        Answer::later(async move {
            task.await.unwrap_or_else(|error| Err(status::internal(format!("a command failed: {error}"))))
        })
    }
}

fn crowded<T>(outcome: Result<T, TooManyWaiting>) -> Outcome<T> {
    outcome.map_err(|TooManyWaiting| status::interrupted("too many commands wait for others"))
}

impl Namespace for BlockSpace {
    /// The capacity is the sum of both quotas: blocks that are mapped, and blocks of objects.
    fn geometry(&self) -> Geometry {
        let (size, mapped) = (2 * self.half, self.volume.space_usage(self.id).mapped);
        let (limits, used) = self.device.usage();
        let objects = limits.bytes / BLOCK_BYTES as u64;
        let unbound = used.bytes / BLOCK_BYTES as u64;
        let used = self.index().bound_blocks().max(unbound).saturating_add(mapped);
        let capacity = self.config.capacity.saturating_add(objects).min(size);
        Geometry { size, capacity, used: used.min(size) }
    }

    fn properties(&self) -> Properties {
        Properties { deallocated_reads_zeros: true, atomic_blocks: ATOMIC_BLOCKS, vendor: &crate::vendor::OPCODES }
    }

    fn read(self: Arc<Self>, caller: &Arc<Caller>, lba: u64, blocks: u32) -> Answer<Vec<u8>> {
        self.clone().of_host(caller, Use::Read, |origin| self.read_blocks(&origin, lba, blocks))
    }

    fn write(self: Arc<Self>, caller: &Arc<Caller>, lba: u64, data: Vec<u8>) -> Answer<()> {
        self.clone().of_host(caller, Use::Change, |origin| self.write_blocks(&origin, lba, data))
    }

    fn write_zeroes(self: Arc<Self>, caller: &Arc<Caller>, lba: u64, blocks: u32, _: bool) -> Answer<()> {
        let range = lba..lba.saturating_add(blocks.into());
        let ranges = std::iter::once(range).collect();
        self.clone().of_host(caller, Use::Change, |origin| self.erase(&origin, ranges, write::Erase::Zero))
    }

    fn deallocate(self: Arc<Self>, caller: &Arc<Caller>, ranges: Vec<Range<u64>>) -> Answer<()> {
        self.clone().of_host(caller, Use::Change, |origin| self.erase(&origin, ranges, write::Erase::Gone))
    }

    /// Every answered write is durable already.
    fn flush(self: Arc<Self>, _: &Arc<Caller>) -> Answer<()> {
        Answer::Ready(Ok(()))
    }

    fn vendor(self: Arc<Self>, caller: &Arc<Caller>, command: VendorCommand) -> Answer<Vec<u8>> {
        let used = if crate::vendor::changes(command.opcode) { Use::Change } else { Use::Read };
        self.clone().of_host(caller, used, |origin| self.vendor_command(&origin, command))
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        self.space.index_mut().forget(self.ticket);
        self.space.settled.notify_waiters();
    }
}

/// A range that is being taken; not any more when dropped.
#[derive(Debug)]
struct Taking {
    space: Arc<BlockSpace>,
    ticket: u64,
    /// Of the blocks behind an object that a program may need for its result.
    #[allow(dead_code, reason = "held until dropped")]
    charge: Option<RoomCharge>,
}
