//! Arithmetic modulo the Goldilocks prime p = 2^64 − 2^32 + 1.
//!
//! Reduction needs no division: 2^64 ≡ 2^32 − 1 and 2^96 ≡ −1 (mod p), so
//! a·2^96 + b·2^64 + c ≡ c + b·(2^32 − 1) − a. The multiplicative group has order 2^32·3·5·17·257·65537 and the
//! generator 7. The number 2 has order 192. Hence 8 is a root of unity of order 64, and products by it are shifts.
//!
//! Unless stated otherwise every argument and result is *canonical*, i.e. in `[0, p)`.
//!
//! # Example
//! ```
//! use ciphermill_math::goldilocks::{MODULUS, add, inverse, mul, pow, root_of_unity};
//!
//! assert_eq!(add(MODULUS - 1, 2), 1);
//! assert_eq!(mul(5, inverse(5).expect("5 is not zero")), 1);
//! assert_eq!(root_of_unity(6), Some(8));
//! assert_eq!(pow(8, 32), MODULUS - 1);
//! ```

/// The prime 2^64 − 2^32 + 1.
pub const MODULUS: u64 = 0xffff_ffff_0000_0001;

/// 2^64 mod p = 2^32 − 1.
pub const EPSILON: u64 = 0xffff_ffff;

/// The smallest generator of the multiplicative group.
pub const GENERATOR: u64 = 7;

/// log2 of the largest power of two that divides p − 1.
pub const TWO_ADICITY: u32 = 32;

/// A root of unity of order 2^32 from which this crate derives all others: (7^((p−1)/2^32))^5.
///
/// The exponent 5 is the discrete logarithm that makes the family contain the two roots of the NVMe-TFHE platform,
/// [`PAPER_OMEGA`] and [`PAPER_PSI`]. It also makes the root of order 64 equal to 8.
pub const ROOT_2_32: u64 = 16_334_397_945_464_290_598;

/// w, the root of order 16384 used by the NVMe-TFHE platform (its §4.5).
pub const PAPER_OMEGA: u64 = 10_930_245_224_889_659_871;

/// ψ, the root of order 32768 used by the NVMe-TFHE platform (its §4.5); ψ² = w.
pub const PAPER_PSI: u64 = 3_333_600_369_887_534_767;

/// a + b mod p.
#[inline(always)]
pub const fn add(a: u64, b: u64) -> u64 {
    // a + b − p = a − (p − b): no intermediate value exceeds 64 bits before the borrow is known.
    let (d, borrow) = a.overflowing_sub(MODULUS - b);
    if borrow { d.wrapping_add(MODULUS) } else { d }
}

/// a − b mod p.
#[inline(always)]
pub const fn sub(a: u64, b: u64) -> u64 {
    let (d, borrow) = a.overflowing_sub(b);
    if borrow { d.wrapping_add(MODULUS) } else { d }
}

/// −a mod p.
#[inline(always)]
pub const fn neg(a: u64) -> u64 {
    if a == 0 { 0 } else { MODULUS - a }
}

/// a·b mod p; `a` and `b` may be any 64-bit words.
#[inline(always)]
pub const fn mul(a: u64, b: u64) -> u64 {
    reduce_u128(a as u128 * b as u128)
}

/// x mod p for any 64-bit word.
#[inline(always)]
pub const fn reduce_u64(x: u64) -> u64 {
    if x >= MODULUS { x - MODULUS } else { x }
}

/// x mod p for any 128-bit word.
#[inline(always)]
pub const fn reduce_u128(x: u128) -> u64 {
    let low = x as u64;
    let high = (x >> 64) as u64;
    // low − high_high. A borrow means that 2^64 was added, so its residue ε is subtracted. The difference is at least
    // 2^64 − 2ε then, so this subtraction cannot borrow.
    let (d, borrow) = low.overflowing_sub(high >> 32);
    let d = d - EPSILON * borrow as u64;
    // d + m − p with m = ε·high_low ≤ (2^32 − 1)^2. If d < p, this is a subtraction of canonical values; if d ≥ p, it
    // does not borrow and is at most m + ε − 1 < p.
    let m = (high & EPSILON) * EPSILON;
    let (r, borrow) = d.overflowing_sub(MODULUS - m);
    // Branch-free, because the borrow of a product is unpredictable. Adding p modulo 2^64 is subtracting ε.
    r.wrapping_sub(EPSILON * borrow as u64)
}

