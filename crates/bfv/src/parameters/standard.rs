//! The tables of the homomorphic-encryption standard (M. Albrecht et al., "Homomorphic encryption security standard",
//! HomomorphicEncryption.org, 2018, tables 1 and 2): the greatest length of the ciphertext modulus for ternary secrets
//! and errors of standard deviation 8/√(2π).

/// Bits of security, classical or quantum as the caller says.
///
/// # Example
/// ```
/// use ciphermill_bfv::SecurityLevel;
///
/// assert!(SecurityLevel::Bits128 < SecurityLevel::Bits192);
/// assert_eq!(SecurityLevel::ALL.map(SecurityLevel::bits), [128, 192, 256]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecurityLevel {
    /// 128 bits.
    Bits128,
    /// 192 bits.
    Bits192,
    /// 256 bits.
    Bits256,
}

impl SecurityLevel {
    /// All, the lowest first.
    pub const ALL: [SecurityLevel; 3] = [SecurityLevel::Bits128, SecurityLevel::Bits192, SecurityLevel::Bits256];

    /// 128, 192 or 256.
    pub fn bits(self) -> u32 {
        match self {
            SecurityLevel::Bits128 => 128,
            SecurityLevel::Bits192 => 192,
            SecurityLevel::Bits256 => 256,
        }
    }
}

/// N of the first row of both tables; each further row doubles it.
const FIRST_ROW: usize = 1024;

/// Table 1, against classical attackers: 128, 192, 256 bits of security for N = 1024 … 32768.
const CLASSICAL: [[u32; 3]; 6] =
    [[27, 19, 14], [54, 37, 29], [109, 75, 58], [218, 152, 118], [438, 305, 237], [881, 611, 476]];

/// Table 2, against quantum attackers, likewise.
const QUANTUM: [[u32; 3]; 6] =
    [[25, 17, 13], [51, 35, 27], [101, 70, 54], [202, 141, 109], [411, 284, 220], [827, 571, 443]];

/// The greatest number of bits of the product of all moduli (special ones included) at N = `polynomial_size` for
/// `level`, against classical or (`quantum`) quantum attackers. `None` if the standard has no row for N, i.e. unless it
/// is a power of two from 1024 to 32768.
///
/// # Example
/// ```
/// use ciphermill_bfv::SecurityLevel;
/// use ciphermill_bfv::parameters::max_modulus_bits;
///
/// assert_eq!(max_modulus_bits(4096, SecurityLevel::Bits128, false), Some(109));
/// assert_eq!(max_modulus_bits(512, SecurityLevel::Bits128, false), None);
/// ```
pub fn max_modulus_bits(polynomial_size: usize, level: SecurityLevel, quantum: bool) -> Option<u32> {
    let table = if quantum { &QUANTUM } else { &CLASSICAL };
    let row = table.iter().enumerate().find(|(row, _)| FIRST_ROW << row == polynomial_size)?.1;
    Some(match level {
        SecurityLevel::Bits128 => row[0],
        SecurityLevel::Bits192 => row[1],
        SecurityLevel::Bits256 => row[2],
    })
}
