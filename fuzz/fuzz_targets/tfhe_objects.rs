//! Parameter sets, ciphertexts, test vectors and GGSW ciphertexts, and their bodies behind a good checksum.
#![no_main]

#[path = "../../crates/tfhe/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    invariants::tfhe_objects(data);
});
