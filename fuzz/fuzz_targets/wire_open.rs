//! Sealed objects, in memory and as a stream.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::wire_open(data));
