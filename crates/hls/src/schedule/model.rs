//! The accesses of an iteration, and the cycles that must lie between two of them.
//!
//! A node has its value at a cycle and a time in that cycle, and later operands make later values. The first cycle of an access
//! is therefore the greatest of its latency from the beginning of the iteration and, for each read, the sum of the read's cycle
//! and the latency from that read. The scheduler needs no other fact of the graph.

use super::limits::MAX_INTERVAL;
use super::work::{Work, later};
use crate::ir::{Node, Op};

/// Reads times nodes, and accesses times edges, of the kernels that have a model, in all.
const MAX_STEPS: usize = 1 << 26;

/// Cycles that must lie between two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    /// The access that comes first.
    pub(super) from: usize,
    /// The access that comes after it.
    pub(super) to: usize,
    /// The least number of cycles between them, if both are of one iteration.
    pub(super) cycles: i64,
    /// The iterations between them.
    pub(super) iterations: i64,
    /// The number of the dependence; `None` if the second access needs the value of the first one.
    pub(super) distance: Option<usize>,
}

impl Edge {
    /// The least number of cycles from the first access to the second one, each counted from the begin of its iteration.
    pub(super) fn weight(&self, interval: u32) -> i64 {
        self.cycles - i64::from(interval) * self.iterations
    }
}

/// The accesses of an iteration.
pub(super) struct Model {
    /// The first cycle of each access, without regard to reads.
    pub(super) earliest: Vec<u32>,
    /// Latencies, and dependences within a run of the innermost loop.
    pub(super) edges: Vec<Edge>,
    /// The edges that begin at an access, by access.
    pub(super) out: Vec<Vec<usize>>,
    /// The edges that end at an access, by access.
    pub(super) into: Vec<Vec<usize>>,
}

impl Model {
    /// The model of one of `kernels` kernels; `None` if the kernel is too large.
    pub(super) fn of(work: &Work<'_>, kernels: u64) -> Option<Self> {
        let most = MAX_STEPS / kernels.max(1) as usize;
        let accesses = &work.kernel.accesses;
        let reads: Vec<usize> = (0..accesses.len()).filter(|&access| accesses[access].written.is_none()).collect();
        if reads.len().saturating_mul(work.kernel.graph.len()) > most {
            return None;
        }
        let times = Times(work);
        let earliest = times.from(None).into_iter().map(|cycle| cycle.unwrap_or(0)).collect();
        let mut edges: Vec<Edge> = reads.iter().flat_map(|&read| times.latencies(read)).collect();
        edges.extend(within_runs(work));
        if edges.len().saturating_mul(accesses.len()) > most {
            return None;
        }
        let by = |end: fn(&Edge) -> usize| {
            let mut lists = vec![Vec::new(); accesses.len()];
            edges.iter().enumerate().for_each(|(number, edge)| lists[end(edge)].push(number));
            lists
        };
        let (out, into) = (by(|edge| edge.from), by(|edge| edge.to));
        Some(Self { earliest, edges, out, into })
    }

    /// The number of accesses.
    pub(super) fn len(&self) -> usize {
        self.earliest.len()
    }

    /// The earliest cycles that all edges allow, without regard to ports; or a circle of edges that no cycles allow
    /// (Bellman and Ford's method).
    pub(super) fn relaxed(&self, interval: u32) -> Result<Vec<i64>, Vec<Edge>> {
        let mut cycles: Vec<i64> = self.earliest.iter().copied().map(i64::from).collect();
        let mut latest: Vec<Option<usize>> = vec![None; self.len()];
        for _ in 0..=self.len() {
            let mut changed = None;
            for (number, edge) in self.edges.iter().enumerate() {
                let needed = cycles[edge.from] + edge.weight(interval);
                if cycles[edge.to] < needed {
                    (cycles[edge.to], latest[edge.to], changed) = (needed, Some(number), Some(edge.to));
                }
            }
            if changed.is_none() {
                return Ok(cycles);
            }
        }
        Err(self.circle(&latest))
    }

