//! Sizes of registers during verification.

use ciphermill_program::VrId;
use std::collections::HashMap;

/// Sizes in bytes of the registers that a program has written so far, where they are known.
#[derive(Default)]
pub(super) struct Sizes {
    pub(super) registers: HashMap<VrId, Option<u64>>,
    pub(super) stack: Vec<Option<u64>>,
}
