//! Capability types: only an engine that may hold secrets receives them.

use std::sync::Arc;

use ciphermill_math::{EngineInfo, EngineKind};

use super::{BaseHandle, EngineError, EngineModulus, Job, ModExpEngine, Output, PreparedModulus};
use crate::{Exponents, IntegerBatch};

/// The engines that may receive secret operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretPolicy {
    /// Constant-time engines on this machine's CPU or GPU.
    #[default]
    Production,
    /// In addition, engines that are not constant-time, simulations and co-simulated RTL: for keys that protect nothing.
    InsecureParameters,
}

/// An engine is refused secret operands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The engine is another process or machine. No policy admits it.
    #[error("the engine {engine} is remote and receives no secrets; use an engine of this machine")]
    Remote {
        /// The engine's name.
        engine: String,
    },
    /// The engine is a simulation, and the policy is [`SecretPolicy::Production`].
    #[error(
        "the engine {engine} is a simulation and receives secrets only with insecure parameters (--insecure-params)"
    )]
    Simulation {
        /// The engine's name.
        engine: String,
    },
    /// The engine's time depends on its operands, and the policy is [`SecretPolicy::Production`].
    #[error(
        "the engine {engine} is not constant-time and receives secrets only with insecure parameters (--insecure-params)"
    )]
    NotConstantTime {
        /// The engine's name.
        engine: String,
    },
    /// The engine records its operands. No policy admits it.
    #[error("the engine {engine} records a trace, which would contain secrets; turn the trace off")]
    Traced {
        /// The engine's name.
        engine: String,
    },
    /// Keys are only used on the CPU, in constant time.
    #[error("the engine {engine} is not a constant-time CPU engine; decryption and key generation accept no other")]
    NotCpu {
        /// The engine's name.
        engine: String,
    },
}

/// An engine that may receive secrets. [`TrustedEngine::new`] is the only way to get one from an engine.
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use ciphermill_bigint::{CpuEngine, SecretPolicy, TrustedEngine};
///
/// let engine = TrustedEngine::new(Arc::new(CpuEngine::current()), SecretPolicy::Production)?;
/// assert!(engine.info().constant_time);
/// # Ok::<_, ciphermill_bigint::TrustError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TrustedEngine {
    engine: Arc<dyn ModExpEngine>,
}

impl TrustedEngine {
    /// Checks an engine against a policy.
    ///
    /// # Errors
    /// [`TrustError`] names the property for which the engine is refused.
    pub fn new(engine: Arc<dyn ModExpEngine>, policy: SecretPolicy) -> Result<Self, TrustError> {
        Self::judge(&*engine, policy)?;
        Ok(Self { engine })
    }

    /// Checks that [`SecretPolicy::Production`] admits the engine: for keys that protect something, whatever policy the
    /// engine was made with.
    ///
    /// # Errors
    /// [`TrustError`] names the property for which the engine is refused.
    pub fn require_production(&self) -> Result<(), TrustError> {
        Self::judge(&*self.engine, SecretPolicy::Production)
    }

    fn judge(engine: &dyn ModExpEngine, policy: SecretPolicy) -> Result<(), TrustError> {
        let info = engine.info();
        let name = || info.name.clone().into_owned();
        let production = policy == SecretPolicy::Production;
        match info.kind {
            EngineKind::Remote => return Err(TrustError::Remote { engine: name() }),
            _ if engine.is_traced() => return Err(TrustError::Traced { engine: name() }),
            EngineKind::Cpu(_) | EngineKind::Gpu if production && !info.constant_time => {
                return Err(TrustError::NotConstantTime { engine: name() });
            }
            EngineKind::Cpu(_) | EngineKind::Gpu => {}
            // Simulated, RTL, and every kind that this crate does not know yet.
            _ if production => return Err(TrustError::Simulation { engine: name() }),
            _ => {}
        }
        Ok(())
    }

