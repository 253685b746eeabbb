//! The side that has the vector and the secret key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ciphermill_bfv::{BfvError, GaloisKeys, PublicKey, SecretKey};
use ciphermill_hmvp::{EncryptedProduct, EncryptedVector, Encryption, Plan};
use ciphermill_lattice::SecretSeed;
use ciphermill_math::Isa;
use serde::Serialize;

use crate::error::CliError;
use crate::files::{self, PendingFile};
use crate::inputs::{self, numbers};
use crate::output::{self, human_bytes};

/// Longest file of a plan or a secret key that is read.
const MAX_SMALL_BYTES: u64 = 1 << 20;
/// Longest file of an encrypted vector or product that is read.
const MAX_CIPHERTEXT_BYTES: u64 = 1 << 30;

/// Reads a plan.
pub(super) fn plan(path: &Path) -> Result<Arc<Plan>, CliError> {
    let bytes = files::read(path, MAX_SMALL_BYTES)?;
    Ok(Arc::new(Plan::from_bytes(&bytes, Isa::current()).map_err(CliError::content(path))?))
}

/// Reads a secret key, which must be of the plan's parameter set.
fn secret_key(path: &Path, plan: &Plan) -> Result<SecretKey, CliError> {
    let bytes = files::read(path, MAX_SMALL_BYTES)?;
    let policy = ciphermill_bfv::SecurityPolicy::Require128Bits;
    let key = SecretKey::from_secret_key_bytes(&bytes, policy, Isa::current()).map_err(CliError::content(path))?;
    let (given, expected) = (key.context().parameters().id().0, plan.context().parameters().id().0);
    if given != expected {
        return Err(BfvError::WrongParameters { what: "the secret key", given, expected }.into());
    }
    Ok(key)
}

/// Reads an encrypted vector.
pub(super) fn vector(path: &Path, plan: &Arc<Plan>) -> Result<EncryptedVector, CliError> {
    let bytes = files::read(path, MAX_CIPHERTEXT_BYTES)?;
    EncryptedVector::from_bytes(plan, &bytes).map_err(CliError::content(path))
}

/// Generate the secret key of a client and the Galois keys of its server
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill hmvp keygen --plan p.plan --secret-key v.key --galois-keys v.galois

The secret-key file has mode 0600: who reads it decrypts everything. The Galois keys are public (blob 5:K:1).")]
pub(crate) struct KeygenArgs {
    /// The plan
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// Where to write the secret key
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,
    /// Where to write the Galois keys
    #[arg(long, value_name = "FILE")]
    galois_keys: PathBuf,
    /// Where to write a public key, for plans whose vectors are encrypted under one
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct KeygenReport<'a> {
    params: &'a str,
    security_bits: Option<u32>,
    key_tag: String,
    galois_elements: usize,
    files: Vec<FileReport<'a>>,
}

#[derive(Serialize)]
struct FileReport<'a> {
    what: &'static str,
    path: &'a PathBuf,
    bytes: u64,
}

pub(super) fn keygen(args: &KeygenArgs) -> Result<(), CliError> {
    let mut paths = vec![&args.secret_key, &args.galois_keys];
    paths.extend(&args.public_key);
    if (1..paths.len()).any(|i| paths[..i].contains(&paths[i])) {
        return Err(CliError::Usage("the keys must go to different files".to_owned()));
    }
    let plan = plan(&args.plan)?;
    let context = plan.context();
    let mut secret_file = PendingFile::create(&args.secret_key, files::SECRET, args.force)?;
    let mut galois_file = PendingFile::create(&args.galois_keys, files::PUBLIC, args.force)?;
    let secret = SecretKey::generate(context, &SecretSeed::from_os()?);
    let galois = GaloisKeys::generate(&secret, &plan.galois_requests())?;
    secret_file.write_secret(&secret.to_secret_key_bytes())?;
    galois_file.fill(|out| galois.write(context, out).map(drop))?;
    let mut files =
        vec![("secret key", secret_file.len()?, secret_file), ("Galois keys", galois_file.len()?, galois_file)];
    if let Some(path) = &args.public_key {
        let mut file = PendingFile::create(path, files::PUBLIC, args.force)?;
        let bytes = PublicKey::generate(&secret)?.to_bytes();
        file.fill(|out| std::io::Write::write_all(out, &bytes))?;
        files.push(("public key", file.len()?, file));
    }
    let reports = files.iter().zip(&paths).map(|((what, bytes, _), path)| FileReport { what, path, bytes: *bytes });
    let report = KeygenReport {
        params: &context.parameters().name,
        security_bits: plan.explain().security_bits,
        key_tag: secret.tag().to_string(),
        galois_elements: galois.elements().len(),
        files: reports.collect(),
    };
    files::commit_all(files.into_iter().map(|(_, _, file)| file).collect::<Vec<_>>())?;
    let mut table = output::table(["key", "file", "size"]);
    for file in &report.files {
        table.add_row([file.what, &file.path.to_string_lossy(), &human_bytes(file.bytes)]);
    }
    let bits = report.security_bits.map_or("less than 128".to_owned(), |bits| bits.to_string());
    let text = format!("{table}\n{}: {bits} bits of security, key tag {}", report.params, report.key_tag);
    output::result(args.json, &report, &text)
}

