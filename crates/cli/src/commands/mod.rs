//! The verbs, one per module.

mod arch;
mod bench;
mod blob;
mod completions;
mod demo;
mod hmvp;
mod info;
mod paillier;
mod program;
mod scrub;
mod serve;
mod tfhe;

use ciphermill_math::Isa;
use clap::{Parser, Subcommand};

use crate::error::CliError;

/// Compute on data that stays encrypted.
#[derive(Debug, Parser)]
#[command(name = "ciphermill", version, max_term_width = 110)]
#[command(after_help = "\
Example:
  $ ciphermill demo --params MESSAGE_4_2M64

Exit codes: 0 success, 1 failure, 2 an invalid command line or environment.

CIPHERMILL_ISA=portable|avx2|avx512 forces an instruction set; by default the best one of the CPU is used.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Tfhe(tfhe::Args),
    #[command(hide = true)]
    Keygen(tfhe::keygen::Args),
    #[command(hide = true)]
    Encrypt(tfhe::encrypt::Args),
    #[command(hide = true)]
    Decrypt(tfhe::decrypt::Args),
    #[command(hide = true)]
    TestVector(tfhe::test_vector::Args),
    Blob(blob::Args),
    Program(program::Args),
    Serve(serve::Args),
    Scrub(scrub::Args),
    Hmvp(hmvp::Args),
    Paillier(paillier::Args),
    Info(info::Args),
    Bench(bench::Args),
    Arch(arch::Args),
    Completions(completions::Args),
}

/// Runs the verb of the command line.
pub(crate) fn run(cli: Cli) -> Result<(), CliError> {
    // Later uses fall back to the best path, so this is the one place to refuse a bad value.
    Isa::from_environment()?;
    match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Tfhe(args) => tfhe::run(&args),
        Command::Keygen(args) => tfhe::keygen::run(&args),
        Command::Encrypt(args) => tfhe::encrypt::run(&args),
        Command::Decrypt(args) => tfhe::decrypt::run(&args),
        Command::TestVector(args) => tfhe::test_vector::run(&args),
        Command::Blob(args) => blob::run(&args),
        Command::Program(args) => program::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Scrub(args) => scrub::run(&args),
        Command::Hmvp(args) => hmvp::run(&args),
        Command::Paillier(args) => paillier::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Arch(args) => arch::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }

    /// Every verb that does something shows an example of it.
    #[test]
    fn every_help_has_an_example() {
        fn check(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            if command.has_subcommands() {
                command
                    .get_subcommands()
                    .filter(|sub| sub.get_name() != "help" && !sub.is_hide_set())
                    .for_each(|sub| check(sub, &path));
            } else {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains(&format!("$ {}", path.trim())), "{path}: {help}");
            }
        }
        check(&super::Cli::command(), "");
    }
}
