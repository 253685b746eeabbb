//! `completions`: scripts for shells.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::error::CliError;
use crate::output;

/// Print the completion script of a shell
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ mkdir -p ~/.local/share/bash-completion/completions
  $ ciphermill completions bash > ~/.local/share/bash-completion/completions/ciphermill")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Supported,
}

/// The shells whose scripts are offered.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Supported {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let shell = match args.shell {
        Supported::Bash => Shell::Bash,
        Supported::Zsh => Shell::Zsh,
        Supported::Fish => Shell::Fish,
    };
    // Made in memory: the generator panics when a closed pipe refuses it.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::Cli::command(), "ciphermill", &mut script);
    output::bytes(&script)
}