/// base^exponent mod p, with 0^0 = 1.
pub const fn pow(base: u64, mut exponent: u64) -> u64 {
    let mut square = base;
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = mul(result, square);
        }
        square = mul(square, square);
        exponent >>= 1;
    }
    result
}

/// a^-1 mod p, or `None` for 0.
pub const fn inverse(a: u64) -> Option<u64> {
    if a == 0 { None } else { Some(pow(a, MODULUS - 2)) }
}

/// ⌊x·p/2^64⌉, which is below p: a number of the torus, in units of 2^−64, as a residue.
///
/// # Example
/// ```
/// use ciphermill_math::goldilocks::{MODULUS, from_torus};
///
/// assert_eq!(from_torus(1 << 63), MODULUS / 2 + 1);
/// assert_eq!(from_torus(u64::MAX), MODULUS - 1);
/// ```
#[inline(always)]
#[must_use]
pub const fn from_torus(x: u64) -> u64 {
    ((x as u128 * MODULUS as u128 + (1 << 63)) >> 64) as u64
}

/// ⌊y·2^64/p⌉ modulo 2^64, for y < p: a residue as a number of the torus, in units of 2^−64.
///
/// With 2^64 = p + 2^32 − 1 it is y + ⌊y·(2^32 − 1)/p⌉. [`from_torus`] is undone within one unit.
///
/// # Example
/// ```
/// use ciphermill_math::goldilocks::{from_torus, to_torus};
///
/// assert_eq!(to_torus(from_torus(1 << 60)), 1 << 60);
/// ```
#[inline(always)]
#[must_use]
pub const fn to_torus(y: u64) -> u64 {
    let correction = (y as u128 * EPSILON as u128 + (MODULUS / 2) as u128) / MODULUS as u128;
    y.wrapping_add(correction as u64)
}

/// The root of unity of order 2^`log_order` of the family of [`ROOT_2_32`]; `None` if `log_order` exceeds 32.
pub const fn root_of_unity(log_order: u32) -> Option<u64> {
    if log_order > TWO_ADICITY { None } else { Some(pow(ROOT_2_32, 1 << (TWO_ADICITY - log_order))) }
}

/// ψ, the primitive 2N-th root of unity for polynomials modulo X^N + 1.
///
/// `None` unless `polynomial_size` is a power of two with 2N ≤ 2^32. For N = 16384 this is [`PAPER_PSI`].
pub const fn primitive_root_2n(polynomial_size: usize) -> Option<u64> {
    if !polynomial_size.is_power_of_two() || polynomial_size.trailing_zeros() >= TWO_ADICITY {
        return None;
    }
    root_of_unity(polynomial_size.trailing_zeros() + 1)
}

/// The same operations by 128-bit division: the definition against which the fast operations are tested.
pub mod reference {
    use super::MODULUS;

    const P: u128 = MODULUS as u128;

    /// a + b mod p for any words.
    pub const fn add(a: u64, b: u64) -> u64 {
        ((a as u128 + b as u128) % P) as u64
    }

    /// a − b mod p for any words.
    pub const fn sub(a: u64, b: u64) -> u64 {
        ((a as u128 + 2 * P - b as u128) % P) as u64
    }

    /// a·b mod p for any words.
    pub const fn mul(a: u64, b: u64) -> u64 {
        (a as u128 * b as u128 % P) as u64
    }

    /// x mod p.
    pub const fn reduce_u128(x: u128) -> u64 {
        (x % P) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_to_and_from_the_torus_are_rounded_quotients() {
        let edges = [0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 32) - 1, MODULUS];
        let walk = (0..4000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for x in edges.into_iter().chain(walk) {
            let y = from_torus(x);
            assert!(y < MODULUS);
            let error = (u128::from(x) * u128::from(MODULUS)).abs_diff(u128::from(y) << 64);
            let wrapped = error.min((u128::from(MODULUS) << 64) - error);
            assert!(wrapped <= 1 << 63, "{x}");
            let back = to_torus(y).wrapping_sub(x) as i64;
            assert!(back.abs() <= 1, "{x}: {back}");
        }
    }
}
