//! A function of words, looked up in a table by the device. The NVMe TFHE platform paper promises any function of 14 bits, and
//! its bootstrap looks up functions of fewer.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ciphermill_client::words::{DEFAULT_BITS, Function, Tabulated};
use ciphermill_device::Device;
use ciphermill_device::InstructionMetrics;
use ciphermill_device::handlers::tfhe::{
    TABLE, TfheHandler, WORD_COW, bootstrapping_key, conversion_key, key_switching_key,
};
use ciphermill_device::store::SpaceId;
use ciphermill_lattice::{Csprng, ModelProbability};
use ciphermill_math::Isa;
use ciphermill_middleware::{BlobId, Metadata, Middleware, ReadMode, WriteMode};
use ciphermill_program::{DataId, Program, TypeCode, VrId, assemble};
use ciphermill_tfhe::noise::word::WordNoise;
use ciphermill_tfhe::parameters::{NVME_TFHE_PAPER, WORD_2M64};
use ciphermill_tfhe::word::{Table, Word};
use ciphermill_tfhe::{ClientKey, Encoding, KeyForm, KeyOrder, ParameterSet, SecurityPolicy, TfheEngine};
use serde::Serialize;

use super::report::PAPER;
use super::{KEY, Randomness, lap, open_device, write};
use crate::error::CliError;
use crate::fault::judged;
use crate::inputs::within;
use crate::machine;
use crate::output::{Progress, count, human_bytes, human_seconds, table};

const WORD: VrId = VrId::new(WORD_COW, KEY, DataId(1));
const FUNCTION: VrId = VrId::new(TABLE, KEY, DataId(0));
const PROGRAM: VrId = VrId::new(TypeCode::PRG, KEY, DataId(0));

/// Selects the digits of the word that is written, and looks the table up.
const SOURCE: &str = "wselect 34:0:1, 0\nwlook 32:0:0, 34:0:1\nreturn 34:0:1";

/// Words of the demo with all parts.
const FEW: u64 = 5;
/// Words of the demo of a function alone.
const MANY: u64 = 20;

/// The part of an engine without words.
pub(super) const NO_WORDS: &str = "This engine does not compute with words: no function of 14 bits was looked up.";

/// The function of the demo.
#[derive(clap::Args, Debug)]
pub(super) struct WordArgs {
    /// Look up this function only: isqrt, crc16, sbox, or the name of a .csv file
    #[arg(long, value_name = "NAME", value_parser = clap::value_parser!(Function))]
    #[arg(conflicts_with_all = ["params", "x", "y", "pairs", "key"])]
    function: Option<Function>,
    /// Bits of its words, 1 to 20 [default: 14; 8 for sbox]
    #[arg(long, value_name = "BITS", requires = "function", value_parser = within::<u32>(1..=20))]
    bits: Option<u32>,
    /// Number of random words, 1 to 1048576
    #[arg(long, value_name = "K", requires = "function", default_value_t = MANY)]
    #[arg(value_parser = within::<u64>(1..=1 << 20))]
    words: u64,
    /// Look up every word instead
    #[arg(long, requires = "function", conflicts_with = "words")]
    all: bool,
}

impl WordArgs {
    /// Whether this is the only part of the demo.
    pub(super) fn is_alone(&self) -> bool {
        self.function.is_some()
    }
}

/// Seconds by phase.
#[derive(Clone, Debug, Default, Serialize)]
struct Seconds {
    keygen: f64,
    store: f64,
    /// The first program, which also brings the keys into the form for computing.
    first: f64,
    /// A word written, selected, looked up and its result stored: the median of all but the first.
    word: f64,
    /// Mean of the selections of all but the first word.
    select: f64,
    /// Mean of their look-ups, with the key switch of the result.
    look_up: f64,
}

/// Bytes of the objects.
#[derive(Clone, Debug, Default, Serialize)]
struct Sizes {
    keys: u64,
    table: u64,
    word: u64,
}

