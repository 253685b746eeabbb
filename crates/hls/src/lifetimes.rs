//! The values of a kernel that the hardware has, and the cycles in which each is used.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::read_cycles;
use crate::compile::Scheduled;
use crate::ir::{Graph, Memory, Node};

/// The cycles in which each node is used. Constants and unused nodes are absent.
pub(crate) struct Lifetimes(BTreeMap<Node, BTreeSet<u32>>);

impl Lifetimes {
    pub(crate) fn of(scheduled: &Scheduled, memories: &[Memory]) -> Self {
        let (kernel, schedule) = (&scheduled.kernel, &scheduled.schedule);
        let mut this = Self(BTreeMap::new());
        let graph = &kernel.graph;
        for (number, access) in kernel.accesses.iter().enumerate().filter(|(number, _)| scheduled.is_used(*number)) {
            let (memory, cycle) = (&memories[access.memory], schedule.accesses[number]);
            for node in access.condition.into_iter().chain(access.written) {
                this.need(graph, node, cycle);
            }
            let (bank, row) = scheduled.addresses[number].needed(memory);
            if let Some(row) = row {
                this.need(graph, row, cycle);
            }
            if let Some(bank) = bank {
                // The element is selected among the banks when the memory returns it.
                let later = if access.written.is_none() { read_cycles(memory) } else { 0 };
                this.need(graph, bank, cycle + later);
            }
        }
        // Operands come before the nodes that use them.
        let nodes: Vec<Node> = graph.nodes().map(|(node, _)| node).collect();
        for node in nodes.into_iter().rev().filter(|node| graph.constant(*node).is_none()) {
            if this.0.contains_key(&node) {
                let begin = schedule.nodes[node.index()].0 - scheduled.registers[node.index()];
                for operand in graph.get(node).op.operands() {
                    this.need(graph, operand, begin);
                }
            }
        }
        this
    }

    fn need(&mut self, graph: &Graph, node: Node, cycle: u32) {
        if graph.constant(node).is_none() {
            self.0.entry(node).or_default().insert(cycle);
        }
    }

    /// The nodes that the hardware has, in their order.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Node> {
        self.0.keys().copied()
    }

    /// The last cycle in which a node is used.
    pub(crate) fn last(&self, node: Node) -> Option<u32> {
        self.0.get(&node)?.last().copied()
    }

    /// The cycles between one use of a node and the next one, from the cycle in which it has its value.
    pub(crate) fn waits(&self, node: Node, from: u32) -> impl Iterator<Item = u32> {
        let mut before = from;
        self.0.get(&node).into_iter().flatten().map(move |&cycle| {
            let wait = cycle.saturating_sub(before);
            before = before.max(cycle);
            wait
        })
    }
}
