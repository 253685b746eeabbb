//! The trait of a strategy: vectors of residues, prepared factors, butterflies, ranges.

use crate::Modulus;
use crate::ntt::NttWord;

/// The greatest number of constants of a strategy, see [`Lanes::constants`].
pub(crate) const MAX_CONSTANTS: usize = 8;

/// One strategy on one instruction set: residues modulo one prime p in vectors of `LANES` words.
///
/// An implementor is a small bundle of constants in registers. Only [`new`](Lanes::new) makes it, which is unsafe
/// because it needs the CPU features of the implementor. So every value exists on such a CPU, and all methods without
/// pointers are safe. All methods must be `#[inline(always)]`: they become part of a function that enables the
/// features.
///
/// A word in flight is *lazy*: it represents a residue in a range that the strategy chooses and proves. The kernels
/// guarantee the following order of calls, on which the proof may rest. In it every butterfly uses x and y in one
/// role: x is never multiplied. y always is, except that [`butterfly_one`](Lanes::butterfly_one) adds it without a
/// factor.
///
/// * Forward: coefficients (canonical, in `[0, p)`) are loaded. [`enter_forward`](Lanes::enter_forward) is called once,
///   then log2 N levels of [`butterfly`](Lanes::butterfly). [`canonical`](Lanes::canonical) follows, and the result is
///   stored.
/// * Inverse, first transform: canonical values are loaded. If LANES > 1, [`enter_dft`](Lanes::enter_dft) with
///   `products` = false prepares LANES vectors for log2 LANES levels of `butterfly_one` and `butterfly`. Then log2 N −
///   log2 LANES − (1, 2 or 3) levels of `butterfly` follow. If LANES = 1, the same `enter_dft` and a transform of
///   `ROWS` points replace the first log2 ROWS levels.
/// * Inverse, last transform: every value becomes a [`product`](Lanes::product). `enter_dft` with `products` = true
///   prepares 2, 4 or 8 vectors for 1, 2 or 3 levels of `butterfly_one` and `butterfly`. Each value becomes a `product`
///   again, is made canonical by [`canonical_product`](Lanes::canonical_product) and is stored.
///
/// A transform of R points after `enter_dft` has its points in bit-reversed order and pairs neighbours first.
/// `butterfly_one` processes the pair (0, R/2) of the last level, and the pair at the start of each block of every
/// level.
pub(crate) trait Lanes: Copy {
    /// A word in memory.
    type Word: NttWord;
    /// `LANES` words.
    type Vector: Copy;
    /// A factor in a register, prepared for multiplication.
    type Twiddle: Copy;

    /// Words per vector: 1, 4, 8 or 16.
    const LANES: usize;

    /// Vectors per tile, a multiple of LANES unless this is 1: 8 or 16. A tile of ROWS·LANES words passes through
    /// log2 ROWS + log2 LANES levels in registers.
    const ROWS: usize;

    /// The strategy's constants for a modulus and N = 2^`log_n`.
    fn constants(modulus: Modulus, log_n: u32) -> [Self::Word; MAX_CONSTANTS];

    /// The two words in which the tables hold the factor `w` < p: usually w and a companion.
    fn prepare(modulus: Modulus, w: u64) -> [Self::Word; 2];

    /// Puts the constants into registers.
    ///
    /// # Safety
    /// The CPU must have the features of the implementor.
    unsafe fn new(constants: &[Self::Word; MAX_CONSTANTS]) -> Self;

    /// Reads `LANES` words, unaligned.
    ///
    /// # Safety
    /// The words must be readable.
    unsafe fn load(self, from: *const Self::Word) -> Self::Vector;

    /// Writes `LANES` words, unaligned.
    ///
    /// # Safety
    /// The words must be writable.
    unsafe fn store(self, x: Self::Vector, to: *mut Self::Word);

    /// One factor for all lanes, from the two words of [`prepare`](Lanes::prepare).
    ///
    /// # Safety
    /// The words must be readable.
    unsafe fn twiddle_splat(self, from: *const Self::Word) -> Self::Twiddle;

    /// A factor for each lane: `LANES` first words, then `LANES` second words.
    ///
    /// # Safety
    /// The words must be readable.
    unsafe fn twiddle_load(self, from: *const Self::Word) -> Self::Twiddle;

    /// Transposes a matrix of `LANES` rows, one per vector.
    fn transpose(self, rows: &mut [Self::Vector]);

    /// Prepares the R canonical inputs of the first forward pass (the first half of them in the role of x).
    #[inline(always)]
    fn enter_forward(self, _x: &mut [Self::Vector]) {}

    /// Prepares the R inputs of a transform of R points: results of [`product`](Lanes::product) if `products`, else
    /// canonical.
    #[inline(always)]
    fn enter_dft(self, _x: &mut [Self::Vector], _products: bool) {}

    /// (x + w·y, x − w·y).
    fn butterfly(self, x: Self::Vector, y: Self::Vector, w: Self::Twiddle) -> (Self::Vector, Self::Vector);

    /// (x + y, x − y); `first`: both come from [`enter_dft`](Lanes::enter_dft), without another butterfly in between.
    fn butterfly_one(self, x: Self::Vector, y: Self::Vector, first: bool) -> (Self::Vector, Self::Vector);

    /// w·y.
    fn product(self, y: Self::Vector, w: Self::Twiddle) -> Self::Vector;

    /// The residue in `[0, p)` of a lazy value.
    fn canonical(self, x: Self::Vector) -> Self::Vector;

    /// The residue in `[0, p)` of a result of [`product`](Lanes::product).
    fn canonical_product(self, x: Self::Vector) -> Self::Vector;

    /// lhs·rhs, both canonical, result canonical.
    fn multiply(self, lhs: Self::Vector, rhs: Self::Vector) -> Self::Vector;

    /// The most products that [`dot`](Lanes::dot) sums.
    const MAX_TERMS: usize;

    /// acc + Σ lhs_r·rhs_r over `rows` ≤ `MAX_TERMS` vectors, `stride` words apart; all canonical.
    ///
    /// # Safety
    /// All rows must be readable.
    unsafe fn dot(
        self,
        acc: Self::Vector,
        lhs: *const Self::Word,
        rhs: *const Self::Word,
        stride: usize,
        rows: usize,
    ) -> Self::Vector;
}
