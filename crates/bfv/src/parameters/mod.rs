//! Parameter sets: validated once, immutable after, with their security and where it comes from.

mod error;
mod estimates;
mod id;
mod names;
mod sets;
mod spec;
mod standard;

use std::ops::Deref;

use ciphermill_math::modulus::is_prime;

pub use ciphermill_lattice::security::{REQUIRED_SECURITY_BITS, SecurityEstimate, SecurityPolicy};
pub use error::ParameterError;
pub use estimates::{estimate, largest_modulus_bits};
pub use id::ParameterId;
pub use names::{
    BFV_1024, BFV_1024_128, BFV_2048, BFV_2048_128, BFV_4096, BFV_4096_128, BFV_8192, BFV_8192_128, BFV_16384,
    BFV_16384_128, BFV_32768, BFV_32768_128, CHAM_PAPER, SET_NAMES, TEST_32, TEST_512,
};
pub use spec::{
    ERROR_STD_DEV, MAX_LIMBS, MAX_NAME_LEN, MAX_PLAINTEXT_BITS, MAX_POLYNOMIAL_SIZE, MIN_SECURE_POLYNOMIAL_SIZE,
    ParameterSpec,
};
pub use standard::{SecurityLevel, max_modulus_bits};

/// An admissible parameter set.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let set = ParameterSet::named("BFV_4096_128", SecurityPolicy::Require128Bits)?;
/// assert_eq!((set.polynomial_size.get(), set.plaintext_modulus), (4096, 1_032_193));
/// assert_eq!((set.ciphertext_moduli.len(), set.special_moduli.len()), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSet {
    spec: ParameterSpec,
    id: ParameterId,
}

impl Deref for ParameterSet {
    type Target = ParameterSpec;

    fn deref(&self) -> &ParameterSpec {
        &self.spec
    }
}

impl ParameterSet {
    /// Validates the numbers, and judges their security by the lattice-estimator's figures.
    ///
    /// # Errors
    /// If a number is outside its range, the name is that of a named set with other numbers, or security is below 128 bits and
    /// `policy` does not accept that.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let set = ParameterSet::named("BFV_4096_128", SecurityPolicy::Require128Bits)?;
    /// let wider = ParameterSpec { plaintext_modulus: 65537, name: "WIDER".to_owned(), ..set.spec().clone() };
    /// assert!(ParameterSet::new(wider, SecurityPolicy::Require128Bits)?.has_slots());
    /// // The name belongs to other numbers.
    /// let stolen = ParameterSpec { plaintext_modulus: 65537, ..set.spec().clone() };
    /// assert!(ParameterSet::new(stolen, policy).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(spec: ParameterSpec, policy: SecurityPolicy) -> Result<Self, ParameterError> {
        spec.validate()?;
        let set = Self { id: spec.id(), spec };
        if sets::spec(&set.name).is_some_and(|named| named.id() != set.id) {
            return Err(ParameterError::NameTaken(set.spec.name));
        }
        if !policy.accepts(set.security().bits) {
            return Err(ParameterError::insecure(
                format!("parameter set {}", set.name),
                set.chain_bits(),
                set.polynomial_size.get(),
            ));
        }
        Ok(set)
    }

    /// One of the sets in [`SET_NAMES`].
    ///
    /// # Errors
    /// If there is none of this name, or as [`new`](Self::new).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert!(ParameterSet::named("BFV_8192_128", SecurityPolicy::Require128Bits).is_ok());
    /// // Its modulus keeps the standard of 2018, but not 128 bits today.
    /// assert!(ParameterSet::named("BFV_8192", SecurityPolicy::Require128Bits).is_err());
    /// assert!(ParameterSet::named("BFV_8192", policy).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn named(name: &str, policy: SecurityPolicy) -> Result<Self, ParameterError> {
        let spec = sets::spec(name).ok_or_else(|| ParameterError::UnknownName(name.to_owned()))?;
        Self::new(spec, policy)
    }

    /// The numbers.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!(context.parameters().spec().chain().count(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spec(&self) -> &ParameterSpec {
        &self.spec
    }

    /// Its numbers' id.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let set = context.parameters();
    /// let renamed = ParameterSpec { name: "MINE".to_owned(), ..set.spec().clone() };
    /// assert_eq!(ParameterSet::new(renamed, policy)?.id(), set.id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn id(&self) -> ParameterId {
        self.id
    }

    /// Its security: the lattice-estimator's figure for N and the product of the whole chain, or for the next larger modulus
    /// that was estimated.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let set = ParameterSet::named("BFV_4096_128", SecurityPolicy::Require128Bits)?;
    /// assert!((128.0..130.0).contains(&set.security().bits));
    /// // N = 32 has no figure.
    /// assert_eq!(context.parameters().security().bits, 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn security(&self) -> SecurityEstimate {
        estimate(self.polynomial_size.get(), self.chain_bits())
    }

    /// The highest level of the homomorphic-encryption standard of 2018 that it keeps, against classical attacks; `None` below
    /// 128 bits. It is stated for comparison: no decision depends on it.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let set = ParameterSet::named("BFV_4096", policy)?;
    /// // The standard's bound is the modulus of this set, whose security has fallen since.
    /// assert_eq!(set.standard_level(), Some(SecurityLevel::Bits128));
    /// assert!(set.security().bits < 128.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn standard_level(&self) -> Option<SecurityLevel> {
        let (n, product) = (self.polynomial_size.get(), self.product());
        // Exactly: a product below 2^max, not a sum of rounded logarithms.
        let keeps =
            |level: &SecurityLevel| max_modulus_bits(n, *level, false).is_some_and(|max| product.bits() <= max.into());
        SecurityLevel::ALL.into_iter().rfind(keeps)
    }

    /// Whether its security reaches `level`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let set = ParameterSet::named("BFV_4096_128", SecurityPolicy::Require128Bits)?;
    /// assert!(set.keeps(SecurityLevel::Bits128) && !set.keeps(SecurityLevel::Bits192));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keeps(&self, level: SecurityLevel) -> bool {
        self.security().bits >= f64::from(level.bits())
    }

    /// log2 of the product of the whole chain.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let set = ParameterSet::named("BFV_4096", policy)?;
    /// assert!(set.chain_bits() < 109.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chain_bits(&self) -> f64 {
        self.ciphertext_moduli.iter().chain(&self.special_moduli).map(|&p| (p as f64).log2()).sum()
    }

    /// Whether plaintexts have slots: t is a prime and 1 modulo 2N.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert!(ParameterSet::named("BFV_4096", policy)?.has_slots());
    /// // The plaintext modulus is 2^24.
    /// assert!(!ParameterSet::named("CHAM_PAPER", policy)?.has_slots());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_slots(&self) -> bool {
        self.plaintext_modulus % (2 * self.polynomial_size.get() as u64) == 1 && is_prime(self.plaintext_modulus)
    }
}
