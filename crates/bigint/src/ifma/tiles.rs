//! The products and the reduction: square tiles of [`TILE`] × [`TILE`] digits, added up in registers.
//!
//! A result is made column block by column block ([`TILE`] columns each). The accumulators of two blocks are in registers:
//! a tile adds the lower halves of its 2·100 partial products to columns i + j, the upper ones to i + j + 1, so that it
//! touches 2·`TILE` columns and needs 2·`TILE` loads. When a block is complete its columns leave the registers and
//! those of the next one take their place. 20 accumulators, ten digits of one operand and one of the other are 31 of the 32
//! registers. A column's 19 additions of 4 cycles are done in the 100 cycles that the tile takes at two a cycle.
//!
//! Operands are digit-major: digit d of lane l is word 8·d + l; those called *broadcast* have one word per digit, the same
//! for all lanes.
//!
//! A column of up to six products of H = h/`TILE` ≤ 16 blocks and of a reduction sums less than (6 + 1)·2·160 + 20 halves
//! below 2^52 and a carry: below 2^64.

use std::arch::x86_64::*;

use super::lanes::{LANES, TILE};

/// Words of a block of digits.
pub(super) const BLOCK: usize = TILE * LANES;

/// Repeats an expression with a constant from 0 to 9: loops that must not be left to the unroller's judgement.
macro_rules! ten {
    ($i:ident => $body:expr) => {
        ten!(@ $i $body, 0 1 2 3 4 5 6 7 8 9)
    };
    (@ $i:ident $body:expr, $($index:literal)*) => {
        $({
            #[allow(dead_code, reason = "some bodies are repeated as they are")]
            const $i: usize = $index;
            $body
        })*
    };
}

/// Adds the product of ten digits of a vector by ten others, which `$load` reads.
macro_rules! tile {
    ($acc:ident, $a:expr, $load:ident($b:expr)) => {{
        let (a_at, b_at) = ($a, $b);
        let mut a = [_mm512_setzero_si512(); TILE];
        ten!(I => a[I] = vector(a_at, I));
        ten!(J => {
            let b = $load(b_at, J);
            ten!(I => $acc[I + J] = _mm512_madd52lo_epu64($acc[I + J], a[I], b));
            ten!(I => $acc[I + J + 1] = _mm512_madd52hi_epu64($acc[I + J + 1], a[I], b));
        });
    }};
}

/// The accumulators of the next block become those of this one.
macro_rules! slide {
    ($acc:ident) => {
        ten!(I => {
            $acc[I] = $acc[I + TILE];
            $acc[I + TILE] = _mm512_setzero_si512();
        })
    };
}

/// Digit `index` of all lanes.
///
/// # Safety
/// It lies in memory that may be read.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn vector(at: *const u64, index: usize) -> __m512i {
    // SAFETY: the caller's contract.
    unsafe { _mm512_loadu_si512(at.add(LANES * index).cast()) }
}

/// Digit `index` of a broadcast operand.
///
/// # Safety
/// It lies in memory that may be read.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn broadcast(at: *const u64, index: usize) -> __m512i {
    // SAFETY: the caller's contract.
    _mm512_set1_epi64(unsafe { *at.add(index) } as i64)
}

/// # Safety
/// The digit lies in memory that may be written.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store(at: *mut u64, index: usize, value: __m512i) {
    // SAFETY: the caller's contract.
    unsafe { _mm512_storeu_si512(at.add(LANES * index).cast(), value) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn mask() -> __m512i {
    _mm512_set1_epi64(((1u64 << 52) - 1) as i64)
}

/// t = Σ a·b, or twice that, over the given pairs, in columns that are not carried.
///
/// # Safety
/// The CPU has the features. Operands have `blocks` blocks, t twice as many.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) unsafe fn product<const TWICE: bool>(t: *mut u64, pairs: &[[*const u64; 2]], blocks: usize) {
    let mut acc = [_mm512_setzero_si512(); 2 * TILE];
    for k in 0..2 * blocks {
        for &[a, b] in pairs {
            for i in (k + 1).saturating_sub(blocks)..blocks.min(k + 1) {
                // SAFETY: the caller's contract; i and k − i are below `blocks`.
                unsafe { tile!(acc, a.add(BLOCK * i), vector(b.add(BLOCK * (k - i)))) };
            }
        }
        ten!(I => {
            let column = if TWICE { _mm512_add_epi64(acc[I], acc[I]) } else { acc[I] };
            // SAFETY: the caller's contract.
            unsafe { store(t, TILE * k + I, column) };
        });
        slide!(acc);
    }
}

