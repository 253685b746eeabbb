//! The integration tests of big integers, in one program.

mod algorithms;
mod arithmetic;
mod engine;
mod gmp;
mod paper;
mod scalar;
mod sizes;
mod support;
