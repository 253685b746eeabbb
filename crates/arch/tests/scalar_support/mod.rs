//! Common parts of the tests of the scalar baseline.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

pub mod assemble;
pub mod tools;

use ciphermill_arch::scalar::{Baseline, Ring, ScalarMachine, Variant};
use ciphermill_math::Modulus;

/// The Rocket core as described, and with the divider without early-out.
pub fn machine(early_out: bool) -> ScalarMachine {
    let mut machine = ScalarMachine::rocket().expect("the committed description is valid");
    machine.divider.early_out = early_out;
    machine
}

/// The largest 31-bit prime with roots for all sizes up to 2^14.
pub fn modulus() -> Modulus {
    ciphermill_math::modulus::ntt_primes(31, Baseline::POLYNOMIAL_SIZE_MAX).next().expect("there are such primes")
}

pub fn baseline(variant: Variant, ring: Ring, polynomial_size: usize) -> Baseline {
    Baseline { variant, ring, polynomial_size, modulus: modulus() }
}

/// Words below the modulus, by a linear congruential generator (Knuth's MMIX constants).
pub fn words(count: usize, modulus: Modulus, seed: u64) -> Vec<u32> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 32) % modulus.value()) as u32
        })
        .collect()
}

/// The expected transform, by the reference of `ciphermill_math`.
pub fn expected(baseline: &Baseline, input: &[u32]) -> Vec<u32> {
    baseline.golden(input).expect("size, modulus and input fit")
}
