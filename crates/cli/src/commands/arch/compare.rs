//! `arch compare`: the paper's figures and ours.

use std::path::Path;

use ciphermill_arch::report::compare;

use super::number;
use super::workload::array;
use crate::error::CliError;
use crate::output;

/// Compare the statements of the RVFHE paper with the models
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill arch compare

The models run on the descriptions of the paper's array and of Ciphermill's; this takes a few seconds.")]
pub(super) struct Args {
    /// Print the rows as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let rows = compare(&array(Path::new("paper"))?, &array(Path::new("ciphermill"))?)?;
    let mut table = output::table(["where", "what", "paper", "ours", "label", "how"]);
    for row in &rows {
        table.add_row([
            row.place.to_owned(),
            row.what.clone(),
            number(row.paper, 2),
            number(row.ours, 2),
            row.label.map_or("", |label| label.name()).to_owned(),
            row.note.clone(),
        ]);
    }
    output::result(args.json, &rows, &table.to_string())
}
