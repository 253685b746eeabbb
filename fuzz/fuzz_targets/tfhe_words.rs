//! Words and tables, and their bodies behind a good checksum.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::tfhe_words(data));
