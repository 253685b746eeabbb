//! Replays the fuzzer's corpus and, from each seed, a fixed set of mutations.

use crate::replay::replay;

#[test]
fn bfv_objects() {
    let accepted = [
        "ciphertext",
        "ciphertext_three_parts",
        "galois_keys",
        "galois_keys_none",
        "parameter_set",
        "parameter_set_secure",
        "public_key",
        "relinearization_key",
        "sealed_ciphertext_seeded",
        "sealed_galois_keys",
        "secret_key",
        "sum_plan",
        "sum_plan_secure",
        "sum_public_key",
        "sums",
    ];
    replay("bfv_objects", crate::invariants::bfv_objects, &accepted);
}
