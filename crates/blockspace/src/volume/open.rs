//! The files of a volume; opening, creation and recovery.

use super::{
    BLOCK_BYTES, Inner, Metrics, Quota, Shared, Volume, VolumeConfig, VolumeError,
    checkpoint::{Checkpointer, Checkpoints, Job, RELIEF_BLOCKS},
    format::{self, SUPERBLOCK, corrupt},
    map::{Effects, Map},
    queue::{ChangeLimits, Queue},
    replay::replay,
    rows::State,
    segment::{Extent, Segment},
    snapshot::Pins,
    table::{Content, Table},
    writer::Writer,
};
use ciphermill_storage::{
    self as storage, FileLock, FileStorage, FreeBlocks, MemoryStorage, OverlayStorage, SimulatedDisk, Storage,
    Superblock,
};
use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// The two files of a volume.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let files = VolumeFiles::in_memory();
/// Volume::open(files.clone(), config.clone())?.commit(write)?;
/// // The files hold the block after the volume is closed.
/// assert_eq!(Volume::open(files, config)?.mapped(1, 5, 1), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct VolumeFiles {
    /// Superblock and segments.
    pub blocks: Arc<dyn Storage>,
    /// The `redb` database that keeps the map.
    pub map: Arc<dyn Storage>,
}

impl VolumeFiles {
    /// The files `blocks` and `blocks.redb` of a directory. Takes no lock; [`Volume::open_directory`] does.
    ///
    /// # Errors
    /// [`VolumeError::Storage`] when the operating system refuses one of them.
    pub fn in_directory(directory: &Path) -> Result<Self, VolumeError> {
        let open = |name: &str| FileStorage::open(&directory.join(name));
        Ok(Self { blocks: Arc::new(open("blocks")?), map: Arc::new(open("blocks.redb")?) })
    }

    /// The files of a directory as they are now, for reading: every change stays in memory. `None` when the directory holds
    /// no volume. The caller ensures that no volume has them open.
    ///
    /// # Errors
    /// [`VolumeError::Storage`] when the operating system refuses one of them.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let directory = tempfile::tempdir()?;
    /// assert!(VolumeFiles::unchanged(directory.path())?.is_none());
    /// Volume::open_directory(directory.path(), config.clone())?.commit(write)?;
    /// let files = VolumeFiles::unchanged(directory.path())?.ok_or("there is a volume")?;
    /// assert_eq!(Volume::open(files, config)?.mapped(1, 5, 1), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unchanged(directory: &Path) -> Result<Option<Self>, VolumeError> {
        let open = |name: &str| -> Result<Arc<dyn Storage>, VolumeError> {
            let file = Arc::new(FileStorage::open_read_only(&directory.join(name))?);
            Ok(Arc::new(OverlayStorage::new(file)?))
        };
        let exists = |name: &str| directory.join(name).symlink_metadata().is_ok();
        match exists("blocks") && exists("blocks.redb") {
            true => Ok(Some(Self { blocks: open("blocks")?, map: open("blocks.redb")? })),
            false => Ok(None),
        }
    }

    /// Files that live as long as the process.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { blocks: Arc::new(MemoryStorage::new()), map: Arc::new(MemoryStorage::new()) }
    }

    /// Files on a simulated disk.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// use ciphermill_storage::SimulatedDisk;
    /// let disk = SimulatedDisk::new();
    /// let volume = Volume::open(VolumeFiles::on_simulated_disk(&disk), config.clone())?;
    /// volume.commit(write)?;
    /// // The power fails. A durable change survives.
    /// let after = VolumeFiles::on_simulated_disk(&disk.crash(1));
    /// assert_eq!(Volume::open(after, config)?.mapped(1, 5, 1), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_simulated_disk(disk: &SimulatedDisk) -> Self {
        Self { blocks: Arc::new(disk.file("blocks")), map: Arc::new(disk.file("blocks.redb")) }
    }
}

