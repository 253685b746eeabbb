//! BFV over residue number systems, and conversion between RLWE and LWE ciphertexts.
//!
//! - [`parameters`]: sets of numbers, judged once against the homomorphic-encryption standard.
//! - [`context`]: the tables of a parameter set; every operation is a method of [`Context`].
//! - [`keys`], [`encryption`], [`evaluation`], [`keyswitch`], [`encoding`]: the scheme.
//! - [`lwe`]: extraction, key switching between LWE keys, packing of LWE ciphertexts.
//! - [`serial`]: the byte formats.
//! - [`noise`]: the noise model behind the planner.
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
mod gadget;
pub mod keys;
pub mod keyswitch;
pub mod lwe;
pub mod noise;
pub mod parameters;
mod secret_key;
pub mod serial;
mod tables;

pub use ciphertext::{Ciphertext, Plaintext, SeededCiphertext};
pub use context::Context;
pub use error::BfvError;
pub use keys::{GaloisKeys, PublicKey, RelinearizationKey, SecretKey};
pub use keyswitch::{Gadget, KeySwitchKey};
pub use parameters::{ParameterId, ParameterSet, ParameterSpec, SecurityLevel, SecurityPolicy};
