//! Points of private set intersection, read and raised.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ciphermill_fuzz_bodies::psi_points(data));