impl Volume {
    /// Opens the volume in a directory, and makes directory and volume where there are none. Holds a lock on
    /// `blocks.lock` in it, so that no other volume can be opened there.
    ///
    /// # Errors
    /// [`VolumeError::AlreadyOpen`], [`VolumeError::Directory`], and those of [`open`](Self::open).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let directory = tempfile::tempdir()?;
    /// let volume = Volume::open_directory(directory.path(), config.clone())?;
    /// volume.commit(write)?;
    /// // One volume at a time.
    /// let second = Volume::open_directory(directory.path(), config);
    /// assert!(matches!(second, Err(VolumeError::AlreadyOpen { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_directory(path: &Path, config: VolumeConfig) -> Result<Self, VolumeError> {
        let refused = |source| VolumeError::Directory { path: path.to_owned(), source: Arc::new(source) };
        storage::create_durable_directory(path).map_err(refused)?;
        let lock = storage::lock_file(&path.join("blocks.lock")).map_err(refused)?;
        let lock = lock.ok_or_else(|| VolumeError::AlreadyOpen { path: path.to_owned() })?;
        let files = VolumeFiles::in_directory(path)?;
        // The names of the files must survive a crash as their bytes do.
        File::open(path).and_then(|directory| directory.sync_all()).map_err(refused)?;
        Self::open_files(files, config, Some(lock))
    }

    /// Opens the volume in these files, and creates one if both are empty. The caller ensures that they are not open
    /// elsewhere.
    ///
    /// # Errors
    /// [`VolumeError::NotAVolume`], [`VolumeError::Version`] and [`VolumeError::Corrupt`], with no byte changed;
    /// [`VolumeError::Storage`], [`VolumeError::NoSpace`] and [`VolumeError::Map`] when the medium fails or is full;
    /// [`VolumeError::Thread`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let volume = Volume::open(VolumeFiles::in_memory(), config)?;
    /// assert!(volume.spaces().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(files: VolumeFiles, config: VolumeConfig) -> Result<Self, VolumeError> {
        Self::open_files(files, config, None)
    }

    fn open_files(files: VolumeFiles, config: VolumeConfig, lock: Option<FileLock>) -> Result<Self, VolumeError> {
        let config = VolumeConfig { segment_blocks: config.segment_blocks.clamp(64, 1 << 20), ..config };
        let failed = Arc::new(AtomicBool::new(false));
        let (table, content) = match SUPERBLOCK.read(&*files.blocks, &*files.map, "a map")? {
            Some(Superblock { ready: true, id: volume_id }) => {
                // First on scratch: a damaged volume must be found out before opening it repairs, hence changes, it.
                check(Table::check(Arc::clone(&files.map), volume_id)?, &*files.blocks)?;
                Table::open(Arc::clone(&files.map), volume_id, Arc::clone(&failed))?
            }
            Some(Superblock { ready: false, id: volume_id }) => create(&files, volume_id, &failed)?,
            None => create(&files, fresh_id()?, &failed)?,
        };
        let Content { state, stripes, labels, segments } = content;
        let mut map = Map::new(stripes, labels);
        let mut effects = Effects::default();
        let sequence = replay(&*files.blocks, state, &segments, &mut map, &mut effects)?;
        let free = free_around(physical_blocks(&map))?;
        // What was replayed is stored at once, and the segments it came from are forgotten: so nothing of a torn record
        // can ever be taken for one that was acknowledged.
        let job = Job {
            sequence,
            stripes: effects.stripes.into_iter().map(|key| (key, map.stripes.get(&key).cloned())).collect(),
            labels: effects.labels.into_iter().map(|key| (key, map.labels.get(&key).cloned())).collect(),
            closed: segments.iter().map(|segment| segment.generation).collect(),
            freed: Vec::new(),
            wanted: 2,
            epoch: Arc::new(()),
        };
        let data_blocks = (config.segment_blocks / 2).min((config.group_bytes / BLOCK_BYTES).clamp(1, 2048) as u32);
        let entry_bytes = RELIEF_BLOCKS as usize * BLOCK_BYTES - format::RECORD_HEAD_BYTES;
        let shared = Arc::new(Shared {
            blocks: Arc::clone(&files.blocks),
            map_file: Arc::clone(&files.map),
            volume_id: state.volume_id,
            map: RwLock::new(map),
            quotas: Mutex::new(HashMap::<u32, Quota>::new()),
            queue: Queue::new(config.queue_bytes),
            limits: ChangeLimits { data_blocks, entry_bytes },
            config: config.clone(),
            metrics: Metrics::default(),
            syncing: Mutex::new(()),
            writing: AtomicBool::new(false),
            failed,
            pins: Pins::default(),
            _lock: lock,
        });
        let mut checkpointer = Checkpointer::new(files.blocks, table, free, state, config, Arc::clone(&shared));
        let segments = checkpointer.run(job)?;
        if segments.is_empty() {
            let needed = u64::from(RELIEF_BLOCKS) * BLOCK_BYTES as u64;
            return Err(VolumeError::NoSpace { needed, free: 0 });
        }
        Self::start(shared, checkpointer, segments, sequence)
    }

    fn start(
        shared: Arc<Shared>,
        checkpointer: Checkpointer,
        segments: Vec<Segment>,
        sequence: u64,
    ) -> Result<Self, VolumeError> {
        let no_thread = |source| VolumeError::Thread { source: Arc::new(source) };
        let checkpoints = Arc::new(Checkpoints::new(segments));
        let mut writer = Writer::new(Arc::clone(&shared), Arc::clone(&checkpoints), sequence);
        let worker = {
            let checkpoints = Arc::clone(&checkpoints);
            let work = move || checkpoints.work(checkpointer);
            thread::Builder::new().name("volume-map".into()).spawn(work).map_err(no_thread)?
        };
        let for_writer = Arc::clone(&shared);
        let stop = Arc::clone(&checkpoints);
        let run = move || {
            let shared = for_writer;
            if catch_unwind(AssertUnwindSafe(|| writer.run())).is_err() {
                // Nobody knows what was done; readers may go on, and nobody waits for ever.
                shared.failed.store(true, Ordering::SeqCst);
                let mut backlog = std::collections::VecDeque::new();
                while shared.queue.take(&mut backlog) {
                    backlog.drain(..).for_each(|pending| shared.queue.answer(pending, Err(VolumeError::Failed)));
                }
            }
            checkpoints.close();
            if worker.join().is_err() {
                tracing::error!("the thread of the checkpoints panicked");
            }
        };
        let writer = thread::Builder::new().name("volume-writer".into()).spawn(run).map_err(|error| {
            stop.close();
            no_thread(error)
        })?;
        Ok(Self { inner: Arc::new(Inner { shared, writer: Mutex::new(Some(writer)) }) })
    }
}

