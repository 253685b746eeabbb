//! The full counts behind the claims of trust: `make evidence AREA=trust`.
//!
//! Parts that are complete are kept ([`parts`]), so that a run that was stopped goes on with the others.
//! `CIPHERMILL_EVIDENCE_PARTS`, a list of names with commas, takes some parts only.

use std::error::Error;

use ciphermill_evidence as support;
use ciphermill_evidence::parts::{self, Part};
use serde_json::Value;

#[path = "../../../cli/tests/crash_support/mod.rs"]
mod crash_support;
mod noise;
mod serve;
mod store;

/// The backup is first, as its figures are of a machine that does nothing else.
const PARTS: [Part; 6] = [
    ("backup", store::backup),
    ("repair", store::repair),
    ("command", command),
    ("keys", keys),
    ("tfhe_noise", noise::run),
    ("serve", serve::hour),
];

/// The tests of the command against the release binary.
fn command() -> Result<Value, Box<dyn Error>> {
    let binary = ["--release", "-p", "ciphermill", "--test", "integration"];
    support::tests(&binary, &[], &[]).map(|(record, _)| record)
}

/// 100 keys of 27 MB, loaded one after the other by a server under a limit of 400 MB.
fn keys() -> Result<Value, Box<dyn Error>> {
    let binary = ["--release", "-p", "ciphermill", "--test", "integration"];
    let (mut record, said) = support::tests(&binary, &["serve_keys::"], &[("CIPHERMILL_KEYS", "100")])?;
    let figure = |name: &str| support::number(&said, &format!("{name}: "), "").ok_or_else(|| format!("no {name}"));
    for name in ["keys", "data limit in bytes", "peak resident MiB"] {
        record[name] = figure(name)?.into();
    }
    Ok(record)
}

fn main() -> Result<(), Box<dyn Error>> {
    parts::run("trust", &["Cargo.toml", "Cargo.lock", "crates"], &PARTS)
}
