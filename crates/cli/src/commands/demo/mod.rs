//! `ciphermill demo`: the NVMe paper's Table 5 from key generation to the decrypted product, through the device; a function of
//! 14 bits, which that paper promises; then an encrypted matrix-vector product at a size of the CHAM paper.

mod folder;
mod hmvp;
mod report;
mod resources;
mod timed;
mod words;

use ciphermill_device::handlers;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ciphermill_client::engines::{CycleWatch, EngineName, Engines};
use ciphermill_device::handlers::tfhe::TfheHandler;
use ciphermill_device::store::SpaceId;
use ciphermill_device::{Device, DeviceConfig, ObjectHandler};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::EngineKind;
use ciphermill_middleware::{BlobId, Metadata, Middleware, ReadMode, WriteMode};
use ciphermill_program::{Bindings, DataId, KeyId, TypeCode, VrId, assemble};
use ciphermill_tfhe::parameters::{DEFAULT_SET_NAMES, NVME_TFHE_PAPER};
use ciphermill_tfhe::quarter_square::{DEFAULT_LOG2_P_FAIL, QuarterSquare};
use ciphermill_tfhe::{Backend, Ciphertext, ClientKey, KeyForm, KeyOrder, KeySeeds, ParameterSet, SecurityPolicy};

use crate::error::CliError;
use crate::inputs::{BackendArg, EngineArgs, KeyOrderArg, within};
use crate::machine;
use crate::output::{self, Progress};
use folder::WorkFolder;
use report::{Pair, Report, Seconds, Sizes};
use timed::TimedEngine;

/// The program of Table 5, as a user would write it.
const PROGRAM: &str = include_str!("../../../../../examples/programs/xy.cms");

/// The longest run time of the program: a few seconds on most machines, ten minutes and more where hardware is simulated.
const DEMO_PROGRAM_LIMIT: Duration = Duration::from_secs(3600);

const KEY: KeyId = KeyId(0);
const X: VrId = VrId::new(handlers::tfhe::TLWE_COR, KEY, DataId(2));
const Y: VrId = VrId::new(handlers::tfhe::TLWE_COW, KEY, DataId(3));
const TABLE: VrId = VrId::new(handlers::tfhe::TV, KEY, DataId(0));

/// Multiply two encrypted numbers on the secure-computing device, look up a function, then multiply a matrix by an encrypted
/// vector
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill demo
  $ ciphermill demo --params MESSAGE_4_2M64 --x 3 --y 4 --json
  $ ciphermill demo --function crc16 --bits 16 --words 100

The default set has the dimensions of the paper and needs 4 GB of memory and 6 GB of disk; the demo checks both \
first. It has less than 128 bits of security, as have the TEST sets: the demo accepts these sets without an opt-in \
and says so.

With --function the demo only looks up this function, of random words or of all: isqrt, crc16, sbox (8 bits), or the \
values in a .csv file, one line for each argument. It uses the set WORD_2M64, so --params and the options of the \
products (--x, --y, --pairs, --key) do not apply.")]
pub(crate) struct Args {
    /// Name of a parameter set; `ciphermill info` lists them
    #[arg(long, value_name = "NAME", default_value = NVME_TFHE_PAPER)]
    params: String,
    /// First operand [default: the largest of the range]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    x: Option<i64>,
    /// Second operand [default: one less than the largest]
    #[arg(long, value_name = "Y", allow_negative_numbers = true)]
    y: Option<i64>,
    /// Number of products; all but the first have random operands
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = within::<u32>(1..=100_000))]
    pairs: u32,
    #[command(flatten)]
    words: words::WordArgs,
    /// Key of the ciphertexts [default: small, as in the paper; for the MESSAGE sets the one with the larger range]
    #[arg(long, alias = "choice", value_enum, value_name = "KEY")]
    key: Option<KeyOrderArg>,
    /// Transform of the CPU's bootstraps [default: fft]
    #[arg(long, value_enum, value_name = "NAME")]
    backend: Option<BackendArg>,
    #[command(flatten)]
    engine: EngineArgs,
    /// FOR TESTS ONLY: derive all keys and noise from this number; anyone can then decrypt
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Directory in which a folder for keys and store is made; it is removed at the end, also after SIGINT or SIGTERM
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Randomness: of the operating system, or of a number for tests.
struct Randomness {
    seed: Option<u64>,
    used: u8,
}

