//! What cores did: counts of every run, and notes of each event where they are asked for.

use std::iter::Sum;
use std::ops::AddAssign;

/// What became of the cycles of a core's computations, and what else it did.
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
    /// Rows of the data memory that these loads read: of tiles that are read row by row, as many as a tile has.
    pub rows_read: u64,
    /// Vectors loaded from the scratchpad.
    pub scratchpad_loads: u64,
    /// Twiddle registers loaded.
    pub twiddle_loads: u64,
    /// Those of them whose lanes all have the same pair: one pair is read.
    pub twiddle_broadcasts: u64,
    /// Vectors stored in the scratchpad.
    pub scratchpad_stores: u64,
    /// Vectors sent to the core's own memory.
    pub own_copies: u64,
    /// Vectors sent to others.
    pub remote_copies: u64,
    /// Cycles in which there was no computation to do.
    pub no_instruction: u64,
    /// Cycles in which the next computation waited for an operand.
    pub operand: u64,
    /// Cycles in which it waited for a twiddle register.
    pub twiddle: u64,
    /// Cycles in which it waited for an adder or a port.
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

/// Something that a core did or that came to it: all that its lanes see from outside, for comparisons with their RTL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoreEvent {
    /// A computation, a copy or a store came into its queue: it can leave from the next cycle on.
    Fetch {
        /// When.
        cycle: u64,
        /// Its place in the program.
        pc: u32,
    },
    /// A modulus register was set: what leaves a queue in the next cycle has it.
    Modulus {
        /// When.
        cycle: u64,
        /// The register.
        register: u8,
        /// What it is set to.
        value: u32,
    },
    /// A computation, a copy or a store left its queue.
    Issue {
        /// When.
        cycle: u64,
        /// Its place in the program.
        pc: u32,
        /// What a copy or a store carries; none of a computation.
        words: Vec<u32>,
    },
    /// Memory or network took the eldest copy or store that had not been taken.
    Taken {
        /// When: one cycle after its issue at least.
        cycle: u64,
    },
    /// A vector came into a register: an instruction of the next cycle can read it.
    Arrival {
        /// When the first half of a twiddle register came; of a vector the same as `cycle`.
        first: u64,
        /// When: of a twiddle register, the cycle of its second half.
        cycle: u64,
        /// The register; a twiddle register from 32 on.
        register: u8,
        /// The words; of a twiddle register factors, then companions.
        words: Vec<u32>,
    },
}
