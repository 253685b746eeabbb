//! Commands and the records that they carry, both ways.
#![no_main]

#[path = "../../crates/nvme/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    invariants::nvme_capsule(data);
});
