//! Checking a store without changing it.

use super::{BackupError, Observer, Progress, repair::lock, restore::unchanged_volume};
use crate::volume;
use ciphermill_device::store::{ScrubEvent, ScrubReport, Store, StoreFiles};
use std::{ops::ControlFlow, path::Path};

/// The findings of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Why the object store does not open, if it is so. Its objects were not read then.
    pub store: Option<String>,
    /// Whether the log agrees with the object table. If it does not, opening rewrites it.
    pub log_agrees: bool,
    /// The objects that were read.
    pub objects: ScrubReport,
    /// Why the blocks of namespaces do not open, if it is so.
    pub volume: Option<String>,
    /// The blocks that were read.
    pub blocks: volume::ScrubReport,
    /// Damaged objects and blocks, at most a thousand.
    pub damaged: Vec<String>,
}

/// Findings that are listed one by one; the counts have all.
const MAX_FINDINGS: usize = 1000;

impl CheckReport {
    /// Whether nothing is damaged. A log that lags behind does not count as damage.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let blocks = self.volume.is_none() && self.blocks.damaged == 0;
        self.store.is_none() && self.objects.is_sound() && blocks
    }
}

/// Reads everything in a store that is not served, and changes nothing.
///
/// # Errors
/// [`BackupError`] when the files cannot be read at all, or another process has the store open. Damage is in the report.
pub fn check(directory: &Path, observer: Observer<'_>) -> Result<CheckReport, BackupError> {
    let _lock = lock(directory)?;
    let mut report = CheckReport::default();
    let files = StoreFiles::unchanged(directory)?;
    let mut damaged = Vec::new();
    let mut found = |what: String| {
        if damaged.len() < MAX_FINDINGS {
            damaged.push(what);
        }
    };
    match Store::open(files) {
        Ok(store) => {
            report.log_agrees = store.log_agreed();
            report.objects = store.scrub(&mut |event| match event {
                ScrubEvent::Progress { objects, of, .. } => {
                    observer(Progress::Objects(objects, of));
                }
                ScrubEvent::Damaged { object, chunk } => found(format!("chunk {chunk} of {object}")),
                ScrubEvent::Unreadable { object, error } => found(format!("{object}: {error}")),
                ScrubEvent::Table { error } => found(format!("object table: {error}")),
                _ => {}
            });
        }
        Err(error) => report.store = Some(error.to_string()),
    }
    match unchanged_volume(directory) {
        Ok(Some(volume)) => {
            report.blocks = volume.scrub(&mut |event| {
                match event {
                    volume::ScrubEvent::Progress { done, total } => {
                        observer(Progress::Blocks(done, total));
                    }
                    volume::ScrubEvent::Damaged { space, lba } => found(format!("block {lba} of space {space}")),
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(None) => report.blocks.complete = true,
        Err(error) => report.volume = Some(error.to_string()),
    }
    report.damaged = damaged;
    Ok(report)
}
