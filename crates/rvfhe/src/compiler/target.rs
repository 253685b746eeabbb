//! What the compiler knows of a machine.

use super::CompileError;
use super::layout::Place;

/// Vector registers of a core.
pub(crate) const REGISTERS: usize = 32;
/// Twiddle registers of a core.
pub(crate) const TWIDDLE_REGISTERS: usize = 16;
/// Scalar registers of a core, the one that is zero among them.
pub(crate) const SCALAR_REGISTERS: usize = 32;

/// The times of a butterfly, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Butterfly {
    /// From one to the next: 1 to 16.
    pub interval: u32,
    /// From its issue to that of an instruction which reads its first result: 1 to 64.
    pub latency: u32,
    /// How much later the second result is: 0 to 64.
    pub second: u32,
}

/// The machine that programs are for: sizes, which bind, and latencies in cycles, for which a program is only in good order. Latencies
/// are 1 to 64 if nothing else is said of them. [`compile`](super::compile) refuses what is outside the ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Cores that share one transform: a power of two up to 32.
    pub cores: u32,
    /// Lanes of a core: a power of two from 2 to 32, as tiles have up to 32 rows.
    pub lanes: u32,
    /// Rows of a core's data memory, of one vector each.
    pub data_rows: u32,
    /// Rows of a core's twiddle memory, of one pair of vectors each.
    pub twiddle_rows: u32,
    /// Words of a core's instruction memory.
    pub instructions: u32,
    /// Vectors of the scratchpad.
    pub scratchpad_vectors: u32,
    /// Of butterflies modulo a prime.
    pub butterfly: Butterfly,
    /// Of complex ones.
    pub complex_butterfly: Butterfly,
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
    /// From a copy to another core to a load there, what it usually takes: 1 to 32768, as links may be narrow and ways long.
    pub remote_latency: u32,
    /// Loads that a core can begin in a cycle: 1 to 16.
    pub loads_per_cycle: u32,
    /// Copies that a core can begin in a cycle: 1 to 16.
    pub copies_per_cycle: u32,
    /// Whether a copy takes the cycle of a computation: the core issues one of them at a time.
    pub copies_compete: bool,
    /// Whether computations on a group of rows begin when all of them are there; else each begins when it can.
    pub per_phase: bool,
}

impl Target {
    pub(crate) fn check(&self) -> Result<(), CompileError> {
        let power = |what, given: u32, min, max, wanted| {
            let right = given.is_power_of_two() && (min..=max).contains(&given);
            if right { Ok(()) } else { Err(CompileError::Target { what, given, wanted }) }
        };
        power("number of cores", self.cores, 1, 32, "a power of two from 1 to 32")?;
        power("number of lanes", self.lanes, 2, 32, "a power of two from 2 to 32")?;
        let within = |what, given, min, max, wanted| {
            if (min..=max).contains(&given) { Ok(()) } else { Err(CompileError::Target { what, given, wanted }) }
        };
        for (what, given) in [
            ("latency of butterflies", self.butterfly.latency),
            ("latency of complex butterflies", self.complex_butterfly.latency),
            ("latency of products", self.product_latency),
            ("latency of sums", self.sum_latency),
            ("latency of loads", self.load_latency),
            ("latency of the scratchpad", self.scratchpad_latency),
            ("latency of copies", self.own_latency),
        ] {
            within(what, given, 1, 64, "1 to 64")?;
        }
        within("delay of butterflies' second result", self.butterfly.second, 0, 64, "0 to 64")?;
        within("delay of complex butterflies' second result", self.complex_butterfly.second, 0, 64, "0 to 64")?;
        within("latency of copies to other cores", self.remote_latency, 1, 1 << 15, "1 to 32768")?;
        for (what, given) in [
            ("interval of butterflies", self.butterfly.interval),
            ("interval of complex butterflies", self.complex_butterfly.interval),
            ("number of loads in a cycle", self.loads_per_cycle),
            ("number of copies in a cycle", self.copies_per_cycle),
        ] {
            within(what, given, 1, 16, "1 to 16")?;
        }
        Ok(())
    }

    pub(crate) fn load_latency(&self, from: Place) -> u32 {
        match from {
            Place::Scratchpad(_) => self.scratchpad_latency,
            Place::Region(_) => self.load_latency,
        }
    }

    pub(crate) fn reshuffle_latency(&self, remote: bool) -> u32 {
        if remote { self.remote_latency } else { self.own_latency }
    }

    /// The butterflies of a ring whose numbers take so many vectors.
    pub(crate) fn butterfly(&self, width: u32) -> Butterfly {
        if width == 1 { self.butterfly } else { self.complex_butterfly }
    }
}
