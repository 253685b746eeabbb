//! TFHE's noise: whole bootstraps of 30 keys × 100 samples within 10 % of the predicted variance and 4 standard errors of
//! the mean, and 20,000 decryptions and bootstraps at raised noise against the predicted failure probability.

use std::error::Error;

use serde_json::Value;

use ciphermill_evidence as support;

/// The tests of `crates/tfhe/tests/noise`, with the counts of the evidence. The stages of words are another record's.
const TFHE_NOISE: (&[&str], &[&str], &[(&str, &str)]) = (
    &["-p", "ciphermill-tfhe", "--test", "integration"],
    &["noise::", "--skip", "noise::words::", "--test-threads=1"],
    &[("CIPHERMILL_NOISE", "full")],
);

/// Comparisons that `TFHE_NOISE` prints: three for each of two orders of nine pairs of set and back end; two of
/// decryptions, two of look-ups and four of bootstraps.
const TFHE_RECORDS: usize = 3 * 2 * 9 + 2 + 2 + 4;

pub(crate) fn run() -> Result<Value, Box<dyn Error>> {
    let (binary, arguments, environment) = TFHE_NOISE;
    let (mut run, said) = support::tests(binary, arguments, environment)?;
    run["seeds"] = support::seeds(&said).into();
    run["comparisons"] = support::records(&said, "noise record", TFHE_RECORDS)?.into();
    Ok(run)
}
