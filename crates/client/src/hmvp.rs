//! Plans, keys, matrices and vectors of encrypted matrix-vector products in files.
//!
//! Some examples share a hidden start: the `plan` of a product of a 2×3 matrix and its keys, `generated` in the files of
//! `paths`.

use std::io::{BufReader, Write};
use std::path::Path;
use std::sync::Arc;

use ciphermill_bfv::serial::MAX_LOADED_KEY_BYTES;
use ciphermill_bfv::{BfvError, GaloisKeys, PublicKey, SecretKey, SecurityPolicy};
use ciphermill_hmvp::{DenseMatrix, EncryptedProduct, EncryptedVector, Encryption, HmvpEngine, PlainMatrix, Plan};
use ciphermill_lattice::SecretSeed;
use ciphermill_math::Isa;

use crate::error::ClientError;
use crate::files;
use crate::key_files::{KeyFile, KeyFiles, require_distinct};
use crate::numbers;
use crate::tfhe::randomness;

/// The longest file of a plan or a key that is read whole, in bytes.
const MAX_SMALL_BYTES: u64 = 1 << 20;
/// The longest file of an encrypted vector or product, in bytes.
const MAX_CIPHERTEXT_BYTES: u64 = 1 << 30;
/// The longest file of a matrix, in bytes: 16384 × 16384 entries of 4 bytes, and the header.
const MAX_MATRIX_BYTES: u64 = (16384 * 16384 * 4) + 4096;

/// Reads a plan, whose parameter set `policy` must accept.
///
/// # Errors
/// [`ClientError::File`] or [`ClientError::Content`].
///
/// # Example
/// ```
#[doc = include_str!("example_hmvp.txt")]
/// files::write(&path, &plan.to_bytes(), files::PUBLIC, false)?;
/// assert_eq!(hmvp::plan(&path, SecurityPolicy::Require128Bits)?.request().cols, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan(path: &Path, policy: SecurityPolicy) -> Result<Arc<Plan>, ClientError> {
    files::decode(path, MAX_SMALL_BYTES, |bytes| Plan::from_bytes(bytes, policy, Isa::current())).map(Arc::new)
}

/// Reads a secret key, which must be of the plan's parameter set.
///
/// # Errors
/// [`ClientError::File`], [`ClientError::Content`], or [`ClientError::Bfv`] for a key of another parameter set.
///
/// # Example
/// ```
#[doc = include_str!("example_hmvp.txt")]
/// assert_eq!(hmvp::secret_key(&secret, &plan)?.tag(), generated.secret.tag());
/// assert!(hmvp::secret_key(&galois, &plan).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn secret_key(path: &Path, plan: &Plan) -> Result<SecretKey, ClientError> {
    // The plan's own set was judged when the plan was made or read.
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let decode = |bytes: &[u8]| SecretKey::from_secret_key_bytes(bytes, policy, Isa::current());
    let key = files::decode_secret(path, MAX_SMALL_BYTES, decode)?;
    require_parameters(&key, plan)?;
    Ok(key)
}

/// An error unless the key is of the plan's parameter set.
fn require_parameters(key: &SecretKey, plan: &Plan) -> Result<(), ClientError> {
    let (given, expected) = (key.context().parameters().id().0, plan.context().parameters().id().0);
    if given == expected {
        Ok(())
    } else {
        Err(BfvError::WrongParameters { what: "the secret key", given, expected }.into())
    }
}

/// Reads a public key of the plan's parameter set.
///
/// # Errors
/// [`ClientError::File`] or [`ClientError::Content`].
///
/// # Example
/// ```
#[doc = include_str!("example_hmvp.txt")]
/// let request = Request { encryption: Encryption::Public, ..Request::new(2, 3) };
/// let plan = Arc::new(Plan::new(&request, Isa::current())?);
/// hmvp::generate_keys(&plan, KeyPaths { secret: &secret, galois: &galois, public: Some(&path) }, true)?;
/// assert!(hmvp::public_key(&path, &plan).is_ok());
/// assert!(hmvp::encrypt(&plan, EncryptionKey::Public(&path), &[1, 0, -1]).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn public_key(path: &Path, plan: &Plan) -> Result<PublicKey, ClientError> {
    files::decode(path, MAX_SMALL_BYTES, |bytes| PublicKey::from_bytes(plan.context(), bytes))
}

