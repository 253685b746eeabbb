//! Quotients, remainders and products by constants, without a divider or a multiplier.
//!
//! Barrett's estimate of a quotient is a product and a shift: q' = ⌊⌊x/2^s⌋·m/2^t⌋ with m = ⌊2^(s+t)/d⌋ (P. Barrett, CRYPTO
//! 1986). The estimate is never too great. The remainder is x − q'·d, less d as long as it is not below d. The shifts s and t
//! are chosen for the shortest products with which one subtraction is enough. To choose them, the greatest remainder is
//! computed for each value of ⌊x/2^s⌋, or bounded if there are too many values. A computed remainder is exact and has no bit
//! too many.

use crate::analysis::Layout;
use crate::diagnostic::{Problem, Result};
use crate::ir::{Access, Full, Graph, Kernel, Node, Op, Room, bits, ones};
use crate::schedule::Address;

/// The number of values of ⌊x/2^s⌋ up to which all are tried. Above it, the bound of the estimate decides.
const TRIED: i128 = 1 << 20;

/// An estimate of x/d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Estimate {
    /// s
    before: u32,
    /// m
    factor: i128,
    /// t
    after: u32,
    /// The greatest x − q'·d.
    most: i128,
}

impl Estimate {
    /// The estimate with the shortest product for x up to `most`, after which one subtraction is enough.
    fn of(most: i128, d: i128) -> Option<Self> {
        let width = bits((0, d));
        // A greater s leaves more of x out, a greater t needs a longer factor.
        let mut found: Option<(u32, Self)> = None;
        for before in (0..width).rev() {
            let kept = most >> before;
            for after in 0..=bits((0, kept)) + 1 {
                let factor = 1i128.checked_shl(before + after).filter(|power| *power > 0)? / d;
                if factor == 0 {
                    continue;
                }
                let cost = bits((0, kept)) * bits((0, factor));
                if found.as_ref().is_some_and(|(known, _)| *known <= cost) {
                    break;
                }
                let estimate = Self { before, factor, after, most: 0 };
                if let Some(remainder) = estimate.greatest(most, d).filter(|remainder| *remainder < 2 * d) {
                    found = Some((cost, Self { most: remainder, ..estimate }));
                    break;
                }
            }
        }
        found.map(|(_, estimate)| estimate)
    }

    /// The greatest remainder for x up to `most`; `None` if it is not known to be below 2d.
    fn greatest(&self, most: i128, d: i128) -> Option<i128> {
        let kept = most >> self.before;
        let low = (1i128 << self.before) - 1;
        if kept < TRIED {
            return match self.short(most, kept, d) {
                Some(short) => short.greatest(),
                None => self.long(most, kept, d),
            };
        }
        // x/d − q' < 1 + 2^s/d + ⌊x/2^s⌋/2^t. The sum of the fractions must not be above 1.
        let power = 1i128.checked_shl(self.after)?;
        let fits = (low + 1).checked_mul(power)?.checked_add(kept.checked_mul(d)?)? <= d.checked_mul(power)?;
        fits.then_some(2 * d - 1)
    }

    /// As [`Estimate::greatest`], by a trial of all values kept.
    fn long(&self, most: i128, kept: i128, d: i128) -> Option<i128> {
        let low = (1i128 << self.before) - 1;
        let mut greatest = 0;
        for value in 0..=kept {
            // For one value kept, the greatest x has the greatest remainder.
            let x = ((value << self.before) | low).min(most);
            greatest = greatest.max(x - ((value * self.factor) >> self.after) * d);
            if greatest >= 2 * d {
                return None;
            }
        }
        Some(greatest)
    }
}

/// An estimate whose products fit a machine word. Its remainders are computed many times faster.
struct Short {
    before: u32,
    after: u32,
    factor: u64,
    most: u64,
    kept: u64,
    d: u64,
}

impl Estimate {
    fn short(&self, most: i128, kept: i128, d: i128) -> Option<Short> {
        let fits = bits((0, kept)) + bits((0, self.factor)) < 64 && bits((0, most)) < 62 && bits((0, d)) < 62;
        let word = |number: i128| u64::try_from(number).ok().filter(|_| fits);
        let (factor, most, kept, d) = (word(self.factor)?, word(most)?, word(kept)?, word(d)?);
        (self.after < 64).then_some(Short { before: self.before, after: self.after, factor, most, kept, d })
    }
}

