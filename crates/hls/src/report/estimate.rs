//! An estimate of the resources of a design, for comparisons of designs before synthesis.

use serde::{Deserialize, Serialize};

use super::hardware::Hardware;
use crate::analysis::{Layout, is_registers};
use crate::compile::Design;
use crate::ir::{Memory, Role, bits};

/// Bits of each operand of a multiplier of the estimate.
const MULTIPLIER_BITS: u32 = 18;
/// Words that a LUT memory holds without a selection.
const LUT_WORDS: usize = 16;
/// Rows up to which a memory of the module is built of LUTs.
const LUT_MEMORY_ROWS: usize = 64;
/// Bits of a block memory.
const BLOCK_BITS: u64 = 18 * 1024;

/// An estimate of the resources in LUTs of four inputs, multipliers of 18 × 18 bits and block memories of 18 Kbit.
///
/// It is a sum over the operators of the design, made before any optimisation by synthesis. It orders designs; it does
/// not replace a synthesis run.
///
/// - `luts`: one for each bit of an adder, a selection or a comparison, and for every three bits of AND, OR and XOR. A
///   product with a constant has one for each bit of each of its additions. A shift has one for each bit and stage. To
///   read from one of `b` banks needs `⌈2(b − 1)/3⌉` for each bit. To reach a bank from `a` accesses needs the same with
///   `a`, for each bit of its address and of its written data. Each read of a table needs `⌈rows/16⌉` for each bit, and
///   so does each bank of a memory of the module with at most 64 rows.
/// - `dsps`: for each product of two values, `⌈wider/18⌉ · ⌈narrower/18⌉`.
/// - `registers`: the bits of all registers that the module has.
/// - `block_memories`: for each bank of a memory of the module with more than 64 rows, its bits over 18 Kbit, rounded
///   up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// The kind of the figures: `estimate`.
    pub kind: String,
    /// LUTs of four inputs.
    pub luts: u64,
    /// Multipliers.
    pub dsps: u64,
    /// Registers of one bit.
    pub registers: u64,
    /// Block memories.
    pub block_memories: u64,
}

/// LUTs of four inputs that select one of several bits.
fn selection(inputs: usize) -> u64 {
    (2 * (inputs as u64).saturating_sub(1)).div_ceil(3)
}

impl Estimate {
    /// The estimate of a design with this hardware.
    pub(super) fn of(design: &Design, hardware: &Hardware) -> Self {
        let operators = hardware.adder_bits
            + hardware.selection_bits
            + hardware.constant_product_bits
            + hardware.shifter_bits
            + hardware.comparator_bits
            + hardware.logic_bits.div_ceil(3);
        let memories = design.program.memories.iter().enumerate();
        let (luts, block_memories) = memories
            .map(|(number, memory)| self::memory(design, number, memory))
            .fold((operators, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let tiles = |bits: u32| u64::from(bits.div_ceil(MULTIPLIER_BITS));
        let dsps = hardware.multipliers.iter().map(|one| one.count * tiles(one.wider_bits) * tiles(one.narrower_bits));
        Self {
            kind: "estimate".to_owned(),
            luts,
            dsps: dsps.sum(),
            registers: hardware.registers.total(),
            block_memories,
        }
    }
}

/// LUTs around and in a memory, and its block memories.
fn memory(design: &Design, number: usize, memory: &Memory) -> (u64, u64) {
    let layout = Layout::of(memory);
    let element = u64::from(memory.bits());
    let accesses = |writes: bool| {
        let of_kernel = design.kernels.iter().flat_map(|one| &one.kernel.accesses);
        of_kernel.filter(|access| access.memory == number && access.written.is_some() == writes).count()
    };
    let (reads, writes) = (accesses(false), accesses(true));
    if matches!(memory.role, Role::Table(_)) {
        return (reads as u64 * element * memory.len().div_ceil(LUT_WORDS) as u64, 0);
    }
    let from_banks = reads as u64 * element * selection(layout.banks);
    let banks = layout.banks as u64;
    if is_registers(memory) {
        return (from_banks + banks * element * selection(writes), 0);
    }
    let row = u64::from(bits((0, layout.depth as i128 - 1)));
    let to_banks = banks * (row * (selection(reads) + selection(writes)) + element * selection(writes));
    let outside = memory.role == Role::Parameter;
    let (luts, blocks) = match (outside, layout.depth <= LUT_MEMORY_ROWS) {
        (true, _) => (0, 0),
        (false, true) => (banks * element * layout.depth.div_ceil(LUT_WORDS) as u64, 0),
        (false, false) => (0, banks * (layout.depth as u64 * element).div_ceil(BLOCK_BITS)),
    };
    (from_banks + to_banks + luts, blocks)
}
