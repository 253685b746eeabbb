//! Paillier keys, vectors and weights, and their bodies behind a good checksum.
#![no_main]

#[path = "../../crates/paillier/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    invariants::paillier_objects(data);
});
