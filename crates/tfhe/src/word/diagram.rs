//! Decision diagrams: functions of words with a CMux for each node.

use super::SelectorId;
use super::table::{MAX_DIGITS, MAX_POSITIONS, TableError};

/// Nodes of the largest diagram.
const MAX_NODES: usize = 100_000;
/// The most nodes whose values are in use at one time during a look-up: 32 MiB at N' = 2048.
pub const MAX_LIVE_NODES: usize = 1024;

/// Where an edge of a diagram leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edge {
    /// To a constant digit, 0 to 3.
    Digit(u8),
    /// To the node of this index.
    Node(u32),
    /// To a node, whose value is raised by a constant digit, 1 to 3, modulo 4. It costs no CMux and adds no noise.
    Raised {
        /// The index of the node.
        node: u32,
        /// The constant.
        digit: u8,
    },
}

impl Edge {
    /// The node that it leads to, and the constant digit that it adds.
    pub(crate) fn parts(self) -> (Option<u32>, u8) {
        match self {
            Self::Digit(digit) => (None, digit),
            Self::Node(node) => (Some(node), 0),
            Self::Raised { node, digit } => (Some(node), digit),
        }
    }

    /// The same, raised by a constant digit.
    ///
    /// # Example
    /// ```
    /// use ciphermill_tfhe::word::Edge;
    /// assert_eq!(Edge::Digit(3).raised(2), Edge::Digit(1));
    /// assert_eq!(Edge::Node(7).raised(3).raised(1), Edge::Node(7));
    /// ```
    #[must_use]
    pub fn raised(self, by: u8) -> Self {
        match self.parts() {
            (None, digit) => Self::Digit((digit + by) % 4),
            (Some(node), digit) => match (digit + by) % 4 {
                0 => Self::Node(node),
                digit => Self::Raised { node, digit },
            },
        }
    }
}

/// A node: where the selector is 0, the value of one edge; where it is 1, that of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The bit that decides.
    pub selector: SelectorId,
    /// The edge for 0, then that for 1.
    pub edges: [Edge; 2],
}

/// A function of words as a decision diagram with a root for each output digit. Nodes come before those with edges to them.
///
/// # Example
/// ```
/// use ciphermill_tfhe::word::{Diagram, Edge, Node, SelectorId};
/// // 3 if the digit at position 7 is 2 or 3, else 0.
/// let node = Node { selector: SelectorId { position: 7, high: true }, edges: [Edge::Digit(0), Edge::Digit(3)] };
/// let diagram = Diagram::new(vec![node], vec![Edge::Node(0)])?;
/// assert_eq!(diagram.depth(), 1);
/// assert_eq!(diagram.value(&|position| if position == 7 { 2 } else { 0 }), [3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagram {
    nodes: Vec<Node>,
    outputs: Vec<Edge>,
    depth: usize,
    /// For each node the last node that reads it; the number of nodes for an output, `None` where nothing reads it.
    readers: Vec<Option<usize>>,
}

