//! Names of signals.

use crate::ir::{Kernel, Node, NodeData, Op};

/// The names of a kernel's nodes.
pub(super) struct Names {
    names: Vec<String>,
}

impl Names {
    pub(super) fn new(number: usize, kernel: &Kernel) -> Self {
        let name = |(node, data): (Node, &NodeData)| match (data.op, kernel.graph.name_of(node)) {
            (Op::Loop(level), _) => format!("k{number}_l{level}_{}_q", kernel.loops[level].name.to_lowercase()),
            // The node has the value of a variable of the source.
            (_, Some(variable)) => format!("k{number}_{}_n{}", variable.to_lowercase(), node.index()),
            (_, None) => format!("k{number}_n{}", node.index()),
        };
        Self { names: kernel.graph.nodes().map(name).collect() }
    }

    pub(super) fn of(&self, node: Node) -> String {
        self.names[node.index()].clone()
    }
}
