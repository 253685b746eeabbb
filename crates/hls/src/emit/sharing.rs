//! Shared multipliers of a kernel: the selection of operands, and the registers.

use std::fmt::Write as _;

use super::kernel::Emission;
use super::{elements, vector};
use crate::ir::Node;
use crate::sharing::Unit;

impl Emission<'_> {
    /// The registers of the shared multipliers. Products are declared after them.
    pub(super) fn declare_multipliers(&self, out: &mut String) {
        for (number, unit) in self.scheduled.sharing.units.iter().enumerate() {
            let name = self.multiplier(number);
            let _ = writeln!(out, "  logic{}{} {name}_p;", elements(unit.cycles as usize), vector(unit.bits));
        }
    }

    /// The text of a product, if its multiplier is shared.
    pub(super) fn shared_product(&self, node: Node, bits: u32) -> Option<String> {
        let number = self.scheduled.sharing.unit(node)?;
        let unit = &self.scheduled.sharing.units[number];
        let product = format!("{}_p[{}]", self.multiplier(number), unit.cycles - 1);
        Some(if unit.bits == bits { product } else { format!("{bits}'({product})") })
    }

    /// The shared multipliers, after all operands.
    pub(super) fn multipliers(&self, out: &mut String) {
        for (number, unit) in self.scheduled.sharing.units.iter().enumerate() {
            let name = self.multiplier(number);
            let _ = writeln!(
                out,
                "  // A multiplier of {} products, which begin in different cycles.",
                unit.products.len()
            );
            for (operand, suffix) in ["a", "b"].into_iter().enumerate() {
                let bits = unit.operands[operand].0;
                let selected = self.selected(unit, operand);
                let _ =
                    writeln!(out, "  logic{} {name}_{suffix};\n  assign {name}_{suffix} = {selected};", vector(bits));
            }
            let (bits, run) = (unit.bits, self.if_run());
            let long = |operand: usize, suffix: &str| match unit.operands[operand] {
                (own, _) if own == bits => format!("{name}_{suffix}"),
                (_, true) => format!("{bits}'(signed'({name}_{suffix}))"),
                (_, false) => format!("{bits}'({name}_{suffix})"),
            };
            let _ = writeln!(out, "  always_ff @(posedge clk_i) begin");
            let _ = writeln!(out, "    {run}{name}_p[0] <= {} * {};", long(0, "a"), long(1, "b"));
            for stage in 1..unit.cycles {
                let _ = writeln!(out, "    {run}{name}_p[{stage}] <= {name}_p[{}];", stage - 1);
            }
            let _ = writeln!(out, "  end");
        }
    }

    /// The operand of the product that begins.
    fn selected(&self, unit: &Unit, operand: usize) -> String {
        let bits = unit.operands[operand].0;
        let mut text = String::new();
        for (position, &(cycle, _, operands)) in unit.products.iter().enumerate() {
            if position + 1 < unit.products.len() {
                let _ = write!(text, "k{}_valid[{cycle}] ? ", self.number);
            }
            text += &self.wide(operands[operand], cycle, bits);
            if position + 1 < unit.products.len() {
                text += " : ";
            }
        }
        text
    }

    fn multiplier(&self, number: usize) -> String {
        format!("k{}_m{number}", self.number)
    }
}
