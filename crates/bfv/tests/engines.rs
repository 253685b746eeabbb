//! A context with the transforms of another provider than the CPU's.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::support::{INSECURE, plaintext, rng, seed};
use ciphermill_bfv::encoding::BatchEncoder;
use ciphermill_bfv::keys::GaloisRequest;
use ciphermill_bfv::{
    BfvError, Ciphertext, Context, GaloisKeys, ParameterSet, PublicKey, RelinearizationKey, SecretKey,
};
use ciphermill_lattice::rns::RnsBasisError;
use ciphermill_math::conformance::ReferenceNttProvider;
use ciphermill_math::ntt::{CpuNttProvider, NttEngine, NttError, NttProvider};
use ciphermill_math::{CoefficientSource, EngineInfo, EngineKind, Isa};

/// Transforms by prime.
type Counts = Arc<Mutex<BTreeMap<u64, usize>>>;

/// The transforms of another provider, counted.
#[derive(Debug)]
struct Counting {
    provider: Arc<dyn NttProvider>,
    counts: Counts,
}

impl Counting {
    fn new(provider: Arc<dyn NttProvider>) -> Arc<Self> {
        Arc::new(Self { provider, counts: Counts::default() })
    }

    /// The transforms since the last call, by prime.
    fn take(&self) -> BTreeMap<u64, usize> {
        std::mem::take(&mut self.counts.lock().unwrap())
    }
}

impl NttProvider for Counting {
    fn info(&self) -> EngineInfo {
        self.provider.info()
    }

    fn prime(&self, polynomial_size: usize, modulus: u64) -> Result<Arc<dyn NttEngine>, NttError> {
        let engine = self.provider.prime(polynomial_size, modulus)?;
        Ok(Arc::new(CountingEngine { engine, counts: self.counts.clone() }))
    }

    fn prime_u32(&self, polynomial_size: usize, modulus: u32) -> Result<Arc<dyn NttEngine<u32>>, NttError> {
        self.provider.prime_u32(polynomial_size, modulus)
    }

    fn goldilocks(&self, polynomial_size: usize) -> Result<Arc<dyn NttEngine>, NttError> {
        self.provider.goldilocks(polynomial_size)
    }
}

#[derive(Debug)]
struct CountingEngine {
    engine: Arc<dyn NttEngine>,
    counts: Counts,
}

impl CountingEngine {
    fn count(&self) {
        *self.counts.lock().unwrap().entry(self.engine.modulus()).or_default() += 1;
    }
}

impl NttEngine for CountingEngine {
    fn polynomial_size(&self) -> usize {
        self.engine.polynomial_size()
    }

    fn modulus(&self) -> u64 {
        self.engine.modulus()
    }

    fn info(&self) -> EngineInfo {
        self.engine.info()
    }

    fn exponent(&self, position: usize) -> usize {
        self.engine.exponent(position)
    }

    fn forward(&self, source: &dyn CoefficientSource<u64>, spectrum: &mut [u64]) {
        self.count();
        self.engine.forward(source, spectrum);
    }

    fn forward_in_place(&self, values: &mut [u64]) {
        self.count();
        self.engine.forward_in_place(values);
    }

    fn multiply(&self, lhs: &mut [u64], rhs: &[u64]) {
        self.engine.multiply(lhs, rhs);
    }

    fn multiply_accumulate(&self, acc: &mut [u64], lhs: &[u64], rhs: &[u64]) {
        self.engine.multiply_accumulate(acc, lhs, rhs);
    }

    fn inverse(&self, spectrum: &mut [u64], coefficients: &mut [u64]) {
        self.count();
        self.engine.inverse(spectrum, coefficients);
    }

    fn inverse_in_place(&self, values: &mut [u64]) {
        self.count();
        self.engine.inverse_in_place(values);
    }
}

/// Results of one context on keys, plaintexts and randomness that are the same for all.
#[derive(Debug, PartialEq)]
struct Results {
    encrypted: Ciphertext,
    phase: Vec<u64>,
    product: Ciphertext,
    relinearised: Ciphertext,
    rotated: Ciphertext,
    encoded: Vec<u64>,
    slots: Vec<i64>,
}

