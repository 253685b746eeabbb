//! The full counts of fuzzing: `make evidence AREA=fuzz`.
//!
//! 50,000 mutated inputs, then ten minutes of libFuzzer for each target, two targets at a time. The figures of a target that
//! ends well are kept ([`Parts`]), so that a run that was stopped goes on with the others.
//!
//! `CIPHERMILL_FUZZ_SECONDS` shortens the time of a target, to try the runner; such figures are not reused.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use ciphermill_evidence as support;
use ciphermill_evidence::parts::Parts;
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
const SLOW: [(&str, &str); 2] = [
    (
        "blockspace_commands",
        "each input opens a store and a volume, with a database and a thread each, and waits for their commits",
    ),
    ("hls_compile", "each input that is C is evaluated in every iteration, scheduled and written as a module"),
];

/// All that a target is built from; the crate of this runner is not a part.
const SOURCES: [&str; 6] =
    ["Cargo.toml", "Cargo.lock", "fuzz", "scripts/fuzz.sh", "crates", ":(exclude)crates/evidence"];

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
    let parts = Parts::of("fuzz", &SOURCES)?;
    let fuzzed = all(&parts, &targets, seconds)?;
    support::write(&json!({ "mutations": mutations, "seconds_per_target": seconds, "targets": fuzzed }))?;
    parts.finish();
    Ok(())
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
fn all(parts: &Parts, targets: &[String], seconds: u64) -> Result<BTreeMap<String, Value>, Box<dyn Error>> {
    let (queue, outcomes) = (Mutex::new(targets.iter()), Mutex::new(BTreeMap::new()));
    let worker = || {
        loop {
            let Some(target) = queue.lock().expect("no panic").next() else { return };
            let outcome = one(parts, target, seconds);
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
fn one(parts: &Parts, target: &str, seconds: u64) -> Outcome {
    let mut record = parts.get(target, || fuzzed(target, seconds))?;
    let rate = record["inputs_per_s"].as_u64().ok_or("the figures have no rate")?;
    if rate < RATE {
        let reason = SLOW.iter().find(|(name, _)| *name == target);
        let (_, reason) = reason.ok_or_else(|| format!("{target}: {rate} inputs/s, below {RATE} without a reason"))?;
        record["below_1000_because"] = json!(reason);
    }
    Ok(record)
}

/// Runs one target.
fn fuzzed(target: &str, seconds: u64) -> Outcome {
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
        "inputs": stat("number_of_executed_units")?, "inputs_per_s": stat("average_exec_per_sec")?,
        "new_inputs": stat("new_units_added")?, "peak_mib": stat("peak_rss_mb")?,
    }))
}
