//! TFHE: fully homomorphic encryption with programmable bootstrapping.
//!
//! A [`ClientKey`] encrypts and decrypts and generates the server's keys; a [`ServerKey`] (or any other
//! [`TfheEngine`]) bootstraps. Ciphertexts travel as [`Ciphertext`], under the small or the big key
//! ([`KeyOrder`]). Messages are placed on the torus by an [`Encoding`]; functions of them are
//! [test vectors](test_vector), Boolean ones also [`gates`]. [`noise`] predicts variances and failure probabilities; every [`ParameterSet`] carries its
//! estimated security.
//!
//! ```
//! use ciphermill_lattice::{Csprng, SecretSeed};
//! use ciphermill_tfhe::{
//!     Backend, ClientKey, Encoding, KeyOrder, KeyForm, KeySeeds, ParameterSet, SecurityPolicy, ServerKey,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The client: keys for messages of two bits, and one encrypted message.
//! let parameters = ParameterSet::named("MESSAGE_2_2M64", SecurityPolicy::Require128Bits)?;
//! let client = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
//! let bootstrap = client.write_bootstrap_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new(), &mut |_, _| ())?;
//! let keyswitch = client.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new())?;
//! let encoding = Encoding::unsigned(2, true)?;
//! let mut rng = Csprng::from_os()?;
//! let input = client.encrypt(&encoding, 3, KeyOrder::Big, &mut rng)?;
//!
//! // The server: evaluates m ↦ m² mod 4 without learning m.
//! let policy = SecurityPolicy::Require128Bits;
//! let server = ServerKey::load(&bootstrap[..], &keyswitch[..], Backend::Fft, policy, &mut |_, _| ())?;
//! let square = parameters.test_vector(&encoding, &encoding, |m| m * m % 4)?;
//! let output = server.bootstrap(&input, &square)?;
//!
//! assert_eq!(client.decrypt(&encoding, &output)?, 1);
//! # Ok(())
//! # }
//! ```
//!
//! Most other examples share a hidden start: the test set `parameters`, a `client` with its `encoding` of three bits, the
//! generator `rng`, the ciphertext `three`, and the test vector `square`. Some add both server keys and the `server`.
//!
//! The lower floor is public too: [`lwe`], [`glwe`], [`ggsw`], [`keyswitch`], [`modulus_switch`], [`bootstrap`], with [`mod@reference`] as the
//! plain definition that all of it is checked against.

mod backend;
pub mod bootstrap;
pub mod bounds;
pub mod ciphertext;
pub mod circuit;
pub mod client;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod dimension;
mod elements;
pub mod encoding;
pub mod engine;
pub mod error;
mod evaluation;
pub mod gates;
pub mod ggsw;
mod ggsw_shape;
pub mod glwe;
pub mod judgement;
pub mod keyswitch;
mod linear;
pub mod lwe;
mod memory;
pub mod modulus_switch;
pub mod noise;
mod noise_check;
pub mod noise_sum;
pub mod parameters;
mod product;
pub mod progress;
pub mod quarter_square;
pub mod range;
pub mod reference;
pub mod serial;
pub mod server_key;
pub mod table;
pub mod test_vector;
pub mod word;

pub use backend::Backend;
pub use bounds::{Bounds, TableEncodings};
pub use ciphertext::{Ciphertext, KeyTag, TestVector, TestVectorElements};
pub use client::{ClientKey, KeySeeds};
pub use encoding::{Encoding, EncodingError};
pub use engine::{
    BootstrapJob, CpuEngine, Job, KeyPart, KeyPartError, KeyPartId, LookUpJob, Output, PreparedKey, ProgramJob,
    SelectJob, SelectorFile, Selectors, SplitJob, Step, TfheEngine,
};
pub use error::TfheError;
pub use modulus_switch::ModulusSwitch;
pub use noise_sum::{NoiseName, NoiseSum};
pub use parameters::{KeyOrder, ParameterError, ParameterSet, ParameterSpec, SecurityPolicy, TorusWidth};
pub use range::{MessageRange, RangeError};
pub use server_key::{KeyForm, KeyKind, LoadOptions, ServerKey};
pub use table::Table;
