//! Redundant residues: two signed words for one residue, so that sums need no correction.
//!
//! 2^96 ≡ −1 (mod p), so I = 2^48 is a square root of −1. a + b·I with 64-bit integers a and b represents a residue. As
//! for complex numbers, a sum is two additions and a product by I is a change of names. Residues are computed modulo
//! 2^96 + 1 = p·(2^32 + 1), so carries out of 48 bits move from a to b and, negated, from b to a.
//!
//! The pairs that are ≡ 0 form a square lattice of side √p, spanned by (2^32 − 1, −2^16) and (2^16, 2^32 − 1), because
//! p is the sum of two squares. This lattice provides
//! - twiddle factors s + t·I with s and t of 32 bits ([`Factor`]), so products need fewer multiplications;
//! - constants ≡ 0 near any point, which move values into the required range at no cost.
//!
//! Ranges, with δ = 2^39 (a bound on all small terms together):
//!
//! | values | each of a, b |
//! | --- | --- |
//! | a word, [`Pair::from_word`] | \[0, 2^48) and \[0, 2^16) |
//! | a word times a power of two, [`Pair::from_word_shifted`] | \[−2^15, 2^48) |
//! | a product, [`Pair::mul`] | \[−2^48 − δ, 2^48 + δ\] |
//! | after [`Pair::carried`] | \[−2^5, 2^48 + 2^5) |
//! | sums of at most 7 products and one word or carried value, plus [`Pair::to_middle`] | (0, 2^52): operands of a product |
//! | the same plus [`Pair::to_word_range`] | a in ±2^52, b in (−2^52, −2^46): operands of [`Pair::into_word`] |
//!
//! The last two rows hold for this reason. A constant near 2^51 − 2^47 or −2^51 − 2^47, plus \[−2^5, 2^48 + 2^5), plus
//! 7·\[−2^48 − δ, 2^48 + δ\], lies within 2^47 + 7·2^48 + 2^42 of ±2^51.

use super::super::avx512::Avx512;
use super::super::lanes::Lanes;

/// Eight residues a + b·2^48.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) low: Avx512,
    pub(super) high: Avx512,
}

/// The four numbers that multiply a pair, each 16-fold: s, t with s + t·I ≡ w and s', t' with s' + t'·I ≡ I·w.
pub(super) type Factor = [u64; 4];

const LOW_48: u64 = (1 << 48) - 1;

/// k·(2^32 − 1, −2^16) + m·(2^16, 2^32 − 1) ≡ 0.
const fn zero(k: i64, m: i64) -> (i64, i64) {
    (k * 0xffff_ffff + (m << 16), m * 0xffff_ffff - (k << 16))
}

/// Both near 2^51 − 2^47.
const TO_MIDDLE: (i64, i64) = zero((1 << 19) - (1 << 15), (1 << 19) - (1 << 15));
/// b near −2^51 − 2^47.
const TO_WORD_RANGE: (i64, i64) = zero(0, -(1 << 19) - (1 << 15));
/// Both near −2^48: half of the range of two sums of two 48-bit numbers.
const CENTRE: (i64, i64) = zero(-(1 << 16), -(1 << 16));
/// b near −2^48.
const CENTRE_HIGH: (i64, i64) = zero(0, -(1 << 16));
/// b below −2^49.
const PRODUCT_TO_WORD_RANGE: (i64, i64) = zero(0, -(1 << 17) - (1 << 10));

impl Pair {
    /// # Safety
    /// 16 words are readable; the CPU has AVX-512 F and IFMA, as for every constructor of a pair.
    #[inline(always)]
    pub(super) unsafe fn load(from: *const u64) -> Pair {
        // SAFETY: the caller's contract.
        unsafe { Pair { low: Avx512::load(from), high: Avx512::load(from.add(8)) } }
    }

