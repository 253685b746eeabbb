//! An estimate of the resources of a design, for comparisons of designs before synthesis.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::hardware::Hardware;
use crate::analysis::{Layout, Visits, is_block, is_registers};
use crate::compile::Design;
use crate::ir::{Memory, Role, bits};
use crate::pragma::Ports;

/// Bits of the operands of a multiplier.
const MULTIPLIER_BITS: (u32, u32) = (26, 17);
/// Rows of a table that a LUT of six inputs holds.
const LUT_ROWS: usize = 64;
/// LUTs of a memory of 64 rows and seven bits.
const LUT_MEMORY: (u64, u64) = (8, 7);
/// Bits of a block memory.
const BLOCK_BITS: u64 = 18 * 1024;
/// LUTs for the bits of operators: fitted to mapped designs, as a LUT of six inputs absorbs parts of its neighbours.
const OPERATORS: (u64, u64) = (2, 3);

/// An estimate of the resources of a module with its memories, for UltraScale+ after the mapping of Yosys.
///
/// It is a sum over the operators of the design, made before any optimisation by synthesis. It orders designs; it does
/// not replace a synthesis run.
///
/// - `luts`: two for every three bits of adders, selections, comparisons and shifts (for each bit of the distance), of
///   additions in products with constants, and of triples of bits of AND, OR and XOR. A read that can reach `b` banks needs
///   `⌈2(b − 1)/3⌉` for each bit, and a bank that `a` accesses can reach the same with `a`, for each bit of its address and
///   its written data. Each read of a table of at most 512 rows needs `⌈rows/64⌉` for each bit. A bank of at most 256 rows
///   with a port to read and a port to write needs 8/7 of that. A bit that waits three cycles or more for its use is a shift
///   register, in one LUT.
/// - `dsps`: for each product of two values, the least number of tiles of 26 × 17 bits.
/// - `registers`: the bits of all registers but those in shift registers and multipliers. Each port of a bank has registers
///   for its address and its written data, and a block memory has registers for its read data.
/// - `block_memories`: for each other bank, and each read of a larger table, its bits over 18 Kbit, rounded up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// The kind of the figures: `estimate`.
    pub kind: String,
    /// LUTs of six inputs.
    pub luts: u64,
    /// Multipliers.
    pub dsps: u64,
    /// Registers of one bit.
    pub registers: u64,
    /// Block memories.
    pub block_memories: u64,
}

/// LUTs that select one of several bits.
fn selection(inputs: usize) -> u64 {
    (2 * (inputs as u64).saturating_sub(1)).div_ceil(3)
}

/// The least number of multipliers of a product.
fn tiles(wider: u32, narrower: u32) -> u64 {
    let (long, short) = MULTIPLIER_BITS;
    let of = |a: u32, b: u32| u64::from(a.div_ceil(long)) * u64::from(b.div_ceil(short));
    of(wider, narrower).min(of(narrower, wider))
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
        let registers = &hardware.registers;
        let mut this = Self {
            kind: "estimate".to_owned(),
            luts: (OPERATORS.0 * operators).div_ceil(OPERATORS.1) + hardware.shift_register_bits,
            dsps: hardware.multipliers.iter().map(|one| one.count * tiles(one.wider_bits, one.narrower_bits)).sum(),
            registers: hardware.short_delay_bits + registers.tables + registers.control + registers.arrays,
            block_memories: 0,
        };
        for (number, memory) in design.program.memories.iter().enumerate() {
            this.memory(design, number, memory);
        }
        this
    }

    /// Adds a memory, and the logic around it.
    fn memory(&mut self, design: &Design, number: usize, memory: &Memory) {
        let (layout, element) = (Layout::of(memory), u64::from(memory.bits()));
        let reached = Reached::of(design, number, layout.banks);
        if matches!(memory.role, Role::Table(_)) {
            self.table(memory, element, reached.reads.len() as u64);
            return;
        }
        self.luts += reached.reads.iter().map(|banks| element * selection(banks.len())).sum::<u64>();
        let row = u64::from(bits((0, layout.depth as i128 - 1)));
        let is_stored = !is_registers(memory);
        for bank in 0..layout.banks {
            let (reads, writes) = reached.accesses(bank);
            self.luts += element * selection(writes);
            if is_stored {
                self.luts += row * (selection(reads) + selection(writes));
            }
        }
        if is_stored && memory.mode.is_none() {
            self.banks(memory, &layout, row, element);
        }
    }

    /// Adds a table, of which each read has a copy.
    fn table(&mut self, memory: &Memory, element: u64, reads: u64) {
        let rows = memory.len();
        if is_block(memory) {
            self.block_memories += reads * (rows as u64 * element).div_ceil(BLOCK_BITS);
        } else {
            self.luts += reads * element * rows.div_ceil(LUT_ROWS) as u64;
        }
    }

    /// Adds the banks of a memory in the module, and the registers at their ports.
    fn banks(&mut self, memory: &Memory, layout: &Layout, row: u64, element: u64) {
        let (banks, rows) = (layout.banks as u64, layout.depth);
        let two_of_any = memory.ports == Ports::TwoOfAny;
        let port = if two_of_any { 2 * (row + element + 2) } else { 2 * (row + 1) + element };
        self.registers += banks * port;
        if is_block(memory) {
            self.registers += banks * element * if two_of_any { 2 } else { 1 };
            self.block_memories += banks * (rows as u64 * element).div_ceil(BLOCK_BITS);
        } else {
            let (luts, of) = LUT_MEMORY;
            self.luts += banks * (luts * element * rows.div_ceil(LUT_ROWS) as u64).div_ceil(of);
        }
    }
}

