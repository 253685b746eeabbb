//! The full counts behind the compiler of C: `make evidence AREA=hls`.
//!
//! Random programs through every pass, and some of them in RTL; intervals of random loops against an exact solver; all
//! configurations of the transforms; proofs of small kernels; faults in the compiler. Arguments name the parts to run; without arguments, all run.

use std::error::Error;
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Map, Value, json};

use ciphermill_evidence as support;

/// Random programs through every pass, and in RTL.
const PROGRAMS: usize = 50_000;
const RTL_PROGRAMS: usize = 300;
/// Random loops against the solver.
const LOOPS: usize = 200;
/// Transforms at sizes, numbers of butterflies and moduli: cyclic ones at 23 pairs of a size and a modulus, negacyclic ones at
/// 20. Other pairs have no root.
const CONFIGURATIONS: usize = 5 * (4 * 23 + 2 * 20);
/// Proofs of small kernels.
const PROOFS: usize = 8;
/// Faults in the compiler.
const FAULTS: usize = 30;
/// The Python of the hardware's tools, which `scripts/setup.sh hw` installs.
const TOOLS: &str = ".tools/hw/bin/python";
/// The Python of OR-tools, which `scripts/setup.sh hls-oracle` installs.
const ORACLE: &str = ".tools/hls-oracle/bin/python";

type Part = (&'static str, fn() -> Result<Value, Box<dyn Error>>);
const PARTS: [Part; 6] = [
    ("configurations", configurations),
    ("loops", loops),
    ("proofs", proofs),
    ("faults", faults),
    ("rtl_programs", rtl_programs),
    ("programs", programs),
];

fn main() -> Result<(), Box<dyn Error>> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = asked.iter().find(|name| !PARTS.iter().any(|(part, _)| part == name)) {
        return Err(format!("{unknown} is not a part; use {}", PARTS.map(|(part, _)| part).join(", ")).into());
    }
    let mut record = Map::new();
    for (name, part) in PARTS {
        if asked.is_empty() || asked.iter().any(|one| one == name) {
            eprintln!("{name}");
            let begun = Instant::now();
            let mut result = part()?;
            result["wall_s"] = json!(begun.elapsed().as_secs_f64());
            record.insert(name.to_owned(), result);
        }
    }
    support::write(&record.into())
}

/// An example of the compiler's crate. Returns its output.
fn example(name: &str, arguments: &[String]) -> Result<Vec<u8>, Box<dyn Error>> {
    let output = support::cargo()
        .args(["run", "--quiet", "--release", "--locked", "-p", "ciphermill-hls", "--example", name, "--"])
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("{name}: {}", output.status).into());
    }
    Ok(output.stdout)
}

/// All configurations of the transforms: compiled in time, at their floors, simulated, right by their definitions.
fn configurations() -> Result<Value, Box<dyn Error>> {
    let record: Value = serde_json::from_slice(&example("configurations", &[])?)?;
    at_least("configurations", &record["configurations"], CONFIGURATIONS)?;
    Ok(record)
}

/// Every pass against the C compiler.
fn programs() -> Result<Value, Box<dyn Error>> {
    let record: Value = serde_json::from_slice(&example("random_programs", &[PROGRAMS.to_string()])?)?;
    at_least("programs", &record["programs"], PROGRAMS)?;
    // The compiler may refuse a program, but not so many that the check becomes empty.
    at_least("scheduled programs", &record["scheduled"], PROGRAMS * 7 / 10)?;
    Ok(record)
}

/// Programs as modules, simulated together with benches that check their memories.
fn rtl_programs() -> Result<Value, Box<dyn Error>> {
    let count = RTL_PROGRAMS.to_string();
    let environment = [("HLS_RTL_PROGRAMS", count.as_str()), ("CIPHERMILL_REQUIRE", "rtl")];
    let (mut run, said) = support::tests(&["-p", "ciphermill-hls", "--test", "random_rtl"], &[], &environment)?;
    let programs = support::number(&said, "in RTL: ", " programs").ok_or("random_rtl counts no programs")?;
    at_least("programs in RTL", &json!(programs), RTL_PROGRAMS)?;
    run["programs"] = json!(programs);
    Ok(run)
}

/// Intervals against CP-SAT. A schedule or a proof that the solver refuses is an error, and so is an interval that is not the
/// least. Loops for which the solver proves nothing within its time limit are counted and listed.
fn loops() -> Result<Value, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("loops.jsonl");
    std::fs::write(&path, example("loops", &[LOOPS.to_string()])?)?;
    let said = python(ORACLE, &["hw/flow/hls_oracle.py".as_ref(), path.as_os_str(), "--json".as_ref()])?;
    let record: Value = serde_json::from_str(&said)?;
    at_least("loops", &record["loops"], LOOPS)?;
    for list in ["longer", "impossible", "refuted_proofs"] {
        none(list, &record[list])?;
    }
    Ok(record)
}

/// Modules of small kernels against the unscheduled program, for all contents of their memories.
fn proofs() -> Result<Value, Box<dyn Error>> {
    let said = python(TOOLS, &["hw/flow/prove.py".as_ref(), "hls".as_ref()])?;
    let proved: Vec<&str> = said.lines().filter(|line| line.starts_with("proved ")).collect();
    at_least("proofs", &json!(proved.len()), PROOFS)?;
    Ok(json!({ "proved": proved }))
}

/// Faults in the compiler, each of which a test must find.
fn faults() -> Result<Value, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("faults.json");
    python(TOOLS, &["hw/flow/hls_faults.py".as_ref(), "--json".as_ref(), path.as_os_str()])?;
    let record: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    at_least("caught faults", &record["caught"], FAULTS)?;
    Ok(record)
}

/// Runs a script of the repository. Returns its output.
fn python(interpreter: &str, arguments: &[&OsStr]) -> Result<String, Box<dyn Error>> {
    let output = Command::new(interpreter).args(arguments).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{interpreter}: {error}; run scripts/evidence.sh hls"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        return Err(format!("{arguments:?}: {}\n{said}", output.status).into());
    }
    Ok(said)
}

fn none(name: &str, list: &Value) -> Result<(), Box<dyn Error>> {
    match list.as_array() {
        Some(list) if list.is_empty() => Ok(()),
        _ => Err(format!("{name}: {list}, an empty list is asked").into()),
    }
}

fn at_least(name: &str, found: &Value, least: usize) -> Result<(), Box<dyn Error>> {
    match found.as_u64() {
        Some(found) if found >= least as u64 => Ok(()),
        _ => Err(format!("{found} {name}, at least {least} are asked").into()),
    }
}
