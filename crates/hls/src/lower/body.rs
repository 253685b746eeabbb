//! The kernel under construction: its graph, its accesses, and the conditions around the present statement.

use std::collections::{BTreeMap, HashMap};

use super::facts::{self, Fact, Facts};
use crate::diagnostic::{Place, Problem, Result};
use crate::ir::{Access, Graph, Loop, Node, Op, Room};

/// A kernel under construction.
pub(super) struct Body {
    pub(super) place: Place,
    pub(super) loops: Vec<Loop>,
    pub(super) graph: Graph,
    pub(super) accesses: Vec<Access>,
    variables: Vec<Node>,
    /// The conditions around the present statement.
    conditions: Vec<Node>,
    /// The facts that follow from the conditions and from assertions. Ranges outside of conditions are in the graph.
    facts: Facts,
    /// Values of elements that were read or written in this iteration.
    elements: HashMap<usize, Vec<(Vec<Node>, Node)>>,
    /// Variables that outlive an iteration, with their present values.
    registers: BTreeMap<usize, Register>,
}

struct Register {
    value: Node,
    written: Option<Place>,
}

impl Body {
    pub(super) fn new(place: Place, loops: Vec<Loop>, room: Room) -> Result<Self> {
        let iterations: usize = loops.iter().map(|one| one.trips).product();
        let mut this = Self {
            place,
            loops,
            graph: Graph::within(iterations, room),
            accesses: Vec::new(),
            variables: Vec::new(),
            conditions: Vec::new(),
            facts: Facts::new([]),
            elements: HashMap::new(),
            registers: BTreeMap::new(),
        };
        let mut inner = iterations;
        for level in 0..this.loops.len() {
            let one = &this.loops[level];
            inner /= one.trips;
            let value = |iteration: usize| one.first + one.step * (iteration / inner % one.trips) as i64;
            let values: Box<[i64]> = (0..iterations).map(value).collect();
            let node = this.graph.variable(level, values).map_err(|full| refused(place, full))?;
            this.variables.push(node);
        }
        Ok(this)
    }

    /// The variable of a loop.
    pub(super) fn variable(&self, level: usize) -> Node {
        self.variables[level]
    }

    pub(super) fn add(&mut self, op: Op, place: Place) -> Result<Node> {
        self.graph.add(op).map_err(|full| refused(place, full))
    }

    pub(super) fn number(&mut self, value: i128, place: Place) -> Result<Node> {
        self.graph.number(value).map_err(|full| refused(place, full))
    }

    /// Whether a node is not 0, as a condition.
    pub(super) fn truth(&mut self, node: Node, place: Place) -> Result<Node> {
        if self.graph.is_condition(node) {
            return Ok(node);
        }
        let zero = self.number(0, place)?;
        let is_zero = self.add(Op::Eq(node, zero), place)?;
        self.not(is_zero, place)
    }

    pub(super) fn not(&mut self, condition: Node, place: Place) -> Result<Node> {
        let zero = self.number(0, place)?;
        self.add(Op::Eq(condition, zero), place)
    }

    /// The number of conditions around the present statement.
    pub(super) fn depth(&self) -> usize {
        self.conditions.len()
    }

    pub(super) fn enter(&mut self, condition: Node) {
        let facts = facts::of(&self.graph, condition, true);
        self.conditions.push(condition);
        self.facts.enter(facts);
    }

    pub(super) fn leave(&mut self) {
        self.conditions.pop();
        self.facts.leave();
    }

    /// Whether all conditions from the `from`-th on hold; `None` if there are none.
    pub(super) fn condition(&mut self, from: usize, place: Place) -> Result<Option<Node>> {
        let conditions = self.conditions[from..].to_vec();
        let mut all = None;
        for condition in conditions {
            all = Some(match all {
                None => condition,
                Some(earlier) => self.add(Op::And(earlier, condition), place)?,
            });
        }
        Ok(all)
    }

    /// Notes the facts of an assertion. Outside of conditions, they hold for the whole kernel, as does the range of an element
    /// that is read under the conditions of the assertion only.
    pub(super) fn assert(&mut self, condition: Node, place: Place) -> Result<()> {
        let around = self.condition(0, place)?;
        for fact in facts::of(&self.graph, condition, true) {
            let everywhere = match fact {
                Fact::Range(node, _) => around.is_none() || self.is_read_under(around, node),
                Fact::NotBelow(..) => around.is_none(),
            };
            match fact {
                Fact::Range(node, range) if everywhere => self.graph.narrow(node, range),
                _ => self.facts.add(fact),
            }
        }
        Ok(())
    }

