//! Replays the fuzzers' corpora and, from each seed, a fixed set of mutations.

mod invariants;
#[path = "../../program/tests/replay/mod.rs"]
mod replay;

use replay::replay;

#[test]
fn paillier_objects() {
    let accepted = [
        "ciphertexts",
        "plaintexts",
        "public_key",
        "public_key_strict",
        "sealed_ciphertexts",
        "sealed_public_key",
        "secret_key",
        "weights",
    ];
    replay("paillier_objects", invariants::paillier_objects, &accepted);
}

#[test]
fn paillier_host() {
    let accepted = ["every_instruction", "no_instruction", "refused_operands", "response", "sealed_every_instruction"];
    replay("paillier_host", invariants::paillier_host, &accepted);
}
