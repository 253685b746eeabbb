//! The full counts behind the encrypted matrix-vector product: `make evidence AREA=hmvp`.
//!
//! The noise of every entry of many products is compared with the model, for every strategy at the sizes of the paper, over
//! fresh keys and matrices. Every product is compared with the plain one. Wrong results are counted at raised noise. The
//! benchmarks of the documented figures follow.

use std::error::Error;
use std::sync::Arc;

use ciphermill_bfv::{GaloisKeys, SecretKey};
use ciphermill_hmvp::{CpuEngine, DenseMatrix, EncryptedVector, HmvpEngine, Plan, Request, Strategy};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;
use serde_json::{Value, json};

use ciphermill_evidence as support;

#[path = "../../hmvp/tests/support/failures.rs"]
mod failures;

/// Products that are decrypted at raised noise, per case.
const RAISED_PRODUCTS: usize = 20_000;

/// Key sets per case, each with a separate matrix.
const KEY_SETS: usize = 4;
/// Entries whose noise is taken, per case, at least.
const ENTRIES: usize = 100_000;

/// Runs of the command; each must exit 0 and print one JSON value.
const RUNS: &[&str] = &[
    "bench hmvp --rows 64 --cols 256 --threads 1 --samples 2000",
    "bench hmvp --rows 128 --cols 256 --threads 1 --samples 2000",
    "bench hmvp --rows 256 --cols 256 --threads 1 --samples 2000",
    "bench hmvp --rows 512 --cols 256 --threads 1 --samples 2000",
    "bench hmvp --rows 1024 --cols 256 --threads 1 --samples 2000",
    "bench hmvp --rows 2048 --cols 256 --threads 1 --samples 1000",
    "bench hmvp --rows 1024 --cols 256 --threads 1 --samples 300 --fresh-matrix",
    "bench hmvp --rows 2048 --cols 4096 --threads 1 --samples 100",
    "bench hmvp --rows 1024 --cols 256 --threads 1 --samples 500 --matrix-bits 16 --vector-bits 16",
    "bench hmvp --rows 1024 --cols 256 --threads 1 --samples 200 --vectors 8",
    "bench hmvp --rows 8192 --cols 8192 --threads 1 --samples 10",
    "bench hmvp --rows 8192 --cols 8192 --threads 2 --samples 10",
    "bench hmvp --rows 64 --cols 256 --strategy algorithm1 --params CHAM_PAPER --threads 1 --samples 50",
    "bench hmvp --rows 256 --cols 256 --strategy algorithm1 --params CHAM_PAPER --threads 1 --samples 50",
    "bench hmvp --rows 1024 --cols 256 --strategy algorithm1 --params CHAM_PAPER --threads 1 --samples 30",
    "bench hmvp --rows 2048 --cols 256 --strategy algorithm1 --params CHAM_PAPER --threads 1 --samples 20",
    "bench hmvp --rows 1024 --cols 256 --strategy diagonal --threads 1 --samples 50",
    "bench hmvp --rows 1024 --cols 256 --strategy rotate-and-sum --threads 1 --samples 30",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut noise = Vec::new();
    for strategy in Strategy::ALL {
        for (rows, cols) in [(64, 256), (1024, 256), (2048, 256)] {
            noise.push(statistics(strategy, rows, cols)?);
        }
    }
    noise.push(statistics(Strategy::RowPacked, 2048, 4096)?);
    let raised = [8, 16].into_iter().map(raised).collect::<Result<Vec<_>, _>>()?;
    let runs = RUNS.iter().map(|run| support::command(run)).collect::<Result<Vec<_>, _>>()?;
    support::write(&json!({ "isa": Isa::current().name(), "noise": noise, "raised_noise": raised, "runs": runs }))
}

/// Wrong results among [`RAISED_PRODUCTS`] products of a plan near its limit; an error if the model does not predict them.
fn raised(matrix_bits: u32) -> Result<Value, Box<dyn Error>> {
    eprintln!("failures at raised noise, {matrix_bits}-bit matrix");
    let plan = Arc::new(failures::raised(failures::Case { rows: 16, cols: 64, matrix_bits })?);
    let (counts, model) = (failures::count(&plan, RAISED_PRODUCTS)?, failures::model(&plan, 1.0));
    if let Some(why) = counts.contradicts(&model) {
        return Err(format!("failures of a {matrix_bits}-bit matrix at raised noise: {why}").into());
    }
    Ok(json!({
        "strategy": plan.strategy().name(), "rows": 16, "cols": 64, "matrix_bits": matrix_bits,
        "products": counts.products, "wrong_products": counts.wrong_products,
        "entries": counts.entries, "wrong_entries": counts.wrong_entries,
        "model_product": model.product, "model_entry": model.entry, "model_entry_least": model.least_entry,
    }))
}

/// Signed 8-bit numbers.
fn numbers(rng: &mut Csprng, count: usize) -> Vec<i64> {
    (0..count).map(|_| rng.next_u64() as i64 >> 56).collect()
}

/// The noise of many products; an error if one is wrong, or if the noise exceeds the model's bound.
fn statistics(strategy: Strategy, rows: usize, cols: usize) -> Result<Value, Box<dyn Error>> {
    eprintln!("noise of {} at {rows} × {cols}", strategy.name());
    let request = Request { strategy: Some(strategy), ..Request::new(rows, cols) };
    let plan = Arc::new(Plan::new(&request, Isa::current())?);
    let (mut count, mut products, mut squares, mut greatest) = (0usize, 0usize, 0.0, 0.0f64);
    for _ in 0..KEY_SETS {
        let mut rng = Csprng::from_os()?;
        let key = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
        let keys = CpuEngine::new().prepare(&plan, &GaloisKeys::generate(&key, &plan.galois_requests())?)?;
        let entries = numbers(&mut rng, rows * cols);
        let matrix = CpuEngine::new().prepare_matrix(&plan, &DenseMatrix::new(rows, cols, entries.clone())?)?;
        let mut taken = 0;
        while taken < ENTRIES.div_ceil(KEY_SETS) {
            let v = numbers(&mut rng, cols);
            let vector = EncryptedVector::encrypt(&plan, &key, &v, &mut rng)?;
            let product = keys.multiply(&matrix, &vector)?;
            let expected = entries.chunks_exact(cols).map(|row| row.iter().zip(&v).map(|(a, v)| a * v).sum::<i64>());
            if !product.decrypt(&key)?.into_iter().eq(expected) {
                return Err(format!("{} at {rows} × {cols}: wrong product", strategy.name()).into());
            }
            let noise = product.noise(&key)?;
            taken += noise.len();
            squares += noise.iter().map(|e| e * e).sum::<f64>();
            greatest = noise.iter().fold(greatest, |worst, e| worst.max(e.abs()));
            products += 1;
        }
        count += taken;
    }
    let explanation = plan.explain();
    let measured = (squares / count as f64).sqrt();
    let model = explanation.noise_bits.exp2();
    // The model is of the worst matrix where the matrix matters, and of what is expected where it does not; so many entries
    // tell their deviation to less than a percent, but the errors of a key set are common to all of its products.
    if measured > 1.1 * model {
        return Err(format!("{}: noise {measured:.0}, model {model:.0}", strategy.name()).into());
    }
    Ok(json!({
        "strategy": strategy.name(), "rows": rows, "cols": cols, "params": explanation.parameters,
        "products": products, "entries": count, "std_dev_bits": measured.log2(), "greatest_bits": greatest.log2(),
        "model_std_dev_bits": explanation.noise_bits, "limit_bits": explanation.noise_limit_bits,
        "log2_failure": explanation.log2_failure,
    }))
}
