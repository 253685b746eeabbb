//! Modular exponentiation.

use ciphermill_bigint::reference::big;
use ciphermill_bigint::{EngineModulus, Exponents, IntegerBatch, OddModulus, limbs};
use ciphermill_math::{EngineKind, Isa};
use num_bigint::BigUint;
use serde::Serialize;

use super::samples::{Samples, per_second, pool};
use super::{ConstantTime, Record};
use crate::error::CliError;
use crate::inputs::within;

use crate::inputs::bigint::{ModExpArgs, path_name};
use crate::machine::{Machine, peak_rss_bytes};

/// Time modular exponentiation with random base, exponent and odd modulus of full size
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill bench modexp --bits 2048 --json

Each base of a batch has its own exponent. Inputs and outputs are plain integers; the constants of the modulus are \
computed beforehand. Times are those of a batch, divided by its length, on one thread. All results are compared \
with those of another library.")]
pub(crate) struct Args {
    /// Bits of the modulus and of the exponents; use 512 to 8192
    #[arg(long, value_name = "BITS", default_value = "2048", value_parser = within::<u32>(512..=8192))]
    bits: u32,
    #[command(flatten)]
    engine: ModExpArgs,
    /// Exponentiations per call [default: the number of lanes of the path]
    #[arg(long, value_name = "B", value_parser = within::<u16>(1..=4096))]
    batch: Option<u16>,
    /// Timed runs, after one untimed run
    #[arg(long, value_name = "K", default_value = "50", value_parser = within::<u32>(1..=1_000_000))]
    samples: u32,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

/// The numbers of the exponentiation.
#[derive(Serialize)]
struct Params {
    bits: u32,
    exponent_bits: u32,
    batch: u16,
    /// Exponentiations that the path works on side by side.
    lanes: usize,
}

/// The fields of these records only.
#[derive(Serialize)]
struct More {
    path: String,
    constant_time: ConstantTime,
    /// By the median.
    ops_per_s: f64,
}

/// `count` random numbers of up to `bits` bits. They need not be secret, only different in each run.
fn numbers(count: usize, bits: u32) -> Result<IntegerBatch, CliError> {
    let mut rng = ciphermill_client::tfhe::randomness()?;
    let limbs = limbs::limbs_for(bits);
    let mut numbers = IntegerBatch::zeros(count, limbs);
    for row in 0..count {
        let row = numbers.row_mut(row);
        row.iter_mut().for_each(|limb| *limb = rng.next_u64());
        row[limbs - 1] >>= limbs as u32 * u64::BITS - bits;
    }
    Ok(numbers)
}

/// The kind of the figures: times of a simulator are not times of its hardware.
fn kind(engine: EngineKind) -> &'static str {
    match engine {
        EngineKind::Rtl | EngineKind::Simulated => "simulated",
        _ => "measured",
    }
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let bits = args.bits;
    let engine = args.engine.engine()?;
    let path = path_name(&*engine);
    let pool = pool(1)?;
    let mut modulus = numbers(1, bits)?;
    let top = (bits - 1) / u64::BITS;
    modulus.row_mut(0)[0] |= 1;
    modulus.row_mut(0)[top as usize] |= 1 << ((bits - 1) % u64::BITS);
    let lanes = match engine.native_path() {
        Some(path) => OddModulus::new(&modulus.uint(0), path)?.lanes(),
        None => 1,
    };
    let batch = args.batch.unwrap_or(lanes as u16);
    let (bases, exponents) = (numbers(batch.into(), bits)?, numbers(batch.into(), bits)?);
    let n = big(modulus.row(0));
    let power = |(base, exponent): (&[u64], &[u64])| big(base).modpow(&big(exponent), &n);
    let expected: Vec<BigUint> = bases.rows().zip(exponents.rows()).map(power).collect();

    let prepared = engine.prepare(EngineModulus::Value(&modulus.uint(0)))?;
    let exponents = Exponents::each(exponents, bits)?;
    let mut samples = Samples::take(
        args.samples,
        &pool,
        |_| Ok(prepared.pow(&bases, &exponents)?),
        |_, powers| Ok(powers.rows().map(big).eq(expected.iter().cloned())),
    )?;
    for time in &mut samples.times {
        *time /= u32::from(batch);
    }
    let (min_ns, median_ns) = samples.min_and_median();
    let record = Record {
        schema: "ciphermill-bench/1",
        case: format!("modexp/{bits}/{path}"),
        params: Params { bits, exponent_bits: bits, batch, lanes },
        isa: engine.info().kind.isa().map(Isa::name),
        threads: 1,
        samples: samples.times.len(),
        min_ns,
        median_ns,
        peak_rss_bytes: peak_rss_bytes(),
        correct: samples.wrong == 0,
        kind: kind(engine.info().kind),
        machine: Machine::this(),
        more: More { path, constant_time: ConstantTime::of(&engine.info()), ops_per_s: per_second(median_ns as f64) },
    };
    record.tell(args.json, samples.wrong)
}
