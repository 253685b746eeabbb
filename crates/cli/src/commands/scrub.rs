//! `scrub`: verifies all data of a store and reports damage.

use std::ops::ControlFlow;
use std::path::PathBuf;

use ciphermill_blockspace::volume::{self, Volume, VolumeConfig};
use ciphermill_client::store::BLOCK_MAP;
use ciphermill_device::store::ScrubEvent;
use serde::Serialize;

use crate::device_args::{self, UnusedDeviceArgs};
use crate::error::CliError;
use crate::output::{self, Progress, human_bytes};

/// Verify every checksum of a store: objects, their table, and blocks
///
/// Nothing is changed. If there is damage, the exit code is 1. Cached pages are read from memory: drop the caches of the
/// operating system first to read the disk.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill scrub --store s")]
pub(crate) struct Args {
    /// Directory of the store; one process at a time may have it open (a server scrubs itself: `serve --scrub-hours`)
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    #[command(flatten)]
    options: UnusedDeviceArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    objects: u64,
    object_bytes: u64,
    damaged_objects: u64,
    damaged_chunks: u64,
    object_table_sound: bool,
    blocks: u64,
    damaged_blocks: u64,
    findings: Vec<Finding>,
}

/// One damaged place.
#[derive(Serialize)]
struct Finding {
    what: String,
    space: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<u64>,
}

/// Findings that are listed one by one; the counts have all.
const MAX_FINDINGS: usize = 1000;

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let settings = args.options.settings();
    let device = device_args::open_existing(&args.store, &settings)?;
    let mut findings = Vec::new();
    let progress = Progress::bar("objects");
    let objects = device.scrub(&mut |event| {
        if let ScrubEvent::Progress { objects, of, .. } = event {
            progress.set(objects, of);
        }
        if let Some(found) = finding(&event).filter(|_| findings.len() < MAX_FINDINGS) {
            findings.push(found);
        }
    })?;
    drop(progress);
    let blocks = blocks(args, &mut findings)?;
    let report = Report {
        objects: objects.objects,
        object_bytes: objects.bytes,
        damaged_objects: objects.damaged_objects,
        damaged_chunks: objects.damaged_chunks,
        object_table_sound: objects.table_sound != Some(false),
        blocks: blocks.blocks,
        damaged_blocks: blocks.damaged,
        findings,
    };
    output::result(args.json, &report, &report.text())?;
    let damaged = report.damaged_objects + report.damaged_blocks + u64::from(!report.object_table_sound);
    if damaged == 0 { Ok(()) } else { Err(CliError::Damaged { path: args.store.clone(), damaged }) }
}

/// Scrubs the blocks of namespaces, if the store was ever served.
fn blocks(args: &Args, findings: &mut Vec<Finding>) -> Result<volume::ScrubReport, CliError> {
    if !args.store.join(BLOCK_MAP).exists() {
        return Ok(volume::ScrubReport { complete: true, ..volume::ScrubReport::default() });
    }
    let volume = Volume::open_directory(&args.store, VolumeConfig::default())?;
    let progress = Progress::bar("blocks");
    let report = volume.scrub(&mut |event| {
        match event {
            volume::ScrubEvent::Progress { done, total } => progress.set(done, total),
            volume::ScrubEvent::Damaged { space, lba } => {
                if findings.len() < MAX_FINDINGS {
                    let what = "damaged block".to_owned();
                    findings.push(Finding { what, space: Some(space), object: None, block: Some(lba) });
                }
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(report)
}

fn finding(event: &ScrubEvent) -> Option<Finding> {
    let (what, object) = match event {
        ScrubEvent::Damaged { object, chunk } => (format!("damaged chunk {chunk}"), Some(object)),
        ScrubEvent::Unreadable { object, error } => (error.to_string(), Some(object)),
        ScrubEvent::Table { error } => (format!("object table: {error}"), None),
        _ => return None,
    };
    let (space, object) = (object.map(|object| object.space.0), object.map(|object| object.id.to_string()));
    Some(Finding { what, space, object, block: None })
}

/// Writes damage to the log.
pub(crate) fn log(event: &ScrubEvent) {
    if let Some(Finding { what, space, object, .. }) = finding(event) {
        tracing::error!(space, object, what, "damage found");
    }
}

impl Report {
    fn text(&self) -> String {
        let mut table = output::table(["scrub", "read", "damaged"]);
        let objects = format!("{}, {}", self.objects, human_bytes(self.object_bytes));
        table.add_row(["objects", &objects, &self.damaged_objects.to_string()]);
        let sound = if self.object_table_sound { "0" } else { "yes" };
        table.add_row(["object table", "", sound]);
        table.add_row(["blocks", &self.blocks.to_string(), &self.damaged_blocks.to_string()]);
        let mut text = table.to_string();
        for Finding { what, space, object, block } in &self.findings {
            let place = match (space, object, block) {
                (Some(space), Some(object), _) => format!("space {space}, object {object}: "),
                (Some(space), None, Some(block)) => format!("space {space}, block {block}: "),
                _ => String::new(),
            };
            text += &format!("\n{place}{what}");
        }
        text
    }
}
