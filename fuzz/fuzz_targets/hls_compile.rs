//! C sources through the compiler to SystemVerilog.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::hls_compile(data));
