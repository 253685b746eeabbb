//! What tests leave for the reports: cycle counts, and coverage where it was built.
//!
//! `CIPHERMILL_HW_RECORDS` names a folder; without it nothing is written. A record is one file, named by the unit's
//! configuration, so that a repeated test replaces it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::model::{Configuration, Model};

/// Cycles of a unit, counted in simulation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cycles {
    /// Cycles from one result to the next in steady state.
    pub cycles: u64,
    /// Cycles from the first input to the first result.
    pub latency: u64,
    /// The fewest cycles that the unit's multipliers, or its rate of one result a cycle, allow.
    pub bound: u64,
}

#[derive(Serialize)]
struct Record<'a> {
    unit: &'a str,
    configuration: &'a str,
    #[serde(flatten)]
    cycles: Cycles,
}

fn folder() -> Option<PathBuf> {
    std::env::var_os("CIPHERMILL_HW_RECORDS").map(PathBuf::from)
}

/// Leaves the cycles of a configuration for the reports.
///
/// # Panics
/// If the folder is named and cannot be written: a report must not lack what was measured.
pub fn cycles(configuration: &Configuration, cycles: Cycles) {
    let Some(folder) = folder() else { return };
    let record = Record { unit: configuration.unit, configuration: configuration.name, cycles };
    let path = folder.join(format!("{}.{}.json", configuration.unit, configuration.name));
    let text = serde_json::to_vec_pretty(&record).expect("plain numbers and strings");
    std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, text)).unwrap_or_else(|error| {
        panic!("{}: {error}", path.display());
    });
}

/// Leaves the coverage of an instance that ends.
pub(crate) fn coverage(model: &Model) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let Some(folder) = folder() else { return };
    let configuration = model.configuration();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}.{}.{}-{number}.cov", configuration.unit, configuration.name, std::process::id());
    // A build without coverage has nothing to say here.
    let _ = model.write_coverage(&folder.join(name));
}
