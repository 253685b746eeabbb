//! Security: levels, and the acceptance of parameter sets and keys below 128 bits.

use ciphermill_bfv::SecurityLevel;
use ciphermill_client::security::Security;

use crate::errors::Failure;

/// The policy of the keyword `insecure`.
pub(crate) fn security(insecure: bool) -> Security {
    if insecure { Security::AcceptInsecure } else { Security::Require128Bits }
}

/// The level of the keyword `security`.
pub(crate) fn level(bits: u32) -> Result<SecurityLevel, Failure> {
    SecurityLevel::ALL
        .into_iter()
        .find(|level| level.bits() == bits)
        .ok_or_else(|| Failure::parameter(format!("security {bits} is not supported; use 128, 192 or 256")))
}
