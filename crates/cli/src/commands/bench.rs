//! `bench`: times one operation in this process and checks every result by decrypting it.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use ciphermill_lattice::SecretSeed;
use ciphermill_math::Isa;
use ciphermill_tfhe::{
    Backend, BootstrapJob, ClientKey, Encoding, EncryptionKeyChoice, KeyForm, KeySeeds, LoadedServerKey, ParameterSet,
    SecurityPolicy, ServerKey, TfheError,
};
use clap::ValueEnum;
use rayon::ThreadPool;
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use serde::Serialize;

use crate::error::CliError;
use crate::inputs::{self, BackendArg, ChoiceArg};
use crate::machine::{Machine, peak_rss_bytes};
use crate::output::{self, Progress};

/// Time an operation and check its results
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill bench pbs --params MESSAGE_4_2M64 --threads 1 --samples 20

Every sample is decrypted and compared. Sets below 128 bits are accepted here, as benchmarks hold no data that matters.
With one thread, it is pinned to a CPU.")]
pub(crate) struct Args {
    /// What to time
    #[arg(value_enum)]
    operation: Operation,
    /// Name of a parameter set; `ciphermill info` lists them
    #[arg(long, value_name = "NAME")]
    params: String,
    /// Threads [default: all that this process may use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Transform that bootstraps use
    #[arg(long, value_enum, default_value = "fft")]
    backend: BackendArg,
    /// Under which key the ciphertexts are; the order of key switch and blind rotation follows (pbs only)
    #[arg(long, value_enum, default_value = "big")]
    choice: ChoiceArg,
    /// Ciphertexts that go through one pass over the key; times are per ciphertext (pbs only)
    #[arg(long, value_name = "B", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    batch: u16,
    /// Timed runs; one more warms up
    #[arg(long, value_name = "K", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    samples: u32,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Operation {
    /// A programmable bootstrap with its key switch
    Pbs,
    /// A key switch from the big to the small key
    Ks,
    /// Both keys of a server, seeded, written to nowhere
    Keygen,
}

/// The numbers of the parameter set.
#[derive(Serialize)]
struct Params<'a> {
    set: &'a str,
    security_bits: f64,
    torus_bits: u32,
    lwe_dimension: usize,
    glwe_dimension: usize,
    polynomial_size: usize,
    pbs_base_log: usize,
    pbs_level_count: usize,
    ks_base_log: usize,
    ks_level_count: usize,
}

/// A bench record, with the fields that all of the project's records have.
#[derive(Serialize)]
struct Record<'a> {
    schema: &'static str,
    case: String,
    params: Params<'a>,
    isa: &'static str,
    threads: usize,
    batch: u16,
    samples: usize,
    min_ns: u64,
    median_ns: u64,
    peak_rss_bytes: u64,
    correct: bool,
    kind: &'static str,
    machine: Machine,
}

/// Times of the samples, and how many results were wrong.
#[derive(Default)]
struct Samples {
    times: Vec<Duration>,
    wrong: usize,
}

impl Samples {
    /// Runs `work` once to warm up and then `count` times; `check` judges each result.
    fn take<T: Send>(
        count: u32,
        pool: &ThreadPool,
        mut work: impl FnMut(u32) -> Result<T, CliError> + Send,
        mut check: impl FnMut(u32, T) -> Result<bool, CliError>,
    ) -> Result<Self, CliError> {
        let progress = Progress::bar("samples");
        let mut samples = Self::default();
        for sample in 0..=count {
            let (result, time) = pool.install(|| {
                let begun = Instant::now();
                let result = work(sample);
                (result, begun.elapsed())
            });
            // The warm-up's result counts, its time does not.
            samples.wrong += usize::from(!check(sample, result?)?);
            if sample > 0 {
                samples.times.push(time);
            }
            progress.set(u64::from(sample), u64::from(count));
        }
        samples.times.sort_unstable();
        Ok(samples)
    }

