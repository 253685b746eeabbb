//! The order of a program: list scheduling on the longest way to the end, on an ideal core.
//!
//! Each cycle has room for so many loads, computations and copies; the oldest transform in flight goes first, within it what has the
//! longest way to go. Machines need not keep these times. They execute each kind of instruction in this order, and whatever the times
//! are there, nothing waits in a circle, as all that an instruction waits for is before it in the one order that is made here.
//!
//! Registers are given to groups of rows as a whole, or an unlucky order of loads could fill them with halves of groups: a load takes a
//! register only if enough are left for what the groups opened before it still need.

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
    /// Where it belongs in the order: after all nodes before this cycle, and those of it.
    pub cycle: u32,
}

/// Which registers a node uses, and when it is its turn.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// Nodes in order.
    pub order: Vec<NodeId>,
    /// The cycle of each node, by its number.
    pub cycle: Vec<u32>,
    /// The register of each value.
    pub register: Vec<u8>,
    pub twiddles: Vec<TwiddleLoad>,
    /// The twiddle register of each node that has a factor, and whether it is the last to use what is in there.
    pub twiddle: HashMap<NodeId, (u8, bool)>,
    /// How many cycles it all takes on the ideal core.
    pub cycles: u32,
}

/// How many cycles before a computation could go its factors are asked for.
const TWIDDLE_LEAD: u32 = 8;

/// Cycles that may pass without a node after all that were under way have ended: more than it takes to fill every twiddle register anew,
/// which is what can still let one go.
const IDLE: u32 = 256;

/// The order of a graph's nodes; nothing if there is none, which would be a mistake of the compiler's and is better an error than no end.
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

/// What a group still takes.
struct GroupState {
    opened: bool,
    /// Loads of values that stay until they are sent.
    staying: u32,
    /// Loads of values that are added to others.
    passing: u32,
}

impl GroupState {
    fn reserved(&self) -> u32 {
        if self.opened { self.staying + u32::from(self.passing > 0) } else { 0 }
    }
}

/// What goes first: the oldest transform, in it what has the longest way to go.
type Urgency = (Reverse<usize>, u32, Reverse<NodeId>);
type Ready = BinaryHeap<Urgency>;

/// A twiddle register.
struct Held {
    factor: usize,
    ready_in: u32,
    last_user: Option<NodeId>,
}

/// The twiddle registers: what is asked for takes the place of what is needed last.
struct Twiddles {
    /// The factor of each node, by number; the keys; and who still needs each, the most urgent last.
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

    /// Whether a node's factor can be used.
    fn is_ready(&self, id: NodeId, now: u32) -> bool {
        self.factor[id as usize].is_none_or(|factor| {
            self.place[factor].and_then(|place| self.held[place].as_ref()).is_some_and(|held| held.ready_in <= now)
        })
    }

    fn is_missing(&self, id: NodeId) -> bool {
        self.factor[id as usize].is_some_and(|factor| self.place[factor].is_none())
    }

    /// Notes that a node uses its factor.
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

    /// Asks for a node's factor, if a register has nothing that is needed sooner; or in any case, if all that is needed sooner cannot go.
    fn ask(&mut self, wanted: Urgency, now: u32, latency: u32, in_any_case: bool) -> bool {
        let Some(factor) = self.factor[wanted.2.0 as usize] else { return false };
        let next_use = |held: &Option<Held>| held.as_ref().and_then(|held| self.users[held.factor].last().copied());
        // What nobody has used yet was asked for with reason, and could not be freed by a use.
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
    /// The longest way from a node's issue to the end.
    priority: Vec<u32>,
    waits_for: Vec<u32>,
    /// The first cycle in which a node can go.
    earliest: Vec<u32>,
    /// Nodes that wait for time only, by cycle.
    pending: BinaryHeap<Reverse<(u32, NodeId)>>,
    compute: Vec<Urgency>,
    send: Ready,
    twiddles: Twiddles,
    loads: Vec<NodeId>,
    groups: Vec<GroupState>,
    /// Groups in the order in which they were opened, without those that need no more registers.
    open: Vec<usize>,
    /// The first group that is not open.
    next_group: usize,
    free: Vec<u8>,
    now: u32,
    /// Loads that could have begun: a number may take two.
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

    /// One cycle.
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

    /// Asks for the factor that is missed most by what could go now or soon.
    fn ask_for_twiddles(&mut self) {
        let soon = self.pending.iter().filter(|Reverse((cycle, _))| *cycle <= self.now + TWIDDLE_LEAD);
        let soon = soon.map(|Reverse((_, id))| self.urgency(*id));
        let missing = |wanted: &Urgency| self.twiddles.is_missing(wanted.2.0);
        // What can go now, before what can go later.
        let now = self.compute.iter().copied().filter(missing).max();
        if let Some(wanted) = now.or_else(|| soon.filter(missing).max()) {
            // With nothing under way for longer than a factor takes, those that are held are for what waits, for registers it may be,
            // for what is to go now.
            let latency = self.target.load_latency;
            let stuck = self.pending.is_empty() && self.now > self.last_issue + latency;
            self.twiddles.ask(wanted, self.now, latency, stuck);
        }
    }

    /// Opens groups whose rows are all there or on their way, so that they are sure to be complete one day; the one that waits least first.
    fn open_groups(&mut self) {
        loop {
            let reserved: u32 = self.open.iter().map(|group| self.groups[*group].reserved()).sum();
            if reserved >= self.free.len() as u32 {
                return;
            }
            let candidates = (self.next_group..self.groups.len()).filter(|group| !self.groups[*group].opened);
            let ready =
                candidates.filter_map(|group| Some((self.expected(group)?, self.graph.groups[group].stream, group)));
            // Older transforms have precedence over a little waiting.
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

    /// The cycle in which all rows of a group can be loaded, if all that send them have their turn.
    fn expected(&self, group: usize) -> Option<u32> {
        let loads = &self.graph.groups[group].loads;
        loads.iter().try_fold(self.now, |latest, load| {
            (self.waits_for[*load as usize] == 0).then(|| latest.max(self.earliest[*load as usize]))
        })
    }

    /// The load with the longest way to go among those for which there is a register.
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
