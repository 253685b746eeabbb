//! The policy on parameter sets and keys below 128 bits of security, for all schemes at once.

use ciphermill_lattice::SecurityPolicy;
use ciphermill_paillier::SizePolicy;

/// Which parameter sets and keys are accepted.
///
/// ```
/// use ciphermill_client::security::Security;
/// use ciphermill_tfhe::{ParameterSet, parameters::TEST_SMALL_U64};
///
/// assert!(ParameterSet::named(TEST_SMALL_U64, Security::Require128Bits.tfhe()).is_err());
/// assert!(ParameterSet::named(TEST_SMALL_U64, Security::AcceptInsecure.tfhe()).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// Sets of at least 128 bits of security.
    #[default]
    Require128Bits,
    /// All sets: for published figures and tests, never for data that matters.
    AcceptInsecure,
}

impl Security {
    /// The policy for TFHE's parameter sets.
    #[must_use]
    pub fn tfhe(self) -> SecurityPolicy {
        self.lattice()
    }

    /// The policy for BFV's parameter sets.
    ///
    /// # Example
    /// ```
    /// use ciphermill_bfv::{ParameterSet, parameters::TEST_32};
    /// use ciphermill_client::security::Security;
    ///
    /// assert!(ParameterSet::named(TEST_32, Security::Require128Bits.bfv()).is_err());
    /// assert!(ParameterSet::named(TEST_32, Security::AcceptInsecure.bfv()).is_ok());
    /// ```
    #[must_use]
    pub fn bfv(self) -> SecurityPolicy {
        self.lattice()
    }

    /// The policy of both lattice schemes.
    fn lattice(self) -> SecurityPolicy {
        match self {
            Self::Require128Bits => SecurityPolicy::Require128Bits,
            Self::AcceptInsecure => SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly,
        }
    }

    /// The policy for Paillier's keys.
    ///
    /// # Example
    /// ```
    /// use ciphermill_client::security::Security;
    /// use ciphermill_paillier::KeyBits;
    ///
    /// assert!(KeyBits::with_policy(512, Security::Require128Bits.paillier()).is_err());
    /// assert!(KeyBits::with_policy(512, Security::AcceptInsecure.paillier()).is_ok());
    /// ```
    #[must_use]
    pub fn paillier(self) -> SizePolicy {
        match self {
            Self::Require128Bits => SizePolicy::Standard,
            Self::AcceptInsecure => SizePolicy::InsecureBench,
        }
    }
}
