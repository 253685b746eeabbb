//! The trace of a run: a process for each engine, a track for each unit of each stage, a counter for each buffer.

use super::machine::PipelineMachine;
use super::parts::{FLOWS, Stage, buffer_name};
use super::station::Token;
use super::tree::Node;
use crate::trace::{Trace, TrackId};

/// The maximum number of tracks per stage, for readability.
const MAX_UNIT_TRACKS: u64 = 16;

struct Tracks {
    units: Vec<Vec<TrackId>>,
    exchange: TrackId,
}

/// An optional trace.
pub(crate) struct Traced<'a> {
    trace: Option<(&'a mut Trace, Vec<Tracks>)>,
    buffers: Vec<String>,
}

impl<'a> Traced<'a> {
    pub(crate) fn new(trace: Option<&'a mut Trace>, machine: &PipelineMachine) -> Self {
        let trace = trace.map(|trace| {
            let tracks = (0..machine.engines()).map(|engine| Tracks::new(trace, machine, engine)).collect();
            (trace, tracks)
        });
        Self { trace, buffers: (0..FLOWS.len()).map(|flow| format!("buffer {}", buffer_name(flow))).collect() }
    }

    pub(crate) fn item(&mut self, engine: usize, stage: Stage, unit: usize, begin: u64, cycles: u64, token: Token) {
        let Some((trace, tracks)) = &mut self.trace else { return };
        let Some(&track) = tracks[engine].units[stage.index()].get(unit) else { return };
        match token {
            Token::Vector => trace.slice(track, "vector", begin, cycles, &[]),
            Token::Row { leaf, part } => {
                let args = [("tile", leaf.tile.into()), ("row", leaf.place.into()), ("part", part.into())];
                trace.slice(track, &format!("row {}", leaf.place), begin, cycles, &args);
            }
            Token::Merge(node) => {
                let args = [("tile", node.tile.into()), ("level", node.level.into()), ("node", node.place.into())];
                trace.slice(track, &format!("merge {}.{}", node.level, node.place), begin, cycles, &args);
            }
        }
    }

    pub(crate) fn exchange(&mut self, from: usize, begin: u64, cycles: u64, node: Node) {
        let Some((trace, tracks)) = &mut self.trace else { return };
        let args = [("tile", node.tile.into()), ("level", node.level.into()), ("node", node.place.into())];
        trace.slice(tracks[from].exchange, &format!("node {}.{}", node.level, node.place), begin, cycles, &args);
    }

    pub(crate) fn slots(&mut self, engine: usize, flow: usize, at: u64, used: usize) {
        let Some((trace, tracks)) = &mut self.trace else { return };
        trace.counter(tracks[engine].exchange, &self.buffers[flow], at, used as u64);
    }
}

impl Tracks {
    fn new(trace: &mut Trace, machine: &PipelineMachine, engine: usize) -> Self {
        let process = format!("{}, engine {engine}", machine.name());
        let mut units = Vec::new();
        for stage in Stage::ALL {
            let count = machine.stage(stage).units;
            let name = |unit: u64| match count {
                1 => format!("{} {}", stage.index() + 1, stage.name()),
                _ => format!("{} {} {unit}", stage.index() + 1, stage.name()),
            };
            units.push((0..count.min(MAX_UNIT_TRACKS)).map(|unit| trace.track(&process, &name(unit))).collect());
        }
        Self { units, exchange: trace.track(&process, "exchange") }
    }
}
