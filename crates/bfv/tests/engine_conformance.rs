//! The conformance suite on the transforms of every path of the CPU and on those of the plain definition; wrong transforms
//! do not pass.

use ciphermill_testing::available;
use std::sync::Arc;

use ciphermill_bfv::conformance::{Case, ConformanceError, FULL_SETS, Suite};
use ciphermill_bfv::parameters::{CHAM_PAPER, SET_NAMES};
use ciphermill_bfv::{BfvError, Context};
use ciphermill_math::conformance::ReferenceNttProvider;
use ciphermill_math::ntt::{CpuNttProvider, NttEngine, NttError, NttProvider};
use ciphermill_math::{CoefficientSource, EngineInfo, Isa};

#[test]
fn every_path_of_the_cpu_conforms_to_the_definition() {
    let suite = Suite::new().expect("the definition decrypts to the right plaintexts");
    let sizes = |name| suite.cases().iter().filter(|case| case.parameters().name.starts_with(name)).count();
    assert!(SET_NAMES.iter().all(|name| sizes(*name) > 0));
    assert!(FULL_SETS.contains(&CHAM_PAPER) && sizes(CHAM_PAPER) == 2);
    for isa in available(Isa::ALL, |isa| isa.is_available()) {
        let provider: Arc<dyn NttProvider> = Arc::new(CpuNttProvider::new(isa));
        suite.check(&provider, isa).unwrap_or_else(|error| panic!("{isa}: {error}"));
    }
}

#[test]
fn the_definition_conforms_to_itself_on_every_path() {
    for name in ["BFV_2048", "BFV_8192"] {
        let case = Case::small(name).expect("a named set");
        for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
            let context = Context::with_engines(case.parameters(), Arc::new(ReferenceNttProvider), isa);
            case.check(&context.expect("an available path")).unwrap_or_else(|error| panic!("{isa}: {error}"));
        }
    }
}

/// One error in the transforms of some primes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Adds 1 to one coefficient of every inverse transform.
    Inverse,
    /// Adds 1 to one word of every spectrum.
    Forward,
    /// Forgets the accumulator.
    Accumulate,
    /// Reports the exponents of two words for each other.
    Exponent,
}

/// The CPU's transforms, faulty for one prime or for all primes outside the chain and t.
#[derive(Debug)]
struct Faulty {
    fault: Fault,
    is_faulty: fn(u64, &Case) -> bool,
    case: Arc<Case>,
}

impl NttProvider for Faulty {
    fn info(&self) -> EngineInfo {
        CpuNttProvider::default().info()
    }

    fn prime(&self, polynomial_size: usize, modulus: u64) -> Result<Arc<dyn NttEngine>, NttError> {
        let engine = CpuNttProvider::default().prime(polynomial_size, modulus)?;
        if (self.is_faulty)(modulus, &self.case) {
            Ok(Arc::new(FaultyEngine { engine, fault: self.fault }))
        } else {
            Ok(engine)
        }
    }

    fn prime_u32(&self, polynomial_size: usize, modulus: u32) -> Result<Arc<dyn NttEngine<u32>>, NttError> {
        CpuNttProvider::default().prime_u32(polynomial_size, modulus)
    }

    fn goldilocks(&self, polynomial_size: usize) -> Result<Arc<dyn NttEngine>, NttError> {
        CpuNttProvider::default().goldilocks(polynomial_size)
    }
}

#[derive(Debug)]
struct FaultyEngine {
    engine: Arc<dyn NttEngine>,
    fault: Fault,
}

impl FaultyEngine {
    fn spoil(&self, fault: Fault, words: &mut [u64]) {
        if self.fault == fault {
            words[5] = (words[5] + 1) % self.engine.modulus();
        }
    }
}

impl NttEngine for FaultyEngine {
    fn polynomial_size(&self) -> usize {
        self.engine.polynomial_size()
    }

    fn modulus(&self) -> u64 {
        self.engine.modulus()
    }

    fn info(&self) -> EngineInfo {
        // Its spectra may have their own order.
        EngineInfo::new("faulty", self.engine.info().kind)
    }

    fn exponent(&self, position: usize) -> usize {
        let other = if self.fault == Fault::Exponent && position < 2 { 1 - position } else { position };
        self.engine.exponent(other)
    }

    fn forward(&self, source: &dyn CoefficientSource<u64>, spectrum: &mut [u64]) {
        self.engine.forward(source, spectrum);
        self.spoil(Fault::Forward, spectrum);
    }

