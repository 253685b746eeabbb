//! The full counts behind the Python package: `make evidence AREA=python`.
//!
//! The wheel of this tree is installed and tested with each supported Python, its memory is counted after ten thousand calls of
//! each operation, and encrypted fits are compared with fits in clear. Parties of a training are killed at random messages.
//! Complete parts are kept ([`parts`]), so that a run that was stopped goes on with the others.

use std::error::Error;
use std::process::{Command, Stdio};

use ciphermill_evidence::parts::{self, Part};
use serde_json::{Value, json};

const PARTS: [Part; 4] = [("versions", versions), ("leaks", leaks), ("fits", fits), ("kills", kills)];

/// The supported versions of Python. All must be on this machine.
const VERSIONS: [&str; 3] = ["3.11", "3.12", "3.13"];

/// The tests of the package, with the wheel, on each version.
fn versions() -> Result<Value, Box<dyn Error>> {
    let wheel = said(Command::new("scripts/python.sh").arg("build"))?;
    let wheel = wheel.lines().last().ok_or("scripts/python.sh build names no wheel")?;
    let command = ciphermill_evidence::release_binary()?;
    let mut tests = Command::new("scripts/python-bare.sh");
    tests.args([wheel, "tests"]).env("CIPHERMILL_REQUIRE", "all").env("CIPHERMILL_COMMAND", command);
    let said = said(&mut tests)?;
    let mut records = Vec::new();
    for version in VERSIONS {
        let of_version = |line: &&str| line.starts_with(&format!("Python {version}.")) && line.contains(", tests: ");
        let line = said.lines().find(of_version).ok_or_else(|| format!("no tests of Python {version} in\n{said}"))?;
        let (python, counts) = line.split_once(", tests: ").ok_or("the line has counts")?;
        let passed = count(counts, "passed");
        if passed == 0 || count(counts, "failed") + count(counts, "error") > 0 {
            return Err(line.into());
        }
        records.push(json!({ "python": python, "passed": passed, "skipped": count(counts, "skipped") }));
    }
    Ok(json!({ "wheel_bytes": std::fs::metadata(wheel)?.len(), "versions": records }))
}

/// The number before a word in the closing line of pytest, as in "301 passed, 2 skipped in 95.21s"; 0 without the word.
fn count(line: &str, word: &str) -> u64 {
    ciphermill_evidence::number(line, "", &format!(" {word}")).unwrap_or(0)
}

/// Resident memory after ten thousand calls of each operation.
fn leaks() -> Result<Value, Box<dyn Error>> {
    program("leaks")
}

/// Encrypted fits that equal those in clear in every bit.
fn fits() -> Result<Value, Box<dyn Error>> {
    program("fits")
}

/// Parties of a training that are killed at random messages and come back to the same model.
fn kills() -> Result<Value, Box<dyn Error>> {
    program("kills")
}

/// Runs a program of `crates/evidence/python` with the release build of the package, and returns the object that it prints.
fn program(name: &str) -> Result<Value, Box<dyn Error>> {
    said(Command::new("scripts/python.sh").arg("install"))?;
    let said = said(Command::new(".venv/bin/python").arg(format!("crates/evidence/python/{name}.py")))?;
    let result: Value = serde_json::from_str(&said)?;
    if result["correct"] != json!(true) {
        return Err(format!("{name}: not correct").into());
    }
    Ok(result)
}

/// The output of a command.
///
/// # Errors
/// If its exit status is not 0.
fn said(command: &mut Command) -> Result<String, Box<dyn Error>> {
    eprintln!("{command:?}");
    // The package is the installed one.
    let output = command.env_remove("PYTHONPATH").stderr(Stdio::inherit()).output()?;
    let said = String::from_utf8(output.stdout)?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}\n{said}", output.status).into());
    }
    Ok(said)
}

fn main() -> Result<(), Box<dyn Error>> {
    parts::run("python", &["Cargo.toml", "Cargo.lock", "crates", "pyproject.toml", "python", "scripts"], &PARTS)
}
