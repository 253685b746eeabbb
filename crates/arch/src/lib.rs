//! Cycle models of Ciphermill's accelerators.
