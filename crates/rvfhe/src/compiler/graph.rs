//! The dependency graph of one core's share, by positions. It is the same for all cores.

use std::rc::Rc;

use super::factors::{Factor, Factors, Role};
use super::layout::{IndexBit, Layout, Place};
use super::plan::{Phase, Reshuffle, Work};
use super::target::Target;

/// The number of a node, in order of creation. A node depends only on earlier ones.
pub(crate) type NodeId = u32;
/// The number of a vector, from its load into a register to its last use.
pub(crate) type ValueId = u32;

/// A source of factors.
#[derive(Debug)]
pub(crate) enum FactorSet {
    /// Roots of unity.
    Transform(Factors),
    /// One factor for each index, from a prepared operand.
    Operand(Vec<Factor>),
    /// An operand of N unknown values, with its number. The placeholder has only distinct factors, which no other set
    /// shares, so that it needs the maximum of memory.
    Unknown { size: u32, number: u32 },
}

impl FactorSet {
    pub(crate) fn at(&self, role: Role, index: u32) -> Factor {
        match self {
            Self::Transform(factors) => factors.at(role, index),
            Self::Operand(factors) => factors[index as usize],
            // The factors of other sets are below 2^31.
            Self::Unknown { number, .. } => (u32::MAX - index, *number),
        }
    }

    fn depends_on(&self, role: Role) -> u32 {
        match self {
            Self::Transform(factors) => factors.depends_on(role),
            Self::Operand(factors) => factors.len() as u32 - 1,
            Self::Unknown { size, .. } => size - 1,
        }
    }
}

/// The content of a twiddle register. Equal keys have the same content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FactorKey {
    /// The index in [`Graph::sets`].
    pub set: usize,
    pub role: Role,
    /// The index in [`Graph::layouts`].
    pub layout: usize,
    /// The position, without the bits on which the factor does not depend.
    pub position: u32,
}

/// A region of each core's data memory for a polynomial in one layout.
#[derive(Debug)]
pub(crate) struct Region {
    pub rows: u32,
    pub reshuffle: Reshuffle,
}

/// The operation of a node.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Loads a row into a register. A kept row can be read again.
    Load { value: ValueId, from: Place, layout: usize, position: u32, keep: bool },
    /// Updates two values in place. Their positions differ only in the slot of the level; `position` is that of `low`.
    Butterfly { low: ValueId, high: ValueId, factor: FactorKey, bit: IndexBit, position: u32 },
    /// Updates a value in place.
    Multiply { value: ValueId, factor: FactorKey },
    /// Adds a value to another one and releases it.
    Add { to: ValueId, from: ValueId },
    /// Sends a value, which releases its register.
    Send { value: ValueId, to: Place, layout: usize, position: u32 },
}

/// The part of a core that executes a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Load,
    Compute,
    Send,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub action: Action,
    /// The transform in flight. Earlier ones have priority.
    pub stream: usize,
    /// The dependent nodes, with the latency from this node's issue.
    pub then: Vec<(NodeId, u32)>,
    pub waits_for: u32,
    /// The group of rows.
    pub group: usize,
    /// For loads: the value is added to another one.
    pub passing: bool,
}

impl Node {
    pub(crate) fn unit(&self) -> Unit {
        match self.action {
            Action::Load { .. } => Unit::Load,
            Action::Send { .. } => Unit::Send,
            _ => Unit::Compute,
        }
    }

    pub(crate) fn factor(&self) -> Option<&FactorKey> {
        match &self.action {
            Action::Butterfly { factor, .. } | Action::Multiply { factor, .. } => Some(factor),
            _ => None,
        }
    }
}

/// Rows that are in registers at the same time.
#[derive(Debug)]
pub(crate) struct Group {
    pub stream: usize,
    pub loads: Vec<NodeId>,
}

/// All nodes of a program.
#[derive(Debug)]
pub(crate) struct Graph {
    pub nodes: Vec<Node>,
    pub groups: Vec<Group>,
    pub regions: Vec<Region>,
    /// Vectors per number: two for complex numbers.
    pub width: u32,
    pub layouts: Vec<Rc<Layout>>,
    pub sets: Vec<FactorSet>,
    pub values: u32,
}

/// The sends that fill a place, by position; empty for the scratchpad.
pub(crate) type Filled = Vec<NodeId>;

