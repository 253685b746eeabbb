//! Words, and the programs of cores.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::rvfhe_decode(data));
