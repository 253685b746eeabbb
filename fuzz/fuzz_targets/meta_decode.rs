//! Metadata blocks, filled up with zeros.
#![no_main]

#[path = "../../crates/program/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    invariants::meta_decode(data);
});
