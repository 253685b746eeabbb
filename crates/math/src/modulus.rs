//! Prime moduli below 2^62 and their plain arithmetic, on which the tables and references of the fast transforms are
//! built.
//!
//! A 64-bit word has two spare bits, so a lazy transform can keep values below 4p.

use std::fmt;

/// An odd prime p with 3 ≤ p < 2^62.
///
/// Unless stated otherwise every argument and result of its operations is *canonical*, i.e. in `[0, p)`. Other
/// arguments lead to a wrong result or, with debug assertions, to a panic.
///
/// # Example
/// ```
/// use ciphermill_math::Modulus;
/// use ciphermill_math::modulus::ntt_primes;
///
/// let p = Modulus::new(7681)?;
/// assert_eq!(p.mul(7680, 7680), 1);
/// assert_eq!(p.mul(3, p.inverse(3).expect("3 is not zero")), 1);
/// // 7681 = 15·2^9 + 1: polynomials of up to 256 coefficients have a negacyclic transform.
/// assert_eq!(p.two_adicity(), 9);
/// assert_eq!(ntt_primes(13, 256).next(), Some(p));
/// # Ok::<(), ciphermill_math::modulus::ModulusError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Modulus(u64);

/// The reason why a number is not a [`Modulus`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModulusError {
    /// The number is outside the range of the arithmetic.
    #[error(
        "modulus {given} is outside the range of this arithmetic; use an odd prime from 3 to 2^{} - 1",
        Modulus::MAX_BITS
    )]
    Range {
        /// The requested value.
        given: u64,
    },
    /// The number is not an odd prime.
    #[error("modulus {given} is not an odd prime; use one from 3 to 2^{} - 1", Modulus::MAX_BITS)]
    NotPrime {
        /// The requested value.
        given: u64,
    },
}

impl Modulus {
    /// The greatest length of p in bits.
    pub const MAX_BITS: u32 = 62;

    /// The modulus `value`.
    ///
    /// # Errors
    /// If `value` is not an odd prime in range.
    pub const fn new(value: u64) -> Result<Modulus, ModulusError> {
        if value < 3 || value >> Self::MAX_BITS != 0 {
            return Err(ModulusError::Range { given: value });
        }
        if is_prime(value) { Ok(Modulus(value)) } else { Err(ModulusError::NotPrime { given: value }) }
    }

    /// The prime p.
    #[inline(always)]
    pub const fn value(self) -> u64 {
        self.0
    }

    /// The length of p in bits.
    pub const fn bits(self) -> u32 {
        u64::BITS - self.0.leading_zeros()
    }

    /// The largest e such that 2^e divides p − 1. Polynomials of up to 2^(e−1) coefficients have a negacyclic
    /// transform.
    pub const fn two_adicity(self) -> u32 {
        (self.0 - 1).trailing_zeros()
    }

    /// x mod p for any word.
    #[inline(always)]
    pub const fn reduce(self, x: u64) -> u64 {
        x % self.0
    }

    /// x mod p for any integer.
    pub const fn reduce_signed(self, x: i64) -> u64 {
        (x as i128).rem_euclid(self.0 as i128) as u64
    }

    /// x mod p for any double word.
    #[inline(always)]
    pub const fn reduce_u128(self, x: u128) -> u64 {
        (x % self.0 as u128) as u64
    }

    /// a + b mod p.
    #[inline(always)]
    pub const fn add(self, a: u64, b: u64) -> u64 {
        debug_assert!(a < self.0 && b < self.0);
        let sum = a + b;
        if sum >= self.0 { sum - self.0 } else { sum }
    }

    /// a − b mod p.
    #[inline(always)]
    pub const fn sub(self, a: u64, b: u64) -> u64 {
        debug_assert!(a < self.0 && b < self.0);
        if a >= b { a - b } else { a + self.0 - b }
    }

    /// −a mod p.
    #[inline(always)]
    pub const fn neg(self, a: u64) -> u64 {
        debug_assert!(a < self.0);
        if a == 0 { 0 } else { self.0 - a }
    }

    /// a·b mod p; `a` and `b` may be any words.
    #[inline(always)]
    pub const fn mul(self, a: u64, b: u64) -> u64 {
        self.reduce_u128(a as u128 * b as u128)
    }

    /// base^exponent mod p, with 0^0 = 1.
    pub const fn pow(self, base: u64, exponent: u64) -> u64 {
        pow_mod(base, exponent, self.0)
    }

    /// a^-1 mod p, or `None` for 0.
    pub const fn inverse(self, a: u64) -> Option<u64> {
        debug_assert!(a < self.0);
        if a == 0 { None } else { Some(self.pow(a, self.0 - 2)) }
    }

    /// ⌊w·2^64/p⌋ for w < p, Shoup's companion of w.
    ///
    /// With it, w·x mod p takes one high and two low products (V. Shoup's method; D. Harvey, "Faster arithmetic for
    /// number-theoretic transforms", J. Symb. Comp. 60, 2014, §2): for any word x, w·x − ⌊quotient·x/2^64⌋·p is in
    /// `[0, 2p)`.
    ///
    /// # Example
    /// ```
    /// use ciphermill_math::Modulus;
    ///
    /// let p = Modulus::new(7681)?;
    /// let (w, x) = (1234, 5678);
    /// let high = (u128::from(p.shoup_quotient(w)) * u128::from(x) >> 64) as u64;
    /// let product = w * x - high * p.value();
    /// assert!(product < 2 * p.value());
    /// assert_eq!(product % p.value(), p.mul(w, x));
    /// # Ok::<(), ciphermill_math::modulus::ModulusError>(())
    /// ```
    pub const fn shoup_quotient(self, w: u64) -> u64 {
        debug_assert!(w < self.0);
        (((w as u128) << 64) / self.0 as u128) as u64
    }

