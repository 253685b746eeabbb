//! Descriptions of machines.

use serde::{Deserialize, Serialize};

use super::error::{PipelineError, require_positive, require_range};

/// The schema that a machine file names.
pub const MACHINE_SCHEMA: &str = "ciphermill-pipeline/1";

/// The machine as the paper describes it: transforms of 6144 cycles, all nine stages alike.
pub const CHAM_PAPER: &str = include_str!("../../machines/cham-paper.toml");

/// The same pipeline around the transforms that Ciphermill has in RTL.
pub const CHAM_CIPHERMILL: &str = include_str!("../../machines/cham-ciphermill.toml");

/// The greatest number of cycles that a stage, or the exchange, may name.
pub const MAX_CYCLES: u64 = 1 << 28;
/// The greatest number of slots of a buffer.
pub const MAX_SLOTS: u64 = 1 << 16;
/// The greatest number of units of a stage for each prime.
pub const MAX_UNITS: u64 = 1 << 10;
/// The greatest number of engines, a power of two.
pub const MAX_ENGINES: u64 = 16;
/// The greatest N.
pub const MAX_POLYNOMIAL_SIZE: u64 = 1 << 17;
/// The greatest number of limbs, of special limbs, and of digits.
pub const MAX_LIMBS: u64 = 64;
/// The greatest clock, in MHz.
pub const MAX_CLOCK_MHZ: f64 = 100_000.0;

/// The nine stages, in the order of the flow (section 3.1 of the paper).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// 1: forward transform of a row, and of the vector before the first one.
    Ntt,
    /// 2: row times vector, added up over the vector's ciphertexts.
    Multiply,
    /// 3: inverse transform.
    Intt,
    /// 4: division by the special modulus and by the packing's power of two, extraction of the LWE ciphertext.
    Rescale,
    /// 5: PackTwoLWEs, first part: product with a monomial, sum, difference, automorphism.
    Combine,
    /// 6: forward transform of the digits of a key switch.
    DigitNtt,
    /// 7: digits times key.
    KeyProduct,
    /// 8: inverse transform of the key switch.
    KeyIntt,
    /// 9: division by the special modulus, and the sum with what stage 5 put by.
    ModDown,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Self; 9] = [
        Self::Ntt,
        Self::Multiply,
        Self::Intt,
        Self::Rescale,
        Self::Combine,
        Self::DigitNtt,
        Self::KeyProduct,
        Self::KeyIntt,
        Self::ModDown,
    ];

    /// Its name in machine files, traces and errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ntt => "ntt",
            Self::Multiply => "multiply",
            Self::Intt => "intt",
            Self::Rescale => "rescale",
            Self::Combine => "combine",
            Self::DigitNtt => "digit-ntt",
            Self::KeyProduct => "key-product",
            Self::KeyIntt => "key-intt",
            Self::ModDown => "mod-down",
        }
    }

    /// Its place in [`Stage::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether its work is transforms.
    pub fn is_transform(self) -> bool {
        matches!(self, Self::Ntt | Self::Intt | Self::DigitNtt | Self::KeyIntt)
    }
}

/// The ten buffers of an engine, as (writer, reader). The last is the packing tree's: intermediate nodes go back to stage 5.
pub(crate) const FLOWS: [(Stage, Stage); 10] = [
    (Stage::Ntt, Stage::Multiply),
    (Stage::Multiply, Stage::Intt),
    (Stage::Intt, Stage::Rescale),
    (Stage::Rescale, Stage::Combine),
    (Stage::Combine, Stage::DigitNtt),
    (Stage::DigitNtt, Stage::KeyProduct),
    (Stage::KeyProduct, Stage::KeyIntt),
    (Stage::KeyIntt, Stage::ModDown),
    (Stage::Combine, Stage::ModDown),
    (Stage::ModDown, Stage::Combine),
];
/// Places in [`FLOWS`]: leaves of the tree, what stage 5 puts by for stage 9, inner nodes of the tree.
pub(crate) const LEAVES: usize = 3;
pub(crate) const PUT_BY: usize = 8;
pub(crate) const NODES: usize = 9;

/// The name of a buffer, as `from-to`.
pub(crate) fn buffer_name(flow: usize) -> String {
    let (from, to) = FLOWS[flow];
    format!("{}-{}", from.name(), to.name())
}

/// The ring and the moduli that the machine is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ring {
    /// N, a power of two, 2 to 2^17.
    pub polynomial_size: u64,
    /// l, the primes of ciphertexts, 1 to 64.
    pub limbs: u64,
    /// K, the special primes, 1 to 64.
    pub special_limbs: u64,
    /// d, the digits of a key switch, 1 to 64: l with one limb to a digit.
    pub digits: u64,
}

