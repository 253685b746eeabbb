//! Parameter sets, ciphertexts, test vectors and GGSW ciphertexts, and their bodies behind a good checksum.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::tfhe_objects(data));
