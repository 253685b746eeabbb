//! The code of a kernel as a graph without duplicates.

use std::collections::{HashMap, HashSet};

use super::{bits, ones};

/// Nodes of a kernel.
const MAX_NODES: usize = 1 << 16;
/// Nodes of all kernels of a function.
const MAX_ALL_NODES: usize = 1 << 19;
/// Values of nodes that depend on loop variables alone, of all kernels, nodes and iterations: 256 MiB.
const MAX_VALUES: usize = 1 << 25;

/// The nodes and values that the kernels of a function may still have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    nodes: usize,
    values: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { nodes: MAX_ALL_NODES, values: MAX_VALUES }
    }
}

impl Room {
    /// The room that remains after a graph.
    pub(crate) fn without(self, graph: &Graph) -> Self {
        Self { nodes: self.nodes.saturating_sub(graph.len()), values: self.values.saturating_sub(graph.held) }
    }
}

/// A node of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(u32);

impl Node {
    /// Its number, from 0 in the order of creation. Operands come before the nodes that use them.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operation. Values are integers without bounds; a condition is 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant.
    Const(i128),
    /// The variable of a loop.
    Loop(usize),
    /// The element that an access reads.
    Read(usize),
    /// a + b
    Add(Node, Node),
    /// a − b
    Sub(Node, Node),
    /// a·b
    Mul(Node, Node),
    /// The bitwise AND.
    And(Node, Node),
    /// The bitwise OR.
    Or(Node, Node),
    /// The bitwise XOR.
    Xor(Node, Node),
    /// a·2^b
    Shl(Node, Node),
    /// a/2^b, rounded down
    Shr(Node, Node),
    /// a < b
    Lt(Node, Node),
    /// a = b
    Eq(Node, Node),
    /// The second, if the first is not 0; the third otherwise.
    Select(Node, Node, Node),
    /// a/d for a not below zero and a constant d, rounded down.
    Div(Node, i128),
    /// a mod d for a not below zero and a constant d.
    Rem(Node, i128),
}

impl Op {
    /// The nodes that it uses.
    #[must_use]
    pub fn operands(self) -> Vec<Node> {
        match self {
            Self::Const(_) | Self::Loop(_) | Self::Read(_) => Vec::new(),
            Self::Div(a, _) | Self::Rem(a, _) => vec![a],
            Self::Add(a, b)
            | Self::Sub(a, b)
            | Self::Mul(a, b)
            | Self::And(a, b)
            | Self::Or(a, b)
            | Self::Xor(a, b)
            | Self::Shl(a, b)
            | Self::Shr(a, b)
            | Self::Lt(a, b)
            | Self::Eq(a, b) => vec![a, b],
            Self::Select(c, a, b) => vec![c, a, b],
        }
    }

    /// The same operation of other nodes.
    #[must_use]
    pub(crate) fn with(self, of: impl Fn(Node) -> Node) -> Self {
        match self {
            Self::Const(_) | Self::Loop(_) | Self::Read(_) => self,
            Self::Div(a, d) => Self::Div(of(a), d),
            Self::Rem(a, d) => Self::Rem(of(a), d),
            Self::Add(a, b) => Self::Add(of(a), of(b)),
            Self::Sub(a, b) => Self::Sub(of(a), of(b)),
            Self::Mul(a, b) => Self::Mul(of(a), of(b)),
            Self::And(a, b) => Self::And(of(a), of(b)),
            Self::Or(a, b) => Self::Or(of(a), of(b)),
            Self::Xor(a, b) => Self::Xor(of(a), of(b)),
            Self::Shl(a, b) => Self::Shl(of(a), of(b)),
            Self::Shr(a, b) => Self::Shr(of(a), of(b)),
            Self::Lt(a, b) => Self::Lt(of(a), of(b)),
            Self::Eq(a, b) => Self::Eq(of(a), of(b)),
            Self::Select(c, a, b) => Self::Select(of(c), of(a), of(b)),
        }
    }

