//! Factors and the division of the levels into passes, for one modulus, one size and one strategy.

use super::lanes::{Lanes, MAX_CONSTANTS};
use crate::Modulus;
use crate::ntt::reference::{bit_reverse, prime};
use crate::ntt::{NttError, NttWord};

/// Words that start at a cache line, because an unaligned vector load would touch two lines.
#[derive(Debug, Default)]
pub(super) struct Aligned<W> {
    words: Vec<W>,
    start: usize,
}

impl<W: NttWord> Aligned<W> {
    const LINE: usize = 64;

    fn new(content: &[W]) -> Aligned<W> {
        let mut words = vec![W::default(); content.len() + Self::LINE / size_of::<W>()];
        let start = words.as_ptr().align_offset(Self::LINE).min(Self::LINE / size_of::<W>());
        words[start..][..content.len()].copy_from_slice(content);
        Aligned { words, start }
    }

    #[inline(always)]
    pub(super) fn as_ptr(&self) -> *const W {
        self.words[self.start..].as_ptr()
    }
}

/// The size, constants, passes and factors of one transform.
///
/// The factors of a pass of l levels are in the order of the levels: one for the first, two for the second, ….
#[derive(Debug)]
pub(super) struct Tables<W> {
    /// N.
    pub(super) polynomial_size: usize,
    /// p.
    pub(super) modulus: Modulus,
    /// See [`Lanes::constants`].
    pub(super) constants: [W; MAX_CONSTANTS],
    /// Levels per pass over the data, in forward order: 1 to 3 in the first pass, 1 to 4 in all others. The levels of
    /// the tiles follow them.
    pub(super) passes: Vec<u32>,
    /// For each pass: 2^levels − 1 prepared factors per block.
    pub(super) forward: Vec<Aligned<W>>,
    /// For each tile: ROWS − 1 prepared factors and one unused place, then LANES − 1 vectors of factors for each
    /// square.
    pub(super) forward_tiles: Aligned<W>,
    /// Factors for the transforms of up to 16 points, including the factors that are one.
    pub(super) dft: Aligned<W>,
    /// ROWS − 1 vectors of factors, the same for all tiles.
    pub(super) inverse_tile: Aligned<W>,
    /// For each pass except the first: 2^levels − 1 vectors of factors for each vector of a sub-block, the same for all
    /// blocks.
    pub(super) inverse: Vec<Aligned<W>>,
    /// 2^levels vectors of factors for each vector of a sub-block of the last inverse pass, before its transform.
    pub(super) inverse_last: Aligned<W>,
    /// 2^levels prepared factors after that transform, including 1/N.
    pub(super) inverse_scale: Aligned<W>,
}

/// Words of the record of one tile in [`Tables::forward_tiles`].
pub(super) const fn tile_record<L: Lanes>() -> usize {
    2 * L::ROWS + 2 * L::ROWS * (L::LANES - 1)
}

/// Appends factors, one word pair per lane, in the layout that `Lanes::twiddle_load` reads.
fn push_vector<L: Lanes>(words: &mut Vec<L::Word>, modulus: Modulus, factors: impl Iterator<Item = u64>) {
    let pairs: Vec<_> = factors.map(|w| L::prepare(modulus, w)).collect();
    debug_assert_eq!(pairs.len(), L::LANES);
    for part in 0..2 {
        words.extend(pairs.iter().map(|pair| pair[part]));
    }
}

impl<W: NttWord> Tables<W> {
    /// The least N for which a strategy's tiles leave at least one level to the passes.
    pub(super) const fn min_polynomial_size<L: Lanes>() -> usize {
        2 * L::ROWS * L::LANES
    }

