//! Cycle models of Ciphermill's accelerators.

pub mod record;
pub mod trace;
