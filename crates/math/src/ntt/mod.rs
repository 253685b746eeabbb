//! Negacyclic number-theoretic transforms: exact products in Z_p\[X\]/(X^N + 1).

mod constant_geometry;
mod engine;
mod error;
mod four_step;
mod goldilocks;
pub(crate) mod prime;
mod provider;
pub mod reference;
mod rns;
#[cfg(target_arch = "x86_64")]
mod transpose;
pub(crate) mod word32;

pub use constant_geometry::ConstantGeometryNtt;
pub use engine::{NttEngine, NttWord};
pub use error::NttError;
pub use four_step::{Convolution, FourStepError, FourStepNtt};
pub use goldilocks::GoldilocksNtt;
pub use prime::PrimeNtt;
pub use provider::{CpuNttProvider, MAX_PRIME_ENGINES, NttProvider, goldilocks_engine, prime_engine, prime_engine_u32};
pub use rns::{RnsError, RnsNtt};
pub use word32::Prime32Ntt;
