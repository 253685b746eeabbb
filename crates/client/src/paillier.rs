//! Paillier's keys and vectors in files.
//!
//! Some examples share a hidden start: the key pair of `owner`, with 512 `bits`, which is not secure, and the `policy` that
//! accepts it. The keys are in the files `secret` and `public`, and `engine` computes.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ciphermill_bigint::{ModExpEngine, SecretPolicy, TrustedEngine};
use ciphermill_paillier::{
    Blinding, CiphertextVector, Csprng, EngineEncryption, KeyBits, PaillierError, PlaintextVector, PublicKey,
    SecretKey, SizePolicy, serial,
};
use num_bigint::BigInt;

use crate::error::ClientError;
use crate::files;
use crate::key_files::{KeyFile, KeyFiles, require_distinct};

/// The longest file of a key, in bytes.
const MAX_KEY_BYTES: u64 = 1 << 16;
/// The longest file of a vector, in bytes: the largest number of ciphertexts of the longest key, and the header.
pub const MAX_VECTOR_BYTES: u64 = serial::MAX_ELEMENTS * 1024 + 4096;

/// Reads a public key.
///
/// # Errors
/// [`ClientError::File`] or [`ClientError::Content`].
///
/// # Example
/// ```
#[doc = include_str!("example_paillier.txt")]
/// assert_eq!(paillier::public_key(&public, policy)?.modulus(), owner.public_key().modulus());
/// assert!(paillier::public_key(&public, Security::Require128Bits.paillier()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn public_key(path: &Path, policy: SizePolicy) -> Result<PublicKey, ClientError> {
    files::decode(path, MAX_KEY_BYTES, |bytes| PublicKey::from_bytes(bytes, policy))
}

/// Reads a secret key.
///
/// # Errors
/// [`ClientError::File`] or [`ClientError::Content`].
///
/// # Example
/// ```
#[doc = include_str!("example_paillier.txt")]
/// let key = paillier::secret_key(&secret, policy)?;
/// assert_eq!(key.public_key().modulus(), owner.public_key().modulus());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn secret_key(path: &Path, policy: SizePolicy) -> Result<SecretKey, ClientError> {
    files::decode_secret(path, MAX_KEY_BYTES, |bytes| SecretKey::from_secret_key_bytes(bytes, policy))
}

/// Reads a vector of ciphertexts.
///
/// # Errors
/// [`ClientError::File`] or [`ClientError::Content`].
///
/// # Example
/// ```
#[doc = include_str!("example_paillier.txt")]
/// let encrypted = paillier::encrypt(engine, EncryptionKey::Secret(&secret), policy, &[3.into()], false)?;
/// paillier::write(&encrypted, &path, false)?;
/// let read = paillier::ciphertexts(&path, owner.public_key())?;
/// assert_eq!(owner.decrypt(&read)?.to_i64()?, [3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn ciphertexts(path: &Path, key: &PublicKey) -> Result<CiphertextVector, ClientError> {
    files::decode(path, MAX_VECTOR_BYTES, |bytes| CiphertextVector::from_bytes(key, bytes))
}

/// Writes a vector of ciphertexts and returns its length in bytes.
///
/// # Errors
/// [`ClientError::Paillier`], or why the file cannot be written.
///
/// # Example
/// ```
#[doc = include_str!("example_paillier.txt")]
/// let encrypted = paillier::encrypt(engine, EncryptionKey::Secret(&secret), policy, &[3.into()], false)?;
/// let length = paillier::write(&encrypted, &path, false)?;
/// assert_eq!(std::fs::metadata(&path)?.len(), length);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(vector: &CiphertextVector, path: &Path, overwrite: bool) -> Result<u64, ClientError> {
    files::write(path, &vector.to_bytes()?, files::PUBLIC, overwrite)
}

/// Reads a secret key whose operations run on an engine.
///
/// # Errors
/// [`ClientError::File`] or [`ClientError::Content`]; [`ClientError::Paillier`] unless the engine is a constant-time CPU
/// engine.
///
/// # Example
/// ```
#[doc = include_str!("example_paillier.txt")]
/// let key = paillier::secret_key_on(engine, &secret, policy)?;
/// assert_eq!(key.public_key().modulus(), owner.public_key().modulus());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn secret_key_on(engine: Arc<dyn ModExpEngine>, path: &Path, policy: SizePolicy) -> Result<SecretKey, ClientError> {
    let key = secret_key(path, policy)?;
    let native = engine.native_path() == Some(key.public_key().path());
    Ok(if native { key } else { key.on_engine(engine)? })
}

/// Generates a key pair on an engine and writes both files.
///
/// # Errors
/// [`ClientError::SameFile`]; [`ClientError::Paillier`], also if the engine is not a constant-time CPU engine; or why a file
/// cannot be written.
///
/// # Example
/// ```
#[doc = include_str!("example_paillier.txt")]
/// let (key, written) = paillier::generate_keys(engine, bits, &secret, &public, true)?;
/// assert_eq!(key.public_key().bits().get(), 512);
/// assert_eq!(written[1].path, public);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn generate_keys(
    engine: Arc<dyn ModExpEngine>,
    bits: KeyBits,
    secret: &Path,
    public: &Path,
    overwrite: bool,
) -> Result<(SecretKey, Vec<KeyFile>), ClientError> {
    let named = [("secret key", secret), ("public key", public)];
    require_distinct(&named)?;
    let mut set = KeyFiles::new(overwrite);
    set.secret(named[0].0, secret)?;
    set.public(named[1].0, public)?;
    let key = SecretKey::generate_with(bits, &mut Csprng::from_os()?, engine)?;
    set.file(0).write_secret(&key.to_secret_key_bytes())?;
    set.file(1).fill(|out| out.write_all(&key.public_key().to_bytes()))?;
    Ok((key, set.commit()?))
}

