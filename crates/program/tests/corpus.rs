//! Replays the fuzzers' corpora and, from each seed, a fixed set of mutations.

mod invariants;
mod replay;

use replay::replay;

#[test]
fn program_decode() {
    replay("program_decode", invariants::program_decode, &["xy", "xy_body", "every_instruction", "hmvp", "paillier"]);
}

#[test]
fn program_assemble() {
    replay("program_assemble", invariants::program_assemble, &["xy", "bound", "literals", "hmvp", "paillier"]);
}

#[test]
fn meta_decode() {
    replay("meta_decode", invariants::meta_decode, &["armed", "stored", "unchecked"]);
}
