//! Loaded keys and prepared operands: made when first needed, kept while their objects stay and no other object needs the
//! memory.

use super::{
    budget::{Budget, Found, KeyName, Name, Reservation, Use},
    cache::{Cache, locked},
    config::KeyMemory,
};
use crate::{
    cost::{BySize, Expected},
    error::{KeyMemoryError, RunError},
    handler::{HandlerError, KeyPart, KeyShape, ObjectHandler},
    metrics::KeyMemoryUsage,
    store::{SpaceId, Store, StoredObject},
};
use ciphermill_program::{KeyId, TypeCode, VrId};
use std::{
    collections::BTreeMap,
    io::{self, Read},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// The most shapes of a space that are remembered.
const MAX_SHAPES: u64 = 1024;
/// The expected time to load a byte of a stored key, or to prepare a byte of an operand, before one of its type was timed.
const INITIAL_NS_PER_BYTE: f64 = 5.0;
/// Bytes that take as long as the part of loading or preparing that does not grow, roughly.
const FIXED_BYTES: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct Keys {
    /// By key, with the generation of its first part. Each space has its own, so that no other displaces what was learnt.
    shapes: Mutex<BTreeMap<SpaceId, Arc<Shapes>>>,
    budget: Budget,
    load_times: Times,
    prepare_times: Times,
}

/// What loading keys or preparing operands took, by space and type of the keys. No space learns from another or misleads it.
#[derive(Debug, Default)]
struct Times(Mutex<BTreeMap<(SpaceId, TypeCode), BySize>>);

impl Times {
    fn of<T>(&self, name: KeyName, ask: impl FnOnce(&BySize) -> T) -> T {
        ask(locked(&self.0)
            .entry((name.0, name.1))
            .or_insert_with(|| BySize::in_proportion(INITIAL_NS_PER_BYTE, FIXED_BYTES)))
    }

    fn observe(&self, name: KeyName, bytes: u64, took: Duration) {
        self.of(name, |times| times.observe(bytes, took));
    }

    fn expect(&self, name: KeyName, bytes: u64) -> Expected {
        self.of(name, |times| times.judge(Some(bytes)))
    }
}

/// What loading a key needs to know of the run that asks for it.
pub(super) struct Asker<'a> {
    pub(super) store: &'a Store,
    pub(super) handler: &'a dyn ObjectHandler,
    /// The end of the time that the run may take.
    pub(super) end: Instant,
    /// Whether the run holds keys already.
    pub(super) holds: bool,
}

/// The versions of stored objects.
pub(super) fn generations(parts: &[Arc<StoredObject>]) -> Vec<u64> {
    parts.iter().map(|part| part.generation()).collect()
}

type Shapes = Cache<(TypeCode, KeyId), Arc<dyn KeyShape>>;

impl Keys {
    pub(super) fn new(limits: KeyMemory) -> Self {
        Self {
            shapes: Mutex::default(),
            budget: Budget::new(limits),
            load_times: Times::default(),
            prepare_times: Times::default(),
        }
    }

    pub(super) fn usage(&self) -> KeyMemoryUsage {
        self.budget.usage()
    }

    /// The shape in the head of the key's first part, if any part is stored.
    pub(super) fn shape(
        &self,
        store: &Store,
        handler: &dyn ObjectHandler,
        name: KeyName,
        parts: &[Arc<StoredObject>],
    ) -> Result<Option<Arc<dyn KeyShape>>, HandlerError> {
        let Some(first) = parts.first() else { return Ok(None) };
        let (shapes, key) = (self.shapes_of(name.0), (name.1, name.2));
        if let Some(shape) = shapes.get(&key, first.generation()) {
            return Ok(Some(shape));
        }
        let mut head = store.read(Arc::clone(first));
        let shape = handler.describe_key(first.key().id, first.size(), &mut head)?;
        Ok(Some(shapes.insert_or_get(key, first.generation(), shape)))
    }

    fn shapes_of(&self, space: SpaceId) -> Arc<Shapes> {
        let new = || Arc::new(Cache::new(MAX_SHAPES, |_| 1));
        Arc::clone(locked(&self.shapes).entry(space).or_insert_with(new))
    }

