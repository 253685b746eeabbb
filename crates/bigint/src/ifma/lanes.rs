//! The shape of groups, digits and blocks; rows of 64-bit limbs to digit-major groups and back, and the choice of
//! entries from tables.

use std::arch::x86_64::*;

use crate::kernel::Rows;
use crate::limbs::LIMB_BITS;

/// Residues per group.
pub(super) const LANES: usize = 8;
/// Bits of a digit: what `vpmadd52` multiplies.
pub(super) const DIGIT_BITS: u32 = 52;
/// Digits of a block.
pub(super) const TILE: usize = 10;

const MASK: u64 = (1 << DIGIT_BITS) - 1;

/// Selects the first `count` lanes, all from 8 on.
fn first(count: usize) -> __mmask8 {
    ((1u32 << count.min(LANES)) - 1) as __mmask8
}

/// Word i of vector l becomes word l of vector i.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(rows: [__m512i; 8]) -> [__m512i; 8] {
    let quarters = |parts: [__m512i; 4]| {
        let [a, b, c, d] = parts;
        let (ab, cd) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0x88>(c, d));
        let (ab_odd, cd_odd) = (_mm512_shuffle_i64x2::<0xdd>(a, b), _mm512_shuffle_i64x2::<0xdd>(c, d));
        [
            _mm512_shuffle_i64x2::<0x88>(ab, cd),
            _mm512_shuffle_i64x2::<0x88>(ab_odd, cd_odd),
            _mm512_shuffle_i64x2::<0xdd>(ab, cd),
            _mm512_shuffle_i64x2::<0xdd>(ab_odd, cd_odd),
        ]
    };
    let [a, b, c, d, e, f, g, h] = rows;
    let even = quarters([
        _mm512_unpacklo_epi64(a, b),
        _mm512_unpacklo_epi64(c, d),
        _mm512_unpacklo_epi64(e, f),
        _mm512_unpacklo_epi64(g, h),
    ]);
    let odd = quarters([
        _mm512_unpackhi_epi64(a, b),
        _mm512_unpackhi_epi64(c, d),
        _mm512_unpackhi_epi64(e, f),
        _mm512_unpackhi_epi64(g, h),
    ]);
    [even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3]]
}

/// Vectors of `count` words that start at `rows` (null: zeros), turned to `count` vectors of eight lanes.
///
/// # Safety
/// The CPU has AVX-512. Each row that is not null has `count` words; `out` has eight times as many.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn gather_rows(out: *mut u64, rows: [*const u64; LANES], count: usize) {
    for start in (0..count).step_by(8) {
        let mask = first(count - start);
        let mut vectors = [_mm512_setzero_si512(); 8];
        for (vector, row) in vectors.iter_mut().zip(rows) {
            if !row.is_null() {
                // SAFETY: the caller's contract; what the mask leaves out is not read.
                *vector = unsafe { _mm512_maskz_loadu_epi64(mask, row.add(start).cast()) };
            }
        }
        for (i, column) in transpose(vectors).into_iter().enumerate().take(count - start) {
            // SAFETY: the caller's contract.
            unsafe { _mm512_storeu_si512(out.add(LANES * (start + i)).cast(), column) };
        }
    }
}

/// The reverse of [`gather_rows`]; nothing is written to a row that is null.
///
/// # Safety
/// As of [`gather_rows`].
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn scatter_rows(rows: [*mut u64; LANES], from: *const u64, count: usize) {
    for start in (0..count).step_by(8) {
        let mut vectors = [_mm512_setzero_si512(); 8];
        for (i, vector) in vectors.iter_mut().enumerate().take(count - start) {
            // SAFETY: the caller's contract.
            *vector = unsafe { _mm512_loadu_si512(from.add(LANES * (start + i)).cast()) };
        }
        for (row, vector) in rows.into_iter().zip(transpose(vectors)) {
            if !row.is_null() {
                // SAFETY: the caller's contract; what the mask leaves out is not written.
                unsafe { _mm512_mask_storeu_epi64(row.add(start).cast(), first(count - start), vector) };
            }
        }
    }
}

