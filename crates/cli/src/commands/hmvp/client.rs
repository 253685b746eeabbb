//! `hmvp keygen`, `encrypt` and `decrypt`: the side that has the vector and the secret key.

use std::path::PathBuf;

use ciphermill_client::hmvp::{self, EncryptionKey, KeyPaths};
use ciphermill_client::key_files::KeyFile;
use ciphermill_client::{files, numbers};
use serde::Serialize;

use crate::error::CliError;
use crate::inputs::SecurityArgs;
use crate::output;

/// Generate the secret key of a client and the Galois keys of its server
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill hmvp keygen --plan p.plan --secret-key v.key --galois-keys v.galois

Anyone who reads the secret-key file can decrypt everything; its mode is 0600. The Galois keys are public (blob \
5:K:1).")]
pub(crate) struct KeygenArgs {
    /// Plan
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// Where to write the secret key
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,
    /// Where to write the Galois keys
    #[arg(long, value_name = "FILE")]
    galois_keys: PathBuf,
    /// Where to write a public key, for plans whose vectors are encrypted under it
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    security: SecurityArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct KeygenReport<'a> {
    params: &'a str,
    security_bits: f64,
    key_tag: String,
    galois_elements: usize,
    files: &'a [KeyFile],
}

pub(super) fn keygen(args: &KeygenArgs) -> Result<(), CliError> {
    let plan = hmvp::plan(&args.plan, args.security.security().bfv())?;
    let KeygenArgs { secret_key, galois_keys, public_key, .. } = args;
    let paths = KeyPaths { secret: secret_key, galois: galois_keys, public: public_key.as_deref() };
    let keys = hmvp::generate_keys(&plan, paths, args.force)?;
    let report = KeygenReport {
        params: &plan.context().parameters().name,
        security_bits: plan.context().parameters().security().bits,
        key_tag: keys.secret.tag().to_string(),
        galois_elements: keys.galois_elements,
        files: &keys.files,
    };
    let table = output::key_files(&keys.files);
    let bits = report.security_bits;
    let text = format!("{table}\n{}: {bits:.1} bits of security, key tag {}", report.params, report.key_tag);
    output::result(args.json, &report, &text)
}

/// Encrypt a vector
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill hmvp encrypt --plan p.plan --secret-key v.key --vector v.txt --out v.ct

The vector is a text file of integers, separated by blanks, commas or line ends, or a .npy array.")]
pub(crate) struct EncryptArgs {
    /// Plan
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// Secret key, for plans whose vectors are encrypted under it
    #[arg(long, value_name = "FILE", conflicts_with = "public_key", required_unless_present = "public_key")]
    secret_key: Option<PathBuf>,
    /// Public key, for plans whose vectors are encrypted under it
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,
    /// Vector
    #[arg(long, value_name = "FILE")]
    vector: PathBuf,
    /// Where to write the encrypted vector
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    security: SecurityArgs,
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
    let plan = hmvp::plan(&args.plan, args.security.security().bfv())?;
    let values = numbers::read(&args.vector)?.entries;
    let key = match (&args.secret_key, &args.public_key) {
        (Some(path), _) => EncryptionKey::Secret(path),
        (None, Some(path)) => EncryptionKey::Public(path),
        // clap leaves no other case.
        _ => return Err(CliError::Usage("give --secret-key or --public-key".to_owned())),
    };
    let vector = hmvp::encrypt(&plan, key, &values)?;
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
    /// Plan
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// Secret key
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,
    /// Encrypted product
    #[arg(long, value_name = "FILE")]
    product: PathBuf,
    #[command(flatten)]
    security: SecurityArgs,
    /// Print the result and the remaining noise budget as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct DecryptReport {
    product: Vec<i64>,
    noise_bits_left: f64,
}

pub(super) fn decrypt(args: &DecryptArgs) -> Result<(), CliError> {
    let plan = hmvp::plan(&args.plan, args.security.security().bfv())?;
    let key = hmvp::secret_key(&args.secret_key, &plan)?;
    let product = hmvp::product(&args.product, &plan)?;
    let report = DecryptReport { product: product.decrypt(&key)?, noise_bits_left: product.noise_bits_left(&key)? };
    let lines: Vec<String> = report.product.iter().map(i64::to_string).collect();
    output::result(args.json, &report, &lines.join("\n"))
}
