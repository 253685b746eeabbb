//! One handler per scheme: the only place in this crate that names one.

pub mod tfhe;
