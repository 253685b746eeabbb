//! A client with its secret key, and the device that serves it.

use ciphermill_device::handlers;
use std::sync::Arc;

use ciphermill_device::handlers::bfv::BfvHandler;
use ciphermill_device::handlers::paillier::PaillierHandler;
use ciphermill_device::handlers::tfhe::TfheHandler;
use ciphermill_device::{Device, DeviceConfig, DeviceError, ObjectHandler, Space, SpaceId, WriteOptions};
use ciphermill_paillier::{CiphertextVector, Csprng, KeyBits, PlaintextVector, PublicWeights, SecretKey, SizePolicy};
use ciphermill_program::{Bindings, Program, VrId, assemble};

/// The holder of the secret key: no part of it reaches the device.
pub(crate) struct Client {
    pub(crate) key: SecretKey,
    rng: Csprng,
}

impl Client {
    pub(crate) fn new(bits: KeyBits) -> Self {
        let mut rng = Csprng::from_os().expect("randomness");
        Self { key: SecretKey::generate(bits, &mut rng).expect("a key"), rng }
    }

    /// With a key of 512 bits, for tests that do not depend on the size.
    pub(crate) fn small() -> Self {
        Self::new(KeyBits::insecure_bench(512).expect("a size"))
    }

    pub(crate) fn public(&self) -> Vec<u8> {
        self.key.public_key().to_bytes()
    }

    /// An encrypted vector, sealed.
    pub(crate) fn encrypt(&mut self, values: &[i64]) -> Vec<u8> {
        let public = self.key.public_key();
        let plain = PlaintextVector::from_i64(public, values);
        let vector = self.key.encrypt(&plain, public.default_blinding(), &mut self.rng).expect("a vector");
        vector.to_bytes().expect("bytes")
    }

    /// The contents of a sealed vector for the holder of the key.
    pub(crate) fn decrypt(&self, bytes: &[u8]) -> Vec<i128> {
        let vector = CiphertextVector::from_bytes(self.key.public_key(), bytes).expect("a vector of this key");
        self.key.decrypt(&vector).expect("plaintexts").to_i128().expect("small ones")
    }
}

/// Random numbers of 56 bits with sign: sums of some of their products fit an `i128`.
pub(crate) fn numbers(count: usize) -> Vec<i64> {
    let mut words = vec![0; count];
    Csprng::from_os().and_then(|mut rng| rng.fill_u64(&mut words)).expect("randomness");
    words.iter().map(|&word| word as i64 >> 8).collect()
}

pub(crate) fn weights(columns: usize, values: &[i128]) -> Vec<u8> {
    PublicWeights::from_rows(columns, values.to_vec()).expect("weights").to_bytes()
}

pub(crate) fn vr(text: &str) -> VrId {
    text.parse().expect("a register")
}

pub(crate) fn program(text: &str) -> Program {
    assemble(handlers::instruction_set(), text, &Bindings::new()).expect("a program").program
}

/// A device that accepts small keys.
pub(crate) fn device(directory: &tempfile::TempDir) -> Device {
    device_with(directory, SizePolicy::InsecureBench)
}

/// All schemes on one device, as the command line opens it.
pub(crate) fn device_with(directory: &tempfile::TempDir, policy: SizePolicy) -> Device {
    let tfhe = ciphermill_tfhe::CpuEngine::new(ciphermill_tfhe::Backend::Ntt);
    let products = ciphermill_hmvp::CpuEngine::default();
    let handlers: Vec<Arc<dyn ObjectHandler>> = vec![
        Arc::new(TfheHandler::new(Arc::new(tfhe), ciphermill_tfhe::SecurityPolicy::Require128Bits)),
        Arc::new(BfvHandler::new(Arc::new(products), ciphermill_bfv::SecurityPolicy::Require128Bits)),
        Arc::new(PaillierHandler::new(Arc::new(ciphermill_bigint::CpuEngine::current()), policy)),
    ];
    Device::open(DeviceConfig::in_directory(directory.path()), handlers).expect("a device")
}

pub(crate) fn space(device: &Device) -> Space {
    device.space(SpaceId::EMBEDDED).expect("the space")
}

pub(crate) fn put(space: &Space, register: &str, bytes: &[u8]) -> Result<(), DeviceError> {
    space.write_bytes(vr(register), bytes, WriteOptions::default()).map(drop)
}

/// The text of a refusal, causes included; empty if there was none.
pub(crate) fn message<T>(result: Result<T, DeviceError>) -> String {
    result.map(|_| String::new()).unwrap_or_else(|error| {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            text.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        text
    })
}
