//! RVFHE: a RISC-V extension for number-theoretic transforms on encrypted data, and the compiler that makes programs of it for an
//! array of cores.

pub mod compiler;
pub mod isa;
