//! The checks that every [`HmvpEngine`] must pass: products equal to those of the [`ReferenceEngine`], bit for bit, and right
//! after decryption.
//!
//! Another crate calls [`check`] from a test of its engine, with the feature `conformance` of this crate in its
//! `dev-dependencies`.
//!
//! # Example
//! ```
//! use ciphermill_hmvp::conformance::{Extent, check, small};
//! use ciphermill_hmvp::{CpuEngine, Strategy};
//!
//! let extent = Extent { requests: vec![small(Strategy::RowPacked, 3, 5)], ..Extent::default() };
//! check(&CpuEngine::new(), &extent);
//! ```

mod reference;

use std::sync::Arc;

use ciphermill_bfv::keys::{GaloisKeys, PublicKey, SecretKey};
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::parameters::{CHAM_PAPER, ParameterSet, ParameterSpec, SecurityPolicy};
use ciphermill_lattice::{Csprng, PolynomialSize, SecretSeed};
use ciphermill_math::Isa;
use ciphermill_math::modulus::ntt_primes;

use crate::engine::{HmvpEngine, Job, MatrixHandle, Output, PreparedKeys, PreparedMatrix};
use crate::{
    DenseMatrix, EncryptedProduct, EncryptedVector, Encryption, HmvpError, MatrixSource, Plan, Request, Strategy,
};
pub use reference::ReferenceEngine;

const POLICY: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

/// The amount of work.
#[derive(Clone, Debug)]
pub struct Extent {
    /// The products.
    pub requests: Vec<Request>,
    /// The instruction set of the plans' tables.
    pub isa: Isa,
    /// The strategies that the engine does not implement. It must refuse these, and no others, with
    /// [`HmvpError::UnsupportedStrategy`].
    pub unsupported_strategies: &'static [Strategy],
    /// Names of the [jobs](Job::name) that the engine does not implement. It must refuse these, and no others, with
    /// [`HmvpError::UnsupportedJob`].
    pub unsupported_jobs: &'static [&'static str],
}

impl Default for Extent {
    /// Every strategy: [`small`] sets with shapes below, at and above the row and column tiles, split entries,
    /// encryption under the public key, several limbs; and [`full`] sets.
    fn default() -> Self {
        let mut requests = Vec::new();
        for strategy in Strategy::ALL {
            for (rows, cols) in [(1, 1), (3, 5), (64, 20), (70, 64), (9, 150)] {
                requests.push(small(strategy, rows, cols));
            }
            requests.push(Request { matrix_bits: 12, vector_bits: 14, ..small(strategy, 6, 7) });
            requests.push(Request { encryption: Encryption::Public, ..small(strategy, 10, 33) });
            requests.push(full(strategy));
        }
        Self { requests, isa: Isa::current(), unsupported_strategies: &[], unsupported_jobs: &[] }
    }
}

/// A product of 8-bit entries at N = 64, two primes of 40 bits for ciphertexts and a special prime of 41, which is not
/// secure.
///
/// # Panics
/// Never: the set is admissible.
#[must_use]
pub fn small(strategy: Strategy, rows: usize, cols: usize) -> Request {
    let n = 64;
    let primes: Vec<u64> = ntt_primes(40, n).take(2).map(|p| p.value()).collect();
    let spec = ParameterSpec {
        name: "CONFORMANCE_64".into(),
        polynomial_size: PolynomialSize::new(n).expect("a power of two"),
        ciphertext_moduli: primes,
        special_moduli: ntt_primes(41, n).take(1).map(|p| p.value()).collect(),
        plaintext_modulus: ntt_primes(24, n).next().expect("a prime").value(),
        gadget: Gadget::Limbs { limbs_per_digit: 1 },
    };
    let parameters = ParameterSet::new(spec, POLICY).expect("admissible");
    Request { strategy: Some(strategy), parameters: Some(parameters), ..Request::new(rows, cols) }
}

/// A product of a few rows at a full polynomial size: at the CHAM paper's set for entries in coefficients, at the set that
/// the planner chooses for entries in slots.
///
/// # Panics
/// Never: the paper's set is known.
///
/// # Example
/// ```
/// use ciphermill_hmvp::{Strategy, conformance::full};
///
/// let request = full(Strategy::RowPacked);
/// assert_eq!((request.strategy, request.rows, request.cols), (Some(Strategy::RowPacked), 17, 256));
/// ```
#[must_use]
pub fn full(strategy: Strategy) -> Request {
    let (rows, cols, parameters) = match strategy {
        Strategy::Algorithm1 => (2, 256, Some(CHAM_PAPER)),
        // Two plaintexts: one baby or giant step.
        Strategy::RowPacked => (17, 256, Some(CHAM_PAPER)),
        Strategy::RotateAndSum | Strategy::Diagonal => (2, 4, None),
    };
    let parameters = parameters.map(|name| ParameterSet::named(name, POLICY).expect("a named set"));
    Request { strategy: Some(strategy), parameters, ..Request::new(rows, cols) }
}

