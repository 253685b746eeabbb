//! `decrypt`: one ciphertext.

use std::path::PathBuf;

use ciphermill_client::tfhe;
use serde::Serialize;

use crate::error::CliError;
use crate::inputs::{EncodingArgs, SecurityArgs};
use crate::output;

/// Decrypt a ciphertext with a secret key
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill tfhe decrypt --secret-key me.key xy.ct

The ciphertext states its encoding. One of an older format does not: give the encoding of its message (--bits, or \
--min and --max).")]
pub(crate) struct Args {
    /// Secret keys
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,
    #[command(flatten)]
    encoding: EncodingArgs,
    /// Ciphertext
    file: PathBuf,
    #[command(flatten)]
    security: SecurityArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    message: i64,
    choice: String,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let given = args.encoding.is_given().then(|| args.encoding.encoding()).transpose()?;
    let client = tfhe::secret_key(&args.secret_key, args.security.policy())?;
    let (message, ciphertext) = tfhe::decrypt(&args.file, &client, given.as_ref())?;
    output::result(args.json, &Report { message, choice: ciphertext.choice().to_string() }, &message.to_string())
}
