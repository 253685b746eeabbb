//! What the generic kernels need from an instruction set.

use crate::modulus::Modulus;

/// Vectors of residues modulo one prime, with its constants.
///
/// Which ranges the values of a transform run through is the implementation's affair; it states them. Safety: all
/// functions need the CPU features of the implementation, those with pointers also that the words they name exist.
pub(super) trait Lanes: Copy {
    /// Values per vector, a power of two. The last log2(LANES) levels work on tiles of LANES × LANES words.
    const LANES: usize;

    /// Which of the LANES − 1 factors of a block the tile tables hold.
    const TILE_ROOTS: &'static [usize];

    /// How a value is kept between passes.
    type Cell: Copy;

    /// LANES values.
    type Vector: Copy;

    /// One multiplier per lane, or one for all, with what makes multiplying by it fast.
    type Root: Copy;

    /// A multiplier as the tables keep it: the factor and its companion.
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

    /// Readies the inputs of a forward pass of R points; those of the `first` are canonical.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn prepare_forward<const R: usize>(self, x: &mut [Self::Vector; R], first: bool);

    /// (x + w·y, x − w·y).
    ///
    /// # Safety
    /// See the trait.
    unsafe fn cooley_tukey(self, x: Self::Vector, y: Self::Vector, w: Self::Root) -> (Self::Vector, Self::Vector);

    /// Readies the inputs of an inverse pass of R points, which are below `range`·p.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn prepare_inverse<const R: usize>(self, x: &mut [Self::Vector; R], range: u64);

    /// Ends an inverse pass, with the first output, the one that only sums made, reduced if `reduce`.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn finish_inverse<const R: usize>(self, x: &mut [Self::Vector; R], reduce: bool);

    /// (x + y, x − y), not reduced, good as inputs of [`mul`](Self::mul).
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

    /// Stores R vectors of LANES words, `stride` words apart, canonical, of what [`mul`](Self::mul) gave.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn store_coefficients<const R: usize>(self, x: [Self::Vector; R], to: *mut u32, stride: usize);

    /// The last log2(LANES) levels forward of LANES blocks: cells in, canonical words of a spectrum out, which may
    /// overlay them.
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

    /// Which word of the LANES × LANES, before the transposition, place `place` of a tile holds.
    fn tile_index(place: usize) -> usize {
        place % Self::LANES * Self::LANES + place / Self::LANES
    }
}

/// What a product gets added so that later differences stay positive, where values are kept lazily.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bias {
    /// It will be subtracted, or is an output of the pass.
    None,
    /// Another product will be subtracted from it.
    Product,
    /// A sum of two products will be.
    Sum,
}

/// Where the multipliers of a block or tile lie.
pub(super) trait Roots<A: Lanes>: Copy {
    /// Number `index`: 0 for the first level, 1 and 2 for the second, 3 to 6 for the third, ….
    ///
    /// # Safety
    /// The CPU has the features of `A`.
    unsafe fn get(self, index: usize) -> A::Root;
}

/// The same for all lanes.
pub(super) struct OfBlock<A: Lanes>(pub(super) *const [A::Cell; 2]);

/// One per lane.
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
        // SAFETY: whoever made it vouches for the table.
        unsafe { A::broadcast(self.0.add(index)) }
    }
}

impl<A: Lanes> Roots<A> for OfTile<A> {
    #[inline(always)]
    unsafe fn get(self, index: usize) -> A::Root {
        // SAFETY: whoever made it vouches for the table.
        unsafe { A::load_roots(self.0.add(2 * A::LANES * index)) }
    }
}

/// One level forward: blocks of 2·HALF among the R points.
#[inline(always)]
unsafe fn forward_level<A: Lanes, const R: usize, const HALF: usize>(a: A, x: &mut [A::Vector; R], w: impl Roots<A>) {
    let blocks = R / (2 * HALF);
    for block in 0..blocks {
        // SAFETY: the caller's contract; the first block of a level with as many blocks has number blocks − 1.
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

/// Undoes [`forward_levels`] up to a factor R, without the `LESS` last of its levels.
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
