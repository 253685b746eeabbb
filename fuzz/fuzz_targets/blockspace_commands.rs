//! Commands on a namespace of objects, against a model of it.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::blockspace_commands(data));
