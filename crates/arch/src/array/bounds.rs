//! Lower bounds on the cycles of a program, one for each component: analytic, derived from the compiled words without
//! running them.
//!
//! The bound of a component is the number of cycles per input in which its busiest instance works, if nothing waits and
//! everything else is free. No run is faster than the largest bound.

use std::fmt;

use ciphermill_rvfhe::compiler::Compiled;
use ciphermill_rvfhe::isa::Instruction;
use serde::{Serialize, Serializer};

use super::machine::{Issue, Machine, Port, Transposition};

/// A part of the array that can limit a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// The multiplier of a lane: one butterfly or product per cycle.
    Multipliers,
    /// The adders of a lane: two sums per butterfly.
    Adders,
    /// The units for complex butterflies: one per `complex_interval` cycles.
    ComplexUnits,
    /// The issue slots for computations, one per cycle. Copies and stores use them too if they share the queue.
    IssueSlots,
    /// All units of unpipelined lanes.
    Lanes,
    /// The result ports: two vectors per cycle with two adders, otherwise one.
    ResultPorts,
    /// The front end: `issue_width` instructions per cycle, including scalar ones.
    FrontEnd,
    /// The ports for vectors from memories, and for twiddles if they share these ports.
    ArrivalPorts,
    /// A data memory that reads tiles row by row.
    TileReads,
    /// The port of the twiddle registers: one twiddle per cycle.
    TwiddlePort,
    /// The ports for copies and stores.
    CopyPorts,
    /// The write ports of the data memory.
    WritePorts,
    /// The busiest link of the data mesh, or its exit into a core.
    DataLinks,
    /// The busiest slice of the scratchpad, if cores access remote slices: one vector per cycle.
    Slices,
    /// The busiest link of the request and reply meshes, or an exit.
    MemoryLinks,
}

impl Component {
    /// The name in records and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Multipliers => "multipliers",
            Self::Adders => "adders",
            Self::ComplexUnits => "complex-units",
            Self::IssueSlots => "issue-slots",
            Self::Lanes => "lanes",
            Self::ResultPorts => "result-ports",
            Self::FrontEnd => "front-end",
            Self::ArrivalPorts => "arrival-ports",
            Self::TileReads => "tile-reads",
            Self::TwiddlePort => "twiddle-port",
            Self::CopyPorts => "copy-ports",
            Self::WritePorts => "write-ports",
            Self::DataLinks => "data-links",
            Self::Slices => "slices",
            Self::MemoryLinks => "memory-links",
        }
    }

    /// Whether the component belongs to the arithmetic bound: the units that every mapping needs, and the slots to
    /// issue them. Copies count if they use such slots.
    pub const fn is_arithmetic(self) -> bool {
        matches!(self, Self::Multipliers | Self::Adders | Self::ComplexUnits | Self::IssueSlots)
    }

    /// Whether the component belongs to the scratchpad.
    pub const fn is_of_scratchpad(self) -> bool {
        matches!(self, Self::Slices | Self::MemoryLinks)
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Component {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Cycles per input, by component.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds(Vec<(Component, f64)>);

impl Bounds {
    /// All components with work.
    pub fn iter(&self) -> impl Iterator<Item = (Component, f64)> {
        self.0.iter().copied()
    }

    /// The component with the largest bound; the first one if several are equal.
    pub fn busiest(&self) -> (Component, f64) {
        self.most(|_| true)
    }

    /// The arithmetic bound: the largest bound of a component for which [`Component::is_arithmetic`] holds.
    pub fn arithmetic(&self) -> (Component, f64) {
        self.most(Component::is_arithmetic)
    }

    fn most(&self, of: impl Fn(Component) -> bool) -> (Component, f64) {
        let mut most = (Component::Multipliers, 0.0);
        for &(component, cycles) in &self.0 {
            if of(component) && cycles > most.1 {
                most = (component, cycles);
            }
        }
        most
    }
}

impl Serialize for Bounds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(component, cycles)| (component.name(), cycles)))
    }
}

/// The instruction counts of one core in one run.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    fetched: u64,
    butterflies: u64,
    complex: u64,
    products: u64,
    sums: u64,
    loads: u64,
    tiles: u64,
    tile_rows: u64,
    twiddles: u64,
    copies: u64,
    stores: u64,
}

