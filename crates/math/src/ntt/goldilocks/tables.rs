//! Twiddle factors and the division of the levels into passes, for one size and one number of lanes.

use crate::goldilocks::{inverse, primitive_root_2n};
use crate::ntt::reference::twiddles;

/// Twiddle factors of one direction.
#[derive(Debug)]
pub(super) struct Roots {
    /// Entry m + i belongs to block i of the level with m blocks; only the levels before the tile levels.
    pub(super) blocks: Vec<u64>,
    /// For each tile of LANES blocks: LANES − 1 vectors, one word per block, in the order that a radix-LANES butterfly
    /// uses them.
    pub(super) tiles: Vec<u64>,
}

/// What the kernels of one size need to know.
#[derive(Debug)]
pub(super) struct Tables {
    /// N.
    pub(super) polynomial_size: usize,
    /// Levels per pass over the data, each 2 or 3; the tile levels come after them.
    pub(super) passes: Vec<u32>,
    /// Powers of ψ.
    pub(super) forward: Roots,
    /// Powers of ψ^-1.
    pub(super) inverse: Roots,
}

impl Tables {
    /// For `lanes` 1, 4 or 8 and `polynomial_size` a power of two of at least 16 and lanes². The caller checks this.
    pub(super) fn new(polynomial_size: usize, lanes: usize) -> Tables {
        let psi = primitive_root_2n(polynomial_size).expect("a checked size");
        let psi_inverse = inverse(psi).expect("a root of unity is not zero");
        Tables {
            polynomial_size,
            passes: passes((polynomial_size / lanes).trailing_zeros()),
            forward: Roots::new(psi, polynomial_size, lanes),
            inverse: Roots::new(psi_inverse, polynomial_size, lanes),
        }
    }
}

impl Roots {
    fn new(psi: u64, polynomial_size: usize, lanes: usize) -> Roots {
        let mut blocks = twiddles(psi, polynomial_size);
        let mut tiles = Vec::with_capacity(if lanes == 1 { 0 } else { polynomial_size });
        let tile_blocks = polynomial_size / lanes;
        for tile in (0..tile_blocks).step_by(lanes) {
            for level in 0..lanes.trailing_zeros() {
                for part in 0..1usize << level {
                    let entry = |lane| blocks[((tile_blocks + tile + lane) << level) + part];
                    tiles.extend((0..lanes).map(entry));
                }
            }
        }
        blocks.truncate(tile_blocks);
        blocks.shrink_to_fit();
        Roots { blocks, tiles }
    }
}

/// Divides `levels` ≥ 2 into passes of three and two levels. Passes of 3 and 2 levels come first where possible: the
/// twiddle factors of the first five levels are powers of two, and the second pass has code for them.
fn passes(levels: u32) -> Vec<u32> {
    let (mut passes, rest) = if levels == 5 || levels >= 7 { (vec![3, 2], levels - 5) } else { (vec![], levels) };
    let (threes, twos) = match rest % 3 {
        0 => (rest / 3, 0),
        1 => (rest / 3 - 1, 2),
        _ => (rest / 3, 1),
    };
    passes.extend((0..threes).map(|_| 3));
    passes.extend((0..twos).map(|_| 2));
    passes
}

#[cfg(test)]
mod tests {
    use super::passes;

    #[test]
    fn passes_cover_all_levels() {
        for levels in 2..=16 {
            let passes = passes(levels);
            assert_eq!(passes.iter().sum::<u32>(), levels);
            assert!(passes.iter().all(|&l| l == 2 || l == 3));
        }
    }
}