    /// The shortest time and the median, the mean of the two middle times where they are even in number.
    fn min_and_median(&self) -> (u64, u64) {
        let nanos = |index: usize| self.times.get(index).map_or(0, |time| time.as_nanos() as u64);
        let len = self.times.len();
        (nanos(0), nanos(len.saturating_sub(1) / 2).midpoint(nanos(len / 2)))
    }
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    if args.batch > 1 && args.operation != Operation::Pbs {
        return Err(CliError::Usage("--batch is for `bench pbs`; leave it out".to_owned()));
    }
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let parameters = ParameterSet::named(&args.params, policy)?;
    if ParameterSet::named(&args.params, SecurityPolicy::Require128Bits).is_err() {
        let bits = parameters.security().bits;
        eprintln!("ciphermill: note: {} has {bits:.1} bits of security; accepted for a benchmark", parameters.name);
    }
    let backend = args.backend.into();
    let threads = args.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let pool = pool(threads)?;
    let client = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
    let (case, samples) = match args.operation {
        Operation::Pbs => {
            let choice = args.choice.into();
            let batch = if args.batch == 1 { String::new() } else { format!("/batch{}", args.batch) };
            let case = format!("pbs/{}/{choice}/{backend}{batch}", parameters.name);
            (case, pbs(args, &client, backend, choice, &pool)?)
        }
        Operation::Ks => (format!("ks/{}", parameters.name), keyswitch(args, &client, backend, &pool)?),
        Operation::Keygen => (format!("keygen/{}", parameters.name), keygen(args, &client, backend, &pool)?),
    };
    let (min_ns, median_ns) = samples.min_and_median();
    let record = Record {
        schema: "ciphermill-bench/1",
        case,
        params: Params {
            set: &parameters.name,
            security_bits: parameters.security().bits,
            torus_bits: parameters.torus.bits(),
            lwe_dimension: parameters.lwe_dimension.0,
            glwe_dimension: parameters.glwe_dimension.0,
            polynomial_size: parameters.polynomial_size.get(),
            pbs_base_log: parameters.pbs.base_log.0,
            pbs_level_count: parameters.pbs.level_count.0,
            ks_base_log: parameters.ks.base_log.0,
            ks_level_count: parameters.ks.level_count.0,
        },
        isa: Isa::current().name(),
        threads,
        batch: args.batch,
        samples: samples.times.len(),
        min_ns,
        median_ns,
        peak_rss_bytes: peak_rss_bytes(),
        correct: samples.wrong == 0,
        kind: "measured",
        machine: Machine::this(),
    };
    let text = format!("{}\nmeasured on {}", table(&record), record.machine.cpu);
    output::result(args.json, &record, &text)?;
    match samples.wrong {
        0 => Ok(()),
        wrong => Err(CliError::WrongResults { wrong }),
    }
}

fn table(record: &Record<'_>) -> comfy_table::Table {
    let milliseconds = |ns: u64| format!("{:.3} ms", ns as f64 / 1e6);
    let mut table = output::table(["case", "isa", "threads", "samples", "min", "median", "peak memory", "correct"]);
    table.add_row([
        record.case.clone(),
        record.isa.to_owned(),
        record.threads.to_string(),
        record.samples.to_string(),
        milliseconds(record.min_ns),
        milliseconds(record.median_ns),
        format!("{:.2} GB", record.peak_rss_bytes as f64 / 1e9),
        if record.correct { "yes" } else { "NO" }.to_owned(),
    ]);
    table
}

/// A pool of that many threads; a single one stays on the CPU where it begins.
fn pool(threads: usize) -> Result<ThreadPool, CliError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| CliError::Threads(error.to_string()))?;
    if threads == 1 {
        let pinned = pool.install(|| {
            let mut here = CpuSet::new();
            here.set(sched_getcpu());
            sched_setaffinity(None, &here)
        });
        pinned.map_err(|error| CliError::Threads(error.to_string()))?;
    }
    Ok(pool)
}

/// The encoding for which the set states its failure probability.
fn encoding(parameters: &ParameterSet) -> Result<Encoding, CliError> {
    Ok(Encoding::unsigned(parameters.message_bits, true)?)
}

fn pbs(
    args: &Args,
    client: &ClientKey,
    backend: Backend,
    choice: EncryptionKeyChoice,
    pool: &ThreadPool,
) -> Result<Samples, CliError> {
    let parameters = client.parameters();
    let encoding = encoding(parameters)?;
    let levels = encoding.levels() as i64;
    let f = |m: i64| (m * m + 1) % levels;
    let table = parameters.test_vector(&encoding, &encoding, f)?;
    let server = server_key(client, backend)?;
    let mut rng = inputs::randomness()?;
    let batch = usize::from(args.batch);
    let message = |index: usize| index as i64 % levels;
    let ciphertexts = (0..batch + args.samples as usize)
        .map(|index| client.encrypt(&encoding, message(index), choice, &mut rng))
        .collect::<Result<Vec<_>, _>>()?;
    // Sample s bootstraps the ciphertexts s, …, s + batch − 1.
    let mut samples = Samples::take(
        args.samples,
        pool,
        |sample| {
            let inputs = &ciphertexts[sample as usize..][..batch];
            let jobs: Vec<_> = inputs.iter().map(|input| BootstrapJob { input, test_vector: &table }).collect();
            Ok(server.bootstrap_batch(&jobs)?)
        },
        |sample, outputs| {
            let right =
                |(i, output)| client.decrypt(&encoding, output).is_ok_and(|m| m == f(message(sample as usize + i)));
            Ok(outputs.len() == batch && outputs.iter().enumerate().all(right))
        },
    )?;
    for time in &mut samples.times {
        *time /= u32::from(args.batch);
    }
    Ok(samples)
}

