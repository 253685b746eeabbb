//! Keys, and the way of integers into ciphertexts and back.

use std::path::{Path, PathBuf};

use ciphermill_client::files;
use ciphermill_client::key_files::KeyFile;
use ciphermill_client::paillier::{self, EncryptionKey};
use ciphermill_client::paillier_host::RemoteHost;
use ciphermill_paillier::fixed_point::{FixedPoint, FixedPointError, FixedPointPlaintext, Number};
use ciphermill_paillier::{Blinding, KeyBits, PlaintextVector};
use num_bigint::BigInt;
use serde::Serialize;
use zeroize::Zeroizing;

use super::compute::Report;
use crate::error::CliError;
use crate::inputs::paillier::IntegersArgs;
use crate::inputs::{EngineArgs, SecurityArgs};
use crate::output;

/// Generate a secret key and its public key
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill paillier keygen --secret-key p.key --public-key p.pub

Anyone who reads the secret-key file can decrypt everything; its mode is 0600. Sizes are 2048 to 4096 bits in steps \
of 128.")]
pub(crate) struct KeygenArgs {
    /// Bits of the modulus n
    #[arg(long, value_name = "BITS", default_value_t = KeyBits::DEFAULT.get())]
    key_bits: u32,
    /// Where to write the secret key
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,
    /// Where to write the public key
    #[arg(long, value_name = "FILE")]
    public_key: PathBuf,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    security: SecurityArgs,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct KeygenReport<'a> {
    key_bits: u32,
    insecure: bool,
    key_tag: String,
    files: &'a [KeyFile],
}

pub(super) fn keygen(args: &KeygenArgs) -> Result<(), CliError> {
    let bits = KeyBits::with_policy(args.key_bits, args.security.security().paillier())?;
    let engine = args.engine.mod_exp()?;
    let (key, files) = paillier::generate_keys(engine, bits, &args.secret_key, &args.public_key, args.force)?;
    let report = KeygenReport {
        key_bits: bits.get(),
        insecure: bits.is_insecure(),
        key_tag: key.tag().to_string(),
        files: &files,
    };
    let insecure = if report.insecure { ", INSECURE" } else { "" };
    let text = format!("{}\n{bits} bits{insecure}, key tag {}", output::key_files(&files), report.key_tag);
    output::result(args.json, &report, &text)
}

/// Encrypt integers
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill paillier encrypt --public-key p.pub --value 3,-5,1000000007 --out x.ct
  $ ciphermill paillier encrypt --public-key p.pub --real 1.5,-0.25 --fraction-bits 16 --out x.ct
  $ ciphermill paillier encrypt --public-key p.pub --reals x.txt --fraction-bits 16 --out x.ct

A text file holds numbers separated by blanks, commas or line ends; `#` starts a comment. Other users of the machine \
can read the command line of a process: put secret numbers into a file. The owner of the key encrypts faster with \
--secret-key. Blinding uses short exponents (DJN) unless --strict is given.")]
pub(crate) struct EncryptArgs {
    /// Public key
    #[arg(long, value_name = "FILE", conflicts_with = "secret_key", required_unless_present = "secret_key")]
    public_key: Option<PathBuf>,
    /// Secret key, for its owner
    #[arg(long, value_name = "FILE")]
    secret_key: Option<PathBuf>,
    #[command(flatten)]
    integers: IntegersArgs,
    /// Real numbers, separated by commas, rounded to --fraction-bits; use magnitudes up to 2^64
    #[arg(long, value_name = "X,…", value_delimiter = ',', allow_hyphen_values = true)]
    #[arg(groups = ["integers", "real_numbers"], requires = "fraction_bits")]
    real: Vec<f64>,
    /// Real numbers: a text file; as --real
    #[arg(long, value_name = "FILE", groups = ["integers", "real_numbers"], requires = "fraction_bits")]
    reals: Option<PathBuf>,
    /// Bits after the binary point, for --real and --reals; products with integers keep them. Give the same number to
    /// `decrypt`
    #[arg(long, value_name = "BITS", requires = "real_numbers")]
    fraction_bits: Option<u32>,
    /// Blind with r^n for a random r, as in Paillier's paper
    #[arg(long)]
    strict: bool,
    /// Encrypt on `paillier host` at this loopback address, which sees the integers
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["engine", "secret_key"])]
    host: Option<String>,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    security: SecurityArgs,
    /// Where to write the ciphertexts
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Bits before the binary point.
const INTEGER_BITS: u32 = 64;

