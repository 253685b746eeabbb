//! How long a product takes, roughly: enough to rank candidates. The constants were measured on one core of a Zen 5 CPU with
//! AVX-512 IFMA and 32 MiB of last-level cache; what matters is their ratio.

use super::choice::Choice;
use crate::hmvp::Costs;

/// Microseconds of a transform of 4096 words modulo a prime of at most so many bits.
const NTT_US: [(u32, f64); 3] = [(46, 2.3), (50, 3.2), (62, 5.8)];

/// Microseconds of reading and multiplying a word that is in a cache.
const CACHED_WORD_US: f64 = 0.14e-3;

/// Microseconds of the same for a word in memory.
const MEMORY_WORD_US: f64 = 0.8e-3;

/// What of the last-level cache a prepared matrix may fill and be found there again.
const CACHED_BYTES: u64 = 24 << 20;

/// Microseconds per coefficient and limb of cutting, permuting and rounding in a key switch.
const KEY_SWITCH_WORD_US: f64 = 1.2e-3;

/// Estimated microseconds of a product on one thread. `costs` is for one pair of parts.
pub(super) fn product_us(choice: &Choice, costs: &Costs) -> f64 {
    let set = &choice.parameters;
    let n = set.polynomial_size.get() as f64;
    let bits = set.chain().map(|q| u64::BITS - q.leading_zeros()).max().unwrap_or(0);
    let ntt = NTT_US.iter().find(|(max, _)| bits <= *max).unwrap_or(&NTT_US[2]).1;
    let ntt = ntt * (n * n.log2()) / (4096.0 * 12.0);
    let matrix_words = (costs.matrix_bytes / 8) as f64;
    let matrix_word = if costs.matrix_bytes * choice.matrix_parts.len() as u64 > CACHED_BYTES {
        MEMORY_WORD_US
    } else {
        CACHED_WORD_US
    };
    let other_words = (costs.words as f64 - matrix_words).max(0.0);
    let switched_words = costs.key_switches as f64 * n * set.chain().count() as f64;
    let pair = costs.ntts as f64 * ntt
        + matrix_words * matrix_word
        + other_words * CACHED_WORD_US
        + switched_words * KEY_SWITCH_WORD_US;
    pair * choice.pairs() as f64
}
