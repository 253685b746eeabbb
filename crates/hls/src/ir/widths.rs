//! The used bits of each node.

use super::{Graph, Node, Op, bits};

/// The width of each node's signal: the number of low bits that are used. A node that is not used has a width of 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widths(Vec<u32>);

/// The bits of a node's range in two's complement, and whether it has values below zero.
fn whole(graph: &Graph, node: Node) -> (u32, bool) {
    let (least, most) = graph.range(node);
    if least < 0 { (bits((0, most.max(-1 - least))) + 1, true) } else { (bits((0, most)), false) }
}

impl Widths {
    /// The widths if all bits of `roots` are needed. If the value of a read is needed, so are all bits of the nodes that
    /// `of_read` gives for its access.
    #[must_use]
    pub fn of(graph: &Graph, roots: impl IntoIterator<Item = Node>, of_read: impl Fn(usize) -> Vec<Node>) -> Self {
        let mut needed = vec![0u32; graph.len()];
        for root in roots {
            needed[root.index()] = whole(graph, root).0;
        }
        let nodes: Vec<(Node, Op)> = graph.nodes().map(|(node, data)| (node, data.op)).collect();
        // Operands come before the nodes that use them.
        for (node, op) in nodes.into_iter().rev() {
            let width = needed[node.index()].min(whole(graph, node).0);
            needed[node.index()] = width;
            if width == 0 {
                continue;
            }
            let mut need = |operand: Node, width: u32| {
                let all = whole(graph, operand).0;
                let known = &mut needed[operand.index()];
                *known = (*known).max(width.min(all));
            };
            match op {
                Op::Const(_) | Op::Loop(_) => {}
                Op::Read(access) => of_read(access).into_iter().for_each(|operand| need(operand, u32::MAX)),
                // The low bits of a result do not depend on higher bits of the operands.
                Op::Add(a, b) | Op::Sub(a, b) | Op::Mul(a, b) | Op::Or(a, b) | Op::Xor(a, b) => {
                    need(a, width);
                    need(b, width);
                }
                Op::And(a, b) => {
                    let mask = graph.constant(b).filter(|mask| *mask >= 0).map_or(width, |mask| bits((0, mask)));
                    need(a, width.min(mask));
                    need(b, width);
                }
                Op::Shl(a, by) => {
                    let shift = graph.constant(by).and_then(|shift| u32::try_from(shift).ok()).unwrap_or(0);
                    need(a, width.saturating_sub(shift).max(1));
                    need(by, u32::MAX);
                }
                Op::Shr(a, by) => {
                    let most = u32::try_from(graph.range(by).1).unwrap_or(127);
                    need(a, width.saturating_add(most));
                    need(by, u32::MAX);
                }
                Op::Lt(a, b) | Op::Eq(a, b) => {
                    need(a, u32::MAX);
                    need(b, u32::MAX);
                }
                Op::Select(condition, a, b) => {
                    need(condition, u32::MAX);
                    need(a, width);
                    need(b, width);
                }
                Op::Div(a, _) | Op::Rem(a, _) => need(a, u32::MAX),
            }
        }
        // A loop's counter needs all of its bits, even if fewer are used.
        for (node, data) in graph.nodes() {
            if matches!(data.op, Op::Loop(_)) {
                needed[node.index()] = whole(graph, node).0;
            }
        }
        Self(needed)
    }

    /// The bits of a node, and whether the highest one is its sign.
    #[must_use]
    pub fn get(&self, graph: &Graph, node: Node) -> (u32, bool) {
        let (all, signed) = whole(graph, node);
        if graph.constant(node).is_some() {
            return (all, signed);
        }
        let width = self.0[node.index()];
        (width, signed && width == all)
    }

    /// The bits of each operand of a product that the product needs, and whether the highest one is a sign.
    ///
    /// The low bits of a product do not depend on higher bits of its operands, nor on a sign above them.
    #[must_use]
    pub fn factors(&self, graph: &Graph, product: Node, operands: [Node; 2]) -> [(u32, bool); 2] {
        let bits = self.get(graph, product).0;
        operands.map(|operand| {
            let of = self.get(graph, operand);
            if of.0 < bits { of } else { (bits, false) }
        })
    }
}
