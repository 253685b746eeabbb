//! The device: spaces of virtual registers that compute when they are written or read.

mod budget;
mod cache;
mod config;
mod gate;
mod keys;
mod machine;
mod objects;
mod registry;
mod run;
mod types;

use crate::{
    error::DeviceError,
    handler::{KeyShape, ObjectHandler, Role, TypeDescriptor},
    memory::{Memory, VrTable},
    metrics::{Metrics, MetricsSnapshot, SpaceMetrics, count},
    store::{
        ObjectFlags, ObjectKey, ObjectPages, ScrubEvent, ScrubReport, Snapshot, SpaceId, SpaceLimits, Store, StoreError,
    },
};
use cache::Cache;
use ciphermill_program::{DataId, Facts, InstructionSet, KeyId, Program, TypeCode, VrId};
use gate::Gate;
use keys::Keys;
use registry::{Known, Registry};
use std::sync::Arc;

pub use config::{DeviceConfig, KeyMemory, Location};
pub use objects::{ObjectSink, ObjectSource};
pub use types::{CheckedOutput, CheckedProgram, ObjectStat, ReadMode, ReadOptions, WriteMode, WriteOptions, Written};

/// The secure-computing device. Cheap to clone; all clones are one device, which closes when the last clone, space, sink
/// and source of it is gone.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// // Two stored ciphertexts, and the program that a computed read of their key runs.
/// space.write_bytes(x, &one, WriteOptions::default())?;
/// space.write_bytes(y, &two, WriteOptions::default())?;
/// space.write_bytes(program_register(x.key_id), &sum.encode(), WriteOptions::default())?;
/// assert_eq!(message(&space.read_bytes(x, ReadMode::Compute)?)?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    inner: Arc<Inner>,
}

/// A space of a device. Cheap to clone.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let space: Space = device.space(SpaceId::EMBEDDED)?;
/// space.write_bytes(x, &one, WriteOptions::default())?;
/// assert_eq!(space.read_bytes(x, ReadMode::Stored)?, one);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Space {
    inner: Arc<Inner>,
    id: SpaceId,
}

/// Memory that an entry of a cache takes besides its value, roughly.
const ENTRY_BYTES: u64 = 256;
/// Memory for decoded programs between their runs, in bytes.
const PROGRAM_CACHE_BYTES: u64 = 64 << 20;
/// Memory for the facts of stored objects, in bytes.
const FACTS_CACHE_BYTES: u64 = 16 << 20;

#[derive(Debug)]
struct Inner {
    config: DeviceConfig,
    registry: Registry,
    store: Store,
    memory: Memory,
    registers: VrTable,
    keys: Keys,
    programs: Cache<ObjectKey, Arc<Program>>,
    test_vectors: Cache<ObjectKey, Arc<[u8]>>,
    facts: Cache<ObjectKey, Facts>,
    gate: Gate,
    metrics: Metrics,
}

