//! `hmvp`: everything about products of a plain matrix and an encrypted vector, from the plan to the decrypted result.

mod client;
mod plan;
mod server;

use clap::Subcommand;

use crate::error::CliError;

/// Encrypted matrix-vector products: plan, keys, matrix, vector, product
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Plan(plan::Args),
    Keygen(client::KeygenArgs),
    Encrypt(client::EncryptArgs),
    Matrix(server::MatrixArgs),
    Multiply(server::MultiplyArgs),
    Decrypt(client::DecryptArgs),
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.verb {
        Verb::Plan(args) => plan::run(args),
        Verb::Keygen(args) => client::keygen(args),
        Verb::Encrypt(args) => client::encrypt(args),
        Verb::Matrix(args) => server::matrix(args),
        Verb::Multiply(args) => server::multiply(args),
        Verb::Decrypt(args) => client::decrypt(args),
    }
}