    /// The value for these values of the operands; `None` beyond 127 bits.
    #[must_use]
    pub fn value(self, of: impl Fn(Node) -> i128) -> Option<i128> {
        let shift = |b: Node| u32::try_from(of(b)).ok().filter(|shift| *shift < 127);
        Some(match self {
            Self::Const(value) => value,
            Self::Loop(_) | Self::Read(_) => return None,
            Self::Add(a, b) => of(a).checked_add(of(b))?,
            Self::Sub(a, b) => of(a).checked_sub(of(b))?,
            Self::Mul(a, b) => of(a).checked_mul(of(b))?,
            Self::And(a, b) => of(a) & of(b),
            Self::Or(a, b) => of(a) | of(b),
            Self::Xor(a, b) => of(a) ^ of(b),
            Self::Shl(a, b) => of(a).checked_mul(1i128.checked_shl(shift(b)?)?)?,
            Self::Shr(a, b) => of(a) >> shift(b)?,
            Self::Lt(a, b) => i128::from(of(a) < of(b)),
            Self::Eq(a, b) => i128::from(of(a) == of(b)),
            Self::Select(c, a, b) => of(if of(c) == 0 { b } else { a }),
            Self::Div(a, d) => of(a).checked_div_euclid(d)?,
            Self::Rem(a, d) => of(a).checked_rem_euclid(d)?,
        })
    }
}

/// The operation of a node, and its known values.
#[derive(Clone, Debug)]
pub struct NodeData {
    /// The operation.
    pub op: Op,
    /// Its least and its greatest value in any iteration in which its conditions hold.
    pub range: (i128, i128),
    /// Its value in each iteration, if it depends on loop variables alone and is not a constant.
    pub values: Option<Box<[i64]>>,
}

impl NodeData {
    /// Whether it is a constant or depends on loop variables alone.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.values.is_some() || matches!(self.op, Op::Const(_))
    }
}

/// Nodes without duplicates.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<NodeData>,
    known: HashMap<Op, Node>,
    names: HashMap<Node, String>,
    iterations: usize,
    held: usize,
    room: Room,
}

/// Why a node cannot be made. The caller adds the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// Too many nodes.
    Nodes,
    /// Too many nodes of all kernels.
    AllNodes,
    /// Too many values of nodes that depend on loop variables alone.
    Values,
    /// A value beyond 127 bits.
    Bits,
    /// A value that depends on loop variables alone, beyond 63 bits.
    Known,
}

impl Full {
    pub(crate) fn what(self) -> (String, &'static str) {
        match self {
            Self::Nodes => (format!("more than {MAX_NODES} operations"), "unroll less"),
            Self::AllNodes => {
                (format!("more than {MAX_ALL_NODES} operations of all loops"), "use fewer or shorter loops")
            }
            Self::Values => (
                format!("more than {MAX_VALUES} indices in all iterations of all loops"),
                "use fewer iterations or simpler indices",
            ),
            Self::Bits => ("a value of more than 127 bits".to_owned(), "use narrower operands, or assert their ranges"),
            Self::Known => (
                "a value of more than 63 bits that depends on loop variables alone".to_owned(),
                "use smaller steps and factors",
            ),
        }
    }
}

impl Graph {
    /// The empty graph of a kernel with this number of iterations.
    #[must_use]
    pub fn new(iterations: usize) -> Self {
        Self { iterations, ..Self::default() }
    }

    /// The empty graph of one of several kernels, which share the room.
    pub(crate) fn within(iterations: usize, room: Room) -> Self {
        Self { iterations, room, ..Self::default() }
    }

    /// The number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes; operands come first.
    pub fn nodes(&self) -> impl Iterator<Item = (Node, &NodeData)> {
        self.nodes.iter().enumerate().map(|(index, data)| (Node(index as u32), data))
    }

    /// The operation and the known values of a node.
    #[must_use]
    pub fn get(&self, node: Node) -> &NodeData {
        &self.nodes[node.index()]
    }

    /// The range of a node.
    #[must_use]
    pub fn range(&self, node: Node) -> (i128, i128) {
        self.get(node).range
    }

    /// The value of a node that is a constant.
    #[must_use]
    pub fn constant(&self, node: Node) -> Option<i128> {
        match self.get(node).op {
            Op::Const(value) => Some(value),
            _ => None,
        }
    }

    /// The value of a node in an iteration, if it depends on loop variables alone.
    #[must_use]
    pub fn value_in(&self, node: Node, iteration: usize) -> Option<i128> {
        let data = self.get(node);
        match (&data.values, data.op) {
            (Some(values), _) => Some(values[iteration].into()),
            (None, Op::Const(value)) => Some(value),
            _ => None,
        }
    }