impl Device {
    /// Opens a device over its store, and makes the store where there is none.
    ///
    /// # Errors
    /// [`DeviceError::Configuration`], [`DeviceError::DuplicateType`]; [`DeviceError::Store`] when the store is open
    /// already, damaged, of another version, or unreachable.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let device = Device::open(DeviceConfig::in_memory(), handlers())?;
    /// assert_eq!(device.spaces(), [SpaceId::EMBEDDED]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(config: DeviceConfig, handlers: Vec<Arc<dyn ObjectHandler>>) -> Result<Self, DeviceError> {
        config.check()?;
        let registry = Registry::new(handlers)?;
        let (store, swap) = match &config.location {
            Location::Directory(path) => Store::open_directory(path)?,
            Location::Files(files) => Store::open_files(files.clone(), None, None)?,
        };
        let memory = Memory::new(config.main_memory_bytes, swap, config.swap_bytes)?;
        let memory = memory.with_limit_of_owners(config.swap_bytes_of_space);
        let gate =
            Gate::new(config.max_running_programs, config.max_waiting_programs, config.max_waiting_programs_of_space);
        let keys = Keys::new(config.key_memory.clone());
        let test_vectors =
            Cache::new(config.test_vector_cache_bytes, |bytes: &Arc<[u8]>| ENTRY_BYTES + bytes.len() as u64);
        Ok(Self {
            inner: Arc::new(Inner {
                registry,
                store,
                memory,
                gate,
                config,
                registers: VrTable::default(),
                keys,
                programs: Cache::new(PROGRAM_CACHE_BYTES, |program| {
                    ENTRY_BYTES + size_of_val(program.instructions()) as u64
                }),
                test_vectors,
                facts: Cache::new(FACTS_CACHE_BYTES, |facts| ENTRY_BYTES + facts.memory_bytes()),
                metrics: Metrics::default(),
            }),
        })
    }

    /// The instructions that programs on this device may have: the built-in ones and those of its handlers.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let text = "homadd 3:1:1, 3:1:2\nreturn 3:1:1";
    /// let program = assemble(device.instruction_set(), text, &Bindings::new())?.program;
    /// assert_eq!(program.instructions().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn instruction_set(&self) -> &InstructionSet {
        self.inner.registry.instructions()
    }

    /// A snapshot of all objects of all spaces between two commits, for a backup; see [`Store::snapshot`].
    ///
    /// # Errors
    /// [`DeviceError::Store`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// let (snapshot, ()) = device.snapshot(1 << 30, || ())?;
    /// assert_eq!(snapshot.bytes(), one.len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot<T>(&self, budget: u64, meanwhile: impl FnOnce() -> T) -> Result<(Snapshot, T), DeviceError> {
        Ok(self.inner.store.snapshot(budget, meanwhile)?)
    }

    /// The identity of the store, drawn when it was made.
    #[must_use]
    pub fn store_id(&self) -> [u8; 16] {
        self.inner.store.id()
    }

    /// A space that exists. [`SpaceId::EMBEDDED`] always does.
    ///
    /// # Errors
    /// [`StoreError::NoSuchSpace`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let space = device.space(SpaceId::EMBEDDED)?;
    /// assert!(space.list().is_empty());
    /// assert!(device.space(SpaceId(7)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn space(&self, id: SpaceId) -> Result<Space, DeviceError> {
        self.inner.store.space(id).ok_or(StoreError::NoSuchSpace { space: id })?;
        Ok(Space { inner: Arc::clone(&self.inner), id })
    }

    /// Makes a space, or changes the quotas of one; both outlive the process. A quota below the present use keeps the
    /// objects and refuses growth.
    ///
    /// # Errors
    /// [`DeviceError::Store`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let tenant = device.create_space(SpaceId(7), SpaceLimits { bytes: 1 << 30, objects: 1 })?;
    /// tenant.write_bytes(x, &one, WriteOptions::default())?;
    /// assert!(tenant.write_bytes(y, &two, WriteOptions::default()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_space(&self, id: SpaceId, limits: SpaceLimits) -> Result<Space, DeviceError> {
        self.inner.store.set_space(id, limits)?;
        self.space(id)
    }

    /// All spaces, ascending.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// device.create_space(SpaceId(7), SpaceLimits::UNLIMITED)?;
    /// assert_eq!(device.spaces(), [SpaceId(0), SpaceId(7)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn spaces(&self) -> Vec<SpaceId> {
        self.inner.store.spaces()
    }

    /// All object types the device knows, ascending.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let on_read = device.types().into_iter().find(|known| known.code == tfhe::TLWE_COR).ok_or("an unknown type")?;
    /// assert_eq!(on_read.role, Role::Value(Trigger::OnRead));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn types(&self) -> Vec<TypeDescriptor> {
        self.inner.registry.descriptors()
    }

    /// The configuration it was opened with.
    #[must_use]
    pub fn config(&self) -> &DeviceConfig {
        &self.inner.config
    }

    /// Reads every object of every space, checks every checksum, and the object table, concurrently with other work. `each`
    /// gets every finding. Damage is reported and is not an error here. Nothing is changed.
    ///
    /// # Errors
    /// None so far.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// let report = device.scrub(&mut |event| eprintln!("{event:?}"))?;
    /// assert_eq!((report.objects, report.is_sound()), (1, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scrub(&self, each: &mut dyn FnMut(ScrubEvent)) -> Result<ScrubReport, DeviceError> {
        let report = self.inner.store.scrub(each);
        let metrics = &self.inner.metrics;
        count(&metrics.scrubs, 1);
        count(&metrics.scrubbed_bytes, report.bytes);
        count(&metrics.damaged_chunks, report.damaged_chunks);
        Ok(report)
    }

    /// The counters.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// assert_eq!(device.metrics().writes, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn metrics(&self) -> MetricsSnapshot {
        let inner = &self.inner;
        let (commits, committed_changes) = inner.store.commits();
        let (programs_running, queue_depth) = inner.gate.depth();
        let space = |id| Some((id, inner.store.space(id).map(|(limits, used)| SpaceMetrics { limits, used })?));
        MetricsSnapshot {
            store: inner.store.usage(),
            spaces: inner.store.spaces().into_iter().filter_map(space).collect(),
            store_failed: inner.store.has_failed(),
            memory: inner.memory.usage(),
            commits,
            committed_changes,
            commit_time: inner.store.commit_time(),
            key_memory: inner.keys.usage(),
            programs_running,
            queue_depth,
            ..inner.metrics.snapshot()
        }
    }
}

