//! Replays the fuzzers' corpora and, from each seed, a fixed set of mutations.

use crate::replay::replay;

#[test]
fn program_decode() {
    replay(
        "program_decode",
        crate::invariants::program_decode,
        &["xy", "xy_body", "every_instruction", "hmvp", "paillier"],
    );
}

#[test]
fn program_assemble() {
    replay("program_assemble", crate::invariants::program_assemble, &["xy", "bound", "literals", "hmvp", "paillier"]);
}

#[test]
fn meta_decode() {
    replay("meta_decode", crate::invariants::meta_decode, &["armed", "stored", "unchecked"]);
}
