//! List scheduling on an ideal core, by the longest path to the end.
//!
//! Each cycle has a fixed number of slots for loads, computations and copies. The oldest transform in flight has
//! priority; within it, the node with the longest path to the end. Machines keep the order of each kind of instruction,
//! but not the times. They cannot deadlock, whatever their times are, because an instruction depends only on earlier
//! ones in this single order.
//!
//! Registers are allocated to whole groups of rows. Otherwise an unlucky order of loads could fill them with parts of
//! several groups. A load takes a register only if enough remain for the earlier open groups.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::HashMap;

use super::graph::{Action, FactorKey, Graph, NodeId, Unit, ValueId};
use super::target::{REGISTERS, TWIDDLE_REGISTERS, Target};

/// A load of a twiddle register.
#[derive(Clone, Debug)]
pub(crate) struct TwiddleLoad {
    pub register: u8,
    pub factor: FactorKey,
    /// The position in the order: after all nodes up to and including this cycle.
    pub cycle: u32,
}

/// The registers and the order of the nodes.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The nodes in order.
    pub order: Vec<NodeId>,
    /// The cycle of each node, by its number.
    pub cycle: Vec<u32>,
    /// The register of each value.
    pub register: Vec<u8>,
    pub twiddles: Vec<TwiddleLoad>,
    /// The twiddle register of each node with a factor, and whether the node is the last user of its content.
    pub twiddle: HashMap<NodeId, (u8, bool)>,
    /// The number of cycles on the ideal core.
    pub cycles: u32,
}

/// The number of cycles by which the request for a factor precedes the earliest computation.
const TWIDDLE_LEAD: u32 = 8;

/// The number of cycles without an issue, after all latencies have passed, that ends the scheduling. It exceeds the
/// time to reload every twiddle register, which can still unblock a node.
const IDLE: u32 = 256;

/// Schedules the nodes of a graph. Returns `None` if no order is found, which would be an error in the compiler;
/// without this limit it would loop forever.
pub(crate) fn schedule(graph: &Graph, target: &Target) -> Option<Schedule> {
    let latencies = graph.nodes.iter().flat_map(|node| &node.then).map(|(_, latency)| *latency);
    let patience = latencies.max().unwrap_or(0) + IDLE;
    let mut list = List::new(graph, target);
    while list.left > 0 {
        if list.now > list.last_issue + patience {
            return None;
        }
        list.step();
    }
    let List { order, cycle, register, now, mut twiddles, .. } = list;
    twiddles.free_all();
    Some(Schedule { order, cycle, register, twiddles: twiddles.loads, twiddle: twiddles.used, cycles: now })
}

/// The remaining register demand of a group.
struct GroupState {
    opened: bool,
    /// Loads of values that stay in registers until they are sent.
    staying: u32,
    /// Loads of values that are added to others.
    passing: u32,
}

impl GroupState {
    fn reserved(&self) -> u32 {
        if self.opened { self.staying + u32::from(self.passing > 0) } else { 0 }
    }
}

/// The priority of a node: the oldest transform first, then the longest path to the end.
type Urgency = (Reverse<usize>, u32, Reverse<NodeId>);
type Ready = BinaryHeap<Urgency>;

/// A twiddle register.
struct Held {
    factor: usize,
    ready_in: u32,
    last_user: Option<NodeId>,
}

/// The twiddle registers. A requested factor replaces the factor with the latest next use.
struct Twiddles {
    /// The factor of each node, by number; the keys; and the remaining users of each factor, the most urgent last.
    factor: Vec<Option<usize>>,
    keys: Vec<FactorKey>,
    users: Vec<Vec<Urgency>>,
    place: Vec<Option<usize>>,
    held: [Option<Held>; TWIDDLE_REGISTERS],
    loads: Vec<TwiddleLoad>,
    used: HashMap<NodeId, (u8, bool)>,
}

