//! TFHE: bootstraps, key switches, key generation.

use std::io::{self, PipeReader, Write};

use ciphermill_lattice::SecretSeed;
use ciphermill_math::Isa;
use ciphermill_tfhe::{
    Backend, BootstrapJob, ClientKey, Encoding, Job, KeyForm, KeyKind, KeyOrder, KeyPart, KeyPartId, KeySeeds, Output,
    ParameterSet, SecurityPolicy, ServerKey, TfheError,
};
use rayon::ThreadPool;
use serde::Serialize;

use super::Record;
use super::samples::{Samples, pool, threads};
use crate::error::CliError;
use crate::fault::judged;
use crate::inputs::{BackendArg, EngineArgs, KeyOrderArg, within};
use crate::machine::{Machine, peak_rss_bytes};
use crate::output::Progress;

const POLICY: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

/// The options of all three operations.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Name of a parameter set; `ciphermill info` lists them
    #[arg(long, value_name = "NAME")]
    params: String,
    /// Threads [default: all CPUs of this process]
    #[arg(long, value_name = "N", value_parser = within::<u16>(1..=1024))]
    threads: Option<u16>,
    /// Transform that bootstraps use
    #[arg(long, value_enum, value_name = "NAME", default_value = "fft")]
    backend: BackendArg,
    #[command(flatten)]
    engine: EngineArgs,
    /// Timed runs, after one untimed run
    #[arg(long, value_name = "K", default_value = "10", value_parser = within::<u32>(1..=1_000_000))]
    samples: u32,
    /// Print the record as JSON
    #[arg(long)]
    json: bool,
}

/// The additional options of a bootstrap.
#[derive(clap::Args, Debug)]
pub(crate) struct PbsArgs {
    #[command(flatten)]
    common: Args,
    /// Key of the ciphertexts, which decides the order of key switch and blind rotation
    #[arg(long, alias = "choice", value_enum, value_name = "KEY", default_value = "big")]
    key: KeyOrderArg,
    /// Ciphertexts that share one pass over the key; times are per ciphertext
    #[arg(long, value_name = "B", default_value = "1", value_parser = within::<u16>(1..=1024))]
    batch: u16,
}

/// The fields of these records only.
#[derive(Serialize)]
struct Batch {
    batch: u16,
}

/// The parameter set, threads and keys of one benchmark.
struct Setup<'a> {
    args: &'a Args,
    parameters: ParameterSet,
    client: ClientKey,
    backend: Backend,
    threads: usize,
    pool: ThreadPool,
}

impl<'a> Setup<'a> {
    fn new(args: &'a Args) -> Result<Self, CliError> {
        let parameters = ParameterSet::named(&args.params, POLICY)?;
        if ParameterSet::named(&args.params, SecurityPolicy::Require128Bits).is_err() {
            let bits = parameters.security().bits;
            eprintln!("ciphermill: note: {} has {bits:.1} bits of security; accepted for a benchmark", parameters.name);
        }
        let threads = threads(args.threads);
        let pool = pool(threads)?;
        let client = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
        Ok(Self { args, parameters, client, backend: args.backend.into(), threads, pool })
    }

    /// Shows the record; `isa` is none unless the CPU computed.
    fn tell(&self, case: String, isa: Option<Isa>, batch: u16, samples: &Samples) -> Result<(), CliError> {
        let (min_ns, median_ns) = samples.min_and_median();
        let parameters = &self.parameters;
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
            isa: isa.map(Isa::name),
            threads: self.threads,
            samples: samples.times.len(),
            min_ns,
            median_ns,
            peak_rss_bytes: peak_rss_bytes(),
            correct: samples.wrong == 0,
            kind: "measured",
            machine: Machine::this(),
            more: Batch { batch },
        };
        record.tell(self.args.json, samples.wrong)
    }
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

/// The encoding for which the set states its failure probability.
fn encoding(parameters: &ParameterSet) -> Result<Encoding, CliError> {
    Ok(Encoding::unsigned(parameters.message_bits, true)?)
}