    /// # Safety
    /// 16 words are writable.
    #[inline(always)]
    pub(super) unsafe fn store(self, to: *mut u64) {
        // SAFETY: the caller's contract.
        unsafe {
            self.low.store(to);
            self.high.store(to.add(8));
        }
    }

    /// The residues of any words.
    #[inline(always)]
    pub(super) fn from_word(x: Avx512) -> Pair {
        Pair { low: x.and(x.same(LOW_48)), high: x.shr(48) }
    }

    /// Any word times 2^`bits` for `bits` up to 47; halves in [−2^15, 2^48). The number should be a constant.
    #[inline(always)]
    pub(super) fn from_word_shifted(x: Avx512, bits: u32) -> Pair {
        debug_assert!(bits < 48);
        let mask = x.same(LOW_48);
        if bits == 0 {
            return Pair::from_word(x);
        }
        let (low, rest) = (x.shl(bits).and(mask), x.shr(48 - bits));
        if bits <= 32 {
            Pair { low, high: rest }
        } else {
            Pair { low: low.wrapping_sub(x.shr(96 - bits)), high: rest.and(mask) }
        }
    }

    #[inline(always)]
    fn offset(self, by: (i64, i64)) -> Pair {
        let (low, high) = (self.low.same(by.0 as u64), self.high.same(by.1 as u64));
        Pair { low: self.low.wrapping_add(low), high: self.high.wrapping_add(high) }
    }

    /// The same residue, with both halves 2^51 − 2^47 higher.
    #[inline(always)]
    pub(super) fn to_middle(self) -> Pair {
        self.offset(TO_MIDDLE)
    }

    /// The same residue, with b lower by 2^51 + 2^47.
    #[inline(always)]
    pub(super) fn to_word_range(self) -> Pair {
        self.offset(TO_WORD_RANGE)
    }

    #[inline(always)]
    pub(super) fn add(self, rhs: Pair) -> Pair {
        Pair { low: self.low.wrapping_add(rhs.low), high: self.high.wrapping_add(rhs.high) }
    }

    #[inline(always)]
    pub(super) fn sub(self, rhs: Pair) -> Pair {
        Pair { low: self.low.wrapping_sub(rhs.low), high: self.high.wrapping_sub(rhs.high) }
    }

    /// self + I·rhs.
    #[inline(always)]
    pub(super) fn add_i(self, rhs: Pair) -> Pair {
        Pair { low: self.low.wrapping_sub(rhs.high), high: self.high.wrapping_add(rhs.low) }
    }

    /// self − I·rhs.
    #[inline(always)]
    pub(super) fn sub_i(self, rhs: Pair) -> Pair {
        Pair { low: self.low.wrapping_add(rhs.high), high: self.high.wrapping_sub(rhs.low) }
    }

    /// −I·(self − rhs).
    #[inline(always)]
    pub(super) fn minus_i_sub(self, rhs: Pair) -> Pair {
        Pair { low: self.high.wrapping_sub(rhs.high), high: rhs.low.wrapping_sub(self.low) }
    }

    /// (low 24 bits)·2^24 and the signed rest of each half.
    #[inline(always)]
    fn split_24(self) -> ([Avx512; 2], [Avx512; 2]) {
        let mask = self.low.same(LOW_48);
        (
            [self.low.shl(24).and(mask), self.high.shl(24).and(mask)],
            [self.low.shift_right_signed::<24>(), self.high.shift_right_signed::<24>()],
        )
    }

    /// 2^24·self, for halves of magnitude below 2^52; the halves of the result have magnitude at most 2^48 + 2^28.
    #[inline(always)]
    pub(super) fn shift_24(self) -> Pair {
        let ([low, high], [carry_low, carry_high]) = self.split_24();
        Pair { low: low.wrapping_sub(carry_high), high: high.wrapping_add(carry_low) }
    }

    /// −I·2^24·self, with the ranges of [`shift_24`](Self::shift_24).
    #[inline(always)]
    pub(super) fn minus_i_shift_24(self) -> Pair {
        let ([low, high], [carry_low, carry_high]) = self.split_24();
        Pair { low: high.wrapping_add(carry_low), high: carry_high.wrapping_sub(low) }
    }

