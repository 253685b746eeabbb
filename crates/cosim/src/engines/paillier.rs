//! The Paillier engine, co-simulated, as an engine of modular exponentiation.
//!
//! Every power and every product of reduced operands runs on the engine, up to a ring of jobs at a time. Reductions of
//! wide operands and inverses of bases with negative weights are the driver's work.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ciphermill_bigint::reference::big;
use ciphermill_bigint::{
    BaseHandle, BigIntError, EngineError, EngineModulus, Exponents, IntegerBatch, Job, MAX_ENTRY_RATIO,
    MIN_MODULUS_BITS, ModExpEngine, Output, PreparedBase, PreparedModulus, WeightMatrix,
};
use ciphermill_math::{EngineInfo, EngineKind};
use num_bigint::BigUint;

use crate::axi_memory::AxiTiming;
use crate::model::{Configuration, configurations};
use crate::record;
use crate::units::paillier_engine::{PaillierEngine, Work};

const NAME: &str = "rtl-paillier";
/// Jobs of a batch: fewer than the ring has descriptors.
const BATCH: usize = 24;

/// One instance of a configuration of `paillier_engine`, shared by all moduli that it has prepared.
///
/// The engine takes constant time, but the driver's own arithmetic does not, so the whole is not constant-time. It
/// works with keys that protect nothing.
///
/// # Example
/// ```
/// use ciphermill_bigint::{EngineModulus, IntegerBatch, ModExpEngine};
/// use ciphermill_cosim::engines::RtlPaillier;
/// use crypto_bigint::BoxedUint;
///
/// // None if this build has no configuration of 1024 bits.
/// if let Some(engine) = RtlPaillier::of_bits(1024) {
///     let modulus = BoxedUint::max(512);
///     let prepared = engine.prepare(EngineModulus::Value(&modulus))?;
///     let product = prepared.multiply(&IntegerBatch::from_u64s(&[6]), &IntegerBatch::from_u64s(&[7]))?;
///     assert_eq!(product.row(0)[0], 42);
/// }
/// # Ok::<_, ciphermill_bigint::EngineError>(())
/// ```
#[derive(Clone)]
pub struct RtlPaillier {
    configuration: &'static Configuration,
    bits: u32,
    unit: Arc<Mutex<Option<Unit>>>,
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
        Self { configuration, bits, unit: Arc::default() }
    }

    /// Clock cycles so far, register accesses included.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.lock().as_ref().map_or(0, |unit| unit.driver.host.cycles())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Unit>> {
        self.unit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs jobs modulo a modulus, and loads its key before if another one is in the engine. After an error the next
    /// jobs find a new engine.
    fn run(&self, modulus: &BigUint, works: &[Work]) -> Result<Vec<BigUint>, EngineError> {
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
        let mut results = Vec::with_capacity(works.len());
        for batch in works.chunks(BATCH) {
            let (values, _) = unit.driver.run(batch).map_err(failed)?;
            for value in values {
                results.push(value.map_err(failed)?);
            }
        }
        *held = Some(unit);
        Ok(results)
    }
}

impl fmt::Debug for RtlPaillier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RtlPaillier").field("configuration", &self.configuration).finish_non_exhaustive()
    }
}

impl ModExpEngine for RtlPaillier {
    fn info(&self) -> EngineInfo {
        EngineInfo::new(NAME, EngineKind::Rtl).on(self.configuration.to_string())
    }

    fn prepare(&self, modulus: EngineModulus<'_>) -> Result<Arc<dyn PreparedModulus>, EngineError> {
        let (root, square) = match modulus {
            EngineModulus::Value(n) => (IntegerBatch::from_uints([n]), false),
            EngineModulus::SquareOf(n) => (IntegerBatch::from_uints([n]), true),
        };
        let root = big(root.row(0));
        if !root.bit(0) {
            return Err(BigIntError::EvenModulus.into());
        }
        let root_bits = root.bits() as u32;
        if root_bits < MIN_MODULUS_BITS {
            return Err(BigIntError::ModulusBits { bits: root_bits, square }.into());
        }
        let most = MAX_ENTRY_RATIO * root_bits.div_ceil(64) as usize;
        let modulus = if square { root.pow(2) } else { root };
        let bits = modulus.bits() as u32;
        if bits > self.bits {
            return Err(EngineError::ModulusBits { engine: NAME.to_owned(), bits, max: self.bits });
        }
        Ok(Arc::new(RtlModulus { engine: self.clone(), limbs: bits.div_ceil(64) as usize, most, modulus }))
    }

    fn is_traced(&self) -> bool {
        record::is_recording_waves()
    }
}

struct RtlModulus {
    engine: RtlPaillier,
    modulus: BigUint,
    limbs: usize,
    /// Limbs of the widest operand.
    most: usize,
}

/// A base in the driver's memory: the engine keeps no powers between jobs.
struct RtlBase {
    base: BigUint,
    bits: u32,
    modulus: BigUint,
}

impl PreparedBase for RtlBase {
    fn memory_bytes(&self) -> u64 {
        self.modulus.bits().div_ceil(8)
    }
}

impl RtlModulus {
    /// Operands, reduced.
    fn read(&self, batch: &IntegerBatch) -> Result<Vec<BigUint>, EngineError> {
        if batch.limbs() > self.most {
            return Err(BigIntError::TooWide { limbs: batch.limbs(), max: self.most }.into());
        }
        Ok(batch.rows().map(|row| big(row) % &self.modulus).collect())
    }

