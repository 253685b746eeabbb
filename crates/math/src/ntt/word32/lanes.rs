//! The operations that the generic kernels need from an instruction set.

use crate::modulus::Modulus;

/// Vectors of residues modulo one prime, with its constants.
///
/// The implementation chooses the ranges of the values of a transform and states them. Safety: all functions need the
/// CPU features of the implementation. Functions with pointers also require that the words exist.
pub(super) trait Lanes: Copy {
    /// Values per vector, a power of two. The last log2(LANES) levels work on tiles of LANES × LANES words.
    const LANES: usize;

    /// The indices of those of a block's LANES − 1 factors that the tile tables hold.
    const TILE_ROOTS: &'static [usize];

    /// The form of a value between passes.
    type Cell: Copy;

    /// LANES values.
    type Vector: Copy;

    /// One multiplier per lane, or one for all, with the companion that makes products by it fast.
    type Root: Copy;

    /// A multiplier as the tables hold it: the factor and its companion.
    fn root(modulus: Modulus, factor: u64) -> [Self::Cell; 2];

    /// The constants.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn new(modulus: Modulus) -> Self;

    /// LANES cells.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn load(from: *const Self::Cell) -> Self::Vector;

    /// Stores LANES cells.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn store(x: Self::Vector, to: *mut Self::Cell);

    /// LANES canonical words.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn load_coefficients(from: *const u32) -> Self::Vector;

    /// The same multiplier in all lanes.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn broadcast(pair: *const [Self::Cell; 2]) -> Self::Root;

    /// LANES factors followed by LANES companions.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn load_roots(from: *const Self::Cell) -> Self::Root;

    /// Prepares the inputs of a forward pass of R points; the inputs of the `first` pass are canonical.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn prepare_forward<const R: usize>(self, x: &mut [Self::Vector; R], first: bool);

    /// (x + w·y, x − w·y).
    ///
    /// # Safety
    /// See the trait.
    unsafe fn cooley_tukey(self, x: Self::Vector, y: Self::Vector, w: Self::Root) -> (Self::Vector, Self::Vector);

    /// Prepares the inputs of an inverse pass of R points, which are below `range`·p.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn prepare_inverse<const R: usize>(self, x: &mut [Self::Vector; R], range: u64);

    /// Ends an inverse pass. The first output results from sums only; it is reduced if `reduce` is set.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn finish_inverse<const R: usize>(self, x: &mut [Self::Vector; R], reduce: bool);

    /// (x + y, x − y), not reduced, in the range of inputs of [`mul`](Self::mul).
    ///
    /// # Safety
    /// See the trait.
    unsafe fn sum_difference(self, x: Self::Vector, y: Self::Vector) -> (Self::Vector, Self::Vector);

    /// (x + y, (x − y)·w), the latter with an addend of `Bias`.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn gentleman_sande(
        self,
        x: Self::Vector,
        y: Self::Vector,
        w: Self::Root,
        bias: Bias,
    ) -> (Self::Vector, Self::Vector);

    /// w·x.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn mul(self, x: Self::Vector, w: Self::Root) -> Self::Vector;

    /// Stores R results of [`mul`](Self::mul) as vectors of LANES canonical words, `stride` words apart.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn store_coefficients<const R: usize>(self, x: [Self::Vector; R], to: *mut u32, stride: usize);

    /// The last log2(LANES) levels forward of LANES blocks: cells in, canonical words of a spectrum out. Both may
    /// overlap.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn forward_tile(
        self,
        units: &[[Self::Cell; 2]; 3],
        cells: *const Self::Cell,
        roots: *const Self::Cell,
        out: *mut u32,
    );

    /// Undoes [`forward_tile`](Self::forward_tile) up to a factor LANES.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn inverse_tile(
        self,
        units: &[[Self::Cell; 2]; 3],
        spectrum: *const u32,
        roots: *const Self::Cell,
        cells: *mut Self::Cell,
    );

    /// The index, before the transposition, of the word in place `place` of a tile of LANES × LANES words.
    fn tile_index(place: usize) -> usize {
        place % Self::LANES * Self::LANES + place / Self::LANES
    }
}

/// The addend of a product, which keeps later differences of lazy values positive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bias {
    /// The product is subtracted later, or is an output of the pass.
    None,
    /// Another product is subtracted from it later.
    Product,
    /// A sum of two products is subtracted from it later.
    Sum,
}

