//! What the implementations of Harvey's butterflies on 64-bit words share.
//!
//! D. Harvey, "Faster arithmetic for number-theoretic transforms", J. Symb. Comp. 60 (2014). A factor w < p comes with
//! w' = ⌊w·2^64/p⌋. For any word y and q = ⌊w'·y/2^64⌋ − e, 0 ≤ e ≤ E, w·y − q·p is below (1 + y/2^64 + e)·p ≤ (2 + E)·p
//! and at least 0, and 64 bits of it are enough.
//!
//! **Exact quotients** (E = 0), p < 2^62: words in flight are in `[0, 4p)`, products in `[0, 2p)`. A butterfly brings x
//! into `[0, 2p)` by subtracting 2p once; x + t and x − t + 2p are below 4p ≤ 2^64 again.
//!
//! **Short quotients** (E = 1), p < 2^61: vectors lack a 64-bit high product, which takes four 32-bit ones. Without the
//! lowest of them the sum of the parts misses at most one carry. Words in flight are in `[0, 8p)`, products in
//! `[0, 3p)`. A butterfly brings x into `[0, 4p)` by subtracting 4p once; x + t < 7p and 0 < x − t + 4p < 8p ≤ 2^64.

use super::lanes::MAX_CONSTANTS;
use crate::Modulus;

/// Products of canonical values whose sum fits 128 bits with one more canonical value: 16·(2^62 − 1)² + 2^62 < 2^128.
pub(super) const MAX_TERMS: usize = 16;

/// p; ⌊2^64/p⌋; 2^64 mod p and its quotient.
pub(super) fn constants(modulus: Modulus) -> [u64; MAX_CONSTANTS] {
    let word = modulus.reduce_u128(1 << 64);
    [modulus.value(), modulus.shoup_quotient(1), word, modulus.shoup_quotient(word), 0, 0, 0, 0]
}