impl EncryptArgs {
    fn values(&self) -> Result<Vec<BigInt>, CliError> {
        let Some(fraction_bits) = self.fraction_bits else { return self.integers.read() };
        let reals = match &self.reals {
            Some(path) => reals_in(path)?,
            None => Zeroizing::new(self.real.clone()),
        };
        // clap lets go of `requires` where the group asks for something else.
        if reals.is_empty() {
            return Err(CliError::Usage(
                "--fraction-bits applies to --real and --reals only; integers are encrypted unchanged".to_owned(),
            ));
        }
        let format = FixedPoint::new(INTEGER_BITS, fraction_bits)?;
        let numbers = FixedPointPlaintext::from_f64(format, &reals)?.to_numbers();
        Ok(numbers.iter().map(|number| number.mantissa().clone()).collect())
    }
}

/// Most bytes of a file of real numbers: 2^20 numbers of 64 bytes.
const MAX_REALS_BYTES: u64 = 1 << 26;

/// The real numbers in a text file. An error does not repeat a number, which may be a secret.
fn reals_in(path: &Path) -> Result<Zeroizing<Vec<f64>>, CliError> {
    let bytes = files::read(path, MAX_REALS_BYTES)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| CliError::content(path)(format!("byte {} is not UTF-8 text", error.valid_up_to())))?;
    let mut reals = Zeroizing::new(Vec::new());
    for (line, number) in text.lines().zip(1..) {
        let numbers = line.split('#').next().unwrap_or_default();
        for field in numbers.split([' ', '\t', ',', ';', '\r']).filter(|field| !field.is_empty()) {
            let wrong =
                |_| CliError::content(path)(format!("line {number}: a field is not a number; use numbers as -0.25"));
            reals.push(field.parse().map_err(wrong)?);
        }
    }
    if reals.is_empty() {
        return Err(CliError::content(path)("there are no numbers in it".to_owned()));
    }
    Ok(reals)
}

pub(super) fn encrypt(args: &EncryptArgs) -> Result<(), CliError> {
    let values = args.values()?;
    let policy = args.security.security().paillier();
    if let (Some(address), Some(path)) = (&args.host, &args.public_key) {
        let key = paillier::public_key(path, policy)?;
        let blinding = if args.strict { Blinding::Strict } else { key.default_blinding() };
        let plaintexts = PlaintextVector::from_bigints(&key, &values)?;
        let ciphertexts = RemoteHost::connect(address)?.encrypt(&plaintexts, blinding)?;
        return Report::write(&ciphertexts, &args.out, args.force)?.tell(args.json);
    }
    let key = match (&args.secret_key, &args.public_key) {
        (Some(path), _) => EncryptionKey::Secret(path),
        (None, Some(path)) => EncryptionKey::Public(path),
        // clap leaves no other case.
        _ => return Err(CliError::Usage("give --public-key or --secret-key".to_owned())),
    };
    let engine = args.engine.mod_exp()?;
    let ciphertexts = paillier::encrypt(engine, key, policy, &values, args.strict)?;
    Report::write(&ciphertexts, &args.out, args.force)?.tell(args.json)
}

/// Decrypt integers
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill paillier decrypt --secret-key p.key x.ct

The integers are printed one per line, with their signs.")]
pub(crate) struct DecryptArgs {
    /// Secret key
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    security: SecurityArgs,
    /// Divide by 2^BITS: for numbers that were encrypted with --fraction-bits BITS
    #[arg(long, value_name = "BITS")]
    fraction_bits: Option<u32>,
    /// Ciphertexts
    file: PathBuf,
    /// Print the result as JSON; integers are strings, because they may be long
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct DecryptReport {
    values: Vec<String>,
}

pub(super) fn decrypt(args: &DecryptArgs) -> Result<(), CliError> {
    let policy = args.security.security().paillier();
    let key = paillier::secret_key_on(args.engine.mod_exp()?, &args.secret_key, policy)?;
    let ciphertexts = paillier::ciphertexts(&args.file, key.public_key())?;
    let plaintexts = key.decrypt(&ciphertexts)?;
    let shown = |(index, value): (usize, BigInt)| match args.fraction_bits {
        None => Ok(value.to_string()),
        Some(bits) => {
            let real = Number::new(value, bits).to_f64().ok_or(FixedPointError::Binary64 { index })?;
            Ok(real.to_string())
        }
    };
    let values: Vec<String> =
        plaintexts.to_bigints().into_iter().enumerate().map(shown).collect::<Result<_, CliError>>()?;
    let text = values.join("\n");
    output::result(args.json, &DecryptReport { values }, &text)
}
