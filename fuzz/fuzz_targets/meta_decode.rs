//! Metadata blocks, filled up with zeros.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::meta_decode(data));