impl Short {
    /// As [`Estimate::greatest`].
    fn greatest(&self) -> Option<i128> {
        let low = (1 << self.before) - 1;
        let mut greatest = 0;
        for value in 0..=self.kept {
            let x = ((value << self.before) | low).min(self.most);
            greatest = greatest.max(x - ((value * self.factor) >> self.after) * self.d);
            if greatest >= 2 * self.d {
                return None;
            }
        }
        Some(greatest.into())
    }
}

/// A kernel without quotients, remainders and products by constants of up to `digits` signed digits, with the bank and the
/// row of each access. `room` is that of its nodes.
pub(crate) fn expand(kernel: &Kernel, layouts: &[Layout], digits: u32, room: Room) -> Result<(Kernel, Vec<Address>)> {
    let refused = |full: Full| {
        let (what, way_out) = full.what();
        Problem::new(kernel.place, what, way_out)
    };
    let expanded = || {
        // Each step drops the kernel of the step before.
        let kernel = with_addresses(kernel, layouts, room)?;
        // Quotients and remainders are expanded first, because they become products.
        let kernel = rebuilt(kernel, room, |graph, op| match op {
            Op::Rem(a, d) => divided(graph, a, d).map(|(_, rest)| rest),
            Op::Div(a, d) => divided(graph, a, d).map(|(quotient, _)| quotient),
            op => graph.add(op),
        })?;
        rebuilt(kernel, room, |graph, op| match op {
            Op::Mul(a, b) => match graph.constant(b) {
                Some(factor) if signed_digits(factor).len() as u32 <= digits => match multiple(graph, a, factor) {
                    // A shifted copy may have more bits than the product.
                    Err(Full::Bits) => graph.add(op),
                    made => made,
                },
                _ => graph.add(op),
            },
            op => graph.add(op),
        })
    };
    expanded().map_err(refused)
}

/// A kernel with nodes for the bank and the row of each access. They come before the node of a read.
fn with_addresses(kernel: &Kernel, layouts: &[Layout], room: Room) -> Result<(Kernel, Vec<Address>), Full> {
    let mut graph = Graph::within(kernel.iterations(), room);
    let mut map: Vec<Node> = Vec::with_capacity(kernel.graph.len());
    let mut addresses: Vec<Option<Address>> = vec![None; kernel.accesses.len()];
    let mut address = |graph: &mut Graph, map: &[Node], number: usize| -> Result<(), Full> {
        let access = &kernel.accesses[number];
        let indices: Vec<Node> = access.indices.iter().map(|index| map[index.index()]).collect();
        let (bank, row) = layouts[access.memory].nodes(graph, &indices)?;
        addresses[number] = Some(Address { bank, row });
        Ok(())
    };
    for (node, data) in kernel.graph.nodes() {
        if let Op::Read(access) = data.op {
            address(&mut graph, &map, access)?;
        }
        let new = copied(&mut graph, &kernel.graph, node, &map, Graph::add)?;
        map.push(new);
    }
    for number in 0..kernel.accesses.len() {
        if kernel.accesses[number].written.is_some() {
            address(&mut graph, &map, number)?;
        }
    }
    let zero = graph.number(0)?;
    // A read without a node is not used.
    let addresses = addresses.into_iter().map(|one| one.unwrap_or(Address { bank: zero, row: zero })).collect();
    Ok((with_graph(kernel, graph, &map), addresses))
}

/// A kernel whose operations `make` builds again.
fn rebuilt(
    (kernel, addresses): (Kernel, Vec<Address>),
    room: Room,
    mut make: impl FnMut(&mut Graph, Op) -> Result<Node, Full>,
) -> Result<(Kernel, Vec<Address>), Full> {
    let mut graph = Graph::within(kernel.iterations(), room);
    let mut map: Vec<Node> = Vec::with_capacity(kernel.graph.len());
    for (node, _) in kernel.graph.nodes() {
        let new = copied(&mut graph, &kernel.graph, node, &map, &mut make)?;
        map.push(new);
    }
    let of = |address: &Address| Address { bank: map[address.bank.index()], row: map[address.row.index()] };
    let addresses = addresses.iter().map(of).collect();
    Ok((with_graph(&kernel, graph, &map), addresses))
}

