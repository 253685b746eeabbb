//! What the compiler knows of a machine.

use super::graph::Place;

/// Vector registers of a core.
pub(crate) const REGISTERS: usize = 32;
/// Twiddle registers of a core.
pub(crate) const TWIDDLE_REGISTERS: usize = 16;
/// Scalar registers of a core, the one that is zero among them.
pub(crate) const SCALAR_REGISTERS: usize = 32;

/// The machine that programs are for: sizes, which bind, and latencies in cycles, for which a program is only in good order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Cores that share one transform: a power of two up to 32.
    pub cores: u32,
    /// Lanes of a core: a power of two from 2 to 64.
    pub lanes: u32,
    /// Rows of a core's data memory, of one vector each.
    pub data_rows: u32,
    /// Rows of a core's twiddle memory, of one pair of vectors each.
    pub twiddle_rows: u32,
    /// Words of a core's instruction memory.
    pub instructions: u32,
    /// Vectors of the scratchpad.
    pub scratchpad_vectors: u32,
    /// Cycles from one butterfly to the next: 1 with two adders, 2 with one.
    pub butterfly_interval: u32,
    /// From a butterfly's issue to that of an instruction which reads its sum.
    pub butterfly_latency: u32,
    /// From a product's issue to that of an instruction which reads it.
    pub product_latency: u32,
    /// From a sum's issue to that of an instruction which reads it.
    pub sum_latency: u32,
    /// From a load's issue to that of an instruction which reads the vector.
    pub load_latency: u32,
    /// The same for a load from the scratchpad.
    pub scratchpad_latency: u32,
    /// From a copy to the core's own memory to a load of the row.
    pub own_latency: u32,
    /// From a copy to another core to a load there: what it usually takes.
    pub remote_latency: u32,
    /// Loads that a core can begin in a cycle.
    pub loads_per_cycle: u32,
    /// Copies that a core can begin in a cycle.
    pub copies_per_cycle: u32,
    /// Whether a copy takes the cycle of a computation: the core issues one of them at a time.
    pub copies_compete: bool,
}

impl Target {
    pub(crate) fn load_latency(&self, from: Place) -> u32 {
        match from {
            Place::Scratchpad(_) => self.scratchpad_latency,
            Place::Region(_) => self.load_latency,
        }
    }

    pub(crate) fn passage_latency(&self, remote: bool) -> u32 {
        if remote { self.remote_latency } else { self.own_latency }
    }

    /// Of a butterfly's sum (0) or difference (1).
    pub(crate) fn butterfly_latency(&self, result: u32) -> u32 {
        self.butterfly_latency + result * (self.butterfly_interval - 1)
    }
}
