//! Secret keys, and their bodies behind a good checksum.
#![no_main]

#[path = "../../crates/tfhe/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    invariants::tfhe_client_key(data);
});
