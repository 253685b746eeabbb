//! The comparison with peers still compiles and agrees: `make evidence AREA=bench`.
//!
//! `bench/` is a separate workspace that no other target builds. Here it is built, and one quick case of each family runs. The
//! times of such a run are not figures; `make bench` measures.

use std::error::Error;
use std::process::{Command, Stdio};
use std::time::Instant;

use ciphermill_evidence as support;
use serde_json::{Map, Value, json};

/// Each family with the options that leave one case of it, or few.
const FAMILIES: [(&str, &str); 10] = [
    ("ntt", "--only n4096"),
    ("fft", "--only n4096"),
    ("pbs", "--params MESSAGE_2_2M64"),
    ("ks", "--params MESSAGE_2_2M64"),
    ("keygen", "--params MESSAGE_2_2M64"),
    ("table", "--only WORD_2M64/14"),
    ("hmvp", "--only row-packed/64x256"),
    ("modexp", "--only modexp/2048"),
    ("paillier", "--only paillier/2048"),
    ("python", ""),
];

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut record = Map::new();
    for (family, options) in FAMILIES {
        let output = directory.path().join(format!("{family}.json"));
        eprintln!("{family} {options}");
        let (begun, arguments) = (Instant::now(), format!("--quick {options}"));
        let status = Command::new("scripts/bench.sh")
            .envs([("CASES", family), ("BENCH_ARGS", arguments.as_str())])
            .env("BENCH_OUTPUT", &output)
            .stdout(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(format!("{family}: {status}").into());
        }
        let rows: Value = serde_json::from_slice(&std::fs::read(&output)?)?;
        let rows = rows.as_array().or_else(|| rows["rows"].as_array()).ok_or("the output has no rows")?;
        let right = rows.iter().filter(|row| row["correct"] == json!(true)).count();
        if rows.is_empty() || right != rows.len() {
            return Err(format!("{family}: {right} of {} rows agree", rows.len()).into());
        }
        let peers: std::collections::BTreeSet<&str> = rows.iter().filter_map(|row| row["peer"].as_str()).collect();
        let seconds = begun.elapsed().as_secs_f64();
        record.insert(family.to_owned(), json!({ "rows": rows.len(), "peers": peers, "wall_s": seconds }));
    }
    support::write(&Value::Object(record))
}
