//! `encrypt`: one message.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ciphermill_client::{files, tfhe};
use ciphermill_tfhe::circuit::Split;
use ciphermill_tfhe::noise::{fresh_variance, word::WordNoise};
use ciphermill_tfhe::{Encoding, KeyOrder, MessageRange, ParameterSet, TfheError};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::error::CliError;
use crate::inputs::{EncodingArgs, KeyOrderArg, SecurityArgs, within};
use crate::output::{self, count};

/// Encrypt a message with a secret key
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill tfhe encrypt --secret-key me.key --message 2 --min -5 --max 10 --range 0:5 --out x.ct
  $ ciphermill tfhe encrypt --secret-key me.key --message-file - --bits 3 --out x.ct <m.txt
  $ ciphermill tfhe encrypt --secret-key word.key --message 12345 --word 14 --out x.word

Other users of the machine can read the command line of a process, and shells keep a history: a message that is a \
secret belongs into a file or on standard input.

The ciphertext states its encoding (--bits, or --min and --max), the range of its message and the bound on its noise, \
all of them public. A device refuses a program whose result would leave the range or fail too often. A word has one \
digit of two bits in each ciphertext, for tables of many bits; its number of digits is public.")]
pub(crate) struct Args {
    /// Secret keys
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,
    /// Integer to encrypt
    #[arg(long, value_name = "M", allow_negative_numbers = true, required_unless_present = "message_file")]
    message: Option<i64>,
    /// File that holds the integer instead; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "message")]
    message_file: Option<PathBuf>,
    #[command(flatten)]
    encoding: EncodingArgs,
    /// Encrypt a word of BITS bits instead, 1 to 63, with a WORD set
    #[arg(long, value_name = "BITS", value_parser = within::<u32>(1..=63))]
    #[arg(conflicts_with_all = ["bits", "signed", "min", "max", "no_padding", "range", "key"])]
    word: Option<u32>,
    /// Part of the encoding in which the message lies, as 0:6; public [default: the whole encoding]
    #[arg(long, value_name = "MIN:MAX", value_parser = interval, allow_hyphen_values = true)]
    range: Option<(i64, i64)>,
    /// Key of the ciphertext
    #[arg(long, alias = "choice", value_enum, value_name = "KEY", default_value = "big")]
    key: KeyOrderArg,
    /// Where to write the ciphertext
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    security: SecurityArgs,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    path: &'a PathBuf,
    bytes: u64,
    params: &'a str,
    choice: String,
    dimension: usize,
}

#[derive(Serialize)]
struct WordReport<'a> {
    path: &'a PathBuf,
    bytes: u64,
    params: &'a str,
    digits: usize,
}

/// Encrypts a word of `bits` bits.
fn word(args: &Args, bits: u32) -> Result<(), CliError> {
    let client = tfhe::secret_key(&args.secret_key, args.security.policy())?;
    let message = message(args)?;
    let negative = |_| CliError::Usage("a word has no negative values; encrypt 0 or more".to_owned());
    let value = u64::try_from(message).map_err(negative)?;
    let word = client.encrypt_word(value, bits, &mut tfhe::randomness()?)?;
    let bytes = files::write(&args.out, &word.to_bytes(), files::PUBLIC, args.force)?;
    let (params, digits) = (&client.parameters().name, word.digits().len());
    let report = WordReport { path: &args.out, bytes, params, digits };
    let text =
        format!("{}: {bytes} bytes, a word of {} of {params}", args.out.display(), count(digits as u64, "digit"));
    output::result(args.json, &report, &text)
}

fn message(args: &Args) -> Result<i64, CliError> {
    match (args.message, &args.message_file) {
        (None, Some(path)) => message_in(path),
        (message, _) => Ok(message.unwrap_or_default()),
    }
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    if let Some(bits) = args.word {
        return word(args, bits);
    }
    let encoding = args.encoding.encoding()?;
    let client = tfhe::secret_key(&args.secret_key, args.security.policy())?;
    let log2_p_fail = client.parameters().log2_p_fail_of(&encoding, args.key.into());
    let range = range(&encoding, args.range)?;
    if log2_p_fail > client.parameters().log2_p_fail_limit() && !splits(client.parameters(), &range, args.key.into()) {
        // Rounded, a probability near 1 would read 2^0.
        let odds = if log2_p_fail > -1.5 {
            "often or always".to_owned()
        } else {
            format!("with probability 2^{log2_p_fail:.0}")
        };
        let other = match args.key {
            KeyOrderArg::Small => "fewer messages, --key big or another set",
            KeyOrderArg::Big => "fewer messages or another set",
        };
        eprintln!(
            "ciphermill: note: {} has too much noise for this number of messages: after a bootstrap, decryption is wrong \
             {odds}, and without one it may also be wrong; use {other}",
            client.parameters().name
        );
    }
    let message = message(args)?;
    let ciphertext = client.encrypt_in(&range, message, args.key.into(), &mut tfhe::randomness()?)?;
    let bytes = files::write(&args.out, &ciphertext.to_bytes(), files::PUBLIC, args.force)?;
    let report = Report {
        path: &args.out,
        bytes,
        params: &client.parameters().name,
        choice: ciphertext.choice().to_string(),
        dimension: ciphertext.dimension().0,
    };
    let text = format!(
        "{}: {bytes} bytes, under the {} key of {} (dimension {})",
        args.out.display(),
        report.choice,
        report.params,
        report.dimension
    );
    output::result(args.json, &report, &text)
}

/// Whether the device can make a word of the message, within the limit of the set: then it needs no bootstrap.
fn splits(parameters: &ParameterSet, range: &MessageRange, key: KeyOrder) -> bool {
    let noise = WordNoise::new(parameters).filter(|_| key == KeyOrder::Big);
    let log2_p = noise
        .zip(Split::of(range).ok())
        .map(|(noise, split)| noise.log2_p_split(split, fresh_variance(parameters, key)));
    log2_p.is_some_and(|log2_p| log2_p <= parameters.log2_p_fail_limit())
}

/// The stated range: a part of the encoding, or all of it.
fn range(encoding: &Encoding, part: Option<(i64, i64)>) -> Result<MessageRange, CliError> {
    let (min, max) = part.unwrap_or((encoding.min(), encoding.max()));
    for given in [min, max] {
        encoding.encode::<u64>(given)?;
    }
    Ok(MessageRange::new(encoding.places(), min, max).map_err(TfheError::from)?)
}

/// Two integers with a colon between them.
fn interval(text: &str) -> Result<(i64, i64), String> {
    let ends = text.split_once(':').and_then(|(min, max)| Some((min.parse().ok()?, max.parse().ok()?)));
    ends.ok_or_else(|| "not two integers as in 0:6".to_owned())
}

/// Bytes of the longest message with white space around it.
const MAX_MESSAGE_BYTES: u64 = 64;

/// The integer in a file, or on standard input if the path is `-`.
fn message_in(path: &Path) -> Result<i64, CliError> {
    let bytes = if path == Path::new("-") {
        let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_MESSAGE_BYTES as usize + 1));
        let read = io::stdin().take(MAX_MESSAGE_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(CliError::file("read", Path::new("standard input")))?;
        bytes
    } else {
        files::read(path, MAX_MESSAGE_BYTES)?
    };
    // The content is not repeated in the error: it may be the message with a slip in it.
    let message = std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse().ok());
    message.ok_or_else(|| CliError::content(path)("it must hold one integer of 64 bits and nothing else".to_owned()))
}