    /// The same residue with the bits from 48 on carried, for halves of magnitude up to 2^52.
    #[inline(always)]
    pub(super) fn carried(self) -> Pair {
        let mask = self.low.same(LOW_48);
        Pair {
            low: self.low.and(mask).wrapping_sub(self.high.shift_right_signed::<48>()),
            high: self.high.and(mask).wrapping_add(self.low.shift_right_signed::<48>()),
        }
    }

    /// The product with w, for halves in [0, 2^52).
    ///
    /// Multiplying by 16·s splits a·s at 48 bits: the low 52 bits are 16 times the low 48 bits of a·s, and the rest is
    /// a·s >> 48 < 2^37. Two low parts are below 2^49; [`CENTRE`] moves them down by 2^48.
    #[inline(always)]
    pub(super) fn mul(self, [s, t, s_i, t_i]: [Avx512; 4]) -> Pair {
        self.mul_from(CENTRE, [s, t, s_i, t_i])
    }

    /// As [`mul`](Self::mul), but with b in (−2^50, −2^41): an operand of [`into_word`](Self::into_word).
    #[inline(always)]
    pub(super) fn mul_to_word_range(self, factor: [Avx512; 4]) -> Pair {
        self.mul_from(PRODUCT_TO_WORD_RANGE, factor)
    }

    #[inline(always)]
    fn mul_from(self, centre: (i64, i64), [s, t, s_i, t_i]: [Avx512; 4]) -> Pair {
        let Pair { low: a, high: b } = self;
        let low = a.same((centre.0 * 16) as u64).multiply_add_low(a, s).multiply_add_low(b, s_i);
        let high = a.same((centre.1 * 16) as u64).multiply_add_low(a, t).multiply_add_low(b, t_i);
        let carry_high = a.same(0).multiply_add_high(a, t).multiply_add_high(b, t_i);
        let high = high.shift_right_signed::<4>().multiply_add_high(a, s).multiply_add_high(b, s_i);
        Pair { low: low.shift_right_signed::<4>().wrapping_sub(carry_high), high }
    }

    /// The product with w given by s and t alone: (a·s − b·t) + (a·t + b·s)·I. It takes two more operations and half
    /// the table.
    #[inline(always)]
    pub(super) fn mul_short(self, [s, t]: [Avx512; 2]) -> Pair {
        let Pair { low: a, high: b } = self;
        let minus_low = a.same(0).multiply_add_low(b, t);
        let low = a.same((CENTRE_HIGH.0 * 16) as u64).multiply_add_low(a, s).wrapping_sub(minus_low);
        let high = a.same((CENTRE_HIGH.1 * 16) as u64).multiply_add_low(a, t).multiply_add_low(b, s);
        let carry_high = a.same(0).multiply_add_high(a, t).multiply_add_high(b, s);
        let minus_high = a.same(0).multiply_add_high(b, t);
        let high = high.shift_right_signed::<4>().multiply_add_high(a, s).wrapping_sub(minus_high);
        Pair { low: low.shift_right_signed::<4>().wrapping_sub(carry_high), high }
    }

    /// The residue as a lazy word, for |a| < 2^52 and b in (−2^52, −2^5).
    ///
    /// After the carry, b = c·2^48 + m·2^16 + l with c in [−16, −1], m of 32 and l of 16 bits. So the residue is
    /// (a + l·2^48) + (m·2^64 + c·2^96) ≡ (a + l·2^48) + (m·ε − c), and m·ε − c < 2^64 − 2^33 + 2^5 is canonical.
    #[inline(always)]
    pub(super) fn into_word(self) -> Avx512 {
        let b = self.high.wrapping_add(self.low.shift_right_signed::<48>());
        let word = b.shl(48).with_low_48_of(self.low);
        let upper = b.shr(16).mul_epsilon().wrapping_sub(b.shift_right_signed::<48>());
        word.add_lazy(upper)
    }