/// Reads Galois keys of the plan's parameter set.
///
/// # Errors
/// [`ClientError::File`], [`ClientError::Content`], or [`ClientError::Bfv`] if the keys are not those of the plan.
///
/// # Example
/// ```
#[doc = include_str!("example_hmvp.txt")]
/// assert_eq!(hmvp::galois_keys(&galois, &plan)?.elements().len(), generated.galois_elements);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn galois_keys(path: &Path, plan: &Plan) -> Result<GaloisKeys, ClientError> {
    let (file, _) = files::open(path)?;
    let keys = GaloisKeys::read(plan.context(), BufReader::new(file), MAX_LOADED_KEY_BYTES)
        .map_err(ClientError::content(path))?;
    plan.require_galois_keys(&keys)?;
    Ok(keys)
}

/// Reads a matrix of integers and checks it against the plan.
///
/// # Errors
/// [`ClientError::File`], [`ClientError::Content`], or [`ClientError::Bfv`] if the matrix does not fit the plan.
///
/// # Example
/// ```
#[doc = include_str!("example_hmvp.txt")]
/// std::fs::write(&path, "1 2 3\n4 5 6\n")?;
/// assert_eq!(hmvp::plain_matrix(&path, &plan)?.plan().request().rows, 2);
/// // The plan is for three columns.
/// std::fs::write(&path, "1 2\n4 5\n")?;
/// assert!(hmvp::plain_matrix(&path, &plan).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plain_matrix(path: &Path, plan: &Arc<Plan>) -> Result<PlainMatrix, ClientError> {
    let numbers::Numbers { rows, cols, entries } = numbers::read(path)?;
    Ok(PlainMatrix::new(plan, &DenseMatrix::new(rows, cols, entries)?)?)
}

/// Reads a sealed matrix, with its plan, whose parameter set `policy` must accept.
///
/// # Errors
/// [`ClientError::File`] or [`ClientError::Content`].
///
/// # Example
/// ```
#[doc = include_str!("example_hmvp.txt")]
/// let matrix = PlainMatrix::new(&plan, &DenseMatrix::new(2, 3, vec![1, 2, 3, 4, 5, 6])?)?;
/// files::write(&path, &matrix.to_bytes(), files::PUBLIC, false)?;
/// assert_eq!(hmvp::matrix(&path, SecurityPolicy::Require128Bits)?.plan().request().cols, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn matrix(path: &Path, policy: SecurityPolicy) -> Result<PlainMatrix, ClientError> {
    files::decode(path, MAX_MATRIX_BYTES, |bytes| PlainMatrix::from_bytes(bytes, policy, Isa::current()))
}

/// Reads an encrypted vector of the plan.
///
/// # Errors
/// [`ClientError::File`] or [`ClientError::Content`].
///
/// # Example
/// ```
#[doc = include_str!("example_hmvp.txt")]
/// let vector = hmvp::encrypt(&plan, EncryptionKey::Secret(&secret), &[1, 0, -1])?;
/// files::write(&path, &vector.to_bytes(), files::PUBLIC, false)?;
/// assert_eq!(hmvp::vector(&path, &plan)?.tag(), vector.tag());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn vector(path: &Path, plan: &Arc<Plan>) -> Result<EncryptedVector, ClientError> {
    files::decode(path, MAX_CIPHERTEXT_BYTES, |bytes| EncryptedVector::from_bytes(plan, bytes))
}

/// Reads an encrypted product of the plan.
///
/// # Errors
/// [`ClientError::File`] or [`ClientError::Content`].
///
/// # Example
/// ```
#[doc = include_str!("example_hmvp.txt")]
/// let vector = hmvp::encrypt(&plan, EncryptionKey::Secret(&secret), &[1, 0, -1])?;
/// let matrix = PlainMatrix::new(&plan, &DenseMatrix::new(2, 3, vec![1, 2, 3, 4, 5, 6])?)?;
/// let engine = Engines::new(EngineName::Cpu, Backend::Fft).hmvp()?;
/// let product = hmvp::multiply(&*engine, &hmvp::galois_keys(&galois, &plan)?, &matrix, &vector)?;
/// files::write(&path, &product.to_bytes(), files::PUBLIC, false)?;
/// assert_eq!(hmvp::product(&path, &plan)?.decrypt(&generated.secret)?, [-2, -2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn product(path: &Path, plan: &Arc<Plan>) -> Result<EncryptedProduct, ClientError> {
    files::decode(path, MAX_CIPHERTEXT_BYTES, |bytes| EncryptedProduct::from_bytes(plan, bytes))
}

