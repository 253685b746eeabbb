//! Gathers on x86-64, one module per width and instruction set.

macro_rules! words {
    (
        $module:ident, $features:literal, $word:ty, $signed:ty, $lanes:literal, $vector:ty, $indices:ty,
        load: $load:ident, store: $store:ident, splat: $splat:ident,
        load_indices: $load_indices:ident, splat_indices: $splat_indices:ident,
        add_indices: $add_indices:ident, and_indices: $and_indices:ident,
        gather: |$base:ident, $index:ident| $gather:expr,
        negate: |$q:ident, $x:ident, $e:ident, $n:ident| $negate:expr,
        reduce: |$m:ident, $y:ident| $reduce:expr,
        add: |$p:ident, $a:ident, $b:ident| $add:expr $(,)?
    ) => {
        pub(super) mod $module {
            use std::arch::x86_64::*;

            pub(in super::super) const LANES: usize = $lanes;

            /// out_i = ±src_(step·i mod 2N).
            ///
            /// # Safety
            /// The CPU has the features. Both slices have N words, N a power of two of at least LANES and at most 2^30.
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn permute(step: usize, modulus: u64, src: &[$word], out: &mut [$word]) {
                let $n = src.len() as i32;
                let turn = 2 * src.len() - 1;
                let first: [i32; LANES] = std::array::from_fn(|i| (step.wrapping_mul(i) & turn) as i32);
                let next = (step.wrapping_mul(LANES) & turn) as i32;
                let $base = src.as_ptr();
                let $q = $splat(modulus as $word as $signed);
                // SAFETY: indices are masked to below N, which is a multiple of LANES.
                unsafe {
                    let mut $e = $load_indices(first.as_ptr().cast());
                    for i in (0..src.len()).step_by(LANES) {
                        let $index = $and_indices($e, $splat_indices($n - 1));
                        let $x = $gather;
                        let x = $negate;
                        $store(out.as_mut_ptr().add(i).cast(), x);
                        $e = $and_indices($add_indices($e, $splat_indices(next)), $splat_indices(turn as i32));
                    }
                }
            }

            /// out_i = src_(table_i).
            ///
            /// # Safety
            /// The CPU has the features. All slices have the same number of words, a multiple of LANES, and all indices
            /// are below it.
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn gather(table: &[u32], src: &[$word], out: &mut [$word]) {
                let $base = src.as_ptr();
                // SAFETY: the caller's contract.
                unsafe {
                    for i in (0..src.len()).step_by(LANES) {
                        let $index = $load_indices(table.as_ptr().add(i).cast());
                        let x = $gather;
                        $store(out.as_mut_ptr().add(i).cast(), x);
                    }
                }
            }

            /// acc_i += src_(table_i) modulo `modulus`, which fits the word, for words below twice it.
            ///
            /// # Safety
            /// As for [`gather`].
            #[target_feature(enable = $features)]
            pub(in super::super) unsafe fn gather_add(table: &[u32], modulus: u64, src: &[$word], acc: &mut [$word]) {
                let $base = src.as_ptr();
                let $p = $splat(modulus as $word as $signed);
                let $m = $p;
                // SAFETY: the caller's contract.
                unsafe {
                    for i in (0..src.len()).step_by(LANES) {
                        let $index = $load_indices(table.as_ptr().add(i).cast());
                        let $y = $gather;
                        let $b = $reduce;
                        let at = acc.as_mut_ptr().add(i);
                        let $y = $load(at.cast());
                        let $a = $reduce;
                        let sum = $add;
                        $store(at.cast(), sum);
                    }
                }
            }
        }
    };
}

words!(
    words64_avx512, "avx512f,avx512dq,avx512vl", u64, i64, 8, __m512i, __m256i,
    load: _mm512_loadu_si512, store: _mm512_storeu_si512, splat: _mm512_set1_epi64,
    load_indices: _mm256_loadu_si256, splat_indices: _mm256_set1_epi32,
    add_indices: _mm256_add_epi32, and_indices: _mm256_and_si256,
    gather: |base, index| _mm512_i32gather_epi64::<8>(index, base.cast()),
    negate: |q, x, e, n| {
        let negative = _mm256_test_epi32_mask(e, _mm256_set1_epi32(n)) & _mm512_test_epi64_mask(x, x);
        _mm512_mask_sub_epi64(x, negative, q, x)
    },
    reduce: |p, x| _mm512_min_epu64(x, _mm512_sub_epi64(x, p)),
    add: |p, a, b| {
        let complement = _mm512_sub_epi64(p, b);
        let difference = _mm512_sub_epi64(a, complement);
        _mm512_mask_add_epi64(difference, _mm512_cmplt_epu64_mask(a, complement), difference, p)
    },
);

