//! Shared parts of the integration tests.

#![allow(dead_code, unreachable_pub)]

pub mod hostile;

use ciphermill_lattice::SecretSeed;
use ciphermill_tfhe::{Backend, ClientKey, KeyForm, KeySeeds, ParameterSet, SecurityPolicy, ServerKey};

pub const INSECURE: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

/// A seed made of one repeated byte.
pub fn seed(byte: u8) -> SecretSeed {
    SecretSeed::from_bytes([byte; 32])
}

/// Fixed seeds of a server key.
pub fn server_seeds(byte: u8) -> KeySeeds {
    KeySeeds::from_bytes([byte; 32], [!byte; 32])
}

/// A fresh seed, printed so that a failure can be repeated.
pub fn fresh_seed() -> SecretSeed {
    let mut bytes = [0; 32];
    let word = ciphermill_lattice::PublicSeed::from_os().expect("randomness of the system").0;
    bytes[..8].copy_from_slice(&word[..8]);
    println!("fresh seed: {bytes:?}");
    SecretSeed::from_bytes(bytes)
}

/// The keys of a named set from a fixed seed, with the server key in sealed form.
pub struct Keys {
    pub client: ClientKey,
    pub bootstrap: Vec<u8>,
    pub keyswitch: Vec<u8>,
}

pub fn keys(name: &str, form: KeyForm, byte: u8) -> Keys {
    let parameters = ParameterSet::named(name, INSECURE).expect("a named set");
    let client = ClientKey::generate(&parameters, &seed(byte));
    let bootstrap = client
        .write_bootstrap_key(form, server_seeds(byte.wrapping_add(1)), Vec::new(), &mut |_, _| ())
        .expect("writing to memory");
    let keyswitch = client.write_keyswitch_key(form, server_seeds(byte.wrapping_add(2)), Vec::new()).expect("as above");
    Keys { client, bootstrap, keyswitch }
}

impl Keys {
    pub fn load(&self, backend: Backend) -> ServerKey {
        ServerKey::load(&self.bootstrap[..], &self.keyswitch[..], backend, INSECURE, &mut |_, _| ())
            .expect("well-formed keys")
    }
}
