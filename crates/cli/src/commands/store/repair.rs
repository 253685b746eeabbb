//! `store repair`: a new store from a damaged one.

use std::path::PathBuf;

use ciphermill_blockspace::backup;
use ciphermill_device::store::{SalvageReport, SalvageState, Salvaged};
use serde::Serialize;

use super::{Bars, lines};
use crate::error::CliError;
use crate::output;

/// Make a new store of all that a damaged one still has
///
/// The damaged store is not changed. Of each object the newest version is recovered whose checksums hold; versions that
/// were deleted or replaced are listed and not recovered. The new store has the identity of the old one: check it, then
/// move it to the place of the old one. If anything is missing, the exit code is 1.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill store repair --store s --out s.repaired")]
pub(super) struct Args {
    /// Directory of the damaged store; one process at a time may have it open
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Directory of the new store, which must not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    superblock_sound: bool,
    table_sound: bool,
    log_sound: bool,
    recovered: u64,
    older: u64,
    lost: u64,
    deleted: u64,
    superseded: u64,
    /// Why the blocks of namespaces are missing.
    volume_error: Option<String>,
    damaged_blocks: Vec<String>,
    /// All versions but those that are recovered and the newest.
    versions: Vec<Version>,
}

#[derive(Serialize)]
struct Version {
    object: String,
    generation: u64,
    bytes: u64,
    state: &'static str,
    /// The newer generation that is lost.
    lost_generation: Option<u64>,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let bars = Bars::new();
    let found = backup::repair(&args.store, &args.out, &mut |step| bars.show(step))?;
    drop(bars);
    let SalvageReport { superblock_sound, table_sound, log_sound, recovered, older, lost, deleted, superseded } =
        *found.salvage.report();
    let report = Report {
        superblock_sound,
        table_sound,
        log_sound,
        recovered,
        older,
        lost,
        deleted,
        superseded,
        versions: found.versions().iter().filter_map(Version::of).collect(),
        volume_error: found.volume,
        damaged_blocks: found.damaged_blocks,
    };
    output::result(args.json, &report, &report.text())?;
    let missing = older + lost + report.damaged_blocks.len() as u64 + u64::from(report.volume_error.is_some());
    if missing == 0 { Ok(()) } else { Err(CliError::Partial { path: args.out.clone(), missing }) }
}

impl Version {
    fn of(version: &Salvaged) -> Option<Self> {
        let (state, lost_generation) = match version.state {
            SalvageState::Recovered => return None,
            SalvageState::Older { lost } => ("older version recovered", Some(lost)),
            SalvageState::Lost => ("lost", None),
            SalvageState::Deleted => ("deleted, not recovered", None),
            SalvageState::Superseded => ("superseded, not recovered", None),
        };
        let object = version.object.to_string();
        Some(Self { object, generation: version.generation, bytes: version.size, state, lost_generation })
    }
}

impl Report {
    fn text(&self) -> String {
        let mut table = output::table(["objects", "number"]);
        for (what, count) in [
            ("recovered", self.recovered),
            ("recovered in an older version", self.older),
            ("lost", self.lost),
            ("deleted, still whole", self.deleted),
            ("superseded versions, still whole", self.superseded),
        ] {
            table.add_row([what, &count.to_string()]);
        }
        let mut text = table.to_string();
        if !self.table_sound && !self.log_sound {
            text += "\nthe table is damaged, and the log is damaged or lacks its last frames: deleted objects may be recovered";
        }
        if let Some(error) = &self.volume_error {
            text += &format!("\nthe blocks of namespaces are not in the new store: {error}");
        }
        let version = |version: &Version| {
            let Version { object, generation, bytes, state, .. } = version;
            format!("{object}, generation {generation}, {bytes} bytes: {state}")
        };
        lines(&mut text, &self.versions.iter().map(version).collect::<Vec<_>>());
        lines(&mut text, &self.damaged_blocks);
        text
    }
}
