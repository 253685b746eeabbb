//! The packing trees of a job: the operands of each merge, and its engine.
//!
//! Node f of level j of a tile with 2^L places has the leaves f, f + 2^(L−j), …. Its children are the nodes f and f +
//! 2^(L−j) of level j − 1. The second child may have no leaves: then it is 0, and the merge has one operand.
//!
//! Leaf i of tile t is a row of engine (i + t) mod E, and node f of tile t is merged in engine (f + t) mod E. Because E
//! and the number of places are powers of two, each subtree below the top log2 E levels is in one engine, with every
//! E-th row. In the merges above, the second operand comes from another engine. Neither the number of merges nor the
//! result depends on E.

use super::job::Shape;

/// A node of a tile's tree. Level 0 contains the leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(crate) level: u32,
    pub(crate) tile: u32,
    pub(crate) place: u32,
}

/// The trees, and the buffers of the nodes that wait for their merge.
#[derive(Debug)]
pub(crate) struct Trees {
    shape: Shape,
    engines: u64,
    /// The index in `waiting` of each tile's first node.
    base: Vec<usize>,
    /// The buffer in which each node waits.
    waiting: Vec<Option<u8>>,
}

impl Trees {
    pub(crate) fn new(shape: Shape, engines: usize) -> Self {
        let mut base = Vec::new();
        let mut nodes = 0;
        for tile in 0..shape.tiles() {
            base.push(nodes);
            nodes += 2usize << shape.levels(tile);
        }
        Self { shape, engines: engines as u64, base, waiting: vec![None; nodes] }
    }

    /// The leaves of an engine in processing order: tile after tile, and within a tile in bit-reversed order, so that
    /// nodes complete depth first.
    pub(crate) fn leaves(&self, engine: usize) -> Vec<Node> {
        let mut leaves = Vec::new();
        for tile in 0..self.shape.tiles() {
            let levels = self.shape.levels(tile);
            let places = (0..1u64 << levels).map(|i| if levels == 0 { 0 } else { i.reverse_bits() >> (64 - levels) });
            let here = places.filter(|&place| place < self.shape.leaves(tile));
            let nodes = here.map(|place| Node { level: 0, tile: tile as u32, place: place as u32 });
            leaves.extend(nodes.filter(|&node| self.engine(node) == engine));
        }
        leaves
    }

    /// The number of merges of an engine.
    pub(crate) fn merges(&self, engine: usize) -> u64 {
        let in_tile = |tile: u64| -> u64 {
            let (leaves, levels) = (self.shape.leaves(tile), self.shape.levels(tile));
            let of_level = |level: u32| {
                let nodes = leaves.min(1 << (levels - level));
                // Places below `nodes` that are congruent to `first` modulo E.
                let first = (engine as u64 + self.engines - tile % self.engines) % self.engines;
                (nodes + self.engines - 1 - first) / self.engines
            };
            (1..=levels).map(of_level).sum()
        };
        (0..self.shape.tiles()).map(in_tile).sum()
    }

    /// The engine of a node: of its row's products, or of its merge.
    pub(crate) fn engine(&self, node: Node) -> usize {
        ((u64::from(node.place) + u64::from(node.tile)) % self.engines) as usize
    }

    pub(crate) fn is_root(&self, node: Node) -> bool {
        node.level == self.shape.levels(node.tile.into())
    }

    /// The parent of a node other than the root.
    pub(crate) fn parent(&self, node: Node) -> Node {
        let level = node.level + 1;
        let places = 1u32 << (self.shape.levels(node.tile.into()) - level);
        Node { level, place: node.place % places, ..node }
    }

    /// The operands of a merge.
    pub(crate) fn operands(&self, node: Node) -> (Node, Option<Node>) {
        let step = 1u32 << (self.shape.levels(node.tile.into()) - node.level);
        let even = Node { level: node.level - 1, ..node };
        let odd = Node { place: node.place + step, ..even };
        (even, (u64::from(odd.place) < self.shape.leaves(node.tile.into())).then_some(odd))
    }

    fn at(&self, node: Node) -> usize {
        self.base[node.tile as usize] + (1 << (self.shape.levels(node.tile.into()) - node.level)) + node.place as usize
    }

    /// Places a node's ciphertext in buffer `flow`. Returns the parent if all of its operands are now present.
    pub(crate) fn put(&mut self, node: Node, flow: usize) -> Option<Node> {
        let at = self.at(node);
        self.waiting[at] = Some(flow as u8);
        let parent = self.parent(node);
        let (even, odd) = self.operands(parent);
        let waits = |node: Node| self.waiting[self.at(node)].is_some();
        (waits(even) && odd.is_none_or(waits)).then_some(parent)
    }

    /// Removes the operands of a starting merge and returns their buffers.
    pub(crate) fn take(&mut self, node: Node) -> impl Iterator<Item = usize> + use<> {
        let (even, odd) = self.operands(node);
        let mut flow = |node: Node| {
            let at = self.at(node);
            self.waiting[at].take().map(usize::from)
        };
        let (even, odd) = (flow(even), odd.and_then(&mut flow));
        even.into_iter().chain(odd)
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::Job;
    use super::super::parts::Ring;
    use super::*;

    /// The complete trees of every shape: each inner node is merged once, in its engine.
    #[test]
    fn trees_have_the_merges_that_are_counted() {
        let ring = Ring { polynomial_size: 16, limbs: 2, special_limbs: 1, digits: 2 };
        for rows in 1..70 {
            for engines in [1, 2, 4, 8] {
                let shape = Job { rows, columns: 5 }.shape(&ring).expect("admissible");
                let mut trees = Trees::new(shape, engines);
                let mut merged = vec![0; engines];
                let mut roots = 0;
                let mut todo: Vec<Node> = (0..engines).flat_map(|engine| trees.leaves(engine)).collect();
                assert_eq!(todo.len() as u64, rows);
                while let Some(node) = todo.pop() {
                    if trees.is_root(node) {
                        roots += 1;
                        continue;
                    }
                    if let Some(parent) = trees.put(node, 3) {
                        let (even, odd) = trees.operands(parent);
                        assert_eq!(trees.engine(even), trees.engine(parent), "the first operand is there already");
                        assert_eq!(trees.take(parent).count(), 1 + usize::from(odd.is_some()));
                        merged[trees.engine(parent)] += 1;
                        todo.push(parent);
                    }
                }
                assert_eq!(roots, rows.div_ceil(16));
                let counted: Vec<u64> = (0..engines).map(|engine| trees.merges(engine)).collect();
                assert_eq!(merged, counted, "{rows} rows, {engines} engines");
                assert_eq!(merged.iter().sum::<u64>(), (0..shape.tiles()).map(|tile| shape.merges(tile)).sum::<u64>());
            }
        }
    }
}