/// A source of a phase's values: a place, the sends that fill it, and whether others read it again. Several inputs are
/// each multiplied by the factors of their sets and summed.
pub(crate) struct Input {
    pub place: Place,
    pub filled: Filled,
    pub keep: bool,
    pub set: Option<usize>,
}

impl Graph {
    pub(crate) fn new(width: u32) -> Self {
        Self {
            nodes: Vec::new(),
            groups: Vec::new(),
            regions: Vec::new(),
            width,
            layouts: Vec::new(),
            sets: Vec::new(),
            values: 0,
        }
    }

    /// Allocates a region for the rows of a phase, with the reshuffle of its reader.
    pub(crate) fn region(&mut self, from: &Phase, reshuffle: Reshuffle) -> Place {
        self.regions.push(Region { rows: from.layout.row_count(), reshuffle });
        Place::Region(self.regions.len() - 1)
    }

    pub(crate) fn layout(&mut self, layout: &Layout) -> usize {
        self.layouts.iter().position(|known| **known == *layout).unwrap_or_else(|| {
            self.layouts.push(Rc::new(layout.clone()));
            self.layouts.len() - 1
        })
    }

    fn node(&mut self, stream: usize, action: Action, after: &[(NodeId, u32)]) -> NodeId {
        let id = self.nodes.len() as NodeId;
        for (before, latency) in after {
            self.nodes[*before as usize].then.push((id, *latency));
        }
        let waits_for = after.len() as u32;
        let group = self.groups.len() - 1;
        self.nodes.push(Node { action, stream, then: Vec::new(), waits_for, group, passing: false });
        id
    }

    fn load(&mut self, stream: usize, action: Action, after: &[(NodeId, u32)], passing: bool) -> NodeId {
        let id = self.node(stream, action, after);
        let node = &mut self.nodes[id as usize];
        node.passing = passing;
        self.groups[node.group].loads.push(id);
        id
    }

    /// Adds the nodes of consecutive phases, from the inputs to a place. Returns the sends of the last phase, by
    /// position.
    pub(crate) fn chain(
        &mut self,
        target: &Target,
        stream: usize,
        mut inputs: Vec<Input>,
        phases: &[Phase],
        to: Place,
    ) -> Filled {
        for (at, phase) in phases.iter().enumerate() {
            let next = match phases.get(at + 1) {
                None => to,
                Some(next) => {
                    let reshuffle = next.reshuffle.clone().expect("only the first phase has none");
                    self.region(phase, reshuffle)
                }
            };
            let filled = self.phase(target, stream, &inputs, phase, next);
            inputs = vec![Input { place: next, filled, keep: false, set: None }];
        }
        inputs.pop().map_or_else(Vec::new, |input| input.filled)
    }

    fn phase(&mut self, target: &Target, stream: usize, inputs: &[Input], phase: &Phase, to: Place) -> Filled {
        let number = self.layout(&phase.layout);
        let layout = Rc::clone(&self.layouts[number]);
        let slots = phase.works.iter().filter_map(|work| match work {
            Work::Level { bit, .. } => layout.row_slot(*bit),
            Work::Multiply { .. } => None,
        });
        let in_group = slots.fold(0_u32, |mask, slot| mask | 1 << slot);
        let rows = layout.row_count();
        let mut sends = vec![NodeId::MAX; rows as usize];
        for first in (0..rows).filter(|position| position & in_group == 0) {
            let positions: Vec<u32> = (0..rows).filter(|position| position & !in_group == first).collect();
            self.groups.push(Group { stream, loads: Vec::new() });
            // The value at each position, the node that computes it, and its latency.
            let mut current: Vec<(ValueId, NodeId, u32)> = Vec::new();
            for &position in &positions {
                let value = self.input(target, stream, inputs, number, position);
                current.push(value);
            }
            for (at, work) in phase.works.iter().enumerate() {
                let first = self.nodes.len();
                self.work(target, stream, number, work, &positions, &mut current);
                if at == 0 && target.per_phase {
                    self.wait_for_loads(target, first);
                }
            }
            for (position, (value, maker, latency)) in positions.iter().zip(current) {
                let action = Action::Send { value, to, layout: number, position: *position };
                sends[*position as usize] = self.node(stream, action, &[(maker, latency)]);
            }
        }
        sends
    }

