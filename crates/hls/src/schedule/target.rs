//! The delays of operations.

use crate::ir::{Graph, Node, Op, Widths, bits};

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
    /// The delay of a function of a few bits, with its wire.
    pub lut: f64,
    /// The delay of each bit of a carry chain.
    pub carry: f64,
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
    /// The figures are a first guess, which placed units replace.
    #[must_use]
    pub fn ecp5(mhz: f64) -> Self {
        Self {
            name: "ecp5".to_owned(),
            period: 1000.0 / mhz,
            setup: 0.1,
            register_out: 0.6,
            lut: 1.25,
            carry: 0.06,
            multiplier_bits: 18,
            multiplier_cycles: 2,
            constant_digits: 8,
        }
    }

    /// The delay of a selection among `values` values.
    pub(crate) fn choice(&self, values: usize) -> f64 {
        // A level of functions of four bits selects one of two, two levels with their wires among four.
        self.lut * f64::from(values.max(1).next_power_of_two().ilog2().div_ceil(2))
    }

    /// The delay of a node's operation, and the cycles after which its registers have the result; 0 cycles if it has none.
    pub(crate) fn operation(&self, graph: &Graph, widths: &Widths, node: Node) -> (f64, u32) {
        let width = |node: Node| widths.get(graph, node).0.max(1);
        let adder = |bits: u32| self.lut + self.carry * f64::from(bits);
        let data = graph.get(node);
        match data.op {
            Op::Const(_) | Op::Loop(_) | Op::Read(_) => (0.0, 0),
            Op::Add(..) | Op::Sub(..) => (adder(width(node)), 0),
            Op::Lt(a, b) | Op::Eq(a, b) => (adder(width(a).max(width(b))), 0),
            Op::And(..) | Op::Or(..) | Op::Xor(..) | Op::Select(..) => (self.lut, 0),
            Op::Shl(_, by) | Op::Shr(_, by) => {
                if graph.constant(by).is_some() {
                    (0.0, 0)
                } else {
                    (self.lut * f64::from(bits(graph.range(by))), 0)
                }
            }
            Op::Mul(a, b) => {
                let tiles = width(a).div_ceil(self.multiplier_bits).max(width(b).div_ceil(self.multiplier_bits));
                (0.0, self.multiplier_cycles + tiles.ilog2() * 2)
            }
            // Divisions have been expanded.
            Op::Div(..) | Op::Rem(..) => (adder(width(node)) * 4.0, 0),
        }
    }
}