pub(super) fn pbs(args: &PbsArgs) -> Result<(), CliError> {
    let setup = Setup::new(&args.common)?;
    let Setup { parameters, client, backend, pool, .. } = &setup;
    let choice: KeyOrder = args.key.into();
    let encoding = encoding(parameters)?;
    let levels = encoding.levels() as i64;
    let f = |m: i64| (m * m + 1) % levels;
    let table = parameters.test_vector(&encoding, &encoding, f)?;
    let engine = args.common.engine.bootstrap(*backend)?;
    let isa = engine.info().kind.isa();
    let size = parameters.sealed_key_len(KeyKind::Bootstrap, KeyForm::Seeded);
    let server = server_key(client, |bootstrap, keyswitch, progress| {
        let bootstrap = KeyPart { id: KeyPartId::BOOTSTRAP, size, content: Box::new(bootstrap) };
        engine.prepare(vec![bootstrap, KeyPart::keyswitch(keyswitch)], POLICY, progress)
    })?;
    let mut rng = ciphermill_client::tfhe::randomness()?;
    let (batch, count) = (usize::from(args.batch), args.common.samples);
    let message = |index: usize| index as i64 % levels;
    let ciphertexts = (0..batch + count as usize)
        .map(|index| client.encrypt(&encoding, message(index), choice, &mut rng))
        .collect::<Result<Vec<_>, _>>()?;
    // Sample s bootstraps the ciphertexts s, …, s + batch − 1.
    let mut samples = Samples::take(
        count,
        pool,
        |sample| {
            let inputs = &ciphertexts[sample as usize..][..batch];
            let job = |input| Job::Bootstrap(BootstrapJob { input, test_vector: &table });
            Ok(server.run(&inputs.iter().map(job).collect::<Vec<_>>())?)
        },
        |sample, outputs| {
            let right = |(i, output): (usize, &Output)| match output {
                Output::Ciphertext(output) => {
                    client.decrypt(&encoding, output).is_ok_and(|m| m == f(message(sample as usize + i)))
                }
                _ => false,
            };
            Ok(outputs.len() == batch && outputs.iter().enumerate().all(right))
        },
    )?;
    for time in &mut samples.times {
        *time /= u32::from(args.batch);
    }
    let of_batch = if batch == 1 { String::new() } else { format!("/batch{batch}") };
    setup.tell(format!("pbs/{}/{choice}/{backend}{of_batch}", parameters.name), isa, args.batch, &samples)
}

pub(super) fn keyswitch(args: &Args) -> Result<(), CliError> {
    args.engine.engine.require_cpu("key switches alone")?;
    let setup = Setup::new(args)?;
    let Setup { parameters, client, backend, pool, .. } = &setup;
    let encoding = encoding(parameters)?;
    let message = |sample: u32| i64::from(sample) % encoding.levels() as i64;
    let server = cpu_key(client, *backend)?;
    let mut rng = ciphermill_client::tfhe::randomness()?;
    let ciphertexts = (0..=args.samples)
        .map(|sample| client.encrypt(&encoding, message(sample), KeyOrder::Big, &mut rng))
        .collect::<Result<Vec<_>, _>>()?;
    let samples = Samples::take(
        args.samples,
        pool,
        |sample| Ok(server.keyswitch(&ciphertexts[sample as usize])?),
        |sample, output| Ok(client.decrypt(&encoding, &output).is_ok_and(|m| m == message(sample))),
    )?;
    setup.tell(format!("ks/{}", parameters.name), Some(Isa::current()), 1, &samples)
}

/// Times the generation of both keys. The timed keys go nowhere; one more, made the same way, must bootstrap every message.
pub(super) fn keygen(args: &Args) -> Result<(), CliError> {
    args.engine.engine.require_cpu("key generation")?;
    let setup = Setup::new(args)?;
    let Setup { parameters, client, backend, pool, .. } = &setup;
    let generate = |_| -> Result<(), CliError> {
        client.write_bootstrap_key(KeyForm::Seeded, KeySeeds::from_os()?, io::sink(), &mut |_, _| ())?;
        client.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, io::sink())?;
        Ok(())
    };
    let mut samples = Samples::take(args.samples, pool, generate, |_, ()| Ok(true))?;
    let encoding = encoding(parameters)?;
    let identity = parameters.test_vector(&encoding, &encoding, |m| m)?;
    let server = cpu_key(client, *backend)?;
    let mut rng = ciphermill_client::tfhe::randomness()?;
    for message in encoding.min()..=encoding.max() {
        let input = client.encrypt(&encoding, message, KeyOrder::Big, &mut rng)?;
        let output = server.bootstrap(&input, &identity)?;
        samples.wrong += usize::from(!judged(client.decrypt(&encoding, &output).ok() == Some(message)));
    }
    setup.tell(format!("keygen/{}", parameters.name), Some(Isa::current()), 1, &samples)
}

/// Generates a server key and loads it while it is generated, through a pipe: neither memory nor disk ever holds its
/// stored form. All threads of the machine take part, whatever the benchmark is limited to.
fn server_key<Key>(
    client: &ClientKey,
    load: impl FnOnce(PipeReader, &[u8], &mut (dyn FnMut(u64, u64) + Send)) -> Result<Key, TfheError>,
) -> Result<Key, CliError> {
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
        let loaded = load(reader, &keyswitch, &mut show);
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

/// A server key of the CPU. The seam has no key switches alone, so other engines are refused before.
fn cpu_key(client: &ClientKey, backend: Backend) -> Result<ServerKey, CliError> {
    server_key(client, |bootstrap, keyswitch, progress| {
        ServerKey::load(bootstrap, keyswitch, backend, POLICY, progress)
    })
}

fn is_broken_pipe(error: &TfheError) -> bool {
    match error {
        TfheError::Io(error) => error.kind() == io::ErrorKind::BrokenPipe,
        TfheError::Wire(ciphermill_wire::WireError::Io(error)) => error.kind() == io::ErrorKind::BrokenPipe,
        _ => false,
    }
}