    /// Whether a condition does not hold in an iteration, whatever the data. A condition of several is false if one of them is.
    #[must_use]
    pub fn is_false_in(&self, condition: Node, iteration: usize) -> bool {
        let (mut open, mut seen) = (vec![condition], HashSet::new());
        while let Some(node) = open.pop() {
            match (self.value_in(node, iteration), self.get(node).op) {
                (Some(0), _) => return true,
                (None, Op::And(a, b)) if self.is_condition(a) && self.is_condition(b) => {
                    open.extend([a, b].into_iter().filter(|one| seen.insert(*one)));
                }
                _ => {}
            }
        }
        false
    }

    /// The variable of the source with the value of a node, if one exists.
    #[must_use]
    pub fn name_of(&self, node: Node) -> Option<&str> {
        self.names.get(&node).map(String::as_str)
    }

    /// Notes the variable with the value of a node. The first variable is kept.
    pub(crate) fn name(&mut self, node: Node, name: Option<&str>) {
        if let Some(name) = name
            && !matches!(self.get(node).op, Op::Const(_) | Op::Loop(_))
        {
            self.names.entry(node).or_insert_with(|| name.to_owned());
        }
    }

    /// Narrows the range of a node, as the source asserts it.
    pub(crate) fn narrow(&mut self, node: Node, range: (i128, i128)) {
        let data = &mut self.nodes[node.index()];
        let narrowed = (data.range.0.max(range.0), data.range.1.min(range.1));
        if data.values.is_none() && narrowed.0 <= narrowed.1 {
            data.range = narrowed;
        }
    }

    /// A node for a constant.
    pub(crate) fn number(&mut self, value: i128) -> Result<Node, Full> {
        self.place(Op::Const(value), (value, value), None)
    }

    /// The variable of a loop: its value in each iteration.
    pub(crate) fn variable(&mut self, level: usize, values: Box<[i64]>) -> Result<Node, Full> {
        let of = |value: Option<&i64>| i128::from(value.copied().unwrap_or(0));
        let range = (of(values.iter().min()), of(values.iter().max()));
        self.place(Op::Loop(level), range, Some(values))
    }

    /// A node for the element that an access reads, with its value in each iteration if it is known.
    pub(crate) fn read(
        &mut self,
        access: usize,
        range: (i128, i128),
        values: Option<Box<[i64]>>,
    ) -> Result<Node, Full> {
        self.place(Op::Read(access), range, values)
    }

    /// A node for an operation, or a simpler one of the same value.
    pub(crate) fn add(&mut self, op: Op) -> Result<Node, Full> {
        let op = self.ordered(op);
        if let Some(known) = self.known.get(&op) {
            return Ok(*known);
        }
        let constants: Option<Vec<i128>> = op.operands().iter().map(|&node| self.constant(node)).collect();
        if constants.is_some() {
            let value = op.value(|node| self.constant(node).unwrap_or_default()).ok_or(Full::Bits)?;
            return self.number(value);
        }
        if let Some(simpler) = self.simpler(op)? {
            return Ok(simpler);
        }
        if op.operands().iter().all(|&node| self.get(node).is_known()) {
            if self.held + self.iterations > self.room.values {
                return Err(Full::Values);
            }
            let value = |iteration| {
                let value = op.value(|node| self.value_in(node, iteration).unwrap_or_default()).ok_or(Full::Bits)?;
                i64::try_from(value).map_err(|_| Full::Known)
            };
            let values = (0..self.iterations).map(value).collect::<Result<Box<[i64]>, Full>>()?;
            let (least, most) = values.iter().fold((i64::MAX, i64::MIN), |(a, b), &v| (a.min(v), b.max(v)));
            if least == most {
                return self.number(least.into());
            }
            return self.place(op, (least.into(), most.into()), Some(values));
        }
        let range = self.range_of(op, |node| self.range(node)).ok_or(Full::Bits)?;
        if range.0 == range.1 {
            return self.number(range.0);
        }
        self.place(op, range, None)
    }

