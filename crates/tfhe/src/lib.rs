//! TFHE: fully homomorphic encryption with programmable bootstrapping.
//!
//! A [`ClientKey`] encrypts and decrypts and generates the server's keys; a [`ServerKey`] (or any other
//! [`BootstrapEngine`]) bootstraps. Ciphertexts travel as [`Ciphertext`], under the small or the big key
//! ([`EncryptionKeyChoice`]). Messages are placed on the torus by an [`Encoding`]; functions of them are
//! [test vectors](test_vector). [`noise`] predicts variances and failure probabilities; every [`ParameterSet`] carries its
//! estimated security.
//!
//! The lower floor is public too: [`lwe`], [`glwe`], [`ggsw`], [`keyswitch`], [`bootstrap`], with [`reference`] as the
//! plain definition that all of it is checked against.

pub mod bootstrap;
pub mod ciphertext;
pub mod client;
pub mod dimension;
pub mod encoding;
pub mod engine;
pub mod error;
pub mod ggsw;
pub mod glwe;
pub mod keyswitch;
pub mod lwe;
mod memory;
pub mod modulus_switch;
pub mod noise;
pub mod parameters;
mod product;
pub mod quarter_square;
pub mod reference;
pub mod serial;
pub mod server_key;
pub mod test_vector;

pub use ciphertext::{Ciphertext, KeyTag, TestVector};
pub use client::ClientKey;
pub use encoding::{Encoding, EncodingError};
pub use engine::{BootstrapEngine, BootstrapJob, CpuEngine, LoadedServerKey};
pub use error::TfheError;
pub use noise::Backend;
pub use parameters::{EncryptionKeyChoice, ParameterError, ParameterSet, ParameterSpec, SecurityPolicy, TorusWidth};
pub use server_key::{KeyForm, KeyKind, ServerKey};
