//! Outputs of the tests for the reports: cycle counts, coverage if it was built, waveforms.
//!
//! `CIPHERMILL_HW_RECORDS` names a folder; without it no counts and no coverage are written. A record is one file, named by the
//! unit's configuration, so that a repeated test replaces it.
//!
//! `CIPHERMILL_HW_WAVES` also names a folder. The first instance of each configuration writes the waveform
//! `<unit>.<configuration>.fst` of its first cycles there, `CIPHERMILL_HW_WAVE_CYCLES` of them or 20000.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::model::{Configuration, Model, VERILATOR};

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
    verilator: &'a str,
}

fn folder() -> Option<PathBuf> {
    std::env::var_os("CIPHERMILL_HW_RECORDS").map(PathBuf::from)
}

/// Leaves the cycles of a configuration for the reports.
///
/// # Panics
/// If the folder is named and cannot be written: a report must contain every measurement.
pub fn cycles(configuration: &Configuration, cycles: Cycles) {
    let Some(folder) = folder() else { return };
    let record = Record { unit: configuration.unit, configuration: configuration.name, cycles, verilator: VERILATOR };
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

/// Whether instances leave waveforms.
pub(crate) fn is_recording_waves() -> bool {
    std::env::var_os("CIPHERMILL_HW_WAVES").is_some()
}

/// Where an instance that begins leaves its waveform, and of how many cycles; none if none is wanted, or it is not the first.
///
/// # Panics
/// If the folder cannot be made, or the number of cycles is none.
pub(crate) fn wave(configuration: &Configuration) -> Option<(PathBuf, u64)> {
    static BEGUN: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let folder = PathBuf::from(std::env::var_os("CIPHERMILL_HW_WAVES")?);
    let name = format!("{}.{}.fst", configuration.unit, configuration.name);
    let mut begun = BEGUN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !begun.get_or_insert_default().insert(name.clone()) {
        return None;
    }
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let cycles = std::env::var("CIPHERMILL_HW_WAVE_CYCLES").map_or(20_000, |cycles| {
        cycles.parse().unwrap_or_else(|_| panic!("CIPHERMILL_HW_WAVE_CYCLES is no number: {cycles}"))
    });
    Some((folder.join(name), cycles))
}
