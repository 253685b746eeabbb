//! The registers of a run: loading and keeping their content.

use super::{Run, value::Value};
use crate::{
    error::RunError,
    handler::Residency,
    memory::{MemoryError, Register},
    metrics::count,
    store::{StoreError, StoredObject},
};
use ciphermill_program::VrId;
use std::sync::Arc;

impl Run<'_> {
    pub(super) fn new_value(&self, bytes: &[u8]) -> Result<Value, RunError> {
        Ok(Value::Paged(Arc::new(self.new_register(bytes)?)))
    }

    fn new_register(&self, bytes: &[u8]) -> Result<Register, RunError> {
        self.inner.memory.check_working_set([bytes.len() as u64])?;
        Ok(self.with_room(|| self.inner.memory.store_for(self.space.id.0, bytes))?)
    }

    /// Does `work`; when the swap area, the addresses or the space's part of them are used up, releases the unused registers of
    /// stored objects (their content is in the store as well), and tries once more.
    pub(super) fn with_room<T>(&self, mut work: impl FnMut() -> Result<T, MemoryError>) -> Result<T, MemoryError> {
        match work() {
            Err(MemoryError::SwapFull { .. } | MemoryError::AddressSpaceExhausted { .. }) => {
                self.inner.registers.release_unused();
                work()
            }
            Err(MemoryError::SpaceFull { .. }) => {
                self.inner.registers.release_unused_of(self.space.id);
                work()
            }
            outcome => outcome,
        }
    }

    /// The content of a register: the run's own, or that of the version it sees.
    pub(super) fn load(&mut self, id: VrId) -> Result<Value, RunError> {
        if let Some(value) = self.registers.get(&id) {
            return Ok(value.clone());
        }
        let object = Arc::clone(self.view.get(&id).ok_or(RunError::NoOperand { register: id })?);
        let residency = self.inner.registry.get(id.type_code).map(|known| known.descriptor.residency);
        if residency == Some(Residency::Paged) {
            // Not kept by the run: held here, operands that are done with could not make room for others.
            return Ok(Value::Paged(self.paged(&object)?));
        }
        Ok(Value::Resident(object))
    }

    /// Replaces `out` by the content.
    pub(super) fn read_into(&self, value: &Value, out: &mut Vec<u8>) -> Result<(), RunError> {
        match value {
            Value::Paged(register) => self.with_room(|| register.read_into(out))?,
            Value::Resident(object) => {
                out.clear();
                out.extend_from_slice(&self.resident(object)?);
            }
        }
        Ok(())
    }

    fn paged(&self, object: &Arc<StoredObject>) -> Result<Arc<Register>, RunError> {
        let (key, generation) = (object.key(), object.generation());
        if let Some(register) = self.inner.registers.get(key, generation) {
            count(&self.inner.metrics.register_hits, 1);
            return Ok(register);
        }
        count(&self.inner.metrics.register_misses, 1);
        let bytes = self.inner.store.read(Arc::clone(object)).pull_all()?;
        let register = Arc::new(self.new_register(&bytes)?);
        if self.inner.store.is_current(object) {
            self.inner.registers.insert(key, generation, Arc::clone(&register));
        }
        Ok(register)
    }

    /// The bytes of an object outside of paging.
    pub(super) fn resident(&self, object: &Arc<StoredObject>) -> Result<Arc<[u8]>, StoreError> {
        let (key, generation) = (object.key(), object.generation());
        if let Some(bytes) = self.inner.test_vectors.get(&key, generation) {
            count(&self.inner.metrics.register_hits, 1);
            return Ok(bytes);
        }
        count(&self.inner.metrics.register_misses, 1);
        let bytes = self.inner.store.read(Arc::clone(object)).pull_shared()?;
        if self.inner.store.is_current(object) {
            self.inner.test_vectors.insert(key, generation, Arc::clone(&bytes));
        }
        Ok(bytes)
    }
}
