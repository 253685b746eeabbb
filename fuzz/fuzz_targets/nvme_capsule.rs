//! Commands and the records that they carry, both ways.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::nvme_capsule(data));
