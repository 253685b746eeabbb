//! Assembly texts, without bindings and with those of the paper's program.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::program_assemble(data));