/// The source of the multipliers of a block or tile.
pub(super) trait Roots<A: Lanes>: Copy {
    /// Multiplier `index`: 0 for the first level, 1 and 2 for the second, 3 to 6 for the third, ….
    ///
    /// # Safety
    /// The CPU has the features of `A`.
    unsafe fn get(self, index: usize) -> A::Root;
}

/// Multipliers that are the same for all lanes.
pub(super) struct OfBlock<A: Lanes>(pub(super) *const [A::Cell; 2]);

/// Multipliers with one value per lane.
pub(super) struct OfTile<A: Lanes>(pub(super) *const A::Cell);

impl<A: Lanes> Clone for OfBlock<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Lanes> Copy for OfBlock<A> {}

impl<A: Lanes> Clone for OfTile<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Lanes> Copy for OfTile<A> {}

impl<A: Lanes> Roots<A> for OfBlock<A> {
    #[inline(always)]
    unsafe fn get(self, index: usize) -> A::Root {
        // SAFETY: the constructor's caller vouches for the table.
        unsafe { A::broadcast(self.0.add(index)) }
    }
}

impl<A: Lanes> Roots<A> for OfTile<A> {
    #[inline(always)]
    unsafe fn get(self, index: usize) -> A::Root {
        // SAFETY: the constructor's caller vouches for the table.
        unsafe { A::load_roots(self.0.add(2 * A::LANES * index)) }
    }
}

/// One level forward: blocks of 2·HALF among the R points.
#[inline(always)]
unsafe fn forward_level<A: Lanes, const R: usize, const HALF: usize>(a: A, x: &mut [A::Vector; R], w: impl Roots<A>) {
    let blocks = R / (2 * HALF);
    for block in 0..blocks {
        // SAFETY: the caller's contract. The first block of a level has the number of its blocks less one.
        unsafe {
            let w = w.get(blocks - 1 + block);
            for j in 0..HALF {
                let i = block * 2 * HALF + j;
                (x[i], x[i + HALF]) = a.cooley_tukey(x[i], x[i + HALF], w);
            }
        }
    }
}

/// One level of the inverse.
#[inline(always)]
unsafe fn inverse_level<A: Lanes, const R: usize, const HALF: usize>(a: A, x: &mut [A::Vector; R], w: impl Roots<A>) {
    let blocks = R / (2 * HALF);
    for block in 0..blocks {
        let bias = match block {
            0 if blocks > 1 => Bias::Sum,
            b if b % 2 == 0 && blocks > 1 => Bias::Product,
            _ => Bias::None,
        };
        // SAFETY: as for `forward_level`.
        unsafe {
            let w = w.get(blocks - 1 + block);
            for j in 0..HALF {
                let i = block * 2 * HALF + j;
                (x[i], x[i + HALF]) = a.gentleman_sande(x[i], x[i + HALF], w, bias);
            }
        }
    }
}

/// The first log2(R) − `LESS` levels of a block of R points, R = 4, 8 or 16.
///
/// # Safety
/// The CPU has the features of `A`.
#[inline(always)]
pub(super) unsafe fn forward_levels<A: Lanes, const R: usize, const LESS: u32>(
    a: A,
    x: &mut [A::Vector; R],
    w: impl Roots<A>,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if R == 16 {
            forward_level::<A, R, 8>(a, x, w);
        }
        if R >= 8 {
            forward_level::<A, R, 4>(a, x, w);
        }
        forward_level::<A, R, 2>(a, x, w);
        if LESS == 0 {
            forward_level::<A, R, 1>(a, x, w);
        }
    }
}

/// Undoes [`forward_levels`] up to a factor R, without its last `LESS` levels.
///
/// # Safety
/// The CPU has the features of `A`.
#[inline(always)]
pub(super) unsafe fn inverse_levels<A: Lanes, const R: usize, const LESS: u32>(
    a: A,
    x: &mut [A::Vector; R],
    w: impl Roots<A>,
) {
    // SAFETY: the caller's contract.
    unsafe {
        inverse_level::<A, R, 1>(a, x, w);
        if R > 4 || LESS == 0 {
            inverse_level::<A, R, 2>(a, x, w);
        }
        if R > 8 || R == 8 && LESS == 0 {
            inverse_level::<A, R, 4>(a, x, w);
        }
        if R == 16 && LESS == 0 {
            inverse_level::<A, R, 8>(a, x, w);
        }
    }
}
