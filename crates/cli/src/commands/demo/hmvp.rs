//! The second part of the demo: the product of a plain matrix and an encrypted vector, at a size of the CHAM paper.

use std::sync::Arc;
use std::time::Instant;

use ciphermill_bfv::{GaloisKeys, SecretKey};
use ciphermill_hmvp::{DenseMatrix, EncryptedVector, HmvpEngine, Plan, Request, Strategy};
use ciphermill_lattice::{Csprng, ModelProbability};
use ciphermill_math::Isa;
use serde::Serialize;

use super::{Randomness, lap};
use crate::error::CliError;
use crate::fault::judged;
use crate::output::{human_bytes, table};

const ROWS: usize = 1024;
const COLS: usize = 256;
/// Products that are timed; the first one more warms up.
const PRODUCTS: usize = 30;
/// The same of the paper's algorithm, whose products take a hundred times as long.
const PAPER_PRODUCTS: usize = 3;

/// The times of the whole product in the paper's Table 3 at this size, in seconds.
#[derive(Debug, Serialize)]
struct Paper {
    cpu_s: f64,
    gpu_s: f64,
    fpga_s: f64,
}

const PAPER: Paper = Paper { cpu_s: 0.35206, gpu_s: 0.09279, fpga_s: 0.02188 };

/// Seconds by phase.
#[derive(Debug, Default, Serialize)]
struct Seconds {
    keygen: f64,
    /// The matrix brought into the form for computing, once.
    prepare: f64,
    encrypt: f64,
    /// The median of a product.
    product: f64,
    decrypt: f64,
}

/// The paper's own algorithm, for the comparison with the paper's times.
#[derive(Debug, Serialize)]
struct PaperAlgorithm {
    strategy: &'static str,
    params: String,
    security_bits: f64,
    products: usize,
    wrong_products: usize,
    seconds: Seconds,
}

/// The results.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    rows: usize,
    cols: usize,
    correct: bool,
    wrong_products: usize,
    products: usize,
    strategy: &'static str,
    params: String,
    security_bits: f64,
    standard_bits: Option<u32>,
    log2_failure: f64,
    noise_bits_left: f64,
    threads: usize,
    seconds: Seconds,
    vector_bytes: u64,
    product_bytes: u64,
    matrix_bytes: u64,
    key_bytes: u64,
    paper_algorithm: PaperAlgorithm,
    paper: Paper,
}

/// The part of an engine without matrix-vector products.
pub(super) const NO_PRODUCTS: &str =
    "This engine does not compute matrix-vector products: no matrix was multiplied by an encrypted vector.";

/// What one strategy took.
struct Measured {
    plan: Arc<Plan>,
    seconds: Seconds,
    wrong_products: usize,
    noise_bits_left: f64,
    vector_bytes: u64,
    product_bytes: u64,
}

/// Plans, encrypts, multiplies and decrypts on the current thread pool: by the planner's choice, and by the paper's algorithm.
pub(super) fn run(engine: &dyn HmvpEngine, randomness: &mut Randomness) -> Result<Report, CliError> {
    let mut rng = Csprng::from_secret(&randomness.secret()?, 0);
    let mut entries = |count: usize| -> Vec<i64> { (0..count).map(|_| rng.next_u64() as i64 >> 56).collect() };
    let (a, v) = (entries(ROWS * COLS), entries(COLS));
    let expected: Vec<i64> = a.chunks_exact(COLS).map(|row| row.iter().zip(&v).map(|(a, v)| a * v).sum()).collect();
    let operands = Operands { matrix: DenseMatrix::new(ROWS, COLS, a)?, vector: v, expected };
    let ours = operands.multiply(engine, None, PRODUCTS, randomness)?;
    let paper = operands.multiply(engine, Some(Strategy::Algorithm1), PAPER_PRODUCTS, randomness)?;
    let explanation = ours.plan.explain();
    Ok(Report {
        rows: ROWS,
        cols: COLS,
        correct: ours.wrong_products + paper.wrong_products == 0,
        wrong_products: ours.wrong_products + paper.wrong_products,
        products: PRODUCTS + 1 + PAPER_PRODUCTS + 1,
        strategy: ours.plan.strategy().name(),
        params: explanation.parameters,
        security_bits: explanation.security_bits,
        standard_bits: explanation.standard_bits,
        log2_failure: explanation.log2_failure,
        noise_bits_left: ours.noise_bits_left,
        threads: rayon::current_num_threads(),
        seconds: ours.seconds,
        vector_bytes: ours.vector_bytes,
        product_bytes: ours.product_bytes,
        matrix_bytes: explanation.matrix_bytes,
        key_bytes: explanation.key_bytes,
        paper_algorithm: PaperAlgorithm {
            strategy: paper.plan.strategy().name(),
            params: paper.plan.context().parameters().name.clone(),
            security_bits: paper.plan.context().parameters().security().bits,
            products: PAPER_PRODUCTS + 1,
            wrong_products: paper.wrong_products,
            seconds: paper.seconds,
        },
        paper: PAPER,
    })
}