/// Limbs that `digits` digits touch, at most.
pub(super) fn limbs_touched(digits: usize) -> usize {
    (digits * DIGIT_BITS as usize).div_ceil(LIMB_BITS as usize) + 1
}

/// Digits `from` to `from + digits` of up to eight rows, in as many lanes; other lanes have the value `padding`.
///
/// # Safety
/// The CPU has AVX-512. `out` has 8·`digits` words, `buffer` 8·[`limbs_touched`].
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn to_digits(
    out: *mut u64,
    rows: Rows<'_>,
    from: usize,
    digits: usize,
    padding: u64,
    buffer: *mut u64,
) {
    let begin = from * DIGIT_BITS as usize;
    let limb = begin / LIMB_BITS as usize;
    let count = limbs_touched(digits).min(rows.limbs.saturating_sub(limb));
    let mut pointers = [std::ptr::null(); LANES];
    for (pointer, row) in pointers.iter_mut().zip(rows.words.chunks_exact(rows.limbs)) {
        *pointer = row[limb.min(rows.limbs)..].as_ptr();
    }
    // SAFETY: rows have `count` limbs from there on, the buffer has room for them.
    unsafe { gather_rows(buffer, pointers, count) };
    let zero = _mm512_setzero_si512();
    let at = |index: usize| {
        // SAFETY: `count` limbs were written.
        if index < count { unsafe { _mm512_loadu_si512(buffer.add(LANES * index).cast()) } } else { zero }
    };
    for digit in 0..digits {
        let bit = begin - limb * LIMB_BITS as usize + digit * DIGIT_BITS as usize;
        let (index, shift) = (bit / LIMB_BITS as usize, bit % LIMB_BITS as usize);
        // Shifts by 64 give 0.
        let low = _mm512_srlv_epi64(at(index), _mm512_set1_epi64(shift as i64));
        let high = _mm512_sllv_epi64(at(index + 1), _mm512_set1_epi64(64 - shift as i64));
        let mut value = _mm512_and_si512(_mm512_or_si512(low, high), _mm512_set1_epi64(MASK as i64));
        if digit == 0 {
            value = _mm512_mask_mov_epi64(_mm512_set1_epi64(padding as i64), first(rows.len()), value);
        }
        // SAFETY: the caller's contract.
        unsafe { _mm512_storeu_si512(out.add(LANES * digit).cast(), value) };
    }
}

/// The values of the first `rows.len()/limbs` lanes, which fit `limbs` limbs.
///
/// # Safety
/// The CPU has AVX-512. The group has `digits` digits; `buffer` has 8·`limbs` words.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn to_rows(rows: &mut [u64], limbs: usize, group: *const u64, digits: usize, buffer: *mut u64) {
    let zero = _mm512_setzero_si512();
    let at = |index: usize| {
        // SAFETY: the caller's contract.
        if index < digits { unsafe { _mm512_loadu_si512(group.add(LANES * index).cast()) } } else { zero }
    };
    for limb in 0..limbs {
        let bit = limb * LIMB_BITS as usize;
        let (index, shift) = (bit / DIGIT_BITS as usize, (bit % DIGIT_BITS as usize) as i64);
        let width = i64::from(DIGIT_BITS);
        let low = _mm512_srlv_epi64(at(index), _mm512_set1_epi64(shift));
        let middle = _mm512_sllv_epi64(at(index + 1), _mm512_set1_epi64(width - shift));
        // Shifts from 64 on give 0.
        let high = _mm512_sllv_epi64(at(index + 2), _mm512_set1_epi64(2 * width - shift));
        let value = _mm512_or_si512(_mm512_or_si512(low, middle), high);
        // SAFETY: the caller's contract.
        unsafe { _mm512_storeu_si512(buffer.add(LANES * limb).cast(), value) };
    }
    let mut pointers = [std::ptr::null_mut(); LANES];
    for (pointer, row) in pointers.iter_mut().zip(rows.chunks_exact_mut(limbs)) {
        *pointer = row.as_mut_ptr();
    }
    // SAFETY: rows and buffer have `limbs` limbs.
    unsafe { scatter_rows(pointers, buffer, limbs) };
}

