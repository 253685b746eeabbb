//! The full counts behind the hardware units: `make evidence AREA=hw`.
//!
//! The tests of `ciphermill-cosim`, each unit at full size, with 1,000 random frames and more through each transform. What they
//! print is what is recorded: `counted: unit/configuration N random things`.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::json;

mod support;

/// Random frames through each transform, in both directions and with both seeds together.
const FRAMES: u64 = 1000;
/// Every file of tests, with what it counts; exponentiations are a thousand products each.
const TESTS: [(&str, &str, u64); 8] = [
    ("arithmetic", "results", 30_000),
    ("ntt_cg", "frames", FRAMES),
    ("ntt_goldilocks", "frames", FRAMES),
    ("dft_goldilocks", "rows", FRAMES),
    ("ntt_goldilocks_shift", "frames", FRAMES),
    ("mont_mul", "products", FRAMES),
    ("mod_exp", "powers", 4),
    ("rvfhe_lane", "programs", FRAMES),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut record = serde_json::Map::new();
    for (test, things, least) in TESTS {
        let frames = FRAMES.to_string();
        let binary = ["-p", "ciphermill-cosim", "--test", test];
        let (mut run, said) = support::tests(&binary, &[], &[("CIPHERMILL_HW_FRAMES", &frames)])?;
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for line in said.lines() {
            // Several tests write at a time, so that what belongs to another may stand before it.
            let Some((_, counted)) = line.split_once("counted: ") else { continue };
            let [configuration, number, "random", what] = counted.split(' ').collect::<Vec<_>>()[..] else {
                return Err(format!("{test}: a line that says something else: {line}").into());
            };
            if what != things {
                return Err(format!("{test}: {what} in place of {things}").into());
            }
            *counts.entry(configuration).or_default() += number.parse::<u64>()?;
        }
        if counts.is_empty() || counts.values().any(|&count| count < least) {
            return Err(format!("{test}: {counts:?} and not at least {least} {things} each").into());
        }
        run["counted"] = json!(things);
        run["random"] = json!(counts);
        record.insert(test.to_owned(), run);
    }
    support::write(&record.into())
}
