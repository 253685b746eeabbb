//! Counts of every run, and events of observed cores.

use std::iter::Sum;
use std::ops::AddAssign;

/// The work of a core, and the causes of its cycles without a computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Butterflies of vectors.
    pub butterflies: u64,
    /// Products of vectors.
    pub products: u64,
    /// Sums and differences of vectors.
    pub sums: u64,
    /// Vectors loaded from the data memory.
    pub row_loads: u64,
    /// Rows of the data memory that these loads read. If tiles are read row by row, each tile counts all of its rows.
    pub rows_read: u64,
    /// Vectors loaded from the scratchpad.
    pub scratchpad_loads: u64,
    /// Twiddle registers loaded.
    pub twiddle_loads: u64,
    /// Twiddle loads with the same pair for all lanes, which read one pair.
    pub twiddle_broadcasts: u64,
    /// Vectors stored in the scratchpad.
    pub scratchpad_stores: u64,
    /// Vectors sent to the core's own memory.
    pub own_copies: u64,
    /// Vectors sent to other cores.
    pub remote_copies: u64,
    /// Cycles in which the queue of computations was empty.
    pub no_instruction: u64,
    /// Cycles in which the next computation waited for an operand.
    pub operand: u64,
    /// Cycles in which the next computation waited for a twiddle register.
    pub twiddle: u64,
    /// Cycles in which the next computation waited for an adder or a port.
    pub unit: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        // The pattern names every field, so that the compiler reports a counter that is missing here.
        let Self {
            butterflies,
            products,
            sums,
            row_loads,
            rows_read,
            scratchpad_loads,
            twiddle_loads,
            twiddle_broadcasts,
            scratchpad_stores,
            own_copies,
            remote_copies,
            no_instruction,
            operand,
            twiddle,
            unit,
        } = other;
        self.butterflies += butterflies;
        self.products += products;
        self.sums += sums;
        self.row_loads += row_loads;
        self.rows_read += rows_read;
        self.scratchpad_loads += scratchpad_loads;
        self.twiddle_loads += twiddle_loads;
        self.twiddle_broadcasts += twiddle_broadcasts;
        self.scratchpad_stores += scratchpad_stores;
        self.own_copies += own_copies;
        self.remote_copies += remote_copies;
        self.no_instruction += no_instruction;
        self.operand += operand;
        self.twiddle += twiddle;
        self.unit += unit;
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut total, counts| {
            total += counts;
            total
        })
    }
}

/// An event that the lanes of a core see from outside, for comparison with their RTL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoreEvent {
    /// A computation, copy or store entered its queue. It can issue from the next cycle on.
    Fetch {
        /// The cycle.
        cycle: u64,
        /// The index of the instruction in the program.
        pc: u32,
    },
    /// A modulus register was set. Instructions that issue in the next cycle use the new value.
    Modulus {
        /// The cycle.
        cycle: u64,
        /// The register.
        register: u8,
        /// The new value.
        value: u32,
    },
    /// A computation, copy or store issued.
    Issue {
        /// The cycle.
        cycle: u64,
        /// The index of the instruction in the program.
        pc: u32,
        /// The words of a copy or a store; empty for a computation.
        words: Vec<u32>,
    },
    /// Memory or network took the oldest waiting copy or store.
    Taken {
        /// The cycle, at least one after the issue.
        cycle: u64,
    },
    /// A vector arrived in a register. An instruction of the next cycle can read it.
    Arrival {
        /// The cycle of the first half of a twiddle register; for a vector the same as `cycle`.
        first: u64,
        /// The cycle; for a twiddle register, of its second half.
        cycle: u64,
        /// The number of the register; twiddle registers count from 32.
        register: u8,
        /// The words; for a twiddle register the factors, then the companions.
        words: Vec<u32>,
    },
}
