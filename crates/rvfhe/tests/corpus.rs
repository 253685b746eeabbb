//! Replays the fuzzers' corpora and, from each seed, a fixed set of mutations.

mod invariants;
#[path = "../../program/tests/replay/mod.rs"]
mod replay;

use replay::replay;

#[test]
fn rvfhe_decode() {
    replay("rvfhe_decode", invariants::rvfhe_decode, &["every_instruction", "loop", "one"]);
}

#[test]
fn rvfhe_assemble() {
    replay("rvfhe_assemble", invariants::rvfhe_assemble, &["every_instruction", "loop", "spaces"]);
}
