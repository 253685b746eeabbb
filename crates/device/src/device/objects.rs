//! Objects on their way in and out.

use super::{
    Inner, ObjectStat, ReadMode, ReadOptions, Space, WriteMode, WriteOptions, Written, program_register,
    run::{self, Terms},
};
use crate::{
    error::DeviceError,
    handler::{Role, Trigger},
    metrics::count,
    store::{FinishedObject, ObjectFlags, ObjectReader, ObjectWriter, StoreError, StoredObject},
};
use ciphermill_program::{Program, VrId};
use std::{
    io::{self, Cursor, Read, Write},
    sync::Arc,
};

/// Objects up to this size are held in memory until they are complete, so that a ciphertext that only triggers a program
/// never touches the disk; larger ones go straight to their extents.
const SPOOL_ABOVE: u64 = 1 << 20;

/// Takes the bytes of an object. Dropped before its commit, nothing has happened.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let mut sink: ObjectSink = space.write(x, one.len() as u64, WriteOptions::default())?;
/// std::io::copy(&mut one.as_slice(), &mut sink)?;
/// // The object exists from here on.
/// sink.commit()?;
/// assert_eq!(space.list().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ObjectSink {
    space: Space,
    id: VrId,
    size: u64,
    options: WriteOptions,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Memory(Vec<u8>),
    Disk(Box<ObjectWriter>),
}

/// A complete object, not yet visible.
enum Complete {
    Memory(Vec<u8>),
    Disk(Box<FinishedObject>),
}

/// Refuses a write that cannot succeed: an unknown type, a size beyond the limits or against the key's parameter set, a
/// program in another register than the program register.
fn check_size(space: &Space, id: VrId, size: u64) -> Result<(), DeviceError> {
    let inner = &*space.inner;
    let known = inner.registry.find(id)?;
    let limit = match known.descriptor.role {
        // A program is decoded in memory, so it must not be of any length.
        Role::Program => inner.config.max_object_bytes.min(inner.config.max_program_bytes()),
        _ => inner.config.max_object_bytes,
    };
    if size > limit {
        return Err(DeviceError::TooLarge { id, size, limit });
    }
    if size == 0 {
        return Err(StoreError::EmptyObject.into());
    }
    if known.descriptor.role == Role::Program && id != program_register(id.key_id) {
        return Err(DeviceError::NotAProgramRegister { id });
    }
    if let Some(handler) = &known.handler {
        // A key may bring another parameter set than the one it replaces, whose head may be damaged; validation looks at
        // its other parts.
        let shape = match known.descriptor.role {
            Role::Key => None,
            _ => inner.shape(space.id, known, id.key_id)?,
        };
        handler.check_size(id, size, shape.as_deref())?;
    }
    Ok(())
}

/// What [`Space::check_write`] promises.
pub(super) fn check_write(space: &Space, id: VrId, size: u64, options: &WriteOptions) -> Result<(), DeviceError> {
    check_size(space, id, size)?;
    let inner = &*space.inner;
    let role = inner.registry.find(id)?.descriptor.role;
    if size <= SPOOL_ABOVE && computing(space, id, role, options).is_some() {
        // It stays in memory; what will be stored is a result whose size the program decides.
        return Ok(inner.store.check_writing()?);
    }
    Ok(inner.store.check_write(space.key(id), size)?)
}

/// The program that a write of this register runs, if it runs one.
fn computing(space: &Space, id: VrId, role: Role, options: &WriteOptions) -> Option<Arc<StoredObject>> {
    match (role, options.mode) {
        (Role::Value(Trigger::OnWrite), WriteMode::Compute) => {
            space.inner.store.get(space.key(program_register(id.key_id))).ok()
        }
        _ => None,
    }
}

impl ObjectSink {
    pub(super) fn new(space: Space, id: VrId, size: u64, options: WriteOptions) -> Result<Self, DeviceError> {
        check_size(&space, id, size)?;
        let inner = &*space.inner;
        let body = match size {
            ..=SPOOL_ABOVE => Body::Memory(Vec::new()),
            _ => {
                let mut writer = inner.store.write(space.key(id), size)?;
                writer.came_from(options.origin, false);
                writer.belongs_to(options.owner.clone());
                Body::Disk(Box::new(writer))
            }
        };
        Ok(Self { space, id, size, options, body })
    }

    /// The register that is written.
    #[must_use]
    pub fn id(&self) -> VrId {
        self.id
    }

