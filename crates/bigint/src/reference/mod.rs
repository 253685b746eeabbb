//! The plain definitions, by a general big-number library and in as many words.

mod cios;

pub use cios::{Cios256, DIGIT_BITS, Step};

use num_bigint::BigUint;

/// The number of little-endian limbs.
///
/// ```
/// assert_eq!(ciphermill_bigint::reference::big(&[0, 1]), num_bigint::BigUint::from(1u128 << 64));
/// ```
pub fn big(limbs: &[u64]) -> BigUint {
    BigUint::from_slice(&limbs.iter().flat_map(|&limb| [limb as u32, (limb >> 32) as u32]).collect::<Vec<_>>())
}

/// a·b mod n.
pub fn multiply(a: &BigUint, b: &BigUint, n: &BigUint) -> BigUint {
    a * b % n
}

/// base^exponent mod n, bit by bit.
///
/// # Example
/// ```
/// use ciphermill_bigint::reference::pow;
///
/// let [base, exponent, modulus] = [3u32, 5, 100].map(num_bigint::BigUint::from);
/// assert_eq!(pow(&base, &exponent, &modulus).to_string(), "43");
/// ```
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
