//! Wrong entries counted at raised noise, and the model's prediction. The tests count 12,000 products of each case, and
//! `make evidence AREA=hmvp` 20,000 by including this file.

use std::error::Error;
use std::sync::Arc;

use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::{GaloisKeys, ParameterSet, ParameterSpec, SecretKey, SecurityPolicy, noise};
use ciphermill_hmvp::{CpuEngine, DenseMatrix, EncryptedVector, HmvpEngine, Plan, Request, Strategy};
use ciphermill_lattice::{Csprng, PolynomialSize, SecretSeed};
use ciphermill_math::Isa;
use ciphermill_math::modulus::ntt_primes;

/// Products per key set and matrix.
const PER_KEY: usize = 500;

/// The shape of the counted products.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// 8, or 16 for a matrix in two parts.
    pub(crate) matrix_bits: u32,
}

/// Counts of one case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) products: usize,
    pub(crate) entries: usize,
    pub(crate) wrong_products: usize,
    pub(crate) wrong_entries: usize,
}

/// The model's probabilities for one case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    /// Of a wrong product, as the plan states it.
    pub(crate) product: f64,
    /// Of a wrong entry, for the worst matrix.
    pub(crate) entry: f64,
    /// Of a wrong entry, for the counted matrices, whose entries are at least 127/128 of the worst in magnitude.
    pub(crate) least_entry: f64,
}

/// A plan whose products are wrong with a probability of 2^-5 to 2^-3: t grows until they are. The special prime is so long
/// that key switches add nothing, so that the noise is that of a fresh vector, times the matrix: a sum of independent
/// Gaussians.
pub(crate) fn raised(case: Case) -> Result<Plan, Box<dyn Error>> {
    let Case { rows, cols, matrix_bits } = case;
    let prime = |bits, n| ntt_primes(bits, n).map(|p| p.value()).next().ok_or("a prime");
    let (n, policy) = (512, SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly);
    let spec = ParameterSpec {
        name: "RAISED".to_owned(),
        polynomial_size: PolynomialSize::new(n)?,
        ciphertext_moduli: vec![prime(40, n)?],
        special_moduli: vec![prime(60, n)?],
        plaintext_modulus: 2,
        gadget: Gadget::Limbs { limbs_per_digit: 1 },
    };
    for step in 0..400 {
        let t = (2f64.powf(20.0 + f64::from(step) / 32.0) as u64) | 1;
        let set = ParameterSet::new(ParameterSpec { plaintext_modulus: t, ..spec.clone() }, policy)?;
        let request = Request {
            strategy: Some(Strategy::RowPacked),
            parameters: Some(set),
            matrix_bits,
            log2_failure: -3.0,
            ..Request::new(rows, cols)
        };
        // Too small a t, or more noise than the request allows, has no plan.
        let Ok(plan) = Plan::new(&request, Isa::current()) else { continue };
        if plan.explain().log2_failure >= -5.0 {
            return Ok(plan);
        }
    }
    Err("no t raises the failure probability to between 2^-5 and 2^-3".into())
}

/// The model's probabilities at the plan's noise times `scale`.
pub(crate) fn model(plan: &Plan, scale: f64) -> Model {
    let explanation = plan.explain();
    let parts = (explanation.matrix_parts * explanation.vector_parts) as f64;
    let (limit, deviation) = (explanation.noise_limit_bits, explanation.noise_bits.exp2() * scale);
    let entry = |deviation| noise::log2_failure(limit, deviation, parts).exp2();
    Model {
        product: noise::log2_failure(limit, deviation, plan.request().rows as f64 * parts).exp2(),
        entry: entry(deviation),
        least_entry: entry(deviation * 127.0 / 128.0),
    }
}

/// Multiplies random matrices of extreme entries by random vectors under fresh keys, and counts the wrong results.
pub(crate) fn count(plan: &Arc<Plan>, products: usize) -> Result<Counts, Box<dyn Error>> {
    let &Request { rows, cols, matrix_bits, .. } = plan.request();
    let mut counts = Counts { products, entries: products * rows, wrong_products: 0, wrong_entries: 0 };
    let engine = CpuEngine::new();
    for first in (0..products).step_by(PER_KEY) {
        let mut rng = Csprng::from_os()?;
        let key = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
        let keys = engine.prepare(plan, &GaloisKeys::generate(&key, &plan.galois_requests())?)?;
        let entries: Vec<i64> = (0..rows * cols).map(|_| extreme(&mut rng, matrix_bits)).collect();
        let matrix = engine.prepare_matrix(plan, &DenseMatrix::new(rows, cols, entries.clone())?)?;
        for _ in first..products.min(first + PER_KEY) {
            let v: Vec<i64> = (0..cols).map(|_| rng.next_u64() as i64 >> 56).collect();
            let vector = EncryptedVector::encrypt(plan, &key, &v, &mut rng)?;
            let got = keys.multiply(&matrix, &vector)?.decrypt(&key)?;
            let expected = entries.chunks_exact(cols).map(|row| row.iter().zip(&v).map(|(a, v)| a * v).sum::<i64>());
            let wrong = got.iter().zip(expected).filter(|&(&got, expected)| got != expected).count();
            counts.wrong_entries += wrong;
            counts.wrong_products += usize::from(wrong > 0);
        }
    }
    Ok(counts)
}

/// An entry whose parts have magnitudes of 127 or 128, with random signs.
fn extreme(rng: &mut Csprng, matrix_bits: u32) -> i64 {
    let mut part = |low: i64| if rng.next_u64() & 1 == 0 { low } else { 127 };
    match matrix_bits {
        8 => part(-128),
        _ => part(-127) * 256 + part(-128),
    }
}

impl Counts {
    /// What the model excludes; nothing if it predicts the counts. Five standard errors each way, those of entries for counts
    /// that vary by a fifth more than independent ones, as entries of a product share their vector.
    pub(crate) fn contradicts(&self, model: &Model) -> Option<String> {
        let errors = |expected: f64| 5.0 * (1.2 * expected).sqrt();
        let within = |what: &str, got: usize, least: f64, most: f64| {
            let (least, most) = (least - errors(least), most + errors(most));
            let outside = !(least..=most).contains(&(got as f64));
            outside.then(|| format!("{got} wrong {what}, the model has {least:.0} to {most:.0}"))
        };
        let (entries, products) = (self.entries as f64, self.products as f64);
        let rows = entries / products;
        // Entries that are wrong together make fewer wrong products than the union bound counts.
        let least_product = 0.9 * (1.0 - (1.0 - model.least_entry).powf(rows));
        within("entries", self.wrong_entries, entries * model.least_entry, entries * model.entry)
            .or_else(|| within("products", self.wrong_products, products * least_product, products * model.product))
    }
}
