//! What the kernels need to know about one size: the order of passes and the twiddles in the order of their use.

use std::ops::{Deref, DerefMut};

/// f64 words that start on a cache line: vectors of 64 bytes then never straddle two lines, which halves their cost.
///
/// Engines accept any slice; spectra held in this buffer are the fast case.
#[derive(Clone, Debug, PartialEq)]
pub struct SpectrumBuffer {
    lines: Vec<Line>,
    len: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
struct Line([f64; 8]);

impl SpectrumBuffer {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        SpectrumBuffer { lines: vec![Line([0.0; 8]); len.div_ceil(8)], len }
    }
}

impl Deref for SpectrumBuffer {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        // SAFETY: a `Line` is eight f64 without padding, and there are at least `len / 8` of them.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for SpectrumBuffer {
    fn deref_mut(&mut self) -> &mut [f64] {
        // SAFETY: as in `deref`, and the lines are borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

/// e^(2πi · index / 2^log2_order), correct to about one unit in the last place.
pub(super) fn root_of_unity(index: usize, log2_order: u32) -> (f64, f64) {
    // A turn is 2^64. The angle is brought within an eighth of a turn of a multiple of i by exact arithmetic.
    let turn = if log2_order == 0 { 0 } else { (index as u64) << (64 - log2_order) };
    let quarters = turn.wrapping_add(1 << 61) >> 62;
    let rest = turn.wrapping_sub(quarters << 62) as i64;
    let (sin, cos) = (rest as f64 * (std::f64::consts::TAU / 18_446_744_073_709_551_616.0)).sin_cos();
    match quarters {
        0 => (cos, sin),
        1 => (-sin, cos),
        2 => (-cos, -sin),
        _ => (sin, -cos),
    }
}

/// Points of the largest block, 32 KiB, that is taken to stay in the first-level cache.
const CACHED_POINTS: usize = 2048;

/// One pass over memory that does `levels` levels of the tree on every block of one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// 1, 2 or 3.
    pub(super) levels: u32,
    /// Points of each part into which a block splits.
    pub(super) stride: usize,
    /// Where its twiddles start in the table of the direction.
    pub(super) forward_at: usize,
    pub(super) inverse_at: usize,
}

/// Twiddles and passes for M = N/2 points on vectors of L lanes.
///
/// The forward transform walks down the tree of X^m − c = (X^(m/2) − √c)(X^(m/2) + √c); the inverse walks up in the
/// textbook (decimation in time) form, whose twiddles depend on the position instead of the block.
#[derive(Debug)]
pub(super) struct Plan {
    /// M.
    pub(super) points: usize,
    /// Levels done while the forward transform loads, and while the inverse stores.
    pub(super) outer_levels: u32,
    /// The passes between that and the leaves, from large blocks to small ones.
    pub(super) passes: Vec<Pass>,
    /// How many of `passes` work on blocks that exceed the first-level cache.
    pub(super) uncached: usize,
    /// Points of the blocks that are finished one after the other in the first-level cache.
    pub(super) cached_points: usize,
    /// Groups of butterflies of a forward transform: what is loaded, computed and stored together.
    pub(super) groups: usize,
    pub(super) forward: SpectrumBuffer,
    pub(super) forward_leaves_at: usize,
    pub(super) inverse: SpectrumBuffer,
    pub(super) inverse_leaf_at: usize,
    pub(super) inverse_outer_at: usize,
}

/// Twiddles that a group of `levels` levels needs: the others follow by a factor i.
pub(super) const fn twiddle_count(levels: u32) -> usize {
    [0, 1, 2, 4][levels as usize]
}

/// Reverses the lowest `bits` bits.
pub(super) fn reverse_bits(x: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { x.reverse_bits() >> (usize::BITS - bits) }
}

impl Plan {
    /// A plan for `points` = M ≥ `lanes`², both powers of two.
    pub(super) fn new(points: usize, lanes: usize, levels_per_pass: u32) -> Plan {
        let leaf_levels = 2 * lanes.trailing_zeros();
        let levels = points.trailing_zeros() - leaf_levels;
        let (outer_levels, groups) = group_levels(levels, levels_per_pass);

        let mut forward = Vec::new();
        let mut passes = Vec::new();
        push_split_twiddles(&mut forward, outer_levels, 0, 0);
        pad(&mut forward);
        let mut level = outer_levels;
        for group in groups {
            passes.push(Pass {
                levels: group,
                stride: points >> (level + group),
                forward_at: forward.len(),
                inverse_at: 0,
            });
            for node in 0..1 << level {
                push_split_twiddles(&mut forward, group, level, node);
            }
            pad(&mut forward);
            level += group;
        }
        let forward_leaves_at = forward.len();
        let lane_levels = lanes.trailing_zeros();
        for leaf in 0..1usize << level {
            push_split_twiddles(&mut forward, lane_levels, level, leaf);
            for which in 0..twiddle_count(lane_levels) {
                let lane = |lane| split_twiddle(which, lane_levels, level + lane_levels, leaf * lanes + lane);
                forward.extend((0..lanes).map(|l| lane(l).0));
                forward.extend((0..lanes).map(|l| lane(l).1));
            }
        }

        let mut inverse = Vec::new();
        let inverse_leaf_at = 0;
        push_merge_twiddles(&mut inverse, lane_levels, lanes, 0, lanes);
        pad(&mut inverse);
        for pass in passes.iter_mut().rev() {
            pass.inverse_at = inverse.len();
            for start in (0..pass.stride).step_by(lanes) {
                push_merge_twiddles(&mut inverse, pass.levels, pass.stride, start, lanes);
            }
            pad(&mut inverse);
        }
        let inverse_outer_at = inverse.len();
        let stride = points >> outer_levels;
        let log2_untwist = points.trailing_zeros() + 2;
        let scale = 1.0 / (points as f64 * 18_446_744_073_709_551_616.0);
        for start in (0..stride).step_by(lanes) {
            push_merge_twiddles(&mut inverse, outer_levels, stride, start, lanes);
            for part in 0..1 << outer_levels {
                let untwist = |lane| root_of_unity(4 * points - (part * stride + start + lane), log2_untwist);
                inverse.extend((0..lanes).map(|l| untwist(l).0 * scale));
                inverse.extend((0..lanes).map(|l| untwist(l).1 * scale));
            }
        }

        let mut uncached = 0;
        let mut cached_points = points >> outer_levels;
        while cached_points > CACHED_POINTS.max(lanes * lanes) && uncached < passes.len() {
            cached_points >>= passes[uncached].levels;
            uncached += 1;
        }
        let group = |levels: u32| points / (lanes << levels);
        let groups =
            group(outer_levels) + passes.iter().map(|pass| group(pass.levels)).sum::<usize>() + group(lane_levels);
        Plan {
            points,
            groups,
            outer_levels,
            passes,
            uncached,
            cached_points,
            forward: aligned(&forward),
            forward_leaves_at,
            inverse: aligned(&inverse),
            inverse_leaf_at,
            inverse_outer_at,
        }
    }

