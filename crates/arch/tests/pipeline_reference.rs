//! The event-driven simulation against a plain one that looks at every cycle, on small random machines.
//!
//! The plain one builds the packing tree by its recursion (evens, odds, merge) and moves through time one cycle after the
//! other; it shares nothing with the model but the description of the machine.

use ciphermill_arch::pipeline::{
    Body, BufferSpec, CHAM_PAPER, Job, PipelineError, PipelineMachine, Preemption, Stage, StageSpec, simulate,
};
use proptest::prelude::*;

const N: usize = 8;

struct Node {
    tile: usize,
    level: u32,
    /// The first leaf.
    first: usize,
    children: Vec<usize>,
    parent: Option<usize>,
}

/// The tree below (first, step) of a tile. Leaves are appended to `order`.
fn build(
    nodes: &mut Vec<Node>,
    order: &mut Vec<usize>,
    tile: usize,
    rows: usize,
    places: usize,
    at: (usize, usize),
) -> Option<usize> {
    let (first, step) = at;
    if first >= rows {
        return None;
    }
    let mut children = Vec::new();
    if step < places {
        children.extend(build(nodes, order, tile, rows, places, (first, 2 * step)));
        children.extend(build(nodes, order, tile, rows, places, (first + step, 2 * step)));
    }
    nodes.push(Node { tile, level: (places / step).ilog2(), first, children: children.clone(), parent: None });
    let id = nodes.len() - 1;
    if step == places {
        order.push(id);
    }
    children.iter().for_each(|&child| nodes[child].parent = Some(id));
    Some(id)
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Vector(usize),
    /// A row and the ciphertext of the vector.
    Row(usize, usize),
    Merge(usize),
    Exchange(usize),
}

struct Op {
    engine: usize,
    stage: usize,
    what: What,
    read: u64,
    done: u64,
    /// The buffers that it reads.
    reads: Vec<usize>,
}

/// Buffers by number: 0 to 7 after stages 1 to 8, 8 for the sums set aside by stage 5, 9 after stage 9.
fn slots(machine: &PipelineMachine, buffer: usize) -> usize {
    let stages = Stage::ALL;
    let (from, to) = match buffer {
        8 => (stages[4], stages[8]),
        9 => (stages[8], stages[4]),
        _ => (stages[buffer], stages[buffer + 1]),
    };
    machine.slots(from, to).expect("something flows")
}

#[derive(Default)]
struct Engine {
    free: Vec<Vec<u64>>,
    used: [usize; 10],
    queues: [Vec<What>; 10],
    vectors: Vec<usize>,
    rows: Vec<What>,
    vector_at: Vec<Option<u64>>,
    ready: Vec<usize>,
    outgoing: Vec<(usize, usize)>,
    paused_until: u64,
}