    fn write(&self, values: &[BigUint]) -> Output {
        let mut out = IntegerBatch::zeros(values.len(), self.limbs);
        for (index, value) in values.iter().enumerate() {
            let digits = value.to_u64_digits();
            out.row_mut(index)[..digits.len()].copy_from_slice(&digits);
        }
        Output::Integers(out)
    }

    fn run_works(&self, works: &[Work]) -> Result<Vec<BigUint>, EngineError> {
        self.engine.run(&self.modulus, works)
    }

    fn multiply(&self, a: &IntegerBatch, b: &IntegerBatch) -> Result<Output, EngineError> {
        let (a, b) = (self.read(a)?, self.read(b)?);
        if a.len() != b.len() && a.len() != 1 && b.len() != 1 {
            return Err(BigIntError::Length { left: a.len(), right: b.len() }.into());
        }
        let len = if a.len() == 1 { b.len() } else { a.len() };
        let at = |batch: &[BigUint], i: usize| batch[if batch.len() == 1 { 0 } else { i }].clone();
        let works: Vec<_> = (0..len).map(|i| Work::Multiply { a: at(&a, i), b: at(&b, i) }).collect();
        Ok(self.write(&self.run_works(&works)?))
    }

    fn powers(&self, bases: &[BigUint], exponents: &Exponents) -> Result<Output, EngineError> {
        let len = exponents.len().unwrap_or(bases.len());
        if bases.len() != len && bases.len() != 1 {
            return Err(BigIntError::Length { left: bases.len(), right: len }.into());
        }
        let (bits, max) = (exponents.bits(), self.engine.bits);
        if bits == 0 {
            return Ok(self.write(&vec![1u32.into(); len]));
        }
        if bits > max {
            return Err(EngineError::ExponentBits { engine: NAME.to_owned(), bits, max });
        }
        let work = |i: usize| {
            let base = bases[if bases.len() == 1 { 0 } else { i }].clone();
            Work::Power { base, exponent: big(exponents.row(i)), bits }
        };
        Ok(self.write(&self.run_works(&(0..len).map(work).collect::<Vec<_>>())?))
    }

    fn multi_pow(&self, bases: &IntegerBatch, weights: &WeightMatrix) -> Result<Output, EngineError> {
        let bases = self.read(bases)?;
        if bases.len() != weights.columns() {
            return Err(BigIntError::Length { left: bases.len(), right: weights.columns() }.into());
        }
        let row = |row: usize| {
            let mut works = Vec::new();
            for (index, (base, &weight)) in bases.iter().zip(weights.row(row)).enumerate() {
                if weight == 0 {
                    continue;
                }
                let exponent = BigUint::from(weight.unsigned_abs());
                let base = if weight < 0 {
                    base.modinv(&self.modulus).ok_or(BigIntError::NotInvertible { index })?
                } else {
                    base.clone()
                };
                let bits = exponent.bits() as u32;
                works.push(Work::Power { base, exponent, bits });
            }
            self.product(self.run_works(&works)?)
        };
        let rows: Result<Vec<_>, EngineError> = (0..weights.rows()).map(row).collect();
        Ok(self.write(&rows?))
    }

    /// The product of all values, in pairs: a batch of the engine for each level of a tree.
    fn product(&self, mut values: Vec<BigUint>) -> Result<BigUint, EngineError> {
        while values.len() > 1 {
            let rest = (values.len() % 2 == 1).then(|| values.pop()).flatten();
            let pairs = values.chunks(2).map(|pair| Work::Multiply { a: pair[0].clone(), b: pair[1].clone() });
            values = self.run_works(&pairs.collect::<Vec<_>>())?;
            values.extend(rest);
        }
        Ok(values.pop().unwrap_or_else(|| 1u32.into()))
    }

    fn prepare_base(&self, base: &IntegerBatch, bits: u32) -> Result<Output, EngineError> {
        let mut bases = self.read(base)?;
        match (bases.pop(), bases.len()) {
            (Some(base), 0) => {
                let modulus = self.modulus.clone();
                Ok(Output::Base(BaseHandle::new(RtlBase { base, bits, modulus })))
            }
            _ => Err(BigIntError::Length { left: base.len(), right: 1 }.into()),
        }
    }
}

impl PreparedModulus for RtlModulus {
    fn limbs(&self) -> usize {
        self.limbs
    }

    fn memory_bytes(&self) -> u64 {
        self.modulus.bits().div_ceil(8)
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, EngineError> {
        let run = |job: &Job<'_>| match *job {
            Job::Multiply { a, b } => self.multiply(a, b),
            Job::Pow { bases, exponents } => self.powers(&self.read(bases)?, exponents),
            Job::PrepareBase { base, bits } => self.prepare_base(base, bits),
            Job::FixedBasePow { base, exponents } => {
                let base: &RtlBase = base.downcast()?;
                if base.modulus != self.modulus {
                    return Err(EngineError::ForeignBase);
                }
                self.powers(std::slice::from_ref(&base.base), &Exponents::each(exponents.clone(), base.bits)?)
            }
            Job::MultiPow { bases, weights } => self.multi_pow(bases, weights),
            other => Err(EngineError::Unsupported { engine: NAME.to_owned(), job: other.name() }),
        };
        jobs.iter().map(run).collect()
    }
}

fn failed(error: impl fmt::Display) -> EngineError {
    EngineError::Failed { engine: NAME.to_owned(), cause: error.to_string() }
}