/// A matrix, a vector and their product.
struct Operands {
    matrix: DenseMatrix,
    vector: Vec<i64>,
    expected: Vec<i64>,
}

impl Operands {
    /// `products` timed products, and one before them, by a strategy or the planner's choice.
    fn multiply(
        &self,
        engine: &dyn HmvpEngine,
        strategy: Option<Strategy>,
        products: usize,
        randomness: &mut Randomness,
    ) -> Result<Measured, CliError> {
        let request = Request { strategy, ..Request::new(ROWS, COLS) };
        let plan = Arc::new(Plan::new(&request, Isa::current())?);
        let mut rng = Csprng::from_secret(&randomness.secret()?, 0);
        let mut seconds = Seconds::default();
        let mut start = Instant::now();
        let key = SecretKey::generate(plan.context(), &randomness.secret()?);
        let galois = GaloisKeys::generate(&key, &plan.galois_requests())?;
        let keys = engine.prepare(&plan, &galois)?;
        seconds.keygen = lap(&mut start);
        let matrix = engine.prepare_matrix(&plan, &self.matrix)?;
        seconds.prepare = lap(&mut start);
        let vector = EncryptedVector::encrypt(&plan, &key, &self.vector, &mut rng)?;
        seconds.encrypt = lap(&mut start);

        let (mut times, mut wrong_products, mut noise_bits_left, mut product_bytes) = (Vec::new(), 0, f64::INFINITY, 0);
        for number in 0..=products {
            start = Instant::now();
            let product = keys.multiply(&matrix, &vector)?;
            let time = lap(&mut start);
            wrong_products += usize::from(!judged(product.decrypt(&key)? == self.expected));
            seconds.decrypt = lap(&mut start);
            noise_bits_left = product.noise_bits_left(&key)?.min(noise_bits_left);
            product_bytes = product.to_bytes().len() as u64;
            if number > 0 {
                times.push(time);
            }
        }
        times.sort_unstable_by(f64::total_cmp);
        seconds.product = times[products / 2];
        let vector_bytes = vector.to_bytes().len() as u64;
        Ok(Measured { plan, seconds, wrong_products, noise_bits_left, vector_bytes, product_bytes })
    }
}

impl Report {
    /// Products that were wrong.
    pub(super) fn wrong(&self) -> usize {
        self.wrong_products
    }

    pub(super) fn to_text(&self) -> String {
        let milliseconds = |s: f64| format!("{:.3} ms", s * 1e3);
        let s = &self.seconds;
        let mut table = table(["phase", "here", "paper: FPGA", "GPU", "CPU"]);
        let papers = [self.paper.fpga_s, self.paper.gpu_s, self.paper.cpu_s].map(milliseconds);
        let none = [const { String::new() }; 3];
        let [ours, paper] =
            [self.strategy, self.paper_algorithm.strategy].map(|name| format!("product, {name} (median)"));
        for (name, here, beside) in [
            ("Galois keys", milliseconds(s.keygen), &none),
            ("matrix prepared, once", milliseconds(s.prepare), &none),
            ("vector encrypted", milliseconds(s.encrypt), &none),
            (&paper, milliseconds(self.paper_algorithm.seconds.product), &papers),
            (&ours, milliseconds(s.product), &none),
            ("result decrypted", milliseconds(s.decrypt), &none),
            ("encrypted vector", human_bytes(self.vector_bytes), &none),
            ("encrypted product", human_bytes(self.product_bytes), &none),
            ("prepared matrix", human_bytes(self.matrix_bytes), &none),
            ("prepared keys", human_bytes(self.key_bytes), &none),
        ] {
            table.add_row([name, here.as_str()].into_iter().chain(beside.iter().map(String::as_str)));
        }
        let verdict = if self.correct { "correct" } else { "WRONG" };
        let standard = self.standard_bits.map_or("below 128".to_owned(), |bits| bits.to_string());
        let papers = &self.paper_algorithm;
        format!(
            "A plain {} × {} matrix times an encrypted vector, 8-bit entries. The paper (CHAM, table 3) uses {}.\n{table}\n\
             {} transforms rows during the product, as the paper does; {} has a prepared matrix. Both use {} threads; the \
             other rows are of {}.\n\
             {} products decrypted: {verdict}; failure probability {}, {:.1} bits of noise left.\n\
             {} under {}: {:.1} bits of security (lattice-estimator, MATZOV; {standard} by the standard of 2018).\n\
             {} under {}: {:.1} bits.",
            self.rows,
            self.cols,
            self.paper_algorithm.strategy,
            self.paper_algorithm.strategy,
            self.strategy,
            self.threads,
            self.strategy,
            self.products,
            ModelProbability { log2: self.log2_failure },
            self.noise_bits_left,
            self.strategy,
            self.params,
            self.security_bits,
            papers.strategy,
            papers.params,
            papers.security_bits,
        )
    }
}
