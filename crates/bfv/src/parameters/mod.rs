//! Parameter sets: validated once, immutable after, with their security and where it comes from.

mod error;
mod id;
mod names;
mod sets;
mod spec;
mod standard;

use std::ops::Deref;

use ciphermill_math::modulus::is_prime;

pub use error::ParameterError;
pub use id::ParameterId;
pub use names::{
    BFV_1024, BFV_2048, BFV_4096, BFV_8192, BFV_16384, BFV_32768, CHAM_PAPER, SET_NAMES, TEST_32, TEST_512,
};
pub use spec::{
    ERROR_STD_DEV, MAX_LIMBS, MAX_NAME_LEN, MAX_PLAINTEXT_BITS, MAX_POLYNOMIAL_SIZE, MIN_SECURE_POLYNOMIAL_SIZE,
    ParameterSpec,
};
pub use standard::{SecurityLevel, max_modulus_bits};

/// Whether a set below 128 bits is acceptable.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// // Below 128 bits only by an explicit opt-in.
/// let opt_in = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
/// assert!(ParameterSet::named("TEST_32", opt_in).is_ok());
/// assert!(ParameterSet::named("TEST_32", SecurityPolicy::Require128Bits).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityPolicy {
    /// Refuse it.
    Require128Bits,
    /// Accept it: for reproducing published figures and for tests, never for data that matters.
    AcceptInsecureParametersForBenchmarksAndTestsOnly,
}

/// An admissible parameter set.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let set = ParameterSet::named("BFV_4096", SecurityPolicy::Require128Bits)?;
/// assert_eq!((set.polynomial_size.get(), set.plaintext_modulus), (4096, 1_032_193));
/// assert_eq!((set.ciphertext_moduli.len(), set.special_moduli.len()), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSet {
    spec: ParameterSpec,
    id: ParameterId,
    /// The highest level of the standard's table that the chain keeps, `None` if not even 128 bits.
    security: Option<SecurityLevel>,
}

impl Deref for ParameterSet {
    type Target = ParameterSpec;

    fn deref(&self) -> &ParameterSpec {
        &self.spec
    }
}

impl ParameterSet {
    /// Validates the numbers and judges their security.
    ///
    /// # Errors
    /// If a number is outside its range, or the chain is beyond the standard's bound and `policy` does not accept that.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let set = ParameterSet::named("BFV_4096", SecurityPolicy::Require128Bits)?;
    /// let wider = ParameterSpec { plaintext_modulus: 65537, name: "WIDER".to_owned(), ..set.spec().clone() };
    /// assert!(ParameterSet::new(wider, SecurityPolicy::Require128Bits)?.has_slots());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(spec: ParameterSpec, policy: SecurityPolicy) -> Result<Self, ParameterError> {
        spec.validate()?;
        let (n, product) = (spec.polynomial_size.get(), spec.product());
        // Exactly: a product below 2^max, not a sum of rounded logarithms.
        let keeps =
            |level: &SecurityLevel| max_modulus_bits(n, *level, false).is_some_and(|max| product.bits() <= max.into());
        let security = SecurityLevel::ALL.into_iter().rfind(keeps);
        let set = Self { id: spec.id(), spec, security };
        if security.is_none() && policy == SecurityPolicy::Require128Bits {
            let (min, max) = (MIN_SECURE_POLYNOMIAL_SIZE, MAX_POLYNOMIAL_SIZE);
            let Some(max) = max_modulus_bits(n, SecurityLevel::Bits128, false) else {
                let what = "polynomial size N of a set of 128 bits of security";
                return Err(ParameterError::Range { what, given: n as u64, min: min as u64, max: max as u64 });
            };
            return Err(ParameterError::Insecure { bits: set.chain_bits(), max, polynomial_size: n });
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
    /// assert!(ParameterSet::named("BFV_8192", SecurityPolicy::Require128Bits).is_ok());
    /// // It has too few coefficients for its modulus.
    /// assert!(ParameterSet::named("TEST_512", SecurityPolicy::Require128Bits).is_err());
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

    /// The highest level of the standard that it keeps, against classical attacks; `None` below 128 bits.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let set = ParameterSet::named("BFV_4096", SecurityPolicy::Require128Bits)?;
    /// assert_eq!(set.security(), Some(SecurityLevel::Bits128));
    /// assert_eq!(context.parameters().security(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn security(&self) -> Option<SecurityLevel> {
        self.security
    }

    /// log2 of the product of the whole chain.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let set = ParameterSet::named("BFV_4096", SecurityPolicy::Require128Bits)?;
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
