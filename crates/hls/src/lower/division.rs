//! Quotients and remainders by constants, without a divider.
//!
//! Barrett's estimate of a quotient is a product and a shift: q' = ⌊⌊x/2^s⌋·m/2^t⌋ with m = ⌊2^(s+t)/d⌋ (P. Barrett, CRYPTO
//! 1986). The estimate is never too great. The remainder is x − q'·d, less d as long as it is not below d. Here s and t are
//! the ones with the shortest products for which one subtraction is enough: for each value of ⌊x/2^s⌋ the greatest remainder
//! is computed, so that this is no bound but the truth, and the remainder has no bit too many.

use crate::diagnostic::{Problem, Result};
use crate::ir::{Graph, Kernel, Node, Op, bits};

/// Values of ⌊x/2^s⌋ that are tried; beyond, the bound of the estimate decides.
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
    /// The shortest one for x up to `most`, after which one subtraction is enough.
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

    /// The greatest remainder for x up to `most`; none if it is not known to be below 2d.
    fn greatest(&self, most: i128, d: i128) -> Option<i128> {
        let kept = most >> self.before;
        let low = (1i128 << self.before) - 1;
        if kept < TRIED {
            let remainder = |value: i128| {
                // For one value kept, the greatest x has the greatest remainder.
                let x = ((value << self.before) | low).min(most);
                x - ((value * self.factor) >> self.after) * d
            };
            let mut greatest = 0;
            for value in 0..=kept {
                greatest = greatest.max(remainder(value));
                if greatest >= 2 * d {
                    return None;
                }
            }
            return Some(greatest);
        }
        // x/d − q' < 1 + 2^s/d + ⌊x/2^s⌋/2^t. The sum of the fractions must not be above 1.
        let power = 1i128.checked_shl(self.after)?;
        let fits = (low + 1).checked_mul(power)?.checked_add(kept.checked_mul(d)?)? <= d.checked_mul(power)?;
        fits.then_some(2 * d - 1)
    }
}

/// Replaces all quotients and remainders of a kernel.
pub(crate) fn expand(kernel: &Kernel) -> Result<Kernel> {
    let refused = |full: crate::ir::Full| {
        let (what, way_out) = full.what();
        Problem::new(kernel.place, what, way_out)
    };
    let old = &kernel.graph;
    let mut graph = Graph::new(kernel.iterations());
    let mut map: Vec<Node> = Vec::with_capacity(old.len());
    for (_, data) in old.nodes() {
        let of = |node: Node| map[node.index()];
        let node = match data.op {
            Op::Const(value) => graph.number(value).map_err(refused)?,
            Op::Loop(level) => graph.variable(level, data.values.clone().unwrap_or_default()).map_err(refused)?,
            Op::Read(access) => graph.read(access, data.range).map_err(refused)?,
            Op::Rem(a, d) if data.values.is_none() => divided(&mut graph, of(a), d).map_err(refused)?.1,
            Op::Div(a, d) if data.values.is_none() => divided(&mut graph, of(a), d).map_err(refused)?.0,
            op => {
                let node = graph.add(op.with(of)).map_err(refused)?;
                graph.narrow(node, data.range);
                node
            }
        };
        map.push(node);
    }
    let of = |node: Node| map[node.index()];
    let mut new = Kernel { graph, ..kernel.clone() };
    for access in &mut new.accesses {
        access.indices.iter_mut().for_each(|index| *index = of(*index));
        access.written = access.written.map(of);
        access.condition = access.condition.map(of);
    }
    Ok(new)
}

/// The quotient and the remainder.
fn divided(graph: &mut Graph, x: Node, d: i128) -> Result<(Node, Node), crate::ir::Full> {
    let most = graph.range(x).1;
    let divisor = graph.number(d)?;
    if most < 2 * d {
        let (below, rest) = corrected(graph, x, divisor, d)?;
        let one = graph.number(1)?;
        return Ok((graph.add(Op::Sub(one, below))?, rest));
    }
    let estimate = Estimate::of(most, d).ok_or(crate::ir::Full::Bits)?;
    let (before, after) = (graph.number(estimate.before.into())?, graph.number(estimate.after.into())?);
    let factor = graph.number(estimate.factor)?;
    let kept = graph.add(Op::Shr(x, before))?;
    let product = graph.add(Op::Mul(kept, factor))?;
    let quotient = graph.add(Op::Shr(product, after))?;
    // The difference is short, so the low bits are enough.
    let mask = graph.number((1i128 << bits((0, estimate.most))) - 1)?;
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
fn corrected(graph: &mut Graph, x: Node, divisor: Node, d: i128) -> Result<(Node, Node), crate::ir::Full> {
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
    fn long_numbers_have_an_estimate_by_the_bound() {
        let d = (1i128 << 60) - 93;
        let estimate = Estimate::of(d * d, d);
        // The product of a number of 120 bits does not fit: more of its bits must be left out.
        assert!(estimate.is_some_and(|estimate| bits((0, (d * d) >> estimate.before)) + bits((0, estimate.factor)) <= 127));
    }
}
