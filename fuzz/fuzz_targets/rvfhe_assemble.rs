//! Assembly texts of cores' programs.
#![no_main]

#[path = "../../crates/rvfhe/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    invariants::rvfhe_assemble(data);
});
