//! TFHE's keys, ciphertexts and tables in files.
//!
//! Some examples share a hidden start: the `key` of a test set that is not secure, with the `policy` that accepts it, and
//! an `encoding` of two bits.

use std::io::Write;
use std::path::Path;

use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_tfhe::{
    Ciphertext, ClientKey, Encoding, KeyForm, KeyKind, KeyPart, KeyPartId, KeySeeds, ParameterSet, SecurityPolicy,
    TestVector,
};

use crate::error::ClientError;
use crate::files;
use crate::key_files::{KeyFile, KeyFiles, require_distinct};

/// The longest file of a secret key, a ciphertext or a table that is read, in bytes; far above any real one.
const MAX_OBJECT_BYTES: u64 = 16 << 20;

/// The most bytes that envelope, header and checksum add to the bits of a secret key.
const SECRET_KEY_OVERHEAD: u64 = 1024;

/// The paths of a key set.
#[derive(Clone, Copy, Debug)]
pub struct KeyPaths<'a> {
    /// The secret keys.
    pub secret: &'a Path,
    /// The bootstrapping key.
    pub bootstrapping: &'a Path,
    /// The key-switching key.
    pub keyswitching: &'a Path,
    /// The conversion key, written for a set with words.
    pub conversion: &'a Path,
}

/// A cryptographic random generator, seeded by the operating system.
///
/// # Errors
/// If the operating system returns no random bytes.
///
/// # Example
/// ```
#[doc = include_str!("example_tfhe.txt")]
/// let mut rng = tfhe::randomness()?;
/// let [first, second] = [3, 3].map(|message| key.encrypt(&encoding, message, KeyOrder::Small, &mut rng));
/// assert_ne!(first?, second?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn randomness() -> Result<Csprng, ClientError> {
    Ok(Csprng::from_os()?)
}

/// Generates the secret keys of a client and the public keys of its server, and writes their files: three, or four for a set
/// with words.
///
/// `progress` is called with the work done and the total work of the key that is generated; a total of 0 means unknown.
///
/// ```
/// use ciphermill_client::{security::Security, tfhe};
/// use ciphermill_tfhe::{Encoding, KeyOrder, KeyForm, ParameterSet, parameters::TEST_SMALL_U64};
///
/// # fn main() -> Result<(), ciphermill_client::ClientError> {
/// let directory = tempfile::tempdir().expect("a directory");
/// let path = |name: &str| directory.path().join(name);
/// let names = ["me.key", "server.key", "server.key.ksk", "server.key.cnv"].map(path);
/// let [secret, bootstrapping, keyswitching, conversion] = &names;
/// let paths = tfhe::KeyPaths { secret, bootstrapping, keyswitching, conversion };
/// let policy = Security::AcceptInsecure.tfhe();
/// let parameters = ParameterSet::named(TEST_SMALL_U64, policy)?;
/// tfhe::generate_keys(&parameters, KeyForm::Seeded, paths, false, &|_, _, _| {})?;
///
/// let key = tfhe::secret_key(secret, policy)?;
/// let encoding = Encoding::unsigned(2, true)?;
/// let ciphertext = key.encrypt(&encoding, 3, KeyOrder::Big, &mut tfhe::randomness()?)?;
/// assert_eq!(key.decrypt(&encoding, &ciphertext)?, 3);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ClientError::SameFile`], [`ClientError::NoSpace`], or why a file cannot be written.
pub fn generate_keys(
    parameters: &ParameterSet,
    form: KeyForm,
    paths: KeyPaths<'_>,
    overwrite: bool,
    progress: &dyn Fn(KeyKind, u64, u64),
) -> Result<(ClientKey, Vec<KeyFile>), ClientError> {
    let KeyPaths { secret, bootstrapping, keyswitching, conversion } = paths;
    let mut named =
        vec![("secret keys", secret), ("bootstrapping key", bootstrapping), ("key-switching key", keyswitching)];
    named.extend(parameters.word.map(|_| ("conversion key", conversion)));
    require_distinct(&named)?;
    // All files are created before the work starts, so that a path that cannot be written fails at once.
    let mut set = KeyFiles::new(overwrite);
    set.secret(named[0].0, secret)?;
    for (name, path) in &named[1..] {
        set.public(name, path)?;
    }
    // One byte per key bit is eight times the real need.
    let mut sizes = vec![(secret, parameters.big_lwe_dimension().0 as u64 + SECRET_KEY_OVERHEAD)];
    let public = named[1..].iter().zip(kinds(parameters));
    sizes.extend(public.map(|((_, path), kind)| (*path, parameters.sealed_key_len(kind, form))));
    files::require_space(&sizes)?;
    let client = ClientKey::generate(parameters, &SecretSeed::from_os()?);
    set.file(0).write_secret(&client.to_secret_key_bytes())?;
    for (place, kind) in kinds(parameters).enumerate() {
        set.file(place + 1).fill(|out| write_key(&client, kind, form, out, progress))?;
    }
    Ok((client, set.commit()?))
}

