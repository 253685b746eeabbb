//! The full counts behind the exact functions of words: `make evidence AREA=table`.
//!
//! Parts that are complete are kept ([`parts`]), so that a run that was stopped goes on with the others.

use std::error::Error;

use ciphermill_evidence as support;
use ciphermill_evidence::parts::{self, Part};
use serde_json::{Value, json};

const TESTS: &[&str] = &["--release", "-p", "ciphermill-tfhe", "--test", "integration"];

const PARTS: [Part; 3] = [("inputs", inputs), ("integers", integers), ("noise", noise)];

/// All inputs of three functions of 14 bits and 4096 inputs of one of 16 bits on the best path, and three of each on the
/// others.
fn inputs() -> Result<Value, Box<dyn Error>> {
    let (mut run, said) = support::tests(TESTS, &["words::functions_of_"], &[("CIPHERMILL_TABLES", "full")])?;
    // Both tests name every path.
    let paths = said.lines().filter(|line| ["portable:", "avx2:", "avx512:"].contains(line)).count();
    let records = support::records(&said, "table record", paths)?;
    for (bits, tables, inputs) in [(14, 3, 1 << 14), (16, 1, 4096)] {
        let full = json!({ "bits": bits, "tables": tables, "inputs": inputs, "errors": 0 });
        if !records.contains(&full) {
            return Err(format!("no line {full} among {records:?}").into());
        }
    }
    run["seeds"] = support::seeds(&said).into();
    run["look_ups"] = records.into();
    Ok(run)
}

/// Integers of 14 bits, and of every width.
fn integers() -> Result<Value, Box<dyn Error>> {
    support::tests(TESTS, &["words::integers_of_"], &[]).map(|(record, _)| record)
}

/// Comparisons of stages: nine for each of three sets.
const STAGES: usize = 3 * 9;
/// Counts of failures: digits read and decrypted at three noises, look-ups and splits at one.
const COUNTS: usize = 2 * 3 + 2;
/// The measured standard deviation over that of the model. Where the model bounds a part, the lower end is that much smaller.
const RATIO: std::ops::RangeInclusive<f64> = 0.85..=1.05;
/// 99 % of a normal distribution lie within this number of standard deviations.
const INTERVAL: f64 = 2.576;

/// Each stage against the noise model, 20 keys of 400 samples, and 20,000 decryptions at raised noise.
fn noise() -> Result<Value, Box<dyn Error>> {
    let arguments = &["noise::words::", "--test-threads=1"];
    let (mut run, said) = support::tests(TESTS, arguments, &[("CIPHERMILL_NOISE", "full")])?;
    let mut comparisons = support::records(&said, "noise record", STAGES + COUNTS)?;
    for stage in &mut comparisons {
        let figure = |name: &str| stage[name].as_f64();
        let Some((ratio, deviation)) = figure("variance_ratio").zip(figure("variance_deviation")) else { continue };
        let least = figure("least_ratio").ok_or("a stage without a least ratio")?.sqrt();
        // The relative error of a standard deviation is half of that of the variance.
        let (ratio, error) = (ratio.sqrt(), INTERVAL * deviation / 2.0);
        if !(least * RATIO.start()..=*RATIO.end()).contains(&ratio) {
            return Err(format!("{}: {ratio:.3} of the modelled standard deviation", stage["case"]).into());
        }
        stage["deviation_ratio"] = json!(ratio);
        stage["deviation_ratio_99"] = json!([ratio * (1.0 - error), ratio * (1.0 + error)]);
    }
    run["seeds"] = support::seeds(&said).into();
    run["comparisons"] = comparisons.into();
    Ok(run)
}

fn main() -> Result<(), Box<dyn Error>> {
    parts::run("table", &["Cargo.toml", "Cargo.lock", "crates"], &PARTS)
}
