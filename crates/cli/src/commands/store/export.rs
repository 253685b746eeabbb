//! `store export`: the objects as files.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ciphermill_blockspace::backup::{self, BackupError};
use ciphermill_device::store::{Salvage, SalvageState, Salvaged, StoreFiles};
use serde::Serialize;

use super::Bars;
use crate::error::CliError;
use crate::output;

/// Write the objects of a store, damaged or not, to files
///
/// Each object becomes the file `space-N/TYPE-KEY-DATA` with the bytes that were stored, for `blob put --stored`. Of each
/// object the newest version is written whose checksums hold. The store is not changed.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill store export --store s --out files")]
pub(super) struct Args {
    /// Directory of the store; one process at a time may have it open
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Directory for the files, which must not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    objects: u64,
    bytes: u64,
    older: u64,
    lost: u64,
    files: Vec<Exported>,
}

#[derive(Serialize)]
struct Exported {
    file: String,
    object: String,
    generation: u64,
    bytes: u64,
    /// The host that created the object, if it has an owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let _lock = backup::lock(&args.store)?;
    let bars = Bars::new();
    let files = StoreFiles::unchanged(&args.store).map_err(BackupError::from)?;
    let step = backup::Progress::Objects;
    let salvage = Salvage::scan(files, &mut |done, of| {
        bars.show(step(done, of));
    })
    .map_err(BackupError::from)?;
    drop(bars);
    if args.out.exists() {
        return Err(BackupError::Exists { path: args.out.clone() }.into());
    }
    make_directory(&args.out)?;
    let mut report =
        Report { objects: 0, bytes: 0, older: salvage.report().older, lost: salvage.report().lost, files: Vec::new() };
    let wanted = |state| matches!(state, SalvageState::Recovered | SalvageState::Older { .. });
    for version in salvage.versions().iter().filter(|version| wanted(version.state)) {
        let file = export(&salvage, version, &args.out)?;
        report.objects += 1;
        report.bytes += version.size;
        let (object, generation, bytes) = (version.object.to_string(), version.generation, version.size);
        let owner = version.owner().map(|owner| String::from_utf8_lossy(owner.as_bytes()).into_owned());
        report.files.push(Exported { file, object, generation, bytes, owner });
    }
    let text = format!("{} objects, {}", report.objects, output::human_bytes(report.bytes));
    output::result(args.json, &report, &text)?;
    let missing = report.older + report.lost;
    if missing == 0 { Ok(()) } else { Err(CliError::Partial { path: args.out.clone(), missing }) }
}

fn make_directory(path: &Path) -> Result<(), CliError> {
    std::fs::DirBuilder::new().mode(0o700).create(path).map_err(CliError::file("create", path))
}

/// Writes one object; its file's name within the directory.
fn export(salvage: &Salvage, version: &Salvaged, out: &Path) -> Result<String, CliError> {
    let directory = format!("space-{}", version.object.space);
    let path = out.join(&directory);
    if !path.is_dir() {
        make_directory(&path)?;
    }
    let name = format!("{directory}/{}", version.object.id.to_string().replace(':', "-"));
    let path = out.join(&name);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let mut file = BufWriter::new(file.map_err(CliError::file("create", &path))?);
    salvage.read(version, &mut file).map_err(BackupError::from)?;
    let file = file.flush().and_then(|()| file.get_ref().sync_all());
    file.map_err(CliError::file("write", &path))?;
    Ok(name)
}
