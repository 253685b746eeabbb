//! A function of words, looked up in a table by the device: what the paper promises for 14 bits, and its bootstrap cannot do.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ciphermill_client::words::{DEFAULT_BITS, Function, Tabulated};
use ciphermill_device::InstructionMetrics;
use ciphermill_device::handlers::tfhe::{
    TABLE, TfheHandler, WORD_COW, bootstrapping_key, conversion_key, key_switching_key,
};
use ciphermill_lattice::{Csprng, ModelProbability};
use ciphermill_math::Isa;
use ciphermill_middleware::{BlobId, Middleware, ReadMode};
use ciphermill_program::{DataId, Program, TypeCode, VrId, assemble};
use ciphermill_tfhe::noise::word::WordNoise;
use ciphermill_tfhe::parameters::WORD_2M64;
use ciphermill_tfhe::word::{Table, Word};
use ciphermill_tfhe::{ClientKey, KeyForm, ParameterSet, SecurityPolicy, TfheEngine};
use serde::Serialize;

use super::report::PAPER;
use super::{KEY, Randomness, lap, open_device, write};
use crate::error::CliError;
use crate::fault::judged;
use crate::machine;
use crate::output::{Progress, human_bytes, table};

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
    /// Bits of its words, 2 to 20 [default: 14; 8 for sbox]
    #[arg(long, value_name = "BITS", requires = "function", value_parser = clap::value_parser!(u32).range(2..=20))]
    bits: Option<u32>,
    /// Number of random words
    #[arg(long, value_name = "K", requires = "function", default_value_t = MANY)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
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
    /// Of the output of one look-up at its next selection.
    log2_p_fail: f64,
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
    let log2_p_fail = noise.log2_p_table(&function_table);

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
    write(&middleware, PROGRAM, program()?.encode())?;
    seconds.store = lap(&mut start);

    let mut rng = Csprng::from_secret(&randomness.secret()?, 0);
    let arguments = arguments(args, bits, &mut rng);
    let progress = Progress::bar("words on the device");
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
        let milliseconds = |s: f64| format!("{:.1} ms", s * 1e3);
        let mut rows = table(["phase", "here", "paper: FPGA"]);
        let s = &self.seconds;
        let bootstrap = milliseconds(self.paper_bootstrap_s) + ", a bootstrap";
        let [keys, table, word] = [self.sizes.keys, self.sizes.table, self.sizes.word].map(human_bytes);
        let none = String::new;
        for (name, here, paper) in [
            ("key generation", milliseconds(s.keygen), none()),
            ("keys, table and program stored", milliseconds(s.store), none()),
            ("first word, keys brought into computing form", milliseconds(s.first), none()),
            ("one word through the device (median)", milliseconds(s.word), bootstrap),
            ("  its selection (mean)", milliseconds(s.select), none()),
            ("  its look-up (mean)", milliseconds(s.look_up), none()),
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
        format!(
            "The function {} of encrypted words, {} bits to {} bits, in a table on the device.\n{rows}\n\
             The paper promises any function of 14 bits, but its bootstrap looks up far fewer messages: it cannot compute \
             this.\n\
             {} words decrypted: {verdict}; an output is wrong with probability {}.\n\
             {}: {:.1} bits of security. {} path, {} threads, {}.{seeded}",
            self.function,
            self.input_bits,
            self.output_bits,
            self.words,
            ModelProbability { log2: self.log2_p_fail },
            self.params,
            self.security_bits,
            self.isa,
            self.threads,
            self.machine.cpu,
        )
    }
}