impl Twiddles {
    fn new(graph: &Graph, urgency: impl Fn(NodeId) -> Urgency) -> Self {
        let mut numbers: HashMap<&FactorKey, usize> = HashMap::new();
        let mut users: Vec<Vec<Urgency>> = Vec::new();
        let mut keys = Vec::new();
        let mut factor = vec![None; graph.nodes.len()];
        for (id, node) in graph.nodes.iter().enumerate() {
            let Some(key) = node.factor() else { continue };
            let number = *numbers.entry(key).or_insert(users.len());
            if number == users.len() {
                users.push(Vec::new());
                keys.push(key.clone());
            }
            users[number].push(urgency(id as NodeId));
            factor[id] = Some(number);
        }
        for users in &mut users {
            users.sort_unstable();
        }
        let place = vec![None; keys.len()];
        let held = std::array::from_fn(|_| None);
        Self { factor, keys, users, place, held, loads: Vec::new(), used: HashMap::new() }
    }

    /// Whether a node's factor is available.
    fn is_ready(&self, id: NodeId, now: u32) -> bool {
        self.factor[id as usize].is_none_or(|factor| {
            self.place[factor].and_then(|place| self.held[place].as_ref()).is_some_and(|held| held.ready_in <= now)
        })
    }

    fn is_missing(&self, id: NodeId) -> bool {
        self.factor[id as usize].is_some_and(|factor| self.place[factor].is_none())
    }

    /// Records the use of a node's factor.
    fn take(&mut self, id: NodeId) {
        let Some(factor) = self.factor[id as usize] else { return };
        let users = &mut self.users[factor];
        if let Some(at) = users.iter().rposition(|(.., Reverse(user))| *user == id) {
            users.remove(at);
        }
        if let Some(place) = self.place[factor]
            && let Some(held) = &mut self.held[place]
        {
            held.last_user = Some(id);
            self.used.insert(id, (place as u8, false));
        }
    }

    /// Requests a node's factor, if it is needed sooner than the content of some register. With `in_any_case` the
    /// request always replaces a factor, because all more urgent nodes are blocked.
    fn ask(&mut self, wanted: Urgency, now: u32, latency: u32, in_any_case: bool) -> bool {
        let Some(factor) = self.factor[wanted.2.0 as usize] else { return false };
        let next_use = |held: &Option<Held>| held.as_ref().and_then(|held| self.users[held.factor].last().copied());
        // An unused factor was requested for a reason, and a register without a user cannot be freed by one.
        let used = |held: &Option<Held>| held.as_ref().is_none_or(|held| held.last_user.is_some());
        let places = (0..TWIDDLE_REGISTERS).filter(|place| used(&self.held[*place]));
        let place = places.min_by_key(|place| next_use(&self.held[*place]));
        let gives_way = |place: &usize| in_any_case || next_use(&self.held[*place]).is_none_or(|next| next < wanted);
        let Some(place) = place.filter(gives_way) else {
            return false;
        };
        if let Some(old) = self.held[place].take() {
            self.place[old.factor] = None;
            self.free(old);
        }
        self.place[factor] = Some(place);
        self.held[place] = Some(Held { factor, ready_in: now + latency, last_user: None });
        self.loads.push(TwiddleLoad { register: place as u8, factor: self.keys[factor].clone(), cycle: now });
        true
    }

    fn free(&mut self, held: Held) {
        if let Some(used) = held.last_user.and_then(|user| self.used.get_mut(&user)) {
            used.1 = true;
        }
    }

    fn free_all(&mut self) {
        for place in 0..TWIDDLE_REGISTERS {
            if let Some(held) = self.held[place].take() {
                self.free(held);
            }
        }
    }
}

struct List<'a> {
    graph: &'a Graph,
    target: &'a Target,
    /// The longest path from a node's issue to the end.
    priority: Vec<u32>,
    waits_for: Vec<u32>,
    /// The first cycle in which a node can issue.
    earliest: Vec<u32>,
    /// Nodes whose dependencies have issued, by their first possible cycle.
    pending: BinaryHeap<Reverse<(u32, NodeId)>>,
    compute: Vec<Urgency>,
    send: Ready,
    twiddles: Twiddles,
    loads: Vec<NodeId>,
    groups: Vec<GroupState>,
    /// Open groups that still need registers, in the order of opening.
    open: Vec<usize>,
    /// The first group that is not open.
    next_group: usize,
    free: Vec<u8>,
    now: u32,
    /// Unused load slots. A complex number needs two.
    load_credit: u32,
    copy_credit: u32,
    busy_until: u32,
    last_issue: u32,
    left: usize,
    order: Vec<NodeId>,
    cycle: Vec<u32>,
    register: Vec<u8>,
}

