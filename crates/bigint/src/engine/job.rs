//! Jobs of an engine, their outputs, and prepared bases.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::EngineError;
use crate::{Exponents, IntegerBatch, WeightMatrix};

/// A batch of work modulo one prepared modulus. Integers may be wider than the modulus, up to
/// [`MAX_ENTRY_RATIO`](crate::MAX_ENTRY_RATIO) times; results are below the modulus.
///
/// More kinds will follow. An engine returns [`EngineError::Unsupported`] for a kind that it does not implement.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let modulus = CpuEngine::current().prepare(EngineModulus::Value(&n))?;
/// let (bases, exponents) = (batch(&[3, 5]), Exponents::shared(&limbs::to_uint(&[2]), 2)?);
/// let job = Job::Pow { bases: &bases, exponents: &exponents };
/// assert_eq!(job.name(), "pow");
/// for output in modulus.run(&[job])? {
///     assert_eq!(output.into_integers()?.row(1)[0], 25);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Job<'a> {
    /// a·b, element by element; a batch of length 1 on either side is used for every element.
    Multiply {
        /// Left factors.
        a: &'a IntegerBatch,
        /// Right factors.
        b: &'a IntegerBatch,
    },
    /// Each base to its exponent; one base is used for every exponent.
    Pow {
        /// Bases.
        bases: &'a IntegerBatch,
        /// One exponent for every base, or one per base.
        exponents: &'a Exponents,
    },
    /// Prepares one base for exponents of up to `bits` bits. The output is a [`BaseHandle`].
    PrepareBase {
        /// The base: a batch of one integer.
        base: &'a IntegerBatch,
        /// Bits of the longest exponent.
        bits: u32,
    },
    /// A prepared base to each exponent.
    FixedBasePow {
        /// The output of [`Job::PrepareBase`] on the same prepared modulus.
        base: &'a BaseHandle,
        /// Exponents of at most the prepared width.
        exponents: &'a IntegerBatch,
    },
    /// For each row of weights, the product of all bases to the powers of that row. Weights are public: the time depends
    /// on them. Bases with a negative weight must be units.
    MultiPow {
        /// One base per column.
        bases: &'a IntegerBatch,
        /// The exponents.
        weights: &'a WeightMatrix,
    },
}

impl Job<'_> {
    /// The name of the job's kind, for reports and errors.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Multiply { .. } => "multiply",
            Self::Pow { .. } => "pow",
            Self::PrepareBase { .. } => "prepare_base",
            Self::FixedBasePow { .. } => "fixed_base_pow",
            Self::MultiPow { .. } => "multi_pow",
        }
    }
}

/// The result of one job.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Output {
    /// Integers below the modulus, each of as many limbs as the modulus.
    Integers(IntegerBatch),
    /// A base that the engine holds in a private form.
    Base(BaseHandle),
}

impl Output {
    /// The integers.
    ///
    /// # Errors
    /// [`EngineError::Outputs`] if the output is of another kind.
    pub fn into_integers(self) -> Result<IntegerBatch, EngineError> {
        match self {
            Self::Integers(batch) => Ok(batch),
            Self::Base(_) => Err(EngineError::Outputs { reason: "a prepared base instead of integers" }),
        }
    }

    /// The prepared base.
    ///
    /// # Errors
    /// [`EngineError::Outputs`] if the output is of another kind.
    pub fn into_base(self) -> Result<BaseHandle, EngineError> {
        match self {
            Self::Base(base) => Ok(base),
            Self::Integers(_) => Err(EngineError::Outputs { reason: "integers instead of a prepared base" }),
        }
    }
}

/// The engine's side of a prepared base.
pub trait PreparedBase: Any + Send + Sync {
    /// Bytes that the base occupies, in the engine's memory or in this process.
    fn memory_bytes(&self) -> u64;
}

/// A prepared base: opaque to all but the engine that made it, and cheap to clone.
#[derive(Clone)]
pub struct BaseHandle(Arc<dyn PreparedBase>);

impl BaseHandle {
    /// Wraps an engine's own type.
    pub fn new(base: impl PreparedBase) -> Self {
        Self(Arc::new(base))
    }

    /// Bytes that the base occupies.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes()
    }

    /// The engine's own type.
    ///
    /// # Errors
    /// [`EngineError::ForeignBase`] if the handle holds another type. An engine also compares the modulus itself.
    pub fn downcast<T: PreparedBase>(&self) -> Result<&T, EngineError> {
        let base: &dyn Any = &*self.0;
        base.downcast_ref().ok_or(EngineError::ForeignBase)
    }
}

impl fmt::Debug for BaseHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BaseHandle").field("memory_bytes", &self.memory_bytes()).finish_non_exhaustive()
    }
}