/// The results.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    function: String,
    input_bits: u32,
    output_bits: u32,
    params: String,
    security_bits: f64,
    /// Of the decrypted result of one word, as the device judges it.
    log2_p_fail: f64,
    /// Of the output of one look-up at its next selection, where another table follows.
    log2_p_fail_next_selection: f64,
    /// The most bits of which a bootstrap with the paper's parameters looks up any function; none if it can do this one.
    paper_bootstrap_bits: Option<u32>,
    words: u64,
    wrong_words: usize,
    seconds: Seconds,
    sizes: Sizes,
    isa: &'static str,
    threads: usize,
    kind: &'static str,
    machine: machine::Machine,
    /// The paper's bootstrap on its FPGA.
    paper_bootstrap_s: f64,
    test_seed: Option<u64>,
}

/// The arguments: all, or random ones.
fn arguments(args: &WordArgs, bits: u32, rng: &mut Csprng) -> Vec<u32> {
    let mask = u32::MAX >> (32 - bits);
    if args.all {
        return (0..=mask).collect();
    }
    let count = if args.is_alone() { args.words } else { FEW };
    (0..count).map(|_| rng.next_u64() as u32 & mask).collect()
}

/// Makes keys, stores them with the table and a program, and writes the words.
pub(super) fn run(
    args: &WordArgs,
    engine: Arc<dyn TfheEngine>,
    randomness: &mut Randomness,
    directory: &Path,
) -> Result<Report, CliError> {
    if !engine.computes_words() {
        return Err(CliError::Usage(format!(
            "{} {}",
            engine.info().name,
            "does not compute with words; use --engine cpu"
        )));
    }
    let policy = SecurityPolicy::Require128Bits;
    let parameters = ParameterSet::named(WORD_2M64, policy)?;
    let function = args.function.clone().unwrap_or(Function::Crc16);
    let bits = args.bits.unwrap_or(if function == Function::SBox { 8 } else { DEFAULT_BITS });
    let tabulated = Tabulated::new(&function, Some(bits))?;
    let dense = tabulated.dense(None).map_err(|error| CliError::Usage(error.to_string()))?;
    let function_table = Table::Dense(dense);
    let noise = WordNoise::new(&parameters).ok_or_else(|| CliError::Usage(format!("{WORD_2M64} has no words")))?;
    let log2_p_fail_next_selection = noise.log2_p_table(&function_table);
    let paper_bootstrap_bits = paper_bits(&tabulated, bits)?;

    let (mut seconds, mut start) = (Seconds::default(), Instant::now());
    let client = ClientKey::generate(&parameters, &randomness.secret()?);
    let keys = keys(&client, randomness)?;
    seconds.keygen = lap(&mut start);
    let (middleware, device) = open_device(TfheHandler::new(engine, policy), &directory.join("words"))?;
    let mut sizes = Sizes::default();
    for (register, bytes) in keys {
        sizes.keys += bytes.len() as u64;
        write(&middleware, register, bytes)?;
    }
    let table_bytes = function_table.to_bytes();
    sizes.table = table_bytes.len() as u64;
    write(&middleware, FUNCTION, table_bytes)?;
    let program = program()?;
    write(&middleware, PROGRAM, program.encode())?;
    seconds.store = lap(&mut start);

    let mut rng = Csprng::from_secret(&randomness.secret()?, 0);
    let arguments = arguments(args, bits, &mut rng);
    let progress = Progress::bar("words on the device");
    // Any fresh word; the device judges words by their size and noise alone.
    let fresh = client.encrypt_word(0, bits, &mut rng)?.to_bytes();
    let log2_p_fail = judged_by(&middleware, &device, &program, fresh)?;
    let (mut times, mut wrong_words, mut before) = (Vec::with_capacity(arguments.len()), 0, BTreeMap::new());
    for (done, &argument) in (1..).zip(&arguments) {
        let word = client.encrypt_word(argument.into(), bits, &mut rng)?.to_bytes();
        sizes.word = word.len() as u64;
        let (time, value) = compute(&middleware, &client, word)?;
        times.push(time);
        wrong_words += usize::from(!judged(value == u128::from(tabulated.value(argument))));
        progress.set(done, arguments.len() as u64);
        if done == 1 && arguments.len() > 1 {
            // The first selection brings the keys into the form for computing.
            before = device.metrics().instructions;
        }
    }
    drop(progress);
    seconds.first = times[0];
    seconds.word = median(&mut times);
    let metrics = device.metrics();
    let mean = |name| {
        let of = |all: &BTreeMap<&str, InstructionMetrics>| {
            all.get(name).map_or((0, 0.0), |d| (d.count, d.time.as_secs_f64()))
        };
        let ((count, seconds), (first, load)) = (of(&metrics.instructions), of(&before));
        (seconds - load) / (count - first).max(1) as f64
    };
    (seconds.select, seconds.look_up) = (mean("wselect"), mean("wlook"));
    Ok(Report {
        function: function.to_string(),
        input_bits: bits,
        output_bits: tabulated.output_bits,
        params: parameters.name.clone(),
        security_bits: parameters.security().bits,
        log2_p_fail,
        log2_p_fail_next_selection,
        paper_bootstrap_bits,
        words: arguments.len() as u64,
        wrong_words,
        seconds,
        sizes,
        isa: Isa::current().name(),
        threads: rayon::current_num_threads(),
        kind: "measured",
        machine: machine::Machine::this(),
        paper_bootstrap_s: PAPER.bootstrap_fpga_s,
        test_seed: randomness.seed,
    })
}

