//! The integration tests of the lattice arithmetic, in one program.

mod decomposition;
#[path = "../../math/tests/support/fork.rs"]
#[cfg(target_os = "linux")]
mod fork;
mod keystream;
mod rns;
mod rns_convert;
mod rns_engines;
mod rns_pack;
mod rns_support;
mod rotation;
mod statistics;
