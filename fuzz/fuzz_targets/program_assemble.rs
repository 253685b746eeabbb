//! Assembly texts, without bindings and with those of the paper's program.
#![no_main]

#[path = "../../crates/program/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    invariants::program_assemble(data);
});