fn keys(client: &ClientKey, randomness: &mut Randomness) -> Result<[(VrId, Vec<u8>); 3], CliError> {
    let _progress = Progress::spinner("keys of words");
    let form = KeyForm::Seeded;
    let bootstrap = client.write_bootstrap_key(form, randomness.server_key()?, Vec::new(), &mut |_, _| ())?;
    let keyswitch = client.write_keyswitch_key(form, randomness.server_key()?, Vec::new())?;
    let conversion = client.write_conversion_key(form, randomness.server_key()?, Vec::new())?;
    Ok([(bootstrapping_key(KEY), bootstrap), (key_switching_key(KEY), keyswitch), (conversion_key(KEY), conversion)])
}

fn program() -> Result<Program, CliError> {
    let assembled = assemble(ciphermill_device::handlers::instruction_set(), SOURCE, &Default::default());
    Ok(assembled.map_err(CliError::content(Path::new("words.cms")))?.program)
}

/// log2 of the probability that the result of the program is wrong for a word, by the device's verifier.
fn judged_by(middleware: &Middleware, device: &Device, program: &Program, word: Vec<u8>) -> Result<f64, CliError> {
    let blob = middleware.create(Metadata::new(WORD)).wait()?;
    middleware.write(blob, WriteMode::Stored, word).wait()?;
    let judged = device.space(SpaceId::EMBEDDED)?.check(program)?;
    let log2_p_fail = judged.outputs.iter().find_map(|output| output.log2_p_fail);
    log2_p_fail.ok_or_else(|| CliError::Resources("the device does not state a failure probability".to_owned()))
}

