//! BFV over residue number systems, and conversion between RLWE and LWE ciphertexts.
//!
//! - [`parameters`]: sets of numbers, judged once by the lattice-estimator's figures.
//! - [`context`]: the tables of a parameter set; every operation is a method of [`Context`].
//! - [`keys`], [`encryption`], [`evaluation`], [`keyswitch`], [`encoding`]: the scheme.
//! - [`lwe`]: extraction, key switching between LWE keys, packing of LWE ciphertexts.
//! - [`sums`]: sums of vectors of several parties.
//! - [`serial`]: the byte formats.
//! - [`noise`]: the noise model behind the planner.
//!
//! # Example
//! ```
//! use ciphermill_bfv::{Context, ParameterSet, RelinearizationKey, SecretKey, SecurityPolicy};
//! use ciphermill_lattice::{Csprng, SecretSeed};
//! use ciphermill_math::Isa;
//!
//! let set = ParameterSet::named("BFV_4096_128", SecurityPolicy::Require128Bits)?;
//! let context = Context::new(&set, Isa::current())?;
//! let secret = SecretKey::generate(&context, &SecretSeed::from_os()?);
//! let key = RelinearizationKey::generate(&secret)?;
//! let mut rng = Csprng::from_os()?;
//!
//! let x = secret.encrypt(&context.encode(&[6])?, context.top(), &mut rng)?;
//! let y = secret.encrypt(&context.encode(&[-7])?, context.top(), &mut rng)?;
//! let product = context.relinearize(&context.multiply(&x, &y)?, &key)?;
//! assert_eq!(context.decode(&secret.decrypt(&product)?)[0], -42);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All other examples share a hidden start: the small set `TEST_32` with its `context`, `secret` and `rng` as above, `top`
//! for `context.top()`, `gadget` for the set's gadget, and `policy` for the opt-in to insecure parameters.
//!
//! J. Fan and F. Vercauteren, "Somewhat practical fully homomorphic encryption", IACR ePrint 2012/144; Z. Brakerski,
//! CRYPTO 2012.

mod bases;
pub mod ciphertext;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod context;
pub mod encoding;
pub mod encryption;
pub mod error;
pub mod evaluation;
pub mod explain;
mod gadget;
pub mod keys;
pub mod keyswitch;
pub mod lwe;
pub mod noise;
pub mod parameters;
mod secret_key;
pub mod serial;
pub mod sums;
mod tables;

pub use ciphertext::{Ciphertext, Plaintext, SeededCiphertext};
pub use context::Context;
pub use error::BfvError;
pub use keys::{GaloisKeys, PublicKey, RelinearizationKey, SecretKey};
pub use keyswitch::{Gadget, KeySwitchKey};
pub use parameters::{ParameterId, ParameterSet, ParameterSpec, SecurityLevel, SecurityPolicy};
