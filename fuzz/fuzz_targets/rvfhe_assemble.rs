//! Assembly texts of cores' programs.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::rvfhe_assemble(data));
