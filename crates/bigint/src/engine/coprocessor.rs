//! An engine of a coprocessor that multiplies and exponentiates numbers below a modulus, and can do nothing else.
//!
//! Every power and every product of reduced operands is the coprocessor's. Reductions of wide operands and inverses of
//! bases with negative weights are done here, with a library that is not constant-time.

use std::fmt;
use std::sync::Arc;

use ciphermill_math::{EngineCost, EngineInfo};
use num_bigint::BigUint;

use super::{BaseHandle, EngineError, EngineModulus, Job, ModExpEngine, Output, PreparedBase, PreparedModulus};
use crate::reference::big;
use crate::{BigIntError, Exponents, IntegerBatch, MAX_ENTRY_RATIO, MIN_MODULUS_BITS, WeightMatrix};

/// One operation of a coprocessor, on numbers below the modulus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// base^exponent.
    Power {
        /// The base.
        base: BigUint,
        /// The exponent.
        exponent: BigUint,
        /// The number of bits of the exponent that the coprocessor looks at, so that its time depends on no exponent.
        bits: u32,
    },
    /// a·b.
    Multiply {
        /// The first factor.
        a: BigUint,
        /// The second factor.
        b: BigUint,
    },
}

/// Hardware, or a model of it, that carries operations out.
pub trait Coprocessor: Send + Sync + fmt::Debug {
    /// Name, device and kind. The engine is not constant-time, whatever this says.
    fn info(&self) -> EngineInfo;

    /// Bits of the longest modulus and the longest exponent.
    fn max_bits(&self) -> u32;

    /// Whether a record of the operands leaves this process; see [`ModExpEngine::is_traced`].
    fn is_traced(&self) -> bool {
        false
    }

    /// The results of all operations, in their order.
    ///
    /// # Errors
    /// [`EngineError::Failed`].
    fn run(&self, modulus: &BigUint, operations: &[Operation]) -> Result<Vec<BigUint>, EngineError>;

    /// As [`ModExpEngine::take_costs`].
    fn take_costs(&self) -> Vec<EngineCost> {
        Vec::new()
    }
}

/// The engine of a coprocessor.
///
/// # Example
/// ```
/// use ciphermill_bigint::{Coprocessor, CoprocessorEngine, EngineError, EngineModulus, IntegerBatch, ModExpEngine};
/// use ciphermill_bigint::{Operation, reference};
/// use ciphermill_math::{EngineInfo, EngineKind};
/// use crypto_bigint::BoxedUint;
/// use num_bigint::BigUint;
///
/// #[derive(Debug)]
/// struct Plain;
///
/// impl Coprocessor for Plain {
///     fn info(&self) -> EngineInfo {
///         EngineInfo::new("plain", EngineKind::Simulated)
///     }
///
///     fn max_bits(&self) -> u32 {
///         512
///     }
///
///     fn run(&self, modulus: &BigUint, operations: &[Operation]) -> Result<Vec<BigUint>, EngineError> {
///         let one = |operation: &Operation| match operation {
///             Operation::Power { base, exponent, .. } => reference::pow(base, exponent, modulus),
///             Operation::Multiply { a, b } => reference::multiply(a, b, modulus),
///         };
///         Ok(operations.iter().map(one).collect())
///     }
/// }
///
/// let prepared = CoprocessorEngine::new(Plain).prepare(EngineModulus::Value(&BoxedUint::max(512)))?;
/// let product = prepared.multiply(&IntegerBatch::from_u64s(&[6]), &IntegerBatch::from_u64s(&[7]))?;
/// assert_eq!(product.row(0)[0], 42);
/// # Ok::<_, EngineError>(())
/// ```
#[derive(Debug)]
pub struct CoprocessorEngine<C>(Arc<C>);

impl<C> Clone for CoprocessorEngine<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C> CoprocessorEngine<C> {
    /// The engine.
    pub fn new(coprocessor: C) -> Self {
        Self(Arc::new(coprocessor))
    }

    /// The coprocessor.
    pub fn coprocessor(&self) -> &C {
        &self.0
    }
}