    /// Whether a node is the element of a read under exactly these conditions.
    fn is_read_under(&self, conditions: Option<Node>, node: Node) -> bool {
        matches!(self.graph.get(node).op, Op::Read(access) if self.accesses[access].condition == conditions)
    }

    /// The range of a node if the conditions around the present statement hold.
    pub(super) fn range(&self, node: Node) -> (i128, i128) {
        self.facts.range(&self.graph, node)
    }

    /// The iterations in which the conditions around the present statement can hold.
    pub(super) fn iterations(&self) -> impl Iterator<Item = usize> {
        let count: usize = self.loops.iter().map(|one| one.trips).product();
        let holds =
            |iteration: usize| !self.conditions.iter().any(|condition| self.graph.is_false_in(*condition, iteration));
        (0..count).filter(move |&iteration| holds(iteration))
    }

    /// `condition ? yes : no`, whose range follows from the condition.
    pub(super) fn select(&mut self, condition: Node, yes: Node, no: Node, place: Place) -> Result<Node> {
        let range =
            |holds: bool, node: Node| Facts::new(facts::of(&self.graph, condition, holds)).range(&self.graph, node);
        let (a, b) = (range(true, yes), range(false, no));
        let node = self.add(Op::Select(condition, yes, no), place)?;
        if matches!(self.graph.get(node).op, Op::Select(..)) {
            self.graph.narrow(node, (a.0.min(b.0), a.1.max(b.1)));
        }
        Ok(node)
    }

    /// Reads an element.
    pub(super) fn read(
        &mut self,
        memory: usize,
        indices: Vec<Node>,
        range: (i128, i128),
        place: Place,
    ) -> Result<Node> {
        self.read_known(memory, indices, range, None, place)
    }

    /// Reads an element. `values` are its values in each iteration, if they are known.
    pub(super) fn read_known(
        &mut self,
        memory: usize,
        indices: Vec<Node>,
        range: (i128, i128),
        values: Option<Box<[i64]>>,
        place: Place,
    ) -> Result<Node> {
        if let Some((_, value)) =
            self.elements.get(&memory).and_then(|known| known.iter().find(|(given, _)| *given == indices))
        {
            return Ok(*value);
        }
        let condition = self.condition(0, place)?;
        let access = self.accesses.len();
        let value = self.graph.read(access, range, values).map_err(|full| refused(place, full))?;
        self.accesses.push(Access { memory, indices: indices.clone(), written: None, condition, place });
        // Under a condition, it is read only in some iterations.
        if condition.is_none() {
            self.elements.entry(memory).or_default().push((indices, value));
        }
        Ok(value)
    }

    /// Writes an element.
    pub(super) fn write(&mut self, memory: usize, indices: Vec<Node>, value: Node, place: Place) -> Result<()> {
        let condition = self.condition(0, place)?;
        let known = self.elements.entry(memory).or_default();
        // The written element may be any of the known ones.
        known.clear();
        if condition.is_none() {
            known.push((indices.clone(), value));
        }
        self.accesses.push(Access { memory, indices, written: Some(value), condition, place });
        Ok(())
    }

    /// The value of a variable that outlives an iteration.
    pub(super) fn register(&mut self, memory: usize, range: (i128, i128), place: Place) -> Result<Node> {
        if let Some(register) = self.registers.get(&memory) {
            return Ok(register.value);
        }
        let access = self.accesses.len();
        let value = self.graph.read(access, range, None).map_err(|full| refused(place, full))?;
        self.accesses.push(Access { memory, indices: Vec::new(), written: None, condition: None, place });
        self.registers.insert(memory, Register { value, written: None });
        Ok(value)
    }

    pub(super) fn set_register(&mut self, memory: usize, value: Node, place: Place) {
        self.registers.insert(memory, Register { value, written: Some(place) });
    }

    /// Writes back the variables that outlive the iteration.
    pub(super) fn write_variables(&mut self) {
        for (memory, register) in std::mem::take(&mut self.registers) {
            if let Some(place) = register.written {
                let written = Some(register.value);
                self.accesses.push(Access { memory, indices: Vec::new(), written, condition: None, place });
            }
        }
    }
}

fn refused(place: Place, full: crate::ir::Full) -> Problem {
    let (what, way_out) = full.what();
    Problem::new(place, what, way_out)
}
