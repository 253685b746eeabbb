//! Registers of `engine_ring`, from `hw/rdl/engine_ring.rdl` by `hw/flow/registers.py`: byte offsets,
//! words of windows, masks of fields.

/// Kind of the engine, in letters: byte offset.
pub const ID: u32 = 0x0;
/// Four letters, the first one in the highest byte.
pub const ID_VALUE: u32 = 0xffffffff;

/// Version of the engine's registers and jobs: byte offset.
pub const VERSION: u32 = 0x4;
/// A number.
pub const VERSION_VALUE: u32 = 0xffffffff;

/// Parameters of this instance: byte offset.
pub const PARAMETERS: u32 = 0x8;
/// Their meaning is the engine's.
pub const PARAMETERS_VALUE: u32 = 0xffffffff;

/// Commands: byte offset.
pub const CONTROL: u32 = 0xc;
/// Jobs are fetched while this is set; without it, the jobs in progress finish.
pub const CONTROL_RUN: u32 = 0x1;
/// Drop all jobs and keys, set HEAD, TAIL, RUN, ERROR and the counters to 0; dropped jobs get no status; the Paillier engine overwrites its numbers.
pub const CONTROL_CLEAR: u32 = 0x2;

/// State: byte offset.
pub const STATUS: u32 = 0x10;
/// A job or a clearing is in progress; RING_BASE and RING_SIZE cannot be written.
pub const STATUS_BUSY: u32 = 0x1;
/// A clearing is in progress; every write is refused.
pub const STATUS_CLEARING: u32 = 0x2;
/// Number of jobs in progress.
pub const STATUS_JOBS: u32 = 0xff00;

/// Errors since the last CLEAR; writing 1 to a bit sets it to 0: byte offset.
pub const ERROR: u32 = 0x14;
/// A job ended with a status other than DONE.
pub const ERROR_JOB: u32 = 0x1;
/// A descriptor could not be read.
pub const ERROR_FETCH: u32 = 0x2;
/// A status could not be written.
pub const ERROR_REPORT: u32 = 0x4;

/// Interrupt: byte offset.
pub const IRQ: u32 = 0x18;
/// Raise the interrupt while PENDING is set.
pub const IRQ_ENABLE: u32 = 0x1;
/// HEAD moved; writing 1 sets it to 0.
pub const IRQ_PENDING: u32 = 0x2;

/// Cycles with a job in progress, modulo 2^32, since the last CLEAR: byte offset.
pub const CYCLES: u32 = 0x1c;
/// Cycles.
pub const CYCLES_VALUE: u32 = 0xffffffff;

/// Cycles in which the engine waited for memory, modulo 2^32, since the last CLEAR: byte offset.
pub const STALLS: u32 = 0x20;
/// Cycles.
pub const STALLS_VALUE: u32 = 0xffffffff;

/// Address of the ring, low word; a write sets HEAD and TAIL to 0: byte offset.
pub const RING_BASE: u32 = 0x28;
/// A multiple of 64.
pub const RING_BASE_VALUE: u32 = 0xffffffff;

/// Address of the ring, high word; a write sets HEAD and TAIL to 0: byte offset.
pub const RING_BASE_HIGH: u32 = 0x2c;
/// Zero above the engine's address bits.
pub const RING_BASE_HIGH_VALUE: u32 = 0xffffffff;

/// Descriptors of the ring; a write sets HEAD and TAIL to 0: byte offset.
pub const RING_SIZE: u32 = 0x30;
/// 2 to 65535; the ring holds one job fewer.
pub const RING_SIZE_VALUE: u32 = 0xffff;

/// Index of the first job without a status: byte offset.
pub const HEAD: u32 = 0x34;
/// 0 to RING_SIZE - 1.
pub const HEAD_VALUE: u32 = 0xffff;

/// Index behind the last job: byte offset.
pub const TAIL: u32 = 0x38;
/// 0 to RING_SIZE - 1.
pub const TAIL_VALUE: u32 = 0xffff;