/// The most bits of which one bootstrap with the paper's parameters looks up any function; `None` if it looks this one up. A
/// constant needs no bootstrap.
fn paper_bits(function: &Tabulated, bits: u32) -> Result<Option<u32>, CliError> {
    if (0..1u32 << bits).all(|argument| function.value(argument) == function.value(0)) {
        return Ok(None);
    }
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let paper = ParameterSet::named(NVME_TFHE_PAPER, policy)?;
    let looks_up = |bits: u32| {
        Encoding::unsigned(bits, true).is_ok_and(|encoding| {
            let orders = [KeyOrder::Small, KeyOrder::Big];
            orders.iter().any(|&order| paper.log2_p_fail_of(&encoding, order) <= paper.log2_p_fail_limit())
        })
    };
    let most = (1..=bits).take_while(|&bits| looks_up(bits)).last().unwrap_or_default();
    // One whose halves add up to a constant needs no padding bit, so it may have one bit more.
    let half = 1u32 << (bits - 1);
    let sum = |argument: u32| u64::from(function.value(argument)) + u64::from(function.value(argument + half));
    let unpadded = (0..half).all(|argument| sum(argument) == sum(0));
    Ok((most + u32::from(unpadded) < bits).then_some(most))
}

/// Writes a word, which runs the program; returns the seconds and the decrypted result.
fn compute(middleware: &Middleware, client: &ClientKey, word: Vec<u8>) -> Result<(f64, u128), CliError> {
    let start = Instant::now();
    write(middleware, WORD, word)?;
    let seconds = start.elapsed().as_secs_f64();
    let result = middleware.read(BlobId::new(WORD), ReadMode::Stored).wait()?.bytes;
    Ok((seconds, client.decrypt_word(&Word::from_bytes(&result)?)?))
}

/// The median of all but the first; the first if there is no other.
fn median(times: &mut [f64]) -> f64 {
    let others = if times.len() > 1 { &mut times[1..] } else { times };
    others.sort_unstable_by(f64::total_cmp);
    others[others.len() / 2]
}

impl Report {
    /// Words whose result was wrong.
    pub(super) fn wrong(&self) -> usize {
        self.wrong_words
    }

    pub(super) fn to_text(&self) -> String {
        let mut rows = table(["phase", "here", "paper: FPGA"]);
        let s = &self.seconds;
        let bootstrap = human_seconds(self.paper_bootstrap_s) + ", a bootstrap";
        let [keys, table, word] = [self.sizes.keys, self.sizes.table, self.sizes.word].map(human_bytes);
        let none = String::new;
        for (name, here, paper) in [
            ("key generation", human_seconds(s.keygen), none()),
            ("keys, table and program stored", human_seconds(s.store), none()),
            ("first word, keys brought into computing form", human_seconds(s.first), none()),
            ("one word through the device (median)", human_seconds(s.word), bootstrap),
            ("  its selection (mean)", human_seconds(s.select), none()),
            ("  its look-up (mean)", human_seconds(s.look_up), none()),
            ("three keys, stored", keys, none()),
            ("table", table, none()),
            ("word", word, none()),
        ] {
            rows.add_row([name.to_owned(), here, paper]);
        }
        let verdict = if self.wrong_words == 0 { "correct".to_owned() } else { format!("{} WRONG", self.wrong_words) };
        let seeded = match self.test_seed {
            Some(_) => "\nTEST USE ONLY: keys and noise came from --seed, so that anybody can decrypt.",
            None => "",
        };
        let paper = self.paper_bootstrap_bits.map_or(String::new(), |most| {
            let most = count(most.into(), "bit");
            format!(
                "The NVMe TFHE platform paper promises any function of 14 bits. A bootstrap with its parameters looks up any \
                 function of at most {most}, and not this one.\n"
            )
        });
        format!(
            "The function {} of encrypted words, {} to {}, in a table on the device.\n{rows}\n\
             {paper}{} decrypted: {verdict}; a result is wrong with probability {}.\n\
             If another table follows, its selection reads a result wrongly with probability {}.\n\
             {}: {:.1} bits of security. {} path, {} threads, {}.{seeded}",
            self.function,
            count(self.input_bits.into(), "bit"),
            count(self.output_bits.into(), "bit"),
            count(self.words, "word"),
            ModelProbability { log2: self.log2_p_fail },
            ModelProbability { log2: self.log2_p_fail_next_selection },
            self.params,
            self.security_bits,
            self.isa,
            self.threads,
            self.machine.cpu,
        )
    }
}