/// A copy of a node of another graph, with its range, values and name.
fn copied(
    graph: &mut Graph,
    old: &Graph,
    node: Node,
    map: &[Node],
    mut make: impl FnMut(&mut Graph, Op) -> Result<Node, Full>,
) -> Result<Node, Full> {
    let data = old.get(node);
    let new = match data.op {
        Op::Const(value) => graph.number(value)?,
        Op::Loop(level) => graph.variable(level, data.values.clone().unwrap_or_default())?,
        Op::Read(access) => graph.read(access, data.range, data.values.clone())?,
        op => {
            let new = make(graph, op.with(|operand| map[operand.index()]))?;
            graph.narrow(new, data.range);
            new
        }
    };
    graph.name(new, old.name_of(node));
    Ok(new)
}

/// A kernel with another graph; `map` has the new node of each old one.
fn with_graph(kernel: &Kernel, graph: Graph, map: &[Node]) -> Kernel {
    let of = |node: Node| map[node.index()];
    let moved = |access: &Access| Access {
        indices: access.indices.iter().map(|index| of(*index)).collect(),
        written: access.written.map(of),
        condition: access.condition.map(of),
        ..*access
    };
    Kernel {
        graph,
        name: kernel.name.clone(),
        place: kernel.place,
        loops: kernel.loops.clone(),
        accesses: kernel.accesses.iter().map(moved).collect(),
        pipeline: kernel.pipeline,
        independent: kernel.independent.clone(),
    }
}

/// A number as a sum of added and subtracted powers of two: the exponents, and whether the power is subtracted. No two
/// exponents are adjacent, and no such sum is shorter (G. W. Reitwiesner, Advances in Computers 1, 1960).
fn signed_digits(mut number: i128) -> Vec<(u32, bool)> {
    let mut digits = Vec::new();
    let mut exponent = 0;
    while number != 0 {
        if number & 1 == 1 {
            let negative = number & 3 == 3;
            digits.push((exponent, negative));
            number = (number >> 1) + i128::from(negative);
        } else {
            number >>= 1;
        }
        exponent += 1;
    }
    digits
}

/// The product of a node and a constant, as sums of shifted copies of the node.
fn multiple(graph: &mut Graph, x: Node, factor: i128) -> Result<Node, Full> {
    let mut sums: [Vec<Node>; 2] = Default::default();
    for (exponent, negative) in signed_digits(factor) {
        let exponent = graph.number(exponent.into())?;
        sums[usize::from(negative)].push(graph.add(Op::Shl(x, exponent))?);
    }
    let [added, subtracted] = sums;
    let product = match (sum(graph, added)?, sum(graph, subtracted)?) {
        (Some(a), Some(b)) => graph.add(Op::Sub(a, b))?,
        (Some(a), None) => a,
        (None, Some(b)) => {
            let zero = graph.number(0)?;
            graph.add(Op::Sub(zero, b))?
        }
        (None, None) => graph.number(0)?,
    };
    let (least, most) = graph.range(x);
    if let (Some(a), Some(b)) = (least.checked_mul(factor), most.checked_mul(factor)) {
        graph.narrow(product, (a.min(b), a.max(b)));
    }
    Ok(product)
}

/// The sum of nodes, as a tree of sums of neighbouring pairs.
fn sum(graph: &mut Graph, mut nodes: Vec<Node>) -> Result<Option<Node>, Full> {
    while nodes.len() > 1 {
        let pairs = nodes.chunks(2).map(|pair| match *pair {
            [a, b] => graph.add(Op::Add(a, b)),
            _ => Ok(pair[0]),
        });
        nodes = pairs.collect::<Result<_, _>>()?;
    }
    Ok(nodes.pop())
}

