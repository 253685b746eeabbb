//! Arithmetic kernels of Ciphermill: modular arithmetic and transforms of negacyclic polynomials.
//!
//! Every algorithm has one plain definition in a `reference` module. The fast paths ([`isa::Isa`]) are chosen at run
//! time and are checked against it.
//!
//! The **kernel seam** consists of the object-safe traits [`NttEngine`](ntt::NttEngine) and
//! [`FftEngine`](fft::FftEngine). An accelerator implements them, and a scheme calls them. A scheme obtains its exact
//! transforms from an [`NttProvider`](ntt::NttProvider), by default from the CPU's. [`conformance`] has the tests that
//! every engine must pass.
//!
//! A forward transform reads its input from a [`CoefficientSource`], so a scheme can decompose or rotate while the
//! transform loads. A spectrum is opaque. Its order is private to the strategy that made it, and it is never
//! serialised.
//!
//! Further kernels work on slices: [`pointwise`] arithmetic, [`automorphism`]s, and the [`products`] of matrices of
//! spectra with vectors of ciphertexts.
//!
//! # Example
//! ```
//! use ciphermill_math::Isa;
//! use ciphermill_math::ntt::prime_engine;
//!
//! // X^255 · X = −1 modulo X^256 + 1 and 7681.
//! let engine = prime_engine(256, 7681, Isa::current())?;
//! let (mut a, mut b) = (vec![0; 256], vec![0; 256]);
//! (a[255], b[1]) = (1, 1);
//! engine.forward_in_place(&mut a);
//! engine.forward_in_place(&mut b);
//! engine.multiply(&mut a, &b);
//! engine.inverse_in_place(&mut a);
//! assert_eq!(a[0], 7680);
//! # Ok::<(), ciphermill_math::ntt::NttError>(())
//! ```

pub mod automorphism;
mod combination;
pub mod conformance;
mod engine;
pub mod fft;
pub mod fork;
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
pub use engine::{CostLog, EngineCost, EngineInfo, EngineKind};
pub use isa::Isa;
pub use low_weight::{LowWeightError, LowWeightModulus};
pub use modulus::Modulus;
pub use pointwise::PointwiseKernels;
pub use source::{BalancedDigit, CoefficientSource, SourceView};
