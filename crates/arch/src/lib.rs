//! Cycle models of Ciphermill's accelerators.

pub mod scalar;
