//! The full counts of fuzzing: `make evidence AREA=fuzz`.
//!
//! 50,000 mutated inputs, then ten minutes of libFuzzer for each target, two targets at a time. A target that ends well
//! leaves its figures in `fuzz/evidence/<target>.json`, so that a run that was stopped goes on with the others. They hold for
//! the sources of the targets: a commit that changes one of them begins again, as do changes that are not committed.
//!
//! `CIPHERMILL_FUZZ_SECONDS` shortens the time of a target, to try the runner; such figures are not reused.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use ciphermill_evidence as support;
use serde_json::{Value, json};

/// Time of a target, in seconds.
const SECONDS: u64 = 600;
/// Targets that run at the same time.
const AT_ONCE: usize = 2;
/// Least number of mutated inputs over all targets.
const MUTATED: u64 = 50_000;
/// Inputs per second that a target reaches, or has a reason in [`SLOW`].
const RATE: u64 = 1_000;
/// Targets below [`RATE`], and why.
const SLOW: [(&str, &str); 0] = [];

type Outcome = Result<Value, String>;

fn main() -> Result<(), Box<dyn Error>> {
    let targets = targets()?;
    let per_target = MUTATED.div_ceil(targets.len() as u64).to_string();
    let (mut mutations, said) = support::tests(
        &["--release", "-p", "ciphermill-fuzz-bodies", "--test", "mutations"],
        &[],
        &[("CIPHERMILL_MUTATIONS", &per_target)],
    )?;
    let count = support::number(&said, "", " mutated inputs without a panic");
    let count = count.filter(|count| *count >= MUTATED).ok_or("the test does not report its inputs")?;
    let longest = targets.iter().filter_map(|name| support::number(&said, &format!("{name}: longest "), " us")).max();
    mutations["inputs"] = json!(count);
    mutations["longest_ms"] = json!(longest.ok_or("the test does not report times")? as f64 / 1000.0);

    let seconds = std::env::var("CIPHERMILL_FUZZ_SECONDS").map_or(Ok(SECONDS), |text| text.parse())?;
    let fuzzed = all(&targets, seconds)?;
    support::write(&json!({ "mutations": mutations, "seconds_per_target": seconds, "targets": fuzzed }))
}

fn targets() -> Result<Vec<String>, Box<dyn Error>> {
    let mut names = Vec::new();
    for entry in fs::read_dir("fuzz/fuzz_targets")? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Runs the targets; one that fails does not keep the others from running.
fn all(targets: &[String], seconds: u64) -> Result<BTreeMap<String, Value>, Box<dyn Error>> {
    let (queue, outcomes) = (Mutex::new(targets.iter()), Mutex::new(BTreeMap::new()));
    let worker = || {
        loop {
            let Some(target) = queue.lock().expect("no panic").next() else { return };
            let outcome = one(target, seconds);
            outcomes.lock().expect("no panic").insert(target.clone(), outcome);
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(worker))));
    let outcomes: BTreeMap<String, Outcome> = outcomes.into_inner()?;
    let failed: Vec<&String> = outcomes.values().filter_map(|outcome| outcome.as_ref().err()).collect();
    if !failed.is_empty() {
        return Err(failed.iter().map(|error| error.as_str()).collect::<Vec<_>>().join("\n").into());
    }
    Ok(outcomes.into_iter().filter_map(|(name, outcome)| Some((name, outcome.ok()?))).collect())
}

/// The figures of one target, with the reason if it is slow.
fn one(target: &str, seconds: u64) -> Outcome {
    let (file, sources) = (kept(target), sources()?);
    let earlier = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let same = |record: &Value| sources.is_some() && record["sources"] == json!(sources) && seconds == SECONDS;
    let mut record = match earlier.filter(same) {
        Some(record) => {
            eprintln!("{target}: {} has the figures of these sources", file.display());
            record
        }
        None => {
            let record = fuzzed(target, seconds, sources)?;
            if seconds == SECONDS {
                keep(&file, &record).map_err(|error| format!("{}: {error}", file.display()))?;
            }
            record
        }
    };
    let rate = record["inputs_per_s"].as_u64().ok_or("the figures have no rate")?;
    if rate < RATE {
        let reason = SLOW.iter().find(|(name, _)| *name == target);
        let (_, reason) = reason.ok_or_else(|| format!("{target}: {rate} inputs/s, below {RATE} without a reason"))?;
        record["below_1000_because"] = json!(reason);
    }
    Ok(record)
}

/// Runs one target.
fn fuzzed(target: &str, seconds: u64, sources: Option<String>) -> Outcome {
    eprintln!("{target}: {seconds} s");
    let output = Command::new("scripts/fuzz.sh")
        .env("FUZZ_TARGETS", target)
        .env("FUZZ_SECONDS", seconds.to_string())
        .stderr(Stdio::null())
        .output()
        .map_err(|error| format!("{target}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("{target}: {}\n{said}", output.status));
    }
    let stat = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(&format!("stat::{name}:")));
        line.and_then(|rest| rest.trim().parse::<u64>().ok()).ok_or_else(|| format!("{target}: no {name} in\n{said}"))
    };
    Ok(json!({
        "sources": sources, "inputs": stat("number_of_executed_units")?,
        "inputs_per_s": stat("average_exec_per_sec")?, "new_inputs": stat("new_units_added")?,
        "peak_mib": stat("peak_rss_mb")?,
    }))
}

fn kept(target: &str) -> PathBuf {
    Path::new("fuzz/evidence").join(target).with_extension("json")
}

fn keep(file: &Path, record: &Value) -> std::io::Result<()> {
    fs::create_dir_all("fuzz/evidence")?;
    fs::write(file, record.to_string())
}

/// The hash of all that a target is built from; `None` if some of it is not committed. The crate of this runner is not a part.
fn sources() -> Result<Option<String>, String> {
    const PARTS: [&str; 6] =
        ["Cargo.toml", "Cargo.lock", "fuzz", "scripts/fuzz.sh", "crates", ":(exclude)crates/evidence"];
    let parts = |arguments: &[&'static str]| git(&[arguments, &["--"], &PARTS].concat(), &[]);
    if !parts(&["status", "--porcelain"])?.is_empty() {
        return Ok(None);
    }
    // The mode, hash and name of each file.
    let hash = git(&["hash-object", "--stdin"], &parts(&["ls-files", "--stage"])?)?;
    Ok(Some(String::from_utf8_lossy(&hash).trim().to_owned()))
}

fn git(arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("git {}: {error}", arguments.join(" "));
    let mut child = Command::new("git")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    // Closed when it is written, which is before git says anything.
    child.stdin.take().ok_or_else(|| failed(&"no input"))?.write_all(input).map_err(|error| failed(&error))?;
    let output = child.wait_with_output().map_err(|error| failed(&error))?;
    if output.status.success() { Ok(output.stdout) } else { Err(failed(&output.status)) }
}
