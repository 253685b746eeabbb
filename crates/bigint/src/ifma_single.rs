//! One residue over the lanes of a few vectors: digits of 52 bits with AVX-512 IFMA, for latency.
//!
//! The idea of walking over the digits of one factor with the other one in registers, one digit per lane, is Gueron's and
//! Krasnov's ("Software implementation of modular exponentiation, using advanced vector instructions architectures", WAIFI
//! 2012) and Drucker's and Gueron's ("Fast modular squaring with AVX512IFMA", ITNG 2019). What binds it is the latency of
//! one round, in which the digit qᵢ of the quotient follows from the lowest lane. All rounds but the last therefore work with
//! the multiple N' = N·(−N^-1 mod 2^52), which is −1 modulo 2^52: qᵢ is the lowest digit itself, and
//! (x + qᵢ·N')/2^52 = ⌊x/2^52⌋ + qᵢ·N'' with N'' = (N' + 1)/2^52 ≤ N. The last round works with N. The whole quotient times
//! its moduli is then below R·N'/2^52 + R·N ≤ 2·R·N: with R = 2^(52·digits) ≥ 16·2^(64·limbs), factors below 4N give a
//! product below N·16·N/R + 2N < 3N.

use std::arch::x86_64::*;

use zeroize::Zeroize;

use super::kernel::{Kernel, Rows};
use super::one_lane::one_lane;
use super::{MAX_ENTRY_RATIO, MAX_MODULUS_BITS, Path, constants, limbs};

const DIGIT_BITS: u32 = 52;
const DIGIT_MASK: u64 = (1 << DIGIT_BITS) - 1;
/// Digits per vector.
const WIDTH: usize = 8;
/// From this many vectors on a round takes longer than its longest chain, so that additions to save latency do not pay.
const CHAINED: usize = 8;

/// Digits of R for a modulus of that many limbs.
const fn digits_for(limbs: usize) -> usize {
    (limbs as u32 * limbs::LIMB_BITS + 4).div_ceil(DIGIT_BITS) as usize
}

/// The modulus in the form that products need, in vectors of digits.
struct Constants {
    digits: usize,
    /// −N^-1 mod 2^52.
    negated_inverse: u64,
    /// N.
    n: Vec<u64>,
    /// N'' = (N·negated_inverse + 1)/2^52.
    quotient_multiple: Vec<u64>,
}

type Product = unsafe fn(&Constants, &mut [u64], &[u64], &[u64]);
type Normalise = unsafe fn(&mut [u64]);

/// Modulo N.
pub(super) struct Plain {
    constants: Constants,
    /// N in limbs, with a limb 0 above.
    limbs: Vec<u64>,
    one: Vec<u64>,
    /// 1, not in Montgomery form.
    unit: Vec<u64>,
    /// R²·2^(64·limbs·i) mod N.
    entry: Vec<Vec<u64>>,
    product: Product,
    normalise: Normalise,
}

impl Plain {
    /// `None` if this CPU has no AVX-512 IFMA.
    pub(super) fn new(n: &[u64]) -> Option<Self> {
        if !Path::IfmaSingle.is_available() {
            return None;
        }
        let s = n.len();
        let digits = digits_for(s);
        let (vectors, product, normalise) = functions(digits.div_ceil(WIDTH));
        let words = vectors * WIDTH;
        let negated_inverse = limbs::negated_inverse(n[0]) & DIGIT_MASK;
        let mut multiple = vec![0; s + 1];
        limbs::multiply_add(&mut multiple, n, &[negated_inverse]);
        limbs::add_assign(&mut multiple, &[1]);
        let constants = Constants {
            digits,
            negated_inverse,
            n: to_digits(n, 0, words),
            quotient_multiple: to_digits(&multiple, DIGIT_BITS, words),
        };
        let radix = constants::radix_powers(n, digits as u32 * DIGIT_BITS, 2);
        let part = constants::radix_powers(n, s as u32 * limbs::LIMB_BITS, 1);
        let mut entry = vec![radix[1].clone()];
        while entry.len() < MAX_ENTRY_RATIO {
            entry.push(constants::multiply(&entry[entry.len() - 1], &part[0], n));
        }
        let digits_of = |x: &constants::Words| to_digits(x, 0, words);
        let padded = constants::extended(n, &[0]);
        multiple.zeroize();
        Some(Self {
            limbs: padded,
            one: digits_of(&radix[0]),
            unit: to_digits(&[1], 0, words),
            entry: entry.iter().map(digits_of).collect(),
            constants,
            product,
            normalise,
        })
    }

