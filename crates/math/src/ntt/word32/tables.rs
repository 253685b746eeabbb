//! Twiddle factors and the division of the levels into passes, for one size, prime and vector type.

use super::lanes::Lanes;
use crate::modulus::Modulus;
use crate::ntt::reference::prime::twiddles;

/// The most cells of a chunk. A chunk is finished before the next one, so it and its factors stay in the L1 cache.
const CHUNK: usize = 1 << 12;

/// A pass of three levels of the lazy inverse with inputs below B·p has outputs below 21·B·p. The module's
/// documentation proves this bound and the next two.
const GROWTH: u64 = 21;

/// Outputs of a pass other than the first are below 18·p, whatever its inputs. The first is below 2·p when reduced.
const REDUCED: u64 = 18;

/// Products of values below 2^20·p < 2^51 are correct.
const LIMIT: u64 = 1 << 20;

/// Cells that start at a cache line, so a vector of cells never lies in two lines.
#[derive(Debug)]
pub(super) struct Aligned<C> {
    cells: Vec<C>,
    start: usize,
}

impl<C: Copy> Aligned<C> {
    /// A copy of `cells`.
    pub(super) fn new(cells: &[C]) -> Aligned<C> {
        let line = 64 / size_of::<C>();
        let Some(&spare) = cells.first() else {
            return Aligned { cells: Vec::new(), start: 0 };
        };
        let mut aligned = vec![spare; cells.len() + line];
        // If the offset is unknown, everything stays correct but slower.
        let start = aligned.as_ptr().align_offset(64).min(line);
        aligned[start..start + cells.len()].copy_from_slice(cells);
        Aligned { cells: aligned, start }
    }

    /// The first cell.
    pub(super) fn as_ptr(&self) -> *const C {
        self.cells[self.start..].as_ptr()
    }

    /// The first cell.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn as_mut_ptr(&mut self) -> *mut C {
        self.cells[self.start..].as_mut_ptr()
    }
}

/// Twiddle factors of one direction, with their companions.
#[derive(Debug)]
pub(super) struct Factors<C> {
    /// For each pass, R − 1 pairs per block.
    pub(super) passes: Vec<Vec<[C; 2]>>,
    /// For each tile of LANES blocks and each entry of TILE_ROOTS, LANES factors and LANES companions.
    pub(super) tiles: Aligned<C>,
}

/// The size, prime, passes and factors of one transform.
#[derive(Debug)]
pub(super) struct Tables<C> {
    /// p.
    pub(super) modulus: Modulus,
    /// N.
    pub(super) polynomial_size: usize,
    /// Levels per pass over the data, each 2 or 3; the tile levels follow them.
    pub(super) passes: Vec<u32>,
    /// The number of passes before the division into chunks: 1 or 2, or 0 if there is only one chunk.
    pub(super) outer: usize,
    /// For each pass of the inverse: the multiple of p that bounds its inputs, and whether the first output is reduced.
    pub(super) inverse_ranges: Vec<(u64, bool)>,
    /// Powers of ψ.
    pub(super) forward: Factors<C>,
    /// Powers of ψ^-1.
    pub(super) inverse: Factors<C>,
    /// ψ^(N/2), ψ^(N/4), ψ^(3N/4): the ratios of the factors of neighbouring blocks.
    pub(super) units: [[C; 2]; 3],
    /// The same ratios for ψ^-1.
    pub(super) inverse_units: [[C; 2]; 3],
    /// 1/N and w/N, where w is the factor of the inverse's last level.
    pub(super) scale: [[C; 2]; 2],
}

