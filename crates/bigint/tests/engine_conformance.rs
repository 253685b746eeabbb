//! The conformance suite, on every path of the CPU and on a slow engine that another crate could have written; and the
//! rules of trust.

use ciphermill_bigint::reference::big;
use ciphermill_testing::available;
use std::sync::Arc;

use ciphermill_bigint::conformance::{Extent, check};
use ciphermill_bigint::{
    BaseHandle, BigIntError, CpuEngine, EngineError, EngineModulus, Exponents, IntegerBatch, Job, MAX_ENTRY_RATIO,
    ModExpEngine, Output, Path, PreparedBase, PreparedModulus, SecretJob, SecretPolicy, TrustError, TrustedEngine,
    WeightMatrix, limbs, reference,
};
use ciphermill_math::{EngineInfo, EngineKind};
use num_bigint::BigUint;

/// The definitions as an engine, with nothing but public items of the crate.
#[derive(Clone, Debug)]
struct Slow {
    kind: EngineKind,
    constant_time: bool,
    traced: bool,
    /// Names of the jobs that it refuses.
    lacks: &'static [&'static str],
}

impl Slow {
    const NEW: Self = Self { kind: EngineKind::Simulated, constant_time: false, traced: false, lacks: &[] };
}

struct SlowModulus {
    n: BigUint,
    limbs: usize,
    /// Limbs of the widest operand.
    most: usize,
    lacks: &'static [&'static str],
}

/// A base, the width of its exponents, and the modulus that it belongs to.
struct SlowBase {
    base: IntegerBatch,
    bits: u32,
    modulus: BigUint,
}

impl PreparedBase for SlowBase {
    fn memory_bytes(&self) -> u64 {
        8 * self.base.words().len() as u64
    }
}

impl ModExpEngine for Slow {
    fn info(&self) -> EngineInfo {
        let info = EngineInfo::new("slow", self.kind).on("definitions");
        if self.constant_time { info.with_constant_time() } else { info }
    }

    fn prepare(&self, modulus: EngineModulus<'_>) -> Result<Arc<dyn PreparedModulus>, EngineError> {
        let (root, square) = match modulus {
            EngineModulus::Value(n) => (IntegerBatch::from_uints([n]), false),
            EngineModulus::SquareOf(n) => (IntegerBatch::from_uints([n]), true),
        };
        let n = big(root.row(0));
        if !n.bit(0) {
            return Err(BigIntError::EvenModulus.into());
        }
        let most = MAX_ENTRY_RATIO * n.bits().div_ceil(64) as usize;
        let n = if square { n.pow(2) } else { n };
        Ok(Arc::new(SlowModulus { limbs: n.bits().div_ceil(64) as usize, n, most, lacks: self.lacks }))
    }

    fn is_traced(&self) -> bool {
        self.traced
    }
}

impl SlowModulus {
    fn batch(&self, values: impl IntoIterator<Item = BigUint>) -> Output {
        let mut words = Vec::new();
        for value in values {
            words.extend(value.to_u64_digits());
            words.resize(words.len().next_multiple_of(self.limbs), 0);
            if value == BigUint::ZERO {
                words.extend(vec![0; self.limbs]);
            }
        }
        Output::Integers(IntegerBatch::from_words(self.limbs, words))
    }

    fn read(&self, batch: &IntegerBatch) -> Result<Vec<BigUint>, EngineError> {
        if batch.limbs() > self.most {
            return Err(BigIntError::TooWide { limbs: batch.limbs(), max: self.most }.into());
        }
        Ok(batch.rows().map(big).collect())
    }

    fn pow(&self, bases: &IntegerBatch, exponents: &Exponents) -> Result<Output, EngineError> {
        let bases = self.read(bases)?;
        let len = exponents.len().unwrap_or(bases.len());
        if bases.len() != len && bases.len() != 1 {
            return Err(BigIntError::Length { left: bases.len(), right: len }.into());
        }
        let base = |i: usize| &bases[if bases.len() == 1 { 0 } else { i }];
        Ok(self.batch((0..len).map(|i| reference::pow(base(i), &big(exponents.row(i)), &self.n))))
    }

    fn multi_pow(&self, bases: &IntegerBatch, weights: &WeightMatrix) -> Result<Output, EngineError> {
        let bases = self.read(bases)?;
        if bases.len() != weights.columns() {
            return Err(BigIntError::Length { left: bases.len(), right: weights.columns() }.into());
        }
        let row = |row: usize| {
            let mut product = BigUint::from(1u32);
            for (index, (base, &weight)) in bases.iter().zip(weights.row(row)).enumerate() {
                let mut power = reference::pow(base, &weight.unsigned_abs().into(), &self.n);
                if weight < 0 {
                    power = power.modinv(&self.n).ok_or(BigIntError::NotInvertible { index })?;
                }
                product = reference::multiply(&product, &power, &self.n);
            }
            Ok(product)
        };
        Ok(self.batch((0..weights.rows()).map(row).collect::<Result<Vec<_>, EngineError>>()?))
    }
}

impl PreparedModulus for SlowModulus {
    fn limbs(&self) -> usize {
        self.limbs
    }

