//! Support of the evidence runners: running the command and tests, and writing the record.
//!
//! The runners are the examples of this crate: `evidence-<area>` for each area of `make evidence`, and timings.

pub mod array_speed;
pub mod parts;

use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

/// The cargo that runs this program.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs the release binary once, as a user does, and returns its JSON with the command line.
///
/// # Errors
/// If the exit status is not 0, or the JSON does not have `"correct": true`.
pub fn command(run: &str) -> Result<Value, Box<dyn Error>> {
    command_with(run, "", &[])
}

/// The same with features of the build, and with variables of its environment.
///
/// # Errors
/// As [`command`].
pub fn command_with(run: &str, features: &str, environment: &[(&str, &str)]) -> Result<Value, Box<dyn Error>> {
    eprintln!("ciphermill {run}");
    let output = cargo()
        .args(["run", "--quiet", "--release", "--locked", "--bin", "ciphermill", "--features", features, "--"])
        .envs(environment.iter().copied())
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

/// Writes the record to the file that `CIPHERMILL_EVIDENCE` names, or prints it.
///
/// # Errors
/// If the file cannot be written.
pub fn write(record: &Value) -> Result<(), Box<dyn Error>> {
    let text = serde_json::to_string(record)?;
    match std::env::var_os("CIPHERMILL_EVIDENCE") {
        Some(path) => std::fs::write(path, text)?,
        None => println!("{text}"),
    }
    Ok(())
}

/// Runs tests of the workspace and returns a record of the run with the output of the tests.
///
/// `binary` has the arguments of `cargo test` that select the tests, `arguments` those of the test program.
///
/// # Errors
/// If a test fails, or no test ran.
pub fn tests(
    binary: &[&str],
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Result<(Value, String), Box<dyn Error>> {
    let set: String = environment.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    let arguments = [arguments, &["--nocapture"]].concat();
    let command = format!("{set}cargo test --locked {} -- {}", binary.join(" "), arguments.join(" "));
    eprintln!("{command}");
    let begun = Instant::now();
    let output = cargo()
        .args(["test", "--locked"])
        .args(binary)
        .arg("--")
        .args(arguments)
        .envs(environment.iter().copied())
        .stderr(Stdio::inherit())
        .output()?;
    let wall_s = begun.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        return Err(format!("{command}: {}\n{said}", output.status).into());
    }
    let passed = number(&said, "test result: ok. ", " passed").filter(|passed| *passed > 0);
    let passed = passed.ok_or_else(|| format!("{command}: no test ran\n{said}"))?;
    Ok((json!({ "command": command, "tests_passed": passed, "wall_s": wall_s }), said))
}

/// The records that tests printed after `name`, one on a line, each a JSON object.
///
/// # Errors
/// If one is not a JSON object, or their number is not `expected`.
pub fn records(said: &str, name: &str, expected: usize) -> Result<Vec<Value>, Box<dyn Error>> {
    let lines = said.lines().filter_map(|line| line.split_once(&format!("{name}: ")).map(|(_, record)| record));
    let records = lines.map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    if records.len() != expected {
        return Err(format!("{} lines \"{name}\", expected are {expected}", records.len()).into());
    }
    Ok(records)
}

/// The seeds that tests printed.
pub fn seeds(said: &str) -> Vec<&str> {
    said.split("CIPHERMILL_SEED=").skip(1).filter_map(|rest| rest.split_whitespace().next()).collect()
}

/// Returns the whole number between `before` and `after` in one of the lines. Several tests write at once, so output of
/// another test may precede it on the line.
pub fn number(text: &str, before: &str, after: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = if before.is_empty() {
            let (head, _) = line.split_once(after)?;
            head.rsplit(|letter: char| !letter.is_ascii_digit()).next()?
        } else {
            let (_, rest) = line.split_once(before)?;
            if !rest.contains(after) {
                return None;
            }
            rest.split(|letter: char| !letter.is_ascii_digit()).next()?
        };
        rest.parse().ok()
    })
}

/// Builds the release binary and returns its path.
///
/// # Errors
/// If it does not compile.
pub fn release_binary() -> Result<PathBuf, Box<dyn Error>> {
    let format = ["--message-format", "json-render-diagnostics"];
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "--bin", "ciphermill"]).args(format);
    let output = build.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("the binary does not compile".into());
    }
    let executable = |line: &[u8]| {
        let message: Value = serde_json::from_slice(line).ok()?;
        (message["target"]["name"] == "ciphermill").then(|| message["executable"].as_str().map(PathBuf::from))?
    };
    let found = output.stdout.split(|&byte| byte == b'\n').find_map(executable);
    found.ok_or_else(|| "cargo does not name the binary".into())
}

/// Resident memory of a process in MiB; `None` if it has ended.
pub fn resident_mib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib / 1024)
}
