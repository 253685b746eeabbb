//! The event-driven simulation of the macro-pipeline.
//!
//! Time advances from event to event. At each time, all endings are processed first. Then all possible starts follow:
//! exchanges between engines and, for each engine, the stages from the last to the first. A start never makes room for
//! another start at the same time, so one pass is sufficient. The order of the pass only sets priorities between
//! engines that compete for a slot.
//!
//! A token starts in a stage when a unit is free, its input is present, and its output has a slot.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::error::PipelineError;
use super::job::{Counts, Job, Shape};
use super::machine::PipelineMachine;
use super::parts::{FLOWS, LEAVES, NODES, PUT_BY, Preemption, Stage, buffer_name};
use super::run::{BufferUse, PipelineRun, StageUse, lower_bound, steady};
use super::station::{Station, Token};
use super::traced::Traced;
use super::tree::{Node, Trees};
use crate::trace::Trace;

/// Runs a job on a machine. The result is deterministic.
///
/// # Errors
/// If the job is out of range, or the machine's buffers are too small to complete it ([`PipelineError::Deadlock`]).
///
/// # Example
/// ```
/// use ciphermill_arch::pipeline::{CHAM_PAPER, Job, PipelineMachine, simulate};
///
/// let machine = PipelineMachine::from_toml(CHAM_PAPER)?.with_engines(1)?;
/// let run = simulate(&machine, &Job { rows: 2, columns: 256 }, None)?;
/// // Twelve slots of 6144 cycles: the vector, the rows, their products and one merge.
/// assert_eq!(run.cycles, 12 * 6144);
/// assert_eq!(run.counts.key_switches, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn simulate(machine: &PipelineMachine, job: &Job, trace: Option<&mut Trace>) -> Result<PipelineRun, PipelineError> {
    let shape = job.shape(&machine.ring())?;
    Simulation::new(machine, *job, shape, trace).run()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The oldest token of a stage is complete.
    Done { engine: usize, stage: usize },
    /// A slot has been read.
    Free { engine: usize, flow: usize },
    /// A ciphertext has arrived from engine `from`.
    Exchanged { from: usize },
    /// A start may have become possible.
    Wake,
}

/// The buffers in which a token's output occupies slots.
type Outputs = [Option<usize>; 2];

/// Events in the order of time, and of creation for equal times.
type Events = BinaryHeap<Reverse<(u64, u64, Event)>>;

#[derive(Debug)]
struct Engine {
    stations: Vec<Station>,
    /// The occupied slots, and their maximum.
    used: [usize; FLOWS.len()],
    peak: [usize; FLOWS.len()],
    /// The content of the buffers that are queues.
    queues: [VecDeque<Token>; FLOWS.len()],
    /// Ciphertexts of the vector that this engine must still transform.
    vectors: VecDeque<usize>,
    /// The remaining rows, and the next part of the first one.
    rows: VecDeque<Node>,
    part: u32,
    /// The cycle in which the spectrum of ciphertext i is available; `None` before its transform starts.
    vector_at: Vec<Option<u64>>,
    /// Merges with all operands: the highest level first, within a level the earliest ready merge. Another order
    /// within a level would leave subtrees incomplete, and their nodes in the buffer.
    ready: BTreeMap<(Reverse<u32>, u64), Node>,
    /// Nodes for other engines, with their current buffers. The first one may be in transit.
    outgoing: VecDeque<(Node, usize)>,
    exchanging: bool,
    paused_until: u64,
}

struct Simulation<'a> {
    machine: &'a PipelineMachine,
    job: Job,
    column_tiles: u32,
    tiles: u64,
    trees: Trees,
    engines: Vec<Engine>,
    events: Events,
    sequence: u64,
    now: u64,
    tiles_done: u64,
    /// The cycle in which the latest tile was complete.
    finished: u64,
    /// The cycle in which each leaf was complete.
    leaf_times: Vec<u64>,
    exchanges: u64,
    counts: Counts,
    bound: u64,
    traced: Traced<'a>,
}