/// Cycles of the job; `None` if no stage can proceed.
fn plain(machine: &PipelineMachine, rows: usize, columns: usize) -> Option<u64> {
    let e = machine.engines();
    let parts = columns.div_ceil(N);
    let (mut nodes, mut order) = (Vec::new(), Vec::new());
    let tile_rows = N.min(rows.next_power_of_two());
    let tiles = rows.div_ceil(tile_rows);
    for tile in 0..tiles {
        let here = (rows - tile * tile_rows).min(tile_rows);
        build(&mut nodes, &mut order, tile, here, here.next_power_of_two(), (0, 1));
    }
    let home = |node: &Node| (node.first + node.tile) % e;
    let body = if machine.body() == Body::Sum { 1 } else { 2 };
    let digits = machine.ring().digits as usize;
    let items = [1, 2, body, body, 2, digits, 2 * digits, 2, 2];
    let mut engines: Vec<Engine> = (0..e).map(|_| Engine::default()).collect();
    for (i, engine) in engines.iter_mut().enumerate() {
        engine.free = Stage::ALL.iter().map(|&stage| vec![0; machine.stage(stage).units as usize]).collect();
        engine.vectors = (0..parts).filter(|part| part % e == i).collect();
        engine.vector_at = vec![None; parts];
        let rows = order.iter().filter(|&&leaf| home(&nodes[leaf]) == i);
        engine.rows = rows.flat_map(|&leaf| (0..parts).map(move |part| What::Row(leaf, part))).collect();
    }
    // Where each node waits.
    let mut lies = vec![None; nodes.len()];
    let mut ops: Vec<Op> = Vec::new();
    let (mut done, mut idle_since, mut last) = (0, 0, 0);
    for now in 0.. {
        // Ends, in the order of the beginnings.
        let mut ended = Vec::new();
        for op in &ops {
            if op.read == now {
                op.reads.iter().for_each(|&buffer| engines[op.engine].used[buffer] -= 1);
            }
            if op.done == now {
                ended.push((op.engine, op.stage, op.what));
            }
        }
        ops.retain(|op| op.done > now || op.read > now);
        for (engine, stage, what) in ended {
            let arrived = match (stage, what) {
                (_, What::Vector(_)) => None,
                (1, What::Row(_, part)) if part + 1 < parts => None,
                (3, What::Row(leaf, _)) => Some((engine, leaf, 3)),
                (8, What::Merge(node)) => Some((engine, node, 9)),
                (_, What::Exchange(node)) => {
                    let (moved, buffer) = engines[engine].outgoing.remove(0);
                    assert_eq!(moved, node);
                    engines[engine].used[buffer] -= 1;
                    Some((home(&nodes[nodes[node].parent.expect("no root")]), node, 9))
                }
                _ => {
                    engines[engine].queues[stage].push(what);
                    None
                }
            };
            let Some((engine, node, buffer)) = arrived else { continue };
            match nodes[node].parent {
                None => {
                    done += 1;
                    last = now;
                    if buffer == 3 {
                        engines[engine].used[3] -= 1;
                    }
                }
                Some(parent) if home(&nodes[parent]) != engine => engines[engine].outgoing.push((node, buffer)),
                Some(parent) => {
                    lies[node] = Some(buffer);
                    if nodes[parent].children.iter().all(|&child| lies[child].is_some()) {
                        engines[engine].ready.push(parent);
                    }
                }
            }
        }
        if done == tiles {
            return Some(last);
        }
        // Beginnings.
        let before = ops.len();
        for i in 0..e {
            let Some(&(node, _)) = engines[i].outgoing.first() else { continue };
            let to = home(&nodes[nodes[node].parent.expect("no root")]);
            let moving = ops.iter().any(|op| op.engine == i && op.stage == 9);
            if !moving && engines[to].used[9] < slots(machine, 9) {
                engines[to].used[9] += 1;
                let done = now + machine.exchange_cycles();
                ops.push(Op { engine: i, stage: 9, what: What::Exchange(node), read: now, done, reads: Vec::new() });
            }
        }
        for i in 0..e {
            for stage in (0..9).rev() {
                loop {
                    let engine = &mut engines[i];
                    if engine.free[stage].iter().all(|&free| free > now) || (stage < 4 && engine.paused_until > now) {
                        break;
                    }
                    // The highest level, and of it the first that was ready.
                    let levels = engine.ready.iter().map(|&node| nodes[node].level);
                    let highest = levels.max();
                    let at = engine.ready.iter().position(|&node| Some(nodes[node].level) == highest);
                    let next = match stage {
                        0 if !engine.vectors.is_empty() => Some(What::Vector(engine.vectors[0])),
                        0 => engine.rows.first().copied(),
                        4 => at.map(|at| What::Merge(engine.ready[at])),
                        _ => engine.queues[stage - 1].first().copied(),
                    };
                    let Some(what) = next else { break };
                    let writes: Vec<usize> = match (stage, what) {
                        (0, What::Vector(_)) => vec![],
                        (1, What::Row(_, part)) => {
                            if engine.vector_at[part].is_none_or(|at| at > now) {
                                break;
                            }
                            if part == 0 { vec![1] } else { vec![] }
                        }
                        (4, _) => vec![4, 8],
                        (8, What::Merge(node)) if nodes[node].parent.is_none() => vec![],
                        (8, _) => vec![9],
                        _ => vec![stage],
                    };
                    if writes.iter().any(|&buffer| engine.used[buffer] >= slots(machine, buffer)) {
                        break;
                    }
                    writes.iter().for_each(|&buffer| engine.used[buffer] += 1);
                    let reads = match stage {
                        0 => vec![],
                        4 => {
                            let What::Merge(node) = what else { panic!("only merges") };
                            nodes[node].children.iter().map(|&child| lies[child].take().expect("ready")).collect()
                        }
                        8 => vec![7, 8],
                        _ => vec![stage - 1],
                    };
                    let spec = machine.stage(Stage::ALL[stage]);
                    let mut begin = now;
                    for _ in 0..items[stage] * if matches!(what, What::Vector(_)) { 2 } else { 1 } {
                        let unit = engine.free[stage].iter_mut().min().expect("a unit");
                        begin = now.max(*unit);
                        *unit = begin + spec.interval;
                    }
                    let (read, finished) =
                        (begin + spec.hold.unwrap_or(spec.interval.min(spec.latency)), begin + spec.latency);
                    ops.push(Op { engine: i, stage, what, read, done: finished, reads });
                    match stage {
                        0 if matches!(what, What::Vector(_)) => drop(engine.vectors.remove(0)),
                        0 => drop(engine.rows.remove(0)),
                        4 => {
                            let node = engine.ready.remove(at.expect("one was found"));
                            if nodes[node].level > 1 && machine.preemption() == Preemption::Pause {
                                engine.paused_until = *engine.free[4].iter().min().expect("a unit");
                            }
                        }
                        _ => drop(engine.queues[stage - 1].remove(0)),
                    }
                    if let What::Vector(part) = what {
                        for (j, other) in engines.iter_mut().enumerate() {
                            other.vector_at[part] = Some(finished + if i == j { 0 } else { machine.exchange_cycles() });
                        }
                    }
                }
            }
        }
        if ops.len() > before || !ops.is_empty() {
            idle_since = now;
        }
        // No time of a machine here is longer.
        if now > idle_since + 100 {
            return None;
        }
    }
    unreachable!("time has no end")
}

