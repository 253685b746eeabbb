//! Twiddle factors of the blocks that are transformed in pairs.

use super::super::tables::{powers, root};
use super::pair::{Factor, factor, short_factor};
use crate::goldilocks::{inverse, mul, primitive_root_2n};
use crate::ntt::reference::twiddles;

/// The largest block: its pairs fill 64 KB.
pub(super) const MAX_BLOCK: usize = 4096;

/// Twiddle factors of one direction.
#[derive(Debug)]
pub(super) struct Roots {
    /// For each pass, 2^levels − 1 powers of the root of each block, in the order of the blocks. Forward, the first
    /// list is empty if its only block is the whole polynomial. Inverse, each block of the first pass has one more
    /// power, before the others, and all its factors are divided by N.
    pub(super) passes: Vec<Vec<Factor>>,
    /// For each tile of eight blocks of eight words, seven pairs of a vector of s and a vector of t.
    pub(super) tiles: Vec<[[u64; 8]; 2]>,
}

/// The sizes, passes and twiddle factors of one transform.
#[derive(Debug)]
pub(in super::super) struct Tables {
    /// N.
    pub(super) polynomial_size: usize,
    /// Levels of the passes over words, by shifts: none, one pass of 2 or 3, or 3 and 2.
    pub(super) word_passes: &'static [u32],
    /// Levels of the passes over pairs, 3 or 2 each; the three levels of the tiles come after them.
    pub(super) passes: Vec<u32>,
    /// Levels of the passes over pairs, 3 or 2 each. The three levels of the tiles follow them.
    pub(super) forward: Roots,
    /// Powers of ψ^-1.
    pub(super) inverse: Roots,
}

impl Tables {
    /// The tables for a power of two from 2^6 to 2^17, which the caller checks.
    pub(in super::super) fn new(polynomial_size: usize) -> Tables {
        let word_passes: &'static [u32] = match polynomial_size.trailing_zeros() {
            ..=12 => &[],
            13 => &[2],
            14 => &[3],
            _ => &[3, 2],
        };
        let blocks = 1usize << word_passes.iter().sum::<u32>();
        debug_assert!(polynomial_size / blocks <= MAX_BLOCK);
        let passes = passes((polynomial_size / blocks).trailing_zeros() - 3);
        let psi = primitive_root_2n(polynomial_size).expect("a checked size");
        let psi_inverse = inverse(psi).expect("a root of unity is not zero");
        let n_inverse = inverse(polynomial_size as u64).expect("a power of two is not zero");
        Tables {
            polynomial_size,
            word_passes,
            forward: Roots::new(psi, polynomial_size, blocks, &passes, None),
            inverse: Roots::new(psi_inverse, polynomial_size, blocks, &passes, Some(n_inverse)),
            passes,
        }
    }

    /// Words of a block.
    pub(super) fn block_size(&self) -> usize {
        self.polynomial_size >> self.word_passes.iter().sum::<u32>()
    }
}

impl Roots {
    fn new(psi: u64, polynomial_size: usize, mut blocks: usize, passes: &[u32], scale: Option<u64>) -> Roots {
        let merged = twiddles(psi, polynomial_size);
        let mut tables = Vec::new();
        for (i, &levels) in passes.iter().enumerate() {
            if blocks == 1 && scale.is_none() {
                tables.push(Vec::new());
                blocks <<= levels;
                continue;
            }
            let scale = scale.filter(|_| i == 0);
            let factors = |block| {
                let own = powers(root(&merged, block, levels)).take((1 << levels) - 1);
                let all = scale.map(|_| 1).into_iter().chain(own);
                all.map(move |power| factor(mul(power, scale.unwrap_or(1))))
            };
            tables.push((blocks..2 * blocks).flat_map(factors).collect());
            blocks <<= levels;
        }
        let mut tiles = Vec::new();
        for tile in (blocks..2 * blocks).step_by(8) {
            let z: [u64; 8] = std::array::from_fn(|lane| root(&merged, tile + lane, 3));
            let mut power = z;
            for _ in 1..8 {
                tiles.push([0, 1].map(|part| power.map(|w| short_factor(w)[part])));
                power.iter_mut().zip(z).for_each(|(power, z)| *power = mul(*power, z));
            }
        }
        Roots { passes: tables, tiles }
    }
}

/// Divides `levels` from 3 to 9 into passes of three and two levels.
fn passes(levels: u32) -> Vec<u32> {
    let twos = (3 - levels % 3) % 3;
    let threes = (levels - 2 * twos) / 3;
    [vec![3; threes as usize], vec![2; twos as usize]].concat()
}

#[cfg(test)]
mod tests {
    #[test]
    fn passes_cover_all_levels() {
        for levels in 3..=9 {
            let passes = super::passes(levels);
            assert_eq!(passes.iter().sum::<u32>(), levels);
            assert!(passes.iter().all(|&l| l == 2 || l == 3));
        }
    }
}