impl Ring {
    /// l + K.
    pub fn chain(&self) -> u64 {
        self.limbs + self.special_limbs
    }
}

/// What stage 4 gets of the first polynomial c_0 of a product, of which it needs the constant coefficient only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// All coefficients: c_0 is transformed as c_1 is. "All polynomials are processed in parallel", says the paper.
    Transform,
    /// The constant coefficient as the sum of the spectrum, which stage 2 adds up, divided by N: no transform. So does
    /// `bfv::hmvp`.
    Sum,
}

/// What an inner node of the packing tree does to the dot products when it enters stage 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preemption {
    /// It enters before waiting leaves do. Earlier stages stop when their buffers are full.
    Buffered,
    /// Besides, stages 1 to 4 begin nothing until stage 5 can take the next: the paper's text, word for word.
    Pause,
}

/// One of the nine stages. Each prime has units of its own, `units` of them; an *item* is one polynomial modulo one prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageSpec {
    /// Which one.
    pub name: Stage,
    /// Units for each prime, 1 to 2^10.
    pub units: u64,
    /// Initiation interval of a unit: cycles from an item to the next, 1 to 2^28.
    pub interval: u64,
    /// Cycles from the begin of an item until its result is complete, 1 to 2^28.
    pub latency: u64,
    /// Cycles for which an item's input is read, 1 to the least of `interval` and `latency`; that least if not given.
    pub hold: Option<u64>,
}

impl StageSpec {
    /// Cycles for which an item's input is read.
    pub fn hold_cycles(&self) -> u64 {
        self.hold.unwrap_or(self.interval.min(self.latency))
    }
}

/// A buffer between two stages. A slot holds what one token carries: two slots are a ping-pong buffer, three the paper's
/// triple buffer. A slot is taken from the begin of its writing to the end of its reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferSpec {
    /// The stage that writes it.
    pub from: Stage,
    /// The stage that reads it.
    pub to: Stage,
    /// 1 to 2^16.
    pub slots: u64,
}

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
        let file: File = toml::from_str(text).map_err(|error| syntax(error.to_string()))?;
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

fn check_stage(spec: &StageSpec) -> Result<(), PipelineError> {
    let what = |field: &str| format!("{field} of stage `{}`", spec.name.name());
    require_range(what("units"), spec.units, 1, MAX_UNITS)?;
    require_range(what("interval"), spec.interval, 1, MAX_CYCLES)?;
    require_range(what("latency"), spec.latency, 1, MAX_CYCLES)?;
    require_range(what("hold"), spec.hold_cycles(), 1, spec.interval.min(spec.latency))?;
    Ok(())
}

fn stages(specs: &[StageSpec]) -> Result<[StageSpec; 9], PipelineError> {
    for (i, spec) in specs.iter().enumerate() {
        if specs[..i].iter().any(|earlier| earlier.name == spec.name) {
            return Err(PipelineError::RepeatedStage { stage: spec.name.name() });
        }
        check_stage(spec)?;
    }
    let mut found = Vec::with_capacity(9);
    for stage in Stage::ALL {
        let spec = specs.iter().find(|spec| spec.name == stage);
        found.push(*spec.ok_or(PipelineError::MissingStage { stage: stage.name() })?);
    }
    Ok(found.try_into().expect("nine stages"))
}

fn check_slots(spec: &BufferSpec) -> Result<usize, PipelineError> {
    let what = format!("slots of buffer `{}-{}`", spec.from.name(), spec.to.name());
    require_range(what, spec.slots, 1, MAX_SLOTS).map(|slots| slots as usize)
}

fn flow_of(spec: &BufferSpec) -> Result<usize, PipelineError> {
    let (from, to) = (spec.from.name(), spec.to.name());
    let flow = FLOWS.iter().position(|&flow| flow == (spec.from, spec.to));
    flow.ok_or(if spec.to <= spec.from {
        PipelineError::Cyclic { from, to }
    } else {
        PipelineError::NoFlow { from, to }
    })
}

fn slots(specs: &[BufferSpec]) -> Result<[usize; FLOWS.len()], PipelineError> {
    let mut slots = [None; FLOWS.len()];
    for spec in specs {
        let flow = flow_of(spec)?;
        if slots[flow].replace(check_slots(spec)?).is_some() {
            return Err(PipelineError::RepeatedBuffer { from: spec.from.name(), to: spec.to.name() });
        }
    }
    let mut found = [0; FLOWS.len()];
    for ((found, slots), (from, to)) in found.iter_mut().zip(slots).zip(FLOWS) {
        *found = slots.ok_or(PipelineError::MissingBuffer { from: from.name(), to: to.name() })?;
    }
    Ok(found)
}
