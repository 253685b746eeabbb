//! `keygen`: the secret keys of a client and the keys of its server.

use std::cell::RefCell;
use std::path::PathBuf;

use ciphermill_client::key_files::KeyFile;
use ciphermill_client::tfhe::{self, KeyPaths};
use ciphermill_tfhe::{ClientKey, KeyKind, ParameterSet};
use serde::Serialize;

use crate::error::CliError;
use crate::inputs::{FormArg, SecurityArgs};
use crate::output::{self, Progress};

/// Generate the secret keys of a client and the public keys of its server
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill tfhe keygen --params MESSAGE_4_2M64 --secret-key me.key --server-key server.key

Anyone who reads the secret-key file can decrypt everything; its mode is 0600. The server key is two public files: \
the bootstrapping key (--server-key, blob 2:K:1) and the key-switching key (the same name with .ksk appended, blob \
2:K:2). The WORD sets have a third: the conversion key (the same name with .cnv appended, blob 2:K:3).")]
pub(crate) struct Args {
    /// Name of a parameter set; `ciphermill info` lists them
    #[arg(long, value_name = "NAME")]
    params: String,
    /// Where to write the secret keys
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,
    /// Where to write the bootstrapping key
    #[arg(long, value_name = "FILE")]
    server_key: PathBuf,
    /// Where to write the key-switching key [default: the server key's name with .ksk appended]
    #[arg(long, value_name = "FILE")]
    keyswitch_key: Option<PathBuf>,
    /// Where to write the conversion key of a WORD set [default: the server key's name with .cnv appended]
    #[arg(long, value_name = "FILE")]
    conversion_key: Option<PathBuf>,
    /// Form in which the server's keys are stored
    #[arg(long, value_enum, value_name = "FORM", default_value = "seeded")]
    form: FormArg,
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
struct Report<'a> {
    params: &'a str,
    security_bits: f64,
    key_tag: String,
    files: &'a [KeyFile],
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let beside = |given: &Option<PathBuf>, end: &str| -> PathBuf {
        given.clone().unwrap_or_else(|| {
            let mut name = args.server_key.clone().into_os_string();
            name.push(end);
            name.into()
        })
    };
    let (keyswitch, conversion) = (beside(&args.keyswitch_key, ".ksk"), beside(&args.conversion_key, ".cnv"));
    let parameters = ParameterSet::named(&args.params, args.security.policy())?;
    if let (Some(path), None) = (&args.conversion_key, parameters.word) {
        let what = format!("{} has no words, so {} would stay empty; leave it out", args.params, path.display());
        return Err(CliError::Usage(what));
    }
    let paths = KeyPaths {
        secret: &args.secret_key,
        bootstrapping: &args.server_key,
        keyswitching: &keyswitch,
        conversion: &conversion,
    };
    let progress = RefCell::new(None);
    let (client, files) = tfhe::generate_keys(&parameters, args.form.into(), paths, args.force, &|kind, done, all| {
        show(&mut progress.borrow_mut(), kind, done, all);
    })?;
    drop(progress);
    report(args, &client, &files)
}

/// Draws a bar for the bootstrapping key and a spinner for each smaller key.
fn show(progress: &mut Option<(KeyKind, Progress)>, kind: KeyKind, done: u64, all: u64) {
    if progress.as_ref().is_none_or(|(shown, _)| *shown != kind) {
        let new = match kind {
            KeyKind::Bootstrap => Progress::bar("bootstrapping key"),
            KeyKind::Keyswitch => Progress::spinner("key-switching key"),
            KeyKind::Conversion => Progress::spinner("conversion key"),
        };
        *progress = Some((kind, new));
    }
    if let (Some((KeyKind::Bootstrap, bar)), true) = (progress, all > 0) {
        bar.set(done, all);
    }
}

fn report(args: &Args, client: &ClientKey, files: &[KeyFile]) -> Result<(), CliError> {
    let security_bits = client.parameters().security().bits;
    let report =
        Report { params: &client.parameters().name, security_bits, key_tag: format!("{:016x}", client.tag().0), files };
    let table = output::key_files(files);
    let text = format!("{table}\n{}: {security_bits:.1} bits of security, key tag {}", report.params, report.key_tag);
    output::result(args.json, &report, &text)
}