impl<'a> List<'a> {
    fn new(graph: &'a Graph, target: &'a Target) -> Self {
        let count = graph.nodes.len();
        let mut priority = vec![0; count];
        for (id, node) in graph.nodes.iter().enumerate().rev() {
            let ways = node.then.iter().map(|(next, latency)| priority[*next as usize] + latency);
            priority[id] = ways.max().unwrap_or(0);
        }
        let groups = graph.groups.iter().map(|group| {
            let passing = group.loads.iter().filter(|load| graph.nodes[**load as usize].passing).count() as u32;
            GroupState { opened: false, staying: group.loads.len() as u32 - passing, passing }
        });
        let waits_for: Vec<_> = graph.nodes.iter().map(|node| node.waits_for).collect();
        let twiddles =
            Twiddles::new(graph, |id| (Reverse(graph.nodes[id as usize].stream), priority[id as usize], Reverse(id)));
        let mut list = Self {
            graph,
            target,
            priority,
            twiddles,
            earliest: vec![0; count],
            pending: BinaryHeap::new(),
            compute: Vec::new(),
            send: Ready::new(),
            loads: Vec::new(),
            groups: groups.collect(),
            open: Vec::new(),
            next_group: 0,
            free: (0..(REGISTERS / graph.width as usize) as u8).rev().collect(),
            load_credit: 0,
            copy_credit: 0,
            now: 0,
            busy_until: 0,
            last_issue: 0,
            left: count,
            order: Vec::with_capacity(count),
            cycle: vec![0; count],
            register: vec![u8::MAX; graph.values as usize],
            waits_for,
        };
        for id in 0..count as NodeId {
            if list.waits_for[id as usize] == 0 {
                list.pending.push(Reverse((0, id)));
            }
        }
        list
    }

    /// Simulates one cycle.
    fn step(&mut self) {
        while let Some(Reverse((cycle, id))) = self.pending.peek().copied() {
            if cycle > self.now {
                break;
            }
            self.pending.pop();
            let entry = self.urgency(id);
            match self.graph.nodes[id as usize].unit() {
                Unit::Load => self.loads.push(id),
                Unit::Compute => self.compute.push(entry),
                Unit::Send => self.send.push(entry),
            }
        }
        let width = self.graph.width;
        let mut slots = 1;
        let ready = (0..self.compute.len()).filter(|at| self.twiddles.is_ready(self.compute[*at].2.0, self.now));
        if self.now >= self.busy_until
            && let Some(at) = ready.max_by_key(|at| self.compute[*at])
        {
            let (.., Reverse(id)) = self.compute.swap_remove(at);
            self.twiddles.take(id);
            self.issue(id);
            slots = 0;
        }
        self.ask_for_twiddles();
        let copies = if self.target.copies_compete { slots } else { self.target.copies_per_cycle };
        self.copy_credit = (self.copy_credit + copies).min(copies.max(width));
        while self.copy_credit >= width
            && let Some((.., Reverse(id))) = self.send.pop()
        {
            self.issue(id);
            self.copy_credit -= width;
        }
        self.open_groups();
        self.load_credit = (self.load_credit + self.target.loads_per_cycle).min(self.target.loads_per_cycle.max(width));
        while self.load_credit >= width
            && let Some(at) = self.best_load()
        {
            let id = self.loads.swap_remove(at);
            self.issue(id);
            self.load_credit -= width;
        }
        self.now += 1;
    }

    fn urgency(&self, id: NodeId) -> Urgency {
        (Reverse(self.graph.nodes[id as usize].stream), self.priority[id as usize], Reverse(id))
    }

