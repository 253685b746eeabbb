//! Streams of instructions for the host of Paillier's accelerators; what can be read is executed.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::paillier_host(data));