impl Diagram {
    /// A diagram of nodes, children before parents, with the root of each output digit, the lowest first.
    ///
    /// # Errors
    /// [`TableError`] for an edge to a node that does not come before, a constant above 3, an edge that is raised by 0, a position
    /// above 63, and too many nodes or outputs. Also for a selector that occurs twice on a path: the noises of one selector do not add like those of
    /// several.
    pub fn new(nodes: Vec<Node>, outputs: Vec<Edge>) -> Result<Self, TableError> {
        Self::check_sizes(nodes.len(), outputs.len())?;
        let mut depths = Vec::with_capacity(nodes.len());
        // The selectors on the paths below each node, a bit for each.
        let mut below: Vec<u128> = Vec::with_capacity(nodes.len());
        let depth_of = |depths: &[usize], node: usize, edge: Edge| match edge {
            Edge::Digit(0..=3) => Ok(0),
            Edge::Digit(value) | Edge::Raised { digit: value @ (0 | 4..), .. } => {
                Err(TableError::Entry { index: node, value: value.into(), bits: 2, max: 3 })
            }
            Edge::Node(to) | Edge::Raised { node: to, .. } => {
                depths.get(to as usize).copied().ok_or(TableError::Forward { node, to })
            }
        };
        for (index, node) in nodes.iter().enumerate() {
            if usize::from(node.selector.position) >= MAX_POSITIONS {
                return Err(TableError::Position { given: node.selector.position, max: MAX_POSITIONS as u8 - 1 });
            }
            let [zero, one] = node.edges.map(|edge| depth_of(&depths, index, edge));
            depths.push(1 + zero?.max(one?));
            let own = 1 << (2 * u32::from(node.selector.position) + u32::from(node.selector.high));
            let nodes = node.edges.iter().filter_map(|edge| edge.parts().0);
            let reached = nodes.fold(0, |reached, to| reached | below[to as usize]);
            if reached & own != 0 {
                return Err(TableError::RepeatedSelector { node: index, position: node.selector.position });
            }
            below.push(reached | own);
        }
        let mut depth = 0;
        for &output in &outputs {
            depth = depth.max(depth_of(&depths, nodes.len(), output)?);
        }
        let readers = readers(&nodes, &outputs);
        let live = most_live(&readers);
        if live > MAX_LIVE_NODES {
            return Err(TableError::Size {
                what: "nodes in use at one time",
                given: live,
                min: 0,
                max: MAX_LIVE_NODES,
            });
        }
        Ok(Self { nodes, outputs, depth, readers })
    }

    /// Refuses numbers of nodes and outputs that are out of range.
    pub(crate) fn check_sizes(nodes: usize, outputs: usize) -> Result<(), TableError> {
        for (what, given, min, max) in [("nodes", nodes, 0, MAX_NODES), ("output digits", outputs, 1, MAX_DIGITS)] {
            if !(min..=max).contains(&given) {
                return Err(TableError::Size { what, given, min, max });
            }
        }
        Ok(())
    }

    /// The nodes, children before parents.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The root of each output digit, the lowest first.
    #[must_use]
    pub fn outputs(&self) -> &[Edge] {
        &self.outputs
    }

    /// The longest path from an output to a constant, in nodes.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// For each node the last node that reads it: the number of nodes if an output does, `None` if nothing does.
    pub(crate) fn readers(&self) -> &[Option<usize>] {
        &self.readers
    }

    /// The selectors that it reads, each once, in order.
    pub(super) fn selectors(&self) -> Vec<SelectorId> {
        let read = self.nodes.iter().zip(&self.readers).filter(|(_, reader)| reader.is_some());
        let mut selectors: Vec<_> = read.map(|(node, _)| node.selector).collect();
        selectors.sort_unstable();
        selectors.dedup();
        selectors
    }

    /// The value of the output digits for the digits at all positions.
    #[must_use]
    pub fn value(&self, digit_at: &dyn Fn(u8) -> u8) -> Vec<u8> {
        let follow = |mut edge: Edge| loop {
            let (Some(index), raised) = edge.parts() else { return edge.parts().1 };
            let node = &self.nodes[index as usize];
            let bit = node.selector.bit().of(digit_at(node.selector.position));
            edge = node.edges[usize::from(bit)].raised(raised);
        };
        self.outputs.iter().map(|&output| follow(output)).collect()
    }
}

/// The last reader of each node, of the nodes that an output needs.
fn readers(nodes: &[Node], outputs: &[Edge]) -> Vec<Option<usize>> {
    let mut readers: Vec<Option<usize>> = vec![None; nodes.len()];
    for &output in outputs {
        if let (Some(index), _) = output.parts() {
            readers[index as usize] = Some(nodes.len());
        }
    }
    // From the last node down, so that the first reader found is the last one.
    for index in (0..nodes.len()).rev() {
        if readers[index].is_some() {
            for edge in nodes[index].edges {
                if let (Some(child), _) = edge.parts() {
                    readers[child as usize] = readers[child as usize].or(Some(index));
                }
            }
        }
    }
    readers
}

/// The most nodes whose values are in use at one time.
fn most_live(readers: &[Option<usize>]) -> usize {
    let mut freed = vec![0usize; readers.len() + 1];
    let (mut live, mut most) = (0usize, 0);
    for (index, reader) in readers.iter().enumerate() {
        if let Some(reader) = reader {
            live += 1;
            freed[*reader] += 1;
            most = most.max(live);
        }
        live -= freed[index];
    }
    most
}
