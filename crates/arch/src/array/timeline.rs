//! A run as a trace: what each core computes, sends and takes in, what memories read and write, and which links are taken, cycle by cycle.

use ciphermill_rvfhe::isa::Instruction;

use super::mesh::Hop;
use super::scratchpad::Access;
use super::{Array, CoreEvent, Machine};
use crate::trace::{Trace, TrackId};

impl Array {
    /// From the next run on notes what all cores, memories and networks do; [`Self::timeline`] makes a trace of it.
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

    /// Writes what was noted since [`Self::observe_all`] into a trace, for the programs that were run. Nothing is noted any more.
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
        let names = ["data network: copies", "memory network: requests", "memory network: answers"];
        for (name, mesh) in names.into_iter().zip(meshes) {
            write_links(name, &mesh.hops.take().unwrap_or_default(), trace);
        }
        let names = ["control network: launch, which ends at the others' cycle 0", "control network: ends of programs"];
        for (name, hops) in names.into_iter().zip(&self.control) {
            write_links(name, hops, trace);
        }
    }
}

/// Reads and writes of memories, on a track for each node and kind; as many as there are in one cycle stand on tracks beside each other.
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

fn write_core(machine: &Machine, core: usize, events: Vec<CoreEvent>, program: &[u32], trace: &mut Trace) {
    let process = format!("core {core:02}");
    let mut tracks = |name: &str, count: u32| -> Vec<TrackId> {
        (0..count)
            .map(|at| trace.track(&process, &if count == 1 { name.to_owned() } else { format!("{name} {at}") }))
            .collect()
    };
    let computations = tracks("computations", 1);
    let copies = tracks("copies", machine.lane.copy_ports);
    let arrivals = tracks("arrivals", machine.lane.arrival_ports);
    let twiddles = tracks("twiddles", 1);
    // What happens in the same cycle stands on tracks beside each other.
    let (mut sent, mut arrived) = ((u64::MAX, 0), (u64::MAX, 0));
    let next = |last: &mut (u64, usize), cycle: u64, tracks: &[TrackId]| {
        *last = if last.0 == cycle { (cycle, last.1 + 1) } else { (cycle, 0) };
        tracks[last.1 % tracks.len()]
    };
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
                let track = if words.is_empty() { computations[0] } else { next(&mut sent, cycle, &copies) };
                trace.slice(track, &instruction.to_string(), cycle, 1, &[("instruction", u64::from(pc))]);
            }
            CoreEvent::Arrival { first, cycle, register, .. } if register >= 32 => {
                trace.slice(twiddles[0], &format!("t{}", register - 32), first, cycle + 1 - first, &[]);
            }
            CoreEvent::Arrival { cycle, register, .. } => {
                let track = next(&mut arrived, cycle, &arrivals);
                trace.slice(track, &format!("v{register}"), cycle, 1, &[]);
            }
            CoreEvent::Modulus { cycle, register, value } => {
                trace.slice(computations[0], &format!("m{register}"), cycle, 1, &[("value", u64::from(value))]);
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
