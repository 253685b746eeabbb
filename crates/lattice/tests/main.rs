//! The integration tests of the lattice arithmetic, in one program.

mod decomposition;
mod keystream;
mod rns;
mod rns_convert;
mod rns_engines;
mod rns_pack;
mod rns_support;
mod rotation;
mod statistics;
