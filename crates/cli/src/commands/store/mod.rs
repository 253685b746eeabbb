//! `store`: the store as files: check, repair, export, back up, restore.

mod backup;
mod check;
mod export;
mod repair;
mod restore;

use ciphermill_blockspace::backup::Progress as Step;
use clap::Subcommand;

use crate::error::CliError;
use crate::output::Progress;

/// Check, repair, export, back up and restore a store
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Check(check::Args),
    Repair(repair::Args),
    Export(export::Args),
    Backup(backup::Args),
    Restore(restore::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.verb {
        Verb::Check(args) => check::run(args),
        Verb::Repair(args) => repair::run(args),
        Verb::Export(args) => export::run(args),
        Verb::Backup(args) => backup::run(args),
        Verb::Restore(args) => restore::run(args),
    }
}

/// Bars for the objects and for the blocks.
struct Bars {
    objects: Progress,
    blocks: Progress,
}

impl Bars {
    fn new() -> Self {
        Self { objects: Progress::bar("objects"), blocks: Progress::bar("blocks") }
    }

    /// Shows a step; never asks to stop.
    fn show(&self, step: Step) -> bool {
        match step {
            Step::Objects(done, of) => self.objects.set(done, of),
            Step::Blocks(done, of) => self.blocks.set(done, of),
        }
        true
    }
}

/// One finding in a line.
fn lines(text: &mut String, findings: &[String]) {
    for finding in findings {
        text.push('\n');
        text.push_str(finding);
    }
}