impl Randomness {
    /// The next 32 bytes of a test's randomness; none where the operating system gives it.
    fn test_bytes(&mut self) -> Option<[u8; 32]> {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.seed?.to_le_bytes());
        self.used += 1;
        bytes[8] = self.used;
        Some(bytes)
    }

    fn secret(&mut self) -> Result<SecretSeed, CliError> {
        Ok(match self.test_bytes() {
            Some(bytes) => SecretSeed::from_bytes(bytes),
            None => SecretSeed::from_os()?,
        })
    }

    fn server_key(&mut self) -> Result<KeySeeds, CliError> {
        Ok(match (self.test_bytes(), self.test_bytes()) {
            (Some(masks), Some(noise)) => KeySeeds::from_bytes(masks, noise),
            _ => KeySeeds::from_os()?,
        })
    }
}

/// Seconds since `start`, which becomes now.
fn lap(start: &mut Instant) -> f64 {
    let seconds = start.elapsed().as_secs_f64();
    *start = Instant::now();
    seconds
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    if args.words.is_alone() {
        return run_words(args);
    }
    // The demo opts in by itself: the paper's own set is below 128 bits, and the report says so.
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let parameters = ParameterSet::named(&args.params, policy)?;
    let (choice, product) = choose(args, &parameters)?;
    let backend = backend(args)?;
    let bar = Arc::new(Progress::cycles("Table 5 on the engine: x*y"));
    let drawn = Arc::clone(&bar);
    let watch: CycleWatch = Arc::new(move |cycles, all| drawn.set(cycles, all));
    let engines = Engines::with_watch(args.engine.engine, backend, Some(watch));
    // Refused before any work, if the engine lacks them or computes with other sets.
    let bootstraps = engines.bootstrap()?;
    bootstraps.check(&parameters)?;
    let simulated = bootstraps.info().kind == EngineKind::Rtl;
    // The other parts are left out, and the report says so.
    let products = engines.hmvp().ok();
    let word_engine = Some(Arc::clone(&bootstraps)).filter(|engine| engine.computes_words());
    let operands = (args.x.unwrap_or(product.max()), args.y.unwrap_or((product.max() - 1).max(0)));
    for operand in [operands.0, operands.1] {
        product.check(operand)?;
    }
    let parent = resources::work_directory(args.dir.as_deref());
    resources::check(&parameters, &parent)?;
    let directory = WorkFolder::new(&parent)?;
    if !args.json {
        report::announce(&parameters, args.seed)?;
    }

    let total = Instant::now();
    let mut lap_start = total;
    let mut seconds = Seconds::default();
    let mut randomness = Randomness { seed: args.seed, used: 0 };

    let (client, key_files) = generate_keys(&parameters, &mut randomness, directory.path())?;
    seconds.keygen = lap(&mut lap_start);

    let engine_info = bootstraps.info();
    let engine = TimedEngine::new(bootstraps);
    let times = engine.times();
    let handler = TfheHandler::new(Arc::new(engine), policy);
    let (middleware, device) = open_device(handler, &directory.path().join("store"))?;
    let sizes = store_keys_and_program(&middleware, &parameters, &product, &key_files)?;
    seconds.store = lap(&mut lap_start);

    let mut rng = Csprng::from_secret(&randomness.secret()?, 0);
    let mut pairs = Vec::new();
    let mut ciphertext_bytes = 0;
    for number in 0..args.pairs {
        let (x, y) = if number == 0 { operands } else { (pick(&mut rng, &product), pick(&mut rng, &product)) };
        let encrypted_x = client.encrypt_in(&product.operands(), x, choice, &mut rng)?.to_bytes();
        let encrypted_y = client.encrypt_in(&product.operands(), y, choice, &mut rng)?.to_bytes();
        ciphertext_bytes = encrypted_x.len() as u64;
        seconds.encrypt += lap(&mut lap_start);
        {
            let spinner = || Progress::spinner("Table 5 on the device: x*y as the second operand is written");
            // A simulation reports its cycles.
            let _progress = (!simulated).then(spinner);
            write(&middleware, X, encrypted_x)?;
            write(&middleware, Y, encrypted_y)?;
        }
        seconds.compute += lap(&mut lap_start);
        let result = middleware.read(BlobId::new(Y), ReadMode::Stored).wait()?.bytes;
        seconds.read += lap(&mut lap_start);
        let decrypted = client.decrypt(product.output(), &Ciphertext::from_bytes(&result)?)?;
        seconds.decrypt += lap(&mut lap_start);
        pairs.push(Pair { x, y, decrypted });
    }
    // The first program also brought the bootstrapping key into the form for computing.
    seconds.load = times.load_seconds();
    seconds.compute -= seconds.load;
    seconds.bootstrap = times.median_bootstrap_seconds();
    let metrics = device.metrics();
    drop((middleware, device));
    seconds.total = total.elapsed().as_secs_f64();

    let report = Report::new(report::Facts {
        parameters: &parameters,
        product: &product,
        choice,
        backend,
        pairs,
        seconds,
        sizes: Sizes { ciphertext: ciphertext_bytes, loaded_key: times.key_bytes(), ..sizes },
        bootstraps: times.bootstraps(),
        engine: engine_info,
        costs: times.costs(),
        programs: metrics.programs_run,
        instructions: &metrics.instructions,
        peak_rss_bytes: machine::peak_rss_bytes(),
        test_seed: args.seed,
        words: word_engine
            .map(|engine| words::run(&args.words, engine, &mut randomness, directory.path()))
            .transpose()?,
        hmvp: products.map(|products| hmvp::run(&*products, &mut randomness)).transpose()?,
    });
    output::result(args.json, &report, &report.to_text())?;
    require_right(report.wrong())
}