    fn words(&self) -> usize {
        self.constants.n.len()
    }

    fn product(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        let words = self.words();
        assert!(out.len() == words && a.len() == words && b.len() == words);
        // SAFETY: the CPU has the instructions (checked in `new`); all slices are as long as the function's vectors.
        unsafe { (self.product)(&self.constants, out, a, b) }
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let Constants { negated_inverse, n, quotient_multiple, .. } = &mut self.constants;
        negated_inverse.zeroize();
        for words in [n, quotient_multiple, &mut self.limbs, &mut self.one] {
            words.zeroize();
        }
        self.entry.zeroize();
    }
}

impl Kernel for Plain {
    one_lane!();

    fn group_words(&self) -> usize {
        self.words()
    }

    fn scratch_words(&self) -> usize {
        3 * self.words()
    }

    fn value_limbs(&self) -> usize {
        self.limbs.len() - 1
    }

    fn one(&self, out: &mut [u64]) {
        out.copy_from_slice(&self.one);
    }

    fn multiply(&self, out: &mut [u64], a: &[u64], b: &[u64], _scratch: &mut [u64]) {
        self.product(out, a, b);
    }

    fn square(&self, out: &mut [u64], a: &[u64], _scratch: &mut [u64]) {
        self.product(out, a, a);
    }

    fn enter(&self, out: &mut [u64], rows: Rows<'_>, scratch: &mut [u64]) {
        let words = self.words();
        let (part, scratch) = scratch.split_at_mut(words);
        let (product, scratch) = scratch.split_at_mut(words);
        let sum = &mut scratch[..words];
        sum.fill(0);
        for (limbs, power) in rows.words.chunks(self.value_limbs()).zip(&self.entry) {
            write_digits(part, limbs, 0);
            // The part is below R/16 and the power below N: the product is below 3N.
            self.product(product, part, power);
            sum.iter_mut().zip(&*product).for_each(|(sum, &digit)| *sum += digit);
        }
        // SAFETY: the CPU has the instructions (checked in `new`); the sum is as long as the function's vectors.
        unsafe { (self.normalise)(sum) };
        // Below 15N and R: times R mod N and over R it is below 3N again.
        self.product(out, sum, &self.one);
    }

    fn leave(&self, low: &mut [u64], _high: &mut [u64], group: &[u64], scratch: &mut [u64]) {
        let (digits, scratch) = scratch.split_at_mut(self.words());
        // At most 2N: the product itself is below R.
        self.product(digits, group, &self.unit);
        let value = &mut scratch[..self.limbs.len()];
        write_limbs(value, digits);
        for _ in 0..2 {
            limbs::reduce_once(value, 0, &self.limbs);
        }
        low.copy_from_slice(&value[..low.len()]);
    }
}

fn to_digits(limbs: &[u64], skip: u32, words: usize) -> Vec<u64> {
    let mut digits = vec![0; words];
    write_digits(&mut digits, limbs, skip);
    digits
}

/// The digits of ⌊limbs/2^skip⌋.
fn write_digits(digits: &mut [u64], limbs: &[u64], skip: u32) {
    for (i, digit) in digits.iter_mut().enumerate() {
        *digit = window(limbs, limbs::LIMB_BITS, skip + i as u32 * DIGIT_BITS) & DIGIT_MASK;
    }
}

