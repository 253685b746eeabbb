//! A point of the design space, and the machine that it describes.

use serde::{Deserialize, Serialize};

use super::error::{PipelineError, require_range};
use super::machine::PipelineMachine;
use super::parts::{Body, BufferSpec, Preemption, Stage, StageSpec};

/// The maximum number of lanes and of butterflies.
pub(super) const MAX_LANES: u64 = 64;
/// The maximum pipeline depth.
const MAX_DEPTH: u64 = 1 << 16;

/// Properties of units that a sweep does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Units {
    /// Cycles from the end of a radix-2 transform's interval to its last result: 1 to 2^16, like all depths.
    pub radix2_depth: u64,
    /// Cycles from the end of a radix-4 transform's interval to its last result.
    pub radix4_depth: u64,
    /// General multipliers of the radix-4 unit: a power of two from 1 to 64.
    pub radix4_butterflies: u64,
    /// Pipeline depth of a lane, in stages without transforms.
    pub lane_depth: u64,
}

impl Units {
    pub(super) fn check(&self) -> Result<(), PipelineError> {
        let depths =
            [("radix2_depth", self.radix2_depth), ("radix4_depth", self.radix4_depth), ("lane_depth", self.lane_depth)];
        for (name, depth) in depths {
            require_range(format!("{name} of the units"), depth, 1, MAX_DEPTH)?;
        }
        butterflies("radix4_butterflies of the units", self.radix4_butterflies)
    }
}

pub(super) fn butterflies(what: &str, given: u64) -> Result<(), PipelineError> {
    require_range(what, given, 1, MAX_LANES)?;
    if given.is_power_of_two() { Ok(()) } else { Err(PipelineError::PowerOfTwo { what: what.to_owned(), given }) }
}

/// One combination of parameters.
///
/// # Example
/// ```
/// use ciphermill_arch::pipeline::{CHAM_EXPLORE, CHAM_PAPER, Design, Exploration, PipelineMachine};
///
/// let (base, sweep) = (PipelineMachine::from_toml(CHAM_PAPER)?, Exploration::from_toml(CHAM_EXPLORE)?);
/// let design = Design { engines: 2, ..Design::default() };
/// assert_eq!(design.name(), "e2-b4-r2-f2-i2-s2-transform-pause");
/// assert_eq!(design.machine(&base, &sweep.units())?.engines(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Design {
    /// Engines.
    pub engines: u64,
    /// Butterflies of a transform unit; for radix 4, its general multipliers.
    pub butterflies: u64,
    /// Radix of forward transforms; inverse transforms have radix 2.
    pub radix: u64,
    /// Forward units for each prime in stage 6.
    pub forward_units: u64,
    /// Inverse units for each prime in stage 8.
    pub inverse_units: u64,
    /// Slots between stages 4 and 5.
    pub leaf_slots: u64,
    /// The treatment of a product's first polynomial.
    pub body: Body,
    /// The treatment of the dot products by inner nodes.
    pub preemption: Preemption,
}

impl Default for Design {
    fn default() -> Self {
        Self {
            engines: 1,
            butterflies: 4,
            radix: 2,
            forward_units: 2,
            inverse_units: 2,
            leaf_slots: 2,
            body: Body::Transform,
            preemption: Preemption::Pause,
        }
    }
}

impl Design {
    /// The machine of this design: `base` with the stages, buffers and engines of the design, and with these units.
    ///
    /// # Errors
    /// If the radix is 4 and N is not a power of four, or if N is too small for the number of butterflies.
    pub fn machine(&self, base: &PipelineMachine, units: &Units) -> Result<PipelineMachine, PipelineError> {
        let n = base.ring().polynomial_size;
        // A row of a unit is 2P values, and a transform stage has at least four rows.
        require_range("butterflies", self.butterflies, 1, (n / 8).max(1))?;
        let log = u64::from(n.ilog2());
        let row = n / (2 * self.butterflies);
        let inverse = (row * log, row * log + units.radix2_depth, row);
        let forward = if self.radix == 4 {
            if log % 2 != 0 {
                return Err(PipelineError::PowerOfTwo { what: "log2 N with radix 4, halved,".to_owned(), given: log });
            }
            // Three products per butterfly on P multipliers: N/4·3/P cycles per transform stage.
            let stage = n / 4 * 3 / self.butterflies;
            (stage * log / 2, stage * log / 2 + units.radix4_depth, stage)
        } else {
            inverse
        };
        let mut machine = base
            .clone()
            .named(self.name())
            .with_engines(self.engines as usize)?
            .with_body(self.body)
            .with_preemption(self.preemption);
        let digits = base.ring().digits;
        let mut slowest = 0;
        for stage in Stage::ALL.into_iter().filter(|stage| stage.is_transform()) {
            let ((interval, latency, hold), each, of) = match stage {
                Stage::Ntt => (forward, self.forward_units, digits),
                Stage::DigitNtt => (forward, self.forward_units, digits),
                _ => (inverse, self.inverse_units, 2),
            };
            let items = machine.items(stage);
            let units = (each * items).div_ceil(of);
            slowest = slowest.max((items * interval).div_ceil(units));
            machine = machine.with_stage(StageSpec { name: stage, units, interval, latency, hold: Some(hold) })?;
        }
        for stage in Stage::ALL.into_iter().filter(|stage| !stage.is_transform()) {
            let needed = (machine.items(stage) * n).div_ceil(slowest).next_power_of_two();
            let interval = n / needed.min(n);
            let latency = interval + units.lane_depth;
            machine = machine.with_stage(StageSpec { name: stage, units: 1, interval, latency, hold: None })?;
        }
        // If a stage works on two tokens at a time, its output has a slot for each and one for the reader.
        for (from, to) in [(Stage::Intt, Stage::Rescale), (Stage::KeyIntt, Stage::ModDown)] {
            let spec = machine.stage(from);
            let slots = if spec.units > machine.items(from) { 3 } else { 2 };
            machine = machine.with_buffer(BufferSpec { from, to, slots })?;
        }
        machine.with_buffer(BufferSpec { from: Stage::Rescale, to: Stage::Combine, slots: self.leaf_slots })
    }

    /// The name, such as `e2-b4-r2-f2-i2-s2-transform-pause`.
    pub fn name(&self) -> String {
        let Self { engines, butterflies, radix, forward_units, inverse_units, leaf_slots, .. } = self;
        let body = match self.body {
            Body::Transform => "transform",
            Body::Sum => "sum",
        };
        let preemption = match self.preemption {
            Preemption::Buffered => "buffered",
            Preemption::Pause => "pause",
        };
        format!(
            "e{engines}-b{butterflies}-r{radix}-f{forward_units}-i{inverse_units}-s{leaf_slots}-{body}-{preemption}"
        )
    }
}
