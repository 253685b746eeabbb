//! The f64 vector over which every kernel is written once, and complex numbers made of such vectors.

use super::coefficients::DigitField;

/// A vector of `LANES` f64.
///
/// # Safety
/// A value of an implementing type exists only on a CPU that offers its instruction set. The constructors are `unsafe`
/// and require it, so arithmetic can be safe.
pub(super) unsafe trait F64Lanes: Copy {
    /// Number of f64 in the vector: 1, 4 or 8.
    const LANES: usize;

    /// Levels of the transform that one pass may hold in registers: 3 needs 32 registers, 2 needs 16.
    const LEVELS_PER_PASS: u32;

    /// All lanes equal to `x`.
    ///
    /// # Safety
    /// The CPU offers the type's instruction set.
    unsafe fn splat(x: f64) -> Self;

    /// Reads `LANES` words, which need not be aligned.
    ///
    /// # Safety
    /// As [`splat`](F64Lanes::splat), and `from` is readable for `LANES` words.
    unsafe fn load(from: *const f64) -> Self;

    /// Reads `LANES` integers, each rounded to the nearest f64.
    ///
    /// # Safety
    /// As [`splat`](F64Lanes::splat), and `from` is readable for `LANES` words.
    unsafe fn load_i64(from: *const i64) -> Self;

    /// All lanes of the bit pattern `bits`.
    ///
    /// # Safety
    /// As [`splat`](F64Lanes::splat).
    unsafe fn splat_bits(bits: u64) -> Self;

    /// Reads `LANES` words and cuts a digit out of each.
    ///
    /// # Safety
    /// As [`load_i64`](F64Lanes::load_i64).
    unsafe fn load_digits(from: *const u64, field: &DigitField<Self>) -> Self;

    /// Reads `LANES` words of 32 bits and cuts a digit out of each.
    ///
    /// # Safety
    /// As [`load_i64`](F64Lanes::load_i64).
    unsafe fn load_digits_32(from: *const u32, field: &DigitField<Self>) -> Self;

    /// Writes `LANES` words.
    ///
    /// # Safety
    /// `to` is writable for `LANES` words.
    unsafe fn store(self, to: *mut f64);

    /// Adds round(2^64 · self) modulo 2^64 to `LANES` words.
    ///
    /// # Safety
    /// `to` is readable and writable for `LANES` words.
    unsafe fn add_to_u64(self, to: *mut u64);

    /// Adds round(2^64 · self) modulo 2^32 to `LANES` words.
    ///
    /// # Safety
    /// `to` is readable and writable for `LANES` words.
    unsafe fn add_to_u32(self, to: *mut u32);

    fn add(self, rhs: Self) -> Self;

    fn sub(self, rhs: Self) -> Self;

    fn mul(self, rhs: Self) -> Self;

    /// `self · factor + addend`, fused where the instruction set can.
    fn mul_add(self, factor: Self, addend: Self) -> Self;

    /// `self · factor − subtrahend`, fused where the instruction set can.
    fn mul_sub(self, factor: Self, subtrahend: Self) -> Self;

    /// `addend − self · factor`, fused where the instruction set can.
    fn neg_mul_add(self, factor: Self, addend: Self) -> Self;

    /// Transposes the tile whose rows are the vectors; `R` must be `LANES`.
    fn transpose<const R: usize>(tile: [Self; R]) -> [Self; R];
}

/// `LANES` complex numbers: one vector of real parts and one of imaginary parts.
#[derive(Clone, Copy)]
pub(super) struct Complex<L> {
    pub(super) re: L,
    pub(super) im: L,
}

impl<L: F64Lanes> Complex<L> {
    /// Reads `LANES` real parts, then `LANES` imaginary parts.
    ///
    /// # Safety
    /// The CPU offers the instruction set of `L`; `from` is readable for `2 · LANES` words.
    #[inline(always)]
    pub(super) unsafe fn load(from: *const f64) -> Self {
        // SAFETY: both halves lie in the range that the caller vouches for.
        unsafe { Complex { re: L::load(from), im: L::load(from.add(L::LANES)) } }
    }

    /// Reads one complex number to all lanes.
    ///
    /// # Safety
    /// The CPU offers the instruction set of `L`; `from` is readable for 2 words.
    #[inline(always)]
    pub(super) unsafe fn splat(from: *const f64) -> Self {
        // SAFETY: both words lie in the range that the caller vouches for.
        unsafe { Complex { re: L::splat(*from), im: L::splat(*from.add(1)) } }
    }

    /// Writes in the layout that [`load`](Complex::load) reads.
    ///
    /// # Safety
    /// `to` is writable for `2 · LANES` words.
    #[inline(always)]
    pub(super) unsafe fn store(self, to: *mut f64) {
        // SAFETY: both halves lie in the range that the caller vouches for.
        unsafe {
            self.re.store(to);
            self.im.store(to.add(L::LANES));
        }
    }

    #[inline(always)]
    pub(super) fn mul(self, rhs: Self) -> Self {
        Complex {
            re: self.im.neg_mul_add(rhs.im, self.re.mul(rhs.re)),
            im: self.im.mul_add(rhs.re, self.re.mul(rhs.im)),
        }
    }

