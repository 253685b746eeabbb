//! The numbers of a set: the conditions on them, and their byte form.
//!
//! ```text
//! u8 bytes of the name | name | numbers:
//!   u8 log2 N | u8 L | u8 K | u8 gadget (0 Limbs, 1 Bits) | u8 its limbs per digit or log2 of its base
//!   u64 t | L × u64 q_i | K × u64 p_k
//! ```

use ciphermill_lattice::{DecompositionBaseLog, PolynomialSize};
use ciphermill_math::Modulus;
use ciphermill_wire::{Decoder, Encoder};
use num_bigint::BigUint;

use super::error::ParameterError;
use super::id::ParameterId;
use crate::error::{BfvError, require_range};
use crate::gadget::{Gadget, MAX_BASE_LOG};

/// Longest name of a parameter set, in bytes.
pub const MAX_NAME_LEN: usize = 64;

/// The least N for which the standard has a bound.
pub const MIN_SECURE_POLYNOMIAL_SIZE: usize = 1024;

/// The greatest N, likewise.
pub const MAX_POLYNOMIAL_SIZE: usize = 32768;

/// The most primes of a chain, special ones included.
pub const MAX_LIMBS: usize = 32;

/// The greatest length of a plaintext modulus in bits.
pub const MAX_PLAINTEXT_BITS: u32 = 59;

/// The standard deviation of errors.
pub const ERROR_STD_DEV: f64 = 3.2;

/// The numbers of a parameter set.
///
/// The chain of primes is the ciphertext moduli q_0 … q_(L−1) followed by the special moduli p_0 … p_(K−1). The limbs
/// of a ciphertext are over the first l of them. Where keys are switched, l is at most L. It is up to L + K for those
/// that are encrypted modulo the whole chain so that the first modulus switch takes the special ones away (as in the
/// pipeline of `cham-hmvp`). Secrets are ternary, errors are rounded Gaussians of standard deviation 3.2, as the
/// standard assumes.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_lattice::PolynomialSize;
///
/// let spec = ParameterSpec {
///     name: "SMALL".to_owned(),
///     polynomial_size: PolynomialSize::new(1024)?,
///     ciphertext_moduli: vec![32766 * (1 << 11) + 1],
///     special_moduli: Vec::new(),
///     plaintext_modulus: 12289,
///     gadget: Gadget::Limbs { limbs_per_digit: 1 },
/// };
/// let set = ParameterSet::new(spec, SecurityPolicy::Require128Bits)?;
/// assert!(set.has_slots());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSpec {
    /// Name, at most [`MAX_NAME_LEN`] bytes of printable ASCII without spaces.
    pub name: String,
    /// N.
    pub polynomial_size: PolynomialSize,
    /// q_0 … q_(L−1), distinct primes, 1 modulo 2N.
    pub ciphertext_moduli: Vec<u64>,
    /// p_0 … p_(K−1), likewise, with which keys are switched (hybrid key switching); may be empty.
    pub special_moduli: Vec<u64>,
    /// t, at least 2, coprime to all of them; a prime that is 1 modulo 2N if plaintexts are to have slots.
    pub plaintext_modulus: u64,
    /// The decomposition of key switches unless a key is made with another one.
    pub gadget: Gadget,
}

fn range(what: &'static str, given: u64, min: u64, max: u64) -> Result<(), ParameterError> {
    if (min..=max).contains(&given) { Ok(()) } else { Err(ParameterError::Range { what, given, min, max }) }
}

fn check_name(name: &[u8]) -> Result<(), ParameterError> {
    let sound = (1..=MAX_NAME_LEN).contains(&name.len()) && name.iter().all(u8::is_ascii_graphic);
    if sound { Ok(()) } else { Err(ParameterError::Name(name.len())) }
}

