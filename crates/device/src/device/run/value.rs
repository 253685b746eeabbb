//! The content of a register during a run.

use crate::{memory::Register, store::StoredObject};
use std::sync::Arc;

/// The content of a register, shared and never changed while shared.
#[derive(Clone)]
pub(super) enum Value {
    Paged(Arc<Register>),
    /// That of a stored object outside of paging. Its bytes are read where an instruction needs them, so that a run holds
    /// those of one instruction at a time.
    Resident(Arc<StoredObject>),
}

impl Value {
    pub(super) fn paged_bytes(&self) -> u64 {
        match self {
            Self::Paged(register) => register.size() as u64,
            Self::Resident(_) => 0,
        }
    }
}
