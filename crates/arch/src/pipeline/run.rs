//! Results of runs.

use serde::Serialize;

use super::job::{Counts, Job, Shape};
use super::machine::PipelineMachine;
use super::parts::{Body, Stage};
use super::station::alone;
use super::tree::Trees;
use crate::record::{Label, Record};

/// The activity of a stage in one engine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageUse {
    /// The engine.
    pub engine: usize,
    /// The stage.
    pub stage: Stage,
    /// Units per prime.
    pub units: u64,
    /// Rows, parts of rows, ciphertexts of the vector, or merges.
    pub tokens: u64,
    /// Polynomials modulo one prime, per prime.
    pub items: u64,
    /// Busy unit cycles, per prime.
    pub busy_cycles: u64,
    /// `busy_cycles` divided by units and by cycles of the run, 0 to 1.
    pub utilization: f64,
}

/// The occupancy of a buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BufferUse {
    /// The engine.
    pub engine: usize,
    /// The name, as `from-to`.
    pub buffer: String,
    /// The slots.
    pub slots: usize,
    /// The maximum number of occupied slots.
    pub peak: usize,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PipelineRun {
    /// The name of the machine.
    pub machine: String,
    /// The clock of the machine.
    pub clock_mhz: f64,
    /// The number of engines.
    pub engines: usize,
    /// The job.
    pub job: Job,
    /// The treatment of the products' first polynomials.
    pub body: Body,
    /// Cycles from the start to the completion of the last packed ciphertext.
    pub cycles: u64,
    /// Cycles per row in the middle half of the rows, counted at the output of stage 4; `None` below 16 rows.
    pub steady_cycles_per_row: Option<f64>,
    /// A lower bound on the cycles of every schedule on this machine (docs/arch-pipeline.md).
    pub bound_cycles: u64,
    /// The operation counts, counted at the start of each operation.
    pub counts: Counts,
    /// Ciphertexts moved between engines.
    pub exchanges: u64,
    /// The nine stages of each engine.
    pub stages: Vec<StageUse>,
    /// The ten buffers of each engine.
    pub buffers: Vec<BufferUse>,
}

impl PipelineRun {
    /// Milliseconds at the machine's clock.
    pub fn milliseconds(&self) -> f64 {
        self.cycles as f64 / self.clock_mhz / 1e3
    }

    /// The largest utilization of a stage.
    pub fn utilization(&self) -> f64 {
        self.stages.iter().map(|stage| stage.utilization).fold(0.0, f64::max)
    }

    /// One record, `arch-hmvp/<machine>/e<engines>/m<rows>/n<columns>`.
    pub fn records(&self) -> Vec<Record> {
        let Job { rows, columns } = self.job;
        let case = format!("arch-hmvp/{}/e{}/m{rows}/n{columns}", self.machine, self.engines);
        let mut record = Record::new(case, &*self.machine, Label::Simulated, self.cycles)
            .with("rows", rows)
            .with("columns", columns)
            .with("engines", self.engines)
            .with("clock_mhz", self.clock_mhz)
            .with("milliseconds", self.milliseconds())
            .with("bound_cycles", self.bound_cycles)
            .with("products", self.counts.products)
            .with("ntts", self.counts.ntts)
            .with("key_switches", self.counts.key_switches)
            .with("exchanges", self.exchanges);
        record.cycles_steady = self.steady_cycles_per_row;
        record.utilization = Some(self.utilization());
        vec![record]
    }
}

/// Cycles per row between a quarter and three quarters of the leaves.
pub(crate) fn steady(leaf_times: &[u64]) -> Option<f64> {
    let (first, last) = (leaf_times.len() / 4, leaf_times.len() / 4 * 3);
    (leaf_times.len() >= 16).then(|| (leaf_times[last] - leaf_times[first]) as f64 / (last - first) as f64)
}

/// A lower bound on the cycles of every schedule: for each stage the time before its first token, its items at its
/// rate, and the time after its last token. The last row is followed by a merge on every level.
pub(crate) fn lower_bound(machine: &PipelineMachine, shape: &Shape, trees: &Trees) -> u64 {
    let time = |stage: Stage| alone(&machine.stage(stage), machine.items(stage));
    let (front, back) = Stage::ALL.split_at(Stage::Combine.index());
    let merge: u64 = back.iter().map(|&stage| time(stage)).sum();
    let levels = (0..shape.tiles()).map(|tile| shape.levels(tile)).min().unwrap_or(0);
    let mut bound = 0;
    for engine in 0..machine.engines() {
        let rows = trees.leaves(engine).len() as u64;
        if rows == 0 {
            continue;
        }
        let engines = machine.engines() as u64;
        let vectors = (0..shape.column_tiles).filter(|tile| tile % engines == engine as u64).count() as u64;
        for stage in Stage::ALL {
            let tokens = match stage {
                Stage::Ntt | Stage::Multiply => rows * shape.column_tiles,
                Stage::Intt | Stage::Rescale => rows,
                _ => trees.merges(engine),
            };
            let more = if stage == Stage::Ntt { 2 * vectors } else { 0 };
            let (part, tail) = if stage < Stage::Combine { (front, u64::from(levels) * merge) } else { (back, 0) };
            let before: u64 = Stage::ALL.iter().filter(|&&other| other < stage).map(|&other| time(other)).sum();
            let after: u64 = part.iter().filter(|&&other| other > stage).map(|&other| time(other)).sum();
            if tokens > 0 {
                let items = tokens * machine.items(stage) + more;
                bound = bound.max(before + alone(&machine.stage(stage), items) + after + tail);
            }
        }
    }
    bound
}
