//! The full counts behind the served device: `make evidence AREA=nvme`.
//!
//! kill -9 of a server under load, power cuts of the volume and of the adapter, the adapter compared with its model,
//! hostile clients, a stock Linux kernel, and the figures of `ciphermill bench nvme`. All that can run at a share in
//! `make test` is the same code here, with other numbers.
//!
//! `CIPHERMILL_EVIDENCE_PARTS`, a list of names with commas, takes some parts only, to try them.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

#[path = "../../cli/tests/crash_support/mod.rs"]
mod crash_support;
use ciphermill_evidence as support;

use crash_support::{Crashes, Tally};

/// Rounds of kill -9 on each of two stores, one with a fixed seed and one with a fresh one.
const KILLS: u64 = 500;
/// Least number of acknowledged writes in all rounds together, so that the kills are meaningful.
const ACKNOWLEDGED: u64 = 10_000;

/// Tests of the workspace that run at full counts.
struct Part {
    name: &'static str,
    /// Arguments of `cargo test` that name the binary.
    binary: &'static [&'static str],
    /// Arguments of the binary.
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
    /// Counts in the output of the tests: the text before and after the number, its name in the record, the least
    /// value.
    counts: &'static [Count],
}

struct Count {
    before: &'static str,
    after: &'static str,
    name: &'static str,
    least: u64,
}

const PARTS: [Part; 4] = [
    Part {
        name: "volume-power-cuts",
        binary: &["-p", "ciphermill-blockspace", "--test", "volume"],
        arguments: &["crash::"],
        environment: &[("VOLUME_POWER_CUTS", "8500")],
        counts: &[Count { before: "", after: " power cuts in lives up to seed", name: "power_cuts", least: 8500 }],
    },
    Part {
        name: "adapter",
        binary: &["-p", "ciphermill-blockspace", "--test", "adapter"],
        arguments: &[],
        environment: &[("CIPHERMILL_EVIDENCE_NVME", "1")],
        counts: &[
            Count { before: "evidence: adapter power cuts ", after: "", name: "power_cuts", least: 1500 },
            Count { before: "evidence: adapter model sequences ", after: "", name: "model_sequences", least: 20_000 },
        ],
    },
    Part {
        name: "hostile-clients",
        binary: &["-p", "ciphermill-nvme", "--test", "target"],
        arguments: &[],
        environment: &[],
        counts: &[],
    },
    Part {
        name: "linux",
        binary: &["-p", "ciphermill", "--test", "linux"],
        arguments: &[],
        environment: &[],
        // Without its guest the test passes and says that it was skipped.
        counts: &[Count { before: "the guest took ", after: " s", name: "guest_seconds", least: 1 }],
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    let chosen = std::env::var("CIPHERMILL_EVIDENCE_PARTS").ok();
    let takes = |name: &str| chosen.as_ref().is_none_or(|chosen| chosen.split(',').any(|part| part == name));
    let parts: Vec<&Part> = PARTS.iter().filter(|part| takes(part.name)).collect();
    // Built first, so that the times are those of the tests.
    let binary = support::release_binary()?;
    for part in &parts {
        let status = support::cargo().args(["test", "--quiet", "--locked", "--no-run"]).args(part.binary).status()?;
        if !status.success() {
            return Err(format!("{}: the tests do not compile", part.name).into());
        }
    }
    let mut record = serde_json::Map::new();
    // First, as its figures are of a machine that does nothing else.
    if takes("bench") {
        record.insert("bench".to_owned(), support::command("bench nvme")?);
    }
    if takes("kills") {
        record.insert("kills".to_owned(), kills(&binary)?);
    }
    for part in parts {
        record.insert(part.name.to_owned(), part.run()?);
    }
    support::write(&Value::Object(record))
}

/// kill -9 at random moments. A version that may not be there, or half of one, panics with its name.
fn kills(binary: &Path) -> Result<Value, Box<dyn Error>> {
    let fresh = ciphermill_testing::fresh_seed("kills");
    let directory = tempfile::tempdir_in(".")?;
    let (begun, mut tally) = (Instant::now(), Tally::default());
    for (name, seed) in [("fixed", 20), ("fresh", fresh)] {
        eprintln!("{KILLS} kills, seed {seed:#x}");
        let mut crashes = Crashes::new(binary, &directory.path().join(name), seed);
        for _ in 0..KILLS {
            crashes.round(&mut tally);
        }
        crashes.finish(&mut tally);
    }
    if tally.acknowledged < ACKNOWLEDGED {
        return Err(format!("only {} writes were acknowledged: the kills prove little", tally.acknowledged).into());
    }
    Ok(json!({
        "kills": tally.kills, "fresh_seed": format!("{fresh:#x}"), "acknowledged_writes": tally.acknowledged,
        "blocks_checked": tally.blocks_checked, "objects_checked": tally.objects_checked,
        "lost": 0, "torn": 0, "wall_s": begun.elapsed().as_secs_f64(),
    }))
}

impl Part {
    /// Runs the tests; all must pass and print the expected counts.
    fn run(&self) -> Result<Value, Box<dyn Error>> {
        let (mut record, said) = support::tests(self.binary, self.arguments, self.environment)?;
        for count in self.counts {
            let found = support::number(&said, count.before, count.after);
            let least = |found: &u64| *found >= count.least;
            let found = found.filter(least).ok_or_else(|| {
                format!("{}: {} is {found:?} and not at least {}\n{said}", self.name, count.name, count.least)
            })?;
            record[count.name] = json!(found);
        }
        Ok(record)
    }
}
