//! Products of a plain matrix and encrypted vectors.

use std::sync::Arc;
use std::time::Instant;

use ciphermill_bfv::{GaloisKeys, SecretKey, SecurityPolicy};
use ciphermill_client::engines::Engines;
use ciphermill_client::security::Security;
use ciphermill_hmvp::{DenseMatrix, EncryptedVector, Explanation, Plan};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;
use ciphermill_tfhe::Backend;
use serde::Serialize;

use super::Record;
use super::samples::{Samples, pool, threads};
use crate::error::CliError;

use crate::inputs::hmvp::RequestArgs;
use crate::inputs::{EngineArgs, within};
use crate::machine::{Machine, peak_rss_bytes};

/// Time the product of a random plain matrix and an encrypted vector
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill bench hmvp --rows 1024 --cols 256 --threads 1 --samples 100

The matrix is prepared once, and the record gives that time separately. With --fresh-matrix, each sample includes \
the preparation.")]
pub(crate) struct Args {
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    engine: EngineArgs,
    /// Threads [default: all CPUs of this process]
    #[arg(long, value_name = "N", value_parser = within::<u16>(1..=1024))]
    threads: Option<u16>,
    /// Prepare the matrix within each sample
    #[arg(long)]
    fresh_matrix: bool,
    /// Encrypted vectors that share one pass over the matrix; times are per vector
    #[arg(long, value_name = "V", default_value = "1", value_parser = within::<u16>(1..=64))]
    vectors: u16,
    /// Timed runs, after one untimed run
    #[arg(long, value_name = "K", default_value = "20", value_parser = within::<u32>(1..=1_000_000))]
    samples: u32,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

/// The numbers of the product.
#[derive(Serialize)]
struct Params {
    rows: usize,
    cols: usize,
    matrix_bits: u32,
    vector_bits: u32,
    vectors: u16,
    fresh_matrix: bool,
}

/// The fields of these records only.
#[derive(Serialize)]
struct More {
    /// The time to prepare the matrix, once.
    encode_ns: u64,
    /// log2 of how much the noise of the worst entry of all products could still grow.
    noise_bits_left: f64,
    plan: Explanation,
}

/// Numbers of `bits` bits, signed. They need not be secret, only different in each run.
fn numbers(rng: &mut Csprng, bits: u32, count: usize) -> Vec<i64> {
    (0..count).map(|_| rng.next_u64() as i64 >> (64 - bits)).collect()
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let engine = Engines::new(args.engine.engine, Backend::Fft).hmvp()?;
    let request = args.request.request(Security::AcceptInsecure)?;
    for set in request.parameters.iter().filter(|set| !SecurityPolicy::Require128Bits.accepts(set.security().bits)) {
        let bits = set.security().bits;
        eprintln!("ciphermill: note: {} has {bits:.1} bits of security; accepted for a benchmark", set.name);
    }
    let threads = threads(args.threads);
    let pool = pool(threads)?;
    let plan = Arc::new(Plan::new(&request, Isa::current())?);
    let mut rng = ciphermill_client::tfhe::randomness()?;
    let entries = numbers(&mut rng, request.matrix_bits, request.rows * request.cols);
    let vectors: Vec<Vec<i64>> =
        (0..args.vectors).map(|_| numbers(&mut rng, request.vector_bits, request.cols)).collect();
    let product = |vector: &Vec<i64>| -> Vec<i64> {
        entries.chunks_exact(request.cols).map(|row| row.iter().zip(vector).map(|(a, v)| a * v).sum()).collect()
    };
    let expected: Vec<Vec<i64>> = vectors.iter().map(product).collect();
    let matrix = DenseMatrix::new(request.rows, request.cols, entries)?;

    let key = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
    let galois = GaloisKeys::generate(&key, &plan.galois_requests())?;
    let keys = engine.prepare(&plan, &galois)?;
    drop(galois);
    let encrypted: Vec<EncryptedVector> =
        vectors.iter().map(|v| EncryptedVector::encrypt(&plan, &key, v, &mut rng)).collect::<Result<_, _>>()?;
    let encrypted: Vec<&EncryptedVector> = encrypted.iter().collect();
    let (prepared, encode_ns) = pool.install(|| {
        let begun = Instant::now();
        engine.prepare_matrix(&plan, &matrix).map(|prepared| (prepared, begun.elapsed().as_nanos() as u64))
    })?;
    let mut noise_bits_left = f64::INFINITY;
    let mut samples = Samples::take(
        args.samples,
        &pool,
        |_| {
            if args.fresh_matrix {
                return Ok(keys.multiply_all(&engine.prepare_matrix(&plan, &matrix)?, &encrypted)?);
            }
            Ok(keys.multiply_all(&prepared, &encrypted)?)
        },
        |_, products| {
            let mut right = products.len() == expected.len();
            for (product, expected) in products.iter().zip(&expected) {
                right &= product.decrypt(&key)? == *expected;
                noise_bits_left = noise_bits_left.min(product.noise_bits_left(&key)?);
            }
            Ok(right)
        },
    )?;
    for time in &mut samples.times {
        *time /= u32::from(args.vectors);
    }
    let (min_ns, median_ns) = samples.min_and_median();
    let fresh = if args.fresh_matrix { "/fresh" } else { "" };
    let record = Record {
        schema: "ciphermill-bench/1",
        case: format!("hmvp/{}/{}x{}{fresh}", plan.strategy().name(), request.rows, request.cols),
        params: Params {
            rows: request.rows,
            cols: request.cols,
            matrix_bits: request.matrix_bits,
            vector_bits: request.vector_bits,
            vectors: args.vectors,
            fresh_matrix: args.fresh_matrix,
        },
        isa: engine.info().kind.isa().map(Isa::name),
        threads,
        samples: samples.times.len(),
        min_ns,
        median_ns,
        peak_rss_bytes: peak_rss_bytes(),
        correct: samples.wrong == 0,
        kind: "measured",
        machine: Machine::this(),
        more: More { encode_ns, noise_bits_left, plan: plan.explain() },
    };
    record.tell(args.json, samples.wrong)
}
