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
  $ ciphermill tfhe decrypt --secret-key me.key --min 0 --max 36 --no-padding xy.ct")]
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
    let encoding = args.encoding.encoding()?;
    let client = tfhe::secret_key(&args.secret_key, args.security.policy())?;
    let (message, ciphertext) = tfhe::decrypt(&args.file, &client, &encoding)?;
    output::result(args.json, &Report { message, choice: ciphertext.choice().to_string() }, &message.to_string())
}
