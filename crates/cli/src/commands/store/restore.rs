//! `store restore`: a new store from a backup.

use std::path::PathBuf;

use ciphermill_blockspace::backup::{self, RestoreReport};
use serde::Serialize;

use super::{Bars, lines};
use crate::error::CliError;
use crate::output;

/// Make a new store from a backup
///
/// The new store has a new identity: hosts see other namespaces. With --same-identity it takes the place of the
/// original, with its serial number and UUIDs. Everything that was written after the backup is missing, and deleted
/// objects exist again. Clients that keep versions or counters elsewhere do not notice.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill store restore --backup s.backup --out s2")]
pub(super) struct Args {
    /// Directory of the backup
    #[arg(long, value_name = "DIR")]
    backup: PathBuf,
    /// Directory of the new store, which must not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Keep the identity of the store, the serial number and the UUIDs; never serve it next to the original
    #[arg(long)]
    same_identity: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    taken: u64,
    objects: u64,
    object_bytes: u64,
    blocks: u64,
    missing: Vec<String>,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let bars = Bars::new();
    let restored = backup::restore(&args.backup, &args.out, args.same_identity, &mut |step| bars.show(step))?;
    drop(bars);
    let RestoreReport { record, mut damaged } = restored;
    damaged.splice(0..0, record.damaged);
    let report = Report {
        taken: record.taken,
        objects: record.objects,
        object_bytes: record.object_bytes,
        blocks: record.blocks,
        missing: damaged,
    };
    let mut text =
        format!("{} objects, {}, {} blocks", report.objects, output::human_bytes(report.object_bytes), report.blocks);
    lines(&mut text, &report.missing.iter().map(|what| format!("missing: {what}")).collect::<Vec<_>>());
    output::result(args.json, &report, &text)?;
    let missing = report.missing.len() as u64;
    if missing == 0 { Ok(()) } else { Err(CliError::Partial { path: args.out.clone(), missing }) }
}
