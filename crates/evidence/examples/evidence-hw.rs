//! The full counts behind the hardware units: `make evidence AREA=hw`.
//!
//! The tests of `ciphermill-cosim`, each unit at full size, with 1,000 random frames and more through each transform.
//! The record has the lines that they print: `counted: unit/configuration N random things`.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::json;

use ciphermill_evidence as support;

/// Random frames through each transform, in both directions and with both seeds together.
const FRAMES: u64 = 1000;
/// Every file of tests, with the name of its count, the least count, and the number of configurations in `make
/// hw-quick`; exponentiations are a thousand products each.
const TESTS: [(&str, &str, u64, usize); 8] = [
    ("arithmetic", "results", 30_000, 13),
    ("ntt_cg", "frames", FRAMES, 3),
    ("ntt_goldilocks", "frames", FRAMES, 1),
    ("dft_goldilocks", "rows", FRAMES, 1),
    ("ntt_goldilocks_shift", "frames", FRAMES, 1),
    ("mont_mul", "products", FRAMES, 3),
    ("mod_exp", "powers", 4, 3),
    ("rvfhe_lane", "programs", FRAMES, 1),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut record = serde_json::Map::new();
    for (test, things, least, configurations) in TESTS {
        let frames = FRAMES.to_string();
        let binary = ["-p", "ciphermill-cosim", "--test", test];
        let environment = [("CIPHERMILL_HW", "quick"), ("CIPHERMILL_HW_FRAMES", &frames)];
        let (mut run, said) = support::tests(&binary, &[], &environment)?;
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
        if counts.len() != configurations || counts.values().any(|&count| count < least) {
            let wanted = format!("at least {least} {things} of each of {configurations} configurations");
            return Err(format!("{test}: {counts:?} and not {wanted}").into());
        }
        run["counted"] = json!(things);
        run["random"] = json!(counts);
        record.insert(test.to_owned(), run);
    }
    support::write(&record.into())
}