fn keyswitch(args: &Args, client: &ClientKey, backend: Backend, pool: &ThreadPool) -> Result<Samples, CliError> {
    let encoding = encoding(client.parameters())?;
    let message = |sample: u32| i64::from(sample) % encoding.levels() as i64;
    let server = server_key(client, backend)?;
    let mut rng = inputs::randomness()?;
    let ciphertexts = (0..=args.samples)
        .map(|sample| client.encrypt(&encoding, message(sample), EncryptionKeyChoice::Big, &mut rng))
        .collect::<Result<Vec<_>, _>>()?;
    Samples::take(
        args.samples,
        pool,
        |sample| Ok(server.keyswitch(&ciphertexts[sample as usize])?),
        |sample, output| Ok(client.decrypt(&encoding, &output).is_ok_and(|m| m == message(sample))),
    )
}

/// Times the generation of both keys. The timed keys go nowhere; one more, made the same way, must bootstrap every message.
fn keygen(args: &Args, client: &ClientKey, backend: Backend, pool: &ThreadPool) -> Result<Samples, CliError> {
    let generate = |_| -> Result<(), CliError> {
        client.write_bootstrap_key(KeyForm::Seeded, KeySeeds::from_os()?, io::sink(), &mut |_, _| ())?;
        client.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, io::sink())?;
        Ok(())
    };
    let mut samples = Samples::take(args.samples, pool, generate, |_, ()| Ok(true))?;
    let encoding = encoding(client.parameters())?;
    let identity = client.parameters().test_vector(&encoding, &encoding, |m| m)?;
    let server = server_key(client, backend)?;
    let mut rng = inputs::randomness()?;
    for message in encoding.min()..=encoding.max() {
        let input = client.encrypt(&encoding, message, EncryptionKeyChoice::Big, &mut rng)?;
        let output = server.bootstrap(&input, &identity)?;
        samples.wrong += usize::from(client.decrypt(&encoding, &output).ok() != Some(message));
    }
    Ok(samples)
}

/// Generates a server key and loads it while it is generated, through a pipe: neither memory nor disk ever holds its
/// stored form. All threads of the machine take part, whatever the benchmark is limited to.
fn server_key(client: &ClientKey, backend: Backend) -> Result<ServerKey, CliError> {
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let keyswitch = client.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new())?;
    let progress = Progress::bar("server key");
    let (reader, writer) = io::pipe().map_err(TfheError::Io)?;
    let (generated, loaded) = std::thread::scope(|scope| {
        // The writer goes with the closure, so that the reader meets the end.
        let generator = scope.spawn(move || -> Result<(), TfheError> {
            let mut writer =
                client.write_bootstrap_key(KeyForm::Seeded, KeySeeds::from_os()?, writer, &mut |_, _| ())?;
            Ok(writer.flush()?)
        });
        let mut show = |done, all| progress.set(done, all);
        let loaded = ServerKey::load(reader, &keyswitch[..], backend, policy, &mut show);
        (generator.join(), loaded)
    });
    // A generator that fails cuts the pipe, and a loader that fails closes it: the loader's error is told only where the
    // generator had none of its own.
    match generated {
        Ok(Err(error)) if !is_broken_pipe(&error) => Err(error.into()),
        Ok(_) => Ok(loaded?),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn is_broken_pipe(error: &TfheError) -> bool {
    match error {
        TfheError::Io(error) => error.kind() == io::ErrorKind::BrokenPipe,
        TfheError::Wire(ciphermill_wire::WireError::Io(error)) => error.kind() == io::ErrorKind::BrokenPipe,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle() {
        let samples =
            |times: &[u64]| Samples { times: times.iter().map(|&ns| Duration::from_nanos(ns)).collect(), wrong: 0 };
        assert_eq!(samples(&[3]).min_and_median(), (3, 3));
        assert_eq!(samples(&[1, 2, 9]).min_and_median(), (1, 2));
        assert_eq!(samples(&[1, 2, 4, 9]).min_and_median(), (1, 3));
    }
}