    /// How long it is expected to take until the key is in the form for computing.
    pub(super) fn expected_load(&self, name: KeyName, parts: &[Arc<StoredObject>]) -> Expected {
        match self.budget.holds(Name::Key(name), &generations(parts)) {
            true => Expected::Timed(Duration::ZERO),
            false => self.load_times.expect(name, stored_bytes(parts)),
        }
    }

    /// How long it is expected to take until an operand of `bytes` bytes is prepared under the key. `stored`: the object that
    /// holds it, if one does.
    pub(super) fn expected_preparation(
        &self,
        (name, parts): (KeyName, &[Arc<StoredObject>]),
        stored: Option<&StoredObject>,
        bytes: u64,
    ) -> Expected {
        let held = |operand: &StoredObject| {
            self.budget.holds(Name::Prepared(name, operand.key().id), &versions(parts, operand))
        };
        match stored.is_some_and(held) {
            true => Expected::Timed(Duration::ZERO),
            false => self.prepare_times.expect(name, bytes),
        }
    }

    /// The key in the form for computing, made from `parts` (ascending) unless that is already done.
    pub(super) fn key(
        &self,
        asker: &Asker<'_>,
        name: KeyName,
        parts: &[Arc<StoredObject>],
        shape: Option<&dyn KeyShape>,
    ) -> Result<Use, RunError> {
        let no_memory = |source| RunError::KeyMemory { key: name.2, source };
        // Another program that loads the key may take as long as this one.
        let found = self.budget.find(Name::Key(name), &generations(parts), asker.holds, asker.end);
        let making = match found.map_err(no_memory)? {
            Found::Ready(key) => return Ok(key),
            Found::Missing(making) => making,
        };
        let needed = shape.map_or(0, |shape| asker.handler.key_bytes(shape));
        let reservation = making.reserve(needed, self.deadline(asker)).map_err(no_memory)?;
        let readers = parts.iter().map(|part| KeyPart {
            id: part.key().id,
            size: part.size(),
            content: Box::new(Until { inner: asker.store.read(Arc::clone(part)), end: asker.end }),
        });
        let begun = Instant::now();
        let key = asker.handler.open_key(name.2, readers.collect()).map_err(|source| match source.store_error() {
            Some(store) => RunError::Store(store.clone()),
            None if is_late(&source) => RunError::LoadTimedOut { key: name.2, took: begun.elapsed() },
            None => RunError::Key { key: name.2, source },
        })?;
        self.load_times.observe(name, stored_bytes(parts), begun.elapsed());
        let key = making.keep(key, reservation).map_err(no_memory)?;
        if parts.iter().any(|part| !asker.store.is_current(part)) {
            // Replaced since the run began: it must not stay in memory after it.
            self.budget.forget_key(name);
        }
        Ok(key)
    }

    /// The operand that the handler prepares from the content of `operand` under `key`; an existing one is reused.
    pub(super) fn prepared(
        &self,
        asker: &Asker<'_>,
        (name, key, parts): (KeyName, &Use, &[Arc<StoredObject>]),
        operand: &Arc<StoredObject>,
        content: impl FnOnce() -> Result<Arc<[u8]>, RunError>,
    ) -> Result<Use, Refused> {
        let no_memory = |source| RunError::KeyMemory { key: name.2, source };
        let id = operand.key().id;
        // The run holds the key, so it does not wait for others in need.
        let found = self.budget.find(Name::Prepared(name, id), &versions(parts, operand), true, asker.end);
        let making = match found.map_err(no_memory)? {
            Found::Ready(prepared) => return Ok(prepared),
            Found::Missing(making) => making,
        };
        let deadline = self.deadline(asker);
        // The content itself, which is in memory until all is prepared.
        let _content_bytes = making.reserve_beside(key.bytes(), operand.size(), deadline).map_err(no_memory)?;
        let reading = Instant::now();
        let content = content()?;
        let read = reading.elapsed();
        let needed = asker.handler.prepare_bytes(id, &content, key.value())?;
        let held = key.bytes().saturating_add(operand.size());
        let reservation = making.reserve_beside(held, needed, deadline).map_err(no_memory)?;
        // Waiting for memory says nothing about the operand.
        let begun = Instant::now();
        let prepared = asker.handler.prepare(id, &content, key.value())?;
        self.prepare_times.observe(name, operand.size(), read + begun.elapsed());
        let prepared = making.keep(prepared, reservation).map_err(no_memory)?;
        if !asker.store.is_current(operand) || parts.iter().any(|part| !asker.store.is_current(part)) {
            self.budget.forget_prepared(name.0, id);
        }
        Ok(prepared)
    }