/// Encrypt a vector
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill hmvp encrypt --plan p.plan --secret-key v.key --vector v.txt --out v.ct

The vector is a text of integers, separated by blanks, commas or line ends, or a .npy array.")]
pub(crate) struct EncryptArgs {
    /// The plan
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// The secret key, for plans whose vectors are encrypted under it
    #[arg(long, value_name = "FILE", conflicts_with = "public_key", required_unless_present = "public_key")]
    secret_key: Option<PathBuf>,
    /// The public key, for plans whose vectors are encrypted under it
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,
    /// The vector
    #[arg(long, value_name = "FILE")]
    vector: PathBuf,
    /// Where to write the encrypted vector
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct EncryptReport<'a> {
    path: &'a PathBuf,
    bytes: u64,
    entries: usize,
    params: &'a str,
}

pub(super) fn encrypt(args: &EncryptArgs) -> Result<(), CliError> {
    let plan = plan(&args.plan)?;
    let values = numbers::read(&args.vector)?.entries;
    let mut rng = inputs::randomness()?;
    let vector = match (&args.secret_key, &args.public_key) {
        (Some(path), _) => EncryptedVector::encrypt(&plan, &secret_key(path, &plan)?, &values, &mut rng)?,
        (None, Some(path)) if plan.request().encryption == Encryption::Public => {
            let bytes = files::read(path, MAX_SMALL_BYTES)?;
            let key = PublicKey::from_bytes(plan.context(), &bytes).map_err(CliError::content(path))?;
            EncryptedVector::encrypt_public(&plan, &key, &values, &mut rng)?
        }
        _ => return Err(CliError::Usage("the plan is for vectors under the secret key; give --secret-key".to_owned())),
    };
    let bytes = files::write(&args.out, &vector.to_bytes(), files::PUBLIC, args.force)?;
    let params = &plan.context().parameters().name;
    let report = EncryptReport { path: &args.out, bytes, entries: values.len(), params };
    let text = format!("{}: {} entries in {bytes} bytes under {params}", args.out.display(), values.len());
    output::result(args.json, &report, &text)
}

/// Decrypt a product
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill hmvp decrypt --plan p.plan --secret-key v.key --product u.ct

The entries are printed one per line.")]
pub(crate) struct DecryptArgs {
    /// The plan
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// The secret key
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,
    /// The product
    #[arg(long, value_name = "FILE")]
    product: PathBuf,
    /// Print the result, with the noise that was left, as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct DecryptReport {
    product: Vec<i64>,
    noise_bits_left: f64,
}

pub(super) fn decrypt(args: &DecryptArgs) -> Result<(), CliError> {
    let plan = plan(&args.plan)?;
    let key = secret_key(&args.secret_key, &plan)?;
    let bytes = files::read(&args.product, MAX_CIPHERTEXT_BYTES)?;
    let product = EncryptedProduct::from_bytes(&plan, &bytes).map_err(CliError::content(&args.product))?;
    let report = DecryptReport { product: product.decrypt(&key)?, noise_bits_left: product.noise_bits_left(&key)? };
    let lines: Vec<String> = report.product.iter().map(i64::to_string).collect();
    output::result(args.json, &report, &lines.join("\n"))
}
