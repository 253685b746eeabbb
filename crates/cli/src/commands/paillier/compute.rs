//! What anyone can compute on ciphertexts with the public key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ciphermill_bigint::{CoprocessorEngine, ModExpEngine, WeightMatrix};
use ciphermill_client::numbers::{self, Numbers};
use ciphermill_client::paillier;
use ciphermill_client::paillier_host::RemoteHost;
use ciphermill_paillier::{CiphertextVector, EngineEncryption, EngineEvaluation, PlaintextVector, PublicKey, Scalars};
use num_bigint::BigInt;
use serde::Serialize;

use crate::error::CliError;
use crate::inputs::paillier::IntegersArgs;
use crate::inputs::{EngineArgs, SecurityArgs};
use crate::output;

/// A vector of ciphertexts that was written.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    path: &'a Path,
    bytes: u64,
    elements: usize,
    key_bits: u32,
    key_tag: String,
}

impl<'a> Report<'a> {
    pub(super) fn write(vector: &CiphertextVector, path: &'a Path, force: bool) -> Result<Self, CliError> {
        let bytes = paillier::write(vector, path, force)?;
        let key = vector.key();
        Ok(Self { path, bytes, elements: vector.len(), key_bits: key.bits().get(), key_tag: key.tag().to_string() })
    }

    pub(super) fn tell(&self, as_json: bool) -> Result<(), CliError> {
        let Self { path, bytes, elements, key_bits, key_tag } = self;
        let path = path.display();
        let text = format!("{path}: {elements} ciphertexts of a {key_bits}-bit key, tag {key_tag}, in {bytes} bytes");
        output::result(as_json, self, &text)
    }
}

/// The key, the engine, and the place of the result.
#[derive(clap::Args, Debug)]
struct Common {
    /// Public key
    #[arg(long, value_name = "FILE")]
    public_key: PathBuf,
    /// Blind the result again, so that it cannot be linked to its inputs
    #[arg(long)]
    rerandomise: bool,
    /// Compute on `paillier host` at this loopback address, which sees the integers
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "engine")]
    host: Option<String>,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    security: SecurityArgs,
    /// Where to write the result
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// A public key on an engine.
struct OnEngine<'a> {
    common: &'a Common,
    engine: Arc<dyn ModExpEngine>,
    key: PublicKey,
}

impl Common {
    fn open(&self) -> Result<OnEngine<'_>, CliError> {
        let engine: Arc<dyn ModExpEngine> = match &self.host {
            Some(address) => Arc::new(CoprocessorEngine::new(RemoteHost::connect(address)?)),
            None => self.engine.mod_exp()?,
        };
        let key = paillier::public_key(&self.public_key, self.security.security().paillier())?;
        Ok(OnEngine { common: self, engine, key })
    }
}

impl OnEngine<'_> {
    /// For ciphertexts and public numbers.
    fn evaluation(&self) -> Result<EngineEvaluation, CliError> {
        Ok(EngineEvaluation::new(&self.key, &*self.engine)?)
    }

    /// For numbers and blinding factors that may be secret.
    fn encryption(&self) -> Result<EngineEncryption, CliError> {
        // Blinding factors are drawn here, so that they do not reach a host.
        let engine = match self.common.host {
            Some(_) => self.common.engine.mod_exp()?,
            None => self.engine.clone(),
        };
        Ok(paillier::encryption(engine, &self.key, self.common.security.security().paillier())?)
    }

    /// Whether the numbers go to a host, which sees them.
    fn shows_numbers(&self) -> bool {
        self.common.host.is_some()
    }

    fn finish(&self, mut result: CiphertextVector) -> Result<(), CliError> {
        if self.common.rerandomise {
            result = paillier::rerandomise(&self.encryption()?, &result)?;
        }
        Report::write(&result, &self.common.out, self.common.force)?.tell(self.common.json)
    }
}

/// The integers as a host gets them.
fn shown(values: &[BigInt]) -> Result<Vec<i128>, CliError> {
    // The least one has no negative.
    let value = |value: &BigInt| i128::try_from(value).ok().filter(|value| *value > i128::MIN);
    let all: Option<Vec<i128>> = values.iter().map(value).collect();
    all.ok_or_else(|| {
        CliError::Usage("an integer has 128 bits or more; with --host, use magnitudes below 2^127".to_owned())
    })
}

