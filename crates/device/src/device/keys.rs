//! Keys in the form for computing, made when first needed and kept while their objects stay.

use crate::{
    error::RunError,
    handler::{HandlerError, KeyContext, KeyPart, KeyShape, ObjectHandler},
    store::{SpaceId, Store, StoredObject},
};
use ciphermill_program::{KeyId, TypeCode};
use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

/// A key of a space: the type code distinguishes keys of different handlers.
pub(super) type KeyName = (SpaceId, TypeCode, KeyId);

/// A value made from the objects with these generations.
struct Made<T: ?Sized> {
    generations: Vec<u64>,
    value: Arc<T>,
}

type Slot = Arc<Mutex<Option<Made<dyn KeyContext>>>>;

#[derive(Default)]
pub(super) struct Keys {
    shapes: Mutex<HashMap<KeyName, Made<dyn KeyShape>>>,
    /// One lock per key, so that two programs do not load the same gigabytes, and other keys do not wait.
    contexts: Mutex<HashMap<KeyName, Slot>>,
}

fn generations(parts: &[Arc<StoredObject>]) -> Vec<u64> {
    parts.iter().map(|part| part.generation()).collect()
}

fn locked<K: Eq + Hash, V, R>(map: &Mutex<HashMap<K, V>>, work: impl FnOnce(&mut HashMap<K, V>) -> R) -> R {
    work(&mut map.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Keys {
    /// The shape in the head of the key's first part, if any part is stored.
    pub(super) fn shape(
        &self,
        store: &Store,
        handler: &dyn ObjectHandler,
        name: KeyName,
        parts: &[Arc<StoredObject>],
    ) -> Result<Option<Arc<dyn KeyShape>>, HandlerError> {
        let Some(first) = parts.first() else { return Ok(None) };
        let generations = vec![first.generation()];
        let held = locked(&self.shapes, |shapes| {
            shapes.get(&name).filter(|made| made.generations == generations).map(|made| Arc::clone(&made.value))
        });
        if held.is_some() {
            return Ok(held);
        }
        let mut head = store.read(Arc::clone(first));
        let value = handler.describe_key(first.key().id, first.size(), &mut head)?;
        let made = Made { generations, value: Arc::clone(&value) };
        locked(&self.shapes, |shapes| shapes.insert(name, made));
        Ok(Some(value))
    }

    /// The key in the form for computing, made from `parts` (ascending) unless that is already done.
    pub(super) fn context(
        &self,
        store: &Store,
        handler: &dyn ObjectHandler,
        name: KeyName,
        parts: &[Arc<StoredObject>],
    ) -> Result<Arc<dyn KeyContext>, RunError> {
        let slot: Slot = locked(&self.contexts, |contexts| Arc::clone(contexts.entry(name).or_default()));
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let generations = generations(parts);
        if let Some(made) = slot.as_ref().filter(|made| made.generations == generations) {
            return Ok(Arc::clone(&made.value));
        }
        // Free the old key before the new one is made: there may not be room for both.
        *slot = None;
        let readers = parts
            .iter()
            .map(|part| KeyPart {
                id: part.key().id,
                size: part.size(),
                content: Box::new(store.read(Arc::clone(part))),
            })
            .collect();
        let value = handler.open_key(name.2, readers).map_err(|source| match source.store_error() {
            Some(store) => RunError::Store(store.clone()),
            None => RunError::Key { key: name.2, source },
        })?;
        *slot = Some(Made { generations, value: Arc::clone(&value) });
        Ok(value)
    }

    /// Drops the shape and the context of a key, because one of its objects changed.
    pub(super) fn forget(&self, name: KeyName) {
        let shape = locked(&self.shapes, |shapes| shapes.remove(&name));
        let context = locked(&self.contexts, |contexts| contexts.remove(&name));
        // A context may hold gigabytes; free it after the locks.
        drop((shape.map(|made| made.value), context));
    }

    /// Number of keys ready for computing.
    pub(super) fn loaded(&self) -> u64 {
        // A slot that is locked is being loaded: not ready.
        locked(&self.contexts, |contexts| {
            contexts.values().filter(|slot| slot.try_lock().is_ok_and(|slot| slot.is_some())).count() as u64
        })
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").field("loaded", &self.loaded()).finish_non_exhaustive()
    }
}
