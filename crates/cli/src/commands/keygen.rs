//! `keygen`: the secret keys of a client and the keys of its server.

use std::path::PathBuf;

use ciphermill_lattice::SecretSeed;
use ciphermill_tfhe::{ClientKey, KeyKind, KeySeeds, ParameterSet, TfheError};
use serde::Serialize;

use crate::error::CliError;
use crate::files::{self, PendingFile};
use crate::inputs::{FormArg, SecurityArgs};
use crate::output::{self, Progress, human_bytes};

/// Generate the secret keys of a client and the public keys of its server
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill keygen --params MESSAGE_4_2M64 --secret-key me.key --server-key server.key

The secret-key file has mode 0600: who reads it decrypts everything. The server key is two files, the bootstrapping key
(--server-key, blob 2:K:1) and the key-switching key (that name with .ksk appended, blob 2:K:2); both are public.")]
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
    /// How the server's keys are stored
    #[arg(long, value_enum, default_value = "seeded")]
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
    files: [FileReport<'a>; 3],
}

#[derive(Serialize)]
struct FileReport<'a> {
    what: &'static str,
    path: &'a PathBuf,
    bytes: u64,
}

/// Most bytes that envelope, header and checksum add to the bits of a secret key.
const OVERHEAD: u64 = 1024;

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let keyswitch_path = args.keyswitch_key.clone().unwrap_or_else(|| {
        let mut name = args.server_key.clone().into_os_string();
        name.push(".ksk");
        name.into()
    });
    let paths = [&args.secret_key, &args.server_key, &keyswitch_path];
    if paths[0] == paths[1] || paths[0] == paths[2] || paths[1] == paths[2] {
        let what = "--secret-key, --server-key and --keyswitch-key must be three different files";
        return Err(CliError::Usage(what.to_owned()));
    }
    let parameters = ParameterSet::named(&args.params, args.security.policy())?;
    let form = args.form.into();
    let [mut secret, mut bootstrap, mut keyswitch] = [
        PendingFile::create(paths[0], files::SECRET, args.force)?,
        PendingFile::create(paths[1], files::PUBLIC, args.force)?,
        PendingFile::create(paths[2], files::PUBLIC, args.force)?,
    ];
    let key_bytes = |kind| parameters.sealed_key_len(kind, form);
    files::require_space(&[
        (paths[1], key_bytes(KeyKind::Bootstrap)),
        (paths[2], key_bytes(KeyKind::Keyswitch)),
        // A byte per key bit is eight times what they take.
        (paths[0], parameters.big_lwe_dimension().0 as u64 + OVERHEAD),
    ])?;

    let client = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
    secret.write_secret(&client.to_secret_key_bytes())?;
    let progress = Progress::bar("bootstrapping key");
    let seeds = KeySeeds::from_os()?;
    bootstrap.fill(|out| -> Result<(), TfheError> {
        client.write_bootstrap_key(form, seeds, out, &mut |done, all| progress.set(done, all))?;
        Ok(())
    })?;
    drop(progress);
    let progress = Progress::spinner("key-switching key");
    let seeds = KeySeeds::from_os()?;
    keyswitch.fill(|out| -> Result<(), TfheError> {
        client.write_keyswitch_key(form, seeds, out)?;
        Ok(())
    })?;
    drop(progress);

    let lengths = [secret.len()?, bootstrap.len()?, keyswitch.len()?];
    files::commit_all([secret, bootstrap, keyswitch])?;
    report(args, &client, paths, lengths)
}

fn report(args: &Args, client: &ClientKey, paths: [&PathBuf; 3], lengths: [u64; 3]) -> Result<(), CliError> {
    let whats = ["secret keys", "bootstrapping key", "key-switching key"];
    let files: [FileReport<'_>; 3] =
        std::array::from_fn(|i| FileReport { what: whats[i], path: paths[i], bytes: lengths[i] });
    let security_bits = client.parameters().security().bits;
    let mut table = output::table(["key", "file", "size"]);
    for file in &files {
        table.add_row([file.what, &file.path.to_string_lossy(), &human_bytes(file.bytes)]);
    }
    let report =
        Report { params: &client.parameters().name, security_bits, key_tag: format!("{:016x}", client.tag().0), files };
    let text = format!("{table}\n{}: {security_bits:.1} bits of security, key tag {}", report.params, report.key_tag);
    output::result(args.json, &report, &text)
}
