//! `arch machine`: prints a built-in description, to be copied and changed.

use super::descriptions::descriptions;
use crate::error::CliError;
use crate::output;

/// Print a built-in description, to copy and change
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch machine lane

Redirect the description into a file, change a number, and pass the file as --machine, --table, --platforms or \
--sweep.")]
pub(super) struct Args {
    /// Arrays: ciphermill, paper, lane; the base core: rocket; pipelines: cham-paper, cham-ciphermill; platforms: cham-roofline;
    /// a sweep: cham-explore; energy tables: energy-literature, energy-paper
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(descriptions().map(|(name, _)| name)), hide_possible_values = true)]
    name: String,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let text = descriptions().find(|(name, _)| *name == args.name).map_or("", |(_, text)| text);
    output::line(text.trim_end())
}
