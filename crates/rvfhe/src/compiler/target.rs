//! The compiler's description of a machine.

use super::CompileError;
use super::layout::Place;

/// Vector registers of a core.
pub(crate) const REGISTERS: usize = 32;
/// Twiddle registers of a core.
pub(crate) const TWIDDLE_REGISTERS: usize = 16;
/// Scalar registers of a core, including the zero register.
pub(crate) const SCALAR_REGISTERS: usize = 32;

/// The times of a butterfly, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Butterfly {
    /// Initiation interval, 1 to 16.
    pub interval: u32,
    /// Latency from the issue to that of an instruction that reads the first result, 1 to 64.
    pub latency: u32,
    /// Additional latency of the second result, 0 to 64.
    pub second: u32,
}

/// The target machine. Sizes are limits; latencies in cycles only affect the schedule. Latencies are 1 to 64 unless
/// noted otherwise. [`compile`](super::compile) rejects values outside the ranges.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let smaller = Target { data_rows: 272, ..target };
/// let large = Transform { polynomial_size: 8192, ..transform };
/// let refused = compile(&smaller, &Task::Transform(large), 1).map(drop).unwrap_err();
/// assert!(matches!(refused, CompileError::DataRows { needed: 288, have: 272, .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Cores that share one transform: a power of two up to 32.
    pub cores: u32,
    /// Lanes of a core: a power of two from 2 to 32, because tiles have up to 32 rows.
    pub lanes: u32,
    /// Rows of a core's data memory, of one vector each.
    pub data_rows: u32,
    /// Rows of a core's twiddle memory, of one pair of vectors each.
    pub twiddle_rows: u32,
    /// Words of a core's instruction memory.
    pub instructions: u32,
    /// Vectors of the scratchpad.
    pub scratchpad_vectors: u32,
    /// Times of butterflies modulo a prime.
    pub butterfly: Butterfly,
    /// Times of complex butterflies.
    pub complex_butterfly: Butterfly,
    /// Latency of a product.
    pub product_latency: u32,
    /// Latency of a sum.
    pub sum_latency: u32,
    /// Latency of a load from the data memory.
    pub load_latency: u32,
    /// Latency of a load from the scratchpad.
    pub scratchpad_latency: u32,
    /// Latency from a copy to the core's own memory to a load of the row.
    pub own_latency: u32,
    /// Typical latency from a copy to another core to a load there: 1 to 32768, because links may be narrow and paths
    /// long.
    pub remote_latency: u32,
    /// Loads per cycle: 1 to 16.
    pub loads_per_cycle: u32,
    /// Copies per cycle: 1 to 16.
    pub copies_per_cycle: u32,
    /// Whether copies compete with computations: the core issues one of them at a time.
    pub copies_compete: bool,
    /// Whether computations on a group of rows start when all rows are available. Otherwise each starts when its
    /// operands are.
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

    /// The times of a butterfly for numbers of `width` vectors.
    pub(crate) fn butterfly(&self, width: u32) -> Butterfly {
        if width == 1 { self.butterfly } else { self.complex_butterfly }
    }
}
