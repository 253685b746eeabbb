//! Switching an LWE ciphertext from the torus to Z_2N, the exponents of blind rotation.

use ciphermill_lattice::Torus;

use crate::dimension::PolynomialSize;
use crate::lwe::LweCiphertext;

/// ⌊x·2N/q⌉ mod 2N of every element, mask first. The rounding adds a variance of (n/24 + 1/12)/(2N)² to a phase under a
/// uniform binary key (each mask element errs uniformly by half a step and half of them count).
pub fn modulus_switch<T: Torus>(ciphertext: &LweCiphertext<T>, polynomial_size: PolynomialSize) -> Vec<usize> {
    let log_order = polynomial_size.get().trailing_zeros() + 1;
    ciphertext.elements().iter().map(|&x| switch_element(x.to_u64_msb(), log_order)).collect()
}

fn switch_element(x: u64, log_order: u32) -> usize {
    let rounded = (x >> (63 - log_order)).wrapping_add(1) >> 1;
    (rounded & ((1 << log_order) - 1)) as usize
}

#[cfg(test)]
mod tests {
    use super::switch_element;

    #[test]
    fn rounds_to_the_nearest_exponent_and_wraps() {
        assert_eq!(switch_element(0, 4), 0);
        assert_eq!(switch_element(1 << 60, 4), 1);
        assert_eq!(switch_element((1 << 59) - 1, 4), 0);
        assert_eq!(switch_element(1 << 59, 4), 1);
        assert_eq!(switch_element(u64::MAX, 4), 0);
        assert_eq!(switch_element(15 << 60, 4), 15);
    }
}
