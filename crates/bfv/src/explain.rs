//! Words for the costs of plans: sizes and security, as the explanations of this crate and of those above it show them.

use ciphermill_lattice::security::REQUIRED_SECURITY_BITS;

/// Bytes for people.
///
/// # Example
/// ```
/// use ciphermill_bfv::explain::bytes;
///
/// assert_eq!([bytes(512), bytes(1 << 20), bytes(1 << 30)], ["512 B", "1024.0 KiB", "1024.0 MiB"]);
/// ```
pub fn bytes(count: u64) -> String {
    match count {
        0..10_240 => format!("{count} B"),
        10_240..10_485_760 => format!("{:.1} KiB", count as f64 / 1024.0),
        _ => format!("{:.1} MiB", count as f64 / 1_048_576.0),
    }
}

/// Both figures of a set's security, for people.
///
/// # Example
/// ```
/// use ciphermill_bfv::explain::security;
///
/// assert_eq!(security(130.2, Some(128)), "130.2 bits (lattice-estimator, MATZOV); 128 by the standard of 2018");
/// assert!(security(100.0, None).contains("below 128"));
/// ```
pub fn security(bits: f64, standard_bits: Option<u32>) -> String {
    let below = if bits < REQUIRED_SECURITY_BITS { ", below 128" } else { "" };
    let standard = standard_bits.map_or("below 128".to_owned(), |bits| bits.to_string());
    format!("{bits:.1} bits{below} (lattice-estimator, MATZOV); {standard} by the standard of 2018")
}
