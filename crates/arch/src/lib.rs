//! Cycle models of Ciphermill's accelerators.

pub mod array;
pub mod pipeline;
pub mod record;
pub mod scalar;
pub mod trace;
