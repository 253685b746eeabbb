//! `arch machine`: the descriptions that are built in, to be copied and changed.

use ciphermill_arch::pipeline::{CHAM_EXPLORE, CHAM_ROOFLINE};
use ciphermill_arch::report::{ENERGY_LITERATURE, ENERGY_PAPER};

use super::machine::ARRAYS;
use super::pipeline::PIPELINES;
use super::scalar::ROCKET;
use crate::error::CliError;
use crate::output;

/// Print a description that is built in, to copy and change
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch machine lane

Redirect it into a file, change a number, and pass the file as --machine, --table, --platforms or --sweep.")]
pub(super) struct Args {
    /// Arrays: ciphermill, paper, lane; the base core: rocket; pipelines: cham-paper, cham-ciphermill; platforms: cham-roofline; a sweep: cham-explore; tables of
    /// energies: energy-literature, energy-paper
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(descriptions().map(|(name, _)| name)), hide_possible_values = true)]
    name: String,
}

const OTHERS: [(&str, &str); 4] = [
    ("cham-roofline", CHAM_ROOFLINE),
    ("cham-explore", CHAM_EXPLORE),
    ("energy-literature", ENERGY_LITERATURE),
    ("energy-paper", ENERGY_PAPER),
];

pub(super) fn descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
    ARRAYS.into_iter().chain([ROCKET]).chain(PIPELINES).chain(OTHERS)
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let text = descriptions().find(|(name, _)| *name == args.name).map_or("", |(_, text)| text);
    output::line(text.trim_end())
}