    /// `addend + self · rhs`.
    #[inline(always)]
    pub(super) fn mul_add(self, rhs: Self, addend: Self) -> Self {
        Complex {
            re: self.im.neg_mul_add(rhs.im, self.re.mul_add(rhs.re, addend.re)),
            im: self.im.mul_add(rhs.re, self.re.mul_add(rhs.im, addend.im)),
        }
    }
}

/// (u, v) ← (u + w·v, u − w·v) in six fused operations: the difference is 2u − (u + w·v).
#[inline(always)]
pub(super) fn butterfly<L: F64Lanes, const R: usize>(
    x: &mut [Complex<L>; R],
    u: usize,
    v: usize,
    w: Complex<L>,
    two: L,
) {
    let sum = w.mul_add(x[v], x[u]);
    x[v] = Complex { re: two.mul_sub(x[u].re, sum.re), im: two.mul_sub(x[u].im, sum.im) };
    x[u] = sum;
}

/// (u, v) ← (u + i·w·v, u − i·w·v).
#[inline(always)]
pub(super) fn butterfly_i<L: F64Lanes, const R: usize>(
    x: &mut [Complex<L>; R],
    u: usize,
    v: usize,
    w: Complex<L>,
    two: L,
) {
    let (a, b) = (x[u], x[v]);
    let sum = Complex {
        re: w.im.neg_mul_add(b.re, w.re.neg_mul_add(b.im, a.re)),
        im: w.im.neg_mul_add(b.im, w.re.mul_add(b.re, a.im)),
    };
    x[v] = Complex { re: two.mul_sub(a.re, sum.re), im: two.mul_sub(a.im, sum.im) };
    x[u] = sum;
}

/// (u, v) ← (u − i·w·v, u + i·w·v).
#[inline(always)]
pub(super) fn butterfly_minus_i<L: F64Lanes, const R: usize>(
    x: &mut [Complex<L>; R],
    u: usize,
    v: usize,
    w: Complex<L>,
    two: L,
) {
    let (a, b) = (x[u], x[v]);
    let sum = Complex {
        re: w.im.mul_add(b.re, w.re.mul_add(b.im, a.re)),
        im: w.im.mul_add(b.im, w.re.neg_mul_add(b.re, a.im)),
    };
    x[v] = Complex { re: two.mul_sub(a.re, sum.re), im: two.mul_sub(a.im, sum.im) };
    x[u] = sum;
}

/// (u, v) ← (u + v, u − v).
#[inline(always)]
pub(super) fn butterfly_1<L: F64Lanes, const R: usize>(x: &mut [Complex<L>; R], u: usize, v: usize) {
    let (a, b) = (x[u], x[v]);
    x[u] = Complex { re: a.re.add(b.re), im: a.im.add(b.im) };
    x[v] = Complex { re: a.re.sub(b.re), im: a.im.sub(b.im) };
}

/// (u, v) ← (u − i·v, u + i·v).
#[inline(always)]
pub(super) fn butterfly_1_minus_i<L: F64Lanes, const R: usize>(x: &mut [Complex<L>; R], u: usize, v: usize) {
    let (a, b) = (x[u], x[v]);
    x[u] = Complex { re: a.re.add(b.im), im: a.im.sub(b.re) };
    x[v] = Complex { re: a.re.sub(b.im), im: a.im.add(b.re) };
}

/// Transposes real and imaginary parts of a tile of `LANES` vectors.
#[inline(always)]
pub(super) fn transpose<L: F64Lanes, const R: usize>(x: [Complex<L>; R]) -> [Complex<L>; R] {
    let (mut re, mut im) = ([x[0].re; R], [x[0].im; R]);
    for k in 1..R {
        re[k] = x[k].re;
        im[k] = x[k].im;
    }
    let (re, im) = (L::transpose(re), L::transpose(im));
    let mut rows = x;
    for (k, row) in rows.iter_mut().enumerate() {
        *row = Complex { re: re[k], im: im[k] };
    }
    rows
}

/// Reads R complex vectors, `step` words apart.
///
/// # Safety
/// The CPU offers the instruction set of `L`; `from` is readable for `(R − 1) · step + 2 · LANES` words.
#[inline(always)]
pub(super) unsafe fn load_parts<L: F64Lanes, const R: usize>(from: *const f64, step: usize) -> [Complex<L>; R] {
    // Loops instead of `array::from_fn`: the compiler may leave a closure uninlined, which then lacks the instruction
    // set. SAFETY: the caller's contract.
    unsafe {
        let mut x = [Complex::load(from); R];
        for (part, x) in x.iter_mut().enumerate().skip(1) {
            *x = Complex::load(from.add(part * step));
        }
        x
    }
}

/// Writes in the layout that [`load_parts`] reads.
///
/// # Safety
/// `to` is writable for `(R − 1) · step + 2 · LANES` words.
#[inline(always)]
pub(super) unsafe fn store_parts<L: F64Lanes, const R: usize>(x: [Complex<L>; R], to: *mut f64, step: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        for (part, x) in x.into_iter().enumerate() {
            x.store(to.add(part * step));
        }
    }
}