impl Work {
    fn new(instructions: &[Instruction]) -> Self {
        use Instruction as I;
        // The body starts at the target of the last jump. The ebreak before the jump executes once, in the last run.
        let body = match instructions.last() {
            Some(I::Jal { offset, .. }) => -offset.instructions(),
            _ => instructions.len() as i64,
        };
        let mut work = Self { fetched: body.unsigned_abs(), ..Self::default() };
        for instruction in instructions {
            match instruction {
                I::Mbfly { .. } => work.butterflies += 1,
                I::Fbfly { .. } => work.complex += 1,
                I::Mmul { .. } => work.products += 1,
                I::Madd { .. } | I::Msub { .. } => work.sums += 1,
                I::Lds { .. } => work.loads += 1,
                I::Ldp { tile, .. } => {
                    work.loads += 1;
                    if tile.log() > 0 {
                        (work.tiles, work.tile_rows) = (work.tiles + 1, work.tile_rows + tile.side() as u64);
                    }
                }
                I::Ldt { .. } => work.twiddles += 1,
                I::Copy { .. } | I::Copyk { .. } => work.copies += 1,
                I::Sts { .. } => work.stores += 1,
                _ => {}
            }
        }
        work
    }

    /// The cycles of one core's components.
    fn cycles(&self, machine: &Machine) -> Vec<(Component, f64)> {
        use Component as C;
        let lane = &machine.lane;
        let (copies, loads) = (self.copies + self.stores, self.loads);
        let computations = self.butterflies + self.products + self.sums + self.complex;
        let shared = |port: Port, number: u64| if port == Port::Shared { number } else { 0 };
        let by = |number: u64, ports: u32| number as f64 / f64::from(ports);
        let (arrivals, outgoing) = (lane.arrival_ports, if lane.copies == Port::Own { lane.copy_ports } else { 1 });
        // A sum uses the first port, a product the last one, a butterfly both.
        let results = match lane.adders {
            1 => self.sums + self.products + 2 * self.butterflies,
            _ => self.butterflies + self.sums.max(self.products),
        };
        let mut all = vec![
            (C::Multipliers, (self.butterflies + self.products) as f64),
            (C::Adders, by(2 * self.butterflies + self.sums, lane.adders)),
            (C::ComplexUnits, (self.complex * u64::from(lane.complex_interval)) as f64),
            (C::IssueSlots, (computations + shared(lane.copies, copies)) as f64),
            (C::ResultPorts, results as f64),
            (C::FrontEnd, by(self.fetched, machine.core.issue_width)),
            (C::ArrivalPorts, by(loads + shared(lane.twiddle_port, 2 * self.twiddles), arrivals)),
            (C::TwiddlePort, self.twiddles as f64),
            (C::CopyPorts, by(copies, outgoing)),
        ];
        if machine.core.issue == Issue::Unpipelined {
            let butterfly = lane.multiplier_latency + lane.adder_latency * (3 - lane.adders);
            let sums = self.sums * u64::from(lane.adder_latency) + self.products * u64::from(lane.multiplier_latency);
            let butterflies = self.butterflies * u64::from(butterfly) + self.complex * u64::from(lane.complex_latency);
            all.push((C::Lanes, (sums + butterflies) as f64));
        }
        if machine.memory.transposition == Transposition::Serial {
            // The other ports can start a load before a tile begins.
            let beside = self.tiles * u64::from(arrivals);
            all.push((C::TileReads, self.tile_rows as f64 + by(loads.saturating_sub(beside), arrivals)));
        }
        all
    }
}

/// Occupied cycles of the links of a mesh. Each node has links to the north, east, south and west, and one to its core.
struct Links<'a> {
    machine: &'a Machine,
    taken: Vec<[u64; 5]>,
}

impl<'a> Links<'a> {
    fn new(machine: &'a Machine) -> Self {
        Self { machine, taken: vec![[0; 5]; machine.cores() as usize] }
    }

    /// Routes a message that occupies each link for `flits` cycles: first east or west, then south or north.
    fn send(&mut self, from: usize, to: usize, flits: u64) {
        let columns = self.machine.grid.columns as usize;
        let mut node = from;
        while node % columns != to % columns {
            let east = to % columns > node % columns;
            self.taken[node][if east { 1 } else { 3 }] += flits;
            node = if east { node + 1 } else { node - 1 };
        }
        while node != to {
            let south = to > node;
            self.taken[node][if south { 2 } else { 0 }] += flits;
            node = if south { node + columns } else { node - columns };
        }
        self.taken[node][4] += flits;
    }

    fn most(&self) -> u64 {
        self.taken.iter().flatten().copied().max().unwrap_or(0)
    }
}

