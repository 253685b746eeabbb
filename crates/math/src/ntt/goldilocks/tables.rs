//! Twiddle factors and the division of the levels into passes, for one size and one number of lanes.

use crate::goldilocks::{inverse, mul, primitive_root_2n};
use crate::ntt::reference::twiddles;

/// Twiddle factors of one direction: powers z, z², … of the root z of each block.
///
/// A block of a radix-R pass holds a polynomial modulo X^(Rt) − z^R. Its t interleaved parts in Y = X^t/z are
/// polynomials modulo Y^R − 1. Multiplying part j by z^j leaves a cyclic transform of R points, whose roots are powers
/// of two. That takes R − 1 products; merged butterflies take (R/2)·log2 R.
#[derive(Debug)]
pub(super) struct Roots {
    /// For each pass, R − 1 words per block, in the order of the blocks. Empty for the first pass.
    pub(super) passes: Vec<Vec<u64>>,
    /// For each tile of LANES blocks of a radix-LANES pass, LANES − 1 vectors with one word per block.
    pub(super) tiles: Vec<u64>,
}

/// The size, passes and twiddle factors of one transform.
#[derive(Debug)]
pub(super) struct Tables {
    /// N.
    pub(super) polynomial_size: usize,
    /// Levels per pass over the data, each 2 or 3; the tile levels follow them.
    pub(super) passes: Vec<u32>,
    /// Powers of ψ.
    pub(super) forward: Roots,
    /// Powers of ψ^-1.
    pub(super) inverse: Roots,
}

impl Tables {
    /// The tables for `lanes` 1, 4 or 8 and `polynomial_size` a power of two of at least 16 and lanes². The caller
    /// checks both.
    pub(super) fn new(polynomial_size: usize, lanes: usize) -> Tables {
        let psi = primitive_root_2n(polynomial_size).expect("a checked size");
        let psi_inverse = inverse(psi).expect("a root of unity is not zero");
        let passes = passes((polynomial_size / lanes).trailing_zeros());
        Tables {
            polynomial_size,
            forward: Roots::new(psi, polynomial_size, lanes, &passes),
            inverse: Roots::new(psi_inverse, polynomial_size, lanes, &passes),
            passes,
        }
    }
}

impl Roots {
    fn new(psi: u64, polynomial_size: usize, lanes: usize, passes: &[u32]) -> Roots {
        let merged = twiddles(psi, polynomial_size);
        let root = |block, levels| root(&merged, block, levels);
        let mut blocks = 1usize << passes[0];
        let mut tables = vec![Vec::new()];
        for &levels in &passes[1..] {
            let powers = |block| powers(root(block, levels)).take((1 << levels) - 1);
            tables.push((blocks..2 * blocks).flat_map(powers).collect());
            blocks <<= levels;
        }
        let mut tiles = Vec::new();
        if lanes > 1 {
            for tile in (blocks..2 * blocks).step_by(lanes) {
                let mut vector: Vec<u64> = (tile..tile + lanes).map(|b| root(b, lanes.trailing_zeros())).collect();
                let z = vector.clone();
                for _ in 1..lanes {
                    tiles.extend(&vector);
                    vector.iter_mut().zip(&z).for_each(|(power, &z)| *power = mul(*power, z));
                }
            }
        }
        Roots { passes: tables, tiles }
    }
}

/// The root of entry `block` = m + i (block i at the level of m blocks) over `levels` levels: the factor of the first
/// of its parts at the last of these levels. `merged` holds the factors of [`twiddles`].
pub(super) fn root(merged: &[u64], block: usize, levels: u32) -> u64 {
    merged[block << (levels - 1)]
}

/// z, z², z³, …
pub(super) fn powers(z: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(z), move |&power| Some(mul(power, z)))
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
