//! Replays the fuzzers' corpora and, from each seed, a fixed set of mutations.

use crate::replay::replay;

#[test]
fn paillier_objects() {
    let accepted = [
        "ciphertexts",
        "plaintexts",
        "public_key",
        "public_key_strict",
        "sealed_ciphertexts",
        "sealed_fixed_point",
        "sealed_packed",
        "sealed_public_key",
        "secret_key",
        "weights",
    ];
    replay("paillier_objects", crate::invariants::paillier_objects, &accepted);
}

#[test]
fn paillier_host() {
    let accepted = ["every_instruction", "no_instruction", "refused_operands", "response", "sealed_every_instruction"];
    replay("paillier_host", crate::invariants::paillier_host, &accepted);
}
