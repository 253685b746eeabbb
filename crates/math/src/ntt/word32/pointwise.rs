//! Products of spectra and digits of sources, as plain loops that the compiler vectorises.

use super::montgomery::Reduction;
use crate::{BalancedDigit, multiversion};

/// Columns whose sums stay in registers or the nearest cache during the loop over the rows.
const COLUMNS: usize = 128;

multiversion! {
    /// lhs ← lhs ∘ rhs, canonical words.
    pub(crate) fn multiply(isa, lhs: &mut [u32], rhs: &[u32], reduction: Reduction) {
        for (l, &r) in lhs.iter_mut().zip(rhs) {
            *l = reduction.reduce(u64::from(*l) * u64::from(r));
        }
    }
}

multiversion! {
    /// acc += Σ_r lhs_r ∘ rhs_r, canonical words, any number of rows.
    ///
    /// A sum stays below 2p². Two products make it less than 4p² < 2^64, and one conditional subtraction of 2p² brings
    /// it back. At the end [`Reduction::reduce`] applies, because 2p < 2^32 and so 2p² < 2^32·p.
    pub(crate) fn multiply_accumulate(isa, acc: &mut [u32], lhs: &[u32], rhs: &[u32], reduction: Reduction) {
        let n = acc.len();
        let rows = lhs.len() / n;
        let fold = reduction.fold();
        for (block, acc) in acc.chunks_mut(COLUMNS).enumerate() {
            let mut sums = [0u64; COLUMNS];
            let sums = &mut sums[..acc.len()];
            for (sum, &a) in sums.iter_mut().zip(acc.iter()) {
                *sum = u64::from(a);
            }
            for row in (0..rows & !1).step_by(2) {
                let at = row * n + block * COLUMNS;
                let (l, r) = (&lhs[at..][..acc.len()], &rhs[at..][..acc.len()]);
                let (next_l, next_r) = (&lhs[at + n..][..acc.len()], &rhs[at + n..][..acc.len()]);
                for j in 0..sums.len() {
                    let sum = sums[j] + u64::from(l[j]) * u64::from(r[j]) + u64::from(next_l[j]) * u64::from(next_r[j]);
                    sums[j] = sum.min(sum.wrapping_sub(fold));
                }
            }
            if rows & 1 == 1 {
                let at = (rows - 1) * n + block * COLUMNS;
                let (l, r) = (&lhs[at..][..acc.len()], &rhs[at..][..acc.len()]);
                for j in 0..sums.len() {
                    let sum = sums[j] + u64::from(l[j]) * u64::from(r[j]);
                    sums[j] = sum.min(sum.wrapping_sub(fold));
                }
            }
            for (a, &sum) in acc.iter_mut().zip(sums.iter()) {
                *a = reduction.reduce(sum);
            }
        }
    }
}

multiversion! {
    /// The digits of 64-bit words; a negative digit d is p + d.
    pub(super) fn digits(isa, words: &[u64], digit: BalancedDigit, p: u32, out: &mut [u32]) {
        for (o, &x) in out.iter_mut().zip(words) {
            let d = digit.extract(x) as i32;
            *o = (d + (d >> 31 & p as i32)) as u32;
        }
    }
}

multiversion! {
    /// The digits of 32-bit words as the upper halves of 64 bits; a negative digit d is p + d.
    pub(super) fn digits_32(isa, words: &[u32], digit: BalancedDigit, p: u32, out: &mut [u32]) {
        for (o, &x) in out.iter_mut().zip(words) {
            let d = digit.extract(u64::from(x) << 32) as i32;
            *o = (d + (d >> 31 & p as i32)) as u32;
        }
    }
}