/// The quotient and the remainder by Euclid.
fn divided(graph: &mut Graph, x: Node, d: i128) -> Result<(Node, Node), Full> {
    let (least, most) = graph.range(x);
    if least < 0 {
        // x is not below zero where the source uses the result, but the node of x may have other uses: its range stays.
        let times = -least.div_euclid(d);
        let multiple = graph.number(times.checked_mul(d).ok_or(Full::Bits)?)?;
        let above = graph.add(Op::Add(x, multiple))?;
        let (quotient, rest) = divided(graph, above, d)?;
        let times = graph.number(times)?;
        return Ok((graph.add(Op::Sub(quotient, times))?, rest));
    }
    let divisor = graph.number(d)?;
    // most < 2d, without a product that may have 128 bits
    if most / 2 < d {
        let (below, rest) = corrected(graph, x, divisor, d)?;
        let one = graph.number(1)?;
        return Ok((graph.add(Op::Sub(one, below))?, rest));
    }
    let estimate = Estimate::of(most, d).ok_or(Full::Bits)?;
    let (before, after) = (graph.number(estimate.before.into())?, graph.number(estimate.after.into())?);
    let factor = graph.number(estimate.factor)?;
    let kept = graph.add(Op::Shr(x, before))?;
    let product = graph.add(Op::Mul(kept, factor))?;
    let quotient = graph.add(Op::Shr(product, after))?;
    // The difference is short, so the low bits are enough.
    let mask = graph.number(ones(bits((0, estimate.most))))?;
    let multiple = graph.add(Op::Mul(quotient, divisor))?;
    let (low, low_multiple) = (graph.add(Op::And(x, mask))?, graph.add(Op::And(multiple, mask))?);
    let difference = graph.add(Op::Sub(low, low_multiple))?;
    let remainder = graph.add(Op::And(difference, mask))?;
    graph.narrow(remainder, (0, estimate.most));
    let (below, rest) = corrected(graph, remainder, divisor, d)?;
    let one = graph.number(1)?;
    let more = graph.add(Op::Sub(one, below))?;
    Ok((graph.add(Op::Add(quotient, more))?, rest))
}

/// Whether x is below d, and x or x − d, for x below 2d.
fn corrected(graph: &mut Graph, x: Node, divisor: Node, d: i128) -> Result<(Node, Node), Full> {
    let below = graph.add(Op::Lt(x, divisor))?;
    let less = graph.add(Op::Sub(x, divisor))?;
    let rest = graph.add(Op::Select(below, x, less))?;
    graph.narrow(rest, (0, d - 1));
    Ok((below, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_subtraction_is_enough_and_no_estimate_is_too_great() {
        for d in [3, 5, 17, 3329, 7681, 12289, 65_535] {
            for most in [2 * d, d * d - 1, 2 * d * d, 5 * d * d + 7] {
                let estimate = Estimate::of(most, d).expect("an estimate");
                let quotient = |x: i128| ((x >> estimate.before) * estimate.factor) >> estimate.after;
                let step = (most / 500_000).max(1);
                let values = (0..=most).step_by(step as usize).chain([most]);
                let greatest = values.map(|x| x - quotient(x) * d).inspect(|rest| assert!((0..2 * d).contains(rest)));
                let greatest = greatest.max().unwrap_or(0);
                assert!(greatest <= estimate.most, "{d}, {most}: {greatest} {estimate:?}");
                if step == 1 {
                    assert_eq!(greatest, estimate.most, "{d}, {most}");
                }
            }
        }
    }

    #[test]
    fn short_and_long_remainders_are_equal() {
        let (d, most) = (3329, 5 * 3329 * 3329);
        for (before, after) in [(0, 24), (5, 20), (11, 14), (11, 9)] {
            let estimate = Estimate { before, factor: (1 << (before + after)) / d, after, most: 0 };
            let kept = most >> before;
            let (short, long) = (estimate.short(most, kept, d), estimate.long(most, kept, d));
            assert_eq!(short.map(|short| short.greatest()), Some(long), "{before} {after}");
        }
        let long = Estimate { before: 0, factor: 1 << 60, after: 60, most: 0 };
        assert!(long.short(1 << 30, 1 << 30, 3329).is_none(), "the products exceed a word");
    }

    #[test]
    fn signed_digits_are_the_number_and_have_no_neighbours() {
        let long = [5039, 1_073_479_681, (1 << 60) - (1 << 18) + 1, i128::MAX, i128::MAX / 3, i128::MIN + 1];
        for number in (-4100..4100).chain(long) {
            let digits = signed_digits(number);
            // A digit may be 2^127, so the sum wraps.
            let of = |&(exponent, negative): &(u32, bool)| {
                let power = 1i128.wrapping_shl(exponent);
                if negative { power.wrapping_neg() } else { power }
            };
            assert_eq!(digits.iter().map(of).fold(0, i128::wrapping_add), number);
            assert!(digits.windows(2).all(|pair| pair[1].0 > pair[0].0 + 1), "{number}: {digits:?}");
        }
    }

    #[test]
    fn long_numbers_have_an_estimate_by_the_bound() {
        let d = (1i128 << 60) - 93;
        let estimate = Estimate::of(d * d, d);
        // The product of a number of 120 bits does not fit: more of its bits must be left out.
        assert!(
            estimate.is_some_and(|estimate| bits((0, (d * d) >> estimate.before)) + bits((0, estimate.factor)) <= 127)
        );
    }
}