/// x = x − m where that is not negative; the mask of these lanes. m is broadcast.
///
/// # Safety
/// The CPU has AVX-512. x and `buffer` have 8 words for each digit of m.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn subtract_once(x: *mut u64, m: &[u64], buffer: *mut u64) -> __mmask8 {
    let mask = _mm512_set1_epi64(MASK as i64);
    let mut carry = _mm512_setzero_si512();
    for (i, &digit) in m.iter().enumerate() {
        // SAFETY: the caller's contract.
        unsafe {
            let x = _mm512_loadu_si512(x.add(LANES * i).cast());
            let difference = _mm512_add_epi64(_mm512_sub_epi64(x, _mm512_set1_epi64(digit as i64)), carry);
            _mm512_storeu_si512(buffer.add(LANES * i).cast(), _mm512_and_si512(difference, mask));
            carry = _mm512_srai_epi64::<DIGIT_BITS>(difference);
        }
    }
    let borrowed = _mm512_srai_epi64::<63>(carry);
    for i in 0..m.len() {
        // SAFETY: the caller's contract.
        unsafe {
            let at = x.add(LANES * i).cast();
            let difference = _mm512_loadu_si512(buffer.add(LANES * i).cast());
            // x where it was less, else the difference. No masked store: what is loaded after one waits, or does not, by the
            // mask (seen by the example bigint-leakage).
            _mm512_storeu_si512(at, _mm512_ternarylogic_epi64::<0xca>(borrowed, _mm512_loadu_si512(at), difference));
        }
    }
    _mm512_cmpge_epi64_mask(carry, _mm512_setzero_si512())
}

/// x = x + y, carried: the digits of x and y are below 2^63, the sum fits.
///
/// # Safety
/// The CPU has AVX-512. x and y have 8·`digits` words.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn add(x: *mut u64, y: *const u64, digits: usize) {
    let mut carry = _mm512_setzero_si512();
    for i in 0..digits {
        // SAFETY: the caller's contract.
        unsafe {
            let at = x.add(LANES * i).cast();
            let sum = _mm512_add_epi64(_mm512_loadu_si512(at), _mm512_loadu_si512(y.add(LANES * i).cast()));
            let sum = _mm512_add_epi64(sum, carry);
            _mm512_storeu_si512(at, _mm512_and_si512(sum, _mm512_set1_epi64(MASK as i64)));
            carry = _mm512_srli_epi64::<DIGIT_BITS>(sum);
        }
    }
}

/// x = m + count − x, where m is broadcast and the result not negative; `count` is 1 or 0 more for each mask.
///
/// # Safety
/// The CPU has AVX-512. x has 8 words for each digit of m.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn subtract_from(x: *mut u64, m: &[u64], count: &[__mmask8]) {
    let one = _mm512_set1_epi64(1);
    let mut carry = _mm512_setzero_si512();
    for &mask in count {
        carry = _mm512_mask_add_epi64(carry, mask, carry, one);
    }
    for (i, &digit) in m.iter().enumerate() {
        // SAFETY: the caller's contract.
        unsafe {
            let at = x.add(LANES * i).cast();
            let difference = _mm512_sub_epi64(_mm512_set1_epi64(digit as i64), _mm512_loadu_si512(at));
            let difference = _mm512_add_epi64(difference, carry);
            _mm512_storeu_si512(at, _mm512_and_si512(difference, _mm512_set1_epi64(MASK as i64)));
            carry = _mm512_srai_epi64::<DIGIT_BITS>(difference);
        }
    }
}

/// Copies digits to all lanes.
///
/// # Safety
/// The CPU has AVX-512. `out` has 8 words for each digit.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn fill(out: *mut u64, digits: &[u64]) {
    for (i, &digit) in digits.iter().enumerate() {
        // SAFETY: the caller's contract.
        unsafe { _mm512_storeu_si512(out.add(LANES * i).cast(), _mm512_set1_epi64(digit as i64)) };
    }
}