impl<C: Copy> Tables<C> {
    /// The tables for a power of two of at least 2^8 and LANES², and a prime with the roots. The caller checks both.
    pub(super) fn new<A: Lanes<Cell = C>>(modulus: Modulus, polynomial_size: usize) -> Tables<C> {
        let psi = modulus.primitive_root_2n(polynomial_size).expect("a checked size");
        let inverse_of = |x| modulus.inverse(x).expect("roots and powers of two are not zero");
        let passes = passes((polynomial_size / A::LANES).trailing_zeros());
        let outer = match polynomial_size {
            n if n <= CHUNK => 0,
            n if n >> passes[0] <= CHUNK => 1,
            _ => 2,
        };
        let forward_twiddles = twiddles(modulus, psi, polynomial_size);
        let inverse_twiddles = twiddles(modulus, inverse_of(psi), polynomial_size);
        let by_n = inverse_of(modulus.pow(2, polynomial_size.trailing_zeros().into()));
        Tables {
            modulus,
            polynomial_size,
            outer,
            inverse_ranges: inverse_ranges(passes.len()),
            units: std::array::from_fn(|i| A::root(modulus, forward_twiddles[i + 1])),
            inverse_units: std::array::from_fn(|i| A::root(modulus, inverse_twiddles[i + 1])),
            forward: Factors::new::<A>(modulus, &forward_twiddles, &passes),
            inverse: Factors::new::<A>(modulus, &inverse_twiddles, &passes),
            scale: [A::root(modulus, by_n), A::root(modulus, modulus.mul(by_n, inverse_twiddles[1]))],
            passes,
        }
    }
}

impl<C: Copy> Factors<C> {
    /// The factors in the layout of the passes. Entry m + i of `merged` is the factor of block i at the level of m
    /// blocks.
    fn new<A: Lanes<Cell = C>>(modulus: Modulus, merged: &[u64], passes: &[u32]) -> Factors<C> {
        // The factors below node `node` = m + i of the tree of blocks, level by level.
        let below = |node: usize, levels: u32| {
            (0..levels).flat_map(move |level| (0..1usize << level).map(move |s| merged[(node << level) + s]))
        };
        let mut blocks = 1usize;
        let mut tables = Vec::new();
        for &levels in passes {
            let pairs = (blocks..2 * blocks).flat_map(|node| below(node, levels)).map(|w| A::root(modulus, w));
            tables.push(pairs.collect());
            blocks <<= levels;
        }
        let mut tiles = Vec::new();
        if A::LANES > 1 {
            for tile in (blocks..2 * blocks).step_by(A::LANES) {
                let lanes: Vec<Vec<[C; 2]>> = (tile..tile + A::LANES)
                    .map(|node| below(node, A::LANES.trailing_zeros()).map(|w| A::root(modulus, w)).collect())
                    .collect();
                for &index in A::TILE_ROOTS {
                    tiles.extend(lanes.iter().map(|lane| lane[index][0]));
                    tiles.extend(lanes.iter().map(|lane| lane[index][1]));
                }
            }
        }
        Factors { passes: tables, tiles: Aligned::new(&tiles) }
    }
}

/// Divides `levels` ≥ 2 into passes of three and two levels, threes first.
fn passes(levels: u32) -> Vec<u32> {
    let (threes, twos) = match levels % 3 {
        0 => (levels / 3, 0),
        1 => (levels / 3 - 1, 2),
        _ => (levels / 3, 1),
    };
    [3].repeat(threes as usize).into_iter().chain([2].repeat(twos)).collect()
}

/// The bounds of [`super::ifma`] for the passes of the inverse, in their order in [`Tables::passes`].
fn inverse_ranges(passes: usize) -> Vec<(u64, bool)> {
    // The tile levels are a pass of three levels that starts from canonical words.
    let mut range = GROWTH;
    let mut ranges = Vec::new();
    for _ in 0..passes {
        let reduce = range * GROWTH * GROWTH > LIMIT;
        ranges.push((range, reduce));
        range = if reduce { REDUCED } else { range * GROWTH };
    }
    ranges.reverse();
    ranges
}

#[cfg(test)]
mod tests {
    use super::{inverse_ranges, passes};

    #[test]
    fn passes_cover_all_levels() {
        for levels in 4..=17 {
            let passes = passes(levels);
            assert_eq!(passes.iter().sum::<u32>(), levels);
            assert!(passes.iter().all(|&l| l == 2 || l == 3));
        }
    }

    #[test]
    fn ranges_of_the_inverse_stay_below_52_bits() {
        for passes in 1..=6 {
            for (range, _) in inverse_ranges(passes) {
                assert!(range * super::GROWTH <= 1 << 20);
            }
        }
    }
}