impl<'a> Simulation<'a> {
    fn new(machine: &'a PipelineMachine, job: Job, shape: Shape, trace: Option<&'a mut Trace>) -> Self {
        let trees = Trees::new(shape, machine.engines());
        let column_tiles = shape.column_tiles as usize;
        let engine = |engine: usize| Engine {
            stations: Stage::ALL.iter().map(|&stage| Station::new(machine.stage(stage))).collect(),
            used: [0; FLOWS.len()],
            peak: [0; FLOWS.len()],
            queues: Default::default(),
            vectors: (0..column_tiles).filter(|tile| tile % machine.engines() == engine).collect(),
            rows: trees.leaves(engine).into(),
            part: 0,
            vector_at: vec![None; column_tiles],
            ready: BTreeMap::new(),
            outgoing: VecDeque::new(),
            exchanging: false,
            paused_until: 0,
        };
        let engines = (0..machine.engines()).map(engine).collect();
        Self {
            machine,
            job,
            column_tiles: shape.column_tiles as u32,
            tiles: shape.tiles(),
            bound: lower_bound(machine, &shape, &trees),
            trees,
            engines,
            events: BinaryHeap::new(),
            sequence: 0,
            now: 0,
            tiles_done: 0,
            finished: 0,
            leaf_times: Vec::with_capacity(shape.rows as usize),
            exchanges: 0,
            counts: Counts::default(),
            traced: Traced::new(trace, machine),
        }
    }

    fn run(mut self) -> Result<PipelineRun, PipelineError> {
        loop {
            self.begin_what_can();
            let Some(Reverse((time, _, event))) = self.events.pop() else { break };
            self.now = time;
            self.end(event);
            while let Some(&Reverse((next, _, event))) = self.events.peek() {
                if next != time {
                    break;
                }
                self.events.pop();
                self.end(event);
            }
        }
        if self.tiles_done < self.tiles {
            return Err(self.deadlock());
        }
        Ok(self.result())
    }

    fn at(&mut self, time: u64, event: Event) {
        self.events.push(Reverse((time, self.sequence, event)));
        self.sequence += 1;
    }

    fn take_slot(&mut self, engine: usize, flow: usize) {
        let here = &mut self.engines[engine];
        here.used[flow] += 1;
        here.peak[flow] = here.peak[flow].max(here.used[flow]);
        self.traced.slots(engine, flow, self.now, here.used[flow]);
    }

    fn free_slot(&mut self, engine: usize, flow: usize) {
        let here = &mut self.engines[engine];
        here.used[flow] -= 1;
        self.traced.slots(engine, flow, self.now, here.used[flow]);
    }

    fn has_slot(&self, engine: usize, flow: usize) -> bool {
        self.engines[engine].used[flow] < self.machine.slots_of(flow)
    }

    fn end(&mut self, event: Event) {
        match event {
            Event::Wake => {}
            Event::Free { engine, flow } => self.free_slot(engine, flow),
            Event::Exchanged { from } => {
                let (node, flow) = self.engines[from].outgoing.pop_front().expect("one was on its way");
                self.engines[from].exchanging = false;
                self.free_slot(from, flow);
                let to = self.trees.engine(self.trees.parent(node));
                self.arrive(to, node, NODES);
            }
            Event::Done { engine, stage } => {
                let token = self.engines[engine].stations[stage].flight.pop_front().expect("one was in flight");
                self.leave(engine, Stage::ALL[stage], token);
            }
        }
    }

    /// Handles a token whose output is complete.
    fn leave(&mut self, engine: usize, stage: Stage, token: Token) {
        match (stage, token) {
            // `vector_at` has its time already.
            (_, Token::Vector) => {}
            // The partial sum stays in place until the last product.
            (Stage::Multiply, Token::Row { part, .. }) if part + 1 < self.column_tiles => {}
            (Stage::Rescale, Token::Row { leaf, .. }) => {
                self.leaf_times.push(self.now);
                self.arrive(engine, leaf, LEAVES);
            }
            (Stage::ModDown, Token::Merge(node)) => self.arrive(engine, node, NODES),
            (_, token) => {
                let flow = output(stage);
                self.engines[engine].queues[flow].push_back(token);
            }
        }
    }

