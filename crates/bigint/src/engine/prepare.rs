//! The traits of an engine and of a modulus that it has prepared.

use std::fmt;
use std::sync::Arc;

use ciphermill_math::{EngineCost, EngineInfo};
use crypto_bigint::BoxedUint;

use super::{BaseHandle, EngineError, Job, Output};
use crate::{Exponents, IntegerBatch, Path, WeightMatrix};

/// An engine that multiplies and exponentiates modulo large odd numbers: this CPU, or an accelerator.
///
/// Operands and results are plain integers in batches. An engine computes its constants once per modulus
/// ([`prepare`](ModExpEngine::prepare)) and may be called from several threads.
///
/// # Example
/// ```
/// use ciphermill_bigint::{CpuEngine, EngineModulus, Exponents, IntegerBatch, Job, ModExpEngine};
/// use crypto_bigint::BoxedUint;
///
/// let modulus = (BoxedUint::one_with_precision(512) << 511u32).wrapping_add(BoxedUint::one_with_precision(512));
/// let prepared = CpuEngine::current().prepare(EngineModulus::Value(&modulus))?;
/// let (bases, exponents) = (IntegerBatch::from_u64s(&[3, 5]), IntegerBatch::from_u64s(&[2, 3]));
/// let exponents = Exponents::each(exponents, 2)?;
/// let outputs = prepared.run(&[Job::Pow { bases: &bases, exponents: &exponents }])?;
/// let powers = outputs.into_iter().next().unwrap().into_integers()?;
/// assert_eq!((powers.row(0)[0], powers.row(1)[0]), (9, 125));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub trait ModExpEngine: Send + Sync + fmt::Debug {
    /// Name, device, kind, and whether the engine is constant-time.
    fn info(&self) -> EngineInfo;

    /// Computes the constants of a modulus. The engine may use that the modulus is a square.
    ///
    /// # Errors
    /// [`EngineError::Operands`] if the modulus is even, or outside of the supported sizes;
    /// [`EngineError::ModulusBits`] if this engine supports only shorter ones.
    fn prepare(&self, modulus: EngineModulus<'_>) -> Result<Arc<dyn PreparedModulus>, EngineError>;

    /// The CPU path on which [`OddModulus`](crate::OddModulus) computes the same function as this engine. A caller may
    /// then stay in Montgomery form between operations. `None`, the default, sends every operation to the engine.
    fn native_path(&self) -> Option<Path> {
        None
    }

    /// Whether a record of the operands leaves this process, such as a waveform. Such an engine receives no secrets.
    fn is_traced(&self) -> bool {
        false
    }

    /// The costs of the batches since the last call, in the order in which they ran. An engine that counts no cycles has
    /// none.
    fn take_costs(&self) -> Vec<EngineCost> {
        Vec::new()
    }
}

/// The modulus to prepare.
#[derive(Clone, Copy, Debug)]
pub enum EngineModulus<'a> {
    /// This number.
    Value(&'a BoxedUint),
    /// The square of this number.
    SquareOf(&'a BoxedUint),
}

/// A modulus whose constants an engine holds.
///
/// Operands given here are public: the engine may be another machine. Secret operands go through
/// [`TrustedModulus`](super::TrustedModulus).
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let modulus = CpuEngine::current().prepare(EngineModulus::SquareOf(&n))?;
/// let (a, b) = (batch(&[3]), batch(&[7]));
/// let product = Job::Multiply { a: &a, b: &b };
/// let outputs = modulus.run(&[product, product])?;
/// assert_eq!((outputs.len(), modulus.limbs()), (2, 8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait PreparedModulus: Send + Sync {
    /// Limbs of a result: those of the modulus.
    fn limbs(&self) -> usize;

    /// Memory that the constants occupy, in bytes, in the engine and here.
    fn memory_bytes(&self) -> u64;

    /// Runs the jobs and returns one output per job, in order. Results are below the modulus.
    ///
    /// # Errors
    /// [`EngineError`]; no output is returned then.
    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, EngineError>;
}

/// One job at a time.
impl dyn PreparedModulus + '_ {
    /// Runs [`Job::Multiply`].
    ///
    /// # Errors
    /// [`EngineError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let modulus = CpuEngine::current().prepare(EngineModulus::Value(&n))?;
    /// assert_eq!(modulus.multiply(&batch(&[3, 5]), &batch(&[10]))?.row(1)[0], 50);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply(&self, a: &IntegerBatch, b: &IntegerBatch) -> Result<IntegerBatch, EngineError> {
        self.run_one(Job::Multiply { a, b })?.into_integers()
    }

    /// Runs [`Job::Pow`].
    ///
    /// # Errors
    /// [`EngineError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let modulus = CpuEngine::current().prepare(EngineModulus::Value(&n))?;
    /// let exponents = Exponents::each(batch(&[2, 3]), 2)?;
    /// assert_eq!(modulus.pow(&batch(&[3, 5]), &exponents)?.row(1)[0], 125);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pow(&self, bases: &IntegerBatch, exponents: &Exponents) -> Result<IntegerBatch, EngineError> {
        self.run_one(Job::Pow { bases, exponents })?.into_integers()
    }

    /// Runs [`Job::PrepareBase`].
    ///
    /// # Errors
    /// [`EngineError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let modulus = CpuEngine::current().prepare(EngineModulus::Value(&n))?;
    /// let base = modulus.prepare_base(&batch(&[3]), 8)?;
    /// assert!(base.memory_bytes() > 0);
    /// assert_eq!(modulus.pow_fixed(&base, &batch(&[2, 5]))?.row(1)[0], 243);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepare_base(&self, base: &IntegerBatch, bits: u32) -> Result<BaseHandle, EngineError> {
        self.run_one(Job::PrepareBase { base, bits })?.into_base()
    }

    /// Runs [`Job::FixedBasePow`].
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn pow_fixed(&self, base: &BaseHandle, exponents: &IntegerBatch) -> Result<IntegerBatch, EngineError> {
        self.run_one(Job::FixedBasePow { base, exponents })?.into_integers()
    }

    /// Runs [`Job::MultiPow`].
    ///
    /// # Errors
    /// [`EngineError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let modulus = CpuEngine::current().prepare(EngineModulus::Value(&n))?;
    /// let weights = WeightMatrix::new(2, vec![1, 2])?;
    /// assert_eq!(modulus.multi_pow(&batch(&[3, 5]), &weights)?.row(0)[0], 75);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multi_pow(&self, bases: &IntegerBatch, weights: &WeightMatrix) -> Result<IntegerBatch, EngineError> {
        self.run_one(Job::MultiPow { bases, weights })?.into_integers()
    }

    fn run_one(&self, job: Job<'_>) -> Result<Output, EngineError> {
        let mut outputs = self.run(&[job])?;
        match (outputs.pop(), outputs.is_empty()) {
            (Some(output), true) => Ok(output),
            _ => Err(EngineError::Outputs { reason: "another number of outputs than jobs" }),
        }
    }
}