/// The keys of one client of a plan, in memory.
///
/// # Example
/// ```
#[doc = include_str!("example_hmvp.txt")]
/// let keys = hmvp::KeySet::generate(&plan)?;
/// assert_eq!(keys.galois.tag(), keys.secret.tag());
/// // The other keys can be made again from the secret key.
/// let again = hmvp::KeySet::of(&plan, keys.secret)?;
/// assert_eq!(again.galois.tag(), keys.galois.tag());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeySet {
    /// The secret key.
    pub secret: Arc<SecretKey>,
    /// The public key.
    pub public: Arc<PublicKey>,
    /// The Galois keys that the plan lists.
    pub galois: Arc<GaloisKeys>,
}

impl KeySet {
    /// New keys.
    ///
    /// # Errors
    /// [`ClientError::Bfv`] if the operating system returns no random bytes.
    pub fn generate(plan: &Plan) -> Result<Self, ClientError> {
        Self::of(plan, Arc::new(SecretKey::generate(plan.context(), &SecretSeed::from_os()?)))
    }

    /// A secret key, and new public keys of its key set.
    ///
    /// # Errors
    /// [`ClientError::Bfv`] if the key is of another parameter set, or the operating system returns no random bytes.
    pub fn of(plan: &Plan, secret: Arc<SecretKey>) -> Result<Self, ClientError> {
        require_parameters(&secret, plan)?;
        let public = Arc::new(PublicKey::generate(&secret)?);
        let galois = Arc::new(GaloisKeys::generate(&secret, &plan.galois_requests())?);
        Ok(Self { secret, public, galois })
    }
}

/// The paths of a key set.
#[derive(Clone, Copy, Debug)]
pub struct KeyPaths<'a> {
    /// The secret key.
    pub secret: &'a Path,
    /// The Galois keys.
    pub galois: &'a Path,
    /// The public key, for plans whose vectors are encrypted under it.
    pub public: Option<&'a Path>,
}

/// The result of [`generate_keys`].
#[derive(Debug)]
pub struct GeneratedKeys {
    /// The secret key.
    pub secret: Arc<SecretKey>,
    /// The number of Galois elements that have a key.
    pub galois_elements: usize,
    /// The files that were written.
    pub files: Vec<KeyFile>,
}

/// Generates the keys that a plan needs and writes their files.
///
/// # Errors
/// [`ClientError::SameFile`], [`ClientError::Bfv`], or why a file cannot be written.
///
/// # Example
/// ```
#[doc = include_str!("example_hmvp.txt")]
/// let generated = hmvp::generate_keys(&plan, KeyPaths { secret: &secret, galois: &galois, public: None }, true)?;
/// assert_eq!(generated.files.iter().map(|file| file.what).collect::<Vec<_>>(), ["secret key", "Galois keys"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn generate_keys(plan: &Plan, paths: KeyPaths<'_>, overwrite: bool) -> Result<GeneratedKeys, ClientError> {
    let mut named = vec![("secret key", paths.secret), ("Galois keys", paths.galois)];
    named.extend(paths.public.map(|path| ("public key", path)));
    require_distinct(&named)?;
    let context = plan.context();
    let mut set = KeyFiles::new(overwrite);
    set.secret(named[0].0, paths.secret)?;
    set.public(named[1].0, paths.galois)?;
    let secret = Arc::new(SecretKey::generate(context, &SecretSeed::from_os()?));
    let galois = GaloisKeys::generate(&secret, &plan.galois_requests())?;
    set.file(0).write_secret(&secret.to_secret_key_bytes())?;
    set.file(1).fill(|out| galois.write(context, out).map(drop))?;
    if let Some(path) = paths.public {
        let bytes = PublicKey::generate(&secret)?.to_bytes();
        set.public(named[2].0, path)?.fill(|out| out.write_all(&bytes))?;
    }
    Ok(GeneratedKeys { secret, galois_elements: galois.elements().len(), files: set.commit()? })
}