    fn memory_bytes(&self) -> u64 {
        8 * self.limbs as u64
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, EngineError> {
        let lacking = |job: &&Job<'_>| self.lacks.contains(&job.name());
        if let Some(job) = jobs.iter().find(lacking) {
            return Err(EngineError::Unsupported { engine: "slow".into(), job: job.name() });
        }
        let run = |job: &Job<'_>| match *job {
            Job::Multiply { a, b } => {
                let (a, b) = (self.read(a)?, self.read(b)?);
                if a.len() != b.len() && a.len() != 1 && b.len() != 1 {
                    return Err(BigIntError::Length { left: a.len(), right: b.len() }.into());
                }
                let at = |batch: &[BigUint], i: usize| batch[if batch.len() == 1 { 0 } else { i }].clone();
                let len = a.len().max(b.len());
                Ok(self.batch((0..len).map(|i| reference::multiply(&at(&a, i), &at(&b, i), &self.n))))
            }
            Job::Pow { bases, exponents } => self.pow(bases, exponents),
            Job::PrepareBase { base, bits } if base.len() == 1 => {
                let base = SlowBase { base: base.clone(), bits, modulus: self.n.clone() };
                Ok(Output::Base(BaseHandle::new(base)))
            }
            Job::PrepareBase { base, .. } => Err(BigIntError::Length { left: base.len(), right: 1 }.into()),
            Job::FixedBasePow { base, exponents } => {
                let base: &SlowBase = base.downcast()?;
                if base.modulus != self.n {
                    return Err(EngineError::ForeignBase);
                }
                self.pow(&base.base, &Exponents::each(exponents.clone(), base.bits)?)
            }
            Job::MultiPow { bases, weights } => self.multi_pow(bases, weights),
            other => Err(EngineError::Unsupported { engine: "slow".into(), job: other.name() }),
        };
        jobs.iter().map(run).collect()
    }
}

#[test]
fn every_path_of_the_cpu_conforms() {
    for path in available(Path::ALL, |path| path.is_available()) {
        check(&CpuEngine::new(path).expect("an available path"), &Extent::default());
    }
}

#[test]
fn a_slow_engine_of_public_items_conforms() {
    check(&Slow::NEW, &Extent { bits: vec![256, 512, 1000, 1024], powers: 3, ..Extent::default() });
}

const FIXED_BASES: &[&str] = &["prepare_base", "fixed_base_pow"];

#[test]
fn an_engine_that_declares_the_jobs_that_it_lacks_conforms() {
    for lacks in [FIXED_BASES, &["multi_pow"]] {
        let extent = Extent { bits: vec![512], powers: 1, unsupported: lacks, ..Extent::default() };
        check(&Slow { lacks, ..Slow::NEW }, &extent);
    }
}

#[test]
#[should_panic(expected = "support of prepare_base differs from the declaration")]
fn an_undeclared_refusal_does_not_conform() {
    check(&Slow { lacks: FIXED_BASES, ..Slow::NEW }, &Extent { bits: vec![512], powers: 1, ..Extent::default() });
}

#[test]
#[should_panic(expected = "support of multi_pow differs from the declaration")]
fn a_declared_job_that_runs_does_not_conform() {
    let extent = Extent { bits: vec![512], powers: 1, unsupported: &["multi_pow"], ..Extent::default() };
    check(&Slow::NEW, &extent);
}

#[test]
fn secrets_go_to_trusted_engines_only() {
    let slow = |kind, constant_time, traced| {
        Arc::new(Slow { kind, constant_time, traced, ..Slow::NEW }) as Arc<dyn ModExpEngine>
    };
    let (production, insecure) = (SecretPolicy::Production, SecretPolicy::InsecureParameters);
    let engine = || "slow".to_owned();
    let cpu = EngineKind::Cpu(ciphermill_math::Isa::Portable);
    for (kind, constant_time, traced, policy, refusal) in [
        (EngineKind::Remote, true, false, production, Some(TrustError::Remote { engine: engine() })),
        (EngineKind::Remote, true, false, insecure, Some(TrustError::Remote { engine: engine() })),
        (EngineKind::Simulated, true, false, production, Some(TrustError::Simulation { engine: engine() })),
        (EngineKind::Simulated, false, false, insecure, None),
        (EngineKind::Rtl, true, false, production, Some(TrustError::Simulation { engine: engine() })),
        (EngineKind::Rtl, false, false, insecure, None),
        (EngineKind::Rtl, false, true, insecure, Some(TrustError::Traced { engine: engine() })),
        (EngineKind::Gpu, false, false, production, Some(TrustError::NotConstantTime { engine: engine() })),
        (EngineKind::Gpu, true, false, production, None),
        (cpu, false, false, production, Some(TrustError::NotConstantTime { engine: engine() })),
        (cpu, false, false, insecure, None),
        (cpu, true, false, production, None),
    ] {
        let outcome = TrustedEngine::new(slow(kind, constant_time, traced), policy).err();
        assert_eq!(outcome, refusal, "{kind}, constant-time {constant_time}, traced {traced}, {policy:?}");
    }
    // Keys need more.
    let refusal = Some(TrustError::NotCpu { engine: engine() });
    for (kind, constant_time) in [(EngineKind::Gpu, true), (EngineKind::Rtl, true), (cpu, false)] {
        assert_eq!(TrustedEngine::for_keys(slow(kind, constant_time, false)).err(), refusal, "{kind}");
    }
    assert!(TrustedEngine::for_keys(slow(cpu, true, false)).is_ok());
}

#[test]
fn a_secret_job_gives_what_a_public_one_gives() {
    let n = limbs::to_uint(&[u64::MAX - 58, u64::MAX, u64::MAX, u64::MAX]);
    let modulus = TrustedEngine::cpu().prepare(EngineModulus::Value(&n)).unwrap();
    let (a, b) = (IntegerBatch::from_u64s(&[3, 4]), IntegerBatch::from_u64s(&[5, 6]));
    let outputs = modulus.run_secret(&[SecretJob::new(Job::Multiply { a: &a, b: &b })]).unwrap();
    let secret = outputs.into_iter().next().unwrap().into_integers().unwrap();
    assert_eq!(secret, modulus.public().multiply(&a, &b).unwrap());
    assert_eq!((secret.row(0)[0], secret.row(1)[0]), (15, 24));
}