/// Add ciphertexts, or plain integers to ciphertexts, element by element
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill paillier add --public-key p.pub x.ct y.ct --out z.ct
  $ ciphermill paillier add --public-key p.pub x.ct --value 1,2,3 --rerandomise --out z.ct

Adding a plain integer does not change the blinding. Without --rerandomise, anyone who knows both sides knows the \
difference.")]
#[command(group = clap::ArgGroup::new("summand").required(true).args(["right", "values", "value"]))]
pub(crate) struct AddArgs {
    /// Ciphertexts
    left: PathBuf,
    /// The same number of ciphertexts, or one
    right: Option<PathBuf>,
    /// The same number of plain integers: a text file, or a .npy array
    #[arg(long, value_name = "FILE")]
    values: Option<PathBuf>,
    /// As many plain integers, separated by commas
    #[arg(long, value_name = "M,…", value_delimiter = ',', allow_hyphen_values = true)]
    value: Vec<BigInt>,
    /// Subtract instead
    #[arg(long)]
    subtract: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) fn add(args: &AddArgs) -> Result<(), CliError> {
    let on = args.common.open()?;
    let left = paillier::ciphertexts(&args.left, &on.key)?;
    let result = match &args.right {
        Some(path) => {
            let right = paillier::ciphertexts(path, &on.key)?;
            let evaluation = on.evaluation()?;
            if args.subtract { evaluation.subtract(&left, &right)? } else { evaluation.add(&left, &right)? }
        }
        None => {
            let values = match &args.values {
                Some(path) => numbers::read(path)?.entries,
                None => args.value.clone(),
            };
            if on.shows_numbers() {
                let sign = if args.subtract { -1 } else { 1 };
                let values: Vec<i128> = shown(&values)?.into_iter().map(|value| sign * value).collect();
                return on.finish(on.evaluation()?.add_public(&left, &values)?);
            }
            let plain = PlaintextVector::from_bigints(&on.key, &values)?;
            let encryption = on.encryption()?;
            if args.subtract {
                encryption.subtract_plain(&left, &plain)?
            } else {
                encryption.add_plain(&left, &plain)?
            }
        }
    };
    on.finish(result)
}

/// Multiply ciphertexts by plain integers, element by element
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill paillier multiply --public-key p.pub x.ct --value=-3 --out y.ct

A single integer multiplies all elements. The time depends on --scalar-bits, not on the integers.")]
pub(crate) struct MultiplyArgs {
    /// Ciphertexts
    file: PathBuf,
    #[command(flatten)]
    integers: IntegersArgs,
    /// Bits of the magnitudes of the integers
    #[arg(long, value_name = "BITS", default_value = "64")]
    scalar_bits: u32,
    #[command(flatten)]
    common: Common,
}

pub(super) fn multiply(args: &MultiplyArgs) -> Result<(), CliError> {
    let on = args.common.open()?;
    let vector = paillier::ciphertexts(&args.file, &on.key)?;
    let integers = args.integers.read()?;
    let scalars = Scalars::from_bigints(&integers, args.scalar_bits)?;
    let product = match on.shows_numbers() {
        true => on.evaluation()?.multiply_public(&vector, &shown(&integers)?)?,
        false => on.encryption()?.multiply_scalars(&vector, &scalars)?,
    };
    on.finish(product)
}

/// Multiply a plain matrix by a vector of ciphertexts
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill paillier matvec --public-key p.pub --matrix a.txt x.ct --out y.ct

The matrix is a text file with one row of integers per line, or a .npy array; magnitudes are below 2^64. The matrix \
is treated as public: the time depends on it.")]
pub(crate) struct MatvecArgs {
    /// Vector of ciphertexts
    file: PathBuf,
    /// Matrix of integers
    #[arg(long, value_name = "FILE")]
    matrix: PathBuf,
    #[command(flatten)]
    common: Common,
}

pub(super) fn matvec(args: &MatvecArgs) -> Result<(), CliError> {
    let on = args.common.open()?;
    let vector = paillier::ciphertexts(&args.file, &on.key)?;
    let Numbers { cols, entries, .. } = numbers::read::<i128>(&args.matrix)?;
    let weights = WeightMatrix::new(cols, entries).map_err(CliError::content(&args.matrix))?;
    on.finish(on.evaluation()?.matrix_vector_public(&vector, &weights)?)
}
