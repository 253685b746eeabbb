//! Multipliers that several products of a kernel share.
//!
//! At an interval above one, products that begin in different cycles modulo the interval never need a multiplier at the same
//! time. A shared multiplier selects its operands, and the selection must fit into half of the clock period. Two products share
//! a multiplier only if this saves more than the selection costs.

use std::collections::BTreeMap;

use crate::ir::{Graph, Kernel, Node, Op, Widths};
use crate::schedule::{Schedule, Target};

/// The bits of an operand, and whether the highest one is a sign.
type Width = (u32, bool);

/// A multiplier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// Its products, each with the cycle in which it begins and its operands, the wider one first.
    pub(crate) products: Vec<(u32, Node, [Node; 2])>,
    /// The operands.
    pub(crate) operands: [Width; 2],
    /// The bits of the longest product.
    pub(crate) bits: u32,
    /// The cycles of a product.
    pub(crate) cycles: u32,
}

/// The shared multipliers of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sharing {
    pub(crate) units: Vec<Unit>,
    of: BTreeMap<Node, usize>,
}

impl Sharing {
    /// The sharing of a schedule. `registers` are the cycles of each node's operation, by node.
    pub(crate) fn of(
        kernel: &Kernel,
        schedule: &Schedule,
        registers: &[u32],
        widths: &Widths,
        target: &Target,
    ) -> Self {
        let period = period(kernel, schedule);
        let mut products: Vec<Unit> = kernel
            .graph
            .nodes()
            .filter_map(|(node, _)| single(&kernel.graph, schedule, registers, widths, node))
            .collect();
        products.sort_by_key(|one| std::cmp::Reverse((one.operands[0].0, one.operands[1].0)));
        let mut units: Vec<Unit> = Vec::new();
        for product in products {
            match units.iter_mut().find(|unit| unit.accepts(&product, period, target)) {
                Some(unit) => unit.add(product),
                None => units.push(product),
            }
        }
        units.retain(|unit| unit.products.len() > 1);
        units.iter_mut().for_each(|unit| unit.products.sort_unstable());
        let numbered = units.iter().enumerate();
        let of = numbered.flat_map(|(number, unit)| unit.products.iter().map(move |&(_, node, _)| (node, number)));
        Self { of: of.collect(), units }
    }

    /// The multiplier of a product, if it is shared.
    pub(crate) fn unit(&self, node: Node) -> Option<usize> {
        self.of.get(&node).copied()
    }
}

/// Cycles modulo which the products of all iterations are in the same cycles as those of the first one.
fn period(kernel: &Kernel, schedule: &Schedule) -> u32 {
    let innermost = kernel.loops.last().map_or(1, |one| one.trips.max(1));
    // If iterations do not overlap, a gap only puts them further apart.
    if kernel.iterations() <= innermost || schedule.interval >= schedule.depth {
        return schedule.interval;
    }
    let (mut a, mut b) = (schedule.interval, schedule.gap);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A multiplier of one product of two values; `None` for other nodes, and for products that the hardware does not have.
fn single(graph: &Graph, schedule: &Schedule, registers: &[u32], widths: &Widths, node: Node) -> Option<Unit> {
    let Op::Mul(a, b) = graph.get(node).op else { return None };
    let cycles = registers[node.index()];
    let bits = widths.get(graph, node).0;
    let is_constant = [a, b].into_iter().any(|operand| graph.constant(operand).is_some());
    if cycles == 0 || bits == 0 || is_constant {
        return None;
    }
    let [of_a, of_b] = widths.factors(graph, node, [a, b]);
    let (nodes, operands) = if of_a.0 >= of_b.0 { ([a, b], [of_a, of_b]) } else { ([b, a], [of_b, of_a]) };
    let begin = schedule.nodes[node.index()].0 - cycles;
    Some(Unit { products: vec![(begin, node, nodes)], operands, bits, cycles })
}

/// The operand of a multiplier for two products.
fn joined(a: Width, b: Width) -> Width {
    let signed = a.1 || b.1;
    let bits = |one: Width| one.0 + u32::from(signed && !one.1);
    (bits(a).max(bits(b)), signed)
}

impl Unit {
    fn accepts(&self, other: &Self, period: u32, target: &Target) -> bool {
        let residue = |(begin, _, _): &(u32, Node, [Node; 2])| begin % period;
        let meets = self.products.iter().any(|one| other.products.iter().any(|two| residue(one) == residue(two)));
        let selection = target.register_out + target.choice(self.products.len() + 1) + target.setup;
        let (wider, narrower) = (other.operands[0].0, other.operands[1].0);
        let saves = wider * narrower > 2 * (self.operands[0].0 + self.operands[1].0);
        self.cycles == other.cycles && !meets && saves && selection <= target.period / 2.0
    }

    fn add(&mut self, other: Self) {
        self.operands = [joined(self.operands[0], other.operands[0]), joined(self.operands[1], other.operands[1])];
        self.bits = self.bits.max(other.bits);
        self.products.extend(other.products);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::Source;
    use crate::schedule::Target;

    /// Stages over a few words: with few of them, a gap follows each stage.
    fn source(words: usize) -> Source {
        let text = format!(
            "#include <stdint.h>
void f(uint16_t a[64]) {{
  for (unsigned s = 0; s < 3; s++)
    for (unsigned i = 0; i < {words}; i++) {{
#pragma HLS pipeline
      unsigned x = a[i], y = a[i + 16], z = a[i + 32];
      a[i] = ((uint64_t)x * y & 1023) * z & 65535;
      a[i + 16] = (uint64_t)y * (z ^ 5) & 65535;
      a[i + 32] = (uint64_t)x * (z | 1) & 65535;
    }}
}}"
        );
        Source::new("f.c", text)
    }

    #[test]
    fn products_of_a_multiplier_begin_in_different_cycles_of_the_whole_run() {
        let (mut shared, mut gaps) = (0, 0);
        for words in 1..16 {
            let design =
                source(words).compile(&[], "f", &Target::ecp5(120.0)).unwrap_or_else(|error| panic!("{error}"));
            let one = &design.kernels[0];
            gaps += usize::from(one.schedule.gap > 0);
            for unit in &one.sharing.units {
                shared += unit.products.len();
                let mut begun = HashSet::new();
                for iteration in 0..one.kernel.iterations() {
                    let start = one.schedule.start(&one.kernel, iteration);
                    for &(begin, ..) in &unit.products {
                        assert!(begun.insert(start + u64::from(begin)), "{words} words: two products in one cycle");
                    }
                }
            }
        }
        assert!(shared > 0 && gaps > 0, "{shared} shared products, {gaps} gaps");
    }
}