/// t += a·b, in columns that are not carried, where b is broadcast.
///
/// # Safety
/// As of [`product`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) unsafe fn add_product_broadcast(t: *mut u64, a: *const u64, b: *const u64, blocks: usize) {
    let mut acc = [_mm512_setzero_si512(); 2 * TILE];
    for k in 0..2 * blocks {
        for i in (k + 1).saturating_sub(blocks)..blocks.min(k + 1) {
            // SAFETY: the caller's contract; i and k − i are below `blocks`.
            unsafe { tile!(acc, a.add(BLOCK * i), broadcast(b.add(TILE * (k - i)))) };
        }
        // SAFETY: the caller's contract.
        ten!(I => unsafe { store(t, TILE * k + I, _mm512_add_epi64(acc[I], vector(t, TILE * k + I))) });
        slide!(acc);
    }
}

/// t = a², in columns that are not carried: products of different digits once, doubled, and the squares of digits, one half
/// per column.
///
/// # Safety
/// As of [`product`].
#[allow(clippy::absurd_extreme_comparisons, reason = "the first of the repeated rows is empty")]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) unsafe fn square(t: *mut u64, a: *const u64, blocks: usize) {
    let mut acc = [_mm512_setzero_si512(); 2 * TILE];
    for k in 0..2 * blocks {
        for i in (k + 1).saturating_sub(blocks)..k.div_ceil(2) {
            // SAFETY: the caller's contract; i < k − i < `blocks`.
            unsafe { tile!(acc, a.add(BLOCK * i), vector(a.add(BLOCK * (k - i)))) };
        }
        if k % 2 == 0 {
            let mut x = [_mm512_setzero_si512(); TILE];
            // SAFETY: the caller's contract; k/2 < `blocks`.
            ten!(I => x[I] = unsafe { vector(a, TILE * (k / 2) + I) });
            ten!(J => {
                ten!(I => if I < J { acc[I + J] = _mm512_madd52lo_epu64(acc[I + J], x[I], x[J]) });
                ten!(I => if I < J { acc[I + J + 1] = _mm512_madd52hi_epu64(acc[I + J + 1], x[I], x[J]) });
            });
        }
        ten!(I => {
            // SAFETY: the caller's contract; there are half as many digits as columns.
            unsafe {
                let twice = _mm512_add_epi64(acc[I], acc[I]);
                let x = vector(a, TILE / 2 * k + I / 2);
                let column =
                    if I & 1 == 0 { _mm512_madd52lo_epu64(twice, x, x) } else { _mm512_madd52hi_epu64(twice, x, x) };
                store(t, TILE * k + I, column);
            }
        });
        slide!(acc);
    }
}

/// The constants of n for a reduction, broadcast; see the documentation of the module above.
pub(super) struct Divisor {
    pub(super) blocks: usize,
    /// n.
    pub(super) n: *const u64,
    /// −n^-1 mod 2^52.
    pub(super) negated_inverse: u64,
    /// (M + 1)/β.
    pub(super) multiple: *const u64,
    /// μ, one block.
    pub(super) factor: *const u64,
}