    /// Checks an engine for the operations on secret keys: decryption and key generation.
    ///
    /// # Errors
    /// [`TrustError::NotCpu`] unless the engine's kind is `Cpu` and it is constant-time.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let engine = TrustedEngine::for_keys(std::sync::Arc::new(CpuEngine::current()))?;
    /// assert!(engine.info().constant_time);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_keys(engine: Arc<dyn ModExpEngine>) -> Result<Self, TrustError> {
        let info = engine.info();
        if matches!(info.kind, EngineKind::Cpu(_)) && info.constant_time && !engine.is_traced() {
            Ok(Self { engine })
        } else {
            Err(TrustError::NotCpu { engine: info.name.into_owned() })
        }
    }

    /// The engine on this CPU.
    #[must_use]
    pub fn cpu() -> Self {
        Self { engine: Arc::new(super::CpuEngine::current()) }
    }

    /// The engine itself, for public operands.
    #[must_use]
    pub fn engine(&self) -> &Arc<dyn ModExpEngine> {
        &self.engine
    }

    /// The engine's description.
    #[must_use]
    pub fn info(&self) -> EngineInfo {
        self.engine.info()
    }

    /// Prepares a modulus for public and secret operands.
    ///
    /// # Errors
    /// As [`ModExpEngine::prepare`].
    pub fn prepare(&self, modulus: EngineModulus<'_>) -> Result<TrustedModulus, EngineError> {
        Ok(TrustedModulus { prepared: self.engine.prepare(modulus)? })
    }
}

/// A job with a secret operand: an exponent, a factor, a plaintext or blinding randomness. Only
/// [`TrustedModulus::run_secret`] accepts it.
///
/// An engine that is not trusted cannot be given one:
///
/// ```compile_fail
/// use ciphermill_bigint::{IntegerBatch, Job, PreparedModulus, SecretJob};
///
/// fn leak(remote: &dyn PreparedModulus, secret: &IntegerBatch) {
///     let job = SecretJob::new(Job::Multiply { a: secret, b: secret });
///     let _ = remote.run(&[job]); // expected `Job`, found `SecretJob`
/// }
/// ```
///
/// Nor can a modulus be declared to be trusted without its engine:
///
/// ```compile_fail
/// use std::sync::Arc;
/// use ciphermill_bigint::{PreparedModulus, TrustedModulus};
///
/// fn trust(prepared: Arc<dyn PreparedModulus>) -> TrustedModulus {
///     TrustedModulus { prepared } // the field is private
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SecretJob<'a>(Job<'a>);

impl<'a> SecretJob<'a> {
    /// Marks a job as secret. The mark cannot be removed.
    #[must_use]
    pub fn new(job: Job<'a>) -> Self {
        Self(job)
    }
}

/// A modulus that a [`TrustedEngine`] has prepared.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let modulus = TrustedEngine::cpu().prepare(EngineModulus::Value(&n))?;
/// let (a, b) = (batch(&[3]), batch(&[7]));
/// let outputs = modulus.run_secret(&[SecretJob::new(Job::Multiply { a: &a, b: &b })])?;
/// assert_eq!(outputs.len(), 1);
/// assert_eq!(modulus.multiply(&a, &b)?.row(0)[0], 21);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TrustedModulus {
    prepared: Arc<dyn PreparedModulus>,
}

impl TrustedModulus {
    /// The modulus for public operands.
    #[must_use]
    pub fn public(&self) -> &dyn PreparedModulus {
        &*self.prepared
    }

    /// Limbs of a result.
    #[must_use]
    pub fn limbs(&self) -> usize {
        self.prepared.limbs()
    }

    /// Runs jobs with secret operands.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn run_secret(&self, jobs: &[SecretJob<'_>]) -> Result<Vec<Output>, EngineError> {
        self.prepared.run(&jobs.iter().map(|job| job.0).collect::<Vec<_>>())
    }

    /// Multiplies numbers that may be secret; see [`Job::Multiply`].
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn multiply(&self, a: &IntegerBatch, b: &IntegerBatch) -> Result<IntegerBatch, EngineError> {
        self.prepared.multiply(a, b)
    }

    /// Exponentiates with bases and exponents that may be secret; see [`Job::Pow`].
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn pow(&self, bases: &IntegerBatch, exponents: &Exponents) -> Result<IntegerBatch, EngineError> {
        self.prepared.pow(bases, exponents)
    }

    /// Prepares a base; `None` if the engine does not implement [`Job::PrepareBase`], so that [`pow`](Self::pow) is the
    /// way.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn prepare_base(&self, base: &IntegerBatch, bits: u32) -> Result<Option<BaseHandle>, EngineError> {
        match self.prepared.prepare_base(base, bits) {
            Ok(base) => Ok(Some(base)),
            Err(EngineError::Unsupported { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A prepared base to exponents that may be secret; see [`Job::FixedBasePow`].
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn pow_fixed(&self, base: &BaseHandle, exponents: &IntegerBatch) -> Result<IntegerBatch, EngineError> {
        self.prepared.pow_fixed(base, exponents)
    }
}
