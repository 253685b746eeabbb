//! `store backup`: a backup of a store, served or not.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use ciphermill_blockspace::backup::{self, BackupError, BackupRecord, Origin, Progress};
use ciphermill_blockspace::volume::{Volume, VolumeConfig, VolumeFiles};
use ciphermill_client::size::Bytes;
use ciphermill_device::StoreError;
use ciphermill_device::store::Store;

use super::{Bars, lines};
use crate::commands::serve::admin::{Report, Request, socket_path};
use crate::error::CliError;
use crate::inputs::within;
use crate::output;

/// Back up a store, also while `ciphermill serve` serves it
///
/// All spaces and blocks are saved as they are at one moment; the swap area is left out. A served store is backed up by its
/// server, which writes the files; run the command as the same user. A backup into the directory of an earlier one writes
/// only what changed. An interrupted backup says that it is incomplete.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill store backup --store s --backup s.backup")]
pub(super) struct Args {
    /// Directory of the store
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Directory of the backup: a new one, or that of earlier backups of this store
    #[arg(long, value_name = "DIR")]
    backup: PathBuf,
    /// Disk that replaced objects, and separately blocks, may occupy for the backup alone; above it, the backup fails
    #[arg(long, value_name = "BYTES", default_value = "4G")]
    budget: Bytes,
    /// Percent of the time that the backup of a served store may take; 100 is fastest, and slows the hosts most
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = within::<u32>(1..=100))]
    share: u32,
    /// Print the record of the backup as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let target = std::path::absolute(&args.backup).map_err(CliError::file("use", &args.backup))?;
    let Bytes(budget) = args.budget;
    backup::require_store(&args.store)?;
    let record = match Store::open_unchanged(&args.store) {
        Ok(store) => of_store(&store, &args.store, &target, budget)?,
        Err(StoreError::AlreadyOpen { .. }) => {
            let record =
                of_server(&args.store, &Request::Backup { target: target.clone(), budget, share: args.share })?;
            found(&target, &record)?;
            record
        }
        Err(error) => return Err(BackupError::from(error).into()),
    };
    output::result(args.json, &record, &text(&record))?;
    let missing = record.damaged.len() as u64;
    if missing == 0 { Ok(()) } else { Err(CliError::Partial { path: target, missing }) }
}

/// Of a store that is not served.
fn of_store(store: &Store, directory: &Path, target: &Path, budget: u64) -> Result<BackupRecord, CliError> {
    let files = VolumeFiles::unchanged(directory)?;
    let volume = files.map(|files| Volume::open(files, VolumeConfig::default())).transpose()?;
    let bars = Bars::new();
    let origin = Origin::Store(store);
    Ok(backup::create(origin, volume.as_ref(), directory, target, budget, &mut |step| bars.show(step))?)
}

/// By the server that has the store open.
fn of_server(store: &Path, request: &Request) -> Result<BackupRecord, CliError> {
    let failed = |error: io::Error| {
        let what = "is open, and its process does not answer";
        CliError::Server(format!("the store in {} {what} ({error}); stop that process, or wait", store.display()))
    };
    let (_directory, path) = socket_path(store).map_err(failed)?;
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    let mut line = serde_json::to_vec(request).map_err(|error| failed(error.into()))?;
    line.push(b'\n');
    stream.write_all(&line).map_err(failed)?;
    let bars = Bars::new();
    for line in BufReader::new(stream).lines() {
        let report = serde_json::from_str(&line.map_err(failed)?).map_err(|error| failed(error.into()))?;
        match report {
            Report::Objects(done, of) => {
                bars.show(Progress::Objects(done, of));
            }
            Report::Blocks(done, of) => {
                bars.show(Progress::Blocks(done, of));
            }
            Report::Done(record) => return Ok(*record),
            Report::Failed(why) => return Err(CliError::Server(why)),
        }
    }
    Err(CliError::Server("the server ended before the backup was complete".to_owned()))
}

/// A server may have another view of the file system, such as a private `/tmp`.
fn found(target: &Path, record: &BackupRecord) -> Result<(), CliError> {
    match BackupRecord::load(target) {
        Ok(found) if found == *record => Ok(()),
        _ => Err(CliError::Server(format!(
            "the server wrote the backup, but not to the {} that this command sees; give a directory that both see, \
             outside of /tmp",
            target.display()
        ))),
    }
}

fn text(record: &BackupRecord) -> String {
    let mut table = output::table(["backup", "saved", "written"]);
    let objects = format!("{}, {}", record.objects, output::human_bytes(record.object_bytes));
    table.add_row(["objects", &objects, &output::human_bytes(record.written_bytes)]);
    table.add_row(["blocks", &record.blocks.to_string(), &record.written_blocks.to_string()]);
    let mut text = table.to_string();
    lines(&mut text, &record.damaged.iter().map(|what| format!("damaged, left out: {what}")).collect::<Vec<_>>());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_that_is_not_where_it_was_asked_for_is_noticed() {
        let directory = tempfile::tempdir().expect("a directory");
        let here = directory.path().join("here");
        let store = Store::open(ciphermill_device::store::StoreFiles::in_memory()).expect("a store");
        let (origin, place) = (Origin::Store(&store), directory.path().join("s"));
        let record = backup::create(origin, None, &place, &here, 1 << 20, &mut |_| true).expect("a backup");
        found(&here, &record).expect("it is there");
        let refused = found(&directory.path().join("none"), &record).expect_err("it is not").to_string();
        assert!(refused.contains("none") && refused.contains("outside of /tmp"), "{refused}");
    }
}
