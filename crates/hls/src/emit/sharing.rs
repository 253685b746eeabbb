//! Shared multipliers of a kernel: the selection of operands, and the registers.

use std::fmt::Write as _;

use super::kernel::Emission;
use super::products::{First, is_by_tiles};
use super::vectors::vector;
use crate::ir::Node;
use crate::sharing::Unit;

impl Emission<'_> {
    /// The signals of the shared multipliers. Products are declared after them.
    pub(super) fn declare_multipliers(&self, out: &mut String) {
        for (number, unit) in self.scheduled.sharing.units.iter().enumerate() {
            self.first(number, unit).declare(out, &self.multiplier(number), unit.bits, unit.cycles);
        }
    }

    /// The beginning of a shared multiplier.
    fn first(&self, number: usize, unit: &Unit) -> First {
        let (name, bits) = (self.multiplier(number), unit.bits);
        let signals =
            [("a", 0), ("b", 1)].map(|(suffix, operand)| (format!("{name}_{suffix}"), unit.operands[operand]));
        if is_by_tiles(unit.operands, unit.cycles) {
            return First::Tiles(signals.map(|(signal, (own, _))| (signal, own)));
        }
        let [a, b] = signals.map(|(signal, of)| match of {
            (own, _) if own == bits => signal,
            (_, true) => format!("{bits}'(signed'({signal}))"),
            (_, false) => format!("{bits}'({signal})"),
        });
        First::Operation(format!("{a} * {b}"))
    }

    /// The text of a product, if its multiplier is shared.
    pub(super) fn shared_product(&self, node: Node, bits: u32) -> Option<String> {
        let number = self.scheduled.sharing.unit(node)?;
        let unit = &self.scheduled.sharing.units[number];
        let product = self.first(number, unit).result(&self.multiplier(number), unit.cycles);
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
            self.first(number, unit).write(out, &name, unit.bits, unit.cycles, self.run().as_deref());
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
