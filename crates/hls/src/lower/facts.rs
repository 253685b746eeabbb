//! Facts that follow from a condition, and the ranges of nodes that follow from them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use crate::ir::{Graph, Node, Op};

type Range = (i128, i128);

/// A fact that follows from a condition.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fact {
    /// The range of a node.
    Range(Node, Range),
    /// The first node is not below the second one.
    NotBelow(Node, Node),
}

/// The greatest number of operations from a node down to a node with a fact.
const DEPTH: usize = 12;

/// Facts that hold at the present statement, and the ranges of nodes that follow from them.
pub(super) struct Facts {
    /// The facts outside of conditions, then those of each condition around the statement.
    levels: Vec<Level>,
}

#[derive(Default)]
struct Level {
    /// Ranges of nodes. They include what outer levels know.
    known: HashMap<Node, Range>,
    not_below: HashSet<(Node, Node)>,
}

impl Facts {
    pub(super) fn new(facts: impl IntoIterator<Item = Fact>) -> Self {
        let mut this = Self { levels: Vec::new() };
        this.enter(facts);
        this
    }

    /// Begins a level with the facts of a condition.
    pub(super) fn enter(&mut self, facts: impl IntoIterator<Item = Fact>) {
        self.levels.push(Level::default());
        facts.into_iter().for_each(|fact| self.add(fact));
    }

    /// Ends the last level.
    pub(super) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Adds a fact to the last level.
    pub(super) fn add(&mut self, fact: Fact) {
        let fact = match fact {
            Fact::Range(node, range) => {
                Fact::Range(node, self.known(node).map_or(range, |one| intersection(one, range)))
            }
            Fact::NotBelow(..) => fact,
        };
        match (fact, self.levels.last_mut()) {
            (Fact::Range(node, range), Some(last)) => drop(last.known.insert(node, range)),
            (Fact::NotBelow(a, b), Some(last)) => drop(last.not_below.insert((a, b))),
            (_, None) => {}
        }
    }

    fn known(&self, node: Node) -> Option<Range> {
        self.levels.iter().rev().find_map(|level| level.known.get(&node)).copied()
    }

    fn is_not_below(&self, a: Node, b: Node) -> bool {
        self.levels.iter().any(|level| level.not_below.contains(&(a, b)))
    }

    /// The range of a node if the conditions hold.
    pub(super) fn range(&self, graph: &Graph, node: Node) -> Range {
        if self.levels.iter().all(|level| level.known.is_empty() && level.not_below.is_empty()) {
            graph.range(node)
        } else {
            self.within(graph, node, DEPTH, &RefCell::default())
        }
    }

    fn within(&self, graph: &Graph, node: Node, depth: usize, found: &RefCell<HashMap<Node, Range>>) -> Range {
        if let Some(found) = found.borrow().get(&node) {
            return *found;
        }
        let data = graph.get(node);
        let mut range = data.range;
        if let Some(known) = self.known(node) {
            range = intersection(range, known);
        }
        if depth > 0
            && let Some(derived) = graph.range_of(data.op, |operand| self.within(graph, operand, depth - 1, found))
        {
            range = intersection(range, derived);
        }
        if let Op::Sub(a, b) = data.op
            && self.is_not_below(a, b)
        {
            range = intersection(range, (0, i128::MAX));
        }
        found.borrow_mut().insert(node, range);
        range
    }
}

/// Conditions that exclude one another leave the first range, because the statement is never carried out.
fn intersection(a: Range, b: Range) -> Range {
    let both = (a.0.max(b.0), a.1.min(b.1));
    if both.0 <= both.1 { both } else { a }
}

/// The facts that follow if a condition holds, or if it does not.
pub(super) fn of(graph: &Graph, condition: Node, holds: bool) -> Vec<Fact> {
    let mut facts = Vec::new();
    collect(graph, condition, holds, &mut facts, DEPTH);
    facts
}

fn collect(graph: &Graph, condition: Node, holds: bool, facts: &mut Vec<Fact>, depth: usize) {
    if depth == 0 {
        return;
    }
    let range = |node: Node| graph.range(node);
    let (least, most) = (i128::MIN, i128::MAX);
    match (graph.get(condition).op, holds) {
        (Op::Lt(a, b), true) => {
            facts.push(Fact::NotBelow(b, a));
            facts.push(Fact::Range(a, (least, range(b).1.saturating_sub(1))));
            facts.push(Fact::Range(b, (range(a).0.saturating_add(1), most)));
        }
        (Op::Lt(a, b), false) => {
            facts.push(Fact::NotBelow(a, b));
            facts.push(Fact::Range(a, (range(b).0, most)));
            facts.push(Fact::Range(b, (least, range(a).1)));
        }
        (Op::Eq(a, b), _) if graph.constant(b) == Some(0) && graph.is_condition(a) => {
            collect(graph, a, !holds, facts, depth - 1);
            facts.push(Fact::Range(a, (i128::from(!holds), i128::from(!holds))));
        }
        (Op::Eq(a, b), true) => {
            facts.push(Fact::Range(a, range(b)));
            facts.push(Fact::Range(b, range(a)));
        }
        (Op::Eq(a, b), false) => {
            // The number at an end of the range is excluded.
            if let Some(value) = graph.constant(b) {
                if range(a).0 == value {
                    facts.push(Fact::Range(a, (value.saturating_add(1), most)));
                } else if range(a).1 == value {
                    facts.push(Fact::Range(a, (least, value.saturating_sub(1))));
                }
            }
        }
        (Op::And(a, b), true) if graph.is_condition(a) && graph.is_condition(b) => {
            collect(graph, a, true, facts, depth - 1);
            collect(graph, b, true, facts, depth - 1);
        }
        (Op::Or(a, b), false) => {
            collect(graph, a, false, facts, depth - 1);
            collect(graph, b, false, facts, depth - 1);
        }
        _ => {}
    }
}