    /// Makes all nodes from index `from` on depend on the loads of the group.
    fn wait_for_loads(&mut self, target: &Target, from: usize) {
        let loads = self.groups.last().map_or(Vec::new(), |group| group.loads.clone());
        for load in loads {
            let Action::Load { from: place, .. } = self.nodes[load as usize].action else { continue };
            let latency = target.load_latency(place);
            for id in from..self.nodes.len() {
                self.nodes[load as usize].then.push((id as NodeId, latency));
                self.nodes[id].waits_for += 1;
            }
        }
    }

    /// The value at a position: one input, or the sum of several products.
    fn input(
        &mut self,
        target: &Target,
        stream: usize,
        inputs: &[Input],
        layout: usize,
        position: u32,
    ) -> (ValueId, NodeId, u32) {
        let mut sum: Option<(ValueId, NodeId, u32)> = None;
        for input in inputs {
            let value = self.values;
            self.values += 1;
            let after = self.sources(target, input, position);
            let action = Action::Load { value, from: input.place, layout, position, keep: input.keep };
            let load = self.load(stream, action, &after, sum.is_some());
            let mut made = (value, load, target.load_latency(input.place));
            if let Some(set) = input.set {
                made = self.multiply(target, stream, layout, set, Role::Scale, position, made);
            }
            sum = Some(match sum {
                None => made,
                Some((to, maker, latency)) => {
                    let action = Action::Add { to, from: made.0 };
                    (to, self.node(stream, action, &[(maker, latency), (made.1, made.2)]), target.sum_latency)
                }
            });
        }
        sum.expect("a phase has an input")
    }

    /// The sends on which a load depends.
    fn sources(&self, target: &Target, input: &Input, position: u32) -> Vec<(NodeId, u32)> {
        let Place::Region(region) = input.place else { return Vec::new() };
        let reshuffle = &self.regions[region].reshuffle;
        let tile = reshuffle.tile.slots.iter().fold(0_u32, |mask, slot| mask | 1 << slot);
        let latency = target.reshuffle_latency(!reshuffle.swaps.is_empty());
        (0_u32..)
            .zip(&input.filled)
            .filter(|(from, _)| from & !tile == position & !tile)
            .map(|(_, send)| (*send, latency))
            .collect()
    }

    fn factor(&self, set: usize, role: Role, layout: usize, position: u32) -> FactorKey {
        let depends_on = self.sets[set].depends_on(role);
        let rows = self.layouts[layout].rows.iter().enumerate();
        let mask = rows.fold(0, |mask, (slot, row)| mask | (depends_on >> row.bit & 1) << slot);
        FactorKey { set, role, layout, position: position & mask }
    }

    #[expect(clippy::too_many_arguments, reason = "a node and where it is")]
    fn multiply(
        &mut self,
        target: &Target,
        stream: usize,
        layout: usize,
        set: usize,
        role: Role,
        position: u32,
        (value, maker, latency): (ValueId, NodeId, u32),
    ) -> (ValueId, NodeId, u32) {
        let factor = self.factor(set, role, layout, position);
        let node = self.node(stream, Action::Multiply { value, factor }, &[(maker, latency)]);
        (value, node, target.product_latency)
    }

    fn work(
        &mut self,
        target: &Target,
        stream: usize,
        layout: usize,
        work: &Work,
        positions: &[u32],
        current: &mut [(ValueId, NodeId, u32)],
    ) {
        match *work {
            Work::Multiply { set, role } => {
                for (position, made) in positions.iter().zip(current) {
                    *made = self.multiply(target, stream, layout, set, role, *position, *made);
                }
            }
            Work::Level { bit, set } => {
                let slot = self.layouts[layout].row_slot(bit).expect("a phase's levels are on its rows");
                for low in (0..positions.len()).filter(|at| positions[*at] >> slot & 1 == 0) {
                    let position = positions[low];
                    let high =
                        positions.binary_search(&(position | 1 << slot)).expect("a group has both rows of each pair");
                    let factor = self.factor(set, Role::Level(bit), layout, position);
                    let ((low_value, low_maker, low_latency), (high_value, high_maker, high_latency)) =
                        (current[low], current[high]);
                    let action = Action::Butterfly { low: low_value, high: high_value, factor, bit, position };
                    let node = self.node(stream, action, &[(low_maker, low_latency), (high_maker, high_latency)]);
                    let times = target.butterfly(self.width);
                    current[low] = (low_value, node, times.latency);
                    current[high] = (high_value, node, times.latency + times.second);
                }
            }
        }
    }
}
