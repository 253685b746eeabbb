//! Cycle models of Ciphermill's accelerators.

pub mod array;
pub mod record;
pub mod trace;
