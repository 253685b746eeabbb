//! What the evidence programs have in common.

use std::error::Error;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Runs the release binary once as a user would; it must exit 0 and print one JSON value that says `correct`.
pub(crate) fn command(run: &str) -> Result<Value, Box<dyn Error>> {
    eprintln!("ciphermill {run}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(&cargo)
        .args(["run", "--quiet", "--release", "--locked", "--bin", "ciphermill", "--"])
        .args(run.split(' '))
        .arg("--json")
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("ciphermill {run}: {}", output.status).into());
    }
    let result: Value = serde_json::from_slice(&output.stdout)?;
    if result["correct"] != json!(true) {
        return Err(format!("ciphermill {run}: not correct").into());
    }
    Ok(json!({ "command": format!("ciphermill {run} --json"), "result": result }))
}

/// Hands the record to `make evidence`, or prints it.
pub(crate) fn write(record: &Value) -> Result<(), Box<dyn Error>> {
    let text = serde_json::to_string(record)?;
    match std::env::var_os("CIPHERMILL_EVIDENCE") {
        Some(path) => std::fs::write(path, text)?,
        None => println!("{text}"),
    }
    Ok(())
}
