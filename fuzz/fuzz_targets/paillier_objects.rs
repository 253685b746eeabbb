//! Paillier keys, vectors and weights, and their bodies behind a good checksum.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::paillier_objects(data));
