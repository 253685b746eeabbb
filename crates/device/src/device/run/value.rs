//! The content of a register during a run.

use crate::memory::{MemoryError, Register};
use std::sync::Arc;

/// The content of a register, shared and never changed while shared.
#[derive(Clone)]
pub(super) enum Value {
    Paged(Arc<Register>),
    Resident(Arc<[u8]>),
}

impl Value {
    pub(super) fn read_into(&self, out: &mut Vec<u8>) -> Result<(), MemoryError> {
        match self {
            Self::Paged(register) => register.read_into(out),
            Self::Resident(bytes) => {
                out.clear();
                out.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    pub(super) fn paged_bytes(&self) -> u64 {
        match self {
            Self::Paged(register) => register.size() as u64,
            Self::Resident(_) => 0,
        }
    }
}