    /// The same for an operand that no register of the space holds. It is not kept.
    pub(super) fn prepared_once(
        &self,
        asker: &Asker<'_>,
        (name, key): (KeyName, &Use),
        id: VrId,
        content: &[u8],
    ) -> Result<Use, Refused> {
        let no_memory = |source| RunError::KeyMemory { key: name.2, source };
        let needed = asker.handler.prepare_bytes(id, content, key.value())?;
        let reservation = self.budget.reserve(name.0, needed, self.deadline(asker)).map_err(no_memory)?;
        let begun = Instant::now();
        let prepared = asker.handler.prepare(id, content, key.value())?;
        self.prepare_times.observe(name, content.len() as u64, begun.elapsed());
        Ok(reservation.hold(prepared).map_err(no_memory)?)
    }

    /// Memory for other work of a space.
    pub(super) fn set_aside(&self, space: SpaceId, bytes: u64) -> Result<Reservation, KeyMemoryError> {
        let now = Instant::now();
        self.budget.reserve(space, bytes, now.checked_add(self.budget.patience()).unwrap_or(now))
    }

    /// Memory for the state of a run that holds `held` bytes of keys. The run may wait for it, but not beyond its own end.
    pub(super) fn set_aside_for(
        &self,
        (space, key): (SpaceId, KeyId),
        held: u64,
        bytes: u64,
        end: Instant,
    ) -> Result<Reservation, RunError> {
        let reserved = self.budget.reserve_beside(held, space, bytes, self.until(end));
        reserved.map_err(|source| RunError::KeyMemory { key, source })
    }

    /// The moment until which a run may wait for memory.
    fn deadline(&self, asker: &Asker<'_>) -> Instant {
        self.until(asker.end)
    }

    /// The end of the patience from now on, but not beyond `end`.
    fn until(&self, end: Instant) -> Instant {
        let now = Instant::now();
        now.checked_add(self.budget.patience()).map_or(end, |patience| patience.min(end))
    }

    /// Drops the shape, the key and its prepared operands, because one of the key's objects changed.
    pub(super) fn forget_key(&self, name: KeyName) {
        self.shapes_of(name.0).remove(&(name.1, name.2));
        self.budget.forget_key(name);
    }

    /// Drops the operands prepared from an object, because it changed.
    pub(super) fn forget_prepared(&self, space: SpaceId, id: VrId) {
        self.budget.forget_prepared(space, id);
    }
}

/// Why nothing was prepared: for the run, or, without its place in the program, for the instruction.
pub(super) enum Refused {
    Run(RunError),
    Instruction(HandlerError),
}

impl From<RunError> for Refused {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<HandlerError> for Refused {
    fn from(error: HandlerError) -> Self {
        Self::Instruction(error)
    }
}

/// The versions of a key and of an operand prepared under it.
fn versions(parts: &[Arc<StoredObject>], operand: &StoredObject) -> Vec<u64> {
    let mut versions = generations(parts);
    versions.push(operand.generation());
    versions
}

/// Bytes of the parts of a key as they are stored.
fn stored_bytes(parts: &[Arc<StoredObject>]) -> u64 {
    parts.iter().map(|part| part.size()).sum()
}

/// A reader that fails from `end` on, so that reading does not outlast its program.
pub(super) struct Until<R> {
    pub(super) inner: R,
    pub(super) end: Instant,
}

/// The error of a reader whose time is up.
#[derive(Debug, thiserror::Error)]
#[error("the time of the program is up")]
struct Late;

impl<R: Read> Read for Until<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if Instant::now() >= self.end {
            return Err(io::Error::new(io::ErrorKind::TimedOut, Late));
        }
        self.inner.read(buf)
    }
}

/// Whether a reader failed because the time of the program was up.
pub(super) fn is_late(error: &HandlerError) -> bool {
    matches!(error, HandlerError::Read { source, .. } if source.get_ref().is_some_and(|inner| inner.is::<Late>()))
}
