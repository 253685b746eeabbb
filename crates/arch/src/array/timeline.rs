//! Traces of a run, cycle by cycle: computations, copies and arrivals of each core, accesses to the memories, and
//! occupied links.

use ciphermill_rvfhe::isa::Instruction;

use super::mesh::Hop;
use super::scratchpad::Access;
use super::{Array, CoreEvent, Issue, Machine};
use crate::trace::{Trace, TrackId};

impl Array {
    /// Records all cores, memories and networks from the next run on. [`Self::timeline`] turns the recording into a
    /// trace.
    pub fn observe_all(&mut self) {
        for core in &mut self.cores {
            core.events = Some(Vec::new());
            core.accesses = Some(Vec::new());
        }
        self.mesh.hops = Some(Vec::new());
        self.scratchpad.accesses = Some(Vec::new());
        for mesh in self.scratchpad.meshes_mut() {
            mesh.hops = Some(Vec::new());
        }
    }

    /// Writes everything recorded since [`Self::observe_all`] into a trace, for the given programs, and stops
    /// recording.
    pub fn timeline(&mut self, programs: &[Vec<u32>], trace: &mut Trace) {
        let mut memories = Vec::new();
        for (core, program) in programs.iter().enumerate().take(self.cores.len()) {
            let state = &mut self.cores[core];
            let (events, accesses) =
                (state.events.take().unwrap_or_default(), state.accesses.take().unwrap_or_default());
            write_core(&self.machine, core, events, program, trace);
            memories.extend(accesses);
        }
        write_accesses("data memory", memories, trace);
        write_accesses("scratchpad", self.scratchpad.accesses.take().unwrap_or_default(), trace);
        let meshes = std::iter::once(&mut self.mesh).chain(self.scratchpad.meshes_mut());
        let names = ["data network: copies", "memory network: requests", "memory network: replies"];
        for (name, mesh) in names.into_iter().zip(meshes) {
            write_links(name, &mesh.hops.take().unwrap_or_default(), trace);
        }
        let names =
            ["control network: launch, ends at cycle 0 of the other processes", "control network: end messages"];
        for (name, hops) in names.into_iter().zip(&self.control) {
            write_links(name, hops, trace);
        }
    }
}

/// Accesses to memories, on a track for each node and kind. Several accesses in one cycle are on parallel tracks.
fn write_accesses(process: &str, mut accesses: Vec<Access>, trace: &mut Trace) {
    accesses.sort_by_key(|access| (access.node, access.write, access.cycle));
    let mut last = None;
    let mut beside = 0;
    for Access { cycle, node, address, write } in accesses {
        let here = Some((node, write, cycle));
        beside = if last == here { beside + 1 } else { 0 };
        last = here;
        let kind = if write { "written" } else { "read" };
        let track = trace.track(process, &format!("{node:02}, {kind} {beside}"));
        trace.slice(track, &address.to_string(), cycle, 1, &[]);
    }
}

/// Cycles for which a computation blocks the lanes for others of its kind, and cycles from its issue to that of an
/// instruction that can read all of its results. Unpipelined lanes are blocked for the whole computation.
fn interval_and_latency(machine: &Machine, instruction: &Instruction) -> (u32, u32) {
    let (lane, target) = (&machine.lane, machine.target());
    let (interval, work, latency) = match instruction {
        Instruction::Mbfly { .. } => {
            let work = lane.multiplier_latency + lane.adder_latency * target.butterfly.interval;
            (target.butterfly.interval, work, target.butterfly.latency + target.butterfly.second)
        }
        Instruction::Fbfly { .. } => {
            let butterfly = target.complex_butterfly;
            (butterfly.interval, lane.complex_latency, butterfly.latency + butterfly.second)
        }
        Instruction::Mmul { .. } => (1, lane.multiplier_latency, target.product_latency),
        _ => (1, lane.adder_latency, target.sum_latency),
    };
    (if machine.core.issue == Issue::Unpipelined { work } else { interval }, latency)
}