/// An error if results were wrong.
fn require_right(wrong: usize) -> Result<(), CliError> {
    if wrong == 0 { Ok(()) } else { Err(CliError::WrongResults { wrong }) }
}

/// The demo of one function alone.
fn run_words(args: &Args) -> Result<(), CliError> {
    let engine = Engines::new(args.engine.engine, backend(args)?).bootstrap()?;
    let parent = resources::work_directory(args.dir.as_deref());
    let directory = WorkFolder::new(&parent)?;
    let mut randomness = Randomness { seed: args.seed, used: 0 };
    let report = words::run(&args.words, engine, &mut randomness, directory.path())?;
    output::result(args.json, &report, &report.to_text())?;
    require_right(report.wrong())
}

/// The transform asked for. The hardware has the exact one only.
fn backend(args: &Args) -> Result<Backend, CliError> {
    match (args.engine.engine, args.backend) {
        (EngineName::Cpu, backend) => Ok(backend.unwrap_or(BackendArg::Fft).into()),
        (engine, Some(BackendArg::Fft)) => {
            Err(CliError::Usage(format!("engine {engine} has no transform fft; use --backend ntt or none")))
        }
        _ => Ok(Backend::Ntt),
    }
}

/// The key choice asked for, else the paper's order where the dimensions are the paper's or a toy's, else the one with the
/// larger range.
fn choose(args: &Args, parameters: &ParameterSet) -> Result<(KeyOrder, QuarterSquare), CliError> {
    let product = |choice| -> Result<_, CliError> {
        Ok((choice, QuarterSquare::new(parameters.spec(), choice, DEFAULT_LOG2_P_FAIL)?))
    };
    if let Some(choice) = args.key {
        return product(choice.into());
    }
    let small = product(KeyOrder::Small);
    if !DEFAULT_SET_NAMES.contains(&args.params.as_str()) {
        return small;
    }
    match (small, product(KeyOrder::Big)) {
        (Ok(small), Ok(big)) => Ok(if small.1.max() > big.1.max() { small } else { big }),
        (small, big) => small.or(big),
    }
}

/// A random operand of the range. The bias of the remainder does not matter for test values.
fn pick(rng: &mut Csprng, product: &QuarterSquare) -> i64 {
    (rng.next_u64() % (product.max() as u64 + 1)) as i64
}

