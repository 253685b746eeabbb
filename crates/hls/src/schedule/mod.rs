//! The scheduler: the interval between iterations, the gap between runs of the innermost loop, and the cycle of each node and
//! access.
//!
//! All times count from the cycle in which an iteration begins. A node without a register has its value in the same cycle as
//! its operands, if the path fits the clock period. At an interval of one, each node is as early as its operands allow,
//! which is the shortest schedule. All reads of a memory then share one cycle, and so do all writes. Where this exceeds ports,
//! and at longer intervals, accesses are placed one after another, then by iterative modulo scheduling. An exact search then
//! looks for a shorter interval.

mod bounds;
mod conflicts;
mod exact;
mod greedy;
mod model;
mod modulo;
mod ports;
pub mod problem;
mod search;
pub mod simulate;
mod target;
mod work;

pub use target::Target;

use crate::analysis::{Distance, Visits};
use crate::diagnostic::Result;
use crate::ir::{Kernel, Memory, Node, Widths};
use search::Scheduler;
use work::Work;

/// Cycles of one iteration.
const MAX_DEPTH: u32 = 4096;
/// Cycles from iteration to iteration.
const MAX_INTERVAL: u32 = 4096;
/// Idle cycles between two runs of the innermost loop.
const MAX_GAP: u32 = 4096;
/// Cycles from the request of a memory to its data: the registers at the ports, and the memory.
pub(crate) const MEMORY_CYCLES: u32 = 2;
/// The least number of later cycles that are tried for an access.
const MOVES: u32 = 64;
/// Steps of the searches for the schedules of all kernels.
const EFFORT: u64 = 1 << 25;
/// Steps of the searches for the schedule of one kernel.
const KERNEL_EFFORT: u64 = 1 << 22;

/// The bank and the row of each access, as nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The bank.
    pub bank: Node,
    /// The row in the bank.
    pub row: Node,
}

/// A schedule of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Cycles from iteration to iteration.
    pub interval: u32,
    /// Idle cycles after each run of the innermost loop.
    pub gap: u32,
    /// The cycle in which a node has its value, and the time in that cycle in ns; by node.
    pub nodes: Vec<(u32, f64)>,
    /// The cycle of the request; by access. The data of a read arrives two cycles later from a memory, one cycle later from a
    /// table or a stream, and in the same cycle from registers.
    pub accesses: Vec<u32>,
    /// The port of its bank that an access uses; by access. It can be 1 only if a bank has two ports of any kind.
    pub ports: Vec<u8>,
    /// Cycles of an iteration.
    pub depth: u32,
    /// The least interval that ports allow, and that dependences allow.
    pub bounds: (u32, u32),
    /// Whether it is proven that no shorter interval ends the run earlier with an iteration at most twice as long.
    pub proven: bool,
}

impl Schedule {
    /// The cycle in which an iteration begins.
    #[must_use]
    pub fn start(&self, kernel: &Kernel, iteration: usize) -> u64 {
        let innermost = kernel.loops.last().map_or(1, |one| one.trips.max(1));
        u64::from(self.interval) * iteration as u64 + u64::from(self.gap) * (iteration / innermost) as u64
    }

    /// Cycles from the beginning of the first iteration to the last write.
    #[must_use]
    pub fn cycles(&self, kernel: &Kernel) -> u64 {
        self.start(kernel, kernel.iterations() - 1) + u64::from(self.depth)
    }
}

/// Makes a schedule of one of `kernels` kernels, which share the effort of the searches.
#[expect(clippy::too_many_arguments, reason = "what analysis found")]
pub(crate) fn schedule(
    kernel: &Kernel,
    addresses: &[Address],
    memories: &[Memory],
    visits: &Visits,
    distances: &[Distance],
    widths: &Widths,
    target: &Target,
    kernels: usize,
) -> Result<Schedule> {
    let work = Work::new(kernel, addresses, memories, visits, distances, widths, target);
    let effort = (EFFORT / kernels.max(1) as u64).min(KERNEL_EFFORT);
    Scheduler::new(work, effort).schedule()
}
