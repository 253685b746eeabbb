//! Operators and registers of a kernel, counted.

use serde::{Deserialize, Serialize};

use crate::analysis::is_registers;
use crate::compile::Scheduled;
use crate::emit::{is_by_tiles, registers_of_tiles};
use crate::ir::{Memory, Node, Op, Role, bits};
use crate::lifetimes::Lifetimes;
use crate::sharing::Unit;

/// Operators and registers. Each operation of a kernel is an operator, except products that share a multiplier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hardware {
    /// The products of two values, by size.
    pub multipliers: Vec<Multiplier>,
    /// Products with a constant.
    pub constant_products: u64,
    /// The bits of the additions that products with constants need: one for each bit 1 of the constant but the first.
    pub constant_product_bits: u64,
    /// Additions and subtractions.
    pub adders: u64,
    /// Their bits.
    pub adder_bits: u64,
    /// Comparisons.
    pub comparators: u64,
    /// The bits of their operands.
    pub comparator_bits: u64,
    /// Selections between two values.
    pub selections: u64,
    /// Their bits.
    pub selection_bits: u64,
    /// The bits of AND, OR and XOR.
    pub logic_bits: u64,
    /// The bits of shifts by a distance that is not constant, times the bits of the distance.
    pub shifter_bits: u64,
    /// Registers.
    pub registers: Registers,
    /// The bits of `registers.delays` that are in chains of fewer than three registers between two uses.
    pub short_delay_bits: u64,
    /// The bits of values that wait three cycles or more for a use: each is a shift register.
    pub shift_register_bits: u64,
}

/// Registers from which on a chain without a use in between is a shift register.
const SHIFT_REGISTER: u32 = 3;

/// Multipliers of one size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Multiplier {
    /// The bits of the wider operand.
    pub wider_bits: u32,
    /// The bits of the narrower operand.
    pub narrower_bits: u32,
    /// The cycles of a product.
    pub cycles: u32,
    /// The number of these multipliers.
    pub count: u64,
}

/// Bits of registers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registers {
    /// Values that are used later than in the cycle in which they are present.
    pub delays: u64,
    /// Inside of multipliers, and at the operands of wide ones; without those of their tiles.
    pub multipliers: u64,
    /// At the outputs of tables.
    pub tables: u64,
    /// Counters of loops, and the bits that mark the valid cycles of an iteration.
    pub control: u64,
    /// Arrays that are built of registers; counted for the whole design.
    pub arrays: u64,
}

impl Registers {
    /// All registers.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.delays + self.multipliers + self.tables + self.control + self.arrays
    }
}

/// The bits of an array that is built of registers.
pub(super) fn array_bits(memory: &Memory) -> u64 {
    let is_array = is_registers(memory);
    if is_array { memory.len() as u64 * u64::from(memory.bits()) } else { 0 }
}

/// The registers of a product, in bits.
fn registers(factors: [(u32, bool); 2], bits: u32, cycles: u32) -> u64 {
    let by_tiles = is_by_tiles(factors, cycles);
    u64::from(if by_tiles { registers_of_tiles(factors, bits, cycles) } else { cycles * bits })
}

impl Hardware {
    /// The hardware of a kernel.
    pub(super) fn of(scheduled: &Scheduled, memories: &[Memory], lifetimes: &Lifetimes) -> Self {
        let (kernel, schedule) = (&scheduled.kernel, &scheduled.schedule);
        let graph = &kernel.graph;
        let mut this = Self::default();
        for node in lifetimes.nodes() {
            let own = u64::from(scheduled.widths.get(graph, node).0);
            let is_shared = scheduled.sharing.unit(node).is_some();
            if !is_shared {
                this.operator(scheduled, node, own);
            }
            let cycle = schedule.nodes[node.index()].0;
            let late = lifetimes.last(node).map_or(0, |last| last.saturating_sub(cycle));
            this.registers.delays += u64::from(late) * own;
            this.delay(lifetimes.waits(node, cycle), own);
            if matches!(graph.get(node).op, Op::Loop(_)) {
                this.registers.control += own;
            }
        }
        scheduled.sharing.units.iter().for_each(|unit| this.shared(unit));
        for access in kernel.accesses.iter().filter(|access| access.written.is_none()) {
            let memory = &memories[access.memory];
            if matches!(memory.role, Role::Table(_)) {
                this.registers.tables += u64::from(memory.bits());
            }
        }
        // A bit for each cycle of an iteration but the first, one for the end, and the wait between iterations.
        let wait = schedule.interval.saturating_sub(1) + schedule.gap;
        let wait_bits = if wait == 0 { 0 } else { bits((0, wait.into())) };
        this.registers.control += u64::from(schedule.depth) + u64::from(wait_bits);
        this.multipliers.sort();
        this
    }