impl ParameterSpec {
    /// All primes, the special ones last.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let primes: Vec<u64> = context.parameters().chain().collect();
    /// assert!(primes.iter().all(|p| p % (2 * context.n() as u64) == 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chain(&self) -> impl Iterator<Item = u64> + '_ {
        self.ciphertext_moduli.iter().chain(&self.special_moduli).copied()
    }

    /// The product of all primes.
    pub(super) fn product(&self) -> BigUint {
        self.chain().map(BigUint::from).product()
    }

    /// The id of the numbers.
    pub(crate) fn id(&self) -> ParameterId {
        let mut numbers = Encoder::default();
        self.encode_numbers(&mut numbers);
        let fnv1a = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        ParameterId(numbers.into_vec().iter().fold(0xcbf2_9ce4_8422_2325, fnv1a))
    }

    pub(super) fn validate(&self) -> Result<(), ParameterError> {
        check_name(self.name.as_bytes())?;
        let (n, l, k) = (self.polynomial_size.get(), self.ciphertext_moduli.len(), self.special_moduli.len());
        let smallest = 1 << PolynomialSize::MIN_LOG2;
        range("polynomial size N", n as u64, smallest, MAX_POLYNOMIAL_SIZE as u64)?;
        range("number L of ciphertext moduli", l as u64, 1, MAX_LIMBS as u64)?;
        range("number K of special moduli", k as u64, 0, (MAX_LIMBS - l) as u64)?;
        range("plaintext modulus t", self.plaintext_modulus, 2, (1 << MAX_PLAINTEXT_BITS) - 1)?;
        match self.gadget {
            Gadget::Limbs { limbs_per_digit } => range("limbs per digit", limbs_per_digit as u64, 1, l as u64)?,
            Gadget::Bits { base_log } => {
                range("log2 of the base of digits", base_log.0 as u64, 1, MAX_BASE_LOG as u64)?;
            }
        }
        for (i, modulus) in self.chain().enumerate() {
            Modulus::new(modulus)?;
            if modulus % (2 * n as u64) != 1 {
                return Err(ParameterError::NoTransform { modulus, order: 2 * n });
            }
            if self.chain().take(i).any(|other| other == modulus) || self.plaintext_modulus.is_multiple_of(modulus) {
                return Err(ParameterError::NotCoprime { modulus });
            }
        }
        // Below that no plaintext could be told from another even without noise.
        let q: BigUint = self.ciphertext_moduli.iter().copied().map(BigUint::from).product();
        if q < BigUint::from(2 * self.plaintext_modulus) {
            let max = q.iter_u64_digits().next().unwrap_or(0) / 2;
            return Err(ParameterError::Range {
                what: "plaintext modulus t",
                given: self.plaintext_modulus,
                min: 2,
                max,
            });
        }
        Ok(())
    }

    /// Appends the byte form.
    pub fn encode(&self, out: &mut Encoder) {
        out.u8(self.name.len() as u8).bytes(self.name.as_bytes());
        self.encode_numbers(out);
    }

    fn encode_numbers(&self, out: &mut Encoder) {
        out.u8(self.polynomial_size.log2() as u8);
        out.u8(self.ciphertext_moduli.len() as u8).u8(self.special_moduli.len() as u8);
        self.gadget.encode(out);
        out.u64(self.plaintext_modulus).u64s(&self.ciphertext_moduli).u64s(&self.special_moduli);
    }

    /// Reads the fields; [`ParameterSet::new`](super::ParameterSet::new) judges the numbers.
    pub fn decode(input: &mut Decoder<'_>) -> Result<Self, BfvError> {
        let len = usize::from(input.u8()?);
        let name = input.bytes(len)?;
        check_name(name)?;
        let name = String::from_utf8_lossy(name).into_owned();
        let log2 = input.u8()?;
        require_range("log2 of the polynomial size", log2, PolynomialSize::MIN_LOG2, PolynomialSize::MAX_LOG2)?;
        let polynomial_size = PolynomialSize::new(1 << log2).map_err(ParameterError::from)?;
        let (l, k) = (input.u8()?, input.u8()?);
        let gadget = Gadget::decode(input)?;
        let plaintext_modulus = input.u64()?;
        let ciphertext_moduli = input.u64s(usize::from(l))?;
        let special_moduli = input.u64s(usize::from(k))?;
        Ok(Self { name, polynomial_size, ciphertext_moduli, special_moduli, plaintext_modulus, gadget })
    }
}

impl Gadget {
    /// Appends two bytes.
    pub fn encode(self, out: &mut Encoder) {
        match self {
            Gadget::Limbs { limbs_per_digit } => out.u8(0).u8(limbs_per_digit as u8),
            Gadget::Bits { base_log } => out.u8(1).u8(base_log.0 as u8),
        };
    }

    /// Reads two bytes; whether the gadget fits a parameter set is for others to say.
    pub fn decode(input: &mut Decoder<'_>) -> Result<Self, BfvError> {
        let (code, value) = (input.u8()?, usize::from(input.u8()?));
        require_range("code of a gadget", code, 0, 1)?;
        Ok(match code {
            0 => Gadget::Limbs { limbs_per_digit: value },
            _ => Gadget::Bits { base_log: DecompositionBaseLog(value) },
        })
    }
}