/// The limbs of digits below 2^52; digits beyond their end are dropped.
fn write_limbs(limbs: &mut [u64], digits: &[u64]) {
    for (i, limb) in limbs.iter_mut().enumerate() {
        let low = i as u32 * limbs::LIMB_BITS;
        // 52 bits from the place of the limb's lowest on, and the 12 above them.
        *limb =
            window(digits, DIGIT_BITS, low) & DIGIT_MASK | window(digits, DIGIT_BITS, low + DIGIT_BITS) << DIGIT_BITS;
    }
}

/// At least 52 bits from bit `low` on of `words` of `bits` ≤ 64 bits each; bits beyond their end are 0.
fn window(words: &[u64], bits: u32, low: u32) -> u64 {
    let (word, shift) = ((low / bits) as usize, low % bits);
    let at = |i: usize| u128::from(words.get(i).copied().unwrap_or(0));
    ((at(word) | at(word + 1) << bits) >> shift) as u64
}

/// The functions for that many vectors, or the next more that there are functions for, and how many these are. All usual
/// widths of moduli (256 bits times 1, 2, 3, 4, 6, 8, 12, 16, 24, 32) waste less than a vector.
fn functions(vectors: usize) -> (usize, Product, Normalise) {
    macro_rules! of {
        ($($v:literal)*) => {
            $(if vectors <= $v {
                return ($v, product::<$v>, normalise_words::<$v>);
            })*
        };
    }
    const { assert!(digits_for(limbs::limbs_for(MAX_MODULUS_BITS)) <= 20 * WIDTH) };
    of!(1 2 3 4 5 6 8 10 12 15 20);
    unreachable!("a modulus has {MAX_MODULUS_BITS} bits at most")
}

#[target_feature(enable = "avx512f")]
fn load<const V: usize>(words: &[u64]) -> [__m512i; V] {
    assert_eq!(words.len(), V * WIDTH);
    // SAFETY: V vectors of 8 words lie in the slice.
    std::array::from_fn(|j| unsafe { _mm512_loadu_si512(words.as_ptr().add(j * WIDTH).cast()) })
}

#[target_feature(enable = "avx512f")]
fn store<const V: usize>(words: &mut [u64], x: [__m512i; V]) {
    assert_eq!(words.len(), V * WIDTH);
    for (j, x) in x.into_iter().enumerate() {
        // SAFETY: V vectors of 8 words lie in the slice.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().add(j * WIDTH).cast(), x) };
    }
}

/// acc + the lower halves of the products of `a` with the digit in all lanes of `b`.
#[target_feature(enable = "avx512f,avx512ifma")]
fn add_low<const V: usize>(mut acc: [__m512i; V], a: &[__m512i; V], b: __m512i) -> [__m512i; V] {
    for j in 0..V {
        acc[j] = _mm512_madd52lo_epu64(acc[j], a[j], b);
    }
    acc
}

/// acc + the upper halves.
#[target_feature(enable = "avx512f,avx512ifma")]
fn add_high<const V: usize>(mut acc: [__m512i; V], a: &[__m512i; V], b: __m512i) -> [__m512i; V] {
    for j in 0..V {
        acc[j] = _mm512_madd52hi_epu64(acc[j], a[j], b);
    }
    acc
}

/// ⌊x/2^52⌋ digit by digit: every lane moves down by one, and the lowest one leaves its carry.
#[target_feature(enable = "avx512f")]
fn shift_down<const V: usize>(x: [__m512i; V]) -> [__m512i; V] {
    let carry = _mm512_maskz_srli_epi64::<DIGIT_BITS>(1, x[0]);
    let mut out = x;
    for j in 0..V {
        let next = if j + 1 < V { x[j + 1] } else { _mm512_setzero_si512() };
        out[j] = _mm512_alignr_epi64::<1>(next, x[j]);
    }
    out[0] = _mm512_add_epi64(out[0], carry);
    out
}

