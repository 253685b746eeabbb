//! Encryption, evaluation and decryption on an engine give the bits of the CPU's own path.

use std::sync::Arc;

use crate::support::key;
use ciphermill_bigint::{
    CpuEngine, EngineError, EngineModulus, Job, ModExpEngine, Output, PreparedModulus, SecretPolicy, TrustError,
    TrustedEngine, WeightMatrix,
};
use ciphermill_math::{EngineInfo, EngineKind, Isa};
use ciphermill_paillier::{
    Blinding, CiphertextVector, Csprng, EngineEncryption, EngineEvaluation, KeyBits, PaillierError, PlaintextVector,
    Scalars, SecretKey,
};

/// The CPU behind the seam, without its native path: everything goes through jobs.
#[derive(Clone, Copy, Debug)]
struct Seam {
    kind: EngineKind,
    constant_time: bool,
    bases: bool,
}

struct SeamModulus {
    inner: Arc<dyn PreparedModulus>,
    bases: bool,
}

impl ModExpEngine for Seam {
    fn info(&self) -> EngineInfo {
        let info = EngineInfo::new("seam", self.kind);
        if self.constant_time { info.with_constant_time() } else { info }
    }

    fn prepare(&self, modulus: EngineModulus<'_>) -> Result<Arc<dyn PreparedModulus>, EngineError> {
        Ok(Arc::new(SeamModulus { inner: CpuEngine::current().prepare(modulus)?, bases: self.bases }))
    }
}

impl PreparedModulus for SeamModulus {
    fn limbs(&self) -> usize {
        self.inner.limbs()
    }