/// Runs all checks.
///
/// # Panics
/// At the first difference, with the engine's name and the request.
pub fn check(engine: &dyn HmvpEngine, extent: &Extent) {
    for (seed, request) in extent.requests.iter().enumerate() {
        let strategy = request.strategy.map_or("planned", Strategy::name);
        let what = format!("{}, {strategy}, {} x {}", engine.info(), request.rows, request.cols);
        let plan = Arc::new(Plan::new(request, extent.isa).unwrap_or_else(|error| panic!("{what}: {error}")));
        let parties = Parties::new(&plan, seed as u8);
        if extent.unsupported_strategies.contains(&plan.strategy()) {
            refused_strategy(engine, &parties, &what);
            continue;
        }
        let keys = engine.prepare(&plan, &parties.galois).unwrap_or_else(|error| panic!("{what}: keys: {error}"));
        // Keys of another client, prepared later, must not take the place of the first ones.
        let stranger = Parties::new(&plan, parties.seed.wrapping_add(1));
        let their_keys =
            engine.prepare(&plan, &stranger.galois).unwrap_or_else(|error| panic!("{what}: keys: {error}"));
        assert_eq!(keys.tag(), parties.secret.tag(), "{what}: key set");
        assert!(Arc::ptr_eq(keys.plan(), &plan), "{what}: plan of the keys");
        assert!(keys.memory_bytes() > 0 || plan.galois_requests().is_empty(), "{what}: bytes of the keys");
        assert!(keys.memory_bytes() <= engine.keys_bytes(&plan), "{what}: more bytes of the keys than announced");
        let what = format!("{what} on {}", extent.isa);
        let subject =
            Subject { engine, keys, their_keys, parties, stranger, what, unsupported: extent.unsupported_jobs };
        subject.products();
        subject.refusals();
    }
}

/// An engine refuses a strategy that it does not implement, in both halves.
fn refused_strategy(engine: &dyn HmvpEngine, parties: &Parties, what: &str) {
    let keys = engine.prepare(&parties.plan, &parties.galois).map(drop);
    assert!(matches!(keys, Err(HmvpError::UnsupportedStrategy { .. })), "{what}: {keys:?}");
    let matrix = engine.prepare_matrix(&parties.plan, &parties.matrix(0)).map(drop);
    assert!(matches!(matrix, Err(HmvpError::UnsupportedStrategy { .. })), "{what}: {matrix:?}");
}

/// A client, and the numbers of a server.
struct Parties {
    plan: Arc<Plan>,
    secret: SecretKey,
    galois: GaloisKeys,
    seed: u8,
}

impl Parties {
    fn new(plan: &Arc<Plan>, seed: u8) -> Self {
        let secret = SecretKey::generate(plan.context(), &SecretSeed::from_bytes([seed; 32]));
        let galois = GaloisKeys::generate(&secret, &plan.galois_requests()).expect("a plan asks for admissible keys");
        Self { plan: plan.clone(), secret, galois, seed }
    }

    fn stream(&self, number: u64) -> Csprng {
        Csprng::from_secret(&SecretSeed::from_bytes([self.seed; 32]), 1000 + number)
    }

    /// Entries of `bits` bits: the greatest ones of either sign, then random ones.
    fn numbers(&self, number: u64, bits: u32, count: usize) -> Vec<i64> {
        let (mut rng, least) = (self.stream(number), -1i64 << (bits - 1));
        let mut entry = |i| match i {
            0 => least,
            1 => -1 - least,
            _ => rng.next_u64() as i64 >> (64 - bits),
        };
        (0..count).map(&mut entry).collect()
    }

    fn matrix(&self, number: u64) -> DenseMatrix {
        let &Request { rows, cols, matrix_bits, .. } = self.plan.request();
        DenseMatrix::new(rows, cols, self.numbers(number, matrix_bits, rows * cols)).expect("as many as it has")
    }

    fn vector(&self, number: u64) -> Vec<i64> {
        let &Request { cols, vector_bits, .. } = self.plan.request();
        self.numbers(100 + number, vector_bits, cols)
    }

    fn encrypt(&self, values: &[i64], number: u64) -> EncryptedVector {
        let mut rng = self.stream(200 + number);
        let encrypted = if self.plan.request().encryption == Encryption::Public {
            let public = PublicKey::generate(&self.secret).expect("randomness");
            EncryptedVector::encrypt_public(&self.plan, &public, values, &mut rng)
        } else {
            EncryptedVector::encrypt(&self.plan, &self.secret, values, &mut rng)
        };
        encrypted.expect("entries of the plan")
    }
}

