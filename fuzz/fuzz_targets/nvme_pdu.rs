//! Units of NVMe/TCP and their headers.
#![no_main]

#[path = "../../crates/nvme/tests/invariants/mod.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    invariants::nvme_pdu(data);
});
