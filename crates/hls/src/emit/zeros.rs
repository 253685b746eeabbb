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
#[derive(Clone, Copy, Debug, Default)]
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

    /// The knowledge about the signal of a number: its low bits, of which the highest one may be a sign.
    fn cut(self, (bits, signed): (u32, bool)) -> Self {
        let (low, sign) = (ones(bits), 1 << bits.saturating_sub(1).min(127));
        let above = |known: i128| if known & sign == 0 { 0 } else { !low };
        match (signed, bits) {
            (true, 1..) => {
                Self { zeros: self.zeros & low | above(self.zeros), ones: self.ones & low | above(self.ones) }
            }
            _ => Self { zeros: self.zeros & low | !low, ones: self.ones & low },
        }
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
                // Operations see only the signal of the number.
                let of = match data.op {
                    Op::Const(_) => of,
                    _ => of.cut(scheduled.widths.get(graph, node)),
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

    /// All descriptions of numbers of three bits, with or without a sign.
    fn descriptions(signed: bool) -> impl Iterator<Item = Known> {
        let all = (0..8).flat_map(|zeros| (0..8).map(move |ones| Known { zeros, ones }));
        all.filter(|one| one.zeros & one.ones == 0).map(move |one| one.cut((3, signed)))
    }

    /// The numbers of a description.
    fn numbers(of: Known) -> impl Iterator<Item = i128> {
        (-8..16).filter(move |value| value & of.zeros == 0 && value & of.ones == of.ones)
    }

    #[test]
    fn a_description_has_the_numbers_of_its_bits() {
        for (signed, least, most) in [(false, 0, 7), (true, -4, 3)] {
            for value in least..=most {
                let of_value = descriptions(signed).filter(|one| numbers(*one).any(|number| number == value));
                assert_eq!(of_value.count(), 8, "each bit is known or not");
            }
        }
        let negative = Known::of(-3).cut((3, true));
        assert_eq!(numbers(negative).collect::<Vec<_>>(), [-3]);
    }

    #[test]
    fn a_signal_has_the_low_bits_of_its_number() {
        for (one, bits) in descriptions(true).flat_map(|one| [1, 2].map(|bits| (one, bits))) {
            let unsigned = one.cut((bits, false));
            for value in numbers(one).map(|value| value & ones(bits)) {
                assert_eq!((value & unsigned.zeros, value & unsigned.ones), (0, unsigned.ones), "{one:?}, {bits} bits");
            }
        }
        // The text extends the signal with zeros, whatever is known of the number.
        assert_eq!(Known::of(15).cut((3, false)).zeros, !7);
    }

    fn bits(text: &str, mhz: f64) -> Vec<Vec<u32>> {
        let source = crate::Source::new("f.c", format!("#include <assert.h>\n#include <stdint.h>\n{text}"));
        let design = source.compile(&[], "f", &crate::schedule::Target::ecp5(mhz));
        let design = design.unwrap_or_else(|error| panic!("{error}"));
        design.zero_bits().into_iter().map(|one| one.bits).collect()
    }

    #[test]
    fn nothing_is_known_behind_a_register() {
        let text = "uint32_t f(uint8_t x, uint8_t y, uint8_t z) { return ((uint32_t)x + y << 4) ^ (uint32_t)z << 4; }";
        assert_eq!(bits(text, 100.0), [[0, 1, 2, 3]; 3]);
        // The XOR is a cycle after the sum.
        assert_eq!(bits(text, 280.0), [[0, 1, 2, 3]; 2]);
        let product = "uint32_t f(uint8_t x, uint8_t y) { return ((uint32_t)x << 2) * ((uint32_t)y << 2); }";
        assert_eq!(bits(product, 100.0), [[0, 1]; 2]);
    }

    #[test]
    fn nothing_depends_on_an_assertion() {
        // The low bits of v are 1000, of which its signal has three, so the XOR with 8 is 8.
        let text = "void f(uint8_t a[16], uint8_t b[16], uint32_t c[16]) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    uint32_t p = (uint32_t)(a[i] & 15) << 4 | 8, q = (uint32_t)(b[i] & 15) << 4;
    assert(p >= q);
    uint32_t v = p - q;
    assert(v >= 0);
    assert(v <= 7);
    c[i] = v ^ 8;
  }
}";
        let found = bits(text, 100.0);
        assert!(found.len() == 5 && found.iter().all(|one| *one == [0, 1, 2]), "{found:?}");
    }

    #[test]
    fn known_bits_hold_for_all_numbers() {
        known_bits_hold(false);
        known_bits_hold(true);
    }

    fn known_bits_hold(signed: bool) {
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
        let descriptions = || descriptions(signed);
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