impl<C: Coprocessor + 'static> ModExpEngine for CoprocessorEngine<C> {
    fn info(&self) -> EngineInfo {
        let mut info = self.0.info();
        info.constant_time = false;
        info
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
        let max = self.0.max_bits();
        if bits > max {
            return Err(EngineError::ModulusBits { engine: self.0.info().name.to_string(), bits, max });
        }
        Ok(Arc::new(Modulus { coprocessor: Arc::clone(&self.0), limbs: bits.div_ceil(64) as usize, most, modulus }))
    }

    fn is_traced(&self) -> bool {
        self.0.is_traced()
    }

    fn take_costs(&self) -> Vec<EngineCost> {
        self.0.take_costs()
    }
}

struct Modulus<C> {
    coprocessor: Arc<C>,
    modulus: BigUint,
    limbs: usize,
    /// Limbs of the widest operand.
    most: usize,
}

/// A base on the host: a coprocessor keeps no powers between operations.
struct Base {
    base: BigUint,
    bits: u32,
    modulus: BigUint,
}

impl PreparedBase for Base {
    fn memory_bytes(&self) -> u64 {
        self.base.bits().div_ceil(8) + self.modulus.bits().div_ceil(8)
    }
}

impl<C: Coprocessor> Modulus<C> {
    /// Operands, reduced.
    fn read(&self, batch: &IntegerBatch) -> Result<Vec<BigUint>, EngineError> {
        if batch.limbs() > self.most {
            return Err(BigIntError::TooWide { limbs: batch.limbs(), max: self.most }.into());
        }
        Ok(batch.rows().map(|row| big(row) % &self.modulus).collect())
    }

    fn write(&self, values: &[BigUint]) -> Result<Output, EngineError> {
        let integers = IntegerBatch::from_biguints(values, self.limbs);
        integers.map(Output::Integers).ok_or(EngineError::Outputs { reason: "a result longer than the modulus" })
    }

    /// The results, checked: a coprocessor may be another machine.
    fn compute(&self, operations: &[Operation]) -> Result<Vec<BigUint>, EngineError> {
        let results = self.coprocessor.run(&self.modulus, operations)?;
        if results.len() != operations.len() {
            return Err(EngineError::Outputs { reason: "another number of results than operations" });
        }
        if results.iter().any(|result| *result >= self.modulus) {
            return Err(EngineError::Outputs { reason: "a result that is not below the modulus" });
        }
        Ok(results)
    }

    fn multiply(&self, a: &IntegerBatch, b: &IntegerBatch) -> Result<Output, EngineError> {
        let (a, b) = (self.read(a)?, self.read(b)?);
        if a.len() != b.len() && a.len() != 1 && b.len() != 1 {
            return Err(BigIntError::Length { left: a.len(), right: b.len() }.into());
        }
        let len = if a.len() == 1 { b.len() } else { a.len() };
        let at = |batch: &[BigUint], i: usize| batch[if batch.len() == 1 { 0 } else { i }].clone();
        let operations: Vec<_> = (0..len).map(|i| Operation::Multiply { a: at(&a, i), b: at(&b, i) }).collect();
        self.write(&self.compute(&operations)?)
    }

    fn powers(&self, bases: &[BigUint], exponents: &Exponents) -> Result<Output, EngineError> {
        let len = exponents.len().unwrap_or(bases.len());
        if bases.len() != len && bases.len() != 1 {
            return Err(BigIntError::Length { left: bases.len(), right: len }.into());
        }
        let (bits, max) = (exponents.bits(), self.coprocessor.max_bits());
        if bits == 0 {
            return self.write(&vec![1u32.into(); len]);
        }
        if bits > max {
            return Err(EngineError::ExponentBits { engine: self.coprocessor.info().name.to_string(), bits, max });
        }
        let work = |i: usize| {
            let base = bases[if bases.len() == 1 { 0 } else { i }].clone();
            Operation::Power { base, exponent: big(exponents.row(i)), bits }
        };
        self.write(&self.compute(&(0..len).map(work).collect::<Vec<_>>())?)
    }

