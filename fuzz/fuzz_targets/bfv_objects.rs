//! BFV parameter sets, ciphertexts and keys, and their bodies behind a good checksum.
#![no_main]

#[path = "../../crates/bfv/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    invariants::bfv_objects(data);
});