/// The key file that integers are encrypted with.
#[derive(Clone, Copy, Debug)]
pub enum EncryptionKey<'a> {
    /// The public key.
    Public(&'a Path),
    /// The secret key, with which its owner encrypts faster.
    Secret(&'a Path),
}

/// Encrypts integers. `strict` selects blinding with r^n for a random r; by default, blinding uses the key's short exponents
/// where it has them.
///
/// ```
/// use std::sync::Arc;
/// use ciphermill_bigint::CpuEngine;
/// use ciphermill_client::paillier::{self, EncryptionKey};
/// use ciphermill_client::security::Security;
/// use ciphermill_paillier::KeyBits;
///
/// # fn main() -> Result<(), ciphermill_client::ClientError> {
/// let directory = tempfile::tempdir().expect("a directory");
/// let (secret, public) = (directory.path().join("p.key"), directory.path().join("p.pub"));
/// let policy = Security::AcceptInsecure.paillier();
/// let engine = Arc::new(CpuEngine::current());
/// paillier::generate_keys(engine.clone(), KeyBits::with_policy(512, policy)?, &secret, &public, false)?;
///
/// let encrypted = paillier::encrypt(engine, EncryptionKey::Public(&public), policy, &[3.into(), (-5).into()], false)?;
/// let key = paillier::secret_key(&secret, policy)?;
/// assert_eq!(key.decrypt(&encrypted)?.to_i64()?, [3, -5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ClientError::Paillier`], also if the engine may not receive the secrets of an encryption under `policy`, or does not
/// support the key's size; or why the key cannot be read.
pub fn encrypt(
    engine: Arc<dyn ModExpEngine>,
    key: EncryptionKey<'_>,
    policy: SizePolicy,
    values: &[BigInt],
    strict: bool,
) -> Result<CiphertextVector, ClientError> {
    let mut rng = Csprng::from_os()?;
    let blinding = |key: &PublicKey| if strict { Blinding::Strict } else { key.default_blinding() };
    Ok(match key {
        EncryptionKey::Secret(path) => {
            let key = secret_key_on(engine, path, policy)?;
            let public = key.public_key();
            key.encrypt(&PlaintextVector::from_bigints(public, values)?, blinding(public), &mut rng)?
        }
        EncryptionKey::Public(path) => {
            let key = public_key(path, policy)?;
            encryption(engine, &key, policy)?.encrypt(
                &PlaintextVector::from_bigints(&key, values)?,
                blinding(&key),
                &mut rng,
            )?
        }
    })
}

/// The operations with secret operands under a key, on an engine that may receive them under `policy`.
///
/// # Errors
/// [`ClientError::Paillier`] if the engine may not, or does not support the key's size.
///
/// # Example
/// ```
#[doc = include_str!("example_paillier.txt")]
/// let encryption = paillier::encryption(engine, owner.public_key(), policy)?;
/// assert_eq!(encryption.key().modulus(), owner.public_key().modulus());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encryption(
    engine: Arc<dyn ModExpEngine>,
    key: &PublicKey,
    policy: SizePolicy,
) -> Result<EngineEncryption, ClientError> {
    Ok(EngineEncryption::new(key, &trusted(engine, policy)?)?)
}

/// The engine for secrets under keys of these sizes.
///
/// # Errors
/// [`ClientError::Paillier`] if the engine receives no such secrets.
///
/// # Example
/// ```
#[doc = include_str!("example_paillier.txt")]
/// assert!(paillier::trusted(engine, policy).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn trusted(engine: Arc<dyn ModExpEngine>, policy: SizePolicy) -> Result<TrustedEngine, ClientError> {
    let secrets = match policy {
        SizePolicy::Standard => SecretPolicy::Production,
        SizePolicy::InsecureBench => SecretPolicy::InsecureParameters,
    };
    Ok(TrustedEngine::new(engine, secrets).map_err(PaillierError::from)?)
}

/// Computes a new blinding for every ciphertext, so that the result cannot be linked to its inputs.
///
/// # Errors
/// [`ClientError::Paillier`].
///
/// # Example
/// ```
#[doc = include_str!("example_paillier.txt")]
/// let inputs = paillier::encrypt(engine.clone(), EncryptionKey::Public(&public), policy, &[7.into()], false)?;
/// let encryption = paillier::encryption(engine, owner.public_key(), policy)?;
/// let outputs = paillier::rerandomise(&encryption, &inputs)?;
/// assert_ne!(outputs.to_biguints(), inputs.to_biguints());
/// assert_eq!(owner.decrypt(&outputs)?.to_i64()?, [7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rerandomise(encryption: &EngineEncryption, vector: &CiphertextVector) -> Result<CiphertextVector, ClientError> {
    Ok(encryption.rerandomise(vector, encryption.key().default_blinding(), &mut Csprng::from_os()?)?)
}
