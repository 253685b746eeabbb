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

/// 64 bits from which a test derives its randomness.
#[derive(Clone, Copy, Debug)]
pub struct Seed(pub u64);

impl Seed {
    /// A fresh seed, printed so that a failure can be repeated.
    pub fn fresh() -> Self {
        Self(ciphermill_testing::fresh_seed("tfhe"))
    }

    /// The `index`-th secret seed.
    pub fn secret(self, index: u64) -> SecretSeed {
        SecretSeed::from_bytes(self.bytes(index))
    }

    /// The `index`-th seeds of a server key.
    pub fn server(self, index: u64) -> KeySeeds {
        let bytes = self.bytes(index);
        KeySeeds::from_bytes(bytes, bytes.map(|b| !b))
    }

    fn bytes(self, index: u64) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&index.to_le_bytes());
        bytes
    }
}

/// A fresh seed, printed so that a failure can be repeated.
pub fn fresh_seed() -> SecretSeed {
    Seed::fresh().secret(0)
}

/// The keys of a named set from a fixed seed, with the server key in sealed form.
pub struct Keys {
    pub client: ClientKey,
    pub bootstrap: Vec<u8>,
    pub keyswitch: Vec<u8>,
}

pub fn keys(name: &str, form: KeyForm, byte: u8) -> Keys {
    let parameters = ParameterSet::named(name, INSECURE).expect("a named set");
    let servers = [1, 2].map(|i| server_seeds(byte.wrapping_add(i)));
    Keys::with_seeds(&parameters, form, &seed(byte), servers)
}

impl Keys {
    /// Keys of any set, from the seeds `index` to `index` + 2.
    pub fn generate(parameters: &ParameterSet, form: KeyForm, seed: Seed, index: u64) -> Self {
        Self::with_seeds(parameters, form, &seed.secret(index), [1, 2].map(|i| seed.server(index + i)))
    }

    fn with_seeds(parameters: &ParameterSet, form: KeyForm, client: &SecretSeed, servers: [KeySeeds; 2]) -> Self {
        let client = ClientKey::generate(parameters, client);
        let [bootstrap, keyswitch] = servers;
        let bootstrap = client.write_bootstrap_key(form, bootstrap, Vec::new(), &mut |_, _| ()).expect("in memory");
        let keyswitch = client.write_keyswitch_key(form, keyswitch, Vec::new()).expect("in memory");
        Self { client, bootstrap, keyswitch }
    }

    pub fn load(&self, backend: Backend) -> ServerKey {
        ServerKey::load(&self.bootstrap[..], &self.keyswitch[..], backend, INSECURE, &mut |_, _| ())
            .expect("well-formed keys")
    }
}
