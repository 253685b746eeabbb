//! Opening a namespace.

use super::{
    BlockSpace, BlockSpaceConfig, BlockSpaceError, Counters,
    audit::{Audit, AuditSink},
    locks::RangeLocks,
    recover::recover,
    sessions::{Opens, PageCache, Sessions},
    shares::{DELETIONS, Shares},
    wait_limit::WaitLimit,
};
use crate::volume::{BLOCK_BYTES, BlockState, Quota, Volume};
use ciphermill_device::{
    Device, SpaceId,
    handler::{Role, Trigger},
};
use std::sync::{Arc, RwLock, atomic::AtomicU64};
use tokio::{
    runtime::Handle,
    sync::{Notify, Semaphore},
};

impl BlockSpace {
    /// Opens the namespace of a space that exists in the device, over the space of the same number in the volume, and
    /// ends deletions that a crash interrupted. What waits for disks and programs runs on blocking threads of `runtime`,
    /// whose timers are used too. Blocks the caller.
    ///
    /// # Errors
    /// [`BlockSpaceError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let other = SpaceId(2);
    /// device.create_space(other, SpaceLimits::UNLIMITED)?;
    /// let config = BlockSpaceConfig::new(20);
    /// let space = BlockSpace::open(&device, other, volume, config, runtime.handle().clone())?;
    /// assert_eq!(space.geometry().size, 1 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(
        device: &Device,
        id: SpaceId,
        volume: Volume,
        config: BlockSpaceConfig,
        runtime: Handle,
    ) -> Result<Arc<Self>, BlockSpaceError> {
        Self::open_with(device, id, volume, config, runtime, None)
    }

    /// The same with a destination for audit entries.
    ///
    /// # Errors
    /// [`BlockSpaceError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// #[derive(Debug, Default)]
    /// struct Log(std::sync::Mutex<Vec<(Action, String)>>);
    ///
    /// impl AuditSink for Log {
    ///     fn record(&self, event: &AuditEvent<'_>) {
    ///         let host = event.host.unwrap_or("nobody").to_owned();
    ///         self.0.lock().expect("no panic").push((event.action, host));
    ///     }
    /// }
    ///
    /// drop(space);
    /// let log = Arc::new(Log::default());
    /// let sink = Some(Arc::clone(&log) as Arc<dyn AuditSink>);
    /// let space = BlockSpace::open_with(&device, namespace, volume, config, runtime.handle().clone(), sink)?;
    /// let write = |lba: u64, bytes: Vec<u8>| runtime.block_on(Arc::clone(&space).write(&host, lba, bytes).wait());
    /// write(space.half() + 8, metadata.encode().to_vec())?;
    /// write(8, [&program[..], &vec![0; BLOCK_BYTES - program.len()]].concat())?;
    /// assert_eq!(log.0.lock().expect("no panic")[..], [(Action::Put, host.host.nqn.clone())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_with(
        device: &Device,
        id: SpaceId,
        volume: Volume,
        config: BlockSpaceConfig,
        runtime: Handle,
        sink: Option<Arc<dyn AuditSink>>,
    ) -> Result<Arc<Self>, BlockSpaceError> {
        check(&config)?;
        let half = 1 << (config.blocks_log2 - 1);
        let space = device.space(id)?;
        let computes = |role| role == Role::Value(Trigger::OnWrite);
        let computing = device.types().into_iter().filter(|known| computes(known.role)).map(|known| known.code);
        let labels = u64::try_from(config.max_places).unwrap_or(u64::MAX).saturating_mul(3);
        volume.set_quota(id.0, Quota { blocks: config.capacity, labels });
        let audit = Audit { space: id.0, sink };
        let mut places = recover(&space, &volume, half, &audit)?;
        let shares = Shares::new(&config);
        places.recharge(&shares);
        let mapped = volume.states(id.0, 0, half);
        let mapped =
            mapped.iter().rev().find(|run| run.state != BlockState::Absent).map_or(0, |run| run.lba + run.blocks);
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        let (idle, timers) = (config.reservation_idle, runtime.clone());
        let waits = WaitLimit::new(config.max_waiting, config.max_waiting_of_object);
        let opened = Arc::new(Self {
            device: space,
            id: id.0,
            half,
            max_object_bytes: device.config().max_object_bytes,
            computing: computing.collect(),
            runtime,
            changes: RangeLocks::new(waits.clone()),
            registers: RangeLocks::new(waits.clone()),
            views: RangeLocks::new(waits.clone()),
            waits,
            high_water: AtomicU64::new(mapped.max(places.end())),
            places: RwLock::new(places),
            settled: Notify::new(),
            staging: semaphore(config.staging_bytes / BLOCK_BYTES),
            jobs: semaphore(config.device_jobs),
            deletions: semaphore(DELETIONS),
            disk: semaphore(config.disk_reads),
            shares,
            audit,
            sessions: Sessions::new(&config),
            opens: Opens::new(&config, device.config().max_object_bytes),
            pages: PageCache::default(),
            counters: Counters::default(),
            declarations: AtomicU64::new(super::sessions::anywhere()),
            volume,
            config,
        });
        drop(timers.spawn(Self::watch_reservations(Arc::downgrade(&opened), idle)));
        Ok(opened)
    }
}

fn check(config: &BlockSpaceConfig) -> Result<(), BlockSpaceError> {
    let refuse = |what: String| Err(BlockSpaceError::Configuration { what });
    if !(2..=52).contains(&config.blocks_log2) {
        return refuse(format!("blocks_log2 is {}, it must be 2 to 52", config.blocks_log2));
    }
    if config.staging_bytes < BLOCK_BYTES {
        return refuse(format!(
            "staging_bytes is {}, it must be at least one block of {BLOCK_BYTES}",
            config.staging_bytes
        ));
    }
    if config.device_jobs == 0 || config.disk_reads == 0 {
        return refuse("device_jobs and disk_reads must be at least 1".to_owned());
    }
    if config.reservation_idle.as_millis() < 10 {
        return refuse(format!("reservation_idle is {:?}, it must be at least 10 ms", config.reservation_idle));
    }
    Ok(())
}