fn fresh_id() -> Result<[u8; 16], VolumeError> {
    storage::fresh_id()
        .map_err(|source| VolumeError::Directory { path: "/dev/urandom".into(), source: Arc::new(source) })
}

/// Makes the files of a new volume.
fn create(files: &VolumeFiles, volume_id: [u8; 16], failed: &Arc<AtomicBool>) -> Result<(Table, Content), VolumeError> {
    let state = State { volume_id, sequence: 1, generation: 1, checkpoint: 0 };
    let make_table = || Table::create(Arc::clone(&files.map), state, Arc::clone(failed));
    let table = SUPERBLOCK.create(&*files.blocks, volume_id, make_table)?;
    Ok((table, Content { state, stripes: BTreeMap::new(), labels: BTreeMap::new(), segments: Vec::new() }))
}

/// The free blocks around the `used` ones.
fn free_around(mut used: Vec<u32>) -> Result<FreeBlocks<u32>, VolumeError> {
    used.sort_unstable();
    let mut free = FreeBlocks::new();
    for start in used {
        free.use_next(Extent { start, blocks: 1 })
            .map_err(|block| corrupt(format!("block {block} of the block file has two owners")))?;
    }
    Ok(free)
}

fn physical_blocks(map: &Map) -> Vec<u32> {
    let slots = map.stripes.values().flat_map(|stripe| &stripe.slots);
    slots.filter(|slot| slot.state() == super::BlockState::Data).map(|slot| slot.physical).collect()
}

/// Finds blocks with two owners, blocks behind the end of the file, and damaged records.
fn check(content: Content, blocks: &dyn Storage) -> Result<(), VolumeError> {
    let in_file = blocks.len()? / BLOCK_BYTES as u64;
    let mut map = Map::new(content.stripes, content.labels);
    let mut used = physical_blocks(&map);
    if let Some(last) = used.iter().max()
        && u64::from(*last) >= in_file
    {
        return Err(corrupt(format!("the map names block {last} of a block file of {in_file} blocks")).into());
    }
    used.extend(content.segments.iter().flat_map(|segment| segment.physical(0, segment.blocks())));
    free_around(used)?;
    replay(blocks, content.state, &content.segments, &mut map, &mut Effects::default()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_block_has_two_owners() {
        assert!(matches!(free_around(vec![5, 4, 5]), Err(VolumeError::Corrupt { .. })));
        assert!(matches!(free_around(vec![0]), Err(VolumeError::Corrupt { .. })));
        assert_eq!(free_around(vec![9, 3, 4, 20]).expect("no block twice").free(), 2 + 4 + 10);
    }
}