struct KeyFiles {
    bootstrap: PathBuf,
    keyswitch: PathBuf,
}

fn generate_keys(
    parameters: &ParameterSet,
    randomness: &mut Randomness,
    directory: &Path,
) -> Result<(ClientKey, KeyFiles), CliError> {
    let progress = Progress::bar("bootstrapping key");
    let client = ClientKey::generate(parameters, &randomness.secret()?);
    let files = KeyFiles { bootstrap: directory.join("bootstrapping.key"), keyswitch: directory.join("keyswitch.key") };
    let create = |path: &Path| -> Result<_, CliError> {
        Ok(std::io::BufWriter::new(fs::File::create_new(path).map_err(CliError::file("create", path))?))
    };
    let out = client.write_bootstrap_key(
        KeyForm::Seeded,
        randomness.server_key()?,
        create(&files.bootstrap)?,
        &mut |done, all| {
            progress.set(done, all);
        },
    )?;
    out.into_inner().map_err(|e| CliError::file("write", &files.bootstrap)(e.into_error()))?;
    let out = client.write_keyswitch_key(KeyForm::Seeded, randomness.server_key()?, create(&files.keyswitch)?)?;
    out.into_inner().map_err(|e| CliError::file("write", &files.keyswitch)(e.into_error()))?;
    Ok((client, files))
}

fn open_device(handler: TfheHandler, store: &Path) -> Result<(Middleware, Device), CliError> {
    let handlers: Vec<Arc<dyn ObjectHandler>> = vec![Arc::new(handler)];
    let mut config = DeviceConfig::in_directory(store);
    // The device's own limit is there for NVMe commands, which hosts time out. Here nobody waits but the one who asked.
    config.max_program_duration = DEMO_PROGRAM_LIMIT;
    let device = Device::open(config, handlers)?;
    let middleware = Middleware::embedded(device.space(SpaceId::EMBEDDED)?)?;
    Ok((middleware, device))
}

fn store_keys_and_program(
    middleware: &Middleware,
    parameters: &ParameterSet,
    product: &QuarterSquare,
    files: &KeyFiles,
) -> Result<Sizes, CliError> {
    let _progress = Progress::spinner("writing keys, test vector and program as blobs");
    let mut sizes = Sizes::default();
    for (register, path, size) in [
        (handlers::tfhe::bootstrapping_key(KEY), &files.bootstrap, &mut sizes.bootstrapping_key),
        (handlers::tfhe::key_switching_key(KEY), &files.keyswitch, &mut sizes.keyswitching_key),
    ] {
        let blob = middleware.create(Metadata::new(register)).wait()?;
        *size = middleware.write_file(blob, WriteMode::Stored, path).wait()?.stat.size;
        // The store has it; the disk need not hold it twice.
        fs::remove_file(path).map_err(CliError::file("remove", path))?;
    }
    let table = product.test_vector(parameters)?.to_bytes();
    sizes.test_vector = table.len() as u64;
    write(middleware, TABLE, table)?;
    let program = Path::new("xy.cms");
    let bindings: Bindings = [format!("r2={X}"), format!("r3={Y}")]
        .iter()
        .map(|binding| binding.parse().map_err(CliError::content(program)))
        .collect::<Result<Vec<_>, _>>()
        .and_then(|bindings| Ok(Bindings::collect(bindings)?))?;
    let program =
        assemble(handlers::instruction_set(), PROGRAM, &bindings).map_err(CliError::content(program))?.program.encode();
    sizes.program = program.len() as u64;
    write(middleware, VrId::new(TypeCode::PRG, KEY, DataId(0)), program)?;
    Ok(sizes)
}

/// Writes a blob; a compute-on-write ciphertext runs the program.
fn write(middleware: &Middleware, register: VrId, bytes: Vec<u8>) -> Result<(), CliError> {
    let blob = match middleware.stat(BlobId::new(register)).wait() {
        Ok(stat) => stat.id,
        Err(_) => middleware.create(Metadata::new(register)).wait()?,
    };
    middleware.write(blob, WriteMode::Compute, bytes).wait()?;
    Ok(())
}