/// out = (t + the multiple of n that makes it divisible by R)/R, in digits. The multiple's quotient is μ·(blocks of q but the
/// last) + the last.
///
/// If `WITH_QUOTIENT`, the quotient that q holds in this form is added to t first.
///
/// # Safety
/// The CPU has the features. `out`, q and the constants have `blocks` blocks, t twice as many.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) unsafe fn reduce<const WITH_QUOTIENT: bool>(out: *mut u64, t: *const u64, q: *mut u64, divisor: &Divisor) {
    let &Divisor { blocks, n, negated_inverse, multiple, factor } = divisor;
    let (zero, mask) = (_mm512_setzero_si512(), mask());
    let mut acc = [zero; 2 * TILE];
    let mut carry = zero;
    for k in 0..2 * blocks {
        // SAFETY: the caller's contract.
        ten!(I => acc[I] = _mm512_add_epi64(acc[I], unsafe { vector(t, TILE * k + I) }));
        if WITH_QUOTIENT && k + 1 < blocks {
            // SAFETY: the caller's contract.
            unsafe { tile!(acc, q.add(BLOCK * k), broadcast(factor)) };
        }
        if WITH_QUOTIENT && k + 1 == blocks {
            // SAFETY: the caller's contract.
            ten!(I => acc[I] = _mm512_add_epi64(acc[I], unsafe { vector(q, TILE * k + I) }));
        }
        // The latest quotient comes last: it is still being computed when the others are worked on.
        let end = if k < blocks {
            k
        } else if k + 1 < 2 * blocks {
            blocks
        } else {
            blocks - 1
        };
        // The first tile of block `blocks` is done with the block before, see below.
        let begin = if k == blocks { usize::from(blocks > 1) } else { k.saturating_sub(blocks) };
        for i in begin..end {
            // SAFETY: the caller's contract: n has blocks k + 1 − `blocks` < `blocks`, the multiple k − 1 − i < `blocks`.
            unsafe {
                let block =
                    if i + 1 == blocks { n.add(TILE * (k + 1 - blocks)) } else { multiple.add(TILE * (k - 1 - i)) };
                tile!(acc, q.add(BLOCK * i), broadcast(block));
            }
        }
        if k + 1 == blocks {
            // Each quotient digit waits for the one before, 12 cycles or more. One tile of the next block, for which all is
            // known, fills that time, row by row: a scheduler would not look that far ahead. Rows of both use 20
            // accumulators together, as the columns that one leaves behind are those that the other has not reached.
            let mut wide = [zero; 3 * TILE];
            wide[..2 * TILE].copy_from_slice(&acc);
            let negated_inverse = _mm512_set1_epi64(negated_inverse as i64);
            macro_rules! steps {
                ($filler:literal) => {
                    ten!(C => {
                        let column = _mm512_add_epi64(wide[C], carry);
                        let quotient = _mm512_madd52lo_epu64(zero, column, negated_inverse);
                        wide[C] = column;
                        // SAFETY: the caller's contract.
                        unsafe {
                            if $filler {
                                let b = broadcast(multiple, TILE * (blocks - 1) + C);
                                ten!(I => {
                                    let a = vector(q, I);
                                    wide[TILE + I + C] = _mm512_madd52lo_epu64(wide[TILE + I + C], a, b);
                                    wide[TILE + I + C + 1] = _mm512_madd52hi_epu64(wide[TILE + I + C + 1], a, b);
                                });
                            }
                            store(q, TILE * k + C, quotient);
                            ten!(I => {
                                let n = broadcast(n, I);
                                wide[I + C] = _mm512_madd52lo_epu64(wide[I + C], quotient, n);
                                wide[I + C + 1] = _mm512_madd52hi_epu64(wide[I + C + 1], quotient, n);
                            });
                        }
                        carry = _mm512_srli_epi64::<52>(wide[C]);
                    })
                };
            }
            if blocks > 1 {
                steps!(true);
            } else {
                steps!(false);
            }
            acc.copy_from_slice(&wide[TILE..]);
            continue;
        }
        // Columns of quotients vanish with M = −1 modulo β, those of the result are carried alike.
        // SAFETY: the caller's contract; k ≥ `blocks` in the second case.
        let to = unsafe { if k < blocks { q.add(BLOCK * k) } else { out.add(BLOCK * (k - blocks)) } };
        ten!(I => {
            let column = _mm512_add_epi64(acc[I], carry);
            // SAFETY: as above.
            unsafe { store(to, I, _mm512_and_si512(column, mask)) };
            carry = _mm512_srli_epi64::<52>(column);
        });
        slide!(acc);
    }
}