    /// Transposes eight vectors as matrices of lanes.
    #[inline(always)]
    pub(super) fn transpose(x: &mut [Pair; 8]) {
        let mut low = [x[0].low; 8];
        let mut high = [x[0].high; 8];
        for j in 0..8 {
            (low[j], high[j]) = (x[j].low, x[j].high);
        }
        Avx512::transpose(&mut low);
        Avx512::transpose(&mut high);
        for j in 0..8 {
            x[j] = Pair { low: low[j], high: high[j] };
        }
    }
}

/// s and t in [0, 2^32 + 2^17) with s + t·2^48 ≡ w: (w, 0) less the corner below it of its lattice cell, moved up one
/// cell if t is negative.
const fn short(w: u64) -> (u64, u64) {
    const P: u128 = crate::goldilocks::MODULUS as u128;
    let k = (w as u128 * 0xffff_ffff / P) as i128;
    let m = ((w as u128) << 16) / P;
    let m = m as i128;
    let mut s = w as i128 - k * 0xffff_ffff - (m << 16);
    let mut t = (k << 16) - m * 0xffff_ffff;
    if t < 0 {
        s += 1 << 16;
        t += 0xffff_ffff;
    }
    (s as u64, t as u64)
}

/// 16·s and 16·t for w, see [`Pair::mul_short`].
pub(super) const fn short_factor(w: u64) -> [u64; 2] {
    let (s, t) = short(w);
    [16 * s, 16 * t]
}

