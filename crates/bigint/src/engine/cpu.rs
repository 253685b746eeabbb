//! The engine on this CPU.

use std::sync::Arc;

use ciphermill_math::{EngineInfo, EngineKind, Isa};

use super::{BaseHandle, EngineError, EngineModulus, Job, ModExpEngine, Output, PreparedBase, PreparedModulus};
use crate::{
    BigIntError, Exponents, FixedBase, IntegerBatch, MAX_EXPONENT_BITS, OddModulus, Path, WeightMatrix, limbs,
};

/// The engine on this CPU.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let modulus = CpuEngine::current().prepare(EngineModulus::Value(&n))?;
/// assert_eq!(modulus.multiply(&batch(&[3, 5]), &batch(&[7, 11]))?.row(1), [55, 0, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CpuEngine {
    path: Path,
}

impl CpuEngine {
    /// On the given path.
    ///
    /// # Errors
    /// [`BigIntError::PathUnavailable`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_bigint::{CpuEngine, ModExpEngine, Path};
    ///
    /// let engine = CpuEngine::new(Path::Portable)?;
    /// assert_eq!(engine.native_path(), Some(Path::Portable));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(path: Path) -> Result<Self, BigIntError> {
        if path.is_available() { Ok(Self { path }) } else { Err(BigIntError::PathUnavailable(path)) }
    }

    /// On the path of this process.
    pub fn current() -> Self {
        Self { path: Path::current() }
    }
}

impl ModExpEngine for CpuEngine {
    fn info(&self) -> EngineInfo {
        let isa = match self.path {
            Path::Portable => Isa::Portable,
            Path::Adx => Isa::Avx2,
            Path::IfmaSingle | Path::Ifma => Isa::Avx512,
        };
        EngineInfo::new("cpu", EngineKind::Cpu(isa)).on(self.path.name()).with_constant_time()
    }

    fn prepare(&self, modulus: EngineModulus<'_>) -> Result<Arc<dyn PreparedModulus>, EngineError> {
        let groups = match modulus {
            EngineModulus::Value(n) => OddModulus::new(n, self.path)?,
            EngineModulus::SquareOf(n) => OddModulus::square_of(n, self.path)?,
        };
        let single = match self.path {
            Path::Ifma if Path::IfmaSingle.is_available() => {
                Some(OddModulus::new(&limbs::to_uint(groups.value()), Path::IfmaSingle)?)
            }
            _ => None,
        };
        Ok(Arc::new(CpuModulus { groups, single }))
    }

    fn native_path(&self) -> Option<Path> {
        Some(self.path)
    }
}

/// A modulus on the engine's path and, where groups of eight would be wasted on few numbers, on a second one.
struct CpuModulus {
    groups: OddModulus,
    /// The same modulus on [`Path::IfmaSingle`].
    single: Option<OddModulus>,
}

impl CpuModulus {
    /// The greatest number of exponentiations that take less time one by one. Measured on Sapphire Rapids: one takes 0.4 of
    /// a group's time at 1024 bits, a quarter from 2048 bits on, and a third of it where the group works modulo n² through n.
    fn short(&self) -> usize {
        if self.groups.bits() < 1536 || self.groups.root().is_some() { 2 } else { 3 }
    }

    fn multiply(&self, a: &IntegerBatch, b: &IntegerBatch) -> Result<IntegerBatch, EngineError> {
        let ring = &self.groups;
        Ok(ring.leave(&ring.multiply(&ring.enter(a)?, &ring.enter(b)?)?))
    }

    fn pow(&self, bases: &IntegerBatch, exponents: &Exponents) -> Result<IntegerBatch, EngineError> {
        // The length is public.
        let len = bases.len().max(exponents.len().unwrap_or(1));
        match &self.single {
            Some(single) if len <= self.short() => {
                // The accepted widths do not depend on the length of the batch.
                self.groups.check_width(bases)?;
                pow(single, bases, exponents)
            }
            _ => pow(&self.groups, bases, exponents),
        }
    }

    fn prepare_base(&self, base: &IntegerBatch, bits: u32) -> Result<BaseHandle, EngineError> {
        if base.len() != 1 {
            return Err(BigIntError::Length { left: base.len(), right: 1 }.into());
        }
        if bits > MAX_EXPONENT_BITS {
            return Err(BigIntError::ExponentWidth { bits }.into());
        }
        Ok(BaseHandle::new(CpuBase(self.groups.fixed_base(&self.groups.enter(base)?, bits))))
    }

    fn pow_fixed(&self, base: &BaseHandle, exponents: &IntegerBatch) -> Result<IntegerBatch, EngineError> {
        let CpuBase(base) = base.downcast()?;
        if !base.belongs_to(&self.groups) {
            return Err(EngineError::ForeignBase);
        }
        Ok(self.groups.leave(&self.groups.pow_fixed(base, exponents)?))
    }

    fn multi_pow(&self, bases: &IntegerBatch, weights: &WeightMatrix) -> Result<IntegerBatch, EngineError> {
        if bases.len() != weights.columns() {
            return Err(BigIntError::Length { left: bases.len(), right: weights.columns() }.into());
        }
        let ring = &self.groups;
        Ok(ring.leave(&ring.multi_pow_public(&ring.enter(bases)?, weights)?))
    }
}

fn pow(ring: &OddModulus, bases: &IntegerBatch, exponents: &Exponents) -> Result<IntegerBatch, EngineError> {
    let bases = ring.enter(bases)?;
    let power = match exponents.len() {
        Some(len) if bases.len() == 1 => ring.pow(&ring.repeat(&bases, len), exponents)?,
        _ => ring.pow(&bases, exponents)?,
    };
    Ok(ring.leave(&power))
}

impl PreparedModulus for CpuModulus {
    fn limbs(&self) -> usize {
        self.groups.limbs()
    }

    fn memory_bytes(&self) -> u64 {
        self.groups.memory_bytes() + self.single.as_ref().map_or(0, OddModulus::memory_bytes)
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, EngineError> {
        let run = |job: &Job<'_>| match *job {
            Job::Multiply { a, b } => Ok(Output::Integers(self.multiply(a, b)?)),
            Job::Pow { bases, exponents } => Ok(Output::Integers(self.pow(bases, exponents)?)),
            Job::PrepareBase { base, bits } => Ok(Output::Base(self.prepare_base(base, bits)?)),
            Job::FixedBasePow { base, exponents } => Ok(Output::Integers(self.pow_fixed(base, exponents)?)),
            Job::MultiPow { bases, weights } => Ok(Output::Integers(self.multi_pow(bases, weights)?)),
        };
        jobs.iter().map(run).collect()
    }
}

/// A comb of powers.
struct CpuBase(FixedBase);

impl PreparedBase for CpuBase {
    fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes() as u64
    }
}
