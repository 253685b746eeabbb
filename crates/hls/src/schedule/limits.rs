//! Bounds of schedules and of the search for them.

/// Cycles of one iteration.
pub(super) const MAX_DEPTH: u32 = 4096;
/// Cycles from iteration to iteration.
pub(super) const MAX_INTERVAL: u32 = 4096;
/// Idle cycles between two runs of the innermost loop.
pub(super) const MAX_GAP: u32 = 4096;
/// The least number of later cycles that are tried for an access.
pub(super) const MOVES: u32 = 64;
/// Steps of the placements of all kernels, in addition to [`ROUNDS`].
pub(super) const PLACEMENT: u64 = 1 << 24;
/// Rounds over all nodes and accesses that each kernel has in any case.
pub(super) const ROUNDS: u64 = 8;
/// Steps of the searches for the schedules of all kernels.
pub(super) const EFFORT: u64 = 1 << 25;
/// Steps of the searches for the schedule of one kernel.
pub(super) const KERNEL_EFFORT: u64 = 1 << 22;