    fn forward_in_place(&self, values: &mut [u64]) {
        self.engine.forward_in_place(values);
        self.spoil(Fault::Forward, values);
    }

    fn multiply(&self, lhs: &mut [u64], rhs: &[u64]) {
        self.engine.multiply(lhs, rhs);
    }

    fn multiply_accumulate(&self, acc: &mut [u64], lhs: &[u64], rhs: &[u64]) {
        let n = self.polynomial_size();
        // Of several products only the last one stays.
        let skipped = if self.fault == Fault::Accumulate { lhs.len() - n } else { 0 };
        self.engine.multiply_accumulate(acc, &lhs[skipped..], &rhs[skipped..]);
    }

    fn inverse(&self, spectrum: &mut [u64], coefficients: &mut [u64]) {
        self.engine.inverse(spectrum, coefficients);
        self.spoil(Fault::Inverse, coefficients);
    }

    fn inverse_in_place(&self, values: &mut [u64]) {
        self.engine.inverse_in_place(values);
        self.spoil(Fault::Inverse, values);
    }
}

fn in_chain(prime: u64, case: &Case) -> bool {
    case.parameters().chain().any(|p| p == prime)
}

/// The step at which a provider with this fault is caught.
fn caught(name: &str, fault: Fault, is_faulty: fn(u64, &Case) -> bool) -> &'static str {
    let case = Arc::new(Case::small(name).expect("a named set"));
    let provider = Arc::new(Faulty { fault, is_faulty, case: case.clone() });
    let context = Context::with_engines(case.parameters(), provider, Isa::current()).expect("tables");
    match case.check(&context) {
        Err(ConformanceError::Different { step, .. }) => step,
        outcome => panic!("{name}, {fault:?}: {outcome:?}"),
    }
}

#[test]
fn wrong_transforms_of_the_chain_do_not_conform() {
    let last: fn(u64, &Case) -> bool = |prime, case| case.parameters().chain().last() == Some(prime);
    let first: fn(u64, &Case) -> bool = |prime, case| case.parameters().chain().next() == Some(prime);
    for fault in [Fault::Forward, Fault::Inverse] {
        for name in ["CHAM_PAPER", "BFV_1024", "BFV_8192"] {
            assert_eq!(caught(name, fault, first), "the public key", "{name}, {fault:?}");
            assert_eq!(caught(name, fault, last), "the public key", "{name}, {fault:?}");
        }
    }
}

/// The other primes serve one step each.
#[test]
fn wrong_transforms_of_other_primes_do_not_conform() {
    let auxiliary: fn(u64, &Case) -> bool =
        |prime, case| !in_chain(prime, case) && prime != case.parameters().plaintext_modulus;
    let plaintext: fn(u64, &Case) -> bool = |prime, case| prime == case.parameters().plaintext_modulus;
    for fault in [Fault::Forward, Fault::Inverse, Fault::Accumulate] {
        assert_eq!(caught("BFV_4096", fault, auxiliary), "the product", "{fault:?}");
    }
    assert_eq!(caught("BFV_4096", Fault::Forward, plaintext), "decoding of slots");
    assert_eq!(caught("BFV_4096", Fault::Inverse, plaintext), "encoding of slots");
}

#[test]
fn wrong_exponents_do_not_conform() {
    let plaintext: fn(u64, &Case) -> bool = |prime, case| prime == case.parameters().plaintext_modulus;
    assert_eq!(caught("BFV_4096", Fault::Exponent, plaintext), "decoding of slots");
    for name in ["CHAM_PAPER", "BFV_2048"] {
        assert_eq!(caught(name, Fault::Exponent, in_chain), "the key switch of shared digits", "{name}");
    }
}

#[test]
#[should_panic(expected = "the product differs from the reference")]
fn the_whole_suite_names_the_step_and_the_set() {
    let case = Arc::new(Case::small("TEST_32").expect("a named set"));
    let provider: Arc<dyn NttProvider> = Arc::new(Faulty {
        fault: Fault::Inverse,
        // No named set has these.
        is_faulty: |prime, _| (1 << 45..1 << 46).contains(&prime),
        case,
    });
    Suite::new().expect("conforms").check(&provider, Isa::current()).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_context_of_another_set_is_refused() {
    let case = Case::small("TEST_32").expect("a named set");
    let other = Case::small("BFV_1024").expect("a named set");
    let context = Context::new(other.parameters(), Isa::current()).expect("tables");
    assert!(matches!(case.check(&context), Err(ConformanceError::Bfv(BfvError::WrongParameters { .. }))));
}