    /// # Errors
    /// If 2N does not divide p − 1. The caller checks that N is a power of two in the strategy's range.
    pub(super) fn new<L: Lanes<Word = W>>(modulus: Modulus, polynomial_size: usize) -> Result<Tables<W>, NttError> {
        let n = polynomial_size;
        let no_root = NttError::NoRoot { modulus: modulus.value(), polynomial_size };
        let psi = modulus.primitive_root_2n(n).ok_or(no_root)?;
        let (log_n, lanes) = (n.trailing_zeros(), L::LANES);
        let passes = passes(log_n - (L::ROWS * lanes).trailing_zeros(), L::LANES);

        let merged = prime::twiddles(modulus, psi, n);
        // The 2^levels − 1 factors of block `block` among `blocks`.
        let subtree = |blocks: usize, block: usize, levels: u32| {
            (0..levels).flat_map(move |level| {
                let first = (blocks + block) << level;
                first..first + (1 << level)
            })
        };
        let mut forward = Vec::new();
        let mut blocks = 1;
        for &levels in &passes {
            let words = (0..blocks).flat_map(|block| subtree(blocks, block, levels));
            forward.push(Aligned::new(&words.flat_map(|k| L::prepare(modulus, merged[k])).collect::<Vec<_>>()));
            blocks <<= levels;
        }
        let mut forward_tiles = Vec::with_capacity(blocks * tile_record::<L>());
        for tile in 0..blocks {
            let rows = subtree(blocks, tile, L::ROWS.trailing_zeros());
            forward_tiles.extend(rows.flat_map(|k| L::prepare(modulus, merged[k])));
            forward_tiles.extend([W::default(); 2]);
            if lanes > 1 {
                for square in 0..L::ROWS / lanes {
                    let first = tile * L::ROWS + square * lanes;
                    let subtrees: Vec<Vec<usize>> = (first..first + lanes)
                        .map(|block| subtree(blocks * L::ROWS, block, lanes.trailing_zeros()).collect())
                        .collect();
                    for k in 0..lanes - 1 {
                        push_vector::<L>(&mut forward_tiles, modulus, subtrees.iter().map(|s| merged[s[k]]));
                    }
                }
            }
        }

        // ψ^-e for 0 ≤ e < 2N.
        let psi_inverse = modulus.pow(psi, 2 * n as u64 - 1);
        let mut power = 1;
        let mut powers = Vec::with_capacity(2 * n);
        for _ in 0..2 * n {
            powers.push(power);
            power = modulus.mul(power, psi_inverse);
        }
        // ω_m^-e for m dividing N.
        let root = |m: usize, e: usize| powers[2 * n / m * (e % m)];
        let dft: Vec<W> = (0..4u32)
            .flat_map(|level| (0..1usize << level).map(move |s| (2usize << level, s)))
            .flat_map(|(m, s)| L::prepare(modulus, root(m, s)))
            .collect();
        // The factors of the vector at `j` of each sub-block of `stride` words.
        let vectors = |words: &mut Vec<W>, stride: usize, j: usize, levels: u32| {
            for level in 0..levels {
                for s in 0..1usize << level {
                    let e = j + s * stride;
                    push_vector::<L>(words, modulus, (e..e + lanes).map(|e| root(stride << (level + 1), e)));
                }
            }
        };
        let mut inverse_tile = Vec::new();
        vectors(&mut inverse_tile, lanes, 0, L::ROWS.trailing_zeros());
        let mut inverse = vec![Aligned::default()];
        let mut stride = n >> passes[0];
        for &levels in &passes[1..] {
            stride >>= levels;
            let mut words = Vec::new();
            for j in (0..stride).step_by(lanes) {
                vectors(&mut words, stride, j, levels);
            }
            inverse.push(Aligned::new(&words));
        }
        let radix = 1 << passes[0];
        let stride = n / radix;
        let mut inverse_last = Vec::with_capacity(2 * n);
        for j in (0..stride).step_by(lanes) {
            for block in 0..radix {
                let odd = 2 * bit_reverse(block, passes[0]) + 1;
                let factors = (j..j + lanes).map(|j| powers[j * odd % (2 * n)]);
                push_vector::<L>(&mut inverse_last, modulus, factors);
            }
        }
        let n_inverse = modulus.inverse(modulus.reduce(n as u64)).expect("a power of two is not zero modulo an odd p");
        let inverse_scale: Vec<W> =
            (0..radix).flat_map(|s| L::prepare(modulus, modulus.mul(n_inverse, powers[s * stride]))).collect();

        Ok(Tables {
            polynomial_size,
            modulus,
            constants: L::constants(modulus, log_n),
            forward,
            forward_tiles: Aligned::new(&forward_tiles),
            dft: Aligned::new(&dft),
            inverse_tile: Aligned::new(&inverse_tile),
            inverse,
            inverse_last: Aligned::new(&inverse_last),
            inverse_scale: Aligned::new(&inverse_scale),
            passes,
        })
    }
}

/// Divides `levels` ≥ 1 into passes of three and two levels. A pass of four levels saves a pass but needs 16 vectors at
/// once. It is used where there are 32 registers, and only late, where the vectors do not all fall into the same sets
/// of the cache.
fn passes(levels: u32, lanes: usize) -> Vec<u32> {
    let wide = lanes >= 8;
    match (levels, levels % 3) {
        (1 | 2, _) => vec![levels],
        (_, 0) => vec![3; levels as usize / 3],
        (4, _) => vec![2, 2],
        (_, 1) => {
            let mut passes = vec![3; levels as usize / 3 - 1];
            passes.extend(if wide { &[4][..] } else { &[2, 2] });
            passes
        }
        _ => {
            let mut passes = vec![3; levels as usize / 3];
            passes.push(2);
            passes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::passes;

    #[test]
    fn passes_cover_all_levels() {
        for lanes in [1, 4, 8, 16] {
            for levels in 1..=16 {
                let passes = passes(levels, lanes);
                assert_eq!(passes.iter().sum::<u32>(), levels);
                assert!((1..=3).contains(&passes[0]) && passes.iter().all(|l| (1..=4).contains(l)), "{passes:?}");
            }
        }
    }
}
