//! Paillier's scheme.

use std::collections::BTreeMap;

use ciphermill_bigint::WeightMatrix;
use ciphermill_math::Isa;
use ciphermill_paillier::{
    Blinding, BlindingPool, CiphertextVector, Csprng, KeyBits, PaillierError, PlaintextVector, Scalars, SecretKey,
};
use rayon::ThreadPool;
use serde::Serialize;

use super::samples::{Samples, per_second, pool, threads};
use super::{ConstantTime, Record};
use crate::error::CliError;
use crate::inputs::within;

use crate::inputs::bigint::{ModExpArgs, path_name};
use crate::machine::{Machine, peak_rss_bytes};
use crate::output;

/// Time Paillier: encryption in all variants, decryption, sums, multiples, a matrix-vector product
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill bench paillier --key-bits 2048 --json

Times are those of a batch, divided by its length; ciphertexts stay in Montgomery form between operations. The \
matrix-vector product is counted by terms, with public 64-bit weights; all other operations are constant-time by construction.

Every fresh ciphertext is decrypted, and every other result is compared with one that was. min_ns and median_ns of \
the record are those of `encrypt`; ops_per_s uses the medians.")]
pub(crate) struct Args {
    /// Bits of the key; use 2048 to 4096, or, INSECURE and for comparison only, 512 to 2047
    #[arg(long, value_name = "BITS", default_value = "2048")]
    key_bits: u32,
    #[command(flatten)]
    engine: ModExpArgs,
    /// Threads
    #[arg(long, value_name = "N", default_value = "1", value_parser = within::<u16>(1..=1024))]
    threads: u16,
    /// Elements per call; sums use four times as many
    #[arg(long, value_name = "B", default_value = "128", value_parser = within::<u16>(1..=4096))]
    batch: u16,
    /// Rows of the matrix; it has one column per element
    #[arg(long, value_name = "M", default_value = "16", value_parser = within::<u16>(1..=1024))]
    rows: u16,
    /// Timed runs per operation, after one untimed run
    #[arg(long, value_name = "K", default_value = "20", value_parser = within::<u32>(1..=1_000_000))]
    samples: u32,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

/// The numbers of the run.
#[derive(Serialize)]
struct Params {
    key_bits: u32,
    insecure: bool,
    batch: u16,
    matrix_rows: u16,
    scalar_bits: u32,
}

/// The fields of these records only.
#[derive(Serialize)]
struct More {
    path: String,
    /// But for the matrix-vector product, whose weights are public.
    constant_time: ConstantTime,
    ops_per_s: BTreeMap<&'static str, f64>,
    operations: Vec<Times>,
}

/// One operation.
#[derive(Serialize)]
struct Times {
    name: &'static str,
    /// Operations per call.
    batch: usize,
    samples: usize,
    /// Per operation.
    min_ns: f64,
    median_ns: f64,
}

/// The operations measured so far.
struct Measured<'a> {
    samples: u32,
    pool: &'a ThreadPool,
    times: Vec<Times>,
    wrong: usize,
}

impl Measured<'_> {
    /// Times one operation, of which a call does `batch`.
    fn time<T: Send>(
        &mut self,
        name: &'static str,
        batch: usize,
        mut work: impl FnMut() -> Result<T, PaillierError> + Send,
        mut check: impl FnMut(T) -> Result<bool, PaillierError>,
    ) -> Result<(), CliError> {
        let samples = Samples::take(self.samples, self.pool, |_| Ok(work()?), |_, result| Ok(check(result)?))?;
        self.wrong += samples.wrong;
        let (min, median) = samples.min_and_median();
        // A sum takes less than a microsecond: whole nanoseconds would be too coarse.
        let each = |ns: u64| ns as f64 / batch as f64;
        let (min_ns, median_ns) = (each(min), each(median));
        self.times.push(Times { name, batch, samples: samples.times.len(), min_ns, median_ns });
        Ok(())
    }

    /// As [`time`](Self::time), of an operation that always gives the same ciphertexts: the first are decrypted.
    fn repeat(
        &mut self,
        name: &'static str,
        batch: usize,
        key: &SecretKey,
        expected: &[i128],
        work: impl FnMut() -> Result<CiphertextVector, PaillierError> + Send,
    ) -> Result<(), CliError> {
        let mut first: Option<(CiphertextVector, bool)> = None;
        self.time(name, batch, work, |result| {
            if let Some((first, right)) = &first {
                return Ok(*right && *first == result);
            }
            let right = key.decrypt(&result)?.to_i128()? == expected;
            first = Some((result, right));
            Ok(right)
        })
    }
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let bits = KeyBits::insecure_bench(args.key_bits)?;
    let engine = args.engine.engine()?;
    let path = path_name(&*engine);
    let threads = threads(Some(args.threads));
    let pool = pool(threads)?;
    let mut measured = Measured { samples: args.samples, pool: &pool, times: Vec::new(), wrong: 0 };
    let mut rng = Csprng::from_os()?;
    let key = SecretKey::generate_with(bits, &mut rng, engine)?;
    if bits.is_insecure() {
        eprintln!("ciphermill: note: a key of {bits} bits is INSECURE (`insecure_bench`); accepted for a benchmark");
    }
    encryptions(args, &key, &mut rng, &mut measured)?;
    evaluations(args, &key, &mut rng, &mut measured)?;

    let Measured { times, wrong, .. } = measured;
    let mut table = output::table(["operation", "path", "per call", "samples", "min", "median", "per second"]);
    let human = |ns: f64| if ns < 1e6 { format!("{:.3} µs", ns / 1e3) } else { format!("{:.3} ms", ns / 1e6) };
    for time in &times {
        table.add_row([
            time.name.to_owned(),
            path.clone(),
            time.batch.to_string(),
            time.samples.to_string(),
            human(time.min_ns),
            human(time.median_ns),
            format!("{:.0}", 1e9 / time.median_ns),
        ]);
    }
    let record = Record {
        schema: "ciphermill-bench/1",
        case: format!("paillier/{bits}/{path}"),
        params: Params {
            key_bits: bits.get(),
            insecure: bits.is_insecure(),
            batch: args.batch,
            matrix_rows: args.rows,
            scalar_bits: u64::BITS,
        },
        isa: Some(Isa::current().name()),
        threads,
        samples: args.samples as usize,
        min_ns: times[0].min_ns as u64,
        median_ns: times[0].median_ns as u64,
        peak_rss_bytes: peak_rss_bytes(),
        correct: wrong == 0,
        kind: "measured",
        machine: Machine::this(),
        more: More {
            path,
            constant_time: ConstantTime::ByConstruction,
            ops_per_s: times.iter().map(|time| (time.name, per_second(time.median_ns))).collect(),
            operations: times,
        },
    };
    record.tell_as(args.json, wrong, &table)
}

