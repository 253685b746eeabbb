//! `store check`: reads everything, changes nothing.

use std::path::PathBuf;

use ciphermill_blockspace::backup;
use serde::Serialize;

use super::{Bars, lines};
use crate::error::CliError;
use crate::output;

/// Check a store, or the store of a backup, without changing a byte
///
/// Opens the store for reading only and verifies all checksums: superblock, object table, objects, blocks. If there is
/// damage, the exit code is 1. A store of an earlier format is not upgraded.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill store check --store s")]
pub(super) struct Args {
    /// Directory of the store; one process at a time may have it open
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    sound: bool,
    /// Why the objects cannot be opened.
    store_error: Option<String>,
    /// Why the blocks cannot be opened.
    volume_error: Option<String>,
    log_agrees: bool,
    objects: u64,
    object_bytes: u64,
    damaged_objects: u64,
    blocks: u64,
    damaged_blocks: u64,
    findings: Vec<String>,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let bars = Bars::new();
    let found = backup::check(&args.store, &mut |step| bars.show(step))?;
    drop(bars);
    let report = Report {
        sound: found.is_sound(),
        store_error: found.store,
        volume_error: found.volume,
        log_agrees: found.log_agrees,
        objects: found.objects.objects,
        object_bytes: found.objects.bytes,
        damaged_objects: found.objects.damaged_objects,
        blocks: found.blocks.blocks,
        damaged_blocks: found.blocks.damaged,
        findings: found.damaged,
    };
    output::result(args.json, &report, &report.text())?;
    if report.sound { Ok(()) } else { Err(CliError::DamagedStore { path: args.store.clone() }) }
}

impl Report {
    fn text(&self) -> String {
        let mut table = output::table(["check", "read", "damaged"]);
        let objects = format!("{}, {}", self.objects, output::human_bytes(self.object_bytes));
        let damaged = |error: &Option<String>, count: u64| {
            if error.is_some() { "does not open".to_owned() } else { count.to_string() }
        };
        table.add_row(["objects", &objects, &damaged(&self.store_error, self.damaged_objects)]);
        table.add_row(["blocks", &self.blocks.to_string(), &damaged(&self.volume_error, self.damaged_blocks)]);
        let mut text = table.to_string();
        if self.store_error.is_none() && !self.log_agrees {
            text += "\nthe log lags behind the object table; the next opening rewrites it";
        }
        let errors = [&self.store_error, &self.volume_error];
        lines(&mut text, &errors.into_iter().flatten().cloned().collect::<Vec<_>>());
        lines(&mut text, &self.findings);
        text
    }
}
