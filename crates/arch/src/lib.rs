//! Cycle models of Ciphermill's accelerators.

pub mod array;
mod description;
pub mod pipeline;
pub mod record;
pub mod report;
pub mod scalar;
pub mod trace;