fn write_core(machine: &Machine, core: usize, events: Vec<CoreEvent>, program: &[u32], trace: &mut Trace) {
    let process = format!("core {core:02}");
    let mut tracks = |name: &str, count: u32| -> Vec<TrackId> {
        (0..count)
            .map(|at| trace.track(&process, &if count == 1 { name.to_owned() } else { format!("{name} {at}") }))
            .collect()
    };
    let computations = tracks("computations", 1)[0];
    let copies = tracks("copies", machine.lane.copy_ports);
    let arrivals = tracks("arrivals", machine.lane.arrival_ports);
    let twiddles = tracks("twiddles", 1)[0];
    // Events of the same cycle are on parallel tracks.
    let (mut sent, mut arrived) = ((u64::MAX, 0), (u64::MAX, 0));
    let next = |last: &mut (u64, usize), cycle: u64, tracks: &[TrackId]| {
        *last = if last.0 == cycle { (cycle, last.1 + 1) } else { (cycle, 0) };
        tracks[last.1 % tracks.len()]
    };
    let (mut busy_until, mut loaded_until) = (0, 0);
    let mut events = events;
    events.sort_by_key(|event| match event {
        CoreEvent::Fetch { cycle, .. }
        | CoreEvent::Modulus { cycle, .. }
        | CoreEvent::Issue { cycle, .. }
        | CoreEvent::Taken { cycle }
        | CoreEvent::Arrival { cycle, .. } => *cycle,
    });
    for event in events {
        match event {
            CoreEvent::Issue { cycle, pc, words } => {
                let Some(Ok(instruction)) = program.get(pc as usize).map(|word| Instruction::decode(*word)) else {
                    continue;
                };
                let (name, number) = (instruction.to_string(), ("instruction", u64::from(pc)));
                if words.is_empty() {
                    let (interval, latency) = interval_and_latency(machine, &instruction);
                    let end = cycle + u64::from(interval);
                    // Viewers draw nested slices of a track, but not a slice that ends after the one in which it began,
                    // which occurs with complex numbers.
                    let nests = cycle >= busy_until || end <= busy_until;
                    let track = if nests { computations } else { trace.track(&process, "overlapping computations") };
                    busy_until = busy_until.max(end);
                    trace.slice(track, &name, cycle, end - cycle, &[number, ("latency", u64::from(latency))]);
                } else {
                    trace.slice(next(&mut sent, cycle, &copies), &name, cycle, 1, &[number]);
                }
            }
            CoreEvent::Arrival { first, cycle, register, .. } if register >= 32 => {
                let end = cycle + 1;
                let nests = first >= loaded_until || end <= loaded_until;
                let track = if nests { twiddles } else { trace.track(&process, "overlapping twiddles") };
                loaded_until = loaded_until.max(end);
                trace.slice(track, &format!("t{}", register - 32), first, end - first, &[]);
            }
            CoreEvent::Arrival { cycle, register, .. } => {
                let track = next(&mut arrived, cycle, &arrivals);
                trace.slice(track, &format!("v{register}"), cycle, 1, &[]);
            }
            CoreEvent::Modulus { cycle, register, value } => {
                trace.slice(computations, &format!("m{register}"), cycle, 1, &[("value", u64::from(value))]);
            }
            CoreEvent::Fetch { .. } | CoreEvent::Taken { .. } => {}
        }
    }
}

fn write_links(network: &str, hops: &[Hop], trace: &mut Trace) {
    for hop in hops {
        let track = trace.track(network, &format!("{:02} to {:02}", hop.from, hop.to));
        trace.slice(track, "message", hop.cycle, u64::from(hop.flits), &[]);
    }
}

#[cfg(test)]
mod tests {
    use ciphermill_rvfhe::compiler::{Direction, Ring, Task, Transform};
    use serde_json::Value;

    use super::*;
    use crate::array::{CIPHERMILL, Experiment, PAPER};

    /// The computations of a run: name, core, first cycle, duration, latency; for each core in order.
    fn computations(machine: &Machine, ring: Ring) -> Vec<(String, u64, u64, u64, u64)> {
        let modulus = ciphermill_math::Modulus::new(2_013_265_921).unwrap();
        let one = Transform { polynomial_size: 1 << 13, modulus, ring, direction: Direction::Forward };
        let experiment = Experiment { task: Task::Transform(one), in_flight: 1, runs: 1, seed: 1 };
        let mut trace = Trace::new();
        experiment.measure_with(machine, Some(&mut trace)).unwrap();
        let mut json = Vec::new();
        trace.write(&mut json).unwrap();
        let json: Value = serde_json::from_slice(&json).unwrap();
        let number = |value: &Value| value.as_u64().unwrap();
        let mut all = Vec::new();
        for event in json["traceEvents"].as_array().unwrap() {
            let latency = &event["args"]["latency"];
            if event["ph"] == "X" && !latency.is_null() {
                let name = event["name"].as_str().unwrap().split(' ').next().unwrap_or_default().to_owned();
                let [core, first, long] = ["pid", "ts", "dur"].map(|field| number(&event[field]));
                all.push((name, core, first, long, number(latency)));
            }
        }
        all.sort_by_key(|(_, core, first, ..)| (*core, *first));
        all
    }

    /// By docs/hw/rvfhe_lane.md: a butterfly takes one cycle of two adders or two cycles of one. The machine sets the
    /// times of complex butterflies.
    #[test]
    fn computations_are_as_long_as_their_intervals() {
        let mut unpipelined = Machine::from_toml(PAPER).unwrap();
        unpipelined.core.issue = Issue::Unpipelined;
        for (machine, ring, name, interval, latency) in [
            (Machine::from_toml(CIPHERMILL).unwrap(), Ring::Cyclic, "mbfly", 1, 8),
            (Machine::from_toml(PAPER).unwrap(), Ring::Cyclic, "mbfly", 2, 9),
            (Machine::from_toml(CIPHERMILL).unwrap(), Ring::Complex, "fbfly", 4, 17),
            (Machine::from_toml(PAPER).unwrap(), Ring::Complex, "fbfly", 6, 19),
            (unpipelined, Ring::Cyclic, "mbfly", 8, 9),
        ] {
            let all = computations(&machine, ring);
            let butterflies: Vec<_> = all.iter().filter(|(one, ..)| one.starts_with(name)).collect();
            assert_eq!(butterflies.len(), 16 * 104, "{}", machine.name);
            assert!(
                butterflies.iter().all(|(.., long, after)| (*long, *after) == (interval, latency)),
                "{butterflies:?}"
            );
            // Butterflies of one kind do not overlap, and some follow without a gap.
            let gaps = butterflies.windows(2).filter(|two| two[0].1 == two[1].1).map(|two| two[1].2 - two[0].2);
            assert_eq!(gaps.min(), Some(interval), "{}", machine.name);
            // Sums and products run at the same time.
            let others = all.iter().filter(|(one, ..)| !one.starts_with(name));
            let pipelined = machine.core.issue != Issue::Unpipelined;
            assert!(!pipelined || others.clone().all(|(.., long, _)| *long == 1));
            assert!(others.clone().all(|(one, .., after)| *after == if one == "mmul" { 7 } else { 2 }));
        }
    }
}
