//! The shape of groups, digits and blocks.

/// Residues per group.
pub(super) const LANES: usize = 8;
/// Bits of a digit: what `vpmadd52` multiplies.
pub(super) const DIGIT_BITS: u32 = 52;
/// Digits of a block.
pub(super) const TILE: usize = 10;
/// R ≥ 2^`SLACK_BITS`·n.
pub(super) const SLACK_BITS: u32 = 6;
/// Chunks of R that a value on entry has, at most: 5·64·⌈b/64⌉ ≤ 6·(b + 6) for b > 260, and 520 bits at least.
pub(super) const MAX_CHUNKS: usize = 6;
