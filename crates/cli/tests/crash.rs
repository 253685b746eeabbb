//! kill -9 of `ciphermill serve` at random moments: a share of the rounds of `make evidence AREA=nvme`.

use crate::crash_support::{Crashes, Tally};
use std::path::Path;

/// Half of the rounds with a fixed seed, half with a fresh one.
const ROUNDS: u64 = 8;

#[test]
fn a_killed_server_loses_nothing_it_acknowledged_and_tears_nothing() {
    let fresh = ciphermill_testing::fresh_seed("kills");
    let directory = tempfile::tempdir().expect("a directory");
    let binary = Path::new(env!("CARGO_BIN_EXE_ciphermill"));
    let mut tally = Tally::default();
    for (name, seed) in [("fixed", 20), ("fresh", fresh)] {
        let store = directory.path().join(name);
        let mut crashes = Crashes::new(binary, &store, seed);
        for _ in 0..ROUNDS / 2 {
            crashes.round(&mut tally);
        }
        crashes.finish(&mut tally);
    }
    println!("{tally:?}");
    assert_eq!(tally.kills, ROUNDS);
    assert!(tally.acknowledged > 100, "the writers must have got somewhere: {tally:?}");
}