/// The transforms that each step took.
type StepCounts = Vec<(&'static str, BTreeMap<u64, usize>)>;

/// Sealed keys.
struct Keys {
    secret: Vec<u8>,
    public: Vec<u8>,
    relinearisation: Vec<u8>,
    galois: Vec<u8>,
}

impl Keys {
    fn generate(set: &ParameterSet) -> Self {
        let context = Context::new(set, Isa::current()).unwrap();
        let secret = SecretKey::generate(&context, &seed(1));
        let requests = [GaloisRequest { element: 3, gadget: set.gadget }];
        Self {
            secret: secret.to_secret_key_bytes().to_vec(),
            public: PublicKey::generate(&secret).unwrap().to_bytes(),
            relinearisation: RelinearizationKey::generate(&secret).unwrap().to_bytes(&context).unwrap(),
            galois: GaloisKeys::generate(&secret, &requests).unwrap().to_bytes(&context).unwrap(),
        }
    }

    /// Every step on the transforms of a provider, with the transforms that each one took.
    fn run(&self, provider: &Arc<Counting>, isa: Isa) -> (Results, StepCounts) {
        let secret = SecretKey::from_secret_key_bytes_with_engines(&self.secret, INSECURE, provider.clone(), isa);
        let secret = secret.unwrap();
        let context = secret.context().clone();
        let public = PublicKey::from_bytes(&context, &self.public).unwrap();
        let relinearisation = RelinearizationKey::from_bytes(&context, &self.relinearisation).unwrap();
        let galois = GaloisKeys::from_bytes(&context, &self.galois).unwrap();
        let plain = plaintext(&context, &mut rng(2));
        provider.take();
        let mut counts = Vec::new();
        let mut step = |name| counts.push((name, provider.take()));
        let encrypted = public.encrypt(&plain, context.top(), &mut rng(3)).unwrap();
        step("encrypt");
        let phase = secret.phase(&encrypted).unwrap().words().to_vec();
        step("decrypt");
        let product = context.multiply(&encrypted, &encrypted).unwrap();
        step("multiply");
        let relinearised = context.relinearize(&product, &relinearisation).unwrap();
        step("relinearise");
        let rotated = context.automorphism(&encrypted, 3, &galois).unwrap();
        step("rotate");
        let encoder = BatchEncoder::new(&context).unwrap();
        let encoded = encoder.encode(&(0..context.n() as i64).collect::<Vec<_>>()).unwrap();
        step("encode");
        let slots = encoder.decode(&plain);
        step("decode");
        let encoded = encoded.coefficients().to_vec();
        (Results { encrypted, phase, product, relinearised, rotated, encoded, slots }, counts)
    }
}

#[test]
fn results_are_the_same_with_transforms_by_definition() {
    for name in ["TEST_32", "TEST_512", "BFV_4096"] {
        let keys = Keys::generate(&ParameterSet::named(name, INSECURE).unwrap());
        let (expected, counts) = keys.run(&Counting::new(Arc::new(ReferenceNttProvider)), Isa::Portable);
        for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
            let (results, cpu_counts) = keys.run(&Counting::new(Arc::new(CpuNttProvider::new(isa))), isa);
            assert!(results == expected, "{name}, {isa}");
            assert_eq!(cpu_counts, counts, "{name}, {isa}");
        }
    }
}

