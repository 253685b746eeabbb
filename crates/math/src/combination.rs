//! Linear combinations of rows of 32-bit words with small batches of coefficients: the inner loop of LWE key switching.
//!
//! out_b ← out_b − Σ_j c_(b,j)·row_j modulo 2^32. The rows come from memory, hundreds of megabytes once each; the
//! outputs stay in the first-level cache.
//!
//! The kernel processes four vectors of columns at a time. It loads these columns of up to eight rows once from memory
//! and combines them for every output in registers. So it loads and stores an output once per eight rows. Meanwhile it
//! prefetches the same columns of the following rows, because the hardware prefetcher loses track at every row's end.
//!
//! All arithmetic wraps, so no value has a bound and the paths agree bit for bit.
//!
//! **Floor.** The rows have 4 bytes per element, read at one core's memory bandwidth. Each output needs a
//! multiplication (two operations of one port on Intel) and a subtraction, 2 cycles per 16 elements with AVX-512. That
//! is a seventh of the time of the bytes. Measured with the key of the NVMe-TFHE platform (367 MB; 7 rows of 801 words
//! at a time) on a Granite Rapids core whose reads alone take 22 ms:
//!
//! | prefetch of the following rows | one output | eight outputs |
//! | --- | --- | --- |
//! | into the second-level cache, as implemented | 23.7 ms | 38 ms |
//! | into the first-level cache | 24.6 ms | 40 ms |
//! | none | 35 ms | 51 ms |

use crate::Isa;

/// Rows that are combined at a time; a usual gadget has at most as many levels.
const MAX_ROWS: usize = 8;