/// The public keys of a set, in the order of their files.
fn kinds(parameters: &ParameterSet) -> impl Iterator<Item = KeyKind> + use<> {
    let conversion = parameters.word.map(|_| KeyKind::Conversion);
    [KeyKind::Bootstrap, KeyKind::Keyswitch].into_iter().chain(conversion)
}

/// Generates one public key into `out`.
fn write_key(
    client: &ClientKey,
    kind: KeyKind,
    form: KeyForm,
    out: impl Write,
    progress: &dyn Fn(KeyKind, u64, u64),
) -> Result<(), ClientError> {
    progress(kind, 0, 0);
    let seeds = KeySeeds::from_os()?;
    match kind {
        KeyKind::Bootstrap => {
            client.write_bootstrap_key(form, seeds, out, &mut |done, all| progress(kind, done, all))?;
        }
        KeyKind::Keyswitch => drop(client.write_keyswitch_key(form, seeds, out)?),
        KeyKind::Conversion => drop(client.write_conversion_key(form, seeds, out)?),
    }
    Ok(())
}

/// The public keys of a server, sealed, in memory.
///
/// # Example
/// ```
#[doc = include_str!("example_tfhe.txt")]
/// use ciphermill_tfhe::{Backend, CpuEngine, KeyForm, TfheEngine};
///
/// let keys = tfhe::SealedKeys::generate(&key, KeyForm::Seeded, &|_, _, _| {})?;
/// let server = CpuEngine::new(Backend::Fft).prepare(keys.parts(), policy, &mut |_, _| {})?;
/// assert_eq!(server.tag(), key.tag());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedKeys {
    /// The bootstrapping key.
    pub bootstrapping: Vec<u8>,
    /// The key-switching key.
    pub keyswitching: Vec<u8>,
    /// The conversion key, of a set with words.
    pub conversion: Option<Vec<u8>>,
}

impl SealedKeys {
    /// New public keys of a client; `progress` is as in [`generate_keys`].
    ///
    /// # Errors
    /// [`ClientError::Tfhe`] if the operating system returns no random bytes.
    pub fn generate(
        client: &ClientKey,
        form: KeyForm,
        progress: &dyn Fn(KeyKind, u64, u64),
    ) -> Result<Self, ClientError> {
        let parameters = client.parameters();
        let sealed = |kind| {
            let mut bytes = Vec::with_capacity(parameters.sealed_key_len(kind, form) as usize);
            write_key(client, kind, form, &mut bytes, progress)?;
            Ok::<_, ClientError>(bytes)
        };
        Ok(Self {
            bootstrapping: sealed(KeyKind::Bootstrap)?,
            keyswitching: sealed(KeyKind::Keyswitch)?,
            conversion: parameters.word.map(|_| sealed(KeyKind::Conversion)).transpose()?,
        })
    }

    /// The keys as an engine receives them.
    #[must_use]
    pub fn parts(&self) -> Vec<KeyPart<'_>> {
        let mut parts = vec![KeyPart::bootstrap(&self.bootstrapping), KeyPart::keyswitch(&self.keyswitching)];
        parts.extend(self.conversion.as_deref().map(|sealed| KeyPart::new(KeyPartId::CONVERSION, sealed)));
        parts
    }
}

/// Reads the secret keys.
///
/// # Errors
/// [`ClientError::File`] or [`ClientError::Content`].
///
/// # Example
/// ```
#[doc = include_str!("example_tfhe.txt")]
/// files::write(&path, &key.to_secret_key_bytes(), files::SECRET, false)?;
/// assert_eq!(tfhe::secret_key(&path, policy)?.tag(), key.tag());
/// assert!(tfhe::secret_key(&path, Security::Require128Bits.tfhe()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn secret_key(path: &Path, policy: SecurityPolicy) -> Result<ClientKey, ClientError> {
    files::decode_secret(path, MAX_OBJECT_BYTES, |bytes| ClientKey::from_secret_key_bytes(bytes, policy))
}

/// Reads a ciphertext.
///
/// # Errors
/// [`ClientError::File`] or [`ClientError::Content`].
///
/// # Example
/// ```
#[doc = include_str!("example_tfhe.txt")]
/// let three = key.encrypt(&encoding, 3, KeyOrder::Small, &mut tfhe::randomness()?)?;
/// files::write(&path, &three.to_bytes(), files::PUBLIC, false)?;
/// assert_eq!(tfhe::ciphertext(&path)?, three);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn ciphertext(path: &Path) -> Result<Ciphertext, ClientError> {
    files::decode(path, MAX_OBJECT_BYTES, Ciphertext::from_bytes)
}

