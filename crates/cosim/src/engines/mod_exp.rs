//! The unit `mod_exp`, co-simulated, as an engine of modular exponentiation.
//!
//! Every exponentiation and every product runs on the unit, behind its registers. The unit only exponentiates, so the
//! driver computes a product from two squares: a·b = ((a + b)² − (a − b)²)/4. Sums, differences, the division by 4 and
//! reductions of wide operands are the driver's work, as are inverses of bases with negative weights.

use ciphermill_bigint::reference::big;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ciphermill_bigint::{
    BaseHandle, BigIntError, EngineError, EngineModulus, Exponents, IntegerBatch, Job, MAX_ENTRY_RATIO,
    MIN_MODULUS_BITS, ModExpEngine, Output, PreparedBase, PreparedModulus, WeightMatrix,
};
use ciphermill_math::{EngineInfo, EngineKind};
use num_bigint::BigUint;

use crate::model::{Configuration, configurations};
use crate::record;
use crate::units::mod_exp::{ModExp, ModExpError};

const NAME: &str = "rtl";

/// One instance of a configuration of `mod_exp`, shared by all moduli that it has prepared.
///
/// The unit takes constant time, but the driver's own arithmetic does not, so the engine is not constant-time. It works
/// with keys that protect nothing.
///
/// # Example
/// ```
/// use ciphermill_bigint::{EngineModulus, IntegerBatch, ModExpEngine};
/// use ciphermill_cosim::engines::RtlModExp;
/// use crypto_bigint::BoxedUint;
///
/// // None if this build has no configuration of 1024 bits.
/// if let Some(engine) = RtlModExp::of_bits(1024) {
///     let modulus = BoxedUint::max(512);
///     let prepared = engine.prepare(EngineModulus::Value(&modulus))?;
///     let product = prepared.multiply(&IntegerBatch::from_u64s(&[6]), &IntegerBatch::from_u64s(&[7]))?;
///     assert_eq!(product.row(0)[0], 42);
/// }
/// # Ok::<_, ciphermill_bigint::EngineError>(())
/// ```
#[derive(Clone)]
pub struct RtlModExp {
    configuration: &'static Configuration,
    bits: u32,
    unit: Arc<Mutex<Unit>>,
}

struct Unit {
    driver: ModExp,
    /// The modulus whose constants the unit holds.
    loaded: Option<BigUint>,
}

impl RtlModExp {
    /// An engine on the first configuration for moduli of up to `bits` bits; `None` if none was built.
    #[must_use]
    pub fn of_bits(bits: u32) -> Option<Self> {
        let fits = |configuration: &&Configuration| configuration.parameter("Bits") == i64::from(bits);
        configurations("mod_exp").find(fits).map(Self::new)
    }

    /// An engine on a configuration of `mod_exp`.
    ///
    /// # Panics
    /// If the configuration is of another unit.
    #[must_use]
    pub fn new(configuration: &'static Configuration) -> Self {
        assert_eq!(configuration.unit, "mod_exp", "a configuration of mod_exp");
        let unit = Unit { driver: ModExp::new(configuration, 1), loaded: None };
        let bits = configuration.parameter("Bits") as u32;
        Self { configuration, bits, unit: Arc::new(Mutex::new(unit)) }
    }

    /// Clock cycles so far, register accesses included.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.lock().driver.cycles()
    }

    fn lock(&self) -> MutexGuard<'_, Unit> {
        self.unit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RtlModExp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RtlModExp").field("configuration", &self.configuration).finish_non_exhaustive()
    }
}

impl ModExpEngine for RtlModExp {
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
    engine: RtlModExp,
    modulus: BigUint,
    limbs: usize,
    /// Limbs of the widest operand.
    most: usize,
}

