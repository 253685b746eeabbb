//! The digits of key switching.

use ciphermill_lattice::DecompositionBaseLog;

/// log2 of the greatest base of [`Gadget::Bits`].
pub const MAX_BASE_LOG: usize = 32;

/// How a polynomial modulo Q = q_0·…·q_(l−1) is cut into digits.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// // Three limbs of 30 bits.
/// let digits = |gadget| context.digit_count(gadget, 3);
/// assert_eq!(digits(Gadget::Limbs { limbs_per_digit: 2 })?, 2);
/// assert_eq!(digits(Gadget::Bits { base_log: DecompositionBaseLog(10) })?, 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gadget {
    /// Digit j is the polynomial modulo the product of the limbs `limbs_per_digit`·j …, centred. The product P of the
    /// special primes should be at least as large as the largest such product.
    Limbs {
        /// At least 1, at most L.
        limbs_per_digit: usize,
    },
    /// Each limb, centred, is cut into ⌈bits(q_i)/`base_log`⌉ balanced digits, the least significant first: smaller digits
    /// than a limb, for less noise. They are in [−B/2, B/2 − 1] for B = 2^`base_log`, the last one in [−B/2, B/2].
    Bits {
        /// log2 of the base, at least 1 and at most 32.
        base_log: DecompositionBaseLog,
    },
}

/// The number of digits of one limb of `bits` bits.
///
/// # Example
/// ```
/// use ciphermill_bfv::keyswitch::limb_digits;
/// use ciphermill_lattice::DecompositionBaseLog;
///
/// assert_eq!(limb_digits(30, DecompositionBaseLog(8)), 4);
/// ```
pub fn limb_digits(bits: u32, base_log: DecompositionBaseLog) -> usize {
    (bits as usize).div_ceil(base_log.0)
}
