//! Descriptions of machines.

use serde::{Deserialize, Serialize};

use super::error::{PipelineError, require_positive, require_range};
use super::parts::{
    Body, BufferSpec, FLOWS, MAX_CYCLES, Preemption, Ring, Stage, StageSpec, check_slots, check_stage, flow_of, slots,
    stages,
};
use crate::description;

/// The schema that a machine file names.
pub const MACHINE_SCHEMA: &str = "ciphermill-pipeline/1";

/// The machine as the paper describes it: transforms of 6144 cycles, all nine stages alike.
pub const CHAM_PAPER: &str = include_str!("../../machines/cham-paper.toml");

/// The same pipeline around the transforms that Ciphermill has in RTL.
pub const CHAM_CIPHERMILL: &str = include_str!("../../machines/cham-ciphermill.toml");

/// The greatest number of engines, a power of two.
pub const MAX_ENGINES: u64 = 16;
/// The greatest N.
pub const MAX_POLYNOMIAL_SIZE: u64 = 1 << 17;
/// The greatest number of limbs, of special limbs, and of digits.
pub const MAX_LIMBS: u64 = 64;
/// The greatest clock, in MHz.
pub const MAX_CLOCK_MHZ: f64 = 100_000.0;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    name: String,
    description: String,
    clock_mhz: f64,
    engines: u64,
    exchange_cycles: u64,
    body: Body,
    preemption: Preemption,
    ring: Ring,
    #[serde(default)]
    stage: Vec<StageSpec>,
    #[serde(default)]
    buffer: Vec<BufferSpec>,
}

/// A macro-pipeline, checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PipelineMachine {
    name: String,
    description: String,
    clock_mhz: f64,
    engines: usize,
    exchange_cycles: u64,
    body: Body,
    preemption: Preemption,
    ring: Ring,
    stages: [StageSpec; 9],
    slots: [usize; FLOWS.len()],
}

impl PipelineMachine {
    /// Reads and checks a description.
    ///
    /// # Errors
    /// If it is no TOML of this shape, a number is out of its range, or stages or buffers are missing, repeated, or lead
    /// where nothing flows.
    pub fn from_toml(text: &str) -> Result<Self, PipelineError> {
        let syntax = |why: String| PipelineError::Syntax { what: "machine", why };
        let file: File = description::read(text).map_err(syntax)?;
        if file.schema != MACHINE_SCHEMA {
            return Err(syntax(format!("its schema is `{}`, not `{MACHINE_SCHEMA}`", file.schema)));
        }
        let machine = Self {
            stages: stages(&file.stage)?,
            slots: slots(&file.buffer)?,
            name: file.name,
            description: file.description,
            clock_mhz: require_positive("clock_mhz", file.clock_mhz, MAX_CLOCK_MHZ)?,
            engines: usize::try_from(file.engines).unwrap_or(usize::MAX),
            exchange_cycles: require_range("exchange_cycles", file.exchange_cycles, 1, MAX_CYCLES)?,
            body: file.body,
            preemption: file.preemption,
            ring: file.ring,
        };
        let ring = machine.ring;
        require_power_of_two("ring.polynomial_size", ring.polynomial_size, 2, MAX_POLYNOMIAL_SIZE)?;
        require_range("ring.limbs", ring.limbs, 1, MAX_LIMBS)?;
        require_range("ring.special_limbs", ring.special_limbs, 1, MAX_LIMBS)?;
        require_range("ring.digits", ring.digits, 1, MAX_LIMBS)?;
        let engines = machine.engines;
        machine.with_engines(engines)
    }

    /// The same with another number of engines, a power of two up to [`MAX_ENGINES`]: the packing tree is cut into as many.
    ///
    /// # Errors
    /// If it is not.
    pub fn with_engines(mut self, engines: usize) -> Result<Self, PipelineError> {
        require_power_of_two("engines", engines as u64, 1, MAX_ENGINES)?;
        self.engines = engines;
        Ok(self)
    }

    /// The same with another stage in the place of that of its name.
    ///
    /// # Errors
    /// If a number is out of its range.
    pub fn with_stage(mut self, spec: StageSpec) -> Result<Self, PipelineError> {
        check_stage(&spec)?;
        self.stages[spec.name.index()] = spec;
        Ok(self)
    }

    /// The same with another number of slots in a buffer.
    ///
    /// # Errors
    /// If the number is out of its range, or there is no such buffer.
    pub fn with_buffer(mut self, spec: BufferSpec) -> Result<Self, PipelineError> {
        let flow = flow_of(&spec)?;
        self.slots[flow] = check_slots(&spec)?;
        Ok(self)
    }

    /// The same with another treatment of a product's first polynomial.
    #[must_use]
    pub fn with_body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    /// The same with another treatment of the dot products.
    #[must_use]
    pub fn with_preemption(mut self, preemption: Preemption) -> Self {
        self.preemption = preemption;
        self
    }

    /// The same under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, in a sentence.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// In MHz.
    pub fn clock_mhz(&self) -> f64 {
        self.clock_mhz
    }

    /// Engines, each with nine stages.
    pub fn engines(&self) -> usize {
        self.engines
    }

    /// Cycles in which a ciphertext moves from one engine to another.
    pub fn exchange_cycles(&self) -> u64 {
        self.exchange_cycles
    }

    /// What becomes of a product's first polynomial.
    pub fn body(&self) -> Body {
        self.body
    }

    /// What inner nodes do to the dot products.
    pub fn preemption(&self) -> Preemption {
        self.preemption
    }

    /// The ring.
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// A stage.
    pub fn stage(&self, stage: Stage) -> StageSpec {
        self.stages[stage.index()]
    }

    /// Slots of the buffer from one stage to another; `None` if nothing flows there.
    pub fn slots(&self, from: Stage, to: Stage) -> Option<usize> {
        FLOWS.iter().position(|&flow| flow == (from, to)).map(|flow| self.slots[flow])
    }

    pub(crate) fn slots_of(&self, flow: usize) -> usize {
        self.slots[flow]
    }

    /// Items of a token for each prime. A row that goes through stage 1 has one, a ciphertext of the vector two.
    pub(crate) fn items(&self, stage: Stage) -> u64 {
        let parts = match self.body {
            Body::Transform => 2,
            Body::Sum => 1,
        };
        match stage {
            Stage::Ntt => 1,
            Stage::Intt | Stage::Rescale => parts,
            Stage::DigitNtt => self.ring.digits,
            Stage::KeyProduct => 2 * self.ring.digits,
            Stage::Multiply | Stage::Combine | Stage::KeyIntt | Stage::ModDown => 2,
        }
    }
}

fn require_power_of_two(what: &str, given: u64, min: u64, max: u64) -> Result<(), PipelineError> {
    require_range(what, given, min, max)?;
    if !given.is_power_of_two() {
        return Err(PipelineError::PowerOfTwo { what: what.to_owned(), given });
    }
    Ok(())
}