    fn multi_pow(&self, bases: &IntegerBatch, weights: &WeightMatrix) -> Result<Output, EngineError> {
        let bases = self.read(bases)?;
        if bases.len() != weights.columns() {
            return Err(BigIntError::Length { left: bases.len(), right: weights.columns() }.into());
        }
        let mut operations = Vec::new();
        let mut counts = Vec::with_capacity(weights.rows());
        for row in 0..weights.rows() {
            let before = operations.len();
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
                operations.push(Operation::Power { base, exponent, bits });
            }
            counts.push(operations.len() - before);
        }
        let mut powers = self.compute(&operations)?.into_iter();
        let rows = counts.into_iter().map(|count| powers.by_ref().take(count).collect()).collect();
        self.write(&self.row_products(rows)?)
    }

    /// The product of the values of each row, in pairs: one batch of operations for each level of all trees.
    fn row_products(&self, mut rows: Vec<Vec<BigUint>>) -> Result<Vec<BigUint>, EngineError> {
        while rows.iter().any(|row| row.len() > 1) {
            let pairs = rows.iter().flat_map(|row| row.chunks_exact(2));
            let operations: Vec<_> =
                pairs.map(|pair| Operation::Multiply { a: pair[0].clone(), b: pair[1].clone() }).collect();
            let mut products = self.compute(&operations)?.into_iter();
            for row in &mut rows {
                let rest = (row.len() % 2 == 1).then(|| row.pop()).flatten();
                *row = products.by_ref().take(row.len() / 2).chain(rest).collect();
            }
        }
        Ok(rows.into_iter().map(|mut row| row.pop().unwrap_or_else(|| 1u32.into())).collect())
    }

    fn prepare_base(&self, base: &IntegerBatch, bits: u32) -> Result<Output, EngineError> {
        let mut bases = self.read(base)?;
        match (bases.pop(), bases.len()) {
            (Some(base), 0) => {
                let modulus = self.modulus.clone();
                Ok(Output::Base(BaseHandle::new(Base { base, bits, modulus })))
            }
            _ => Err(BigIntError::Length { left: base.len(), right: 1 }.into()),
        }
    }
}

impl<C: Coprocessor> PreparedModulus for Modulus<C> {
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
                let base: &Base = base.downcast()?;
                if base.modulus != self.modulus {
                    return Err(EngineError::ForeignBase);
                }
                self.powers(std::slice::from_ref(&base.base), &Exponents::each(exponents.clone(), base.bits)?)
            }
            Job::MultiPow { bases, weights } => self.multi_pow(bases, weights),
        };
        jobs.iter().map(run).collect()
    }
}

#[cfg(test)]
mod tests {
    use ciphermill_math::EngineKind;
    use crypto_bigint::BoxedUint;

    use super::*;

    /// Answers every operation with one number.
    #[derive(Debug)]
    struct Fixed(BigUint, usize);

    impl Coprocessor for Fixed {
        fn info(&self) -> EngineInfo {
            EngineInfo::new("fixed", EngineKind::Remote)
        }

        fn max_bits(&self) -> u32 {
            512
        }

        fn run(&self, _: &BigUint, operations: &[Operation]) -> Result<Vec<BigUint>, EngineError> {
            Ok(vec![self.0.clone(); operations.len() + self.1])
        }
    }

    #[test]
    fn results_that_no_modulus_allows_are_refused() {
        let modulus = BoxedUint::max(512);
        let n: BigUint = (BigUint::from(1u32) << 512u32) - 1u32;
        let two = IntegerBatch::from_u64s(&[2]);
        let ask = |value: BigUint, more: usize| {
            let engine = CoprocessorEngine::new(Fixed(value, more));
            let prepared = engine.prepare(EngineModulus::Value(&modulus)).unwrap();
            let weights = WeightMatrix::new(1, vec![3]).unwrap();
            [prepared.multiply(&two, &two).is_ok(), prepared.multi_pow(&two, &weights).is_ok()]
        };
        assert_eq!(ask(n.clone() - 1u32, 0), [true; 2]);
        assert_eq!(ask(n.clone(), 0), [false; 2], "the modulus itself");
        assert_eq!(ask(n << 2000, 0), [false; 2], "more limbs than the modulus");
        assert_eq!(ask(BigUint::from(1u32), 1), [false; 2], "one result too many");
    }
}
