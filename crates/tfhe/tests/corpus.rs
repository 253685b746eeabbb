//! Replays the fuzzers' corpora and, from each seed, a fixed set of mutations.

use crate::replay::replay;

#[test]
fn tfhe_objects() {
    let accepted =
        ["parameter_set", "ciphertext_small", "ciphertext_big", "table_u32", "table_u64", "ggsw", "sealed_ciphertext"];
    replay("tfhe_objects", crate::invariants::tfhe_objects, &accepted);
}

#[test]
fn tfhe_words() {
    replay("tfhe_words", crate::invariants::tfhe_words, &["dense", "dense_odd", "diagram", "word"]);
}

#[test]
fn tfhe_client_key() {
    replay("tfhe_client_key", crate::invariants::tfhe_client_key, &["keys", "sealed"]);
}

#[test]
fn tfhe_server_key() {
    let accepted = ["seeded_u32", "full_u64", "two_sets", "sealed_keyswitch"];
    replay("tfhe_server_key", crate::invariants::tfhe_server_key, &accepted);
}