    /// The declared size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Takes bytes, in order.
    ///
    /// # Errors
    /// [`StoreError::TooManyBytes`] beyond the declared size; [`StoreError::Storage`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let mut sink = space.write(x, one.len() as u64, WriteOptions::default())?;
    /// for part in one.chunks(1024) {
    ///     sink.push(part)?;
    /// }
    /// assert!(matches!(sink.push(&[0]), Err(StoreError::TooManyBytes { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        match &mut self.body {
            Body::Disk(writer) => writer.push(bytes),
            Body::Memory(held) if (held.len() + bytes.len()) as u64 > self.size => {
                Err(StoreError::TooManyBytes { object: self.space.key(self.id), declared: self.size })
            }
            Body::Memory(held) => {
                held.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Completes the object: it is validated, may run the program of its key, and is durable with its flags when this
    /// returns.
    ///
    /// # Errors
    /// [`StoreError::Incomplete`]; [`DeviceError::Handler`] and [`DeviceError::InvalidProgram`] for content that is not
    /// of its type; [`DeviceError::ProgramFailed`], [`DeviceError::Busy`]; [`DeviceError::Store`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let mut sink = space.write(x, one.len() as u64, WriteOptions::default())?;
    /// sink.push(&one[1..])?;
    /// // One byte is missing, so nothing is stored.
    /// assert!(matches!(sink.commit(), Err(DeviceError::Store(StoreError::Incomplete { .. }))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(self) -> Result<Written, DeviceError> {
        let Self { space, id, size, options, body } = self;
        let inner = &*space.inner;
        let complete = match body {
            Body::Disk(writer) => Complete::Disk(Box::new(writer.finish(options.flags)?)),
            Body::Memory(bytes) if bytes.len() as u64 == size => Complete::Memory(bytes),
            Body::Memory(bytes) => {
                let (object, written) = (space.key(id), bytes.len() as u64);
                return Err(StoreError::Incomplete { object, declared: size, written }.into());
            }
        };
        let role = validate(&space, id, size, &complete)?;
        let program = computing(&space, id, role, &options);
        let computed = program.is_some();
        let (object, bytes) = match (program, complete) {
            (None, Complete::Disk(finished)) => (finished.commit()?, None),
            (None, Complete::Memory(bytes)) => (put(&space, id, &bytes, &options, false)?, Some(bytes)),
            (Some(program), complete) => {
                let operand = match complete {
                    Complete::Memory(bytes) => bytes,
                    Complete::Disk(finished) => finished.read().pull_all()?,
                };
                let terms = Terms { limit: options.result_limit, reach: options.reach.as_ref() };
                let result = run::run(&space, &program, id, Some(&operand), terms)?;
                (put(&space, id, &result, &options, true)?, Some(result))
            }
        };
        inner.forget(space.key(id));
        if let (Role::Value(_), Some(bytes)) = (role, bytes) {
            run::keep(inner, &object, &bytes);
        }
        count(&inner.metrics.writes, 1);
        count(&inner.metrics.computed_writes, u64::from(computed));
        count(&inner.metrics.bytes_written, size);
        Ok(Written { stat: ObjectStat::from(&*object), computed })
    }
}

fn put(
    space: &Space,
    id: VrId,
    bytes: &[u8],
    options: &WriteOptions,
    computed: bool,
) -> Result<Arc<StoredObject>, DeviceError> {
    let mut writer = space.inner.store.write(space.key(id), bytes.len() as u64)?;
    writer.came_from(options.origin, computed);
    writer.belongs_to(options.owner.clone());
    writer.push(bytes)?;
    Ok(writer.commit(options.flags)?)
}

/// Has the complete object judged by its handler, or, if it is a program, by its decoder.
fn validate(space: &Space, id: VrId, size: u64, complete: &Complete) -> Result<Role, DeviceError> {
    let inner = &*space.inner;
    let known = inner.registry.find(id)?;
    let role = known.descriptor.role;
    let Some(handler) = &known.handler else {
        let instructions = inner.registry.instructions();
        let decoded = match complete {
            Complete::Memory(bytes) => Program::decode(instructions, bytes),
            Complete::Disk(finished) => Program::decode(instructions, &finished.read().pull_all()?),
        };
        decoded.map_err(|source| DeviceError::InvalidProgram { id, source })?;
        return Ok(role);
    };
    let shape = match (role, known.key_type) {
        (Role::Key, Some(key_type)) => {
            let mut others = inner.store.list_key(space.id, key_type, id.key_id);
            others.retain(|part| part.key().id != id);
            let described = others
                .first()
                .map(|part| handler.describe_key(part.key().id, part.size(), &mut inner.store.read(Arc::clone(part))));
            described.transpose()?
        }
        _ => inner.shape(space.id, known, id.key_id)?,
    };
    match complete {
        Complete::Memory(bytes) => handler.validate(id, size, &mut bytes.as_slice(), shape.as_deref())?,
        Complete::Disk(finished) => {
            // Many may be judged at once, and each may be as large as a matrix.
            let _memory = inner
                .keys
                .set_aside(space.id, handler.validate_bytes(id, size))
                .map_err(|source| DeviceError::NoMemory { id, source })?;
            handler.validate(id, size, &mut finished.read(), shape.as_deref())?;
        }
    }
    Ok(role)
}

impl Write for ObjectSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes).map_err(StoreError::into_io)?;
        Ok(bytes.len())
    }

    /// Does nothing: only [`commit`](ObjectSink::commit) makes an object durable.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the bytes of an object, or of the result of its program. All bytes are of one version, also when the object is
