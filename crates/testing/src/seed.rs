//! Fresh seeds.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// The environment variable that fixes all fresh seeds, as a number of 64 bits in decimal or, after `0x`, hexadecimal.
pub const SEED_VARIABLE: &str = "CIPHERMILL_SEED";

/// A seed of 64 bits that differs in each run. It is printed, so that the harness shows it when the test fails;
/// [`SEED_VARIABLE`] then repeats the run. Not for secrets.
///
/// # Panics
/// If [`SEED_VARIABLE`] is not a number of 64 bits.
///
/// # Example
/// ```
/// let (first, second) = (ciphermill_testing::fresh_seed("noise"), ciphermill_testing::fresh_seed("noise"));
/// assert!(first != second || std::env::var_os("CIPHERMILL_SEED").is_some());
/// ```
pub fn fresh_seed(name: &str) -> u64 {
    let seed = match std::env::var(SEED_VARIABLE) {
        Ok(text) => parse(&text).unwrap_or_else(|| panic!("{SEED_VARIABLE}: {text:?} is not a number of 64 bits")),
        Err(_) => random(),
    };
    println!("{name}: seed {seed:#018x}; {SEED_VARIABLE}={seed:#x} repeats it");
    seed
}

/// [`fresh_seed`] as the first 8 of 32 bytes, for generators that take so many.
///
/// # Panics
/// As [`fresh_seed`] does.
pub fn fresh_seed_bytes(name: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&fresh_seed(name).to_le_bytes());
    bytes
}

/// From the operating system's randomness, and another for each call.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn parse(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_both_bases() {
        assert_eq!(parse("0xff"), Some(255));
        assert_eq!(parse("18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse("0x1ffffffffffffffff"), None);
        assert_eq!(parse("ff"), None);
    }

    #[test]
    fn seeds_use_all_bits() {
        let (mut set, mut clear) = (0, 0);
        for _ in 0..200 {
            let seed = random();
            set |= seed;
            clear |= !seed;
        }
        // A bit that stays the same 200 times by chance: 2^-192.
        assert_eq!((set, clear), (u64::MAX, u64::MAX));
    }
}