    /// A node's ciphertext has reached buffer `flow` of an engine. A root leaves the pipeline; a root that is an inner
    /// node never had a slot.
    fn arrive(&mut self, engine: usize, node: Node, flow: usize) {
        if self.trees.is_root(node) {
            self.tiles_done += 1;
            self.finished = self.now;
            if flow == LEAVES {
                self.free_slot(engine, flow);
            }
            return;
        }
        if self.trees.engine(self.trees.parent(node)) != engine {
            self.engines[engine].outgoing.push_back((node, flow));
        } else if let Some(parent) = self.trees.put(node, flow) {
            self.engines[engine].ready.insert((Reverse(parent.level), self.sequence), parent);
            self.sequence += 1;
        }
    }

    fn begin_what_can(&mut self) {
        for engine in 0..self.engines.len() {
            self.begin_exchange(engine);
        }
        for engine in 0..self.engines.len() {
            for stage in Stage::ALL.into_iter().rev() {
                while self.begin(engine, stage) {}
            }
        }
    }

    fn begin_exchange(&mut self, from: usize) {
        let Some(&(node, _)) = self.engines[from].outgoing.front() else { return };
        let to = self.trees.engine(self.trees.parent(node));
        if self.engines[from].exchanging || !self.has_slot(to, NODES) {
            return;
        }
        self.take_slot(to, NODES);
        self.engines[from].exchanging = true;
        self.exchanges += 1;
        let cycles = self.machine.exchange_cycles();
        self.traced.exchange(from, self.now, cycles, node);
        self.at(self.now + cycles, Event::Exchanged { from });
    }

    /// The next token of a stage, if its input is present, and the buffers for its output.
    fn next(&self, engine: usize, stage: Stage) -> Option<(Token, Outputs)> {
        let here = &self.engines[engine];
        if stage <= Stage::Rescale && here.paused_until > self.now {
            return None;
        }
        let flow = output(stage);
        match stage {
            Stage::Ntt => {
                if !here.vectors.is_empty() {
                    return Some((Token::Vector, [None; 2]));
                }
                let leaf = *here.rows.front()?;
                Some((Token::Row { leaf, part: here.part }, [Some(flow), None]))
            }
            Stage::Combine => {
                let (_, &node) = here.ready.first_key_value()?;
                Some((Token::Merge(node), [Some(flow), Some(PUT_BY)]))
            }
            _ => {
                let token = *here.queues[input(stage)].front()?;
                let outputs = match token {
                    Token::Row { part, .. } if stage == Stage::Multiply => {
                        let there = here.vector_at[part as usize].is_some_and(|at| at <= self.now);
                        if !there {
                            return None;
                        }
                        // Later products are added to the first one.
                        [(part == 0).then_some(flow), None]
                    }
                    Token::Merge(node) if stage == Stage::ModDown && self.trees.is_root(node) => [None; 2],
                    _ => [Some(flow), None],
                };
                Some((token, outputs))
            }
        }
    }

    fn begin(&mut self, engine: usize, stage: Stage) -> bool {
        if !self.engines[engine].stations[stage.index()].is_free(self.now) {
            return false;
        }
        let Some((token, outputs)) = self.next(engine, stage) else { return false };
        if !outputs.iter().flatten().all(|&flow| self.has_slot(engine, flow)) {
            return false;
        }
        outputs.iter().flatten().for_each(|&flow| self.take_slot(engine, flow));
        let items = self.machine.items(stage) * if matches!(token, Token::Vector) { 2 } else { 1 };
        let (station, traced) = (&mut self.engines[engine].stations[stage.index()], &mut self.traced);
        let interval = station.spec().interval;
        let times = station.begin(self.now, token, items, |unit, begin| {
            traced.item(engine, stage, unit, begin, interval, token);
        });
        self.count(stage, items);
        self.at(times.done, Event::Done { engine, stage: stage.index() });
        if times.free > self.now {
            self.at(times.free, Event::Wake);
        }
        for flow in self.consume(engine, stage, token, times.done, times.free) {
            self.at(times.read, Event::Free { engine, flow });
        }
        true
    }

