//! The full counts behind big integers and Paillier's scheme: `make evidence AREA=paillier`.
//!
//! A million random modular products, as many squares, and thousands of exponentiations compared with GMP, at every size, in
//! both rings, on every path of this CPU; then the benchmarks of the documented figures, which check their own results.

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ciphermill_bigint::Path;
use serde_json::{Value, json};

#[path = "../../bigint/tests/support/mod.rs"]
mod bigint_support;
use ciphermill_evidence as support;

use bigint_support::{Gmp, Numbers, Sample, compare};

/// Products that are compared, at least; as many squares are.
const PRODUCTS: usize = 1_000_000;
/// Exponentiations that are compared on every path, at least.
const POWERS: usize = 1_000;
/// Moduli per size, ring and path.
const MODULI: usize = 4;
/// Bits of the moduli, and how many exponentiations go with each.
const SIZES: [(u32, usize); 8] =
    [(8192, 2), (6144, 3), (4096, 8), (3072, 16), (2048, 32), (1536, 32), (1024, 32), (512, 32)];
/// Threads that compare, each with a separate GMP process.
const WORKERS: usize = 2;

/// Runs of the whole scheme.
const RUNS: &[&str] = &[
    "bench paillier --key-bits 512 --threads 1 --samples 50",
    "bench paillier --key-bits 2048 --threads 1 --samples 20",
    "bench paillier --key-bits 3072 --threads 1 --samples 10",
    "bench paillier --key-bits 4096 --threads 1 --samples 5",
    "bench paillier --key-bits 2048 --threads 2 --samples 20",
];

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<Path> = Path::available().collect();
    let fresh = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
    let compared = comparisons(&paths, fresh)?;
    let mut runs = Vec::new();
    for path in &paths {
        for (bits, _) in SIZES.iter().rev() {
            // A second or so of each.
            let samples = (500 * 2048u64.pow(3) / u64::from(*bits).pow(3)).clamp(15, 1000);
            runs.push(support::command(&format!("bench modexp --bits {bits} --path {path} --samples {samples}"))?);
        }
    }
    for run in RUNS {
        runs.push(support::command(run)?);
    }
    if paths.len() > 1 {
        runs.push(support::command("bench paillier --key-bits 2048 --threads 1 --samples 5 --path portable")?);
    }
    let names = |paths: &[Path]| paths.iter().map(|path| path.name()).collect::<Vec<_>>();
    let missing: Vec<Path> = Path::ALL.into_iter().filter(|path| !path.is_available()).collect();
    support::write(&json!({
        "paths": names(&paths), "paths_this_cpu_lacks": names(&missing), "fresh_seed": format!("{fresh:#x}"),
        "gmp": compared, "runs": runs,
    }))
}

/// Compares with GMP; the greatest sizes first, so that the workers end together. A difference ends the program.
fn comparisons(paths: &[Path], fresh: u64) -> Result<Value, Box<dyn Error>> {
    let cases: Vec<(Path, Sample)> = SIZES
        .iter()
        .flat_map(|&(bits, powers)| paths.iter().map(move |&path| (bits, powers, path)))
        .flat_map(|(bits, powers, path)| [false, true].map(|square| (path, bits, square, powers)))
        .map(|(path, bits, square, powers)| {
            // Not a whole number of groups, so that the last one has lanes to spare.
            let products = PRODUCTS.div_ceil(2 * SIZES.len() * paths.len() * MODULI).next_multiple_of(8) + 3;
            (path, Sample { bits, square, products, powers })
        })
        .collect();
    let (next, records) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = |mut gmp: Gmp| {
        while let Some(&(path, sample)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Sample { bits, square, products, powers } = sample;
            let ring = if square { "n^2 through n" } else { "N" };
            eprintln!("GMP: {bits} bits, modulo {ring}, {path}");
            for modulus in 0..MODULI as u64 {
                // Half of the moduli and operands are the same in every run.
                let seed = if modulus % 2 == 0 { modulus } else { fresh ^ modulus };
                compare(&mut gmp, &mut Numbers(seed << 16 ^ u64::from(bits)), path, sample);
            }
            let record = json!({
                "path": path.name(), "bits": bits, "ring": ring, "moduli": MODULI, "products": products * MODULI,
                "squares": products * MODULI, "powers": powers * MODULI, "equal": true,
            });
            records.lock().expect("no worker panicked").push(record);
        }
    };
    let oracles: Option<Vec<Gmp>> = (0..WORKERS).map(|_| Gmp::start()).collect();
    let oracles = oracles.ok_or("gmpy2 is not installed: scripts/setup.sh python installs it into .venv")?;
    std::thread::scope(|scope| {
        let workers: Vec<_> = oracles.into_iter().map(|gmp| scope.spawn(|| work(gmp))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a result differs from GMP's"))
    })?;
    let records = records.into_inner()?;
    let total = |field: &str| records.iter().map(|record| record[field].as_u64().unwrap_or(0)).sum::<u64>();
    let (products, squares, powers) = (total("products"), total("squares"), total("powers"));
    if records.len() != cases.len() || (products as usize) < PRODUCTS || (powers as usize) < POWERS * paths.len() {
        return Err(format!("only {products} products and {powers} powers were compared").into());
    }
    Ok(json!({ "products": products, "squares": squares, "powers": powers, "equal": true, "cases": records }))
}