    fn memory_bytes(&self) -> u64 {
        self.inner.memory_bytes()
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, EngineError> {
        match jobs.iter().find(|job| matches!(job, Job::PrepareBase { .. })) {
            Some(job) if !self.bases => Err(EngineError::Unsupported { engine: "seam".into(), job: job.name() }),
            _ => self.inner.run(jobs),
        }
    }
}

const CPU: EngineKind = EngineKind::Cpu(Isa::Portable);

fn seams() -> [Seam; 2] {
    [true, false].map(|bases| Seam { kind: CPU, constant_time: true, bases })
}

fn trusted(engine: impl ModExpEngine + 'static) -> TrustedEngine {
    TrustedEngine::new(Arc::new(engine), SecretPolicy::Production).unwrap()
}

#[test]
fn encryption_gives_the_same_bits_from_the_same_randomness() {
    let owner = key(512);
    let key = owner.public_key();
    let plaintexts = PlaintextVector::from_i64(key, &[0, 1, -1, i64::MIN, 77, 5, 4, 3, 2]);
    for blinding in [Blinding::Djn, Blinding::Strict] {
        let expected = key.encrypt(&plaintexts, blinding, &mut Csprng::from_seed([7; 32])).unwrap();
        for engine in seams().map(trusted).into_iter().chain([TrustedEngine::cpu()]) {
            let encryption = EngineEncryption::new(key, &engine).unwrap();
            let ours = encryption.encrypt(&plaintexts, blinding, &mut Csprng::from_seed([7; 32])).unwrap();
            assert_eq!(ours.to_integers(), expected.to_integers(), "{blinding:?}, {}", engine.info());
        }
    }
}

#[test]
fn evaluation_gives_the_same_bits() {
    let owner = key(512);
    let key = owner.public_key();
    let mut rng = Csprng::from_seed([8; 32]);
    let mut encrypt =
        |values: &[i64]| key.encrypt(&PlaintextVector::from_i64(key, values), Blinding::Djn, &mut rng).unwrap();
    let (x, y, one) = (encrypt(&[1, -2, 3]), encrypt(&[40, 50, -60]), encrypt(&[9]));
    let plain = PlaintextVector::from_i64(key, &[5, -6, 7]);
    let weights = WeightMatrix::new(3, vec![1, -2, 3, 0, 5, -6]).unwrap();
    let factors: [&[i128]; 4] = [&[3, -4, 0], &[-7], &[1, 2, 3], &[1 << 90, -(1 << 100), 1]];
    let same = |ours: Result<CiphertextVector, PaillierError>, expected: Result<CiphertextVector, PaillierError>| {
        assert_eq!(ours.unwrap().to_integers(), expected.unwrap().to_integers());
    };
    let engines: [&dyn ModExpEngine; 3] = [&seams()[0], &seams()[1], &CpuEngine::current()];
    for engine in engines {
        let evaluation = EngineEvaluation::new(key, engine).unwrap();
        same(evaluation.add(&x, &y), x.add(&y));
        same(evaluation.add(&x, &one), x.add(&one));
        same(evaluation.subtract(&x, &y), x.subtract(&y));
        same(evaluation.subtract(&one, &y), one.subtract(&y));
        same(evaluation.add_public(&x, &[5, -6, 7]), x.add_plain(&plain));
        for factors in factors {
            same(evaluation.multiply_public(&x, factors), x.multiply_scalars(&Scalars::from_i128(factors)));
        }
        same(evaluation.matrix_vector_public(&x, &weights), x.matrix_vector_public(&weights));
        let short = x.slice(0..2).unwrap();
        assert!(matches!(evaluation.add(&x, &short), Err(PaillierError::Length { left: 3, right: 2 })));
        assert!(matches!(evaluation.matrix_vector_public(&short, &weights), Err(PaillierError::Length { .. })));
    }
}

#[test]
fn secret_operands_give_the_same_bits() {
    let owner = key(512);
    let key = owner.public_key();
    let values = PlaintextVector::from_i64(key, &[1, -2, 3]);
    let x = key.encrypt(&values, Blinding::Djn, &mut Csprng::from_seed([10; 32])).unwrap();
    let plain = PlaintextVector::from_i64(key, &[5, -6, 7]);
    let scalars = [Scalars::from_i64(&[3, -4, 0]), Scalars::from_i64(&[-7]), Scalars::from_u64(&[1, 2, 3])];
    for engine in seams().map(trusted).into_iter().chain([TrustedEngine::cpu()]) {
        let encryption = EngineEncryption::new(key, &engine).unwrap();
        let same = |ours: Result<CiphertextVector, PaillierError>,
                    expected: Result<CiphertextVector, PaillierError>| {
            assert_eq!(ours.unwrap().to_integers(), expected.unwrap().to_integers(), "{}", engine.info());
        };
        same(encryption.add_plain(&x, &plain), x.add_plain(&plain));
        same(encryption.subtract_plain(&x, &plain), x.subtract_plain(&plain));
        for scalars in &scalars {
            same(encryption.multiply_scalars(&x, scalars), x.multiply_scalars(scalars));
        }
        for blinding in [Blinding::Djn, Blinding::Strict] {
            let rng = || Csprng::from_seed([11; 32]);
            same(encryption.rerandomise(&x, blinding, &mut rng()), x.rerandomise(blinding, &mut rng()));
        }
        let short = x.slice(0..2).unwrap();
        assert!(matches!(encryption.add_plain(&short, &plain), Err(PaillierError::Length { left: 2, right: 3 })));
        let refused = encryption.multiply_scalars(&short, &scalars[2]);
        assert!(matches!(refused, Err(PaillierError::Length { left: 2, right: 3 })));
    }
}

#[test]
fn keys_use_constant_time_cpu_engines_only() {
    let owner = key(512);
    let mut rng = Csprng::from_seed([9; 32]);
    let values: Vec<i64> = (-5..6).collect();
    let plaintexts = PlaintextVector::from_i64(owner.public_key(), &values);
    let ciphertexts = owner.public_key().encrypt(&plaintexts, Blinding::Djn, &mut rng).unwrap();
    for engine in seams() {
        let on_engine = owner.on_engine(Arc::new(engine)).unwrap();
        assert_eq!(on_engine.decrypt(&ciphertexts).unwrap().to_i64().unwrap(), values);
    }
    for (kind, constant_time) in
        [(CPU, false), (EngineKind::Gpu, true), (EngineKind::Rtl, true), (EngineKind::Remote, true)]
    {
        let engine = || Arc::new(Seam { kind, constant_time, bases: true });
        let refused = |given: Result<SecretKey, PaillierError>| matches!(given, Err(PaillierError::Trust(TrustError::NotCpu { engine })) if engine == "seam");
        assert!(refused(owner.on_engine(engine())), "{kind}");
        let bits = KeyBits::insecure_bench(512).unwrap();
        assert!(refused(SecretKey::generate_with(bits, &mut rng, engine())), "{kind}");
    }
    let bits = KeyBits::insecure_bench(512).unwrap();
    let made = SecretKey::generate_with(bits, &mut rng, Arc::new(seams()[0])).unwrap();
    let plaintexts = PlaintextVector::from_i64(made.public_key(), &values);
    let ciphertexts = made.encrypt(&plaintexts, Blinding::Djn, &mut rng).unwrap();
    assert_eq!(made.decrypt(&ciphertexts).unwrap().to_i64().unwrap(), values);
}
