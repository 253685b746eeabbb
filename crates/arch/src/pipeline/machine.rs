//! Machine descriptions of the macro-pipeline.

use serde::{Deserialize, Serialize};

use super::error::{PipelineError, require_positive, require_range};
use super::parts::{
    Body, BufferSpec, FLOWS, MAX_CYCLES, Preemption, Ring, Stage, StageSpec, check_slots, check_stage, flow_of, slots,
    stages,
};
use crate::description;

/// The schema of a machine file.
pub const MACHINE_SCHEMA: &str = "ciphermill-pipeline/1";

/// The machine of the paper: transforms of 6144 cycles, nine equal stages.
pub const CHAM_PAPER: &str = include_str!("../../machines/cham-paper.toml");

/// The same pipeline with the transforms of Ciphermill's RTL.
pub const CHAM_CIPHERMILL: &str = include_str!("../../machines/cham-ciphermill.toml");

/// The maximum number of engines, a power of two.
pub const MAX_ENGINES: u64 = 16;
/// The maximum polynomial size.
pub const MAX_POLYNOMIAL_SIZE: u64 = 1 << 17;
/// The maximum number of limbs, of special limbs, and of digits.
pub const MAX_LIMBS: u64 = 64;
/// The maximum clock, in MHz.
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

/// A checked macro-pipeline.
///
/// # Example
/// ```
/// use ciphermill_arch::pipeline::{CHAM_PAPER, PipelineMachine, Stage};
///
/// let machine = PipelineMachine::from_toml(CHAM_PAPER)?;
/// assert_eq!((machine.engines(), machine.stage(Stage::Ntt).interval), (2, 6144));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// Parses and checks a description.
    ///
    /// # Errors
    /// If the text is not TOML of this shape, a number is out of range, stages or buffers are missing or repeated, or a
    /// buffer connects stages that exchange no tokens.
    ///
    /// # Example
    /// ```
    /// use ciphermill_arch::pipeline::{CHAM_PAPER, PipelineError, PipelineMachine};
    ///
    /// assert!(PipelineMachine::from_toml(CHAM_PAPER).is_ok());
    /// let refused = PipelineMachine::from_toml("engines = 2");
    /// assert!(matches!(refused, Err(PipelineError::Syntax { .. })), "most fields are missing");
    /// ```
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

    /// Changes the number of engines, a power of two up to [`MAX_ENGINES`]. The packing tree is divided among them.
    ///
    /// # Errors
    /// If the number is not such a power of two.
    ///
    /// # Example
    /// ```
    /// use ciphermill_arch::pipeline::{CHAM_PAPER, PipelineMachine};
    ///
    /// let machine = PipelineMachine::from_toml(CHAM_PAPER)?;
    /// assert_eq!(machine.clone().with_engines(4)?.engines(), 4);
    /// assert!(machine.with_engines(3).is_err(), "use a power of two");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_engines(mut self, engines: usize) -> Result<Self, PipelineError> {
        require_power_of_two("engines", engines as u64, 1, MAX_ENGINES)?;
        self.engines = engines;
        Ok(self)
    }

    /// Replaces the stage with the name of `spec`.
    ///
    /// # Errors
    /// If a number is out of range.
    ///
    /// # Example
    /// ```
    /// use ciphermill_arch::pipeline::{CHAM_PAPER, PipelineMachine, Stage, StageSpec};
    ///
    /// let machine = PipelineMachine::from_toml(CHAM_PAPER)?;
    /// let twice = StageSpec { units: 2, ..machine.stage(Stage::Combine) };
    /// assert_eq!(machine.with_stage(twice)?.stage(Stage::Combine).units, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_stage(mut self, spec: StageSpec) -> Result<Self, PipelineError> {
        check_stage(&spec)?;
        self.stages[spec.name.index()] = spec;
        Ok(self)
    }

    /// Changes the number of slots of a buffer.
    ///
    /// # Errors
    /// If the number is out of range, or the buffer does not exist.
    ///
    /// # Example
    /// ```
    /// use ciphermill_arch::pipeline::{BufferSpec, CHAM_PAPER, PipelineMachine, Stage};
    ///
    /// let (from, to) = (Stage::Rescale, Stage::Combine);
    /// let machine = PipelineMachine::from_toml(CHAM_PAPER)?.with_buffer(BufferSpec { from, to, slots: 12 })?;
    /// assert_eq!(machine.slots(from, to), Some(12));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_buffer(mut self, spec: BufferSpec) -> Result<Self, PipelineError> {
        let flow = flow_of(&spec)?;
        self.slots[flow] = check_slots(&spec)?;
        Ok(self)
    }

    /// Changes the treatment of a product's first polynomial.
    #[must_use]
    pub fn with_body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    /// Changes the treatment of the dot products by inner nodes.
    #[must_use]
    pub fn with_preemption(mut self, preemption: Preemption) -> Self {
        self.preemption = preemption;
        self
    }

    /// Changes the name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The description in one sentence.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The clock in MHz.
    pub fn clock_mhz(&self) -> f64 {
        self.clock_mhz
    }

    /// Engines, each with nine stages.
    pub fn engines(&self) -> usize {
        self.engines
    }

    /// Cycles to move a ciphertext from one engine to another.
    pub fn exchange_cycles(&self) -> u64 {
        self.exchange_cycles
    }

    /// The treatment of a product's first polynomial.
    pub fn body(&self) -> Body {
        self.body
    }

    /// The treatment of the dot products by inner nodes.
    pub fn preemption(&self) -> Preemption {
        self.preemption
    }

    /// The ring.
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// The description of a stage.
    pub fn stage(&self, stage: Stage) -> StageSpec {
        self.stages[stage.index()]
    }

    /// Slots of the buffer from one stage to another; `None` if the stages exchange no tokens.
    pub fn slots(&self, from: Stage, to: Stage) -> Option<usize> {
        FLOWS.iter().position(|&flow| flow == (from, to)).map(|flow| self.slots[flow])
    }

    pub(crate) fn slots_of(&self, flow: usize) -> usize {
        self.slots[flow]
    }

    /// Items of a token per prime. In stage 1, a row has one item and a ciphertext of the vector two.
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
