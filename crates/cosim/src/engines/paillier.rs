//! The Paillier engine, co-simulated, as a coprocessor of modular exponentiation.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ciphermill_arch::engines::{ALIGNMENT, BATCH};
use ciphermill_bigint::{Coprocessor, EngineError, Operation};
use ciphermill_math::{CostLog, EngineCost, EngineInfo, EngineKind};
use num_bigint::BigUint;

use crate::axi_memory::AxiTiming;
use crate::model::{Configuration, configurations};
use crate::record;
use crate::units::paillier_engine::{PaillierEngine, Work};

const NAME: &str = "rtl-paillier";

/// One instance of a configuration of `paillier_engine`, shared by all moduli that it has prepared.
///
/// The engine takes constant time, but the host's arithmetic does not, so the whole is not constant-time. It works with
/// keys that protect nothing.
///
/// # Example
/// ```
/// use ciphermill_bigint::{CoprocessorEngine, EngineModulus, IntegerBatch, ModExpEngine};
/// use ciphermill_cosim::engines::RtlPaillier;
/// use crypto_bigint::BoxedUint;
///
/// // None if this build has no configuration of 1024 bits.
/// if let Some(hardware) = RtlPaillier::of_bits(1024) {
///     let modulus = BoxedUint::max(512);
///     let prepared = CoprocessorEngine::new(hardware).prepare(EngineModulus::Value(&modulus))?;
///     let product = prepared.multiply(&IntegerBatch::from_u64s(&[6]), &IntegerBatch::from_u64s(&[7]))?;
///     assert_eq!(product.row(0)[0], 42);
/// }
/// # Ok::<_, ciphermill_bigint::EngineError>(())
/// ```
pub struct RtlPaillier {
    configuration: &'static Configuration,
    bits: u32,
    unit: Mutex<Option<Unit>>,
    costs: CostLog,
}

struct Unit {
    driver: PaillierEngine,
    /// The modulus whose key the engine holds.
    loaded: Option<BigUint>,
}

impl RtlPaillier {
    /// An engine on the first configuration for moduli of up to `bits` bits; `None` if none was built.
    #[must_use]
    pub fn of_bits(bits: u32) -> Option<Self> {
        let fits = |configuration: &&Configuration| configuration.parameter("Bits") == i64::from(bits);
        configurations("paillier_engine").find(fits).map(Self::new)
    }

    /// An engine on a configuration of `paillier_engine`.
    ///
    /// # Panics
    /// If the configuration is of another unit.
    #[must_use]
    pub fn new(configuration: &'static Configuration) -> Self {
        assert_eq!(configuration.unit, "paillier_engine", "a configuration of paillier_engine");
        let bits = configuration.parameter("Bits") as u32;
        Self { configuration, bits, unit: Mutex::default(), costs: CostLog::default() }
    }

    /// Clock cycles so far, register accesses included.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.lock().as_ref().map_or(0, |unit| unit.driver.host.cycles())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Unit>> {
        self.unit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RtlPaillier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RtlPaillier").field("configuration", &self.configuration).finish_non_exhaustive()
    }
}

impl Coprocessor for RtlPaillier {
    fn info(&self) -> EngineInfo {
        EngineInfo::new(NAME, EngineKind::Rtl).on(self.configuration.to_string())
    }

    fn max_bits(&self) -> u32 {
        self.bits
    }

    fn is_traced(&self) -> bool {
        record::is_recording_waves()
    }

    /// Up to a ring of jobs at a time. A key that is not in the engine is loaded before. After an error the next
    /// operations find a new engine.
    fn run(&self, modulus: &BigUint, operations: &[Operation]) -> Result<Vec<BigUint>, EngineError> {
        let mut held = self.lock();
        let mut unit = match held.take() {
            Some(unit) => unit,
            None => {
                let driver = PaillierEngine::new(self.configuration, &AxiTiming::never_waits(), 1).map_err(failed)?;
                Unit { driver, loaded: None }
            }
        };
        if unit.loaded.as_ref() != Some(modulus) {
            // No job here encrypts, so that any exponent serves as n.
            unit.driver.load_key(modulus, &(BigUint::from(1u32) << 63u32)).map_err(failed)?.map_err(failed)?;
            unit.loaded = Some(modulus.clone());
        }
        let mut results = Vec::with_capacity(operations.len());
        for batch in operations.chunks(BATCH) {
            let works: Vec<Work> = batch.iter().map(work).collect();
            let (values, cost) = unit.driver.run_with_cost(&works, ALIGNMENT).map_err(failed)?;
            for value in values {
                results.push(value.map_err(failed)?);
            }
            self.costs.add(cost);
        }
        *held = Some(unit);
        Ok(results)
    }

    fn take_costs(&self) -> Vec<EngineCost> {
        self.costs.take()
    }
}

fn work(operation: &Operation) -> Work {
    match operation.clone() {
        Operation::Power { base, exponent, bits } => Work::Power { base, exponent, bits },
        Operation::Multiply { a, b } => Work::Multiply { a, b },
    }
}

fn failed(error: impl fmt::Display) -> EngineError {
    EngineError::Failed { engine: NAME.to_owned(), cause: error.to_string() }
}