/// out_b ← out_b − Σ_j c_(b,j)·row_j modulo 2^32.
///
/// `outputs` and `rows` hold out_b and row_j of `size` words each, one after another. `coefficients` holds the c_(b,j),
/// j running fastest, as many per output as there are rows. The function prefetches the memory after `rows`, where it
/// expects the same number of further rows.
///
/// # Panics
/// If the lengths do not fit, or `isa` is not available.
///
/// # Example
/// ```
/// use ciphermill_math::{Isa, subtract_combinations};
///
/// // One output of two words, less 1·(10, 20) and 2·(30, 40).
/// let mut output = [100, 200];
/// subtract_combinations(Isa::current(), 2, &mut output, &[1, 2], &[10, 20, 30, 40]);
/// assert_eq!(output, [30, 100]);
/// ```
pub fn subtract_combinations(isa: Isa, size: usize, outputs: &mut [u32], coefficients: &[u32], rows: &[u32]) {
    assert!(size > 0, "a row must have at least one element");
    let (count, batch) = (rows.len() / size, outputs.len() / size);
    assert!(rows.len() == count * size && outputs.len() == batch * size, "a whole number of rows and outputs");
    assert_eq!(coefficients.len(), batch * count, "one coefficient per row and output");
    if count == 0 || batch == 0 {
        return;
    }
    let job = Job { size, count, outputs, coefficients, rows };
    match isa {
        Isa::Portable => portable(job),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => {
            assert!(isa.is_available());
            // SAFETY: the assertion above ensures the CPU features; the assertions at the top check the lengths.
            unsafe { x86::avx2(job) }
        }
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => {
            assert!(isa.is_available());
            // SAFETY: as for AVX2.
            unsafe { x86::avx512(job) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        _ => portable(job),
    }
}

/// Arguments of [`subtract_combinations`], checked.
struct Job<'a> {
    size: usize,
    /// The number of rows.
    count: usize,
    outputs: &'a mut [u32],
    coefficients: &'a [u32],
    rows: &'a [u32],
}

fn portable(job: Job<'_>) {
    for (out, coefficients) in job.outputs.chunks_exact_mut(job.size).zip(job.coefficients.chunks_exact(job.count)) {
        for (&c, row) in coefficients.iter().zip(job.rows.chunks_exact(job.size)) {
            for (o, &x) in out.iter_mut().zip(row) {
                *o = o.wrapping_sub(c.wrapping_mul(x));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Job, MAX_ROWS};

    /// A vector of 32-bit words.
    ///
    /// # Safety
    /// The CPU has the features of the implementation's instructions, for all functions.
    trait Words: Copy {
        const LANES: usize;
        /// Selects the first lanes.
        type Mask: Copy;

        fn mask(lanes: usize) -> Self::Mask;
        unsafe fn splat(x: u32) -> Self;
        /// # Safety
        /// `p` is valid for reads of LANES words.
        unsafe fn load(p: *const u32) -> Self;
        /// # Safety
        /// `p` is valid for writes of LANES words.
        unsafe fn store(self, p: *mut u32);
        /// # Safety
        /// `p` is valid for reads of the mask's words.
        unsafe fn load_first(p: *const u32, mask: Self::Mask) -> Self;
        /// # Safety
        /// `p` is valid for writes of the mask's words.
        unsafe fn store_first(self, p: *mut u32, mask: Self::Mask);
        /// self − a·b
        unsafe fn subtract_product(self, a: Self, b: Self) -> Self;
    }

    impl Words for __m512i {
        const LANES: usize = 16;
        type Mask = __mmask16;

        #[inline(always)]
        fn mask(lanes: usize) -> __mmask16 {
            ((1u32 << lanes) - 1) as __mmask16
        }

        #[inline(always)]
        unsafe fn splat(x: u32) -> Self {
            // SAFETY: AVX-512 F, by the trait's contract; likewise below, together with each function's own.
            unsafe { _mm512_set1_epi32(x as i32) }
        }

        #[inline(always)]
        unsafe fn load(p: *const u32) -> Self {
            // SAFETY: see `splat`.
            unsafe { _mm512_loadu_si512(p.cast()) }
        }

        #[inline(always)]
        unsafe fn store(self, p: *mut u32) {
            // SAFETY: see `splat`.
            unsafe { _mm512_storeu_si512(p.cast(), self) }
        }

        #[inline(always)]
        unsafe fn load_first(p: *const u32, mask: __mmask16) -> Self {
            // SAFETY: see `splat`; lanes that the mask leaves out are not accessed.
            unsafe { _mm512_maskz_loadu_epi32(mask, p.cast()) }
        }

        #[inline(always)]
        unsafe fn store_first(self, p: *mut u32, mask: __mmask16) {
            // SAFETY: as for `load_first`.
            unsafe { _mm512_mask_storeu_epi32(p.cast(), mask, self) }
        }

        #[inline(always)]
        unsafe fn subtract_product(self, a: Self, b: Self) -> Self {
            // SAFETY: see `splat`.
            unsafe { _mm512_sub_epi32(self, _mm512_mullo_epi32(a, b)) }
        }
    }

    impl Words for __m256i {
        const LANES: usize = 8;
        type Mask = __m256i;

        #[inline(always)]
        fn mask(lanes: usize) -> __m256i {
            let words: [i32; 8] = std::array::from_fn(|i| if i < lanes { -1 } else { 0 });
            // SAFETY: a plain reinterpretation of 32 bytes.
            unsafe { std::mem::transmute(words) }
        }

        #[inline(always)]
        unsafe fn splat(x: u32) -> Self {
            // SAFETY: AVX2, by the trait's contract; likewise below, together with each function's own.
            unsafe { _mm256_set1_epi32(x as i32) }
        }

        #[inline(always)]
        unsafe fn load(p: *const u32) -> Self {
            // SAFETY: see `splat`.
            unsafe { _mm256_loadu_si256(p.cast()) }
        }

        #[inline(always)]
        unsafe fn store(self, p: *mut u32) {
            // SAFETY: see `splat`.
            unsafe { _mm256_storeu_si256(p.cast(), self) }
        }

        #[inline(always)]
        unsafe fn load_first(p: *const u32, mask: __m256i) -> Self {
            // SAFETY: see `splat`; lanes that the mask leaves out are not accessed.
            unsafe { _mm256_maskload_epi32(p.cast(), mask) }
        }

        #[inline(always)]
        unsafe fn store_first(self, p: *mut u32, mask: __m256i) {
            // SAFETY: as for `load_first`.
            unsafe { _mm256_maskstore_epi32(p.cast(), mask, self) }
        }

        #[inline(always)]
        unsafe fn subtract_product(self, a: Self, b: Self) -> Self {
            // SAFETY: see `splat`.
            unsafe { _mm256_sub_epi32(self, _mm256_mullo_epi32(a, b)) }
        }
    }

    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn avx512(job: Job<'_>) {
        // SAFETY: the caller has checked the CPU and the lengths.
        unsafe { all_rows::<__m512i>(job) }
    }

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn avx2(job: Job<'_>) {
        // SAFETY: the caller has checked the CPU and the lengths.
        unsafe { all_rows::<__m256i>(job) }
    }

    /// # Safety
    /// The CPU has V's features; the lengths of the job fit each other.
    #[inline(always)]
    unsafe fn all_rows<V: Words>(job: Job<'_>) {
        let Job { size, count, outputs, coefficients, rows } = job;
        let batch = outputs.len() / size;
        let mut first = 0;
        while first < count {
            let taken = (count - first).min(MAX_ROWS);
            let part = Part {
                size,
                count,
                batch,
                ahead: count * size,
                outputs: outputs.as_mut_ptr(),
                coefficients: coefficients[first..].as_ptr(),
                rows: rows[first * size..].as_ptr(),
            };
            // SAFETY: `taken` rows and coefficients lie from `first` on.
            unsafe {
                match taken {
                    1 => some_rows::<V, 1>(part),
                    2 => some_rows::<V, 2>(part),
                    3 => some_rows::<V, 3>(part),
                    4 => some_rows::<V, 4>(part),
                    5 => some_rows::<V, 5>(part),
                    6 => some_rows::<V, 6>(part),
                    7 => some_rows::<V, 7>(part),
                    _ => some_rows::<V, MAX_ROWS>(part),
                }
            }
            first += taken;
        }
    }

    /// A few rows of a job; `count` is the distance from one output's coefficients to the next one's.
    #[derive(Clone, Copy)]
    struct Part {
        size: usize,
        count: usize,
        batch: usize,
        ahead: usize,
        outputs: *mut u32,
        coefficients: *const u32,
        rows: *const u32,
    }

    /// # Safety
    /// The CPU has V's features. Of `part`, outputs are valid for batch·size words, rows for ROWS·size, coefficients
    /// for (batch − 1)·count + ROWS.
    #[inline(always)]
    unsafe fn some_rows<V: Words, const ROWS: usize>(part: Part) {
        const VECTORS: usize = 4;
        let Part { size, count, batch, ahead, outputs, coefficients, rows } = part;
        let mut column = 0;
        // SAFETY: columns stay below `size`, outputs below `batch` and rows below ROWS. A prefetch never faults.
        unsafe {
            while column + VECTORS * V::LANES <= size {
                for j in 0..ROWS {
                    let line = rows.wrapping_add(j * size + column + ahead);
                    for v in (0..VECTORS * V::LANES).step_by(16) {
                        _mm_prefetch::<_MM_HINT_T1>(line.wrapping_add(v).cast());
                    }
                }
                for b in 0..batch {
                    let out = outputs.add(b * size + column);
                    let mut sums = [V::load(out); VECTORS];
                    for (v, sum) in sums.iter_mut().enumerate().skip(1) {
                        *sum = V::load(out.add(v * V::LANES));
                    }
                    for j in 0..ROWS {
                        let c = V::splat(*coefficients.add(b * count + j));
                        for (v, sum) in sums.iter_mut().enumerate() {
                            let x = V::load(rows.add(j * size + column + v * V::LANES));
                            *sum = sum.subtract_product(c, x);
                        }
                    }
                    for (v, sum) in sums.into_iter().enumerate() {
                        sum.store(out.add(v * V::LANES));
                    }
                }
                column += VECTORS * V::LANES;
            }
            while column < size {
                let mask = V::mask(V::LANES.min(size - column));
                for j in 0..ROWS {
                    _mm_prefetch::<_MM_HINT_T1>(rows.wrapping_add(j * size + column + ahead).cast());
                }
                for b in 0..batch {
                    let out = outputs.add(b * size + column);
                    let mut sum = V::load_first(out, mask);
                    for j in 0..ROWS {
                        let c = V::splat(*coefficients.add(b * count + j));
                        let x = V::load_first(rows.add(j * size + column), mask);
                        sum = sum.subtract_product(c, x);
                    }
                    sum.store_first(out, mask);
                }
                column += V::LANES;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Isa, MAX_ROWS, subtract_combinations};

    fn words(seed: u64, len: usize) -> Vec<u32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 32) as u32
        };
        (0..len).map(|_| next()).collect()
    }

    /// The definition, by 64-bit products.
    fn definition(size: usize, outputs: &mut [u32], coefficients: &[u32], rows: &[u32]) {
        let count = rows.len() / size;
        for (i, o) in outputs.iter_mut().enumerate() {
            let (b, column) = (i / size, i % size);
            for j in 0..count {
                let product = u64::from(coefficients[b * count + j]) * u64::from(rows[j * size + column]);
                *o = (u64::from(*o) + (1 << 32) - (product & 0xffff_ffff)) as u32;
            }
        }
    }

    #[test]
    fn every_path_is_the_definition_at_odd_sizes() {
        for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
            for size in [1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 637, 801, 861] {
                // Miri is a thousand times slower.
                if cfg!(miri) && size > 65 {
                    continue;
                }
                for count in [0, 1, 2, 3, 4, 5, 6, 7, MAX_ROWS, MAX_ROWS + 1, 2 * MAX_ROWS + 3] {
                    for batch in [0, 1, 2, 5] {
                        let rows = words(1, count * size);
                        let mut coefficients = words(2, batch * count);
                        // Digits are small and of both signs; extremes wrap.
                        for (c, special) in coefficients.iter_mut().zip([0, 1, 3, u32::MAX, u32::MAX - 3, 1 << 31]) {
                            *c = special;
                        }
                        let mut expected = words(3, batch * size);
                        let mut given = expected.clone();
                        definition(size, &mut expected, &coefficients, &rows);
                        subtract_combinations(isa, size, &mut given, &coefficients, &rows);
                        assert_eq!(given, expected, "{isa}, {size} columns, {count} rows, {batch} outputs");
                    }
                }
            }
        }
    }
}