    /// Where the value at the root e^(2πi (4k+1) / 4M) stands in a spectrum of vectors of `lanes` lanes: the indices of
    /// its real and imaginary parts.
    pub(super) fn position(&self, k: usize, lanes: usize) -> (usize, usize) {
        let node = reverse_bits(k, self.points.trailing_zeros());
        let (tile, within) = (node / (lanes * lanes), node % (lanes * lanes));
        let re = (tile * lanes + within % lanes) * 2 * lanes + within / lanes;
        (re, re + lanes)
    }
}

/// Splits `levels` into a first group and the rest, each of at most `most` levels, as even as can be.
fn group_levels(levels: u32, most: u32) -> (u32, Vec<u32>) {
    let groups = levels.div_ceil(most);
    if groups == 0 {
        return (0, Vec::new());
    }
    // The outer pass walks 2^levels streams of `out` whose distance is a power of two: all in one set of the
    // first-level cache, so the smallest group comes first.
    let mut sizes = (0..groups).map(|k| levels / groups + u32::from(k >= groups - levels % groups));
    (sizes.next().unwrap_or(0), sizes.collect())
}

/// The twiddle number `which` of the `levels` levels below a node. For c = e^(2πi θ), 2^level · θ = 1/4 + bitreverse of
/// the node's index, they are c^(1/2), c^(1/4), c^(1/8) and c^(1/8) · e^(2πi/8).
fn split_twiddle(which: usize, levels: u32, level: u32, node: usize) -> (f64, f64) {
    debug_assert!(which < twiddle_count(levels));
    let numerator = 1 + 4 * reverse_bits(node, level);
    // θ = numerator / 2^(level + 2).
    let halvings = (which as u32 + 1).min(3);
    let log2_order = level + 2 + halvings;
    let eighth = if which == 3 { 1 << (log2_order - 3) } else { 0 };
    root_of_unity(numerator + eighth, log2_order)
}

fn push_split_twiddles(table: &mut Vec<f64>, levels: u32, level: u32, node: usize) {
    for which in 0..twiddle_count(levels) {
        let (re, im) = split_twiddle(which, levels, level, node);
        table.extend([re, im]);
    }
}

/// Twiddles that merge parts of `stride` points, for the positions `start..start + lanes`: e^(-2πi j/2s),
/// e^(-2πi j/4s), e^(-2πi j/8s) and the last times e^(-2πi/8).
fn push_merge_twiddles(table: &mut Vec<f64>, levels: u32, stride: usize, start: usize, lanes: usize) {
    for which in 0..twiddle_count(levels) {
        let doublings = (which as u32 + 1).min(3);
        let log2_order = stride.trailing_zeros() + doublings;
        let order = 1usize << log2_order;
        let eighth = if which == 3 { order / 8 } else { 0 };
        let root = |lane| root_of_unity(order - (start + lane + eighth), log2_order);
        table.extend((0..lanes).map(|l| root(l).0));
        table.extend((0..lanes).map(|l| root(l).1));
    }
}

/// Fills up to a cache line.
fn pad(table: &mut Vec<f64>) {
    table.resize(table.len().next_multiple_of(8), 0.0);
}

fn aligned(table: &[f64]) -> SpectrumBuffer {
    let mut buffer = SpectrumBuffer::zeroed(table.len());
    buffer.copy_from_slice(table);
    buffer
}