/// A·v by the definition.
fn product(matrix: &DenseMatrix, vector: &[i64]) -> Vec<i64> {
    let row = |i| matrix.row(i).iter().zip(vector).map(|(a, v)| a * v).sum();
    (0..matrix.rows()).map(row).collect()
}

/// An engine with prepared keys.
struct Subject<'a> {
    engine: &'a dyn HmvpEngine,
    keys: Arc<dyn PreparedKeys>,
    their_keys: Arc<dyn PreparedKeys>,
    parties: Parties,
    stranger: Parties,
    what: String,
    unsupported: &'static [&'static str],
}

impl Subject<'_> {
    fn prepare(&self, matrix: &dyn MatrixSource) -> MatrixHandle {
        let what = &self.what;
        let plan = &self.parties.plan;
        let handle =
            self.engine.prepare_matrix(plan, matrix).unwrap_or_else(|error| panic!("{what}: a matrix: {error}"));
        assert!(Arc::ptr_eq(handle.plan(), plan), "{what}: plan of a matrix");
        assert!(handle.memory_bytes() > 0, "{what}: bytes of a matrix");
        let announced = self.engine.matrix_bytes(plan);
        assert!(handle.memory_bytes() <= announced, "{what}: more bytes of a matrix than announced");
        handle
    }

    /// The outputs of the jobs that the engine implements; every other one is refused.
    fn run(&self, jobs: &[Job<'_>]) -> Vec<(usize, EncryptedProduct)> {
        let what = &self.what;
        let (refused, run): (Vec<_>, Vec<_>) =
            (0..jobs.len()).partition(|&i| self.unsupported.contains(&jobs[i].name()));
        for i in refused {
            let outcome = self.keys.run(&[jobs[i]]).map(drop);
            assert!(
                matches!(outcome, Err(HmvpError::UnsupportedJob { .. })),
                "{what}: {}: {outcome:?}",
                jobs[i].name()
            );
        }
        let batch: Vec<Job<'_>> = run.iter().map(|&i| jobs[i]).collect();
        let outputs = self.keys.run(&batch).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(outputs.len(), batch.len(), "{what}: outputs");
        run.into_iter().zip(outputs).map(|(i, Output::Product(product))| (i, product)).collect()
    }

    /// A mixed batch: two matrices, prepared and streamed, two vectors, in an order that separates jobs of one matrix.
    fn products(&self) {
        let (parties, what) = (&self.parties, &self.what);
        let matrices = [0, 1].map(|number| parties.matrix(number));
        let values = [0, 1].map(|number| parties.vector(number));
        let vectors = [0, 1].map(|number| parties.encrypt(&values[number], number as u64));
        let ours = matrices.each_ref().map(|matrix| self.prepare(matrix));
        let golden = ReferenceEngine.prepare(&parties.plan, &parties.galois).expect("keys of the plan");
        let pairs = [(0, 0), (1, 0), (0, 1)];
        // At a full size, the reference takes seconds for a product: the first pair is compared bit for bit, the others after
        // decryption.
        let compared = if parties.plan.context().n() <= 256 { pairs.len() } else { 1 };
        let expected: Vec<EncryptedProduct> = pairs[..compared]
            .iter()
            .map(|&(m, v)| golden.multiply_streamed(&matrices[m], &vectors[v]).expect("a product"))
            .collect();

        let [(m0, v0), (m1, v1), (m2, v2)] = pairs;
        let jobs = [
            Job::Multiply { matrix: &ours[m0], vector: &vectors[v0] },
            Job::Multiply { matrix: &ours[m1], vector: &vectors[v1] },
            Job::MultiplyStreamed { matrix: &matrices[m0], vector: &vectors[v0] },
            Job::Multiply { matrix: &ours[m2], vector: &vectors[v2] },
            Job::MultiplyStreamed { matrix: &matrices[m2], vector: &vectors[v2] },
        ];
        let pair_of = [0, 1, 0, 2, 2];
        for (i, result) in self.run(&jobs) {
            let ((m, v), job) = (pairs[pair_of[i]], jobs[i].name());
            let decrypted = result.decrypt(&parties.secret).expect("our key");
            assert_eq!(decrypted, product(&matrices[m], &values[v]), "{what}: {job} {i}: entries");
            if let Some(expected) = expected.get(pair_of[i]) {
                assert!(result.to_bytes() == expected.to_bytes(), "{what}: {job} {i}: residues");
            }
        }
        assert!(self.run(&[]).is_empty(), "{what}: no jobs, no outputs");
        self.two_clients(&matrices[0], &ours[0], &vectors[0], &values[0]);
    }

    /// One prepared matrix under the keys of two clients in turn, with a vector that came by way of an equal plan.
    fn two_clients(&self, matrix: &DenseMatrix, handle: &MatrixHandle, vector: &EncryptedVector, values: &[i64]) {
        if self.unsupported.contains(&"multiply") {
            return;
        }
        let (parties, stranger, what) = (&self.parties, &self.stranger, &self.what);
        let expected = product(matrix, values);
        let equal = Arc::new(Plan::new(parties.plan.request(), parties.plan.context().isa()).expect("a plan"));
        let sent = EncryptedVector::from_bytes(&equal, &vector.to_bytes()).expect("own bytes");
        let theirs = stranger.encrypt(values, 0);
        for (keys, vector, secret) in [
            (&self.keys, &sent, &parties.secret),
            (&self.their_keys, &theirs, &stranger.secret),
            (&self.keys, vector, &parties.secret),
        ] {
            let result = keys.multiply(handle, vector).unwrap_or_else(|error| panic!("{what}: two clients: {error}"));
            assert_eq!(result.tag(), secret.tag(), "{what}: two clients: key set");
            assert_eq!(result.decrypt(secret).expect("its key"), expected, "{what}: two clients: entries");
        }
    }

    /// Operands of others are typed errors, and a bad job among good ones leaves no output.
    fn refusals(&self) {
        let (parties, what, plan) = (&self.parties, &self.what, &self.parties.plan);
        let dense = parties.matrix(0);
        let (matrix, vector) = (self.prepare(&dense), parties.encrypt(&parties.vector(0), 0));
        let run = |jobs: &[Job<'_>]| self.keys.run(jobs).map(drop);
        let good = Job::Multiply { matrix: &matrix, vector: &vector };
        let multiplies = !self.unsupported.contains(&"multiply");

        let foreign = MatrixHandle::new(Foreign(plan.clone()));
        let outcome = run(&[good, Job::Multiply { matrix: &foreign, vector: &vector }]);
        assert!(
            !multiplies || matches!(outcome, Err(HmvpError::ForeignMatrix)),
            "{what}: a foreign matrix: {outcome:?}"
        );

        let theirs = self.stranger.encrypt(&self.stranger.vector(0), 0);
        for job in [
            Job::Multiply { matrix: &matrix, vector: &theirs },
            Job::MultiplyStreamed { matrix: &dense, vector: &theirs },
        ] {
            let outcome = run(&[good, job]);
            let refused = match &outcome {
                Err(HmvpError::Scheme(_)) => true,
                Err(HmvpError::UnsupportedJob { job, .. }) => self.unsupported.contains(job),
                _ => false,
            };
            assert!(refused, "{what}: a vector of another key set: {outcome:?}");
        }

        let &Request { rows, cols, matrix_bits, .. } = plan.request();
        let request = Request { rows: rows + 1, ..plan.request().clone() };
        let other = Arc::new(Plan::new(&request, plan.context().isa()).expect("a plan"));
        let others = Parties::new(&other, parties.seed);
        let (other_matrix, other_vector) = (others.matrix(0), others.encrypt(&others.vector(0), 0));
        let other_handle = self.engine.prepare_matrix(&other, &other_matrix).expect("a matrix of its plan");
        let outcome = run(&[good, Job::Multiply { matrix: &matrix, vector: &other_vector }]);
        assert!(!multiplies || matches!(outcome, Err(HmvpError::WrongPlan { .. })), "{what}: a vector: {outcome:?}");
        let outcome = run(&[good, Job::Multiply { matrix: &other_handle, vector: &vector }]);
        assert!(!multiplies || matches!(outcome, Err(HmvpError::WrongPlan { .. })), "{what}: a matrix: {outcome:?}");
        let outcome = run(&[Job::MultiplyStreamed { matrix: &other_matrix, vector: &vector }]);
        assert!(outcome.is_err(), "{what}: a streamed matrix of another shape");
        assert!(self.engine.prepare_matrix(plan, &other_matrix).is_err(), "{what}: a matrix of another shape");

        let mut wide = vec![0; rows * cols];
        wide[rows * cols - 1] = 1 << (matrix_bits - 1);
        let wide = DenseMatrix::new(rows, cols, wide).expect("as many as it has");
        assert!(self.engine.prepare_matrix(plan, &wide).is_err(), "{what}: an entry out of range");
        assert!(run(&[Job::MultiplyStreamed { matrix: &wide, vector: &vector }]).is_err(), "{what}: a streamed entry");

        if let Some((_, rest)) = plan.galois_requests().split_first() {
            let some = GaloisKeys::generate(&parties.secret, rest).expect("admissible");
            assert!(self.engine.prepare(plan, &some).is_err(), "{what}: a key is missing");
        }
    }
}

/// A matrix of no engine.
struct Foreign(Arc<Plan>);

impl PreparedMatrix for Foreign {
    fn plan(&self) -> &Arc<Plan> {
        &self.0
    }

    fn memory_bytes(&self) -> u64 {
        1
    }
}