/// Reads a ciphertext and decrypts it, with the encoding that it states unless one is given.
///
/// # Errors
/// [`ClientError::File`], or [`ClientError::Content`] if the ciphertext is not of the key's parameter set, states another
/// encoding than the given one, or states none and none is given ([`NoEncoding`]).
///
/// # Example
/// ```
#[doc = include_str!("example_tfhe.txt")]
/// let three = key.encrypt(&encoding, 3, KeyOrder::Small, &mut tfhe::randomness()?)?;
/// files::write(&path, &three.to_bytes(), files::PUBLIC, false)?;
/// assert_eq!(tfhe::decrypt(&path, &key, None)?, (3, three.clone()));
/// assert_eq!(tfhe::decrypt(&path, &key, Some(&encoding))?, (3, three));
/// assert!(tfhe::decrypt(&path, &key, Some(&Encoding::unsigned(3, true)?)).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decrypt(path: &Path, key: &ClientKey, encoding: Option<&Encoding>) -> Result<(i64, Ciphertext), ClientError> {
    let ciphertext = ciphertext(path)?;
    key.parameters().check_ciphertext(&ciphertext).map_err(ClientError::content(path))?;
    let stated = || ciphertext.bounds().range().map(|range| range.encoding());
    let encoding = encoding.copied().or_else(stated).ok_or_else(|| ClientError::content(path)(NoEncoding))?;
    let message = key.decrypt(&encoding, &ciphertext).map_err(ClientError::content(path))?;
    Ok((message, ciphertext))
}

/// A ciphertext states no encoding, and none is given.
///
/// # Example
/// ```
#[doc = include_str!("example_tfhe.txt")]
/// let three = key.encrypt(&encoding, 3, KeyOrder::Small, &mut tfhe::randomness()?)?;
/// let older = three.with_bounds(ciphermill_tfhe::Bounds::UNSTATED);
/// files::write(&path, &older.to_bytes(), files::PUBLIC, false)?;
/// let Err(ClientError::Content { source, .. }) = tfhe::decrypt(&path, &key, None) else { panic!("no encoding") };
/// assert_eq!(source.downcast_ref(), Some(&tfhe::NoEncoding));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ciphertext states no encoding; give that of its message (--bits, or --min and --max)")]
pub struct NoEncoding;

/// Why a file is not a table of a function.
///
/// # Example
/// ```
#[doc = include_str!("example_tfhe.txt")]
/// std::fs::write(&path, "0 1 0")?;
/// let Err(ClientError::Content { source, .. }) = tfhe::table(&path, &parameters, &encoding) else {
///     panic!("four messages need four values")
/// };
/// let length = tfhe::TableError::Length { given: 3, min: 0, max: 3, expected: 4 };
/// assert_eq!(source.downcast_ref::<tfhe::TableError>(), Some(&length));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// A word is not an integer.
    #[error("line {line}: `{word}` is not an integer")]
    Word {
        /// The line, from 1.
        line: usize,
        /// The word.
        word: String,
    },
    /// The number of values is not the number of messages.
    #[error("the table has {given} values, the messages {min} to {max} need {expected}")]
    Length {
        /// Values in the file.
        given: u64,
        /// The smallest message.
        min: i64,
        /// The largest message.
        max: i64,
        /// The number of messages.
        expected: u64,
    },
}

/// Reads the values f(min) to f(max) of a function from a text and makes its test vector. White space separates the values,
/// and `#` starts a comment.
///
/// # Errors
/// [`ClientError::File`], or [`ClientError::Content`] with a [`TableError`] or TFHE's refusal.
///
/// # Example
/// ```
#[doc = include_str!("example_tfhe.txt")]
/// std::fs::write(&path, "0 1 0 1 # the lowest bit")?;
/// let lowest = parameters.test_vector(&encoding, &encoding, |message| message % 2)?;
/// assert_eq!(tfhe::table(&path, &parameters, &encoding)?, lowest);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn table(path: &Path, parameters: &ParameterSet, encoding: &Encoding) -> Result<TestVector, ClientError> {
    let bytes = files::read(path, MAX_OBJECT_BYTES)?;
    let text = files::utf8(path, &bytes)?;
    let mut values: Vec<i64> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = line.split('#').next().unwrap_or_default();
        for word in code.split_whitespace() {
            let wrong = || TableError::Word { line: number + 1, word: word.to_owned() };
            values.push(word.parse().map_err(|_| ClientError::content(path)(wrong()))?);
        }
    }
    let (given, expected) = (values.len() as u64, encoding.levels());
    if given != expected {
        let (min, max) = (encoding.min(), encoding.max());
        return Err(ClientError::content(path)(TableError::Length { given, min, max, expected }));
    }
    // In range: the argument is one of the encoding's messages.
    let value = |z: i64| values[(z - encoding.min()) as usize];
    parameters.test_vector(encoding, encoding, value).map_err(ClientError::content(path))
}
