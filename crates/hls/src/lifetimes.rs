//! The values of a kernel that the hardware has, and the last cycle of each.

use std::collections::BTreeMap;

use crate::analysis::{Layout, is_registers};
use crate::compile::Scheduled;
use crate::ir::{Graph, Memory, Node};
use crate::pragma::Mode;
use crate::schedule::MEMORY_CYCLES;

/// The last cycle in which each node is used. Constants and unused nodes are absent.
pub(crate) struct Lifetimes(BTreeMap<Node, u32>);

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
            // A stream has no address.
            if memory.mode == Some(Mode::Stream) {
                continue;
            }
            if !is_registers(memory) {
                this.need(graph, scheduled.addresses[number].row, cycle);
            }
            if Layout::of(memory).banks > 1 {
                // The element is selected among the banks when the memory returns it.
                let returns = access.written.is_none() && !is_registers(memory);
                let later = if returns { MEMORY_CYCLES } else { 0 };
                this.need(graph, scheduled.addresses[number].bank, cycle + later);
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
            let last = self.0.entry(node).or_insert(cycle);
            *last = (*last).max(cycle);
        }
    }

    /// The nodes that the hardware has, in their order.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Node> {
        self.0.keys().copied()
    }

    /// The last cycle in which a node is used.
    pub(crate) fn last(&self, node: Node) -> Option<u32> {
        self.0.get(&node).copied()
    }
}