fn stage() -> impl Strategy<Value = (u64, u64, u64, u64)> {
    (1u64..4, 1u64..6, 1u64..9, 1u64..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn events_and_cycles_agree(
        stages in proptest::array::uniform9(stage()),
        slots in proptest::array::uniform10(1u64..5),
        nodes in 1u64..8,
        shape in (1u64..28, 1u64..20),
        engines in 0u32..3,
        digits in 1u64..4,
        exchange in 1u64..9,
        sum: bool,
        pause: bool,
    ) {
        let text = CHAM_PAPER
            .replace("polynomial_size = 4096", &format!("polynomial_size = {N}"))
            .replace("digits = 2", &format!("digits = {digits}"))
            .replace("exchange_cycles = 4096", &format!("exchange_cycles = {exchange}"));
        let mut machine = PipelineMachine::from_toml(&text).unwrap().with_engines(1 << engines).unwrap();
        for (name, (units, interval, latency, hold)) in Stage::ALL.into_iter().zip(stages) {
            let hold = Some(hold.min(interval).min(latency));
            machine = machine.with_stage(StageSpec { name, units, interval, latency, hold }).unwrap();
        }
        for (i, slots) in slots.into_iter().enumerate() {
            let all = Stage::ALL;
            let (from, to, slots) = match i {
                // A pair of leaves has to fit.
                3 => (all[3], all[4], slots + 1),
                8 => (all[4], all[8], slots),
                9 => (all[8], all[4], nodes),
                _ => (all[i], all[i + 1], slots),
            };
            machine = machine.with_buffer(BufferSpec { from, to, slots }).unwrap();
        }
        if sum {
            machine = machine.with_body(Body::Sum);
        }
        let preemption = if pause { Preemption::Pause } else { Preemption::Buffered };
        machine = machine.with_preemption(preemption);
        let (rows, columns) = shape;
        let expected = plain(&machine, rows as usize, columns as usize);
        match simulate(&machine, &Job { rows, columns }, None) {
            Ok(run) => prop_assert_eq!(Some(run.cycles), expected),
            Err(PipelineError::Deadlock { .. }) => prop_assert_eq!(None, expected),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}