words!(
    words32_avx512, "avx512f,avx512dq,avx512vl", u32, i32, 16, __m512i, __m512i,
    load: _mm512_loadu_si512, store: _mm512_storeu_si512, splat: _mm512_set1_epi32,
    load_indices: _mm512_loadu_si512, splat_indices: _mm512_set1_epi32,
    add_indices: _mm512_add_epi32, and_indices: _mm512_and_si512,
    gather: |base, index| _mm512_i32gather_epi32::<4>(index, base.cast()),
    negate: |q, x, e, n| {
        let negative = _mm512_test_epi32_mask(e, _mm512_set1_epi32(n)) & _mm512_test_epi32_mask(x, x);
        _mm512_mask_sub_epi32(x, negative, q, x)
    },
    reduce: |p, x| _mm512_min_epu32(x, _mm512_sub_epi32(x, p)),
    add: |p, a, b| {
        let complement = _mm512_sub_epi32(p, b);
        let difference = _mm512_sub_epi32(a, complement);
        _mm512_mask_add_epi32(difference, _mm512_cmplt_epu32_mask(a, complement), difference, p)
    },
);

words!(
    words64_avx2, "avx2", u64, i64, 4, __m256i, __m128i,
    load: _mm256_loadu_si256, store: _mm256_storeu_si256, splat: _mm256_set1_epi64x,
    load_indices: _mm_loadu_si128, splat_indices: _mm_set1_epi32,
    add_indices: _mm_add_epi32, and_indices: _mm_and_si128,
    gather: |base, index| _mm256_i32gather_epi64::<8>(base.cast(), index),
    negate: |q, x, e, n| {
        // All ones where e has the bit of N, and x is not 0.
        let bit = _mm_cmpgt_epi32(_mm_and_si128(e, _mm_set1_epi32(n)), _mm_setzero_si128());
        let zero = _mm256_cmpeq_epi64(x, _mm256_setzero_si256());
        let negative = _mm256_andnot_si256(zero, _mm256_cvtepi32_epi64(bit));
        _mm256_blendv_epi8(x, _mm256_sub_epi64(q, x), negative)
    },
    reduce: |p, x| {
        // Unsigned comparison: with the top bits flipped.
        let top = _mm256_set1_epi64x(i64::MIN);
        let below = _mm256_cmpgt_epi64(_mm256_xor_si256(p, top), _mm256_xor_si256(x, top));
        _mm256_sub_epi64(x, _mm256_andnot_si256(below, p))
    },
    add: |p, a, b| {
        let top = _mm256_set1_epi64x(i64::MIN);
        let complement = _mm256_sub_epi64(p, b);
        let negative = _mm256_cmpgt_epi64(_mm256_xor_si256(complement, top), _mm256_xor_si256(a, top));
        _mm256_add_epi64(_mm256_sub_epi64(a, complement), _mm256_and_si256(negative, p))
    },
);

words!(
    words32_avx2, "avx2", u32, i32, 8, __m256i, __m256i,
    load: _mm256_loadu_si256, store: _mm256_storeu_si256, splat: _mm256_set1_epi32,
    load_indices: _mm256_loadu_si256, splat_indices: _mm256_set1_epi32,
    add_indices: _mm256_add_epi32, and_indices: _mm256_and_si256,
    gather: |base, index| _mm256_i32gather_epi32::<4>(base.cast(), index),
    negate: |q, x, e, n| {
        let bit = _mm256_cmpgt_epi32(_mm256_and_si256(e, _mm256_set1_epi32(n)), _mm256_setzero_si256());
        let zero = _mm256_cmpeq_epi32(x, _mm256_setzero_si256());
        let negative = _mm256_andnot_si256(zero, bit);
        _mm256_blendv_epi8(x, _mm256_sub_epi32(q, x), negative)
    },
    reduce: |p, x| _mm256_min_epu32(x, _mm256_sub_epi32(x, p)),
    add: |p, a, b| {
        let complement = _mm256_sub_epi32(p, b);
        let difference = _mm256_sub_epi32(a, complement);
        // complement > a exactly where their maximum is not a.
        let fits = _mm256_cmpeq_epi32(_mm256_max_epu32(a, complement), a);
        _mm256_add_epi32(difference, _mm256_andnot_si256(fits, p))
    },
);
