//! Bits of a module's signals that are always 0, because of the operations alone.

use super::kernel::Emission;
use crate::compile::Design;
use crate::ir::{Graph, Node, Op, ones};
use crate::{Memories, Options};

/// Bits of a signal that are 0 in every cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZeroBits {
    /// The signal, as the module names it.
    pub signal: String,
    /// The numbers of the bits, ascending.
    pub bits: Vec<u32>,
}

/// Bits of a number in two's complement: those that are 0 in every cycle, and those that are 1.
#[derive(Clone, Copy, Default)]
struct Known {
    zeros: i128,
    ones: i128,
}

impl Known {
    fn of(value: i128) -> Self {
        Self { zeros: !value, ones: value }
    }

    fn mask(self) -> i128 {
        self.zeros | self.ones
    }

    /// The number of low bits that are known.
    fn low(self) -> u32 {
        self.mask().trailing_ones().min(126)
    }

    /// The number of low bits that are 0.
    fn low_zeros(self) -> u32 {
        self.zeros.trailing_ones().min(126)
    }

    /// The low bits of a number.
    fn low_of(value: i128, bits: u32) -> Self {
        Self { zeros: !value & ones(bits), ones: value & ones(bits) }
    }

    /// What two possible values have in common.
    fn either(self, other: Self) -> Self {
        Self { zeros: self.zeros & other.zeros, ones: self.ones & other.ones }
    }

    /// What two descriptions of one value say together.
    fn both(self, other: Self) -> Self {
        Self { zeros: self.zeros | other.zeros, ones: self.ones | other.ones }
    }
}

/// The known bits of an operation's result.
fn result(graph: &Graph, op: Op, of: impl Fn(Node) -> Known) -> Known {
    let shift = |node: Node| graph.constant(node).and_then(|by| u32::try_from(by).ok()).filter(|by| *by < 127);
    match op {
        Op::Const(value) => Known::of(value),
        Op::And(a, b) => {
            let (a, b) = (of(a), of(b));
            Known { zeros: a.zeros | b.zeros, ones: a.ones & b.ones }
        }
        Op::Or(a, b) => {
            let (a, b) = (of(a), of(b));
            Known { zeros: a.zeros & b.zeros, ones: a.ones | b.ones }
        }
        Op::Xor(a, b) => {
            let (a, b) = (of(a), of(b));
            Known { zeros: a.zeros & b.zeros | a.ones & b.ones, ones: a.zeros & b.ones | a.ones & b.zeros }
        }
        // Low bits depend on the same and lower bits of the operands.
        Op::Add(a, b) | Op::Sub(a, b) => {
            let (a, b) = (of(a), of(b));
            let sum = if matches!(op, Op::Add(..)) { a.ones.wrapping_add(b.ones) } else { a.ones.wrapping_sub(b.ones) };
            Known::low_of(sum, a.low().min(b.low()))
        }
        Op::Mul(a, b) => {
            let (a, b) = (of(a), of(b));
            let product = Known::low_of(a.ones.wrapping_mul(b.ones), a.low().min(b.low()));
            product.both(Known::low_of(0, (a.low_zeros() + b.low_zeros()).min(126)))
        }
        Op::Shl(a, by) => shift(by).map_or_else(Known::default, |by| {
            let a = of(a);
            Known { zeros: a.zeros << by | ones(by), ones: a.ones << by }
        }),
        Op::Shr(a, by) => shift(by).map_or_else(Known::default, |by| {
            let a = of(a);
            Known { zeros: a.zeros >> by, ones: a.ones >> by }
        }),
        Op::Select(_, a, b) => of(a).either(of(b)),
        Op::Loop(_) | Op::Read(_) | Op::Lt(..) | Op::Eq(..) | Op::Div(..) | Op::Rem(..) => Known::default(),
    }
}

