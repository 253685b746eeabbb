//! Stored programs, and bodies behind a good checksum.
#![no_main]

#[path = "../../crates/program/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    invariants::program_decode(data);
});