    /// The chains of registers of a value.
    fn delay(&mut self, waits: impl Iterator<Item = u32>, own: u64) {
        for wait in waits {
            if wait < SHIFT_REGISTER {
                self.short_delay_bits += u64::from(wait) * own;
            } else {
                self.shift_register_bits += own;
            }
        }
    }

    fn operator(&mut self, scheduled: &Scheduled, node: Node, own: u64) {
        let graph = &scheduled.kernel.graph;
        let of = |node: Node| u64::from(scheduled.widths.get(graph, node).0);
        match graph.get(node).op {
            Op::Const(_) | Op::Loop(_) | Op::Read(_) => {}
            Op::Add(..) | Op::Sub(..) => {
                self.adders += 1;
                self.adder_bits += own;
            }
            Op::Lt(a, b) | Op::Eq(a, b) => {
                self.comparators += 1;
                self.comparator_bits += of(a).max(of(b));
            }
            Op::Select(..) => {
                self.selections += 1;
                self.selection_bits += own;
            }
            Op::And(..) | Op::Or(..) | Op::Xor(..) => self.logic_bits += own,
            Op::Shl(_, by) | Op::Shr(_, by) => {
                if graph.constant(by).is_none() {
                    self.shifter_bits += own * of(by);
                }
            }
            Op::Mul(a, b) => {
                let (factors, cycles) =
                    (scheduled.widths.factors(graph, node, [a, b]), scheduled.registers[node.index()]);
                match graph.constant(b) {
                    Some(factor) => {
                        self.constant_products += 1;
                        let additions = factor.unsigned_abs().count_ones().saturating_sub(1);
                        self.constant_product_bits += u64::from(additions) * own;
                        self.registers.multipliers += registers(factors, own as u32, cycles);
                    }
                    None => self.multiplier(factors, own as u32, cycles),
                }
            }
            // No kernel of a design has divisions.
            Op::Div(..) | Op::Rem(..) => {}
        }
    }

    /// A shared multiplier, and the selections in front of it.
    fn shared(&mut self, unit: &Unit) {
        let [a, b] = unit.operands.map(|(bits, _)| bits);
        self.multiplier(unit.operands, unit.bits, unit.cycles);
        let selections = unit.products.len() as u64 - 1;
        self.selections += 2 * selections;
        self.selection_bits += selections * u64::from(a + b);
    }

    /// A multiplier with its registers.
    fn multiplier(&mut self, factors: [(u32, bool); 2], bits: u32, cycles: u32) {
        let [a, b] = factors.map(|(bits, _)| bits);
        self.multiply(Multiplier { wider_bits: a.max(b), narrower_bits: a.min(b), cycles, count: 1 });
        self.registers.multipliers += registers(factors, bits, cycles);
    }

    fn multiply(&mut self, given: Multiplier) {
        let same = |one: &&mut Multiplier| {
            (one.wider_bits, one.narrower_bits, one.cycles) == (given.wider_bits, given.narrower_bits, given.cycles)
        };
        match self.multipliers.iter_mut().find(same) {
            Some(known) => known.count += given.count,
            None => self.multipliers.push(given),
        }
    }

    /// The hardware of two kernels together.
    pub(super) fn plus(mut self, other: &Self) -> Self {
        other.multipliers.iter().for_each(|one| self.multiply(one.clone()));
        self.multipliers.sort();
        self.constant_products += other.constant_products;
        self.constant_product_bits += other.constant_product_bits;
        self.adders += other.adders;
        self.adder_bits += other.adder_bits;
        self.comparators += other.comparators;
        self.comparator_bits += other.comparator_bits;
        self.selections += other.selections;
        self.selection_bits += other.selection_bits;
        self.logic_bits += other.logic_bits;
        self.shifter_bits += other.shifter_bits;
        self.short_delay_bits += other.short_delay_bits;
        self.shift_register_bits += other.shift_register_bits;
        let (all, one) = (&mut self.registers, &other.registers);
        all.delays += one.delays;
        all.multipliers += one.multipliers;
        all.tables += one.tables;
        all.control += one.control;
        all.arrays += one.arrays;
        self
    }

    /// The number of multipliers of all sizes.
    #[must_use]
    pub fn multiplier_count(&self) -> u64 {
        self.multipliers.iter().map(|one| one.count).sum()
    }
}