impl Design {
    /// The bits of the operations' signals in [`to_systemverilog`](Self::to_systemverilog) that are always 0: no input
    /// makes them 1.
    ///
    /// Constants and shifts decide this. Nothing is assumed of registers, whose contents are arbitrary before a reset, and the
    /// bits of registers are left out.
    ///
    /// # Example
    /// ```
    /// use ciphermill_hls::Source;
    /// use ciphermill_hls::schedule::Target;
    ///
    /// let text = "#include <stdint.h>\nuint32_t f(uint8_t x, uint8_t y) { return ((uint32_t)x << 4) + ((uint32_t)y << 3); }";
    /// let design = Source::new("f.c", text).compile(&[], "f", &Target::ecp5(100.0))?;
    /// let bits: Vec<Vec<u32>> = design.zero_bits().into_iter().map(|one| one.bits).collect();
    /// assert_eq!(bits, [vec![0, 1, 2, 3], vec![0, 1, 2], vec![0, 1, 2]]);
    /// # Ok::<(), ciphermill_hls::Diagnostic>(())
    /// ```
    #[must_use]
    pub fn zero_bits(&self) -> Vec<ZeroBits> {
        let options = Options { name: "", source: "", memories: Memories::Inside };
        let mut all = Vec::new();
        for (number, scheduled) in self.kernels.iter().enumerate() {
            let (graph, emission) = (&scheduled.kernel.graph, Emission::new(self, &options, number, scheduled));
            let mut known: Vec<Known> = Vec::with_capacity(graph.len());
            for (node, data) in graph.nodes() {
                let wire = emission.wire(node);
                let at = |node: Node| scheduled.schedule.nodes[node.index()].0;
                // An operand of an earlier cycle comes from a register.
                let is_here = |one: Node| graph.constant(one).is_some() || at(one) == at(node);
                let of = match data.op {
                    Op::Const(value) => Known::of(value),
                    op if wire.is_some() => {
                        result(graph, op, |one| if is_here(one) { known[one.index()] } else { Known::default() })
                    }
                    _ => Known::default(),
                };
                known.push(of);
                if let Some((signal, width)) = wire {
                    let bits = (0..width).filter(|bit| of.zeros >> bit & 1 == 1).collect::<Vec<_>>();
                    if !bits.is_empty() {
                        all.push(ZeroBits { signal, bits });
                    }
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All descriptions of numbers of three bits.
    fn descriptions() -> impl Iterator<Item = Known> {
        let all = (0..8).flat_map(|zeros| (0..8).map(move |ones| (zeros, ones)));
        all.filter(|(zeros, ones)| zeros & ones == 0).map(|(zeros, ones)| Known { zeros: zeros | !7, ones })
    }

    /// The numbers of a description.
    fn numbers(of: Known) -> impl Iterator<Item = i128> {
        (0..8).filter(move |value| value & of.zeros == 0 && value & of.ones == of.ones)
    }

    #[test]
    fn known_bits_hold_for_all_numbers() {
        let mut graph = Graph::new(1);
        let a = graph.variable(0, Box::from([1])).expect("a node");
        let b = graph.variable(1, Box::from([2])).expect("a node");
        let by = graph.number(2).expect("a node");
        let ops = [
            Op::Add(a, b),
            Op::Sub(a, b),
            Op::Mul(a, b),
            Op::And(a, b),
            Op::Or(a, b),
            Op::Xor(a, b),
            Op::Shl(a, by),
            Op::Shr(a, by),
            Op::Lt(a, b),
            Op::Select(a, b, a),
        ];
        let mut found = vec![0u32; ops.len()];
        for (first, second) in descriptions().flat_map(|first| descriptions().map(move |second| (first, second))) {
            for (op, found) in ops.iter().zip(&mut found) {
                let known = result(&graph, *op, |node| if node == a { first } else { second });
                *found += (known.mask() & 7).count_ones();
                for (x, y) in numbers(first).flat_map(|x| numbers(second).map(move |y| (x, y))) {
                    let of = |node| {
                        if node == a {
                            x
                        } else if node == b {
                            y
                        } else {
                            2
                        }
                    };
                    let value = op.value(of).expect("small numbers");
                    assert_eq!((value & known.zeros, value & known.ones), (0, known.ones), "{op:?} of {x} and {y}");
                }
            }
        }
        // All but the comparison have known bits.
        assert!(found.iter().enumerate().all(|(number, count)| (*count == 0) == (number == 8)), "{found:?}");
    }
}
