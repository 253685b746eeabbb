//! The plan of a transform of one size: the order of passes, and the twiddles in the order of use.

use std::ops::{Deref, DerefMut};

/// f64 words that start on a cache line. Vectors of 64 bytes then never straddle two lines, which halves their cost.
///
/// Engines accept any slice; spectra in this buffer are the fast case.
///
/// # Example
/// ```
/// use ciphermill_math::fft::SpectrumBuffer;
///
/// let mut spectrum = SpectrumBuffer::zeroed(1024);
/// spectrum[3] = 1.5;
/// assert_eq!(spectrum.as_ptr().align_offset(64), 0);
/// assert_eq!((spectrum.len(), spectrum[3]), (1024, 1.5));
/// ```
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
    // A full turn is 2^64. Exact arithmetic brings the angle within an eighth of a turn of a multiple of i.
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

/// Points of the largest block, 32 KiB, that is assumed to stay in the first-level cache.
pub(super) const CACHED_POINTS: usize = 2048;

/// One pass over memory, which computes `levels` levels of the tree on every block of one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// 1, 2 or 3.
    pub(super) levels: u32,
    /// Points of each part into which a block splits.
    pub(super) stride: usize,
    /// The index of its first twiddle in the table of the direction.
    pub(super) twiddles_at: usize,
}

/// The passes of one direction.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Levels computed while the forward transform loads, and while the inverse stores.
    pub(super) outer_levels: u32,
    /// The passes between the outer levels and the leaves, from large blocks to small ones.
    pub(super) passes: Vec<Pass>,
    /// The number of `passes` on blocks that exceed the first-level cache.
    pub(super) uncached: usize,
    /// Points of the blocks that are finished one after the other in the first-level cache.
    pub(super) cached_points: usize,
    pub(super) twiddles: SpectrumBuffer,
}

impl Schedule {
    /// Passes for `groups` of levels above the leaves of `points` points, without their twiddles.
    fn new(points: usize, groups: &[u32], leaf_points: usize) -> Schedule {
        let (outer_levels, groups) = groups.split_first().map_or((0, groups), |(first, rest)| (*first, rest));
        let mut block = points >> outer_levels;
        let mut schedule = Schedule {
            outer_levels,
            passes: Vec::new(),
            uncached: 0,
            cached_points: block,
            twiddles: SpectrumBuffer::zeroed(0),
        };
        for levels in groups {
            if block > CACHED_POINTS.max(leaf_points) {
                schedule.uncached += 1;
                schedule.cached_points = block >> levels;
            }
            block >>= levels;
            schedule.passes.push(Pass { levels: *levels, stride: block, twiddles_at: 0 });
        }
        schedule
    }
}

/// Twiddles and passes for M = N/2 points on vectors of L lanes.
///
/// The forward transform walks down the tree of X^m − c = (X^(m/2) − √c)(X^(m/2) + √c); the inverse walks up in the
/// textbook (decimation in time) form, whose twiddles depend on the position instead of the block.
#[derive(Debug)]
pub(super) struct Plan {
    /// M.
    pub(super) points: usize,
    pub(super) forward: Schedule,
    pub(super) forward_leaves_at: usize,
    /// Groups of butterflies of a forward transform. A group is loaded, computed and stored together.
    pub(super) forward_groups: usize,
    pub(super) inverse: Schedule,
    pub(super) inverse_leaf_at: usize,
    pub(super) inverse_outer_at: usize,
}

/// The number of twiddles of a group of `levels` levels; the others follow by a factor i.
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
        let lane_levels = lanes.trailing_zeros();
        let leaf_points = lanes * lanes;
        let levels = points.trailing_zeros() - 2 * lane_levels;

        let groups = group_levels(levels, levels_per_pass, true);
        let mut forward = Schedule::new(points, &groups, leaf_points);
        let mut table = Vec::new();
        push_split_twiddles(&mut table, forward.outer_levels, 0, 0);
        pad(&mut table);
        let mut level = forward.outer_levels;
        for pass in &mut forward.passes {
            pass.twiddles_at = table.len();
            for node in 0..1 << level {
                push_split_twiddles(&mut table, pass.levels, level, node);
            }
            pad(&mut table);
            level += pass.levels;
        }
        let forward_leaves_at = table.len();
        for leaf in 0..1usize << level {
            push_split_twiddles(&mut table, lane_levels, level, leaf);
            for which in 0..twiddle_count(lane_levels) {
                let lane = |lane| split_twiddle(which, lane_levels, level + lane_levels, leaf * lanes + lane);
                table.extend((0..lanes).map(|l| lane(l).0));
                table.extend((0..lanes).map(|l| lane(l).1));
            }
        }
        forward.twiddles = aligned(&table);
        let group = |levels: u32| points / (lanes << levels);
        let forward_groups = groups.iter().map(|levels| group(*levels)).sum::<usize>() + group(lane_levels);

        let groups = group_levels(levels, levels_per_pass, false);
        let mut inverse = Schedule::new(points, &groups, leaf_points);
        let mut table = Vec::new();
        let inverse_leaf_at = 0;
        push_merge_twiddles(&mut table, lane_levels, lanes, 0, lanes);
        pad(&mut table);
        for pass in inverse.passes.iter_mut().rev() {
            pass.twiddles_at = table.len();
            for start in (0..pass.stride).step_by(lanes) {
                push_merge_twiddles(&mut table, pass.levels, pass.stride, start, lanes);
            }
            pad(&mut table);
        }
        let inverse_outer_at = table.len();
        let stride = points >> inverse.outer_levels;
        let log2_untwist = points.trailing_zeros() + 2;
        let scale = 1.0 / (points as f64 * 18_446_744_073_709_551_616.0);
        for start in (0..stride).step_by(lanes) {
            push_merge_twiddles(&mut table, inverse.outer_levels, stride, start, lanes);
            for part in 0..1 << inverse.outer_levels {
                let untwist = |lane| root_of_unity(4 * points - (part * stride + start + lane), log2_untwist);
                table.extend((0..lanes).map(|l| untwist(l).0 * scale));
                table.extend((0..lanes).map(|l| untwist(l).1 * scale));
            }
        }
        inverse.twiddles = aligned(&table);
        Plan { points, forward, forward_leaves_at, forward_groups, inverse, inverse_leaf_at, inverse_outer_at }
    }

    /// The place of the value at the root e^(2πi (4k+1) / 4M) in a spectrum of vectors of `lanes` lanes: the indices of
    /// its real and imaginary parts.
    pub(super) fn position(&self, k: usize, lanes: usize) -> (usize, usize) {
        let node = reverse_bits(k, self.points.trailing_zeros());
        let (tile, within) = (node / (lanes * lanes), node % (lanes * lanes));
        let re = (tile * lanes + within % lanes) * 2 * lanes + within / lanes;
        (re, re + lanes)
    }
}

/// Splits `levels` into groups of at most `most` levels, as few and as even as possible.
///
/// The outer pass of either direction is bound by the second-level cache. The forward transform hides some of its
/// arithmetic there, so it has the largest group first. The inverse reads two more twiddles per level and part, so it
/// has the largest group last.
fn group_levels(levels: u32, most: u32, largest_first: bool) -> Vec<u32> {
    let groups = levels.div_ceil(most);
    let mut sizes: Vec<u32> = (0..groups).map(|k| levels / groups + u32::from(k >= groups - levels % groups)).collect();
    if largest_first {
        sizes.reverse();
    }
    sizes
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
