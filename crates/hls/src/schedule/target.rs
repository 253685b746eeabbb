//! The delays of operations.

use crate::ir::{Graph, Node, Op, Widths, bits};

/// Bits of each operand of a multiplier of an ECP5.
pub(crate) const MULTIPLIER_BITS: u32 = 18;

/// A technology and a clock period. All times are in ns.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// The clock period.
    pub period: f64,
    /// The setup time of a register before a clock edge.
    pub setup: f64,
    /// The delay from a clock edge to a register's output.
    pub register_out: f64,
    /// The delay from a clock edge to the data of a block memory.
    pub block_out: f64,
    /// The most rows of a table whose data does not come from a block memory. Larger tables may be of LUTs or of block memories.
    pub table_rows: usize,
    /// The delay of a function of a few bits, with its wire.
    pub lut: f64,
    /// The delay of a carry chain, with its wire, without its bits.
    pub adder: f64,
    /// The delay of each bit of a carry chain.
    pub carry: f64,
    /// The delay of the wires to the banks of a memory, for each doubling of their number over four.
    pub spread: f64,
    /// Bits of each operand of a multiplier.
    pub multiplier_bits: u32,
    /// Cycles of a product that fits into one multiplier.
    pub multiplier_cycles: u32,
    /// Signed digits of a constant up to which a product by it is a sum of shifted copies, and not a multiplier.
    pub constant_digits: u32,
}

impl Target {
    /// A Lattice ECP5-85 of speed grade 6 at a clock of `mhz` MHz.
    ///
    /// The figures are those of the longest paths that nextpnr places. A function of four bits takes 0.24 ns, and its wire 0.9 to
    /// 1.5 ns. A carry chain takes 0.45 ns in, 0.44 ns out, 0.07 ns for two bits, and such a wire. The wires of a selection among
    /// 16 banks take 3 ns more than those of two functions in sequence.
    #[must_use]
    pub fn ecp5(mhz: f64) -> Self {
        Self {
            name: "ecp5".to_owned(),
            period: 1000.0 / mhz,
            setup: 0.1,
            register_out: 0.6,
            block_out: 5.8,
            table_rows: 256,
            lut: 1.5,
            adder: 2.2,
            carry: 0.05,
            spread: 1.4,
            multiplier_bits: MULTIPLIER_BITS,
            multiplier_cycles: 2,
            constant_digits: 8,
        }
    }

    /// The delay of a selection among `values` values.
    pub(crate) fn choice(&self, values: usize) -> f64 {
        // A level of functions of four bits selects one of two, two levels with their wires among four.
        self.lut * f64::from(values.max(1).next_power_of_two().ilog2().div_ceil(2))
    }

    /// The delay of a selection among `banks` banks. The more banks there are, the longer are the wires to them.
    pub(crate) fn selection(&self, banks: usize) -> f64 {
        let doublings = f64::from((banks.next_power_of_two().ilog2()).saturating_sub(2));
        let delay = self.choice(banks) + self.spread * doublings;
        // A longer selection would need a register inside.
        delay.min(self.period - self.setup - self.register_out)
    }

    /// The delay of a node's operation, and the cycles after which its registers have the result; 0 cycles if it has none.
    pub(crate) fn operation(&self, graph: &Graph, widths: &Widths, node: Node) -> (f64, u32) {
        let width = |node: Node| widths.get(graph, node).0.max(1);
        let adder = |bits: u32| self.adder + self.carry * f64::from(bits);
        let is_constant = |a: Node, b: Node| graph.constant(a).is_some() || graph.constant(b).is_some();
        let data = graph.get(node);
        match data.op {
            Op::Const(_) | Op::Loop(_) | Op::Read(_) => (0.0, 0),
            Op::Add(..) | Op::Sub(..) => (adder(width(node)), 0),
            // The negation of a bit is part of the function that uses it.
            Op::Eq(a, b) if width(a).max(width(b)) == 1 && is_constant(a, b) => (0.0, 0),
            Op::Lt(a, b) | Op::Eq(a, b) => (adder(width(a).max(width(b))), 0),
            // A constant selects wires.
            Op::And(a, b) | Op::Or(a, b) if is_constant(a, b) => (0.0, 0),
            Op::And(..) | Op::Or(..) | Op::Xor(..) | Op::Select(..) => (self.lut, 0),
            Op::Shl(_, by) | Op::Shr(_, by) => {
                if graph.constant(by).is_some() {
                    (0.0, 0)
                } else {
                    (self.lut * f64::from(bits(graph.range(by))), 0)
                }
            }
            Op::Mul(a, b) => {
                let [a, b] = widths.factors(graph, node, [a, b]).map(|(bits, _)| bits.max(1));
                let tiles = a.div_ceil(self.multiplier_bits).max(b.div_ceil(self.multiplier_bits));
                (0.0, self.multiplier_cycles + tiles.ilog2() * 2)
            }
            // Divisions have been expanded.
            Op::Div(..) | Op::Rem(..) => (adder(width(node)) * 4.0, 0),
        }
    }
}
