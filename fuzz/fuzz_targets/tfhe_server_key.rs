//! Bootstrapping and key-switching keys, judged and loaded.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::tfhe_server_key(data));
