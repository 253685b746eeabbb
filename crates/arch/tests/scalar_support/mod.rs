//! What the tests of the scalar baseline share.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

pub mod assemble;
pub mod tools;

use ciphermill_arch::scalar::{Baseline, Ring, ScalarMachine, Variant};
use ciphermill_math::Modulus;
use ciphermill_math::ntt::reference;

/// The Rocket core as described, and with the divider without early-out.
pub fn machine(early_out: bool) -> ScalarMachine {
    let mut machine = ScalarMachine::rocket().expect("the committed description is valid");
    machine.divider.early_out = early_out;
    machine
}

/// The greatest prime of 31 bits that all sizes up to 2^14 have roots for.
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

/// What a transform must give, by the reference of `ciphermill_math`.
pub fn expected(baseline: &Baseline, input: &[u32]) -> Vec<u32> {
    let (n, m) = (baseline.polynomial_size, baseline.modulus);
    let mut values: Vec<u64> = input.iter().map(|&word| word.into()).collect();
    match baseline.ring {
        Ring::Negacyclic => {
            reference::prime::forward(m, &mut values);
        }
        Ring::Cyclic => {
            // Sum of a_j ω^(jk) = sum of (a_j ψ^-j) ψ^(j(2k+1)): the negacyclic transform of the untwisted words, which the
            // reference leaves in bit-reversed order.
            let psi = m.primitive_root_2n(n).expect("the modulus has a root");
            let inverse = m.inverse(psi).expect("a root is not zero");
            let mut power = 1;
            for value in &mut values {
                *value = m.mul(*value, power);
                power = m.mul(power, inverse);
            }
            reference::prime::forward(m, &mut values);
            let bits = n.trailing_zeros();
            values = (0..n).map(|k| values[reference::bit_reverse(k, bits)]).collect();
        }
    }
    values.into_iter().map(|value| value as u32).collect()
}