/// The numbers of [`Factor`].
pub(super) const fn factor(w: u64) -> Factor {
    let [s, t] = short_factor(w);
    let [s_i, t_i] = short_factor(crate::goldilocks::mul(w, 1 << 48));
    [s, t, s_i, t_i]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goldilocks::{MODULUS, add, mul, reduce_u64};

    fn residue((a, b): (i64, i64)) -> u64 {
        let canonical = |x: i64| (i128::from(x)).rem_euclid(i128::from(MODULUS)) as u64;
        add(canonical(a), mul(canonical(b), 1 << 48))
    }

    #[test]
    fn constants_are_zero() {
        for constant in [TO_MIDDLE, TO_WORD_RANGE, CENTRE, CENTRE_HIGH, PRODUCT_TO_WORD_RANGE] {
            assert_eq!(residue(constant), 0, "{constant:?}");
        }
    }

    #[test]
    fn factors_are_short_and_congruent() {
        let edges = [0, 1, MODULUS - 1, 1 << 32, (1 << 32) - 1, 1 << 48, (1 << 48) - 1, MODULUS - (1 << 48)];
        let walk = (0..100_000u64).map(|i| reduce_u64(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        for w in edges.into_iter().chain(walk) {
            let [s, t, s_i, t_i] = factor(w);
            for x in [s, t, s_i, t_i] {
                assert!(x % 16 == 0 && x / 16 < (1 << 32) + (1 << 17), "{w}: {x}");
            }
            assert_eq!(residue((s as i64 / 16, t as i64 / 16)), w);
            assert_eq!(residue((s_i as i64 / 16, t_i as i64 / 16)), mul(w, 1 << 48));
        }
    }

    fn residues(x: Pair) -> [u64; 8] {
        let mut words = [0u64; 16];
        // SAFETY: 16 words.
        unsafe { x.store(words.as_mut_ptr()) };
        std::array::from_fn(|lane| residue((words[lane] as i64, words[8 + lane] as i64)))
    }

    fn halves(x: Pair) -> impl Iterator<Item = (i64, i64)> {
        let mut words = [0u64; 16];
        // SAFETY: 16 words.
        unsafe { x.store(words.as_mut_ptr()) };
        (0..8).map(move |lane| (words[lane] as i64, words[8 + lane] as i64))
    }

    /// The ends of the ranges in the module's table, and some values within.
    #[test]
    fn operations_hold_their_ranges_at_the_ends() {
        if !crate::Isa::Avx512.has_ifma() {
            ciphermill_testing::not_run(ciphermill_testing::Need::Cpu, "AVX-512 with IFMA");
            return;
        }
        const DELTA: i64 = 1 << 39;
        let operand = [0, 1, (1 << 52) - 1, (1 << 48) - 1, 1 << 48, 0x5_5555_5555_5555];
        let factors = [0, 1, MODULUS - 1, (1 << 32) - 1, 1 << 48, 0x1234_5678_9abc_def0, MODULUS - (1 << 48)];
        for a in operand {
            for b in operand {
                let words: [u64; 16] = std::array::from_fn(|i| if i < 8 { a } else { b });
                // SAFETY: 16 words, and the CPU has IFMA, here and below.
                let x = unsafe { Pair::load(words.as_ptr()) };
                let value = residue((a as i64, b as i64));
                for w in factors {
                    let vectors = factor(w).map(|part| x.low.same(part));
                    let products =
                        [x.mul(vectors), x.mul_short([vectors[0], vectors[1]]), x.mul_to_word_range(vectors)];
                    for product in products {
                        assert_eq!(residues(product), [mul(value, w); 8], "({a}, {b})·{w}");
                    }
                    for (a, b) in products[..2].iter().flat_map(|&x| halves(x)) {
                        assert!(a.abs().max(b.abs()) <= (1 << 48) + DELTA, "({a}, {b})");
                    }
                    assert!(halves(products[2]).all(|(a, b)| a.abs() < 1 << 50 && b < -(1 << 41) && b > -(1 << 50)));
                    let mut lanes = [0u64; 8];
                    // SAFETY: 8 words.
                    unsafe { products[2].into_word().store(lanes.as_mut_ptr()) };
                    assert_eq!(lanes.map(reduce_u64), [mul(value, w); 8]);
                }
                let carried = x.carried();
                assert_eq!(residues(carried), [value; 8]);
                assert!(halves(carried).all(|(a, b)| a >= -32 && b >= -32 && a.max(b) < (1 << 48) + 32));
                for (shifted, by) in
                    [(x.shift_24(), 1 << 24), (x.minus_i_shift_24(), mul(MODULUS - (1 << 48), 1 << 24))]
                {
                    assert_eq!(residues(shifted), [mul(value, by); 8]);
                    assert!(halves(shifted).all(|(a, b)| a.abs().max(b.abs()) <= (1 << 48) + (1 << 28)));
                }
            }
        }
        for word in [0, 1, u64::MAX, MODULUS, (1 << 48) - 1, 1 << 48, 0x1234_5678_9abc_def0] {
            // SAFETY: the CPU has AVX-512.
            let x = unsafe { Avx512::splat(word) };
            for bits in 0..48 {
                let shifted = Pair::from_word_shifted(x, bits);
                assert_eq!(residues(shifted), [mul(word, 1 << bits); 8], "{word}·2^{bits}");
                assert!(halves(shifted).all(|(a, b)| a >= -(1 << 15) && b >= 0 && a.max(b) < 1 << 48));
            }
        }
        for a in [-(1i64 << 51), -1, 0, 1, (1 << 51), (1 << 48) - 1] {
            for b in [-(1i64 << 52) + 16, -(1 << 46), -(1 << 48), -(1 << 48) - 1, -(1 << 51), -33] {
                let words: [u64; 16] = std::array::from_fn(|i| if i < 8 { a as u64 } else { b as u64 });
                let mut lanes = [0u64; 8];
                // SAFETY: 16 and 8 words.
                unsafe { Pair::load(words.as_ptr()).into_word().store(lanes.as_mut_ptr()) };
                assert_eq!(lanes.map(reduce_u64), [residue((a, b)); 8], "({a}, {b})");
            }
        }
    }
}
