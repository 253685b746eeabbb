//! Several hosts that talk to one target, out of order and against the rules.
#![no_main]

#[path = "../../crates/nvme/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    invariants::nvme_connection(data);
});
