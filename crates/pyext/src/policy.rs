//! The acceptance of parameter sets and keys below 128 bits of security.

use ciphermill_client::security::Security;

/// The policy of the keyword `insecure`.
pub(crate) fn security(insecure: bool) -> Security {
    if insecure { Security::AcceptInsecure } else { Security::Require128Bits }
}
