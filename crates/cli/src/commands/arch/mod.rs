//! `arch`: the cycle models of the accelerators, and reports of them.

mod machine;
mod run;

use clap::Subcommand;

use crate::error::CliError;

/// Cycle models of the accelerators: run, ablate, sweep, compare
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Figures are simulated unless they are labelled analytic: cycles of a model, not of a chip. docs/arch.md says what is modelled.")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Run(run::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.verb {
        Verb::Run(args) => run::run(args),
    }
}
