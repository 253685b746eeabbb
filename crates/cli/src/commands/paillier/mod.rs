//! `paillier`: integers that are added and multiplied by plain integers while they are encrypted, from keys to results.

mod compute;
mod host;
mod info;
mod owner;

use clap::Subcommand;

use crate::error::CliError;

/// Paillier: keys, encrypted integers, sums, products with plain integers
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Keygen(owner::KeygenArgs),
    Encrypt(owner::EncryptArgs),
    Decrypt(owner::DecryptArgs),
    Add(compute::AddArgs),
    Multiply(compute::MultiplyArgs),
    Matvec(compute::MatvecArgs),
    Host(host::Args),
    Info(info::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.verb {
        Verb::Keygen(args) => owner::keygen(args),
        Verb::Encrypt(args) => owner::encrypt(args),
        Verb::Decrypt(args) => owner::decrypt(args),
        Verb::Add(args) => compute::add(args),
        Verb::Multiply(args) => compute::multiply(args),
        Verb::Matvec(args) => compute::matvec(args),
        Verb::Host(args) => host::run(args),
        Verb::Info(args) => info::run(args),
    }
}
