//! Which values of a kernel the hardware has, and until which cycle.

use std::collections::BTreeMap;

use crate::analysis::{Layout, is_registers};
use crate::compile::Scheduled;
use crate::ir::{Graph, Memory, Node, Op, bits};

/// The bits of a node with those of its sign, and whether it can be below zero.
pub(super) fn width(graph: &Graph, node: Node) -> (u32, bool) {
    let (least, most) = graph.range(node);
    if least < 0 { (bits((0, most.max(-1 - least))) + 1, true) } else { (bits((0, most)), false) }
}

/// The last cycle in which each node is used. Constants, and nodes that nothing uses, are absent.
pub(super) struct Lifetimes(BTreeMap<Node, u32>);

impl Lifetimes {
    pub(super) fn of(scheduled: &Scheduled, memories: &[Memory]) -> Self {
        let (kernel, schedule) = (&scheduled.kernel, &scheduled.schedule);
        let mut this = Self(BTreeMap::new());
        let graph = &kernel.graph;
        for (number, access) in kernel.accesses.iter().enumerate() {
            let (memory, cycle) = (&memories[access.memory], schedule.accesses[number]);
            this.need(graph, scheduled.addresses[number].row, cycle);
            if Layout::of(memory).banks > 1 {
                // The element that a memory returns is selected among the banks a cycle later.
                let later = u32::from(access.written.is_none() && !is_registers(memory));
                this.need(graph, scheduled.addresses[number].bank, cycle + later);
            }
            for node in access.condition.into_iter().chain(access.written) {
                this.need(graph, node, cycle);
            }
        }
        // Operands come before the nodes that use them.
        let nodes: Vec<Node> = graph.nodes().map(|(node, _)| node).collect();
        for node in nodes.into_iter().rev().filter(|node| graph.constant(*node).is_none()) {
            if this.0.contains_key(&node) {
                let op = graph.get(node).op;
                let cycle = schedule.nodes[node.index()].0;
                let registers = if matches!(op, Op::Mul(..)) { scheduled.registers[node.index()] } else { 0 };
                for operand in op.operands() {
                    this.need(graph, operand, cycle.saturating_sub(registers));
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
    pub(super) fn nodes(&self) -> impl Iterator<Item = Node> {
        self.0.keys().copied()
    }

    /// The last cycle in which a node is used.
    pub(super) fn last(&self, node: Node) -> Option<u32> {
        self.0.get(&node).copied()
    }
}