    fn place(&mut self, op: Op, range: (i128, i128), values: Option<Box<[i64]>>) -> Result<Node, Full> {
        if let Some(known) = self.known.get(&op) {
            return Ok(*known);
        }
        if self.nodes.len() >= MAX_NODES {
            return Err(Full::Nodes);
        }
        if self.nodes.len() >= self.room.nodes {
            return Err(Full::AllNodes);
        }
        self.held += values.as_ref().map_or(0, |values| values.len());
        if self.held > self.room.values {
            return Err(Full::Values);
        }
        let node = Node(self.nodes.len() as u32);
        self.nodes.push(NodeData { op, range, values });
        self.known.insert(op, node);
        Ok(node)
    }

    /// The same operation, with the operands in a fixed order if their order does not matter.
    fn ordered(&self, op: Op) -> Op {
        // A constant comes second.
        let pair = |a: Node, b: Node| {
            let key = |node: Node| (self.constant(node).is_some(), node);
            if key(a) <= key(b) { (a, b) } else { (b, a) }
        };
        match op {
            Op::Add(a, b) => {
                let (a, b) = pair(a, b);
                Op::Add(a, b)
            }
            Op::Mul(a, b) => {
                let (a, b) = pair(a, b);
                Op::Mul(a, b)
            }
            Op::And(a, b) => {
                let (a, b) = pair(a, b);
                Op::And(a, b)
            }
            Op::Or(a, b) => {
                let (a, b) = pair(a, b);
                Op::Or(a, b)
            }
            Op::Xor(a, b) => {
                let (a, b) = pair(a, b);
                Op::Xor(a, b)
            }
            Op::Eq(a, b) => {
                let (a, b) = pair(a, b);
                Op::Eq(a, b)
            }
            other => other,
        }
    }

    fn simpler(&mut self, op: Op) -> Result<Option<Node>, Full> {
        let power = |value: i128| (value > 0 && value.count_ones() == 1).then(|| value.trailing_zeros());
        let second = match op {
            Op::Add(_, b)
            | Op::Sub(_, b)
            | Op::Mul(_, b)
            | Op::And(_, b)
            | Op::Or(_, b)
            | Op::Xor(_, b)
            | Op::Shl(_, b)
            | Op::Shr(_, b)
            | Op::Eq(_, b) => self.constant(b),
            _ => None,
        };
        Ok(match (op, second) {
            (Op::Add(a, _) | Op::Sub(a, _) | Op::Or(a, _) | Op::Xor(a, _) | Op::Shl(a, _) | Op::Shr(a, _), Some(0))
            | (Op::Mul(a, _), Some(1)) => Some(a),
            (Op::And(_, b) | Op::Mul(_, b), Some(0)) => Some(b),
            // The mask keeps all bits of a that can be set.
            (Op::And(a, _), Some(mask))
                if self.range(a).0 >= 0
                    && mask >= 0
                    && mask & ones(bits(self.range(a))) == ones(bits(self.range(a))) =>
            {
                Some(a)
            }
            (Op::Mul(a, _), Some(factor)) if power(factor).is_some() => {
                let shift = self.number(power(factor).unwrap_or(0).into())?;
                Some(self.add(Op::Shl(a, shift))?)
            }
            (Op::Sub(a, b), _) if a == b => Some(self.number(0)?),
            (Op::Eq(a, b), _) if a == b => Some(self.number(1)?),
            (Op::Lt(a, b), _) if a == b => Some(self.number(0)?),
            (Op::And(a, b) | Op::Or(a, b), _) if a == b => Some(a),
            // A comparison of a condition with 1, and a double negation.
            (Op::Eq(a, _), Some(1)) if self.is_condition(a) => Some(a),
            (Op::Eq(a, _), Some(0)) => match self.get(a).op {
                Op::Eq(inner, zero) if self.constant(zero) == Some(0) && self.is_condition(inner) => Some(inner),
                _ => None,
            },
            (Op::Select(c, a, b), _) => match self.constant(c) {
                _ if a == b => Some(a),
                Some(0) => Some(b),
                Some(_) => Some(a),
                None => None,
            },
            (Op::Rem(a, d), _) if self.range(a).0 >= 0 && self.range(a).1 < d => Some(a),
            (Op::Rem(a, d), _) if power(d).is_some() => {
                let mask = self.number(d - 1)?;
                Some(self.add(Op::And(a, mask))?)
            }
            (Op::Div(a, d), _) if power(d).is_some() => {
                let shift = self.number(power(d).unwrap_or(0).into())?;
                Some(self.add(Op::Shr(a, shift))?)
            }
            _ => None,
        })
    }