/// The bounds of `runs` runs of a program, per input.
pub(super) fn bounds(machine: &Machine, compiled: &Compiled, in_flight: usize, runs: usize) -> Bounds {
    let works: Vec<Work> = compiled.cores.iter().map(|core| Work::new(&core.instructions)).collect();
    let mut all: Vec<(Component, f64)> = Vec::new();
    let mut add = |component, cycles: f64| match all.iter_mut().find(|(known, _)| *known == component) {
        Some((_, most)) => *most = most.max(cycles),
        None => all.push((component, cycles)),
    };
    for work in &works {
        for (component, cycles) in work.cycles(machine) {
            add(component, cycles);
        }
    }
    let flits = u64::from(machine.flits());
    let mut data = Links::new(machine);
    let mut written = vec![0_u64; works.len()];
    for (core, image) in compiled.cores.iter().enumerate() {
        for instruction in &image.instructions {
            if let Instruction::Copy { core: to, .. } | Instruction::Copyk { core: to, .. } = instruction
                && let Some(written) = written.get_mut(to.number())
            {
                *written += 1;
                if to.number() != core {
                    data.send(core, to.number(), flits);
                }
            }
        }
    }
    let most = written.into_iter().max().unwrap_or(0);
    add(Component::WritePorts, most as f64 / f64::from(machine.memory.write_ports));
    add(Component::DataLinks, data.most() as f64);
    let (slices, links) = memory(machine, compiled, runs);
    add(Component::Slices, slices as f64 / runs as f64);
    add(Component::MemoryLinks, links as f64 / runs as f64);
    all.retain(|(_, cycles)| *cycles > 0.0);
    Bounds(all.into_iter().map(|(component, cycles)| (component, cycles / in_flight as f64)).collect())
}

