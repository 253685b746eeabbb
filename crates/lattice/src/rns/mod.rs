//! Polynomials of Z_Q\[X\]/(X^N + 1) for a product Q of distinct primes, as residues modulo each prime.
//!
//! [`RnsBasis`] is an ordered list of primes with their transforms and kernels; it does all arithmetic. [`RnsPoly`] is
//! the words of one polynomial, limb after limb (limb i is the N residues modulo prime i). Its type states its
//! [`Form`]: [`Coefficients`], the stored and sent form, or [`Spectrum`], whose order is private to the transforms and
//! which never leaves the process.
//!
//! [`BaseConverter`] takes residues from one basis to another; [`ModDown`] divides by some of the primes and rounds;
//! [`ScaleAndRound`] computes ⌊t·x/Q⌉ modulo t, [`ScaleToBasis`] modulo the primes of another basis.
//! [`RnsBasis::pack`] and [`RnsBasis::unpack`] are how polynomials are stored.

mod arithmetic;
mod basis;
mod convert;
mod crt;
mod kernels;
mod pack;
mod poly;
mod scale;

pub use basis::{Limb, RnsBasis, RnsBasisError};
pub use convert::BaseConverter;
pub use pack::UnpackError;
pub use poly::{Coefficients, Form, RnsPoly, Spectrum};
pub use scale::{ModDown, ScaleAndRound, ScaleToBasis};
