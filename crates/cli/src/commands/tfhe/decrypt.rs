//! `decrypt`: one ciphertext.

use std::path::PathBuf;

use ciphermill_client::{tfhe, words};
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
--min and --max). A word has none.")]
pub(crate) struct Args {
    /// Secret keys
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,
    #[command(flatten)]
    encoding: EncodingArgs,
    /// Ciphertext or word
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

#[derive(Serialize)]
struct WordReport {
    message: u128,
    digits: usize,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let given = args.encoding.is_given().then(|| args.encoding.encoding()).transpose()?;
    let client = tfhe::secret_key(&args.secret_key, args.security.policy())?;
    if let Some(word) = words::word(&args.file)? {
        if given.is_some() {
            return Err(CliError::Usage("a word has no encoding; leave out --bits, --min and --max".to_owned()));
        }
        let message = client.decrypt_word(&word).map_err(CliError::content(&args.file))?;
        return output::result(args.json, &WordReport { message, digits: word.digits().len() }, &message.to_string());
    }
    let (message, ciphertext) = tfhe::decrypt(&args.file, &client, given.as_ref())?;
    output::result(args.json, &Report { message, choice: ciphertext.choice().to_string() }, &message.to_string())
}