/// a·b/R modulo N, below 3N for factors below 4N, in digits below 2^52.
#[target_feature(enable = "avx512f,avx512ifma")]
fn product<const V: usize>(constants: &Constants, out: &mut [u64], a: &[u64], b: &[u64]) {
    let zero = _mm512_setzero_si512();
    let a: [__m512i; V] = load(a);
    let multiple: [__m512i; V] = load(&constants.quotient_multiple);
    let (first, rest) = b[..constants.digits].split_first().expect("a modulus has digits");
    let first = _mm512_set1_epi64(*first as i64);
    // x's digits lack the upper halves of the products of the last digits of b and of the quotient: these are for the lane
    // above, which is their own after the next shift. A lane takes in at most 4·2^52 in each of at most 158 rounds.
    let mut x = add_low([zero; V], &a, first);
    let (mut last_b, mut last_q) = (first, zero);
    for &digit in rest {
        let digit = _mm512_set1_epi64(digit as i64);
        let q = _mm512_broadcastq_epi64(_mm512_castsi512_si128(x[0]));
        if V < CHAINED {
            // Only what depends on q is added after the shift.
            let pending = add_high(add_low(add_high([zero; V], &a, last_b), &a, digit), &multiple, last_q);
            x = shift_down(x);
            for j in 0..V {
                x[j] = _mm512_add_epi64(x[j], pending[j]);
            }
        } else {
            x = add_high(add_low(add_high(shift_down(x), &a, last_b), &a, digit), &multiple, last_q);
        }
        x = add_low(x, &multiple, q);
        (last_b, last_q) = (digit, q);
    }
    let n: [__m512i; V] = load(&constants.n);
    let inverse = _mm512_set1_epi64(constants.negated_inverse as i64);
    let lowest = _mm512_broadcastq_epi64(_mm512_castsi512_si128(x[0]));
    let q = _mm512_madd52lo_epu64(zero, lowest, inverse);
    x = shift_down(add_low(x, &n, q));
    x = add_high(add_high(add_high(x, &a, last_b), &multiple, last_q), &n, q);
    store(out, normalise(x));
}

#[target_feature(enable = "avx512f")]
fn normalise_words<const V: usize>(words: &mut [u64]) {
    store(words, normalise(load::<V>(words)));
}

/// The same number in digits below 2^52; nothing goes beyond the last lane.
#[target_feature(enable = "avx512f")]
fn normalise<const V: usize>(mut x: [__m512i; V]) -> [__m512i; V] {
    let mask = _mm512_set1_epi64(DIGIT_MASK as i64);
    let mut below = _mm512_setzero_si512();
    // Afterwards every lane is below 2^52 + 2^12, and hands on 1 at most.
    for x in &mut x {
        let carry = _mm512_srli_epi64::<DIGIT_BITS>(*x);
        *x = _mm512_add_epi64(_mm512_and_si512(*x, mask), _mm512_alignr_epi64::<7>(carry, below));
        below = carry;
    }
    // Lanes that hand on a carry by themselves, and lanes that hand on what they are given: one addition of the two, as
    // binary numbers, lets all carries run.
    let one = _mm512_set1_epi64(1);
    let mut carry = 0;
    for x in x.chunks_mut(8) {
        let (mut generate, mut propagate) = (0u64, 0u64);
        for (j, &x) in x.iter().enumerate() {
            generate |= u64::from(_mm512_cmpgt_epu64_mask(x, mask)) << (8 * j);
            propagate |= u64::from(_mm512_cmpeq_epu64_mask(x, mask)) << (8 * j);
        }
        let (sum, overflow) = propagate.overflowing_add(generate << 1 | carry);
        let receive = sum ^ propagate;
        carry = generate >> 63 | u64::from(overflow);
        for (j, x) in x.iter_mut().enumerate() {
            *x = _mm512_and_si512(_mm512_mask_add_epi64(*x, (receive >> (8 * j)) as u8, *x, one), mask);
        }
    }
    x
}