/// The banks that an access reaches; all of them if its index depends on data.
fn visited(visits: &Visits, access: usize, iterations: usize, banks: usize) -> BTreeSet<usize> {
    let of_iterations = (0..iterations).filter_map(|iteration| visits.get(access, iteration));
    let known: Option<BTreeSet<usize>> = of_iterations.map(|visit| visit.bank).collect();
    known.unwrap_or_else(|| (0..banks).collect())
}

/// The banks of a memory that each access can reach.
struct Reached {
    reads: Vec<BTreeSet<usize>>,
    writes: Vec<BTreeSet<usize>>,
}

impl Reached {
    fn of(design: &Design, number: usize, banks: usize) -> Self {
        let mut this = Self { reads: Vec::new(), writes: Vec::new() };
        for one in design.kernels.iter().map(|one| &one.kernel) {
            // Evaluation takes as long as the iterations are many, so kernels without the memory are left out.
            if one.accesses.iter().all(|access| access.memory != number) {
                continue;
            }
            let visits = Visits::of(one, &design.program.memories);
            for (index, access) in one.accesses.iter().enumerate().filter(|(_, one)| one.memory == number) {
                let those = visited(&visits, index, one.iterations(), banks);
                if access.written.is_some() { this.writes.push(those) } else { this.reads.push(those) }
            }
        }
        this
    }

    /// The number of reads and of writes that can reach a bank.
    fn accesses(&self, bank: usize) -> (usize, usize) {
        let count = |all: &[BTreeSet<usize>]| all.iter().filter(|banks| banks.contains(&bank)).count();
        (count(&self.reads), count(&self.writes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::report::Report;
    use crate::schedule::Target;

    fn estimate(text: &str) -> Estimate {
        let (source, target) = (Source::new("f.c", text), Target::ecp5(100.0));
        let design = source.compile(&[], "f", &target).unwrap_or_else(|error| panic!("{error}"));
        Report::of(&design, &source, &[], &target).estimate
    }

    #[test]
    fn products_are_cut_along_their_better_side() {
        assert_eq!(tiles(12, 12), 1);
        assert_eq!((tiles(26, 17), tiles(27, 17), tiles(26, 18)), (1, 2, 2));
        assert_eq!((tiles(30, 30), tiles(23, 23)), (4, 2));
    }

    #[test]
    fn a_selection_of_one_costs_nothing() {
        assert_eq!((selection(0), selection(1), selection(2), selection(4)), (0, 0, 1, 2));
    }

    #[test]
    fn two_ports_of_any_kind_need_block_memories() {
        let body = "for (unsigned i = 0; i < 64; i++) {\n#pragma HLS pipeline\n a[i] = a[i] & 15;\n}}";
        let one = estimate(&format!("void f(unsigned char a[64]) {{\n{body}"));
        let two = estimate(&format!(
            "void f(unsigned char a[64]) {{\n#pragma HLS bind_storage variable=a type=ram_t2p\n{body}"
        ));
        assert_eq!((one.block_memories, two.block_memories), (0, 1));
        assert!(one.luts > two.luts);
    }

    #[test]
    fn an_access_that_stays_in_a_bank_selects_none() {
        let of = |index: &str| {
            estimate(&format!(
                "void f(unsigned char a[4][16], unsigned char b[16]) {{\n#pragma HLS array_partition variable=a complete dim=1\n\
                 for (unsigned i = 0; i < 16; i++) {{\n#pragma HLS pipeline\n b[i] = a[{index}][i];\n}}}}"
            ))
        };
        assert!(of("2").luts < of("i & 3").luts);
    }
}