/// A base in the driver's memory: the unit keeps no powers between exponentiations.
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

    /// base^exponent on the unit, with `bits` bits of the exponent looked at.
    fn power(&self, base: &BigUint, exponent: &BigUint, bits: u32) -> Result<BigUint, EngineError> {
        if bits == 0 {
            return Ok(1u32.into());
        }
        if bits > self.engine.bits {
            return Err(EngineError::ExponentBits { engine: NAME.to_owned(), bits, max: self.engine.bits });
        }
        let mut unit = self.engine.lock();
        if unit.loaded.as_ref() != Some(&self.modulus) {
            unit.loaded = None;
            unit.driver.load_modulus(&self.modulus).map_err(failed)?;
            unit.loaded = Some(self.modulus.clone());
        }
        let (power, _) = unit.driver.compute(base, &self.modulus, exponent, bits).map_err(failed)?;
        Ok(power)
    }

    /// a·b = ((a + b)² − (a − b)²)/4.
    fn product(&self, a: &BigUint, b: &BigUint) -> Result<BigUint, EngineError> {
        let n = &self.modulus;
        let two = BigUint::from(2u32);
        let sum = self.power(&((a + b) % n), &two, 2)?;
        let difference = self.power(&((a + n - b) % n), &two, 2)?;
        let halved = |x: BigUint| if x.bit(0) { (x + n) >> 1u32 } else { x >> 1u32 };
        Ok(halved(halved((sum + n - difference) % n)))
    }

    fn multiply(&self, a: &IntegerBatch, b: &IntegerBatch) -> Result<Output, EngineError> {
        let (a, b) = (self.read(a)?, self.read(b)?);
        if a.len() != b.len() && a.len() != 1 && b.len() != 1 {
            return Err(BigIntError::Length { left: a.len(), right: b.len() }.into());
        }
        let len = if a.len() == 1 { b.len() } else { a.len() };
        let product =
            |i: usize| self.product(&a[if a.len() == 1 { 0 } else { i }], &b[if b.len() == 1 { 0 } else { i }]);
        Ok(self.write(&(0..len).map(product).collect::<Result<Vec<_>, _>>()?))
    }

    fn powers(&self, bases: &[BigUint], exponents: &Exponents) -> Result<Output, EngineError> {
        let len = exponents.len().unwrap_or(bases.len());
        if bases.len() != len && bases.len() != 1 {
            return Err(BigIntError::Length { left: bases.len(), right: len }.into());
        }
        let power = |i: usize| {
            let base = &bases[if bases.len() == 1 { 0 } else { i }];
            self.power(base, &big(exponents.row(i)), exponents.bits())
        };
        Ok(self.write(&(0..len).map(power).collect::<Result<Vec<_>, _>>()?))
    }

    fn multi_pow(&self, bases: &IntegerBatch, weights: &WeightMatrix) -> Result<Output, EngineError> {
        let bases = self.read(bases)?;
        if bases.len() != weights.columns() {
            return Err(BigIntError::Length { left: bases.len(), right: weights.columns() }.into());
        }
        let row = |row: usize| {
            let mut product: Option<BigUint> = None;
            for (index, (base, &weight)) in bases.iter().zip(weights.row(row)).enumerate() {
                if weight == 0 {
                    continue;
                }
                let magnitude = BigUint::from(weight.unsigned_abs());
                let inverse =
                    (weight < 0).then(|| base.modinv(&self.modulus).ok_or(BigIntError::NotInvertible { index }));
                let inverse = inverse.transpose()?;
                let power = self.power(inverse.as_ref().unwrap_or(base), &magnitude, magnitude.bits() as u32)?;
                product = Some(match product {
                    Some(product) => self.product(&product, &power)?,
                    None => power,
                });
            }
            Ok(product.unwrap_or_else(|| 1u32.into()))
        };
        let rows: Result<Vec<_>, EngineError> = (0..weights.rows()).map(row).collect();
        Ok(self.write(&rows?))
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

fn failed(error: ModExpError) -> EngineError {
    EngineError::Failed { engine: NAME.to_owned(), cause: error.to_string() }
}
