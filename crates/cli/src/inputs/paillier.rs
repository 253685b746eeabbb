//! Arguments about Paillier's scheme, and the files they name.

use std::path::{Path, PathBuf};

use ciphermill_paillier::{CiphertextVector, PublicKey, SecretKey, SizePolicy, serial};
use clap::Args;
use num_bigint::BigInt;

use super::numbers::{self, Number};
use crate::error::CliError;
use crate::files;

/// Longest file of a key that is read.
const MAX_KEY_BYTES: u64 = 1 << 16;
/// Longest file of a vector that is read: as many ciphertexts of the longest key as are allowed, and the head.
pub(crate) const MAX_VECTOR_BYTES: u64 = serial::MAX_ELEMENTS * 1024 + 4096;

/// The opt-in to keys that protect nothing.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct SizeArgs {
    /// Accept keys below 2048 bits, which are INSECURE: for measurements and comparisons with papers only
    #[arg(long)]
    insecure_bench: bool,
}

impl SizeArgs {
    pub(crate) fn policy(self) -> SizePolicy {
        if self.insecure_bench { SizePolicy::InsecureBench } else { SizePolicy::Standard }
    }
}

/// Integers in a file or in the argument itself.
#[derive(Args, Clone, Debug)]
#[group(id = "integers", required = true, multiple = false)]
pub(crate) struct IntegersArgs {
    /// Integers: a text, or a .npy array
    #[arg(long, value_name = "FILE", group = "integers")]
    values: Option<PathBuf>,
    /// Integers, separated by commas
    #[arg(long, value_name = "M,…", value_delimiter = ',', allow_hyphen_values = true, group = "integers")]
    value: Vec<BigInt>,
}

impl IntegersArgs {
    pub(crate) fn read(&self) -> Result<Vec<BigInt>, CliError> {
        match &self.values {
            Some(path) => entries(path),
            None => Ok(self.value.clone()),
        }
    }
}

fn entries<T: Number>(path: &Path) -> Result<Vec<T>, CliError> {
    Ok(numbers::read(path)?.entries)
}

/// Reads a public key.
pub(crate) fn public_key(path: &Path, policy: SizePolicy) -> Result<PublicKey, CliError> {
    let bytes = files::read(path, MAX_KEY_BYTES)?;
    PublicKey::from_bytes(&bytes, policy).map_err(CliError::content(path))
}

/// Reads a secret key.
pub(crate) fn secret_key(path: &Path, policy: SizePolicy) -> Result<SecretKey, CliError> {
    let bytes = files::read(path, MAX_KEY_BYTES)?;
    SecretKey::from_secret_key_bytes(&bytes, policy).map_err(CliError::content(path))
}

/// Reads a vector of ciphertexts.
pub(crate) fn ciphertexts(path: &Path, key: &PublicKey) -> Result<CiphertextVector, CliError> {
    let bytes = files::read(path, MAX_VECTOR_BYTES)?;
    CiphertextVector::from_bytes(key, &bytes).map_err(CliError::content(path))
}