/// Cycles of the busiest slice and of the busiest link to or from slices, over all runs. Scratchpad vectors are
/// distributed over the slices in turn, so runs may use different slices.
fn memory(machine: &Machine, compiled: &Compiled, runs: usize) -> (u64, u64) {
    let slices = &machine.scratchpad.slices;
    let node = |vector: usize| match slices.len() {
        0 => vector % machine.cores() as usize,
        many => slices[vector % many] as usize,
    };
    let flits = u64::from(machine.flits());
    let (mut requests, mut replies) = (Links::new(machine), Links::new(machine));
    let mut reads = vec![0_u64; machine.cores() as usize];
    for run in 0..runs {
        // The addresses of a run are relative to its first input.
        let first = run * compiled.stride as usize;
        for (core, image) in compiled.cores.iter().enumerate() {
            for instruction in &image.instructions {
                match instruction {
                    Instruction::Lds { vector, .. } => {
                        let slice = node(first + vector.offset.get());
                        if slice != core {
                            requests.send(core, slice, 1);
                            replies.send(slice, core, flits);
                            reads[slice] += 1;
                        }
                    }
                    Instruction::Sts { vector, .. } => {
                        let slice = node(first + vector.offset.get());
                        if slice != core {
                            requests.send(core, slice, flits);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    (reads.into_iter().max().unwrap_or(0), requests.most().max(replies.most()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{CIPHERMILL, Experiment, Firing, LANE, Machine, PAPER};
    use ciphermill_math::Modulus;
    use ciphermill_rvfhe::compiler::{Direction, Ring, Task, Transform};

    fn task(size: usize, direction: Direction) -> Task {
        let (modulus, ring) = (Modulus::new(2_013_265_921).unwrap(), Ring::Negacyclic);
        Task::Transform(Transform { polynomial_size: size, modulus, ring, direction })
    }

    /// By hand: 2^13 has 16 rows per core and four phases. Each of three reshuffles copies every row, the first one
    /// evenly to all cores.
    #[test]
    fn bounds_of_a_transform_are_those_of_the_formula() {
        let machine = Machine::from_toml(CIPHERMILL).unwrap();
        let experiment = Experiment { task: task(8192, Direction::Forward), in_flight: 1, runs: 2, seed: 1 };
        let bounds = experiment.measure(&machine).unwrap().bounds;
        let of = |wanted| bounds.iter().find(|(component, _)| *component == wanted).map(|(_, cycles)| cycles);
        assert_eq!(bounds.arithmetic(), (Component::Multipliers, 104.0));
        assert_eq!((of(Component::Adders), of(Component::IssueSlots)), (Some(104.0), Some(104.0)));
        // 16 loads of inputs and 48 of rows, two per cycle; 16 stores, 48 copies.
        assert_eq!((of(Component::ArrivalPorts), of(Component::CopyPorts)), (Some(32.0), Some(32.0)));
        assert_eq!(of(Component::WritePorts), Some(24.0));
        // All-to-all in a mesh of 4 × 4: 2 · 2 · 4 messages cross the middle of a row in each direction.
        assert_eq!(of(Component::DataLinks), Some(16.0));
        assert_eq!((of(Component::Slices), of(Component::MemoryLinks)), (None, None));
    }

    /// One slice in a corner reads one vector per cycle for the 15 other cores. The links into it carry their requests
    /// and stores.
    #[test]
    fn slices_read_a_vector_a_cycle_for_others() {
        let mut machine = Machine::from_toml(CIPHERMILL).unwrap();
        machine.scratchpad.slices = vec![0];
        let experiment = Experiment { task: task(8192, Direction::Forward), in_flight: 1, runs: 2, seed: 1 };
        let bounds = experiment.measure(&machine).unwrap().bounds;
        let of = |wanted| bounds.iter().find(|(component, _)| *component == wanted).map(|(_, cycles)| cycles);
        assert_eq!((of(Component::Slices), of(Component::MemoryLinks)), (Some(240.0), Some(480.0)));
        assert_eq!(bounds.busiest(), (Component::MemoryLinks, 480.0));
    }

    /// No component has more work than the run has cycles, over all runs and in steady state.
    #[test]
    fn no_run_is_faster_than_its_bounds() {
        let mut machines = Vec::new();
        for text in [CIPHERMILL, PAPER, LANE] {
            let machine = Machine::from_toml(text).unwrap();
            let with = |change: fn(&mut Machine)| {
                let mut machine = machine.clone();
                change(&mut machine);
                machine
            };
            machines.extend([
                with(|_| ()),
                with(|machine| machine.core.issue_width = 1),
                with(|machine| machine.core.firing = Firing::Phase),
                with(|machine| machine.core.issue = Issue::Unpipelined),
                with(|machine| machine.core.issue = Issue::Blocking),
                with(|machine| machine.memory.transposition = Transposition::Serial),
                with(|machine| machine.memory.write_ports = 1),
                with(|machine| machine.network.link_bytes = 8),
                with(|machine| machine.network.link_bytes = 48),
                with(|machine| machine.lane.arrival_ports = 1),
                with(|machine| machine.lane.twiddle_port = Port::Shared),
                with(|machine| machine.scratchpad.slices = vec![0]),
                with(|machine| machine.scratchpad.slices = vec![0, 3, 12, 15]),
                with(|machine| machine.scratchpad.slices = vec![0, 4, 8, 12]),
                with(|machine| machine.scratchpad.slices = vec![0, 1, 2, 3, 12, 13, 14, 15]),
                with(|machine| machine.scratchpad.slices = vec![5, 6, 10]),
            ]);
        }
        let mut busiest = std::collections::BTreeSet::new();
        for machine in &machines {
            for (direction, in_flight, runs) in
                [(Direction::Forward, 1, 1), (Direction::Forward, 2, 8), (Direction::Inverse, 1, 8)]
            {
                let experiment = Experiment { task: task(4096, direction), in_flight, runs, seed: 1 };
                let measured = experiment.measure(machine).unwrap();
                assert!(measured.correct);
                let inputs = (runs * in_flight) as f64;
                let least = measured.steady.unwrap_or(measured.first as f64);
                for (component, cycles) in measured.bounds.iter() {
                    let all = measured.run.cycles;
                    assert!(cycles * inputs <= all as f64, "{component}: {cycles} {all} {machine:?}");
                    assert!(cycles <= least, "{component}: {cycles} above {least}, {in_flight} {runs} {machine:?}");
                }
                busiest.insert(measured.bounds.busiest().0);
            }
        }
        for component in [
            Component::Multipliers,
            Component::Adders,
            Component::Lanes,
            Component::FrontEnd,
            Component::DataLinks,
            Component::MemoryLinks,
        ] {
            assert!(busiest.contains(&component), "{component} limits none: {busiest:?}");
        }
    }

    /// The counts derived from the programs equal those of the run.
    #[test]
    fn programs_tell_what_is_counted() {
        let machine = Machine::from_toml(PAPER).unwrap();
        let target = machine.target();
        for direction in [Direction::Forward, Direction::Inverse] {
            let compiled = ciphermill_rvfhe::compiler::compile(&target, &task(4096, direction), 2).unwrap();
            let experiment = Experiment { task: task(4096, direction), in_flight: 2, runs: 3, seed: 1 };
            let counts = experiment.measure(&machine).unwrap().run.counts;
            for (image, counts) in compiled.cores.iter().zip(counts) {
                let work = Work::new(&image.instructions);
                let by_run = |counted: u64| {
                    assert_eq!(counted % 3, 0);
                    counted / 3
                };
                assert_eq!(work.butterflies, by_run(counts.butterflies));
                assert_eq!(work.products, by_run(counts.products));
                assert_eq!(work.loads, by_run(counts.row_loads + counts.scratchpad_loads));
                assert_eq!(work.twiddles, by_run(counts.twiddle_loads));
                assert_eq!(work.copies, by_run(counts.own_copies + counts.remote_copies));
                assert_eq!(work.stores, by_run(counts.scratchpad_stores));
                assert!(work.fetched < image.instructions.len() as u64);
            }
        }
    }
}
