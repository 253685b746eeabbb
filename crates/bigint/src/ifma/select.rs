//! Entries of tables, another one in each lane.

use std::arch::x86_64::*;

use super::lanes::{LANES, TILE, gather_rows};

/// Indices of eight lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_index(index: &[u64]) -> __m512i {
    let index: &[u64; LANES] = index.try_into().expect("an index for each lane");
    // SAFETY: the array has eight words.
    unsafe { _mm512_loadu_si512(index.as_ptr().cast()) }
}

/// Lane l of `out` becomes lane l of group `index[l]` of the table. Every entry is read: which one is kept is decided by masks.
///
/// # Safety
/// The CPU has AVX-512.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn select(out: &mut [u64], table: &[u64], index: &[u64]) {
    scan::<true>(out, table, out.len(), index);
}

/// As [`select`], from a table of singles.
///
/// # Safety
/// The CPU has AVX-512.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn select_single(out: &mut [u64], table: &[u64], index: &[u64]) {
    scan::<false>(out, table, out.len() / LANES, index);
}

#[inline]
#[target_feature(enable = "avx512f")]
fn scan<const GROUPS: bool>(out: &mut [u64], table: &[u64], entry_words: usize, index: &[u64]) {
    let index = load_index(index);
    for (part, out) in out.chunks_exact_mut(TILE * LANES).enumerate() {
        let mut chosen = [_mm512_setzero_si512(); TILE];
        let mut number = _mm512_setzero_si512();
        for entry in table.chunks_exact(entry_words) {
            let mask = _mm512_cmpeq_epi64_mask(index, number);
            number = _mm512_add_epi64(number, _mm512_set1_epi64(1));
            if GROUPS {
                let words = &entry[part * TILE * LANES..][..TILE * LANES];
                for (chosen, words) in chosen.iter_mut().zip(words.chunks_exact(LANES)) {
                    // SAFETY: the chunk has eight words.
                    *chosen = unsafe { _mm512_mask_loadu_epi64(*chosen, mask, words.as_ptr().cast()) };
                }
            } else {
                for (chosen, &word) in chosen.iter_mut().zip(&entry[part * TILE..][..TILE]) {
                    *chosen = _mm512_mask_set1_epi64(*chosen, mask, word as i64);
                }
            }
        }
        for (out, chosen) in out.chunks_exact_mut(LANES).zip(chosen) {
            // SAFETY: the chunk has eight words.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), chosen) };
        }
    }
}

/// Groups that [`select_lane`] chooses for at once.
const GROUPS_AT_ONCE: usize = 4;

/// Entry e of the table is lane e mod 8 of group ⌊e/8⌋: lane l of group g of `out` becomes entry `index[8·g + l]`. Every
/// entry is read, once for four groups of `out`: a permutation moves lanes of a register, a mask keeps those of its group.
///
/// # Safety
/// The CPU has AVX-512.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn select_lane(out: &mut [u64], table: &[u64], group_words: usize, index: &[u64]) {
    let outs = out.chunks_mut(GROUPS_AT_ONCE * group_words);
    for (out, index) in outs.zip(index.chunks(GROUPS_AT_ONCE * LANES)) {
        let mut indices = [_mm512_setzero_si512(); GROUPS_AT_ONCE];
        for (register, index) in indices.iter_mut().zip(index.chunks_exact(LANES)) {
            *register = load_index(index);
        }
        let of_entry = indices.map(|index| _mm512_srli_epi64::<3>(index));
        for at in (0..group_words).step_by(LANES) {
            let mut chosen = [_mm512_setzero_si512(); GROUPS_AT_ONCE];
            let mut number = _mm512_setzero_si512();
            for group in table.chunks_exact(group_words) {
                // SAFETY: a group has eight words from there on.
                let words = unsafe { _mm512_loadu_si512(group[at..at + LANES].as_ptr().cast()) };
                for i in 0..GROUPS_AT_ONCE {
                    let mask = _mm512_cmpeq_epi64_mask(of_entry[i], number);
                    chosen[i] = _mm512_mask_permutexvar_epi64(chosen[i], mask, indices[i], words);
                }
                number = _mm512_add_epi64(number, _mm512_set1_epi64(1));
            }
            for (out, chosen) in out.chunks_exact_mut(group_words).zip(chosen) {
                // SAFETY: the range has eight words.
                unsafe { _mm512_storeu_si512(out[at..at + LANES].as_mut_ptr().cast(), chosen) };
            }
        }
    }
}

/// As [`select`], reading only the selected entries.
///
/// # Safety
/// The CPU has AVX-512.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn select_public(out: &mut [u64], table: &[u64], index: &[u64]) {
    let words = out.len();
    if index.iter().all(|&i| i == index[0]) {
        out.copy_from_slice(&table[index[0] as usize * words..][..words]);
        return;
    }
    let mut entries = [&table[..0]; LANES];
    for (entry, &i) in entries.iter_mut().zip(index) {
        *entry = &table[i as usize * words..][..words];
    }
    for (at, out) in (0..words).step_by(LANES).zip(out.chunks_exact_mut(LANES)) {
        let mut chosen = _mm512_setzero_si512();
        for (lane, entry) in entries.iter().enumerate() {
            // SAFETY: `at` + 8 ≤ `words`, the length of every entry.
            chosen = unsafe { _mm512_mask_loadu_epi64(chosen, 1 << lane, entry.as_ptr().add(at).cast()) };
        }
        // SAFETY: the chunk has eight words.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), chosen) };
    }
}

/// As [`select_single`], reading only the selected entry.
///
/// # Safety
/// The CPU has AVX-512.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn select_single_public(out: &mut [u64], table: &[u64], index: &[u64]) {
    let digits = out.len() / LANES;
    let mut entries = [std::ptr::null(); LANES];
    for (entry, &i) in entries.iter_mut().zip(index) {
        *entry = table[i as usize * digits..][..digits].as_ptr();
    }
    // SAFETY: entries have `digits` words, `out` eight times as many.
    unsafe { gather_rows(out.as_mut_ptr(), entries, digits) };
}
