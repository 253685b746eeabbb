//! Cycle models of Ciphermill's accelerators.

pub mod pipeline;
pub mod record;
pub mod trace;