    /// The companion for 32-bit words, ⌊w·2^32/p⌋. x is any 32-bit word. The result fits such a word if p is below
    /// 2^31.
    pub const fn shoup_quotient_32(self, w: u64) -> u32 {
        debug_assert!(w < self.0 && self.0 >> 32 == 0);
        ((w << 32) / self.0) as u32
    }

    /// The root of unity of order 2^`log_order` of one family, in which each root is the square of the next.
    ///
    /// It is a power of the smallest quadratic non-residue, whose ((p−1)/2^e)-th power has order 2^e by Euler's
    /// criterion. The smallest generator would serve as well but requires the factors of p − 1. `None` if 2^`log_order`
    /// does not divide p − 1.
    pub const fn root_of_unity(self, log_order: u32) -> Option<u64> {
        if log_order > self.two_adicity() {
            return None;
        }
        let mut non_residue = 2;
        while self.pow(non_residue, (self.0 - 1) / 2) == 1 {
            non_residue += 1;
        }
        Some(self.pow(non_residue, (self.0 - 1) >> log_order))
    }

    /// ψ, the primitive 2N-th root of unity for polynomials modulo X^N + 1; ψ for N/2 is its square.
    ///
    /// `None` unless `polynomial_size` is a power of two and 2N divides p − 1.
    ///
    /// # Example
    /// ```
    /// use ciphermill_math::Modulus;
    ///
    /// // ψ^256 = −1 modulo 7681 for N = 256; N = 512 has no root.
    /// let p = Modulus::new(7681)?;
    /// let psi = p.primitive_root_2n(256).expect("512 divides 7680");
    /// assert_eq!(p.pow(psi, 256), 7680);
    /// assert_eq!(p.primitive_root_2n(512), None);
    /// # Ok::<(), ciphermill_math::modulus::ModulusError>(())
    /// ```
    pub const fn primitive_root_2n(self, polynomial_size: usize) -> Option<u64> {
        if !polynomial_size.is_power_of_two() {
            return None;
        }
        self.root_of_unity(polynomial_size.trailing_zeros() + 1)
    }
}

impl fmt::Display for Modulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<u64> for Modulus {
    type Error = ModulusError;

    fn try_from(value: u64) -> Result<Modulus, ModulusError> {
        Modulus::new(value)
    }
}

/// base^exponent mod `modulus` > 1, for any base.
const fn pow_mod(base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let m = modulus as u128;
    let mut square = base as u128 % m;
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * square % m;
        }
        square = square * square % m;
        exponent >>= 1;
    }
    result as u64
}

/// Whether `n` is prime, without error.
///
/// Miller and Rabin's test to the first twelve primes as bases decides every n < 3.1·10^23 (J. Sorenson and J. Webster,
/// "Strong pseudoprimes to twelve prime bases", Math. Comp. 86, 2017).
///
/// # Example
/// ```
/// use ciphermill_math::modulus::is_prime;
///
/// assert!(is_prime(0xffff_ffff_0000_0001));
/// assert!(!is_prime(3_215_031_751)); // A strong pseudoprime to the bases 2, 3, 5 and 7.
/// ```
pub const fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    let mut i = 0;
    while i < BASES.len() {
        if n.is_multiple_of(BASES[i]) {
            return n == BASES[i];
        }
        i += 1;
    }
    let twos = (n - 1).trailing_zeros();
    i = 0;
    while i < BASES.len() {
        let mut power = pow_mod(BASES[i], (n - 1) >> twos, n);
        let mut squarings = 1;
        // The base is a witness unless the powers end in 1 by way of −1 or start with 1.
        if power != 1 {
            while power != n - 1 {
                if squarings == twos {
                    return false;
                }
                power = (power as u128 * power as u128 % n as u128) as u64;
                squarings += 1;
            }
        }
        i += 1;
    }
    true
}

/// The primes of exactly `bits` bits with p ≡ 1 modulo 2N, largest first. Over these primes polynomials of N =
/// `polynomial_size` coefficients have a negacyclic transform.
///
/// The iterator is empty if `bits` is not in 2 ..= [`Modulus::MAX_BITS`] or if `polynomial_size` is not a power of two.
///
/// # Example
/// ```
/// use ciphermill_math::modulus::ntt_primes;
///
/// let primes: Vec<u64> = ntt_primes(14, 1024).map(|p| p.value()).collect();
/// assert_eq!(primes, [12289]);
/// ```
pub fn ntt_primes(bits: u32, polynomial_size: usize) -> impl Iterator<Item = Modulus> {
    let offered = (2..=Modulus::MAX_BITS).contains(&bits) && polynomial_size.is_power_of_two();
    let step = if offered { (polynomial_size as u64).checked_mul(2) } else { None };
    // k·2N + 1 for all k with values below 2^bits and at or above 2^(bits−1).
    let (least, past, step) = match step {
        Some(step) => ((1u64 << (bits - 1)).saturating_sub(1).div_ceil(step), ((1u64 << bits) - 2) / step + 1, step),
        None => (1, 1, 1),
    };
    (least.max(1)..past).rev().map(move |k| k * step + 1).filter(|&p| p > 2 && is_prime(p)).map(Modulus)
}