/// As many transforms as the algorithms have, modulo the primes that they compute with: none is made elsewhere.
#[test]
fn every_transform_is_of_the_provider() {
    for name in ["TEST_32", "BFV_4096", "BFV_8192"] {
        let set = ParameterSet::named(name, INSECURE).unwrap();
        let (_, counts) = Keys::generate(&set).run(&Counting::new(Arc::new(CpuNttProvider::default())), Isa::current());
        let (top, special) = (set.ciphertext_moduli.len(), set.special_moduli.len());
        let of_chain = |each: usize, primes: usize| set.chain().take(primes).map(|p| (p, each)).collect();
        for (step, counts) in counts {
            let expected: BTreeMap<u64, usize> = match step {
                // u forth, both parts back.
                "encrypt" => of_chain(3, top),
                // c_1 forth, the phase back.
                "decrypt" => of_chain(2, top),
                // A digit for each limb forth, both parts back.
                "relinearise" | "rotate" => of_chain(top + 2, top + special),
                "encode" | "decode" => [(set.plaintext_modulus, 1)].into(),
                // Four parts forth, three back, modulo the primes of Q and others.
                "multiply" => {
                    assert!(set.ciphertext_moduli.iter().all(|p| counts.contains_key(p)), "{name}: {counts:?}");
                    let auxiliary = counts.keys().filter(|p| !set.ciphertext_moduli.contains(p)).count();
                    assert!(auxiliary > 1 && counts.values().all(|&count| count == 7), "{name}: {counts:?}");
                    continue;
                }
                step => panic!("unknown step {step}"),
            };
            assert_eq!(counts, expected, "{name}, {step}");
        }
    }
}

/// Has the transforms of a few primes only.
#[derive(Debug)]
struct Partial(Vec<u64>);

impl NttProvider for Partial {
    fn info(&self) -> EngineInfo {
        ReferenceNttProvider.info()
    }

    fn prime(&self, polynomial_size: usize, modulus: u64) -> Result<Arc<dyn NttEngine>, NttError> {
        let modulus_or_none = if self.0.contains(&modulus) { modulus } else { 6 };
        ReferenceNttProvider.prime(polynomial_size, modulus_or_none)
    }

    fn prime_u32(&self, polynomial_size: usize, modulus: u32) -> Result<Arc<dyn NttEngine<u32>>, NttError> {
        ReferenceNttProvider.prime_u32(polynomial_size, modulus)
    }

    fn goldilocks(&self, polynomial_size: usize) -> Result<Arc<dyn NttEngine>, NttError> {
        ReferenceNttProvider.goldilocks(polynomial_size)
    }
}

#[test]
fn a_missing_transform_is_an_error_of_the_step_that_needs_it() {
    let set = ParameterSet::named("TEST_32", INSECURE).unwrap();
    let chain: Vec<u64> = set.chain().collect();
    let context = |primes: &[u64]| Context::with_engines(&set, Arc::new(Partial(primes.to_vec())), Isa::current());
    let missing = |error: BfvError| {
        assert!(matches!(error, BfvError::Basis(RnsBasisError::Ntt(NttError::Modulus(_)))), "{error:?}");
    };
    missing(context(&chain[1..]).unwrap_err());
    let context = context(&chain).unwrap();
    let secret = SecretKey::generate(&context, &seed(1));
    let ciphertext = secret.encrypt(&plaintext(&context, &mut rng(2)), context.top(), &mut rng(3)).unwrap();
    missing(context.multiply(&ciphertext, &ciphertext).unwrap_err());
    // Again: the first failure has left nothing behind.
    missing(context.multiply(&ciphertext, &ciphertext).unwrap_err());
    missing(BatchEncoder::new(&context).unwrap_err());
}

/// The reference transforms, described as those of another machine.
#[derive(Debug)]
struct Remote;

impl NttProvider for Remote {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("far", EngineKind::Remote)
    }

    fn prime(&self, _: usize, _: u64) -> Result<Arc<dyn NttEngine>, NttError> {
        panic!("no polynomial may reach another machine")
    }

    fn prime_u32(&self, _: usize, _: u32) -> Result<Arc<dyn NttEngine<u32>>, NttError> {
        panic!("no polynomial may reach another machine")
    }

    fn goldilocks(&self, _: usize) -> Result<Arc<dyn NttEngine>, NttError> {
        panic!("no polynomial may reach another machine")
    }
}

#[test]
fn a_remote_provider_is_refused() {
    let set = ParameterSet::named("TEST_32", INSECURE).unwrap();
    let refused = Context::with_engines(&set, Arc::new(Remote), Isa::current()).map(drop);
    assert!(matches!(&refused, Err(BfvError::RemoteEngine { engine }) if engine == "far"), "{refused:?}");
}