    fn count(&mut self, stage: Stage, items: u64) {
        if stage.is_transform() {
            self.counts.ntts += items * self.machine.ring().chain();
        }
        self.counts.products += u64::from(stage == Stage::Multiply);
        self.counts.key_switches += u64::from(stage == Stage::Combine);
    }

    /// Removes a starting token from its source. Returns the buffers whose slots become free when it has been read.
    fn consume(&mut self, engine: usize, stage: Stage, token: Token, done: u64, free: u64) -> Vec<usize> {
        match (stage, token) {
            (Stage::Ntt, Token::Vector) => {
                let tile = self.engines[engine].vectors.pop_front().expect("the token that began");
                for other in 0..self.engines.len() {
                    let at = if other == engine { done } else { done + self.machine.exchange_cycles() };
                    self.engines[other].vector_at[tile] = Some(at);
                    self.at(at, Event::Wake);
                }
                Vec::new()
            }
            (Stage::Ntt, _) => {
                let here = &mut self.engines[engine];
                here.part += 1;
                if here.part == self.column_tiles {
                    here.part = 0;
                    here.rows.pop_front();
                }
                Vec::new()
            }
            (Stage::Combine, Token::Merge(node)) => {
                self.engines[engine].ready.pop_first();
                if node.level > 1 && self.machine.preemption() == Preemption::Pause {
                    self.engines[engine].paused_until = free;
                }
                self.trees.take(node).collect()
            }
            _ => {
                self.engines[engine].queues[input(stage)].pop_front();
                if stage == Stage::ModDown { vec![input(stage), PUT_BY] } else { vec![input(stage)] }
            }
        }
    }

    /// The buffer that is too small.
    fn deadlock(&self) -> PipelineError {
        let error = |engine: usize, waiting: &'static str, flow: usize| PipelineError::Deadlock {
            cycle: self.now,
            engine,
            waiting,
            buffer: buffer_name(flow),
            slots: self.machine.slots_of(flow),
        };
        for (engine, here) in self.engines.iter().enumerate() {
            for stage in Stage::ALL.into_iter().rev() {
                let Some((_, outputs)) = self.next(engine, stage) else { continue };
                if let Some(&flow) = outputs.iter().flatten().find(|&&flow| !self.has_slot(engine, flow)) {
                    return error(engine, stage.name(), flow);
                }
            }
            if let Some(&(node, _)) = here.outgoing.front() {
                return error(self.trees.engine(self.trees.parent(node)), "exchange", NODES);
            }
        }
        // Every token is in a stage, in a buffer or in transit, so one of the cases above applies.
        error(0, Stage::ModDown.name(), NODES)
    }

    fn result(self) -> PipelineRun {
        let cycles = self.finished;
        let mut stages = Vec::new();
        let mut buffers = Vec::new();
        for (engine, here) in self.engines.iter().enumerate() {
            for (stage, station) in Stage::ALL.into_iter().zip(&here.stations) {
                let spec = station.spec();
                stages.push(StageUse {
                    engine,
                    stage,
                    units: spec.units,
                    tokens: station.tokens,
                    items: station.items,
                    busy_cycles: station.busy(),
                    utilization: (station.busy() as f64 / (spec.units * cycles) as f64).min(1.0),
                });
            }
            for flow in 0..FLOWS.len() {
                let slots = self.machine.slots_of(flow);
                buffers.push(BufferUse { engine, buffer: buffer_name(flow), slots, peak: here.peak[flow] });
            }
        }
        PipelineRun {
            machine: self.machine.name().to_owned(),
            clock_mhz: self.machine.clock_mhz(),
            engines: self.engines.len(),
            job: self.job,
            cycles,
            steady_cycles_per_row: steady(&self.leaf_times),
            bound_cycles: self.bound,
            counts: self.counts,
            exchanges: self.exchanges,
            body: self.machine.body(),
            stages,
            buffers,
        }
    }
}

/// The queue of a stage's input; `ntt` and `combine` have none.
fn input(stage: Stage) -> usize {
    stage.index() - 1
}

/// The buffer of a stage's output.
fn output(stage: Stage) -> usize {
    if stage == Stage::ModDown { NODES } else { stage.index() }
}
