//! Units of NVMe/TCP and their headers.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::nvme_pdu(data));
