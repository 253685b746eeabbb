//! The full counts for the label `rtl-checked`: `make evidence AREA=lane`.
//!
//! Runs the tests of `crates/cosim/tests/array_lane.rs` in all configurations of the lanes, with ten times as many
//! random programs as `make test`. The recorded output consists of lines with `record:` and a record in the common
//! format.

use std::error::Error;

use ciphermill_arch::record::{Label, Record};
use serde_json::{Value, json};

// What the evidence programs have in common stands with the most of them.
use ciphermill_evidence as support;

/// The number of random programs for both seeds with four lanes; a tenth of it with 32 lanes.
const PROGRAMS: &str = "12000";
const CONFIGURATIONS: [&str; 3] = ["l4_a2", "l4_a1", "l32_a2"];
/// The maximum accepted deviation of cycles.
const MAX_DEVIATION: f64 = 0.01;

fn main() -> Result<(), Box<dyn Error>> {
    let binary = ["-p", "ciphermill-cosim", "--test", "array_lane"];
    let environment = [("CIPHERMILL_HW", "rvfhe_lane"), ("CIPHERMILL_HW_FRAMES", PROGRAMS)];
    let (mut run, said) = support::tests(&binary, &[], &environment)?;
    // Several tests write at a time, so another test's output may precede the record on its line.
    let lines = said.lines().filter_map(|line| line.split_once("record: "));
    let mut records: Vec<Record> = lines.map(|(_, record)| serde_json::from_str(record)).collect::<Result<_, _>>()?;
    records.sort_by(|a, b| a.case.cmp(&b.case));
    for configuration in CONFIGURATIONS {
        for kind in ["compiled", "random"] {
            let case = format!("arch-lane/{configuration}/{kind}");
            let record =
                records.iter().find(|record| record.case == case).ok_or_else(|| format!("no record {case}"))?;
            let deviation = record.params.get("deviation").and_then(Value::as_f64);
            let deviation = deviation.ok_or_else(|| format!("{case} has no deviation"))?;
            if record.label != Label::RtlChecked || record.cycles == 0 || deviation.abs() > MAX_DEVIATION {
                return Err(format!("{case}: {record:?}").into());
            }
        }
    }
    run["records"] = json!(records);
    support::write(&json!({ "array_lane": run }))
}
