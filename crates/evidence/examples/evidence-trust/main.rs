//! The full counts behind the claims of trust: `make evidence AREA=trust`.
//!
//! `CIPHERMILL_EVIDENCE_PARTS`, a list of names with commas, takes some parts only, to try them.

use std::error::Error;

use ciphermill_evidence as support;
use serde_json::Value;

#[path = "../../../cli/tests/crash_support/mod.rs"]
mod crash_support;
mod noise;
mod serve;
mod store;

/// A part of the record, and its run.
type Part = (&'static str, fn() -> Result<Value, Box<dyn Error>>);

/// The backup is first, as its figures are of a machine that does nothing else.
const PARTS: [Part; 5] = [
    ("backup", store::backup),
    ("repair", store::repair),
    ("command", command),
    ("tfhe_noise", noise::run),
    ("serve", serve::hour),
];

/// The tests of the command against the release binary.
fn command() -> Result<Value, Box<dyn Error>> {
    let binary = ["--release", "-p", "ciphermill", "--test", "integration"];
    support::tests(&binary, &[], &[]).map(|(record, _)| record)
}

fn main() -> Result<(), Box<dyn Error>> {
    let chosen = std::env::var("CIPHERMILL_EVIDENCE_PARTS").ok();
    let takes = |name: &str| chosen.as_ref().is_none_or(|chosen| chosen.split(',').any(|part| part == name));
    let mut record = serde_json::Map::new();
    for (name, run) in PARTS.into_iter().filter(|(name, _)| takes(name)) {
        record.insert(name.to_owned(), run()?);
    }
    support::write(&Value::Object(record))
}