/// written meanwhile.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// space.write_bytes(x, &one, WriteOptions::default())?;
/// let mut source: ObjectSource = space.read(x, ReadMode::Stored)?;
/// assert_eq!((source.size(), source.computed()), (one.len() as u64, false));
/// let mut head = [0; 8];
/// source.read_exact(&mut head)?;
/// assert_eq!(head, one[..8]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ObjectSource {
    stat: ObjectStat,
    content: Content,
    disarmed: bool,
}

#[derive(Debug)]
enum Content {
    Stored(ObjectReader),
    Computed(Cursor<Vec<u8>>),
}

impl ObjectSource {
    pub(super) fn new(space: &Space, id: VrId, options: ReadOptions) -> Result<Self, DeviceError> {
        let ReadOptions { mode, result_limit, reach, keep_armed } = options;
        let inner = &*space.inner;
        let known = inner.registry.find(id)?;
        let object = inner.store.get(space.key(id))?;
        let computes = known.descriptor.role == Role::Value(Trigger::OnRead);
        let armed = object.flags().contains(ObjectFlags::ARMED);
        let compute = match mode {
            ReadMode::Stored => false,
            ReadMode::Armed => computes && armed,
            ReadMode::Compute if computes => true,
            ReadMode::Compute => return Err(DeviceError::NotComputable { id, name: known.descriptor.name }),
        };
        let disarms = compute && mode == ReadMode::Armed && object.flags().contains(ObjectFlags::ONE_SHOT);
        if disarms && keep_armed {
            return Err(DeviceError::WouldDisarm { id });
        }
        let mut disarmed = false;
        let content = if compute {
            let register = program_register(id.key_id);
            let program =
                inner.store.get(space.key(register)).map_err(|_| DeviceError::NoProgram { id, program: register })?;
            let terms = Terms { limit: result_limit, reach: reach.as_ref() };
            let result = run::run(space, &program, id, None, terms)?;
            disarmed = disarms && disarm(inner, &object)?;
            Content::Computed(Cursor::new(result))
        } else {
            Content::Stored(inner.store.read(Arc::clone(&object)))
        };
        let source = Self { stat: ObjectStat::from(&*object), content, disarmed };
        count(&inner.metrics.reads, 1);
        count(&inner.metrics.computed_reads, u64::from(source.computed()));
        count(&inner.metrics.bytes_read, source.size());
        Ok(source)
    }

    /// The stored object behind it.
    #[must_use]
    pub fn stat(&self) -> ObjectStat {
        self.stat.clone()
    }

    /// Number of bytes it gives in all.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.content {
            Content::Stored(reader) => reader.object().size(),
            Content::Computed(bytes) => bytes.get_ref().len() as u64,
        }
    }

    /// Whether it gives the result of a program.
    #[must_use]
    pub fn computed(&self) -> bool {
        matches!(self.content, Content::Computed(_))
    }

    /// Whether this read disarmed the object, which was armed for one read.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let armed = ObjectFlags::ARMED.with(ObjectFlags::ONE_SHOT);
    /// space.write_bytes(x, &one, WriteOptions { flags: armed, ..WriteOptions::default() })?;
    /// space.write_bytes(y, &two, WriteOptions::default())?;
    /// space.write_bytes(program_register(x.key_id), &sum.encode(), WriteOptions::default())?;
    /// assert!(space.read(x, ReadMode::Armed)?.disarmed());
    /// assert!(!space.read(x, ReadMode::Armed)?.disarmed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn disarmed(&self) -> bool {
        self.disarmed
    }

    /// Continues at byte `position`; from the size on, there is nothing to read.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// let mut source = space.read(x, ReadMode::Stored)?;
    /// source.seek_to(source.size() - 4);
    /// let mut tail = Vec::new();
    /// source.read_to_end(&mut tail)?;
    /// assert_eq!(tail, one[one.len() - 4..]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seek_to(&mut self, position: u64) {
        match &mut self.content {
            Content::Stored(reader) => reader.seek_to(position),
            Content::Computed(bytes) => bytes.set_position(position),
        }
    }

    /// All bytes.
    ///
    /// # Errors
    /// [`StoreError::DamagedObject`], [`StoreError::Storage`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// space.write_bytes(x, &one, WriteOptions::default())?;
    /// assert_eq!(space.read(x, ReadMode::Stored)?.into_bytes()?, one);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_bytes(self) -> Result<Vec<u8>, StoreError> {
        match self.content {
            Content::Stored(mut reader) => {
                reader.seek_to(0);
                reader.pull_all()
            }
            Content::Computed(bytes) => Ok(bytes.into_inner()),
        }
    }
}

/// Clears the armed flag of this version; whether it still stood there. A version written meanwhile keeps its own.
fn disarm(inner: &Inner, object: &StoredObject) -> Result<bool, StoreError> {
    match inner.store.set_flags_of(object, object.flags().without(ObjectFlags::ARMED)) {
        Err(StoreError::NotFound { .. }) => Ok(false),
        outcome => outcome.map(|()| true),
    }
}

impl Read for ObjectSource {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match &mut self.content {
            Content::Stored(reader) => reader.read(out),
            Content::Computed(bytes) => bytes.read(out),
        }
    }
}
