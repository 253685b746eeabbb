//! Loops over the words of one limb. None branches or indexes by the values, and all paths return the same words.
//!
//! A factor w < m < 2^62 comes with its companion w' = ⌊w·2^64/m⌋ (V. Shoup): for any word x and q = ⌊w'·x/2^64⌋, w·x −
//! q·m is in `[0, 2m)`.

use ciphermill_math::{Isa, Modulus};

#[cfg(target_arch = "x86_64")]
mod ifma;
mod loops;

pub(super) use loops::{lift, reduce_signed};

/// A factor modulo m with its companion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Factor {
    w: u64,
    companion: u64,
}

impl Factor {
    /// w modulo m, for w < m.
    pub(super) fn new(w: u64, m: u64) -> Self {
        debug_assert!(w < m);
        Self { w, companion: ((u128::from(w) << 64) / u128::from(m)) as u64 }
    }
}

/// A modulus, prime or not, below 2^62.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    m: u64,
    /// 1.
    one: Factor,
    /// 2^52.
    word: Factor,
}

impl Ring {
    /// Of the integers modulo m.
    pub(super) fn new(m: u64) -> Self {
        Self { m, one: Factor::new(1, m), word: Factor::new((1 << 52) % m, m) }
    }

    /// m.
    pub(super) fn modulus(&self) -> u64 {
        self.m
    }
}

/// Bits of a fraction behind the binary point.
const POINT: u32 = 63;

/// The start value of fractions whose integer parts must be rounded sums.
pub(super) const HALF: u64 = 1 << (POINT - 1);

/// 1/q for fractions y/q, in units of 2^-63: ⌊y·2^a·low/2^64⌋ + y·2^c·high, for q of b bits
/// * b ≤ 50, where IFMA makes it of 52-bit halves: a = 62 − b, c = 50 − b, high·2^52 + low = ⌊2^(65+b)/q⌋ < 2^66;
/// * else a = 64 − b, high = 0, low = ⌊2^(63+b)/q⌋ < 2^64.
///
/// The rounding of the reciprocal removes less than y·2^-b < 1 unit, and so does that of the product. The fraction is
/// less than 2 units too small.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reciprocal {
    low: u64,
    low_shift: u32,
    high: u64,
    high_shift: u32,
}

impl Reciprocal {
    /// Of q.
    pub(super) fn new(q: Modulus) -> Self {
        let (b, q) = (q.bits(), u128::from(q.value()));
        if b <= 50 {
            let value = (1u128 << (65 + b)) / q;
            let low = value as u64 & (u64::MAX >> 12);
            Self { low, low_shift: 62 - b, high: (value >> 52) as u64, high_shift: 50 - b }
        } else {
            Self { low: ((1u128 << (POINT + b)) / q) as u64, low_shift: 64 - b, high: 0, high_shift: 0 }
        }
    }

    /// For fractions that are all 0.
    pub(super) fn zero() -> Self {
        Self { low: 0, low_shift: 0, high: 0, high_shift: 0 }
    }
}

/// Which kernels are used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    isa: Isa,
    ifma: bool,
}

impl Path {
    /// For arithmetic with these moduli.
    pub(super) fn new(isa: Isa, moduli: impl IntoIterator<Item = u64>) -> Self {
        Self { isa, ifma: isa.has_ifma() && moduli.into_iter().all(|m| m < 1 << 50) }
    }
}

/// The summand of one limb: see [`Path::source`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) q: u64,
    pub(super) factor: Factor,
    pub(super) reciprocal: Reciprocal,
}

/// Words of vectors: all slices are multiples of it.
const LANES: usize = 8;

/// Terms of a sum of products of 50-bit words whose upper halves, below 2^48, fit 52 bits.
const IFMA_TERMS: usize = 14;

fn assert_lengths(lengths: [usize; 2]) {
    assert!(lengths[0] == lengths[1] && lengths[0].is_multiple_of(LANES), "{lengths:?} words");
}

/// Slices are of one length, a multiple of 8; residues are canonical unless any word is allowed.
impl Path {
    /// y ← factor·x modulo q; y/q is added to fractions below 1, and their carries to `whole`.
    pub(super) fn source(self, source: &Source, x: &[u64], y: &mut [u64], fraction: &mut [u64], whole: &mut [u64]) {
        assert_lengths([x.len(), y.len()]);
        assert_lengths([fraction.len(), y.len()]);
        assert_lengths([whole.len(), y.len()]);
        #[cfg(target_arch = "x86_64")]
        if self.ifma {
            // SAFETY: the flag is set where there is IFMA; the lengths agree.
            return unsafe { ifma::source(source, x, y, fraction, whole) };
        }
        loops::source(self.isa, source, x, y, fraction, whole);
    }

    /// x ← factor·x modulo m.
    pub(super) fn scale(self, m: u64, factor: Factor, x: &mut [u64]) {
        assert_lengths([x.len(); 2]);
        #[cfg(target_arch = "x86_64")]
        if self.ifma {
            // SAFETY: the flag is set where there is IFMA.
            return unsafe { ifma::scale(m, factor, x) };
        }
        loops::scale(self.isa, m, factor, x);
    }

    /// out ← own·out + Σ_r terms_r·rows_r modulo m, without `own` for `None`; the rows, as long as out and below 2^62 (if all
    /// moduli are below 2^50, below 2^50), are one after another.
    pub(super) fn sum(self, ring: &Ring, own: Option<Factor>, terms: &[Factor], rows: &[u64], out: &mut [u64]) {
        assert_lengths([out.len(); 2]);
        assert_eq!(rows.len(), terms.len() * out.len(), "a row per term");
        #[cfg(target_arch = "x86_64")]
        if self.ifma {
            let mut own = own;
            for (terms, rows) in terms.chunks(IFMA_TERMS).zip(rows.chunks(IFMA_TERMS * out.len())) {
                // SAFETY: the flag is set where there is IFMA; there are as many rows as terms.
                unsafe { ifma::sum(ring, own, terms, rows, out) };
                own = Some(ring.one);
            }
            return;
        }
        match own {
            Some(factor) => loops::scale(self.isa, ring.m, factor, out),
            None => out.fill(0),
        }
        for (&factor, row) in terms.iter().zip(rows.chunks_exact(out.len())) {
            loops::multiply_add(self.isa, ring.m, factor, row, out);
        }
    }

    /// x ← (x − c)·factor modulo m, where c is `dropped` modulo q, in (−q/2, q/2]: with the inverse of q for a factor
    /// the rounded quotient of the number that is x modulo m and `dropped` modulo q.
    pub(super) fn divide_and_round(self, q: u64, m: u64, factor: Factor, dropped: &[u64], x: &mut [u64]) {
        assert_lengths([dropped.len(), x.len()]);
        // x − c and a multiple of m: from 0 to below 2m + q, which is below 2^64, or 2^52.
        let offset = (q / 2).next_multiple_of(m) + q / 2;
        #[cfg(target_arch = "x86_64")]
        if self.ifma {
            // SAFETY: the flag is set where there is IFMA; the lengths agree.
            return unsafe { ifma::divide_and_round(q, m, factor, offset, dropped, x) };
        }
        loops::divide_and_round(self.isa, q, m, factor, offset, dropped, x);
    }
}
