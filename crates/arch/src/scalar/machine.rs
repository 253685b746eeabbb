//! Scalar core descriptions: a TOML file supplies every latency of the timing model.

use serde::Deserialize;

use crate::description;

/// An invalid description.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// Not TOML, or with unknown or missing keys.
    #[error("the machine description does not parse: {0}")]
    Parse(String),
    /// A value out of range.
    #[error("{key} is {given}; use {allowed}")]
    Range {
        /// The table and key.
        key: &'static str,
        /// The given value.
        given: u64,
        /// The allowed values, in words.
        allowed: &'static str,
    },
}

/// A scalar core: five stages, in order, at most one instruction per cycle. Latencies are in cycles, from the execute
/// stage of an instruction to that of an instruction that uses the result; 1 means no delay.
///
/// # Example
/// ```
/// use ciphermill_arch::scalar::ScalarMachine;
///
/// let text = ScalarMachine::ROCKET.replace("early_out = true", "early_out = false");
/// assert!(!ScalarMachine::from_toml(&text)?.divider.early_out);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScalarMachine {
    /// The name.
    pub name: String,
    /// The clock in MHz.
    pub clock_mhz: u32,
    /// Latencies of loads and CSR accesses.
    pub pipeline: Pipeline,
    /// The iterative multiplier.
    pub multiplier: Multiplier,
    /// The iterative divider. It shares its unit with the multiplier: only one operation at a time.
    pub divider: Divider,
    /// Branch prediction.
    pub branch: Branch,
    /// The instruction cache.
    pub icache: InstructionCache,
    /// The data cache: write-back, blocking.
    pub dcache: DataCache,
    /// The second-level cache.
    pub l2: L2,
    /// The memory beyond the L2.
    pub memory: Memory,
    /// The RVFHE units.
    pub rvfhe: Rvfhe,
}

/// Latencies of loads and CSR accesses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipeline {
    /// Loads of words and doublewords, on a hit.
    pub load_word: u32,
    /// Loads of bytes and halfwords, on a hit.
    pub load_subword: u32,
    /// Reads of a CSR.
    pub csr_read: u32,
    /// Cycles lost after a write to a CSR.
    pub csr_write_flush: u32,
}

/// The iterative multiplier.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Multiplier {
    /// Bits of the first operand per step: a power of two up to 16.
    pub bits_per_cycle: u32,
    /// Whether a multiplication ends when the rest of the first operand is zero.
    pub early_out: bool,
    /// Latency in addition to the steps, also of the divider.
    pub request_to_use: u32,
}

/// The iterative divider: one quotient bit per step.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Divider {
    /// Whether it skips the leading zeros of the quotient.
    pub early_out: bool,
}

/// Branch prediction: branch target buffer, return-address stack, one-bit history table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Entries of the branch target buffer, fully associative; 0 to 1024.
    pub btb_entries: u32,
    /// Entries of the return-address stack, 0 to 1024.
    pub ras_entries: u32,
    /// Entries of the history table, a power of two from 16 to 2^16.
    pub bht_entries: u32,
    /// Bits of the global history, 1 to 16.
    pub bht_history_bits: u32,
    /// Bits of the hashed history in the index: 1 to `bht_history_bits`, and fewer than the bits of the index.
    pub bht_hashed_bits: u32,
    /// Cycles lost by a misprediction.
    pub mispredict: u32,
    /// Cycles lost by a taken branch or jump that is predicted without an entry in the branch target buffer.
    pub late_target: u32,
}

/// The replacement policy of a full set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replacement {
    /// A random way, from a 16-bit linear-feedback shift register.
    Random,
    /// The least recently used way.
    Lru,
}

/// The instruction cache.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstructionCache {
    /// Sets, a power of two up to 2^16.
    pub sets: u32,
    /// Ways, a power of two up to 64.
    pub ways: u32,
    /// Bytes of a line, a power of two from 16 to 4096.
    pub line_bytes: u32,
    /// The replacement policy.
    pub replacement: Replacement,
    /// Cycles lost by a miss, in addition to the latency of the next level.
    pub miss_overhead: u32,
}

/// The data cache.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataCache {
    /// Sets, a power of two up to 2^16.
    pub sets: u32,
    /// Ways, a power of two up to 64.
    pub ways: u32,
    /// Bytes of a line, a power of two from 16 to 4096.
    pub line_bytes: u32,
    /// The replacement policy.
    pub replacement: Replacement,
    /// Cycles lost by a miss, in addition to the latency of the next level.
    pub miss_overhead: u32,
    /// Bytes of a dirty victim written per cycle.
    pub writeback_bytes_per_cycle: u32,
    /// Additional cycles of a dirty victim.
    pub writeback_overhead: u32,
}

/// The second-level cache.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L2 {
    /// Sets, a power of two up to 2^16.
    pub sets: u32,
    /// Ways, a power of two up to 64.
    pub ways: u32,
    /// Bytes of a line, a power of two from 16 to 4096.
    pub line_bytes: u32,
    /// The replacement policy.
    pub replacement: Replacement,
    /// Cycles from a request to the end of the refill, on a hit.
    pub latency: u32,
}

/// The main memory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Additional latency of a miss in the last cache.
    pub latency: u32,
}

/// The RVFHE units of the core.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rvfhe {
    /// Latency of MMUL, with initiation interval 1.
    pub multiplier: u32,
    /// Latency of MADD and MSUB, with initiation interval 1.
    pub adder: u32,
}

