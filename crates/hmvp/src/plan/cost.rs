//! How much a product takes, and roughly how long: enough to rank candidates.

use super::choice::Choice;
use crate::{Algorithm, Costs};

/// By greatest length of the primes in bits: microseconds of a transform of 4096 words, and of reading a cached word
/// and multiplying it. Products modulo longer primes are not sums of 52-bit products.
///
/// These and the other constants were measured on one core of a Zen 5 CPU with AVX-512 IFMA and 32 MiB of last-level
/// cache. They rank candidates on every machine, as a plan must not depend on the machine that makes it. Only their
/// ratio matters.
const PRIME_US: [(u32, f64, f64); 3] = [(46, 2.3, 0.14e-3), (50, 3.2, 0.14e-3), (62, 5.8, 2.2e-3)];

/// Microseconds of the same for a word in memory, at least.
const MEMORY_WORD_US: f64 = 0.8e-3;

/// The share of the last-level cache that a prepared matrix may fill and still stay cached.
const CACHED_BYTES: u64 = 24 << 20;

/// Microseconds per coefficient and limb of cutting, permuting and rounding in a key switch.
const KEY_SWITCH_WORD_US: f64 = 1.2e-3;

/// The costs of a product of all parts.
pub(super) fn total(choice: &Choice, algorithm: &dyn Algorithm) -> Costs {
    let (pair, shared) = (algorithm.costs(), algorithm.shared_costs());
    let (matrices, vectors) = (choice.matrix_parts.len() as u64, choice.vector_parts.len() as u64);
    let total = |pair: u64, shared: u64| vectors * (shared + matrices * (pair - shared));
    Costs {
        plain_products: total(pair.plain_products, shared.plain_products),
        hoisted_key_switches: total(pair.hoisted_key_switches, shared.hoisted_key_switches),
        key_switches: total(pair.key_switches, shared.key_switches),
        ntts: total(pair.ntts, shared.ntts),
        prepare_ntts: pair.prepare_ntts * matrices,
        words: total(pair.words, shared.words),
        matrix_bytes: pair.matrix_bytes * matrices,
        key_bytes: pair.key_bytes,
    }
}

/// Estimated microseconds of a product of all parts on one thread.
pub(super) fn product_us(choice: &Choice, algorithm: &dyn Algorithm) -> f64 {
    let (set, costs) = (&choice.parameters, total(choice, algorithm));
    let n = set.polynomial_size.get() as f64;
    let bits = set.chain().map(|q| u64::BITS - q.leading_zeros()).max().unwrap_or(0);
    let &(_, ntt, cached_word) = PRIME_US.iter().find(|(max, ..)| bits <= *max).unwrap_or(&PRIME_US[2]);
    let ntt = ntt * (n * n.log2()) / (4096.0 * 12.0);
    // Each part of the matrix is read for each part of the vector.
    let matrix_words = (costs.matrix_bytes / 8 * choice.vector_parts.len() as u64) as f64;
    let matrix_word = if costs.matrix_bytes <= CACHED_BYTES { cached_word } else { cached_word.max(MEMORY_WORD_US) };
    let other_words = (costs.words as f64 - matrix_words).max(0.0);
    let switched_words = costs.key_switches as f64 * n * set.chain().count() as f64;
    costs.ntts as f64 * ntt
        + matrix_words * matrix_word
        + other_words * cached_word
        + switched_words * KEY_SWITCH_WORD_US
}
