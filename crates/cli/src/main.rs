//! The `ciphermill` command: keys, ciphertexts, programs and a secure-computing device, from a shell.
//!
//! Exit codes: 0 done, 1 failed (one line on stderr says why), 2 the command line or the environment was not understood.

mod commands;
mod device_args;
mod error;
mod fault;
mod inputs;
mod machine;
mod output;
mod place;
mod signals;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // Parsing ends the process by itself: with 0 for --help and --version, with 2 for a command line that does not parse.
    match commands::run(commands::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