/// The maximum latency, so that no sum of cycles can overflow.
const LATENCY_MAX: u32 = 1 << 16;

impl ScalarMachine {
    /// The committed description of a Rocket core, `machines/rocket.toml`.
    pub const ROCKET: &'static str = include_str!("../../machines/rocket.toml");

    /// Parses and checks a description.
    ///
    /// # Errors
    /// If the text is not TOML of this form, or a value is out of range.
    pub fn from_toml(text: &str) -> Result<Self, MachineError> {
        let machine: Self = description::read(text).map_err(MachineError::Parse)?;
        machine.check()?;
        Ok(machine)
    }

    /// The Rocket core of [`Self::ROCKET`].
    ///
    /// # Errors
    /// None in a build whose tests pass.
    pub fn rocket() -> Result<Self, MachineError> {
        Self::from_toml(Self::ROCKET)
    }

    /// Checks the ranges, because callers can change the `pub` fields.
    pub(super) fn check(&self) -> Result<(), MachineError> {
        let latencies = [
            ("pipeline.load_word", self.pipeline.load_word),
            ("pipeline.load_subword", self.pipeline.load_subword),
            ("pipeline.csr_read", self.pipeline.csr_read),
            ("multiplier.request_to_use", self.multiplier.request_to_use),
            ("rvfhe.multiplier", self.rvfhe.multiplier),
            ("rvfhe.adder", self.rvfhe.adder),
            ("l2.latency", self.l2.latency),
        ];
        for (key, given) in latencies {
            range(key, given, (1..=LATENCY_MAX).contains(&given), "1 to 65536 cycles")?;
        }
        let penalties = [
            ("pipeline.csr_write_flush", self.pipeline.csr_write_flush),
            ("branch.mispredict", self.branch.mispredict),
            ("branch.late_target", self.branch.late_target),
            ("icache.miss_overhead", self.icache.miss_overhead),
            ("dcache.miss_overhead", self.dcache.miss_overhead),
            ("dcache.writeback_overhead", self.dcache.writeback_overhead),
            ("memory.latency", self.memory.latency),
        ];
        for (key, given) in penalties {
            range(key, given, given <= LATENCY_MAX, "0 to 65536 cycles")?;
        }
        range("clock_mhz", self.clock_mhz, (1..=100_000).contains(&self.clock_mhz), "1 to 100000 MHz")?;
        let bits = self.multiplier.bits_per_cycle;
        range("multiplier.bits_per_cycle", bits, bits.is_power_of_two() && bits <= 16, "a power of two from 1 to 16")?;
        let bytes = self.dcache.writeback_bytes_per_cycle;
        range("dcache.writeback_bytes_per_cycle", bytes, (1..=4096).contains(&bytes), "1 to 4096 bytes")?;
        self.check_branch()?;
        let caches = [
            (["icache.sets", "icache.ways", "icache.line_bytes"], self.icache.geometry()),
            (["dcache.sets", "dcache.ways", "dcache.line_bytes"], self.dcache.geometry()),
            (["l2.sets", "l2.ways", "l2.line_bytes"], self.l2.geometry()),
        ];
        for ([sets, ways, line], g) in caches {
            range(sets, g.sets, g.sets.is_power_of_two() && g.sets <= 1 << 16, "a power of two from 1 to 65536")?;
            range(ways, g.ways, g.ways.is_power_of_two() && g.ways <= 64, "a power of two from 1 to 64")?;
            let fits = g.line_bytes.is_power_of_two() && (16..=4096).contains(&g.line_bytes);
            range(line, g.line_bytes, fits, "a power of two from 16 to 4096")?;
        }
        Ok(())
    }

    fn check_branch(&self) -> Result<(), MachineError> {
        let b = &self.branch;
        range("branch.btb_entries", b.btb_entries, b.btb_entries <= 1024, "0 to 1024")?;
        range("branch.ras_entries", b.ras_entries, b.ras_entries <= 1024, "0 to 1024")?;
        let entries = b.bht_entries;
        let fits = entries.is_power_of_two() && (16..=1 << 16).contains(&entries);
        range("branch.bht_entries", entries, fits, "a power of two from 16 to 65536")?;
        range("branch.bht_history_bits", b.bht_history_bits, (1..=16).contains(&b.bht_history_bits), "1 to 16")?;
        let most = b.bht_history_bits.min(entries.trailing_zeros() - 1);
        range(
            "branch.bht_hashed_bits",
            b.bht_hashed_bits,
            (1..=most).contains(&b.bht_hashed_bits),
            "1 to bht_history_bits, and fewer than the bits of an index below bht_entries",
        )
    }
}

fn range(key: &'static str, given: u32, holds: bool, allowed: &'static str) -> Result<(), MachineError> {
    if holds { Ok(()) } else { Err(MachineError::Range { key, given: given.into(), allowed }) }
}

/// The parameters of a [`super::cache::Cache`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub(super) sets: u32,
    pub(super) ways: u32,
    pub(super) line_bytes: u32,
    pub(super) replacement: Replacement,
}

macro_rules! geometry {
    ($($cache:ty),*) => {$(
        impl $cache {
            pub(super) fn geometry(&self) -> Geometry {
                let Self { sets, ways, line_bytes, replacement, .. } = *self;
                Geometry { sets, ways, line_bytes, replacement }
            }
        }
    )*};
}

geometry!(InstructionCache, DataCache, L2);
