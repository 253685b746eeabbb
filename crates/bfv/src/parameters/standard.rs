//! The tables of the homomorphic-encryption standard (M. Albrecht et al., "Homomorphic encryption security standard",
//! HomomorphicEncryption.org, 2018, tables 1 and 2): the greatest length of the ciphertext modulus for ternary secrets
//! and errors of standard deviation 8/√(2π).

/// Bits of security, classical or quantum as the caller says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecurityLevel {
    /// 128 bits.
    Bits128,
    /// 192 bits.
    Bits192,
    /// 256 bits.
    Bits256,
}

/// The greatest number of bits of the product of all moduli (special ones included) at N = `polynomial_size` for
/// `level`, against classical or (`quantum`) quantum attackers; `None` if the standard has no row for N, i.e. unless it
/// is a power of two from 1024 to 32768.
pub fn max_modulus_bits(polynomial_size: usize, level: SecurityLevel, quantum: bool) -> Option<u32> {
    let _ = (polynomial_size, level, quantum);
    todo!()
}
