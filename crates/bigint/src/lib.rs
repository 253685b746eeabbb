//! Montgomery arithmetic and exponentiation on integers of 256 to 8192 bits, for Paillier and its accelerators.
//!
//! An [`OddModulus`] holds the constants of one modulus; [`Residues`] are a vector of numbers modulo it, in Montgomery form
//! and in an order private to the [`Path`] that made them, never serialised. [`IntegerBatch`] is the plain form.
//!
//! Two rings share every algorithm here (exponentiation, fixed-base tables, multi-exponentiation, simultaneous inversion):
//!
//! - **Z/N**: [`OddModulus::new`].
//! - **Z/n² through n**: [`OddModulus::square_of`]. A number is a pair x = x₀ + x₁·n with x₀, x₁ reduced modulo n. With
//!   R = 2^w > n, a Montgomery reduction of x₀·y₀ modulo n computes q and z₀ with x₀·y₀ + q·n = R·z₀, hence
//!   x·y ≡ R·z₀ + (x₀·y₁ + x₁·y₀ − q)·n (mod n²), and z₁ is the Montgomery reduction of the bracket modulo n. With h
//!   digits per n, a product takes 5 products and reductions of h × h digits instead of the 8 of a plain product of
//!   2h × 2h digits, a squaring 3.5 instead of 6. Multiplication by 1 + m·n, which is all that a plaintext is to Paillier
//!   with g = n + 1, takes 2; and x₁ is the "L function" (x − 1)/n of every x that is 1 modulo n.
//!
//! The kernels (trait `Kernel`, private) work on groups of as many residues as the path has lanes. The plain definitions
//! that all paths are tested against, and the paper's word-serial algorithm with 256-bit digits, are in [`reference`](mod@reference).
//!
//! **Secrecy.** Every operation takes the same time and touches the same memory for all values of operands and
//! exponents of the same declared widths, except the operations with `public` in their names. Integers are wiped when
//! they are dropped.
//!
//! Some examples share a hidden start: the prime `n` = 2^256 − 189, its `ring`, and residues `x` = (3, 5) and `y` = (7, 11).
//! `batch` makes an [`IntegerBatch`] of words, and `low` returns the lowest word of every residue.

mod batch;
#[cfg(feature = "conformance")]
pub mod conformance;
mod constants;
mod engine;
mod error;
mod exponent;
mod fixed_base;
#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(target_arch = "x86_64")]
mod ifma_single;
mod inversion;
mod kernel;
pub mod limbs;
mod modulus;
mod multi_exponent;
mod one_lane;
mod path;
pub mod reference;
mod residues;
mod scalar;
#[cfg(test)]
mod side_by_side;
mod work;

pub use batch::IntegerBatch;
pub use engine::{
    BaseHandle, Coprocessor, CoprocessorEngine, CpuEngine, EngineError, EngineModulus, Job, ModExpEngine, Operation,
    Output, PreparedBase, PreparedModulus, SecretJob, SecretPolicy, TrustError, TrustedEngine, TrustedModulus,
};
pub use error::BigIntError;
pub use exponent::Exponents;
pub use fixed_base::FixedBase;
pub use modulus::OddModulus;
pub use multi_exponent::WeightMatrix;
pub use path::Path;
pub use residues::Residues;

/// Bits of the smallest modulus (of n, for [`OddModulus::square_of`]).
pub const MIN_MODULUS_BITS: u32 = 256;
/// Bits of the greatest modulus; n of [`OddModulus::square_of`] has half as many at most.
pub const MAX_MODULUS_BITS: u32 = 8192;
/// Bits of the widest exponents: four times those of the greatest modulus.
pub const MAX_EXPONENT_BITS: u32 = 4 * MAX_MODULUS_BITS;
/// A value that enters a ring may be this many times as wide as its modulus (as n, for [`OddModulus::square_of`]).
pub const MAX_ENTRY_RATIO: usize = 5;
