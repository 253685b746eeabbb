//! The parts of a machine: stages, buffers, the ring.

use serde::{Deserialize, Serialize};

use super::error::{PipelineError, require_range};

/// The maximum cycles of a stage or an exchange.
pub const MAX_CYCLES: u64 = 1 << 28;
/// The maximum number of slots of a buffer.
pub const MAX_SLOTS: u64 = 1 << 16;
/// The maximum number of units of a stage per prime.
pub const MAX_UNITS: u64 = 1 << 10;

/// The nine stages, in the order of the flow (section 3.1 of the paper).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// 1: forward transform of a row, and before the first row of the vector.
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
    /// 9: division by the special modulus, and the sum with the polynomials that stage 5 set aside.
    ModDown,
}

impl Stage {
    /// All stages, in order.
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

    /// The name in machine files, traces and errors.
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

    /// The index in [`Stage::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether the stage consists of transforms.
    pub fn is_transform(self) -> bool {
        matches!(self, Self::Ntt | Self::Intt | Self::DigitNtt | Self::KeyIntt)
    }
}

/// The ten buffers of an engine, as (writer, reader). The last one belongs to the packing tree: inner nodes return to
/// stage 5.
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
/// Indices in [`FLOWS`]: leaves of the tree, sums set aside by stage 5 for stage 9, inner nodes of the tree.
pub(crate) const LEAVES: usize = 3;
pub(crate) const PUT_BY: usize = 8;
pub(crate) const NODES: usize = 9;

/// The name of a buffer, as `from-to`.
pub(crate) fn buffer_name(flow: usize) -> String {
    let (from, to) = FLOWS[flow];
    format!("{}-{}", from.name(), to.name())
}

/// The ring and the moduli of the machine.
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

/// The input of stage 4 for the first polynomial c_0 of a product. The stage needs only the constant coefficient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// All coefficients: c_0 is transformed like c_1. The paper says "all polynomials are processed in parallel".
    Transform,
    /// Only the constant coefficient: the sum of the spectrum, accumulated in stage 2 and divided by N, without a
    /// transform. `hmvp` does the same.
    Sum,
}

/// The effect of an inner node on the dot products when it enters stage 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preemption {
    /// It enters before waiting leaves. Earlier stages stop when their buffers are full.
    Buffered,
    /// In addition, stages 1 to 4 start nothing until stage 5 can take the next token: the paper's text taken
    /// literally.
    Pause,
}

/// One of the nine stages. Each prime has `units` separate units. An *item* is one polynomial modulo one prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageSpec {
    /// The stage.
    pub name: Stage,
    /// Units per prime, 1 to 2^10.
    pub units: u64,
    /// Initiation interval of a unit in cycles, 1 to 2^28.
    pub interval: u64,
    /// Latency of an item in cycles, 1 to 2^28.
    pub latency: u64,
    /// Cycles for which an item's input is read: 1 to the smaller of `interval` and `latency`, which is also the
    /// default.
    pub hold: Option<u64>,
}

impl StageSpec {
    /// Cycles for which an item's input is read.
    pub fn hold_cycles(&self) -> u64 {
        self.hold.unwrap_or(self.interval.min(self.latency))
    }
}

/// A buffer between two stages. A slot holds one token: two slots are a ping-pong buffer, three the paper's triple
/// buffer. A slot is occupied from the start of its writing to the end of its reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferSpec {
    /// The stage that writes it.
    pub from: Stage,
    /// The stage that reads it.
    pub to: Stage,
    /// The number of slots, 1 to 2^16.
    pub slots: u64,
}

pub(super) fn check_stage(spec: &StageSpec) -> Result<(), PipelineError> {
    let what = |field: &str| format!("{field} of stage `{}`", spec.name.name());
    require_range(what("units"), spec.units, 1, MAX_UNITS)?;
    require_range(what("interval"), spec.interval, 1, MAX_CYCLES)?;
    require_range(what("latency"), spec.latency, 1, MAX_CYCLES)?;
    require_range(what("hold"), spec.hold_cycles(), 1, spec.interval.min(spec.latency))?;
    Ok(())
}

pub(super) fn stages(specs: &[StageSpec]) -> Result<[StageSpec; 9], PipelineError> {
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

pub(super) fn check_slots(spec: &BufferSpec) -> Result<usize, PipelineError> {
    let what = format!("slots of buffer `{}-{}`", spec.from.name(), spec.to.name());
    require_range(what, spec.slots, 1, MAX_SLOTS).map(|slots| slots as usize)
}

pub(super) fn flow_of(spec: &BufferSpec) -> Result<usize, PipelineError> {
    let (from, to) = (spec.from.name(), spec.to.name());
    let flow = FLOWS.iter().position(|&flow| flow == (spec.from, spec.to));
    flow.ok_or(if spec.to <= spec.from {
        PipelineError::Cyclic { from, to }
    } else {
        PipelineError::NoFlow { from, to }
    })
}

pub(super) fn slots(specs: &[BufferSpec]) -> Result<[usize; FLOWS.len()], PipelineError> {
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
