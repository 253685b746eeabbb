//! Bootstrapping and key-switching keys, judged and loaded.
#![no_main]

#[path = "../../crates/tfhe/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    invariants::tfhe_server_key(data);
});
