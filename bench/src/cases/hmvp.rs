//! Products of a plain matrix and an encrypted vector, by each of our strategies, beside Lattigo's diagonal method.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ciphermill_bench_peers::Contender;
use ciphermill_bench_peers::lattigo::{self, PEER, Setup, Work};
use ciphermill_bfv::{GaloisKeys, SecretKey};
use ciphermill_hmvp::{
    CpuEngine, DenseMatrix, EncryptedProduct, EncryptedVector, HmvpEngine, MatrixHandle, Plan, PreparedKeys, Request,
    Strategy,
};
use ciphermill_lattice::{Csprng, SecretSeed};
use serde_json::json;

use super::scheme::InPool;
use super::{Numbers, Settings};
use crate::Failure;
use crate::harness::{Effort, alternate};
use crate::machine::Pools;
use crate::report::{Case, Report};

/// Where scripts/bench.sh leaves the peer.
const PROGRAM: &str = "CIPHERMILL_BENCH_LATTIGO";

/// Rows × columns: the paper's sizes.
const SIZES: [(usize, usize); 4] = [(64, 256), (256, 256), (1024, 256), (2048, 256)];

const SEED: u64 = 4;

/// Of the sets that gave right results for these sizes (N = 4096 with 36-bit, N = 8192 with 40-, 45- and 55-bit primes) the one
/// with which the peer was fastest.
const PEER_SET: Setup<'static> =
    Setup { log_n: 12, log_q: "37,36", log_p: "36", plaintext_modulus: 16_760_833, rows: 0, cols: 0, seed: SEED };

pub(crate) fn run(settings: &Settings<'_>, pools: &Pools, report: &mut Report) -> Result<(), Failure> {
    let Some(program) = std::env::var_os(PROGRAM) else {
        report.note(format!(
            "hmvp: no row, as {PROGRAM} names no peer; scripts/bench.sh builds it where Go is installed"
        ));
        return Ok(());
    };
    let program = Path::new(&program);
    let clock = settings.clock;
    let effort = match settings.quick {
        true => Effort { rounds: 3, least_rounds: 2, budget: Duration::from_secs(1), clock },
        false => Effort { rounds: 60, least_rounds: 15, budget: Duration::from_secs(6), clock },
    };
    for (rows, cols) in SIZES {
        let mut numbers = Numbers(SEED);
        let mut entries = |count| -> Vec<i64> { numbers.by_ref().take(count).map(|x| x as i64 >> 56).collect() };
        let (matrix, vector) = (entries(rows * cols), entries(cols));
        let product = |row: &[i64]| row.iter().zip(&vector).map(|(a, v)| a * v).sum();
        let expected: Vec<i64> = matrix.chunks_exact(cols).map(product).collect();
        let matrix = DenseMatrix::new(rows, cols, matrix)?;
        for (work, kind) in [(Work::Prepared, "hmvp"), (Work::Fresh, "hmvp-fresh")] {
            let setup = Setup { rows, cols, ..PEER_SET };
            // Started by the pinned thread, so that it is pinned too.
            let mut peer = pools.one.install(|| lattigo::Product::new(program, &setup, work, expected.clone()))?;
            for &isa in settings.taken_isas() {
                for strategy in Strategy::ALL {
                    let name = format!("{kind}/{}/{rows}x{cols}", strategy.name());
                    if !name.contains(settings.only) || (work == Work::Fresh && strategy != Strategy::RowPacked) {
                        continue;
                    }
                    let request = Request { strategy: Some(strategy), ..Request::new(rows, cols) };
                    let plan = Arc::new(Plan::new(&request, isa)?);
                    let ours = Ours::new(plan, &matrix, &vector, &expected, work)?;
                    let explanation = ours.plan.explain();
                    let params = [
                        ("rows", json!(rows)),
                        ("cols", json!(cols)),
                        ("polynomial_size", json!(explanation.polynomial_size)),
                        ("chain_bits", json!(explanation.chain_bits)),
                        ("plaintext_modulus", json!(explanation.plaintext_modulus)),
                    ];
                    let case = Case::new(name, params)
                        .note("the peer: diagonal method, baby and giant steps, N = 4096, log QP = 109, one thread");
                    let mut mine = InPool { pool: &pools.one, contender: ours };
                    let stats = alternate(&mut [&mut mine, &mut peer], effort);
                    report.tell(case.row(isa.name(), (1, 1), stats[0], PEER, stats[1], settings.cpu));
                }
            }
        }
    }
    Ok(())
}

/// One product of ours.
struct Ours<'a> {
    plan: Arc<Plan>,
    key: SecretKey,
    keys: Arc<dyn PreparedKeys>,
    vector: EncryptedVector,
    source: &'a DenseMatrix,
    matrix: MatrixHandle,
    expected: &'a [i64],
    work: Work,
    product: Option<EncryptedProduct>,
}

impl<'a> Ours<'a> {
    fn new(
        plan: Arc<Plan>,
        source: &'a DenseMatrix,
        vector: &[i64],
        expected: &'a [i64],
        work: Work,
    ) -> Result<Self, Failure> {
        let key = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
        let keys = CpuEngine::new().prepare(&plan, &GaloisKeys::generate(&key, &plan.galois_requests())?)?;
        let mut noise = Csprng::from_os()?;
        let vector = EncryptedVector::encrypt(&plan, &key, vector, &mut noise)?;
        let matrix = CpuEngine::new().prepare_matrix(&plan, source)?;
        Ok(Self { plan, key, keys, vector, source, matrix, expected, work, product: None })
    }
}

impl Contender for Ours<'_> {
    fn prepare(&mut self, _round: usize) {
        self.product = None;
    }

    /// A failure leaves no product, and so is found incorrect.
    fn run(&mut self) {
        let product = match self.work {
            Work::Prepared => self.keys.multiply(&self.matrix, &self.vector),
            Work::Fresh => CpuEngine::new()
                .prepare_matrix(&self.plan, self.source)
                .and_then(|matrix| self.keys.multiply(&matrix, &self.vector)),
        };
        self.product = product.ok();
    }

    fn correct(&mut self) -> bool {
        self.product
            .as_ref()
            .is_some_and(|product| product.decrypt(&self.key).is_ok_and(|product| product == self.expected))
    }
}
