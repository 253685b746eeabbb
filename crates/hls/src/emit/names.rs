//! Names of signals.

use crate::ir::{Kernel, Node, Op};

/// The names of a kernel's nodes.
pub(super) struct Names {
    names: Vec<String>,
}

impl Names {
    pub(super) fn new(number: usize, kernel: &Kernel) -> Self {
        let name = |(node, data): (Node, &crate::ir::NodeData)| match data.op {
            Op::Loop(level) => format!("k{number}_{}_q", kernel.loops[level].name.to_lowercase()),
            _ => format!("k{number}_n{}", node.index()),
        };
        Self { names: kernel.graph.nodes().map(name).collect() }
    }

    pub(super) fn of(&self, node: Node) -> String {
        self.names[node.index()].clone()
    }
}
