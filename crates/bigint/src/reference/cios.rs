//! Montgomery multiplication by digits of 256 bits, and the two-core exponentiation built on it: the algorithms 2 and 3 of
//! "Design of a Paillier encryption acceleration system based on software-hardware co-design" (doi 10.19651/j.cnki.emt.2519822),
//! as they have to be read to be right. This is the golden model of the hardware units `mont_mul` and `mod_exp`.
//!
//! Coarsely integrated operand scanning is from Koç, Acar, Kaliski, "Analyzing and comparing Montgomery multiplication
//! algorithms", IEEE Micro 1996. docs/papers.md says where the paper's listings differ.

use num_bigint::BigUint;

use crate::BigIntError;

/// Bits of the paper's digits (its R; the listings' "R = 256" is 2^256).
pub const DIGIT_BITS: u32 = 256;

/// Constants of a modulus N with R = 2^(256·digits) > N.
///
/// Operands and results are below R, not below N: a result of R or more has N subtracted, any other has 0 subtracted
/// (section 2.3), which needs the carry only and no comparison with N.
///
/// # Example
/// ```
/// use ciphermill_bigint::reference::Cios256;
/// use num_bigint::BigUint;
///
/// let n: BigUint = (BigUint::from(1u32) << 256) - 189u32;
/// let (a, b) = (BigUint::from(3u32), BigUint::from(7u32));
/// let multiplier = Cios256::new(n.clone())?;
/// let step = multiplier.step(&a, &b);
/// // The step divides the product by R.
/// assert_eq!(step.product * multiplier.radix() % n, a * b);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cios256 {
    modulus: BigUint,
    digits: usize,
    /// −N^-1 mod 2^256.
    negated_inverse: BigUint,
    /// R² mod N: turns a number to Montgomery form.
    radix_squared: BigUint,
}

/// The steps of one multiplication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// a·b·R^-1 modulo N, below R.
    pub product: BigUint,
    /// The digit M that made each of the iterations exact.
    pub quotients: Vec<BigUint>,
    /// Whether N was subtracted, not 0.
    pub corrected: bool,
}

impl Cios256 {
    /// For an odd modulus.
    ///
    /// # Errors
    /// [`BigIntError::EvenModulus`].
    pub fn new(modulus: BigUint) -> Result<Self, BigIntError> {
        if !modulus.bit(0) {
            return Err(BigIntError::EvenModulus);
        }
        let digits = modulus.bits().div_ceil(DIGIT_BITS.into()).max(1) as usize;
        let base = BigUint::from(1u32) << DIGIT_BITS;
        let inverse = (&modulus % &base).modinv(&base).expect("an odd number has an inverse modulo a power of two");
        let radix_squared = (BigUint::from(1u32) << (2 * DIGIT_BITS as usize * digits)) % &modulus;
        Ok(Self { digits, negated_inverse: base - inverse, radix_squared, modulus })
    }

    /// Digits per operand: 4 for 1024 bits.
    pub fn digits(&self) -> usize {
        self.digits
    }

    /// R.
    pub fn radix(&self) -> BigUint {
        BigUint::from(1u32) << (DIGIT_BITS as usize * self.digits)
    }

    /// N' = −N^-1 mod 2^256, which the host computes beforehand.
    pub fn negated_inverse(&self) -> &BigUint {
        &self.negated_inverse
    }

    /// R² mod N, which the host computes beforehand.
    pub fn radix_squared(&self) -> &BigUint {
        &self.radix_squared
    }

    /// One pass of the multiplier: for each digit of b a row of partial products, then a row of multiples of N that makes the
    /// lowest digit 0, which is dropped.
    ///
    /// # Panics
    /// If an operand is R or more.
    pub fn step(&self, a: &BigUint, b: &BigUint) -> Step {
        let (a, b) = (self.split(a), self.split(b));
        let n = self.split(&self.modulus);
        let count = self.digits;
        // T has two digits more than an operand.
        let mut t = vec![BigUint::ZERO; count + 2];
        let mut quotients = Vec::new();
        for b in &b {
            let mut carry = BigUint::ZERO;
            for j in 0..count {
                (carry, t[j]) = digit(&t[j] + &a[j] * b + &carry);
            }
            (carry, t[count]) = digit(&t[count] + &carry);
            t[count + 1] = carry;

            let (_, m) = digit(&t[0] * &self.negated_inverse);
            let (mut carry, zero) = digit(&t[0] + &m * &n[0]);
            debug_assert_eq!(zero, BigUint::ZERO);
            for j in 1..count {
                (carry, t[j - 1]) = digit(&t[j] + &m * &n[j] + &carry);
            }
            (carry, t[count - 1]) = digit(&t[count] + &carry);
            t[count] = &t[count + 1] + carry;
            quotients.push(m);
        }
        // (a·b + q·N)/R < (R² + R·N)/R = R + N.
        let value = join(&t[..=count]);
        let corrected = value >= self.radix();
        let product = if corrected { value - &self.modulus } else { value };
        Step { product, quotients, corrected }
    }

    /// a·b·R^-1 modulo N, below R.
    ///
    /// # Panics
    /// If an operand is R or more.
    pub fn multiply(&self, a: &BigUint, b: &BigUint) -> BigUint {
        self.step(a, b).product
    }

    /// base^exponent modulo N, below N, as the two cores compute it: from the lowest exponent bit up, one squares A while
    /// the other multiplies X by A. `exponent_bits` steps are made and in each both products are, whatever the bit; it only
    /// selects. (The paper multiplies where the bit is 1, so that its time shows the exponent's weight.)
    ///
    /// # Panics
    /// If the base is R or more, or the exponent has more bits.
    pub fn pow(&self, base: &BigUint, exponent: &BigUint, exponent_bits: u32) -> BigUint {
        assert!(exponent.bits() <= exponent_bits.into(), "the exponent has {exponent_bits} bits");
        let mut a = self.multiply(base, &self.radix_squared);
        let mut x = self.multiply(&BigUint::from(1u32), &self.radix_squared);
        for bit in 0..exponent_bits {
            let multiplied = self.multiply(&x, &a);
            let squared = self.multiply(&a, &a);
            if exponent.bit(bit.into()) {
                x = multiplied;
            }
            a = squared;
        }
        self.multiply(&x, &BigUint::from(1u32)) % &self.modulus
    }

    fn split(&self, x: &BigUint) -> Vec<BigUint> {
        assert!(*x < self.radix(), "an operand has {} digits", self.digits);
        (0..self.digits).map(|i| digit(x >> (DIGIT_BITS as usize * i)).1).collect()
    }
}

/// (⌊x/2^256⌋, x mod 2^256).
fn digit(x: BigUint) -> (BigUint, BigUint) {
    let high: BigUint = &x >> DIGIT_BITS;
    let low = x - (&high << DIGIT_BITS);
    (high, low)
}

fn join(digits: &[BigUint]) -> BigUint {
    digits.iter().rev().fold(BigUint::ZERO, |value, digit| (value << DIGIT_BITS) + digit)
}
