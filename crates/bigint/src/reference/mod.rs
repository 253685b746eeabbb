//! The plain definitions, by a general big-number library and in as many words.

mod cios;

pub use cios::{Cios256, DIGIT_BITS, Step};

use num_bigint::BigUint;

/// a·b mod n.
pub fn multiply(a: &BigUint, b: &BigUint, n: &BigUint) -> BigUint {
    a * b % n
}

/// base^exponent mod n, bit by bit.
pub fn pow(base: &BigUint, exponent: &BigUint, n: &BigUint) -> BigUint {
    let mut power = BigUint::from(1u32) % n;
    for bit in (0..exponent.bits()).rev() {
        power = multiply(&power, &power, n);
        if exponent.bit(bit) {
            power = multiply(&power, base, n);
        }
    }
    power
}
