//! The built-in descriptions of machines, platforms, sweeps and energy tables, and reading a description by name or file.

use std::path::Path;

use ciphermill_arch::array::{CIPHERMILL, LANE, PAPER};
use ciphermill_arch::pipeline::{CHAM_CIPHERMILL, CHAM_EXPLORE, CHAM_PAPER, CHAM_ROOFLINE};
use ciphermill_arch::report::{ENERGY_LITERATURE, ENERGY_PAPER};
use ciphermill_arch::scalar::ScalarMachine;
use ciphermill_client::files;

use crate::error::CliError;

/// The longest description file that is read, in bytes; the models have their own, smaller limits.
const MAX_BYTES: u64 = 1 << 20;

/// The arrays.
pub(super) const ARRAYS: [(&str, &str); 3] = [("ciphermill", CIPHERMILL), ("paper", PAPER), ("lane", LANE)];

/// The scalar core.
pub(super) const ROCKET: (&str, &str) = ("rocket", ScalarMachine::ROCKET);

/// The macro-pipelines.
pub(super) const PIPELINES: [(&str, &str); 2] = [("cham-paper", CHAM_PAPER), ("cham-ciphermill", CHAM_CIPHERMILL)];

/// The platforms, the sweep and the energy tables.
const OTHERS: [(&str, &str); 4] = [
    ("cham-roofline", CHAM_ROOFLINE),
    ("cham-explore", CHAM_EXPLORE),
    ("energy-literature", ENERGY_LITERATURE),
    ("energy-paper", ENERGY_PAPER),
];

/// All built-in descriptions and their names.
pub(super) fn descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
    ARRAYS.into_iter().chain([ROCKET]).chain(PIPELINES).chain(OTHERS)
}

/// The text of a description: a built-in one by its name, or the content of a file.
pub(super) fn description(name: &Path, built_in: &[(&str, &'static str)]) -> Result<String, CliError> {
    if let Some((_, text)) = built_in.iter().find(|(known, _)| Path::new(known) == name) {
        return Ok((*text).to_owned());
    }
    // Some names of `arch machine` contain the kind, as cham-roofline.
    if let Some((_, text)) = descriptions().find(|(known, _)| Path::new(known) == name)
        && built_in.iter().any(|(_, one)| *one == text)
    {
        return Ok(text.to_owned());
    }
    let names = || built_in.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
    if !name.exists() {
        let what = format!("no such file, and not built in; the built-in descriptions are {}", names());
        return Err(CliError::content(name)(what));
    }
    let bytes = files::read(name, MAX_BYTES)?;
    let text = std::str::from_utf8(&bytes).map_err(CliError::content(name))?;
    Ok(text.to_owned())
}
