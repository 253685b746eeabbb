//! The security of parameter sets: one yardstick for all lattice schemes, and the policy on sets below 128 bits.
//!
//! The yardstick is the cost of the cheapest attack that the lattice-estimator finds under the cost model MATZOV. Every figure
//! is analytic. The schemes hold the figures of their own problems, and the page `docs/security.md` the sources.

/// The security below which a set needs an explicit opt-in, in bits.
pub const REQUIRED_SECURITY_BITS: f64 = 128.0;

/// Whether a set below [`REQUIRED_SECURITY_BITS`] is acceptable.
///
/// # Example
/// ```
/// use ciphermill_lattice::SecurityPolicy;
///
/// let opt_in = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
/// assert!(SecurityPolicy::Require128Bits.accepts(128.0));
/// assert!(!SecurityPolicy::Require128Bits.accepts(127.9) && opt_in.accepts(127.9));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityPolicy {
    /// Refuse it.
    Require128Bits,
    /// Accept it: for reproducing published figures and for tests, never for data that matters.
    AcceptInsecureParametersForBenchmarksAndTestsOnly,
}

impl SecurityPolicy {
    /// Whether a set of `bits` bits of security is acceptable.
    #[must_use]
    pub fn accepts(self, bits: f64) -> bool {
        bits >= REQUIRED_SECURITY_BITS || self == Self::AcceptInsecureParametersForBenchmarksAndTestsOnly
    }
}

/// Estimated security of a parameter set.
///
/// # Example
/// ```
/// use ciphermill_lattice::SecurityEstimate;
///
/// let none = SecurityEstimate { bits: 0.0, source: "no row of the table has this dimension" };
/// assert!(!ciphermill_lattice::SecurityPolicy::Require128Bits.accepts(none.bits));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecurityEstimate {
    /// log2 of the cost of the best attack considered.
    pub bits: f64,
    /// The estimator and the attack model behind the figure.
    pub source: &'static str,
}
