//! The kernel seam of modular multiplication and exponentiation.

use std::fmt;
use std::sync::Arc;

use crypto_bigint::BoxedUint;

use super::{BigIntError, Exponents, FixedBase, IntegerBatch, MAX_EXPONENT_BITS, OddModulus, Path, limbs};

/// Why an engine gave no result.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The operands are not what the engine can work on.
    #[error(transparent)]
    Operands(#[from] BigIntError),
    /// The engine itself failed, or cannot do what was asked.
    #[error("the engine {engine} failed: {cause}")]
    Failed {
        /// Its name.
        engine: String,
        /// What it says.
        cause: String,
    },
}

/// Something that multiplies and exponentiates modulo large odd numbers: this CPU, or an accelerator.
///
/// Operands and results are plain integers in batches. An engine computes its constants once per modulus
/// ([`prepare`](ModExpEngine::prepare)) and may be called from several threads.
pub trait ModExpEngine: Send + Sync + fmt::Debug {
    /// The name used in reports: `cpu`, `rtl`, ….
    fn name(&self) -> &str;

    /// Instructions or core in use, as `ifma`.
    fn path(&self) -> &str;

    /// Whether time is independent of the values of bases and exponents.
    fn is_constant_time(&self) -> bool;

    /// The constants of a modulus; that it is a square, and of what, is for the engine to use or not.
    ///
    /// # Errors
    /// [`EngineError::Operands`] if the modulus is even, too small or too large for the engine.
    fn prepare(&self, modulus: EngineModulus<'_>) -> Result<Arc<dyn PreparedModulus>, EngineError>;
}

/// What is prepared.
#[derive(Clone, Copy)]
pub enum EngineModulus<'a> {
    /// This modulus.
    Value(&'a BoxedUint),
    /// The square of this number.
    SquareOf(&'a BoxedUint),
}

/// A modulus that an engine holds the constants of.
pub trait PreparedModulus: Send + Sync {
    /// Limbs of a result.
    fn limbs(&self) -> usize;

    /// a·b, element by element; a batch of length 1 on either side is used for every element. Results are canonical.
    ///
    /// # Errors
    /// [`EngineError`].
    fn multiply(&self, a: &IntegerBatch, b: &IntegerBatch) -> Result<IntegerBatch, EngineError>;

    /// Each base to its exponent; one base is used for every exponent. Results are canonical.
    ///
    /// # Errors
    /// [`EngineError`].
    fn pow(&self, bases: &IntegerBatch, exponents: &Exponents) -> Result<IntegerBatch, EngineError>;

    /// Prepares one base for exponents of up to `bits` bits; `None` if the engine has nothing better than
    /// [`pow`](PreparedModulus::pow) for it.
    ///
    /// # Errors
    /// [`EngineError`].
    fn fixed_base(&self, base: &IntegerBatch, bits: u32) -> Result<Option<Box<dyn PreparedBase>>, EngineError> {
        let _ = (base, bits);
        Ok(None)
    }
}

/// A base that an engine holds powers of.
pub trait PreparedBase: Send + Sync {
    /// The base to each exponent. Results are canonical.
    ///
    /// # Errors
    /// [`EngineError`].
    fn pow(&self, exponents: &IntegerBatch) -> Result<IntegerBatch, EngineError>;
}

/// The engine on this CPU.
#[derive(Clone, Copy, Debug)]
pub struct CpuEngine {
    path: Path,
}

impl CpuEngine {
    /// On the given path.
    ///
    /// # Errors
    /// [`BigIntError::PathUnavailable`].
    pub fn new(path: Path) -> Result<Self, BigIntError> {
        if path.is_available() { Ok(Self { path }) } else { Err(BigIntError::PathUnavailable(path)) }
    }

    /// On the path of this process.
    pub fn current() -> Self {
        Self { path: Path::current() }
    }
}

impl ModExpEngine for CpuEngine {
    fn name(&self) -> &str {
        "cpu"
    }

    fn path(&self) -> &str {
        self.path.name()
    }

    fn is_constant_time(&self) -> bool {
        true
    }

    fn prepare(&self, modulus: EngineModulus<'_>) -> Result<Arc<dyn PreparedModulus>, EngineError> {
        let groups = match modulus {
            EngineModulus::Value(n) => OddModulus::new(n, self.path)?,
            EngineModulus::SquareOf(n) => OddModulus::square_of(n, self.path)?,
        };
        if self.path != Path::Ifma || !Path::IfmaSingle.is_available() {
            return Ok(Arc::new(groups));
        }
        let single = OddModulus::new(&limbs::to_uint(groups.value()), Path::IfmaSingle)?;
        Ok(Arc::new(CpuModulus { groups, single }))
    }
}

/// A modulus for two kernels: groups of eight take the same time for one number as for eight, which one by one are faster
/// where they are few.
struct CpuModulus {
    groups: OddModulus,
    /// The same modulus on [`Path::IfmaSingle`].
    single: OddModulus,
}

impl CpuModulus {
    /// Most exponentiations that are done one by one. Measured on Sapphire Rapids: one takes 0.4 of a group's time at 1024
    /// bits, a quarter from 2048 bits on, and a third of it where the group works modulo n² through n.
    fn short(&self) -> usize {
        if self.groups.bits() < 1536 || self.groups.root().is_some() { 2 } else { 3 }
    }
}

impl PreparedModulus for CpuModulus {
    fn limbs(&self) -> usize {
        self.groups.limbs()
    }

    fn multiply(&self, a: &IntegerBatch, b: &IntegerBatch) -> Result<IntegerBatch, EngineError> {
        PreparedModulus::multiply(&self.groups, a, b)
    }

    fn pow(&self, bases: &IntegerBatch, exponents: &Exponents) -> Result<IntegerBatch, EngineError> {
        // The length is public.
        let len = bases.len().max(exponents.len().unwrap_or(1));
        if len > self.short() {
            return PreparedModulus::pow(&self.groups, bases, exponents);
        }
        // What is taken in does not depend on the length of the batch.
        self.groups.check_width(bases)?;
        PreparedModulus::pow(&self.single, bases, exponents)
    }

    fn fixed_base(&self, base: &IntegerBatch, bits: u32) -> Result<Option<Box<dyn PreparedBase>>, EngineError> {
        PreparedModulus::fixed_base(&self.groups, base, bits)
    }
}

impl PreparedModulus for OddModulus {
    fn limbs(&self) -> usize {
        OddModulus::limbs(self)
    }

    fn multiply(&self, a: &IntegerBatch, b: &IntegerBatch) -> Result<IntegerBatch, EngineError> {
        Ok(self.leave(&OddModulus::multiply(self, &self.enter(a)?, &self.enter(b)?)?))
    }

    fn pow(&self, bases: &IntegerBatch, exponents: &Exponents) -> Result<IntegerBatch, EngineError> {
        let bases = self.enter(bases)?;
        let power = match exponents.len() {
            Some(len) if bases.len() == 1 => OddModulus::pow(self, &self.repeat(&bases, len), exponents)?,
            _ => OddModulus::pow(self, &bases, exponents)?,
        };
        Ok(self.leave(&power))
    }

    fn fixed_base(&self, base: &IntegerBatch, bits: u32) -> Result<Option<Box<dyn PreparedBase>>, EngineError> {
        if base.len() != 1 {
            return Err(BigIntError::Length { left: base.len(), right: 1 }.into());
        }
        if bits > MAX_EXPONENT_BITS {
            return Err(BigIntError::ExponentWidth { bits }.into());
        }
        let base = OddModulus::fixed_base(self, &self.enter(base)?, bits);
        Ok(Some(Box::new(CpuBase { modulus: self.clone(), base })))
    }
}

struct CpuBase {
    modulus: OddModulus,
    base: FixedBase,
}

impl PreparedBase for CpuBase {
    fn pow(&self, exponents: &IntegerBatch) -> Result<IntegerBatch, EngineError> {
        Ok(self.modulus.leave(&self.modulus.pow_fixed(&self.base, exponents)?))
    }
}