/// The key file that a vector is encrypted under.
#[derive(Clone, Copy, Debug)]
pub enum EncryptionKey<'a> {
    /// The secret key.
    Secret(&'a Path),
    /// The public key.
    Public(&'a Path),
}

/// Encrypts a vector.
///
/// ```
/// use ciphermill_client::engines::{EngineName, Engines};
/// use ciphermill_client::hmvp::{self, EncryptionKey, KeyPaths};
/// use ciphermill_hmvp::{Plan, Request};
/// use ciphermill_math::Isa;
/// use ciphermill_tfhe::Backend;
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), ciphermill_client::ClientError> {
/// let directory = tempfile::tempdir().expect("a directory");
/// let path = |name: &str| directory.path().join(name);
/// let (secret, galois, matrix) = (path("v.key"), path("v.galois"), path("a.txt"));
/// let plan = Arc::new(Plan::new(&Request::new(2, 3), Isa::current())?);
/// hmvp::generate_keys(&plan, KeyPaths { secret: &secret, galois: &galois, public: None }, false)?;
/// std::fs::write(&matrix, "1 2 3\n4 5 6\n").expect("room");
///
/// let vector = hmvp::encrypt(&plan, EncryptionKey::Secret(&secret), &[1, 0, -1])?;
/// let keys = hmvp::galois_keys(&galois, &plan)?;
/// let matrix = hmvp::plain_matrix(&matrix, &plan)?;
/// let engine = Engines::new(EngineName::Cpu, Backend::Fft).hmvp()?;
/// let product = hmvp::multiply(&*engine, &keys, &matrix, &vector)?;
/// assert_eq!(product.decrypt(&hmvp::secret_key(&secret, &plan)?)?, [-2, -2]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ClientError::SecretKeyNeeded`] for a public key where the plan asks for the secret one, [`ClientError::Bfv`] if the vector
/// does not fit the plan, or why the key cannot be read.
pub fn encrypt(plan: &Arc<Plan>, key: EncryptionKey<'_>, values: &[i64]) -> Result<EncryptedVector, ClientError> {
    let mut rng = randomness()?;
    Ok(match key {
        EncryptionKey::Secret(path) => EncryptedVector::encrypt(plan, &secret_key(path, plan)?, values, &mut rng)?,
        EncryptionKey::Public(path) if plan.request().encryption == Encryption::Public => {
            EncryptedVector::encrypt_public(plan, &public_key(path, plan)?, values, &mut rng)?
        }
        EncryptionKey::Public(_) => return Err(ClientError::SecretKeyNeeded),
    })
}

/// Multiplies a matrix by an encrypted vector. The engine prepares keys and matrix for this one product.
///
/// # Errors
/// [`ClientError::Bfv`] if the operands are not of one plan and key set.
///
/// # Example
/// ```
#[doc = include_str!("example_hmvp.txt")]
/// let vector = hmvp::encrypt(&plan, EncryptionKey::Secret(&secret), &[1, 0, -1])?;
/// let matrix = PlainMatrix::new(&plan, &DenseMatrix::new(2, 3, vec![1, 2, 3, 4, 5, 6])?)?;
/// let engine = Engines::new(EngineName::Cpu, Backend::Fft).hmvp()?;
/// let product = hmvp::multiply(&*engine, &hmvp::galois_keys(&galois, &plan)?, &matrix, &vector)?;
/// assert_eq!(product.decrypt(&generated.secret)?, [-2, -2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn multiply(
    engine: &dyn HmvpEngine,
    keys: &GaloisKeys,
    matrix: &PlainMatrix,
    vector: &EncryptedVector,
) -> Result<EncryptedProduct, ClientError> {
    let plan = matrix.plan();
    let matrix = engine.prepare_matrix(plan, matrix)?;
    Ok(engine.prepare(plan, keys)?.multiply(&matrix, vector)?)
}
