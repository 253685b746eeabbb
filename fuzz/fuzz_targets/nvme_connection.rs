//! Several hosts that talk to one target, out of order and against the rules.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::nvme_connection(data));
