//! Arithmetic kernels of Ciphermill: modular arithmetic and transforms of negacyclic polynomials.
//!
//! Every algorithm has one plain definition in a `reference` module. The fast paths ([`isa::Isa`]) are chosen at run
//! time and are checked against it.
//!
//! The **kernel seam** consists of the object-safe traits [`NttEngine`](ntt::NttEngine) and
//! [`FftEngine`](fft::FftEngine): an accelerator implements them, a scheme calls them. A scheme obtains its exact
//! transforms from an [`NttProvider`](ntt::NttProvider), by default the CPU's. [`conformance`] has the tests that every
//! engine must pass. A forward transform reads its
//! input from a [`CoefficientSource`], so that a scheme can decompose or rotate while the transform loads; a spectrum is
//! opaque, its order is private to the strategy that made it, and it is never serialised.
//!
//! Kernels on slices do the rest of a scheme's work: [`pointwise`] arithmetic, [`automorphism`]s, and the [`products`] of
//! matrices of spectra with vectors of ciphertexts.

pub mod automorphism;
mod combination;
pub mod conformance;
mod engine;
pub mod fft;
pub mod goldilocks;
pub mod isa;
mod low_weight;
pub mod memory;
pub mod modulus;
pub mod ntt;
pub mod pointwise;
pub mod products;
mod source;

pub use combination::subtract_combinations;
pub use engine::{EngineInfo, EngineKind};
pub use isa::Isa;
pub use low_weight::{LowWeightError, LowWeightModulus};
pub use modulus::Modulus;
pub use pointwise::PointwiseKernels;
pub use source::{BalancedDigit, CoefficientSource, SourceView};