impl Space {
    /// Its name.
    #[must_use]
    pub fn id(&self) -> SpaceId {
        self.id
    }

    /// Its quotas, and how much of them is used.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// let (limits, used) = space.usage();
    /// assert_eq!(limits, SpaceLimits::UNLIMITED);
    /// assert_eq!(used, SpaceLimits { bytes: one.len() as u64, objects: 1 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn usage(&self) -> (SpaceLimits, SpaceLimits) {
        self.inner.store.space(self.id).unwrap_or((SpaceLimits::UNLIMITED, SpaceLimits { bytes: 0, objects: 0 }))
    }

    /// Begins to write an object of `size` bytes. Nothing happens before [`ObjectSink::commit`].
    ///
    /// # Errors
    /// [`DeviceError::UnknownType`], [`DeviceError::NotAProgramRegister`], [`DeviceError::TooLarge`],
    /// [`DeviceError::Handler`] when the size does not fit the key's parameter set, [`DeviceError::Store`] when quota or
    /// disk have no room.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let mut sink = space.write(x, one.len() as u64, WriteOptions::default())?;
    /// sink.push(&one)?;
    /// assert!(!sink.commit()?.computed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, id: VrId, size: u64, options: WriteOptions) -> Result<ObjectSink, DeviceError> {
        ObjectSink::new(self.clone(), id, size, options)
    }

    /// Judges a write as [`write`](Self::write) does, without beginning one: the type, the size, and whether quota and disk
    /// have room now. Nothing is reserved, so a later write may still find no room, and nothing that waits to be written is
    /// taken from others. Of a write of at most 1 MiB that runs a program, the room is not judged: it takes that of its
    /// result.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let options = WriteOptions::default();
    /// space.check_write(x, one.len() as u64, &options)?;
    /// assert!(matches!(space.check_write(x, 0, &options), Err(DeviceError::Store(StoreError::EmptyObject))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_write(&self, id: VrId, size: u64, options: &WriteOptions) -> Result<(), DeviceError> {
        objects::check_write(self, id, size, options)
    }

    /// Writes an object that is in memory.
    ///
    /// # Errors
    /// As [`write`](Self::write) and [`ObjectSink::commit`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let written = space.write_bytes(x, &one, WriteOptions::default())?;
    /// assert_eq!(written.stat.size, one.len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_bytes(&self, id: VrId, bytes: &[u8], options: WriteOptions) -> Result<Written, DeviceError> {
        let mut sink = self.write(id, bytes.len() as u64, options)?;
        sink.push(bytes)?;
        sink.commit()
    }

    /// Begins to read an object; a computed read runs the program now.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; for a computed read [`DeviceError::NotComputable`], [`DeviceError::NoProgram`],
    /// [`DeviceError::ProgramFailed`], [`DeviceError::WouldDisarm`] and [`DeviceError::Busy`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// let mut bytes = Vec::new();
    /// space.read(x, ReadMode::Stored)?.read_to_end(&mut bytes)?;
    /// assert_eq!(bytes, one);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, id: VrId, mode: ReadMode) -> Result<ObjectSource, DeviceError> {
        self.read_with(id, ReadOptions::new(mode))
    }

    /// The same with a bound for the result of a computed read.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// space.write_bytes(y, &two, WriteOptions::default())?;
    /// space.write_bytes(program_register(x.key_id), &sum.encode(), WriteOptions::default())?;
    /// let options = ReadOptions { result_limit: Some(16), ..ReadOptions::new(ReadMode::Compute) };
    /// assert!(matches!(space.read_with(x, options), Err(DeviceError::ProgramFailed { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_with(&self, id: VrId, options: ReadOptions) -> Result<ObjectSource, DeviceError> {
        ObjectSource::new(self, id, options)
    }

    /// Reads an object into memory.
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`StoreError::DamagedObject`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// assert_eq!(message(&space.read_bytes(x, ReadMode::Stored)?)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_bytes(&self, id: VrId, mode: ReadMode) -> Result<Vec<u8>, DeviceError> {
        Ok(self.read(id, mode)?.into_bytes()?)
    }

    /// Opens an object, as it is stored, for reads at any offset: of one version, each byte checked, without reading a MiB
    /// for every 4 KiB. [`ObjectPages`] describes its use and its cost.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; those of the medium, when the object is small and read at once.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// let pages = space.open_object(x)?;
    /// let mut part = [0; 16];
    /// pages.read_at(32, &mut part)?;
    /// assert_eq!(part, one[32..48]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_object(&self, id: VrId) -> Result<ObjectPages, DeviceError> {
        let object = self.inner.store.get(self.key(id))?;
        count(&self.inner.metrics.reads, 1);
        Ok(self.inner.store.pages(object)?)
    }

    /// Runs a program that need not be stored, on the registers as they are, and gives its result. Nothing is stored.
    ///
    /// # Errors
    /// [`DeviceError::GivenProgramFailed`], [`DeviceError::Busy`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// space.write_bytes(y, &two, WriteOptions::default())?;
    /// assert_eq!(message(&space.run(&sum)?)?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run(&self, program: &Program) -> Result<Vec<u8>, DeviceError> {
        run::run_given(self, program)
    }

    /// Judges a program as [`run`](Self::run) would, without running it, and gives its estimated run time and the
    /// probability that its result is wrong.
    ///
    /// # Errors
    /// [`DeviceError::GivenProgramFailed`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// // The operands of the program are not stored yet.
    /// assert!(matches!(space.check(&sum), Err(DeviceError::GivenProgramFailed { .. })));
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// space.write_bytes(y, &two, WriteOptions::default())?;
    /// let checked = space.check(&sum)?;
    /// assert!(checked.estimate <= device.config().max_program_duration);
    /// assert!(checked.outputs[0].log2_p_fail.is_some_and(|log2| log2 < -64.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self, program: &Program) -> Result<CheckedProgram, DeviceError> {
        run::check_given(self, program)
    }

    /// The properties of an object.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// let stat = space.stat(x)?;
    /// assert_eq!((stat.id, stat.size, stat.computed), (x, one.len() as u64, false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stat(&self, id: VrId) -> Result<ObjectStat, DeviceError> {
        Ok(ObjectStat::from(&*self.inner.store.get(self.key(id))?))
    }

    /// All objects, ascending.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(y, &two, WriteOptions::default())?;
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// assert_eq!(space.list().iter().map(|stat| stat.id).collect::<Vec<_>>(), [x, y]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn list(&self) -> Vec<ObjectStat> {
        self.inner.store.list(self.id).iter().map(|object| ObjectStat::from(&**object)).collect()
    }

    /// Replaces the flags of an object.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] and those of a commit.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// space.set_flags(x, ObjectFlags::ARMED)?;
    /// assert!(space.stat(x)?.flags.contains(ObjectFlags::ARMED));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_flags(&self, id: VrId, flags: ObjectFlags) -> Result<(), DeviceError> {
        Ok(self.inner.store.set_flags(self.key(id), flags)?)
    }

    /// Deletes an object. Runs and reads that began before still see it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] and those of a commit.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// space.delete(x)?;
    /// assert!(space.stat(x).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(&self, id: VrId) -> Result<(), DeviceError> {
        self.inner.store.delete(self.key(id))?;
        self.inner.forget(self.key(id));
        count(&self.inner.metrics.deletes, 1);
        Ok(())
    }

    fn key(&self, id: VrId) -> ObjectKey {
        ObjectKey { space: self.id, id }
    }
}