    /// Requests the most urgent missing factor of the nodes that can issue now or soon.
    fn ask_for_twiddles(&mut self) {
        let soon = self.pending.iter().filter(|Reverse((cycle, _))| *cycle <= self.now + TWIDDLE_LEAD);
        let soon = soon.map(|Reverse((_, id))| self.urgency(*id));
        let missing = |wanted: &Urgency| self.twiddles.is_missing(wanted.2.0);
        // Nodes that can issue now have priority over later ones.
        let now = self.compute.iter().copied().filter(missing).max();
        if let Some(wanted) = now.or_else(|| soon.filter(missing).max()) {
            // If no result is pending for longer than a factor's latency, the held factors may belong to nodes that
            // wait for registers. They then give way to nodes that can issue.
            let latency = self.target.load_latency;
            let stuck = self.pending.is_empty() && self.now > self.last_issue + latency;
            self.twiddles.ask(wanted, self.now, latency, stuck);
        }
    }

    /// Opens groups whose rows are all available or in transit, so that they will complete. The group with the shortest
    /// wait is opened first.
    fn open_groups(&mut self) {
        loop {
            let reserved: u32 = self.open.iter().map(|group| self.groups[*group].reserved()).sum();
            if reserved >= self.free.len() as u32 {
                return;
            }
            let candidates = (self.next_group..self.groups.len()).filter(|group| !self.groups[*group].opened);
            let ready =
                candidates.filter_map(|group| Some((self.expected(group)?, self.graph.groups[group].stream, group)));
            // Older transforms have priority over a short wait.
            let Some((.., group)) = ready.min_by_key(|(cycle, stream, group)| (cycle / 8, *stream, *cycle, *group))
            else {
                return;
            };
            self.groups[group].opened = true;
            self.open.push(group);
            while self.groups.get(self.next_group).is_some_and(|group| group.opened) {
                self.next_group += 1;
            }
        }
    }

    /// The cycle in which all rows of a group can be loaded, if all of their senders have issued.
    fn expected(&self, group: usize) -> Option<u32> {
        let loads = &self.graph.groups[group].loads;
        loads.iter().try_fold(self.now, |latest, load| {
            (self.waits_for[*load as usize] == 0).then(|| latest.max(self.earliest[*load as usize]))
        })
    }

    /// The load with the longest path to the end among those with an available register.
    fn best_load(&self) -> Option<usize> {
        let fits = |id: NodeId| {
            let node = &self.graph.nodes[id as usize];
            if !self.groups[node.group].opened {
                return false;
            }
            let before = self.open.iter().take_while(|group| **group != node.group);
            let reserved: u32 = before.map(|group| self.groups[*group].reserved()).sum();
            let own = &self.groups[node.group];
            let own = if node.passing { own.staying } else { u32::from(own.passing > 0) };
            self.free.len() as u32 > reserved + own
        };
        (0..self.loads.len()).filter(|at| fits(self.loads[*at])).max_by_key(|at| self.urgency(self.loads[*at]))
    }

    fn issue(&mut self, id: NodeId) {
        let graph = self.graph;
        let node = &graph.nodes[id as usize];
        self.cycle[id as usize] = self.now;
        self.last_issue = self.now;
        self.order.push(id);
        self.left -= 1;
        match &node.action {
            Action::Load { value, .. } => {
                self.register[*value as usize] = self.free.pop().expect("a register was reserved");
                let group = &mut self.groups[node.group];
                *(if node.passing { &mut group.passing } else { &mut group.staying }) -= 1;
                if group.staying + group.passing == 0 {
                    self.open.retain(|open| *open != node.group);
                }
            }
            Action::Add { from, .. } => self.release(*from),
            Action::Send { value, .. } => self.release(*value),
            Action::Butterfly { .. } => self.busy_until = self.now + self.target.butterfly(graph.width).interval,
            Action::Multiply { .. } => {}
        }
        for (next, latency) in &node.then {
            let next_index = *next as usize;
            self.earliest[next_index] = self.earliest[next_index].max(self.now + latency);
            self.waits_for[next_index] -= 1;
            if self.waits_for[next_index] == 0 {
                self.pending.push(Reverse((self.earliest[next_index], *next)));
            }
        }
    }

    fn release(&mut self, value: ValueId) {
        self.free.insert(0, self.register[value as usize]);
    }
}
