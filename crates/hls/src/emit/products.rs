//! Products that take several cycles.
//!
//! A product that fits into one multiplier is an operation with registers after it. A tool does not move such registers between
//! the multipliers of a wider product and their sum. A wider product is therefore an instance of `prim_mul`, which has
//! registers there.

use std::fmt::Write as _;

use super::vectors::{elements, vector};
use crate::compile::{Design, Scheduled};
use crate::ir::{Memory, Node, Op};
use crate::lifetimes::Lifetimes;
use crate::schedule::MULTIPLIER_BITS;

/// The source of `prim_mul`.
const PRIM_MUL: &str = include_str!("../../../../hw/rtl/prim/prim_mul.sv");

/// The stages of an instance. Of the further cycles of a product, one is that of registers before the instance, near to its
/// multipliers, and the others are those of registers after it.
const STAGES: u32 = 3;

/// The beginning of a product of several cycles.
pub(super) enum First {
    /// The value of an expression.
    Operation(String),
    /// The product of two signals, each with its bits, by several multipliers.
    Tiles([(String, u32); 2]),
}

/// The registers of an instance's operands and of its result: bits. Those inside of `prim_mul` are not counted.
pub(crate) fn registers_of_tiles([a, b]: [(u32, bool); 2], bits: u32, cycles: u32) -> u32 {
    a.0 + b.0 + bits * (cycles - STAGES - 1)
}

impl First {
    /// The registers of a product of this many cycles that come after the operation or the instance.
    fn after(&self, cycles: u32) -> u32 {
        match self {
            Self::Operation(_) => cycles,
            Self::Tiles(_) => cycles - STAGES - 1,
        }
    }

    /// The signal of the product.
    pub(super) fn result(&self, name: &str, cycles: u32) -> String {
        match self.after(cycles) {
            0 => format!("{name}_sum"),
            registers => format!("{name}_p[{}]", registers - 1),
        }
    }

    /// Declares the signals of the product.
    pub(super) fn declare(&self, out: &mut String, name: &str, bits: u32, cycles: u32) {
        if let Self::Tiles([a, b]) = self {
            let _ = writeln!(out, "  logic{} {name}_first;\n  logic{} {name}_second;", vector(a.1), vector(b.1));
            let _ = writeln!(out, "  logic{} {name}_sum;", vector(bits));
        }
        if self.after(cycles) > 0 {
            let _ = writeln!(out, "  logic{}{} {name}_p;", elements(self.after(cycles) as usize), vector(bits));
        }
    }

    /// The product, whose signals are declared. `run` is the signal without which its registers hold their values.
    pub(super) fn write(&self, out: &mut String, name: &str, bits: u32, cycles: u32, run: Option<&str>) {
        if let Self::Tiles([a, b]) = self {
            let _ = writeln!(out, "  prim_mul #(");
            let _ = writeln!(out, "    .AWidth({}), .BWidth({}), .OutWidth({bits}), .Stages({STAGES}),", a.1, b.1);
            let _ = writeln!(out, "    .TileA(TileA), .TileB(TileB)\n  ) {name}_tiles (");
            let _ =
                writeln!(out, "    .clk_i, .en_i({}), .a_i({name}_first), .b_i({name}_second),", run.unwrap_or("1'b1"));
            let _ = writeln!(out, "    .product_o({name}_sum)\n  );");
        }
        let _ = writeln!(out, "  always_ff @(posedge clk_i) begin");
        let run = run.map(|signal| format!("if ({signal}) ")).unwrap_or_default();
        let taken = match self {
            Self::Operation(text) => text.clone(),
            Self::Tiles([a, b]) => {
                let _ = writeln!(out, "    {run}{name}_first <= {};\n    {run}{name}_second <= {};", a.0, b.0);
                format!("{name}_sum")
            }
        };
        for stage in 0..self.after(cycles) {
            let before = if stage == 0 { taken.clone() } else { format!("{name}_p[{}]", stage - 1) };
            let _ = writeln!(out, "    {run}{name}_p[{stage}] <= {before};");
        }
        let _ = writeln!(out, "  end");
    }
}

/// Whether a product needs several multipliers: an operand is wider than one, and none has a sign. The widths are the bits of
/// the operands, and whether the highest one is a sign.
pub(crate) fn is_by_tiles(widths: [(u32, bool); 2], cycles: u32) -> bool {
    cycles > STAGES
        && widths.iter().all(|(_, signed)| !signed)
        && widths.iter().any(|(bits, _)| *bits > MULTIPLIER_BITS)
}

impl Scheduled {
    /// Whether a multiplier of the kernel is an instance of `prim_mul`.
    fn has_tiles(&self, memories: &[Memory]) -> bool {
        let graph = &self.kernel.graph;
        // A module has the nodes that are used in some cycle.
        let lifetimes = Lifetimes::of(self, memories);
        let is_wide = |node: Node| match graph.get(node).op {
            Op::Mul(a, b) => match self.sharing.unit(node) {
                Some(unit) => is_by_tiles(self.sharing.units[unit].operands, self.sharing.units[unit].cycles),
                None => is_by_tiles(self.widths.factors(graph, node, [a, b]), self.registers[node.index()]),
            },
            _ => false,
        };
        lifetimes.nodes().any(is_wide)
    }
}

impl Design {
    /// The modules that [`to_systemverilog`](Self::to_systemverilog) contains instances of, each with its file and its text.
    ///
    /// A product of which an operand has more than 18 bits is an instance of `prim_mul`, if no operand can be below zero.
    ///
    /// # Example
    /// ```
    /// use ciphermill_hls::Source;
    /// use ciphermill_hls::schedule::Target;
    ///
    /// let text = "#include <stdint.h>\nuint64_t f(uint32_t x, uint32_t y) { return (uint64_t)x * y; }";
    /// let design = Source::new("f.c", text).compile(&[], "f", &Target::ecp5(100.0))?;
    /// let files: Vec<&str> = design.parts().iter().map(|(file, _)| *file).collect();
    /// assert_eq!(files, ["prim_mul.sv"]);
    /// # Ok::<(), ciphermill_hls::Diagnostic>(())
    /// ```
    #[must_use]
    pub fn parts(&self) -> &'static [(&'static str, &'static str)] {
        let has_tiles = self.kernels.iter().any(|one| one.has_tiles(&self.program.memories));
        if has_tiles { &[("prim_mul.sv", PRIM_MUL)] } else { &[] }
    }
}