    /// A circle of the last edges by which accesses moved. At least one circle exists.
    fn circle(&self, latest: &[Option<usize>]) -> Vec<Edge> {
        for begin in 0..self.len() {
            let (mut edges, mut at) = (Vec::new(), begin);
            while let Some(edge) = latest[at].map(|number| self.edges[number]) {
                edges.push(edge);
                at = edge.from;
                if at == begin {
                    return edges;
                }
                if edges.len() > self.len() {
                    break;
                }
            }
        }
        Vec::new()
    }

    /// The least interval that dependences allow, and the circle that excludes a shorter one.
    pub(super) fn recurrence(&self) -> (u32, Vec<Edge>) {
        let (mut refuted, mut least, mut circle) = (0, 1, Vec::new());
        // The interval doubles until it is long enough, and is then found by bisection.
        while let Err(edges) = self.relaxed(least) {
            (refuted, circle) = (least, edges);
            if least > MAX_INTERVAL {
                return (least, circle);
            }
            least *= 2;
        }
        while least - refuted > 1 {
            let middle = refuted + (least - refuted) / 2;
            match self.relaxed(middle) {
                Ok(_) => least = middle,
                Err(edges) => (refuted, circle) = (middle, edges),
            }
        }
        (least, circle)
    }
}

/// Dependences within a run of the innermost loop.
fn within_runs<'w>(work: &'w Work<'_>) -> impl Iterator<Item = Edge> + use<'w> {
    let edge = |(number, one): (usize, &crate::analysis::Distance)| Edge {
        from: one.first,
        to: one.second,
        cycles: work.needed(one),
        iterations: one.iterations as i64,
        distance: Some(number),
    };
    work.distances.iter().enumerate().filter(|(_, one)| one.ends == 0).map(edge)
}

/// The times of nodes and accesses that follow from one read, or from the beginning of the iteration.
struct Times<'a>(&'a Work<'a>);

impl Times<'_> {
    /// The latencies from a read.
    fn latencies(&self, read: usize) -> Vec<Edge> {
        let edge = |(to, cycles): (usize, Option<u32>)| {
            Some(Edge { from: read, to, cycles: i64::from(cycles?), iterations: 0, distance: None })
        };
        self.from(Some(read)).into_iter().enumerate().filter_map(edge).collect()
    }

    /// The first cycle of each access, counted from a read, or from the beginning; `None` if it does not depend on that.
    fn from(&self, read: Option<usize>) -> Vec<Option<u32>> {
        let mut nodes: Vec<Option<(u32, f64)>> = Vec::with_capacity(self.0.kernel.graph.len());
        for (node, data) in self.0.kernel.graph.nodes() {
            nodes.push(match data.op {
                Op::Const(_) => read.is_none().then_some((0, 0.0)),
                Op::Loop(_) => read.is_none().then_some((0, self.0.target.register_out)),
                Op::Read(access) if Some(access) == read => Some(self.0.read(access, 0)),
                Op::Read(_) => None,
                op => {
                    let operands = op.operands().into_iter().filter_map(|operand| nodes[operand.index()]);
                    operands.reduce(later).map(|latest| self.after(node, latest))
                }
            });
        }
        (0..self.0.kernel.accesses.len()).map(|access| self.access(access, &nodes)).collect()
    }

    fn after(&self, node: Node, latest: (u32, f64)) -> (u32, f64) {
        let (delay, registers) = self.0.target.operation(&self.0.kernel.graph, self.0.widths, node);
        self.0.chained(latest, delay, registers)
    }

    fn access(&self, access: usize, nodes: &[Option<(u32, f64)>]) -> Option<u32> {
        let (one, address) = (&self.0.kernel.accesses[access], self.0.addresses[access]);
        let needed = [Some(address.bank), Some(address.row), one.condition, one.written].into_iter().flatten();
        let latest = needed.filter_map(|node| nodes[node.index()]).reduce(later)?;
        Some(self.0.asked(access, latest))
    }
}