/// The program register of a Key ID.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// assert_eq!(program_register(KeyId(1)).to_string(), "0:1:0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub const fn program_register(key_id: KeyId) -> VrId {
    VrId::new(TypeCode::PRG, key_id, DataId(0))
}

impl Inner {
    /// The parameter set under which objects of this type and key are, if one of its keys is stored.
    fn shape(&self, space: SpaceId, known: &Known, key_id: KeyId) -> Result<Option<Arc<dyn KeyShape>>, DeviceError> {
        let (Some(handler), Some(key_type)) = (&known.handler, known.key_type) else { return Ok(None) };
        let parts = self.store.list_key(space, key_type, key_id);
        Ok(self.keys.shape(&self.store, &**handler, (space, key_type, key_id), &parts)?)
    }

    /// Drops what memory holds of an object that was replaced or deleted.
    fn forget(&self, key: ObjectKey) {
        self.registers.remove(key);
        self.programs.remove(&key);
        self.test_vectors.remove(&key);
        self.facts.remove(&key);
        match self.registry.get(key.id.type_code).map(|known| known.descriptor.role) {
            Some(Role::Key) => self.keys.forget_key((key.space, key.id.type_code, key.id.key_id)),
            Some(Role::TestVector) => self.keys.forget_prepared(key.space, key.id),
            _ => {}
        }
    }
}
