//! Streams of instructions for the host of Paillier's accelerators; what can be read is executed.
#![no_main]

#[path = "../../crates/paillier/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    invariants::paillier_host(data);
});
