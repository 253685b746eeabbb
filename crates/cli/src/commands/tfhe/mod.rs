//! `tfhe`: keys, ciphertexts, test vectors and tables of TFHE.

pub(super) mod decrypt;
pub(super) mod encrypt;
pub(super) mod keygen;
mod table;
pub(super) mod test_vector;

use clap::Subcommand;

use crate::error::CliError;

/// TFHE: keys, ciphertexts, test vectors and tables
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

/// The verbs. The top level accepts them too, hidden: earlier versions had them there.
#[derive(Debug, Subcommand)]
enum Verb {
    Keygen(keygen::Args),
    Encrypt(encrypt::Args),
    Decrypt(decrypt::Args),
    TestVector(test_vector::Args),
    Table(table::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.verb {
        Verb::Keygen(args) => keygen::run(args),
        Verb::Encrypt(args) => encrypt::run(args),
        Verb::Decrypt(args) => decrypt::run(args),
        Verb::TestVector(args) => test_vector::run(args),
        Verb::Table(args) => table::run(args),
    }
}