/// Numbers of 32 bits with sign: products with 64-bit scalars, and sums of a thousand of them, fit 128 bits.
fn numbers(count: usize) -> Result<Vec<i64>, CliError> {
    let mut rng = ciphermill_client::tfhe::randomness()?;
    Ok((0..count).map(|_| rng.next_u64() as i64 >> 32).collect())
}

/// Everything that makes ciphertexts, and decryption.
fn encryptions(args: &Args, key: &SecretKey, rng: &mut Csprng, measured: &mut Measured<'_>) -> Result<(), CliError> {
    let (public, batch) = (key.public_key(), usize::from(args.batch));
    let values = numbers(batch)?;
    let plaintexts = PlaintextVector::from_i64(public, &values);
    let right = |ciphertexts: CiphertextVector| Ok(key.decrypt(&ciphertexts)?.to_i64()? == values);
    for (blinding, name, owner_name) in
        [(Blinding::Djn, "encrypt", "encrypt_owner"), (Blinding::Strict, "encrypt_strict", "encrypt_owner_strict")]
    {
        measured.time(name, batch, || public.encrypt(&plaintexts, blinding, rng), right)?;
        measured.time(owner_name, batch, || key.encrypt(&plaintexts, blinding, rng), right)?;
    }
    // The pool is filled again while the clock stands still.
    let stock = BlindingPool::new(public, Blinding::Djn)?;
    let mut fill = || stock.fill_by_owner(key, batch, rng);
    fill()?;
    measured.time(
        "encrypt_pool",
        batch,
        || stock.encrypt(&plaintexts),
        |ciphertexts| {
            fill()?;
            right(ciphertexts)
        },
    )?;
    let ciphertexts = key.encrypt(&plaintexts, Blinding::Djn, rng)?;
    measured.time("decrypt", batch, || key.decrypt(&ciphertexts), |decrypted| Ok(decrypted.to_i64()? == values))
}

/// Everything that computes on ciphertexts.
fn evaluations(args: &Args, key: &SecretKey, rng: &mut Csprng, measured: &mut Measured<'_>) -> Result<(), CliError> {
    let (public, batch) = (key.public_key(), usize::from(args.batch));
    let many = 4 * batch;
    let (a, b) = (numbers(many)?, numbers(many)?);
    let (plain_a, plain_b) = (PlaintextVector::from_i64(public, &a), PlaintextVector::from_i64(public, &b));
    let x = key.encrypt(&plain_a, Blinding::Djn, rng)?;
    let y = key.encrypt(&plain_b, Blinding::Djn, rng)?;
    let sums: Vec<i128> = a.iter().zip(&b).map(|(a, b)| i128::from(a + b)).collect();
    measured.repeat("add", many, key, &sums, || x.add(&y))?;
    measured.repeat("add_plain", many, key, &sums, || x.add_plain(&plain_b))?;

    let (rows, mut weights) = (usize::from(args.rows), vec![0; usize::from(args.rows) * batch]);
    rng.fill_u64(&mut weights)?;
    let product = |weight: &u64, value: &i64| i128::from(*weight) * i128::from(*value);
    let x = x.slice(0..batch)?;
    let scalars = Scalars::from_u64(&weights[..batch]);
    let products: Vec<i128> = weights[..batch].iter().zip(&a).map(|(w, a)| product(w, a)).collect();
    measured.repeat("mul64", batch, key, &products, || x.multiply_scalars(&scalars))?;

    let terms = rows * batch;
    let row_sum = |row: &[u64]| row.iter().zip(&a).map(|(w, a)| product(w, a)).sum();
    let expected: Vec<i128> = weights.chunks_exact(batch).map(row_sum).collect();
    let matrix = WeightMatrix::new(batch, weights.iter().map(|&weight| i128::from(weight)).collect())?;
    measured.repeat("matvec_terms", terms, key, &expected, || x.matrix_vector_public(&matrix))?;
    // What a caller without that product would do.
    let scalars: Vec<Scalars> = weights.chunks_exact(batch).map(Scalars::from_u64).collect();
    measured.repeat("matvec_terms_one_by_one", terms, key, &expected, || {
        let sums: Result<Vec<_>, _> = scalars.iter().map(|row| x.multiply_scalars(row)?.sum()).collect();
        CiphertextVector::concat(&sums?)
    })
}