    /// Whether a node is 0 or 1.
    pub(crate) fn is_condition(&self, node: Node) -> bool {
        let (least, most) = self.range(node);
        least >= 0 && most <= 1
    }

    /// The range of an operation for ranges of its operands; `None` beyond 127 bits.
    pub(crate) fn range_of(&self, op: Op, of: impl Fn(Node) -> (i128, i128)) -> Option<(i128, i128)> {
        let hull = |values: [i128; 4]| (values.into_iter().min(), values.into_iter().max());
        let all_ones = |most: i128| ones(bits((0, most)));
        let wide = |a: (i128, i128), b: (i128, i128)| {
            let most = all_ones(a.1.max(b.1).max(-1 - a.0.min(b.0)).max(0));
            (-1 - most, most)
        };
        Some(match op {
            Op::Const(value) => (value, value),
            Op::Loop(_) | Op::Read(_) => return None,
            Op::Add(a, b) => (of(a).0.checked_add(of(b).0)?, of(a).1.checked_add(of(b).1)?),
            Op::Sub(a, b) => (of(a).0.checked_sub(of(b).1)?, of(a).1.checked_sub(of(b).0)?),
            Op::Mul(a, b) => {
                let ((a0, a1), (b0, b1)) = (of(a), of(b));
                let (least, most) =
                    hull([a0.checked_mul(b0)?, a0.checked_mul(b1)?, a1.checked_mul(b0)?, a1.checked_mul(b1)?]);
                (least?, most?)
            }
            Op::And(a, b) => match (of(a), of(b)) {
                (a, b) if a.0 >= 0 && b.0 >= 0 => (0, a.1.min(b.1)),
                (a, _) if a.0 >= 0 => (0, a.1),
                (_, b) if b.0 >= 0 => (0, b.1),
                (a, b) => wide(a, b),
            },
            Op::Or(a, b) => match (of(a), of(b)) {
                (a, b) if a.0 >= 0 && b.0 >= 0 => (a.0.max(b.0), all_ones(a.1.max(b.1))),
                (a, b) => wide(a, b),
            },
            Op::Xor(a, b) => match (of(a), of(b)) {
                (a, b) if a.0 >= 0 && b.0 >= 0 => (0, all_ones(a.1.max(b.1))),
                (a, b) => wide(a, b),
            },
            Op::Shl(a, b) => {
                let (least, most) = of(b);
                let power =
                    |shift: i128| u32::try_from(shift).ok().filter(|shift| *shift < 127).map(|shift| 1i128 << shift);
                let (p0, p1) = (power(least)?, power(most)?);
                let (a0, a1) = of(a);
                let (least, most) =
                    hull([a0.checked_mul(p0)?, a0.checked_mul(p1)?, a1.checked_mul(p0)?, a1.checked_mul(p1)?]);
                (least?, most?)
            }
            Op::Shr(a, b) => {
                let shift = |shift: i128| u32::try_from(shift).ok().filter(|shift| *shift < 127);
                let (s0, s1) = (shift(of(b).0)?, shift(of(b).1)?);
                let (a0, a1) = of(a);
                let (least, most) = hull([a0 >> s0, a0 >> s1, a1 >> s0, a1 >> s1]);
                (least?, most?)
            }
            Op::Lt(a, b) => {
                let always = of(a).1 < of(b).0;
                let never = of(a).0 >= of(b).1;
                (i128::from(always), i128::from(!never))
            }
            Op::Eq(a, b) => {
                let apart = of(a).1 < of(b).0 || of(b).1 < of(a).0;
                (0, i128::from(!apart))
            }
            Op::Select(c, a, b) => match of(c) {
                (0, 0) => of(b),
                (least, _) if least > 0 => of(a),
                _ => (of(a).0.min(of(b).0), of(a).1.max(of(b).1)),
            },
            // Below zero, the remainder is that of Euclid. C has another one, and the source does not use it.
            Op::Div(a, d) => (of(a).0.div_euclid(d), of(a).1.div_euclid(d)),
            Op::Rem(a, d) if of(a).0 < 0 => (0, d - 1),
            Op::Rem(a, d) => (0, of(a).1.min(d - 1)),
        })
    }
}
