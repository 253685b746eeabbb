//! `paillier info`: the description of a file.

use std::path::PathBuf;

use ciphermill_client::files;
use ciphermill_client::paillier::{self, MAX_VECTOR_BYTES};
use ciphermill_paillier::serial::{
    BODY_VERSION, CIPHERTEXT_VECTOR, MAX_ELEMENTS, PLAINTEXT_VECTOR, PUBLIC_KEY, SECRET_KEY,
};
use ciphermill_paillier::{KeyBits, KeyTag, SizePolicy};
use ciphermill_wire::{Header, open};
use serde::Serialize;

use crate::error::CliError;
use crate::output;

/// Describe a file of a key or a vector; no secret is shown
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill paillier info x.ct

The elements are not examined: only the key can show whether they are ciphertexts.")]
pub(crate) struct Args {
    /// Key or vector
    file: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    what: &'static str,
    key_bits: u32,
    insecure: bool,
    key_tag: String,
    /// Of a vector.
    elements: Option<u64>,
    /// Of a key: whether it can blind with short exponents.
    djn: Option<bool>,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let bytes = files::read(&args.file, MAX_VECTOR_BYTES)?;
    let kind = Header::decode(&bytes).map_err(CliError::content(&args.file))?.kind;
    let policy = SizePolicy::InsecureBench;
    let of_key = |what, key: &ciphermill_paillier::PublicKey| Report {
        what,
        key_bits: key.bits().get(),
        insecure: key.bits().is_insecure(),
        key_tag: key.tag().to_string(),
        elements: None,
        djn: Some(key.has_blinding_base()),
    };
    let report = match kind {
        PUBLIC_KEY => of_key("public key", &paillier::public_key(&args.file, policy)?),
        SECRET_KEY => of_key("secret key", paillier::secret_key(&args.file, policy)?.public_key()),
        CIPHERTEXT_VECTOR | PLAINTEXT_VECTOR => {
            let what = if kind == CIPHERTEXT_VECTOR { "ciphertexts" } else { "plaintexts" };
            let head = || -> Result<_, ciphermill_wire::WireError> {
                let (_, mut body) = open(&bytes, kind, BODY_VERSION..=BODY_VERSION, MAX_VECTOR_BYTES)?;
                Ok((KeyTag(body.u64()?), body.u32()?, body.u32()?, body.u64()?))
            };
            let (tag, key_bits, _, elements) = head().map_err(CliError::content(&args.file))?;
            if elements > MAX_ELEMENTS {
                return Err(CliError::content(&args.file)(format!(
                    "{elements} elements are declared, {MAX_ELEMENTS} at most are read at once"
                )));
            }
            let insecure = key_bits < KeyBits::MIN;
            Report { what, key_bits, insecure, key_tag: tag.to_string(), elements: Some(elements), djn: None }
        }
        other => {
            return Err(CliError::content(&args.file)(format!("an object of kind {other}, none of Paillier's scheme")));
        }
    };
    let count = report.elements.map_or(String::new(), |count| format!("{count} "));
    let djn = match report.djn {
        Some(true) => ", with a base for short blinding exponents (DJN)",
        Some(false) => ", strict blinding only",
        None => "",
    };
    let insecure = if report.insecure { " INSECURE" } else { "" };
    let Report { what, key_bits, key_tag, .. } = &report;
    output::result(args.json, &report, &format!("{count}{what},{insecure} {key_bits}-bit key, tag {key_tag}{djn}"))
}
