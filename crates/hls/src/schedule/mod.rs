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
mod effort;
mod exact;
mod greedy;
mod limits;
mod model;
mod modulo;
mod ports;
pub mod problem;
mod search;
pub mod simulate;
mod target;
mod types;
mod work;

pub(crate) use target::MULTIPLIER_BITS;
pub use target::Target;
pub use types::{Address, Schedule};

use crate::analysis::{Distance, Visits};
use crate::diagnostic::Result;
use crate::ir::{Kernel, Memory, Widths};
use effort::Effort;
use limits::{EFFORT, KERNEL_EFFORT, PLACEMENT, ROUNDS};
use search::Scheduler;
use work::Work;

/// Makes a schedule of one of `kernels` kernels, which share the effort.
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
    let kernels = kernels.max(1) as u64;
    let effort = (EFFORT / kernels).min(KERNEL_EFFORT);
    let placement = Effort::new(PLACEMENT / kernels + ROUNDS * work.size());
    Scheduler::new(work, effort, placement, kernels).schedule()
}
