//! `hmvp matrix` and `multiply`: the side that has the matrix.

use std::path::PathBuf;

use ciphermill_client::engines::Engines;
use ciphermill_client::{files, hmvp};
use ciphermill_tfhe::Backend;
use serde::Serialize;

use crate::error::CliError;
use crate::inputs::{EngineArgs, SecurityArgs};
use crate::output;

/// Prepare a matrix for a device
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill hmvp matrix --plan p.plan --matrix a.txt --out a.mat

The matrix is a text file with one row of integers per line, or a .npy array. Its blob has type 6.")]
pub(crate) struct MatrixArgs {
    /// Plan
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// Matrix of integers
    #[arg(long, value_name = "FILE")]
    matrix: PathBuf,
    /// Where to write the prepared matrix with its plan
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
struct Report<'a> {
    path: &'a PathBuf,
    bytes: u64,
    rows: usize,
    cols: usize,
    /// Of a product: whether other functions of the matrix are masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    masked: Option<bool>,
}

/// The warning next to a product.
const NOT_MASKED: &str =
    "not masked: noise and unused coefficients depend on the matrix; send it only to a client who may know the matrix";

impl Report<'_> {
    fn tell(&self, as_json: bool) -> Result<(), CliError> {
        let mut text = format!("{}: {} × {} in {} bytes", self.path.display(), self.rows, self.cols, self.bytes);
        if self.masked == Some(false) {
            text = format!("{text}\n{NOT_MASKED}");
        }
        output::result(as_json, self, &text)
    }
}

pub(super) fn matrix(args: &MatrixArgs) -> Result<(), CliError> {
    let plan = hmvp::plan(&args.plan, args.security.security().bfv())?;
    let matrix = hmvp::plain_matrix(&args.matrix, &plan)?;
    let bytes = files::write(&args.out, &matrix.to_bytes(), files::PUBLIC, args.force)?;
    let request = plan.request();
    Report { path: &args.out, bytes, rows: request.rows, cols: request.cols, masked: None }.tell(args.json)
}

/// Multiply a matrix by an encrypted vector, without a device
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill hmvp multiply --galois-keys v.galois --matrix a.mat --vector v.ct --out u.ct

The product is not masked: its noise and its unused coefficients depend on the matrix. Send it only to a client who \
may know the matrix. The library's two-party form masks products.")]
pub(crate) struct MultiplyArgs {
    /// Galois keys of the client
    #[arg(long, value_name = "FILE")]
    galois_keys: PathBuf,
    /// Prepared matrix, from `hmvp matrix`
    #[arg(long, value_name = "FILE")]
    matrix: PathBuf,
    /// Encrypted vector
    #[arg(long, value_name = "FILE")]
    vector: PathBuf,
    /// Where to write the encrypted product
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    engine: EngineArgs,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    security: SecurityArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn multiply(args: &MultiplyArgs) -> Result<(), CliError> {
    let engine = Engines::new(args.engine.engine, Backend::Fft).hmvp()?;
    let matrix = hmvp::matrix(&args.matrix, args.security.security().bfv())?;
    let plan = matrix.plan();
    let keys = hmvp::galois_keys(&args.galois_keys, plan)?;
    let vector = hmvp::vector(&args.vector, plan)?;
    let product = hmvp::multiply(&*engine, &keys, &matrix, &vector)?;
    let bytes = files::write(&args.out, &product.to_bytes(), files::PUBLIC, args.force)?;
    let request = plan.request();
    Report { path: &args.out, bytes, rows: request.rows, cols: request.cols, masked: Some(false) }.tell(args.json)
}
